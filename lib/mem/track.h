/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * track.h - memory of the program whose changed pages are recorded, for sibling libraries
 *
 * Copyright (C) 2026 The dd authors
 *
 * To send all stores, a library keeps a number of ddi_stores(), at first another one than that of
 * now, and
 *
 *	1. reads ddi_stores(); if it is the kept number, there is nothing to send;
 *	2. goes through the regions by ddi_stored(), beginning with 0, until there is no more, gets
 *	   the pages of each by ddi_dirty(), and sends what has changed in them;
 *	3. keeps the number of step 1, with release semantics,
 *
 * with a lock of its own. When a thread has gone through these steps, its stores have been sent:
 * it finds another number, or another thread, which fetches the page, has the lock. Step 1 may be
 * done without the lock, loading the kept number with acquire semantics, if it is repeated with
 * the lock when the numbers differ. To sleep while there is nothing to send, the library calls
 * ddi_stored() with region 0 and a timeout.
 */
#ifndef _DD_TRACK_H
#define _DD_TRACK_H

#include <stddef.h>
#include <stdint.h>

struct dd;

/*
 * Replace memory of the program by tracked memory with the same bytes. @addr and @len are whole
 * pages, mapped readable and writable, of this process alone, and not tracked yet. No other thread
 * stores to it during the call. System calls with O_DIRECT, vmsplice(2), process_vm_readv(2),
 * futexes and mutexes that processes share do not work in it, nor munmap(2) or mprotect(2) of a
 * part. It is not executable, not in core dumps, and a child of fork() does not inherit it.
 *
 * Returns the number of its region, > 0; -EINVAL; -EBUSY (a region of the handle is there, such as
 * pinned memory, whose pages others would still store to); -EFAULT (not all of it is mapped, readable and
 * writable); -EOPNOTSUPP (shared, of a device, or huge pages that were asked for);
 * -EDQUOT, -ENOMEM, -ENOSPC, -ESTALE.
 */
int ddi_track(struct dd *h, void *addr, size_t len);

/*
 * Replace tracked memory at the @addr of ddi_track() by ordinary memory with the same bytes. No
 * other thread stores to it during the call.
 *
 * Returns 0; -EINVAL (not tracked), -EBUSY (a segment is in it), -ENOMEM, -ESTALE; then it is
 * tracked as before.
 */
int ddi_untrack(struct dd *h, void *addr);

/* A number that changes with each first store to a page since it was fetched; see above. */
uint32_t ddi_stores(const struct dd *h);

/*
 * The number of the first region with pages for ddi_dirty(), of all, or of those made later than
 * @region unless that is 0; or 0 if there is none within @timeout nanoseconds, ~0 without limit. A
 * wait ends at the first store. Regions of dd_alloc_tracked() of the handle count. Returns also
 * -ENOENT (@region has ended), -EINTR, -ESTALE.
 */
int ddi_stored(struct dd *h, int region, uint64_t timeout);

/* As dd_dirty(), by the number of a region. Async-signal-safe. */
int ddi_dirty(struct dd *h, int region, size_t offset, size_t len, uint64_t *bitmap);

#endif /* _DD_TRACK_H */
