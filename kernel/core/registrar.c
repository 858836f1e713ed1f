// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registrar of a node: a process that keeps the names of segments, for exports and
 * imports of class DD_SEGMENT_REGISTERED.
 *
 * It reads calls from a descriptor and writes answers to it. ADD and LOOKUP are made by a
 * thread that waits for the answer; DELETE has none, so a process that exits does not
 * wait. The kernel remembers the names of its own segments, and a new registrar gets
 * them all.
 */
#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>
#include <uapi/linux/dd_mem.h>
#include <uapi/linux/dd_netlink.h>

#include "compat/compat.h"
#include "core/bounds.h"
#include "core/charge.h"
#include "core/ctx.h"
#include "core/hooks.h"
#include "core/node.h"
#include "core/quota.h"
#include "core/registrar.h"

/* Calls that wait for an answer at a time. */
#define DD_CALLS_MAX	1024
#define DD_CALL_TIMEOUT	(3 * HZ)	/* as the uapi header says */

/**
 * struct dd_call - a call of the registrar
 * @entry: in dd_registrar.queue, or in dd_registrar.asked if it was read; else empty
 * @seq: of its place in the queue
 * @place: in dd_registrar.calls, if a thread waits; and the user of the caller
 * @name: of an ADD that was not read: its name; else NULL
 * @what: for the registrar; @what.call is 0 if no thread waits
 * @answer: its answer, once @done
 * @done: completed with the answer
 */
struct dd_call {
	struct list_head entry;
	u64 seq;
	struct dd_quota_place place;
	struct dd_registered *name;
	struct dd_registrar_call what;
	struct dd_registrar_answer answer;
	struct completion done;
};

/**
 * struct dd_registered - the name of a segment
 * @users: held by the export, and by @call while it is a DELETE in the queue
 * @entry: in dd_node.registered from ADD to DELETE, else empty
 * @add: its ADD, if the registrar has not read that; else NULL. The registrar knows names
 *	in dd_node.registered without @add
 * @call: ADD for a registrar that is new; DELETE once the segment has ended. No thread waits
 *	for it
 */
struct dd_registered {
	refcount_t users;
	struct list_head entry;
	struct dd_call *add;
	struct dd_call call;
};

/**
 * struct dd_registrar - a descriptor of a registrar
 * @ctx: context that has opened it, counted
 * @queue: calls that were not read
 * @asked: calls that were read and wait for an answer
 * @calls: those for which a thread waits
 * @last: number of the last such call
 * @seq: of the last call in @queue
 * @wait: readers
 * @reading: serialises readers, so that a call is not lost if its record cannot be stored
 *
 * All but @wait and @reading is protected by dd_node.registrar_lock.
 */
struct dd_registrar {
	struct dd_ctx *ctx;
	struct list_head queue;
	struct list_head asked;
	struct dd_quota calls;
	u64 last;
	u64 seq;
	wait_queue_head_t wait;
	struct mutex reading;	/* serialises readers */
};

static void call_queue(struct dd_registrar *reg, struct dd_call *call)
{
	lockdep_assert_held(&reg->ctx->node->registrar_lock);
	call->seq = ++reg->seq;
	list_add_tail(&call->entry, &reg->queue);
	wake_up(&reg->wait);
}

static void call_queue_add(struct dd_registrar *reg, struct dd_call *call,
			   struct dd_registered *name)
{
	call->name = name;
	name->add = call;
	call_queue(reg, call);
}

/* An ADD was read, or will never be. */
static void call_drop_name(struct dd_call *call)
{
	if (call->name)
		call->name->add = NULL;
	call->name = NULL;
}

static void registered_put(struct dd_registered *name)
{
	if (refcount_dec_and_test(&name->users))
		kfree(name);
}

/* The caller does not use a call without a thread any more: it may be freed. */
static void call_over(struct dd_registrar *reg, struct dd_call *call, int err)
{
	lockdep_assert_held(&reg->ctx->node->registrar_lock);
	list_del_init(&call->entry);
	call_drop_name(call);
	if (call->what.call) {
		call->answer.error = -err;
		dd_quota_put(&reg->calls, &call->place);
		complete(&call->done);
	} else if (call->what.op == DD_REGISTRAR_DELETE) {
		registered_put(container_of(call, struct dd_registered, call));
	}
}

/* ---- callers ------------------------------------------------------------ */

