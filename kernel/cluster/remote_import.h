/* SPDX-License-Identifier: GPL-2.0-only */
/* Imports of segments between nodes: remote_import.c. */
#ifndef _DD_REMOTE_IMPORT_H
#define _DD_REMOTE_IMPORT_H

#include "cluster/remote.h"
#include "core/names.h"

struct dd_import_make;

/**
 * enum dd_remote_step - what a pending import waits for
 * @DD_REMOTE_SESSION: a session
 * @DD_REMOTE_QUERY: space in the control stream
 * @DD_REMOTE_ANSWER: the answer to the query
 * @DD_REMOTE_PARKED: the export of the segment
 * @DD_REMOTE_OVER: nothing: the import is not pending any more
 */
enum dd_remote_step {
	DD_REMOTE_SESSION,
	DD_REMOTE_QUERY,
	DD_REMOTE_ANSWER,
	DD_REMOTE_PARKED,
	DD_REMOTE_OVER,
};

/**
 * struct dd_remote_import - an import of another node's segment
 * @imp: the import
 * @setup: how the import is made
 * @work: takes the next step; holds a reference while it is queued
 * @r: the access; NULL if there is none yet
 * @step: what the import waits for. Only the worker uses this field and the following ones, except
 *	that dd_remote_woken() reads @step and @session
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
struct dd_remote_import {
	struct dd_import imp;
	struct dd_import_setup setup;
	struct delayed_work work;
	struct dd_remote *r;
	enum dd_remote_step step;
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

extern const struct dd_obj_ops dd_remote_import_ops;

int dd_remote_import_make(struct dd_ctx *ctx, struct dd_import_make *arg);
void dd_remote_init(void);

#endif /* _DD_REMOTE_IMPORT_H */
