/* SPDX-License-Identifier: GPL-2.0-only */
/* Which pages of a region were stored to: track.c. */
#ifndef _DD_TRACK_H
#define _DD_TRACK_H

#include <linux/mm_types.h>

struct address_space;
struct dd_track;

struct dd_track *dd_track_new(unsigned long npages);
vm_fault_t dd_track_fault(struct dd_track *track, struct vm_fault *vmf, unsigned long index,
			  struct page *page);
vm_fault_t dd_track_mkwrite(struct vm_fault *vmf);
int dd_track_fetch(struct dd_track *track, struct address_space *mapping, unsigned long pgoff,
		   unsigned long first, unsigned long n, void __user *bitmap);

#endif /* _DD_TRACK_H */