/* Call the registrar and wait for its answer. @name is that of an ADD, or NULL. */
static int registrar_ask(struct dd_node *node, struct dd_call *call,
			 struct dd_registered *name)
{
	struct dd_registrar *reg;
	int err = 0;
	long left;

	INIT_LIST_HEAD(&call->entry);
	init_completion(&call->done);
	call->place.uid = current_euid();
	mutex_lock(&node->registrar_lock);
	reg = node->registrar;
	if (!reg)
		err = -EHOSTDOWN;
	else if (name && name->call.what.op == DD_REGISTRAR_DELETE)
		err = -ESTALE;
	else
		err = dd_quota_get(&reg->calls, &call->place, DD_CALLS_MAX, INVALID_UID);
	if (!err && name) {
		call->what = name->call.what;
		call->what.call = ++reg->last;
		list_add_tail(&name->entry, &node->registered);
		call_queue_add(reg, call, name);
	} else if (!err) {
		call->what.call = ++reg->last;
		call_queue(reg, call);
	}
	mutex_unlock(&node->registrar_lock);
	if (err)
		return err;
	/* The registrar is a process: it may be stopped. */
	left = wait_for_completion_interruptible_timeout(&call->done, DD_CALL_TIMEOUT);
	if (left <= 0) {
		mutex_lock(&node->registrar_lock);
		/* Still on a list: the registrar has neither answered the call nor ended. */
		if (!list_empty(&call->entry)) {
			/* The registrar gets no ADD: it needs no DELETE. */
			if (call->name)
				list_del_init(&call->name->entry);
			call_over(node->registrar, call, left ? -EINTR : -ETIMEDOUT);
		}
		mutex_unlock(&node->registrar_lock);
	}
	return -(int)call->answer.error;
}

/**
 * dd_registrar_lookup() - replace a name by the key of its segment
 * @ctx: the caller
 * @arg: argument of an import of class %DD_SEGMENT_REGISTERED, checked; @node and @key are
 *	replaced, see dd_import_class()
 *
 * Return: 0; the errno that the registrar has answered; %-EINVAL (the name);
 * %-EHOSTDOWN (there is no registrar, or it has ended); %-ETIMEDOUT (it does not answer);
 * %-EUSERS; %-EINTR.
 */
int dd_registrar_lookup(struct dd_ctx *ctx, struct dd_import_make *arg)
{
	struct dd_call call = {
		.what = {
			.op = DD_REGISTRAR_LOOKUP, .flags = arg->flags,
			.node = arg->node, .rights = arg->rights,
		},
	};
	int err;

	if (!dd_name_ok(arg->key, sizeof(arg->key)))
		return -EINVAL;
	memcpy(call.what.name, arg->key, sizeof(call.what.name));
	err = registrar_ask(ctx->node, &call, NULL);
	if (err)
		return err;
	arg->node = call.answer.node;
	memset(arg->key, 0, sizeof(arg->key));
	put_unaligned_le64(call.answer.generation, arg->key);
	return 0;
}

/**
 * dd_registered_new() - remember the name of a segment
 * @ctx: the owner
 * @arg: argument of its export
 * @generation: its generation
 *
 * Return: the name, which dd_registered_free() frees; %-EINVAL, %-EDQUOT or %-ENOMEM.
 */
struct dd_registered *dd_registered_new(struct dd_ctx *ctx,
					const struct dd_segment_make *arg, u64 generation)
{
	struct dd_registered *name;

	if (!dd_name_ok(arg->key, sizeof(arg->key)))
		return ERR_PTR(-EINVAL);
	name = dd_zalloc(ctx, sizeof(*name));
	if (IS_ERR(name))
		return name;
	refcount_set(&name->users, 1);
	INIT_LIST_HEAD(&name->entry);
	INIT_LIST_HEAD(&name->call.entry);
	name->call.place.uid = current_euid();
	name->call.what = (struct dd_registrar_call){
		.op = DD_REGISTRAR_ADD, .generation = generation,
		.length = arg->length, .rights = arg->rights, .node = ctx->node->id,
	};
	memcpy(name->call.what.name, arg->key, sizeof(arg->key));
	return name;
}

/**
 * dd_registrar_add() - register the name of a segment that can be imported
 * @ctx: the owner
 * @name: the name
 *
 * Return: 0; or an error as of dd_registrar_lookup(), after which the caller ends the
 * segment; %-ESTALE if it has ended.
 */
