/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The processes of scenarios of exported segments, see mem.c: owners of segments, and
 * importers.
 */
#ifndef _DD_SIM_PROCESSES_H
#define _DD_SIM_PROCESSES_H

#include "mem.h"

#define PAGES		4			/* of a segment */
#define WORDS		(PAGES * PAGE_SIZE / 8)
#define STAMPED		2			/* first stamped word, after the counters */
#define SLOTS		512			/* first word of the slots */
#define SLOT		192			/* words */
#define NSLOTS		((WORDS - SLOTS) / SLOT)
#define DEPTH		6
#define PIECE		2048			/* bytes of an importer's memory for a request */

/* The counters are marked, so that one is not taken for the other. */
static const u64 counter_base[] = { 0xa5ull << 56, 0xb6000000 };
#define CAS4_STATES	3			/* it wraps: a repeated CAS may find its value */
#define NOTES		100000			/* of an importer, at most */

enum { GET = 1, CAS = 2, PUT = 4, NOTE = 8, KINDS = 4 };

/* A segment that was exported. */
struct seg {
	struct boot *boot;	/* its node */
	struct dd_obj *exp;	/* the segment; NULL once it has ended */
	int half;		/* which half of the node's region it is */
	u64 *inhibited;		/* its contents since PUT and CAS are inhibited, or NULL */
	u32 redir_at, redir_n;	/* words that are redirected, or 0 */
	/* Its contents at the end; NULL before, and once the memory is used again */
	u64 *end;
	u64 counter[2];		/* the counters at the end */
	u64 acked[2];		/* CAS that have succeeded */
	u64 unknown[2];		/* CAS whose outcome is not known */
};

/* A request of an importer. */
struct request {
	int kind;		/* GET, CAS, PUT or NOTE */
	u32 word;		/* first word in the segment */
	u32 n;			/* words */
	u32 shift;		/* of a GET: bytes between a word and the result */
	bool status;		/* of a CAS: the result is a status */
	/*
	 * Of a CAS: expected value; of a GET: oldest stamp that may be returned; of a NOTE:
	 * its number
	 */
	u64 old;
};

/* A process that imports. */
struct app {
	int node;		/* its node */
	int to;			/* node of the segment */
	u32 rank;		/* its number among the importers of that node */
	struct dd_import *imp;	/* the import, or NULL */
	struct seg *seg;	/* its segment, or NULL while it is pending */
	u64 life;		/* number of imports made */
	u64 end_at;		/* when @imp ends */
	u64 noted;		/* the last NOTE that has arrived */
	u64 count;		/* requests completed */
	u64 puts;		/* PUTs sent */
	u64 notes;		/* NOTEs sent */
	/* Of each NOTE, by its number: the node that it was sent to, and what is known. */
	struct {
		struct boot *to;
		bool taken, done, refused;
	} *note;
	u64 mine[SLOT];		/* contents of its slot; 0: not known */
	u64 seen[2];		/* last values of the counters */
	struct dd_region memory;	/* sources and results */
	u64 taken;		/* requests of @imp that are completed */
	struct request req[DEPTH];	/* requests, by number */
	u64 at;			/* time of the next step, 0 for none */
};

/* What the processes do. */
struct mem_plan {
	u32 kinds;		/* requests */
	u64 goal;		/* requests of each importer, 0 for any number */
	u64 import_ns;		/* average life of an import */
	u64 export_ns;		/* average life of a segment */
	u64 gap_ns;		/* average time until the next one */
	u64 tick_ns;		/* time between two stamps */
	u32 park;		/* percentage of imports that wait for the segment */
	bool inhibit;		/* owners inhibit PUT and CAS for a while */
	bool redirect;		/* owners redirect PUTs */
};

/**
 * struct mem - what the processes of all nodes share
 * @plan: what they do
 * @boots: present start of each node
 * @segs: segments that were exported, by generation
 * @nsegs: their number
 * @apps: importers, by node
 * @per_node: number of importers of a node
 * @stopping: processes end, and begin nothing
 * @seen: what has happened
 */
extern struct mem {
	struct mem_plan plan;
	struct boot **boots;
	struct seg *segs;
	u32 nsegs;
	struct app *apps;
	u32 per_node;
	bool stopping;
	struct {
		u64 requests, unknown, imports, failed, stale, lost, reboots, cuts;
		u64 refused, redirected, taken;
	} seen;
} mem;

/* owner.c */

/* Words of a segment, or of a node's memory beside it. */
u64 *seg_word(const struct seg *s, u32 word);
/* The time that an owner has stored last. */
u64 seg_stamp(const struct seg *s);
void segment_name(int node, u8 *key);
/* Fail if something was stored since the end. */
void seg_check(const struct seg *s);
/* The owner ends a segment, or its node fails. */
void seg_end(struct seg *s, bool fails);
/* Each NOTE arrives once, in the order of its importer, unless it was refused. */
void take_notes(struct boot *b);
/* What the owner does now; it goes on from there by itself. */
void owner_step(void *boot, u64 gen);

/* importer.c */

void app_wake(struct app *app, u64 delay);
/* The import is over: what is not done is not known, and is not repeated. */
void app_over(struct app *app);

#endif /* _DD_SIM_PROCESSES_H */
