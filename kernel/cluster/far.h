/* SPDX-License-Identifier: GPL-2.0-only */
/* Imports of segments between nodes: far.c. */
#ifndef _DD_FAR_H
#define _DD_FAR_H

#include "cluster/remote.h"
#include "core/names.h"

struct dd_import_make;

/**
 * enum dd_far_step - what a pending import waits for
 * @DD_FAR_SESSION: a session
 * @DD_FAR_QUERY: space in the control stream
 * @DD_FAR_ANSWER: the answer to the query
 * @DD_FAR_PARKED: the export of the segment
 * @DD_FAR_OVER: nothing: the import is not pending any more
 */
enum dd_far_step {
	DD_FAR_SESSION,
	DD_FAR_QUERY,
	DD_FAR_ANSWER,
	DD_FAR_PARKED,
	DD_FAR_OVER,
};

/**
 * struct dd_far_import - an import of another node's segment
 * @imp: the import
 * @setup: how the import is made
 * @work: takes the next step; holds a reference while it is queued
 * @r: the access; NULL if there is none yet
 * @step: what the import waits for. Only the worker uses this field and the following ones, except
 *	that dd_far_woken() reads @step and @session
 * @err: error of a step
 * @asked: jiffies when the import began to wait for space for its query, or when it was sent
 * @depth: number of requests under way that the importer wants
 * @session: number of the session
 * @class: enum dd_segment_class
 * @named: the registrar has found @key by a name
 * @key: key of the segment, padded with zeros
 * @answer: answer to the query
 * @entry: in dd_ctl.waiters while the import is pending; holds a reference
 */
struct dd_far_import {
	struct dd_import imp;
	struct dd_import_setup setup;
	struct delayed_work work;
	struct dd_remote *r;
	enum dd_far_step step;
	int err;
	unsigned long asked;
	u32 depth;
	u64 session;
	u8 class;
	bool named;
	u8 key[DD_KEY_SIZE];
	struct dd_ctl_answer answer;
	wait_queue_entry_t entry;
};

extern const struct dd_obj_ops dd_far_import_ops;

int dd_far_import_make(struct dd_ctx *ctx, struct dd_import_make *arg);
void dd_far_init(void);

#endif /* _DD_FAR_H */
