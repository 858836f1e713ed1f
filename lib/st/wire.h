/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * wire.h - what the libraries of two ends send each other, in network byte order
 *
 * Copyright (C) 2026 The dd authors
 *
 * A connection is a stream of DDP. Each end has a ring of slots, in which the other end deposits
 * message n at slot n % slots: first a hello, then headers. More messages than slots are never
 * under way, so none overwrites a slot that is being read.
 */
#ifndef _ST_WIRE_H
#define _ST_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "st.h"

/* The functions themselves. */
#undef st_create
#undef st_flush
#undef st_map
#undef st_rx
#undef st_tx
#undef st_unmap

#define ST_VERSION	1	/* of this protocol */
#define ST_NONCE	4	/* words */
#define ST_PORT_NAME	"st:%u"
#define ST_MAP_NAME	"st#%08x%08x%08x%08x:%08x"	/* nonce, Mx */

/*
 * A stream of DDP accepts, beyond those that were read, one message more than the window on one
 * node, and twice the window between nodes.
 */
#define ST_SLOTS(window)	(2 * (window) + 2)

enum st_kind {
	ST_KIND_HELLO = 1,
	ST_KIND_HEADER = 2,
	ST_KIND_BAD = 3,	/* a header for memory that does not exist: to be counted */
};

/**
 * struct st_hello - parameters of an end
 * @version: ST_VERSION
 * @error: 0, or why the serving end refuses the connection
 * @nonce: names the maps of this end
 *
 * The others are options.
 */
struct st_hello {
	uint32_t version;
	uint32_t error;
	uint32_t nonce[ST_NONCE];
	uint32_t key;
	uint32_t port;
	uint32_t portlen;
	uint32_t bufsize;
	uint32_t maxstu;
	uint32_t base;
	uint32_t count;
	uint32_t channels;
	uint32_t iana;
};

#define ST_HELLO_WORDS	(sizeof(struct st_hello) / sizeof(uint32_t))

/**
 * struct st_slot - a message
 * @kind: enum st_kind
 * @payload: 1 if there is a payload
 * @half: the first members of a header
 * @word: the others
 * @pay: the payload
 * @hello: of ST_KIND_HELLO
 */
struct st_slot {
	uint32_t kind;
	uint32_t payload;
	union {
		struct {
			uint16_t half[8];
			uint32_t word[6];
			unsigned char pay[ST_PAYLOAD];
		};
		uint32_t hello[ST_HELLO_WORDS];
	};
};

#define ST_SLOT_SIZE	sizeof(struct st_slot)
#define ST_SLOT_SHORT	offsetof(struct st_slot, pay)

_Static_assert(sizeof(st_header_t) == 40 && ST_SLOT_SIZE == 80 && ST_SLOT_SHORT == 48,
	       "sizes of the protocol");

/* These return the bytes of the message. */
unsigned int st_pack(struct st_slot *to, enum st_kind kind, const st_header_t *hdr,
		     const void *pay);
unsigned int st_pack_hello(struct st_slot *to, const struct st_hello *hello);

/* Whether the message of this length is a header; @kind is that of the message. */
bool st_unpack(const struct st_slot *from, unsigned int len, st_header_t *hdr,
	       enum st_kind *kind);

/* Whether it is a valid hello. */
bool st_unpack_hello(const struct st_slot *from, unsigned int len, struct st_hello *hello);

#endif /* _ST_WIRE_H */
