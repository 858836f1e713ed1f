// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notes to the owner of an import when its requests are done. A request names the list; each
 * list of an import has slots of its own for them, so that no note is late for want of a slot.
 */
#include <uapi/linux/dd_mem.h>

#include "core/charge.h"
#include "core/completion.h"
#include "core/hooks.h"

static int completion_cmp(const void *list, const struct rb_node *node)
{
	u32 a = *(const u32 *)list, b = rb_entry(node, struct dd_completion, node)->list->obj.id;

	return a < b ? -1 : a > b;
}

static bool completion_less(struct rb_node *node, const struct rb_node *other)
{
	return completion_cmp(&rb_entry(node, struct dd_completion, node)->list->obj.id,
			      other) < 0;
}

/**
 * dd_completion_find() - find the list that a request names
 * @imp: the import, locked
 * @list: id of the list
 *
 * While a list is attached its id is not used again.
 *
 * Return: what dd_completion_attach() has added, valid until the import is released; or NULL.
 */
struct dd_completion *dd_completion_find(const struct dd_import *imp, u32 list)
{
	struct rb_node *node;

	lockdep_assert_held(&imp->chan->lock);
	node = rb_find(&list, &imp->completions, completion_cmp);
	return node ? rb_entry(node, struct dd_completion, node) : NULL;
}

static void completion_work(struct work_struct *work)
{
	struct dd_completion *c = container_of(work, struct dd_completion, work);
	struct dd_import *imp = c->imp;

	/* The slots are not being moved, as the list is locked. */
	mutex_lock(&c->list->lock);
	imp->chan->link->renotify(imp);
	mutex_unlock(&c->list->lock);
	dd_obj_put(&imp->obj);
}

static void completion_free(struct dd_ctx *ctx, struct dd_completion *c)
{
	if (!IS_ERR_OR_NULL(c->list))
		dd_list_put(c->list);
	dd_credit_drop(ctx, &c->credit);
	dd_zfree(ctx, c, sizeof(*c));
}

/* Charged to the owner of the import, whose context is locked. */
static struct dd_completion *completion_make(struct dd_import *imp,
					     const struct dd_import_list *arg)
{
	struct dd_ctx *ctx = imp->obj.ctx;
	struct dd_completion *c = dd_zalloc(ctx, sizeof(*c));
	int err;

	if (IS_ERR(c))
		return c;
	err = dd_credit_make(ctx, &c->credit, arg->depth ?: DD_DEPTH_USUAL);
	if (err) {
		dd_zfree(ctx, c, sizeof(*c));
		return ERR_PTR(err);
	}
	c->list = dd_list_attach(ctx, arg->list, true, c->credit.window, 0);
	err = PTR_ERR_OR_ZERO(c->list);
	if (err) {
		completion_free(ctx, c);
		return ERR_PTR(err);
	}
	refcount_inc(&c->list->obj.users);
	c->imp = imp;
	c->note.type = DD_NOTE_DONE;
	c->note.conn = dd_obj_serial(&imp->obj);
	c->note.cookie = arg->cookie;
	/* The owner can write its state. */
	c->note.node = READ_ONCE(imp->cs->node);
	INIT_WORK(&c->work, completion_work);
	return c;
}

/* The import has not ended: its context is locked. */
static int completion_add(struct dd_import *imp, const struct dd_import_list *arg)
{
	struct dd_completion *c;
	bool exists;

	spin_lock_bh(&imp->chan->lock);
	exists = dd_completion_find(imp, arg->list);
	spin_unlock_bh(&imp->chan->lock);
	if (exists)
		return -EEXIST;
	c = completion_make(imp, arg);
	if (IS_ERR(c))
		return PTR_ERR(c);
	spin_lock_bh(&imp->chan->lock);
	rb_add(&c->node, &imp->completions, completion_less);
	spin_unlock_bh(&imp->chan->lock);
	return 0;
}

/**
 * dd_completion_attach() - let the requests of an import name a list
 * @ctx: the caller
 * @arg: argument of user space
 *
 * Return: 0 or an error documented in the uapi header; on error nothing has changed.
 */
int dd_completion_attach(struct dd_ctx *ctx, const struct dd_import_list *arg)
{
	struct dd_import *imp;
	int err = -EINVAL;

	if (arg->flags || arg->depth > DD_DEPTH_MAX)
		return -EINVAL;
	mutex_lock(&ctx->lock);
	/* After its end, an import is not found any more. */
	imp = dd_import_get(ctx, arg->import);
	/* A connection has PUT only. */
	if (imp && imp->chan->link->op[DD_OP_GET])
		err = completion_add(imp, arg);
	mutex_unlock(&ctx->lock);
	if (!imp)
		return -ENOENT;
	dd_obj_put(&imp->obj);
	return err;
}

/**
 * dd_completion_claim() - prepare the note of a request that is done
 * @c: the completions; @note is complete
 * @due: (out) the note, for dd_deposit_notify()
 *
 * A slot is free: see dd_completion_space(). The caller holds a spinlock, under which the import
 * is found not to be ended, or dd_list.lock.
 *
 * Return: true; or false if the slots are being moved: then dd_link_ops.renotify() will be
 * called.
 */
bool dd_completion_claim(struct dd_completion *c, struct dd_due *due)
{
	due->list = c->list;
	due->note = dd_list_claim(c->list, &due->pos);
	if (likely(due->note)) {
		*due->note = c->note;
		dd_credit_get(&c->credit, due->pos);
		return true;
	}
	/* The import has not been released, as it is not ended. */
	refcount_inc(&c->imp->obj.users);
	if (!queue_work(dd_wq, &c->work))
		refcount_dec(&c->imp->obj.users);
	return false;
}

/**
 * dd_completions_end() - the owner has ended an import: post no more notes
 * @imp: the import, whose channel is dead; its context is locked
 */
void dd_completions_end(struct dd_import *imp)
{
	struct dd_completion *c;
	struct rb_node *node;

	lockdep_assert_held(&imp->obj.ctx->lock);
	for (node = rb_first(&imp->completions); node; node = rb_next(node)) {
		c = rb_entry(node, struct dd_completion, node);
		mutex_lock(&c->list->lock);
		spin_lock_bh(&imp->chan->lock);
		c->ended = true;
		spin_unlock_bh(&imp->chan->lock);
		mutex_unlock(&c->list->lock);
		dd_list_detach(c->list, c->credit.window, dd_credit_last(&c->credit));
	}
}

/* The import is released. */
void dd_completions_free(struct dd_import *imp)
{
	struct dd_completion *c, *next;

	rbtree_postorder_for_each_entry_safe(c, next, &imp->completions, node)
		completion_free(imp->obj.ctx, c);
}
