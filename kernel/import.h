/* SPDX-License-Identifier: GPL-2.0-only */
/* Access to a segment of the other end. */
#ifndef _DD_IMPORT_H
#define _DD_IMPORT_H

#include <linux/types.h>

struct dd_cell;
struct dd_grant;
struct dd_link_ops;

/**
 * struct dd_import - access of this end to the segment of the other end; protected by
 *	that segment's lock, and unused once that segment is dead
 * @busy: a submitter works without the lock, as it may sleep; others are refused
 * @direct: this end writes its notes to a direct ring
 * @peer_window: unread messages allowed at the other end
 * @unit: number of the first unit of @cell
 * @cell: counters and send queue, in the area
 * @link: link to the other end
 * @grant: permission granted by the other end
 * @peer_size: bytes in the segment of the other end
 * @submitted: requests accepted
 * @sent: requests whose source may be reused
 * @done: requests whose note is posted
 */
struct dd_import {
	bool busy;
	bool direct;
	u16 peer_window;
	u32 unit;
	struct dd_cell *cell;
	const struct dd_link_ops *link;
	const struct dd_grant *grant;
	u64 peer_size;
	u64 submitted;
	u64 sent;
	u64 done;
};

#endif /* _DD_IMPORT_H */
