// SPDX-License-Identifier: LGPL-2.1-only
/*
 * wire.c - headers and hellos in network byte order
 *
 * Copyright (C) 2026 The dd authors
 */
#include <arpa/inet.h>
#include <string.h>

#include "limits.h"
#include "wire.h"

unsigned int st_pack(struct st_slot *to, enum st_kind kind, const st_header_t *hdr,
		     const void *pay)
{
	to->kind = htonl(kind);
	to->payload = htonl(!!pay);
	to->half[0] = htons(hdr->op);
	to->half[1] = htons(hdr->flags);
	to->half[2] = htons(hdr->param);
	to->half[3] = htons(hdr->cksum);
	to->half[4] = htons(hdr->d_port);
	to->half[5] = htons(hdr->s_port);
	to->half[6] = htons(hdr->d_id);
	to->half[7] = htons(hdr->s_id);
	to->word[0] = htonl(hdr->d_key);
	to->word[1] = htonl(hdr->mx);
	to->word[2] = htonl(hdr->offset);
	to->word[3] = htonl(hdr->opaque);
	to->word[4] = htonl(hdr->bufx);
	to->word[5] = htonl(hdr->b_num);
	if (!pay)
		return ST_SLOT_SHORT;
	memcpy(to->pay, pay, ST_PAYLOAD);
	return ST_SLOT_SIZE;
}

bool st_unpack(const struct st_slot *from, unsigned int len, st_header_t *hdr,
	       enum st_kind *kind)
{
	*kind = ntohl(from->kind);
	if (len != (from->payload ? ST_SLOT_SIZE : ST_SLOT_SHORT))
		return false;
	hdr->op = ntohs(from->half[0]);
	hdr->flags = ntohs(from->half[1]);
	hdr->param = ntohs(from->half[2]);
	hdr->cksum = ntohs(from->half[3]);
	hdr->d_port = ntohs(from->half[4]);
	hdr->s_port = ntohs(from->half[5]);
	hdr->d_id = ntohs(from->half[6]);
	hdr->s_id = ntohs(from->half[7]);
	hdr->d_key = ntohl(from->word[0]);
	hdr->mx = ntohl(from->word[1]);
	hdr->offset = ntohl(from->word[2]);
	hdr->opaque = ntohl(from->word[3]);
	hdr->bufx = ntohl(from->word[4]);
	hdr->b_num = ntohl(from->word[5]);
	return true;
}

unsigned int st_pack_hello(struct st_slot *to, const struct st_hello *hello)
{
	uint32_t word[ST_HELLO_WORDS];

	memcpy(word, hello, sizeof(word));
	to->kind = htonl(ST_KIND_HELLO);
	to->payload = 0;
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
	return h->version == ST_VERSION && h->error < 4096 &&
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

	if (len != ST_SLOT_SIZE || from->kind != htonl(ST_KIND_HELLO))
		return false;
	for (unsigned int i = 0; i < ST_HELLO_WORDS; i++)
		word[i] = ntohl(from->hello[i]);
	memcpy(hello, word, sizeof(word));
	return hello_valid(hello);
}
