// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file that the processes of net_traffic share, and the contents of messages.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "traffic.h"

uint32_t sum16(const void *data, size_t len)
{
	const unsigned char *p = data;
	uint32_t sum = 0;

	for (; len > 1; len -= 2, p += 2)
		sum += p[0] << 8 | p[1];
	return len ? sum + (p[0] << 8) : sum;
}

uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons(~sum);
}

/* splitmix64 */
uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

void pattern(uint64_t seed, uint32_t conn, uint32_t n, int direction,
	     unsigned char *to, size_t len)
{
	uint64_t state = seed ^ (uint64_t)conn << 33 ^ (uint64_t)n << 1 ^ direction;
	uint64_t word = next_random(&state);

	/* All words differ, also from those of other messages. */
	for (; len >= 8; len -= 8, to += 8) {
		memcpy(to, &word, 8);
		word = word * 0xd1342543de82ef95 + 0x9e3779b97f4a7c15;
	}
	memcpy(to, &word, len);
}

void scribble(unsigned char *to, size_t len)
{
	memset(to, 0xdb, len);
}

size_t random_size(uint64_t *state, size_t max)
{
	/* Empty, words, packets at the usual MTUs, pages. */
	static const size_t edges[] = {
		0, 1, 7, 8, 9, 64, 1100, 1128, 1200, 1240, 1280, 1348, 1400,
		1432, 1472, 1500, 4095, 4096, 4097, 8192, 8928, 8972, 9000,
		65535, 65536, 65537, 1 << 20,
	};
	uint64_t r = next_random(state);
	size_t size;

	switch (r % 8) {
	case 0:
	case 1:
	case 2:
		size = edges[(r >> 8) % (sizeof(edges) / sizeof(edges[0]))];
		/* Or a little larger. */
		if (r & 1 << 7)
			size += (r >> 16) % 33;
		break;
	case 3:
	case 4:
		size = (r >> 8) % 3000;
		break;
	case 5:
	case 6:
		size = (r >> 8) % 20000;
		break;
	default:
		size = (r >> 8) % (max + 1);
	}
	return size <= max ? size : size % (max + 1);
}

static struct traffic *map(int fd)
{
	struct traffic *t;

	if (fd < 0)
		return NULL;
	t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return t == MAP_FAILED ? NULL : t;
}

struct traffic *traffic_create(const char *path, uint64_t seed)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct traffic *t;

	if (fd >= 0 && ftruncate(fd, sizeof(*t)))
		return NULL;
	t = map(fd);
	if (t)
		t->seed = seed;
	return t;
}

struct traffic *traffic_open(const char *path)
{
	return map(open(path, O_RDWR | O_CLOEXEC));
}
