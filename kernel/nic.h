/* SPDX-License-Identifier: GPL-2.0-only */
/* Work requests, and links that execute them: nic.c, link_*.c. */
#ifndef _DD_NIC_H
#define _DD_NIC_H

#include <linux/types.h>
#include <uapi/linux/dd.h>

struct dd_conn;
struct dd_ctx;
struct dd_region;

#define DD_COPY_CHUNK		(64u << 10)	/* bytes copied with a lock held */
#define DD_PACKET_SIZE		DD_COPY_CHUNK	/* of the local link */
#define DD_LEN_MAX		((u64)INT_MAX)	/* longest message: DDP uses int */

/**
 * struct dd_op - a validated work request
 * @sqe: copy of the request
 * @raw: the same, as words
 * @region: source region, or NULL
 * @counted: this request, not its connection, holds the reference to @region
 * @src: offset in @region
 * @user: source address, if @region is NULL
 * @word: last word of the message, after the deposit
 */
struct dd_op {
	union {
		struct dd_sqe sqe;
		u64 raw[sizeof(struct dd_sqe) / 8];
	};
	struct dd_region *region;
	bool counted;
	u64 src;
	const void __user *user;
	u64 word;
};

/**
 * struct dd_link_ops - operations of a link
 * @name: for reports
 * @put: execute a PUT with the import locked; 0 if it is accepted, or %-EINPROGRESS if
 *	that needs to sleep. With @push, an accepted PUT leaves a lock held and bottom
 *	halves disabled
 * @put_slow: execute a PUT that needs to sleep, with dd_import.busy set
 * @push: after @put and with the import unlocked: transmit, and release the lock; NULL
 *	if @put does everything
 * @leave: instead of @push, with the import still locked, if more requests follow: only
 *	release the lock. Returns whether @before is not NULL and goes to the same
 *	peer; otherwise the caller calls @flush for this connection later
 * @flush: transmit to the peer of a connection after @leave
 */
struct dd_link_ops {
	const char *name;
	int (*put)(struct dd_conn *conn, struct dd_op *op);
	int (*put_slow)(struct dd_conn *conn, struct dd_op *op);
	void (*push)(struct dd_conn *conn);
	bool (*leave)(struct dd_conn *conn, struct dd_conn *before);
	void (*flush)(struct dd_conn *conn);
};

extern const struct dd_link_ops dd_link_local;

long dd_nic_doorbell(struct dd_ctx *ctx, u64 serial);
int dd_nic_submit(struct dd_ctx *ctx, struct dd_submit *arg);

#endif /* _DD_NIC_H */
