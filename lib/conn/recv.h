/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * recv.h - the receive path
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_RECV_H
#define _DD_RECV_H

#include "list.h"

#define DDI_RECV_OPTIONS	(DD_RECV_SLEEP | DD_RECV_INTR)
/* Further options of the functions below. */
#define DDI_RECV_PEEK	0x40000000u	/* leave the message in the list */
#define DDI_RECV_BRIEF	0x80000000u	/* into a &struct ddi_brief */

/*
 * What most interfaces need of a message; they may pass a structure of their own. The
 * length is -1 for DD_MSG_CONN.
 */
struct ddi_brief {
	void *addr;
	int len;
	uint32_t conn;
	uint32_t service;
	unsigned int meta[DD_META_WORDS];
	int meta_count;
} __attribute__((may_alias));

int ddi_list_next(struct dd *h, struct ddi_list *l, uint32_t id, unsigned int options,
		  void *to);
int ddi_recv(struct dd *h, int list, void *to, unsigned int options, int64_t timeout);

#endif /* _DD_RECV_H */
