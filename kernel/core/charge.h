/* SPDX-License-Identifier: GPL-2.0-only */
/* Accounting of memory: charge.c. */
#ifndef _DD_CHARGE_H
#define _DD_CHARGE_H

#include <linux/gfp.h>
#include <linux/types.h>

struct dd_credit;
struct dd_ctx;
struct mem_cgroup;
struct user_struct;

/*
 * For memory whose size a process chooses: the allocation fails rather than have the OOM killer
 * kill a process.
 */
#define DD_GFP	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

void dd_reap_all(struct dd_ctx *ctx);
void dd_reap_now(struct dd_ctx *ctx);
void dd_reap(struct dd_ctx *ctx);
int dd_charge(struct dd_ctx *ctx, size_t bytes);
int dd_charge_try(struct dd_ctx *ctx, size_t bytes);
void dd_uncharge(struct dd_ctx *ctx, size_t bytes);
void *dd_zalloc(struct dd_ctx *ctx, size_t size);
void dd_zfree(struct dd_ctx *ctx, void *p, size_t size);
struct user_struct *dd_charge_keep(struct dd_ctx *ctx, unsigned long pages);
void dd_charge_end(struct user_struct *user, unsigned long pages);
gfp_t dd_gfp(const struct dd_ctx *ctx);
struct mem_cgroup *dd_owner_enter(const struct dd_ctx *ctx);
void dd_owner_leave(struct mem_cgroup *before);
int dd_credit_make(struct dd_ctx *ctx, struct dd_credit *c, u32 window);
void dd_credit_drop(struct dd_ctx *ctx, struct dd_credit *c);

#endif /* _DD_CHARGE_H */
