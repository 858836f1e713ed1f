/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The direct path: an importer stores messages in a window on the segment, and their
 * notes in a ring of its list: direct.c.
 */
#ifndef _DD_DIRECT_H
#define _DD_DIRECT_H

#include <uapi/linux/dd.h>

#include "core/ring.h"

struct dd_channel;
struct dd_ctx;
struct dd_import;

int dd_direct_grant(struct dd_ctx *ctx, struct dd_direct *arg);
u64 dd_direct_revoke(struct dd_channel *ch);
void dd_direct_release(struct dd_channel *ch);
int dd_direct_wake(struct dd_ctx *ctx, u64 serial);
int dd_direct_await(struct dd_import *imp, u64 pos, u64 timeout);
u64 dd_direct_sent(const struct dd_import *imp);
u64 dd_direct_last(const struct dd_import *imp);
u64 dd_direct_open(const struct dd_import *imp);
u64 dd_direct_received(const struct dd_channel *ch);
u64 dd_direct_done(const struct dd_import *imp);

#endif /* _DD_DIRECT_H */
