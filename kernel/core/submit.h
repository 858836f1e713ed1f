/* SPDX-License-Identifier: GPL-2.0-only */
/* Work requests: submit.c. */
#ifndef _DD_NIC_H
#define _DD_NIC_H

#include <linux/types.h>
#include <uapi/linux/dd.h>

struct dd_ctx;
struct dd_import;
struct dd_region;

#define DD_COPY_CHUNK		(64u << 10)	/* bytes copied with a lock held */
#define DD_PACKET_SIZE		DD_COPY_CHUNK	/* of the local link */
#define DD_LEN_MAX		((u64)INT_MAX)	/* longest message: DDP uses int */

/**
 * struct dd_op - a validated work request
 * @sqe: copy of the request
 * @raw: the same, as words
 * @region: source region, or for GET and CAS the destination; or NULL
 * @held: region to which this request holds a reference, or NULL
 * @src: offset in @region
 * @user: source or destination address, if @region is NULL
 * @done: bytes copied so far, of a request whose bytes are copied in pieces
 * @word: last word of the message, after the deposit
 */
struct dd_op {
	union {
		struct dd_sqe sqe;
		u64 raw[sizeof(struct dd_sqe) / 8];
	};
	struct dd_region *region;
	struct dd_region *held;
	u64 src;
	const void __user *user;
	u64 done;
	u64 word;
};

bool dd_nic_wire(struct dd_import *imp, struct dd_op *op);
long dd_nic_doorbell(struct dd_ctx *ctx, u64 serial);
int dd_nic_submit(struct dd_ctx *ctx, struct dd_submit *arg);

#endif /* _DD_NIC_H */
