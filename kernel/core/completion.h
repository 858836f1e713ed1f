/* SPDX-License-Identifier: GPL-2.0-only */
/* Notes to the owner of an import when its requests are done: completion.c. */
#ifndef _DD_COMPLETION_H
#define _DD_COMPLETION_H

#include <linux/rbtree.h>
#include <linux/workqueue.h>
#include <uapi/linux/dd_mem.h>

#include "core/credit.h"
#include "core/import.h"
#include "core/notelist.h"

/**
 * struct dd_completion - a list that the requests of an import may name
 * @node: in dd_import.completions, by the id of @list, until the import is released; added under
 *	dd_ctx.lock and the lock of the import
 * @imp: the import
 * @list: the list; attached until the import is ended, and referenced until it is released
 * @credit: slots of the import there. Protected like @note
 * @pending: requests whose notes are not posted, of another node's segment. Protected like
 *	@note
 * @ended: the import was ended; under the locks of @list and of @imp
 * @note: the next note. The link fills in what depends on the request, under the lock under
 *	which @imp counts requests as done
 * @work: posts notes for which the slots were being moved
 */
struct dd_completion {
	struct rb_node node;
	struct dd_import *imp;
	struct dd_list *list;
	struct dd_credit credit;
	u32 pending;
	bool ended;
	struct dd_note note;
	struct work_struct work;
};

/**
 * dd_completion_space() - whether another request may ask for a note
 * @c: the completions; the caller has the lock that protects its @credit
 */
static inline bool dd_completion_space(const struct dd_completion *c)
{
	const struct dd_credit *credit = &c->credit;

	return c->pending < credit->window &&
	       credit->ends[(credit->next + c->pending) % credit->window] <=
	       dd_list_head_pos(c->list);
}

struct dd_completion *dd_completion_find(const struct dd_import *imp, u32 list);
bool dd_completion_claim(struct dd_completion *c, struct dd_due *due);
int dd_completion_attach(struct dd_ctx *ctx, const struct dd_import_list *arg);
void dd_completions_end(struct dd_import *imp);
void dd_completions_free(struct dd_import *imp);

#endif /* _DD_COMPLETION_H */
