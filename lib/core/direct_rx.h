/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * direct_rx.h - direct rings: note rings written by the sending process
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_DIRECT_RX_H
#define _DD_DIRECT_RX_H

#include "conn.h"
#include "list.h"

struct ddi_direct_rx {
	struct dd_ring_state *state;	/* in the area; the slots are behind it */
	uint32_t mask;			/* number of slots minus 1 */
	uint32_t unit;			/* unit number of @state; cells refer to it */
};

#define DDI_STATE_SIZE	4096

/* A slot. The sending process writes it at any time: load each word once. */
static inline const struct dd_ring_note *
ddi_direct_slot(const struct ddi_direct_rx *rx, uint64_t pos)
{
	const void *notes = (const char *)rx->state + DDI_STATE_SIZE;

	return (const struct dd_ring_note *)notes + (pos & rx->mask);
}

static inline bool ddi_direct_ready(const struct ddi_direct_rx *rx)
{
	uint64_t pos = ddi_load(&rx->state->head);

	return ddi_load_acquire(&ddi_direct_slot(rx, pos)->seq) == pos + 1;
}

bool ddi_direct_refresh(struct dd *h, struct ddi_list *l, struct dd_list_head *lh);
struct ddi_direct_rx *ddi_direct_find(const struct ddi_list *l, uint32_t unit);
bool ddi_direct_first(const struct ddi_direct_rx *rx, uint32_t id,
		      uint64_t start, uint64_t end, uint64_t *pos);

#endif /* _DD_DIRECT_RX_H */