int dd_registrar_add(struct dd_ctx *ctx, struct dd_registered *name)
{
	struct dd_call call = {};

	return registrar_ask(ctx->node, &call, name);
}

/**
 * dd_registrar_delete() - unregister the name of a segment
 * @ctx: the owner
 * @name: the name
 *
 * The registrar gets a DELETE if it has read an ADD, whatever it has answered. So there are never
 * more unread ones than names that had memory, each charged, at one time: a further name is known
 * to the registrar only once it has read the DELETEs in front of its ADD.
 */
void dd_registrar_delete(struct dd_ctx *ctx, struct dd_registered *name)
{
	struct dd_node *node = ctx->node;
	bool known;

	mutex_lock(&node->registrar_lock);
	known = !list_empty(&name->entry) && !name->add && node->registrar;
	list_del_init(&name->entry);
	if (name->add)
		call_over(node->registrar, name->add, -ESTALE);
	name->call.what.op = DD_REGISTRAR_DELETE;
	if (known) {
		refcount_inc(&name->users);
		call_queue(node->registrar, &name->call);
	}
	mutex_unlock(&node->registrar_lock);
}

/**
 * dd_registered_free() - free the name of a segment that has ended, or was not exported
 * @ctx: the owner
 * @name: the name
 *
 * Its memory is charged to the cgroup of the owner until the registrar has read the DELETE.
 */
void dd_registered_free(struct dd_ctx *ctx, struct dd_registered *name)
{
	registered_put(name);
	dd_uncharge(ctx, sizeof(*name));
}

/* The text of a name: %DD_SEGMENT_KEY bytes, which do not change. */
const u8 *dd_registered_key(const struct dd_registered *name)
{
	return name->call.what.name;
}

/* ---- the descriptor ----------------------------------------------------- */

/* Copy the first call and its place; false if there is none. */
static bool registrar_peek(struct dd_registrar *reg, struct dd_registrar_call *what,
			   u64 *seq)
{
	struct dd_node *node = reg->ctx->node;
	struct dd_call *call;

	mutex_lock(&node->registrar_lock);
	call = list_first_entry_or_null(&reg->queue, struct dd_call, entry);
	if (call) {
		*what = call->what;
		what->uid = from_kuid_munged(reg->ctx->cred->user_ns, call->place.uid);
		*seq = call->seq;
	}
	mutex_unlock(&node->registrar_lock);
	return call;
}

/* The call at place @seq was read. Returns false if it has ended meanwhile. */
static bool registrar_was_read(struct dd_registrar *reg, u64 seq)
{
	struct dd_node *node = reg->ctx->node;
	struct dd_call *call;
	bool there;

	mutex_lock(&node->registrar_lock);
	call = list_first_entry_or_null(&reg->queue, struct dd_call, entry);
	there = call && call->seq == seq;
	if (there && call->what.call) {
		call_drop_name(call);
		list_move_tail(&call->entry, &reg->asked);
	} else if (there) {
		call_over(reg, call, 0);
	}
	mutex_unlock(&node->registrar_lock);
	return there;
}

static ssize_t registrar_read(struct file *file, char __user *to, size_t size, loff_t *off)
{
	struct dd_registrar *reg = file->private_data;
	struct dd_registrar_call what;
	size_t done = 0;
	int err = 0;
	u64 seq;

	if (size < sizeof(what))
		return -EINVAL;
	if (file->f_flags & O_NONBLOCK) {
		if (!mutex_trylock(&reg->reading))
			return -EAGAIN;
	} else if (mutex_lock_interruptible(&reg->reading)) {
		return -ERESTARTSYS;
	}
	while (!err && size - done >= sizeof(what)) {
		if (registrar_peek(reg, &what, &seq)) {
			if (copy_to_user(to + done, &what, sizeof(what)))
				err = -EFAULT;
			else if (registrar_was_read(reg, seq))
				done += sizeof(what);
		} else if (done) {
			break;
		} else if (file->f_flags & O_NONBLOCK) {
			err = -EAGAIN;
		} else {
			err = wait_event_interruptible(reg->wait,
						       !list_empty_careful(&reg->queue));
		}
	}
	mutex_unlock(&reg->reading);
	return done ?: err;
}

