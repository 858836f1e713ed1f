/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * recv.h - the receive path
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_RECV_H
#define _DD_RECV_H

#include "list.h"

/* What most interfaces need of a message; they may pass a structure of their own. */
struct ddi_brief {
	void *addr;
	int len;
	uint32_t conn;
	uint32_t service;
	unsigned int meta[DD_META_WORDS];
	int meta_count;
} __attribute__((may_alias));

int ddi_list_next(struct dd *h, struct ddi_list *l, uint32_t id, bool consume,
		  struct dd_msg *msg);
bool ddi_recv_fast(struct dd *h, uint32_t id, struct dd_msg *msg);
bool ddi_recv_brief(struct dd *h, uint32_t id, struct ddi_brief *brief);
int ddi_recv_general(struct dd *h, int list, struct dd_msg *msg,
		     struct ddi_brief *brief, unsigned int options,
		     int64_t timeout);

#endif /* _DD_RECV_H */
