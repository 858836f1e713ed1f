// SPDX-License-Identifier: LGPL-2.1-only
/*
 * wire.c - byte order of headers, and hellos
 *
 * Copyright (C) 2026 The dd authors
 */
#include <arpa/inet.h>
#include <string.h>

#include "limits.h"
#include "wire.h"

void st_swap(st_header_t *hdr)
{
	hdr->op = __builtin_bswap16(hdr->op);
	hdr->flags = __builtin_bswap16(hdr->flags);
	hdr->param = __builtin_bswap16(hdr->param);
	hdr->cksum = __builtin_bswap16(hdr->cksum);
	hdr->d_port = __builtin_bswap16(hdr->d_port);
	hdr->s_port = __builtin_bswap16(hdr->s_port);
	hdr->d_id = __builtin_bswap16(hdr->d_id);
	hdr->s_id = __builtin_bswap16(hdr->s_id);
	hdr->d_key = __builtin_bswap32(hdr->d_key);
	hdr->mx = __builtin_bswap32(hdr->mx);
	/* @offset and @opaque */
	hdr->t_len = __builtin_bswap64(hdr->t_len);
	hdr->bufx = __builtin_bswap32(hdr->bufx);
	hdr->b_num = __builtin_bswap32(hdr->b_num);
}

unsigned int st_pack_hello(struct st_slot *to, const struct st_hello *hello)
{
	uint32_t word[ST_HELLO_WORDS];

	memcpy(word, hello, sizeof(word));
	for (unsigned int i = 0; i < ST_HELLO_WORDS; i++)
		to->hello[i] = htonl(word[i]);
	return ST_SLOT_SIZE;
}

static bool power(uint32_t n, uint32_t min, uint32_t max)
{
	return n >= min && n <= max && !(n & (n - 1));
}

static bool hello_valid(const struct st_hello *h)
{
	return h->version == ST_VERSION && h->error < 4096 && h->little <= 1 &&
	       h->portlen >= 1 && h->portlen <= ST_PORTLEN_MAX &&
	       h->port >= 1 && h->port <= UINT16_MAX && h->port + h->portlen - 1 <= UINT16_MAX &&
	       power(h->bufsize, ST_BUFSIZE_MIN, ST_BUFSIZE_MAX) &&
	       power(h->maxstu, ST_MAXSTU_MIN, ST_STU_UNLIMITED) && h->base <= INT32_MAX &&
	       h->count >= 1 && h->count <= ST_BUFX_MAX &&
	       h->channels && h->channels <= ST_CHANNELS_ALL && h->iana <= UINT16_MAX;
}

bool st_unpack_hello(const struct st_slot *from, unsigned int len, struct st_hello *hello)
{
	uint32_t word[ST_HELLO_WORDS];

	if (len != ST_SLOT_SIZE)
		return false;
	for (unsigned int i = 0; i < ST_HELLO_WORDS; i++)
		word[i] = ntohl(from->hello[i]);
	/* From here on the copy: the other end may change the message. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	memcpy(hello, word, sizeof(word));
	return hello_valid(hello);
}
