/* SPDX-License-Identifier: GPL-2.0-only */
/* A node's objects, for kernel.c and mem.c. */
#ifndef _DD_SIM_MEM_H
#define _DD_SIM_MEM_H

#include "cluster/remote_import.h"
#include "cluster/remote.h"
#include "core/access.h"
#include "core/charge.h"
#include "core/export.h"
#include "core/notelist.h"
#include "core/submit.h"
#include "sim.h"

struct seg;

#define OBJECTS	8192	/* made between two boots of a node */

/* A node from its start to its failure. */
struct boot {
	struct dd_node node;	/* the node */
	struct dd_ctx ctx;	/* its only context */
	struct dd_region region;	/* memory that is exported */
	struct dd_region aside;		/* where PUTs are redirected to */
	struct dd_list list;		/* notes to the owner of the segment */
	bool begun;		/* its processes run */
	bool dead;		/* failed: nothing that it has queued runs any more */
	int number;		/* of the node, from 0 */
	u32 nobjs;		/* ids given so far */
	struct dd_obj *objs[OBJECTS];	/* published objects, by id */
	struct seg *seg;	/* that segment, or NULL */
	struct seg *half[2];	/* the segments that last used each half of @region, or NULL */
	u64 next_at;		/* when @seg ends, or the next one begins */
};

/* The node that runs now: work belongs to it. */
extern struct boot *boot_now;
/* Allocations that were not freed. */
extern long kernel_objects;

/* Ids of a node's objects that are not in @objs. */
enum { REGION_EXPORTED, REGION_ASIDE, LIST_ID };

struct boot *boot_new(int number, u32 pages);
/* Take the next note; false if there is none. */
bool list_take(struct boot *b, struct dd_note *n);
void region_init(struct dd_region *region, struct boot *b, u32 pages);
/* Something has changed for the processes of a node. */
void mem_wake(struct boot *b);

#endif /* _DD_SIM_MEM_H */
