/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * common.h - what the files of libsbl share
 *
 * Copyright (C) 2026 The dd authors
 *
 * sbl_lock protects the lists of exports, imports and mappings. A thread that holds it has called
 * ddi_upcall_enter(): a notification handler that interrupts it finds the library's locks free.
 * Calls that are permitted in a handler do not take sbl_lock, since the thread that holds it may
 * wait for the handler.
 */
#ifndef _SBL_COMMON_H
#define _SBL_COMMON_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "dd_mem.h"
#include "sbl.h"
#include "upcall.h"

#define SBL_API		__attribute__((visibility("default")))

#define SBL_KEY		'S'	/* kind of its buffers' keys */
#define SBL_WORD	sizeof(Int32)

extern pthread_mutex_t sbl_lock;

/* Calls that are not permitted in a handler begin and end with these. */
static inline void sbl_enter(void)
{
	ddi_upcall_enter();
	pthread_mutex_lock(&sbl_lock);
}

static inline void sbl_leave(void)
{
	pthread_mutex_unlock(&sbl_lock);
	ddi_upcall_leave();
}

static inline bool sbl_in_handler(void)
{
	return ddi_load(&ddi_upcall_inside);
}

/**
 * struct sbl_range - memory of an exported buffer, or whole pages of a mapping
 * @addr: first byte
 * @len: bytes
 * @next: in the list
 */
struct sbl_range {
	char *addr;
	size_t len;
	struct sbl_range *next;
};

/* The caller holds sbl_lock. Ranges do not overlap: SBL_Success, or SBL_EOverlappedBufs. */
int sbl_range_add(struct sbl_range *r);
void sbl_range_del(struct sbl_range *r);

/* The handle of libdd: SBL_Success or an error. The first call makes this process known. */
int sbl_handle(struct dd **h);

/* The code of an error of libdd, @other if none fits; of one of an import; of a message. */
int sbl_code(int ret, int other);
int sbl_import_code(int ret);
int sbl_send_code(int64_t ret);

/* A thread of the library, to which no signal is delivered: 0 or an error number. */
int sbl_thread(void *(*run)(void *), void *arg);

#endif /* _SBL_COMMON_H */
