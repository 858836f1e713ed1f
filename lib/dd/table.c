// SPDX-License-Identifier: LGPL-2.1-only
/*
 * table.c - from an id to the record bound to it
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

int ddi_table_put(struct ddi_table *t, uint32_t id, void *record)
{
	uint32_t index = DD_ID_INDEX(id);
	void ***slot = &t->leaf[index >> DDI_LEAF_BITS];
	void **leaf = *slot;

	if (!leaf) {
		leaf = calloc(DDI_LEAF, sizeof(*leaf));
		if (!leaf)
			return -ENOMEM;
		ddi_store_release(slot, leaf);
	}
	ddi_store_release(&leaf[index % DDI_LEAF], record);
	return 0;
}

void ddi_table_release(struct ddi_table *t)
{
	for (size_t i = 0; i < DDI_ROOT; i++)
		free(t->leaf[i]);
}
