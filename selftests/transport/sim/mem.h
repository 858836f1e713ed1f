/* SPDX-License-Identifier: GPL-2.0-only */
/* A node's objects, for kernel.c and mem.c. */
#ifndef _DD_SIM_MEM_H
#define _DD_SIM_MEM_H

#include "cluster/far.h"
#include "cluster/remote.h"
#include "core/access.h"
#include "core/charge.h"
#include "core/export.h"
#include "core/submit.h"
#include "sim.h"

struct seg;

#define OBJECTS	8192	/* made between two boots of a node */

/**
 * struct boot - a node from its start to its failure
 * @node: the node
 * @ctx: its only context
 * @region: memory that is exported
 * @begun: its processes run
 * @dead: failed: nothing that it has queued runs any more
 * @number: of the node, from 0
 * @nobjs: ids given so far
 * @objs: published objects, by id
 * @name: of the segment that is exported, or NULL
 * @seg: that segment, or NULL
 * @half: the segments that last used each half of @region, or NULL
 * @next_at: when @seg ends, or the next one begins
 */
struct boot {
	struct dd_node node;
	struct dd_ctx ctx;
	struct dd_region region;
	bool begun;
	bool dead;
	int number;
	u32 nobjs;
	struct dd_obj *objs[OBJECTS];
	struct dd_name *name;
	struct seg *seg;
	struct seg *half[2];
	u64 next_at;
};

/* The node that runs now: work belongs to it. */
extern struct boot *boot_now;
/* Allocations that were not freed. */
extern long kernel_objects;

struct boot *boot_new(int number, u32 pages);
void region_init(struct dd_region *region, struct boot *b, u32 pages);
/* Something has changed for the processes of a node. */
void mem_wake(struct boot *b);

#endif /* _DD_SIM_MEM_H */
