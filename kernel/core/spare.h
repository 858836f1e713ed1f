/* SPDX-License-Identifier: GPL-2.0-only */
/* Charged memory that contexts keep only to save work: spare.c. */
#ifndef _DD_SPARE_H
#define _DD_SPARE_H

#include <linux/refcount.h>

#include "core/ctx.h"

/**
 * struct dd_spare - charged memory that is kept only to save work
 * @entry: in dd_spares.lru
 * @users: references to the memory; 1 if nothing uses it now
 * @pages: charged
 * @claim: points here until dd_spare_claim()
 * @later: frees it. Only the claimer calls it, or passes it to dd_ctx_later()
 */
struct dd_spare {
	struct list_head entry;
	const refcount_t *users;
	unsigned long pages;
	struct dd_spare **claim;
	struct dd_later later;
};

/* Claim a spare, which succeeds once; or NULL. Callable in any context. */
static inline struct dd_spare *dd_spare_claim(struct dd_spare **claim)
{
	/* Also a full barrier. */
	return xchg(claim, NULL);
}

void dd_spares_init(struct dd_spares *spares);
void dd_spares_end(struct dd_ctx *ctx);
bool dd_spares_show(struct dd_ctx *ctx);
void dd_spare_add(struct dd_spares *spares, struct dd_spare *spare);
void dd_spare_del(struct dd_spares *spares, struct dd_spare *spare);
struct dd_spare *dd_spare_idle(struct dd_ctx *ctx);
bool dd_spare_evict(struct dd_ctx *ctx);
unsigned long dd_spare_count(void);
unsigned long dd_spare_reclaim(unsigned long pages,
			       void (*later)(struct dd_ctx *ctx, struct dd_later *later));

#endif /* _DD_SPARE_H */
