/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ddcp's protocol, version 1.
 *
 * The sender connects to the receiver's service. Each message carries four
 * words of metadata; the first is its kind.
 *
 *   sender				receiver
 *   HELLO {struct hello}	->
 *				<-	ACCEPT slots, slot size
 *   DATA slot, offset		->			bytes lie in the slot
 *				<-	GRANT slot	slot has been written out
 *   FIN size, {checksum}	->
 *				<-	RESULT error, {text}
 *
 * All slots belong to the sender at first. A slot that it has filled is the
 * receiver's until the grant comes back, so a message never overwrites one
 * that is not yet in the file; with two slots or more one side reads while the
 * other one writes. The receiver may say RESULT at any time, which ends the
 * copy; the sender gives up by ABORT error. Whoever dies is noticed by the
 * connection's end.
 *
 * A receive block is a control page followed by the slots. Numbers are little
 * endian.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DDCP_PROTO_H
#define DDCP_PROTO_H

#include <stdint.h>

#define PROTO_MAGIC	0x70636464	/* "ddcp" */
#define PROTO_VERSION	1
#define PROTO_CONTROL	4096		/* bytes before the first slot */
#define PROTO_SLOTS_MAX	64
#define PROTO_SLOT_MAX	(64u << 20)
#define PROTO_HASH	16		/* bytes of XXH3, 128 bits, canonical */
#define PROTO_NAME_MAX	255
#define PROTO_UNKNOWN	UINT64_MAX	/* size of what comes through a pipe */

/* Messages that may be unconsumed at a time: the slots, and two more. */
#define PROTO_WINDOW(slots)	((slots) + 2)

enum proto_kind {
	PROTO_HELLO = 1,
	PROTO_ACCEPT,		/* slots, slot size */
	PROTO_DATA,		/* slot, offset low, offset high */
	PROTO_GRANT,		/* slot */
	PROTO_FIN,		/* 0, size low, size high */
	PROTO_ABORT,		/* error */
	PROTO_RESULT,		/* error */
};

/**
 * struct hello - what the sender offers
 * @magic: PROTO_MAGIC
 * @version: PROTO_VERSION
 * @size: bytes, or PROTO_UNKNOWN
 * @mode: permission bits
 * @slots: slots that the sender would use
 * @slot_size: their size
 * @name_length: bytes in @name
 * @name: name of the file, no path
 */
struct hello {
	uint32_t magic;
	uint32_t version;
	uint64_t size;
	uint32_t mode;
	uint32_t slots;
	uint32_t slot_size;
	uint32_t name_length;
	char name[PROTO_NAME_MAX + 1];
};

#endif /* DDCP_PROTO_H */