/* Pass an answer to the thread that waits for it. */
static int dd_registrar_answer(struct dd_registrar *reg,
			       const struct dd_registrar_answer *answer)
{
	struct dd_node *node = reg->ctx->node;
	struct dd_call *call;
	int err = -ENOENT;

	if (answer->error > DD_REGISTRAR_ERROR_MAX)
		return -EINVAL;
	mutex_lock(&node->registrar_lock);
	list_for_each_entry(call, &reg->asked, entry) {
		if (call->what.call != answer->call)
			continue;
		err = 0;
		if (call->what.op == DD_REGISTRAR_LOOKUP && !answer->error &&
		    (answer->node >= READ_ONCE(node->max) || !answer->generation))
			err = -EINVAL;
		if (!err) {
			call->answer = *answer;
			call_over(reg, call, -(int)answer->error);
		}
		break;
	}
	mutex_unlock(&node->registrar_lock);
	return err;
}

static ssize_t registrar_write(struct file *file, const char __user *from, size_t size,
			       loff_t *off)
{
	struct dd_registrar_answer answer;
	size_t done = 0;
	int err = 0;

	if (!size || size % sizeof(answer))
		return -EINVAL;
	while (!err && done < size) {
		if (copy_from_user(&answer, from + done, sizeof(answer)))
			err = -EFAULT;
		else
			err = dd_registrar_answer(file->private_data, &answer);
		if (!err)
			done += sizeof(answer);
		cond_resched();
	}
	return done ?: err;
}

static __poll_t registrar_poll(struct file *file, poll_table *pt)
{
	struct dd_registrar *reg = file->private_data;

	poll_wait(file, &reg->wait, pt);
	return EPOLLOUT | EPOLLWRNORM |
	       (list_empty_careful(&reg->queue) ? 0 : EPOLLIN | EPOLLRDNORM);
}

/* Calls that wait fail with EHOSTDOWN. Another process may become the registrar. */
static void registrar_end(struct dd_registrar *reg)
{
	struct dd_node *node = reg->ctx->node;
	struct dd_call *call, *next;

	mutex_lock(&node->registrar_lock);
	WRITE_ONCE(node->registrar, NULL);
	list_splice_init(&reg->asked, &reg->queue);
	list_for_each_entry_safe(call, next, &reg->queue, entry)
		call_over(reg, call, -EHOSTDOWN);
	mutex_unlock(&node->registrar_lock);
	dd_events->node(node, DD_CMD_NODE_SET_NTF);
	dd_ctx_put(reg->ctx);
	kfree(reg);
}

static int registrar_release(struct inode *inode, struct file *file)
{
	registrar_end(file->private_data);
	return 0;
}

static const struct file_operations registrar_fops = {
	.owner = THIS_MODULE,
	.release = registrar_release,
	.poll = registrar_poll,
	.read = registrar_read,
	.write = registrar_write,
	.llseek = noop_llseek,
};

/**
 * dd_registrar_open() - become the registrar of the node
 * @ctx: the caller
 *
 * Return: a descriptor; %-EPERM; %-EBUSY if there is one; %-ENOMEM; an error of
 * anon_inode_getfd().
 */
int dd_registrar_open(struct dd_ctx *ctx)
{
	struct dd_node *node = ctx->node;
	struct dd_registered *name;
	struct dd_registrar *reg;
	bool busy;
	int fd;

	if (!ns_capable(node->net->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	reg = kzalloc(sizeof(*reg), GFP_KERNEL_ACCOUNT);
	if (!reg)
		return -ENOMEM;
	INIT_LIST_HEAD(&reg->queue);
	INIT_LIST_HEAD(&reg->asked);
	dd_quota_init(&reg->calls);
	init_waitqueue_head(&reg->wait);
	mutex_init(&reg->reading);
	mutex_lock(&node->registrar_lock);
	busy = node->registrar;
	if (!busy) {
		reg->ctx = dd_ctx_get(ctx);
		WRITE_ONCE(node->registrar, reg);
		list_for_each_entry(name, &node->registered, entry)
			call_queue_add(reg, &name->call, name);
	}
	mutex_unlock(&node->registrar_lock);
	if (busy) {
		kfree(reg);
		return -EBUSY;
	}
	dd_events->node(node, DD_CMD_NODE_SET_NTF);
	fd = anon_inode_getfd("[dd-registrar]", &registrar_fops, reg, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		registrar_end(reg);
	return fd;
}
