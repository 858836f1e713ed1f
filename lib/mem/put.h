/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * put.h - requests by the windows of an import
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_PUT_H
#define _DD_PUT_H

#include "dd_mem.h"

/**
 * struct ddi_near - an import that a thread has used, and the addresses that stand for it
 * @mem: the import
 * @base: its first address
 * @end: behind its last address; 0: there is none
 * @version: the rest is valid until ddi_near_changed() has been called since
 *
 * Each library has one for each thread. A function of a note that interrupts the thread may
 * change it.
 */
struct ddi_near {
	struct dd_mem *mem;
	uintptr_t base;
	uintptr_t end;
	uint32_t version;
};

void ddi_near_set(struct ddi_near *near, struct dd_mem *m, uintptr_t base, size_t len);
void ddi_near_changed(void);

/*
 * Move words of 4 bytes between memory and addresses of the import. If that is not possible at
 * once, return what @other returns. The addresses are checked.
 */
typedef int (*ddi_near_fn)(void *local, void *at, uint32_t words);
int ddi_near_put(void *local, void *at, uint32_t words, const struct ddi_near *near,
		 ddi_near_fn other);
int ddi_near_get(void *local, void *at, uint32_t words, const struct ddi_near *near,
		 ddi_near_fn other);

#endif /* _DD_PUT_H */
