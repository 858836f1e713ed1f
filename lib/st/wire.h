/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * wire.h - what the libraries of two ends send each other
 *
 * Copyright (C) 2026 The dd authors
 *
 * A connection is a stream of DDP. Each end has a ring of slots, in which the other end deposits
 * message n at slot n % slots: first a hello, in network byte order, then headers, in that of the
 * sender. More messages than slots are never under way, so none overwrites a slot that is being
 * read.
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

#define ST_VERSION	2	/* of this protocol */
#define ST_NONCE	4	/* words */
#define ST_PORT_NAME	"st:%u"
#define ST_MAP_NAME	"st#%08x%08x%08x%08x:%08x"	/* nonce, Mx */

/*
 * A stream of DDP accepts, beyond those that were read, one message more than the window on one
 * node, and twice the window between nodes.
 */
#define ST_SLOTS(window)	(2 * (window) + 2)

/* The operation of a header for memory that does not exist: the receiver counts it. */
#define ST_OP_BAD	0

/* Whether a header with this operation is delivered to a program, and st_tx() sends it. */
#define ST_OP_DELIVERED(op)	((op) <= ST_OP_END_ACK && ST_OPS_DELIVERED >> (op) & 1)
#define ST_OPS_SETUP		((1u << (ST_OP_DISCONNECT_COMPLETE + 1)) - \
				 (1u << ST_OP_REQUEST_CONNECTION))
#define ST_OPS_DELIVERED	((2u << ST_OP_END_ACK) - (1u << ST_OP_NOP) - ST_OPS_SETUP)

#define ST_LITTLE_ENDIAN	(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/**
 * struct st_hello - parameters of an end
 * @version: ST_VERSION
 * @error: 0, or why the serving end refuses the connection
 * @nonce: names the maps of this end
 * @little: 1: headers are in little-endian byte order; 0: in big-endian byte order
 *
 * The others are options.
 */
struct st_hello {
	uint32_t version;
	uint32_t error;
	uint32_t nonce[ST_NONCE];
	uint32_t little;
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

/* Whether the end has this ST port. */
static inline bool st_port_of(const struct st_hello *h, uint32_t port)
{
	return port - h->port < h->portlen;
}

/**
 * struct st_slot - a message
 * @hdr: a header
 * @pay: its payload, if the message has ST_SLOT_SIZE bytes
 * @request: if it has ST_SLOT_DATA bytes: the header of Data may be read when this request of the
 *	import of its Mx is in place
 * @hello: or a hello
 */
struct st_slot {
	union {
		struct {
			st_header_t hdr;
			union {
				unsigned char pay[ST_PAYLOAD];
				uint64_t request;
			};
		};
		uint32_t hello[ST_HELLO_WORDS];
	};
};

#define ST_SLOT_SIZE	sizeof(struct st_slot)
#define ST_SLOT_SHORT	offsetof(struct st_slot, pay)
#define ST_SLOT_DATA	(ST_SLOT_SHORT + sizeof(uint64_t))

_Static_assert(sizeof(st_header_t) == 40 && ST_SLOT_SIZE == 72 && ST_SLOT_SHORT == 40,
	       "sizes of the protocol");

/* Change the byte order of a header. */
void st_swap(st_header_t *hdr);

/* Returns the bytes of the message. */
unsigned int st_pack_hello(struct st_slot *to, const struct st_hello *hello);

/* Whether the message of this length is a valid hello. */
bool st_unpack_hello(const struct st_slot *from, unsigned int len, struct st_hello *hello);

#endif /* _ST_WIRE_H */
