// SPDX-License-Identifier: GPL-2.0-only
/*
 * Descriptors of note lists: poll(), read() and SIGIO.
 *
 * Signals are sent by an entry in the queue of sleeping readers, so posting a note costs
 * nothing for them.
 */
#include <linux/anon_inodes.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "core/bounds.h"
#include "core/notelist.h"
#include "core/ring.h"

/* Which notes cause a SIGIO: each one, or after DD_IOC_LIST_ARM the next one or none. */
enum { SIGNAL_EACH, SIGNAL_NEXT, SIGNAL_NONE };

/**
 * struct dd_list_file - a descriptor of a list
 * @list: the list, counted
 * @lock: protects changes of @fasync, and of @mode but for one from SIGNAL_NEXT to SIGNAL_NONE
 * @fasync: processes that get SIGIO; if there are any, @entry is in the queue of the list
 * @mode: SIGNAL_*
 * @entry: sends SIGIO
 */
struct dd_list_file {
	struct dd_list *list;
	struct mutex lock;	/* protects fasync and mode */
	struct fasync_struct *fasync;
	u32 mode;
	wait_queue_entry_t entry;
};

static int list_signal(wait_queue_entry_t *entry, unsigned int mode, int flags,
		       void *key)
{
	struct dd_list_file *f = container_of(entry, struct dd_list_file, entry);
	struct dd_list *list = f->list;

	if (READ_ONCE(f->mode) != SIGNAL_EACH) {
		/* The note that this is for may have been read, before the list was armed. */
		if (!dd_list_ready(list) && !dd_list_ended(list))
			return 0;
		if (cmpxchg(&f->mode, SIGNAL_NEXT, SIGNAL_NONE) != SIGNAL_NEXT)
			return 0;
	}
	kill_fasync(&f->fasync, SIGIO, POLL_IN);
	return 0;
}

static int list_fd_fasync(int fd, struct file *file, int on)
{
	struct dd_list_file *f = file->private_data;
	bool waiting;
	int ret;

	mutex_lock(&f->lock);
	waiting = f->fasync;
	ret = fasync_helper(fd, file, on, &f->fasync);
	if (f->fasync && !waiting) {
		add_wait_queue(&f->list->wait, &f->entry);
		dd_rings_arm(f->list);
	} else if (!f->fasync && waiting) {
		remove_wait_queue(&f->list->wait, &f->entry);
		WRITE_ONCE(f->mode, SIGNAL_EACH);
	}
	mutex_unlock(&f->lock);
	return ret;
}

/*
 * Returns 0 if the list is armed or a signal was sent meanwhile; 1 if it has notes, or -ENOENT
 * if it has ended, and no signal will be sent.
 */
static int list_fd_arm(struct dd_list_file *f)
{
	struct dd_list *list = f->list;
	int ret;

	lockdep_assert_held(&f->lock);
	if (!f->fasync)
		return -EINVAL;
	dd_list_kick(list);
	/*
	 * Orders the mode before the look for notes. Pairs with dd_list_wake(): this or
	 * list_signal() sees both, and the one that changes the mode reports the note.
	 */
	xchg(&f->mode, SIGNAL_NEXT);
	dd_rings_arm(list);
	if (dd_list_ready(list))
		ret = 1;
	else if (dd_list_ended(list))
		ret = -ENOENT;
	else
		return 0;
	return cmpxchg(&f->mode, SIGNAL_NEXT, SIGNAL_NONE) == SIGNAL_NEXT ? ret : 0;
}

static long list_fd_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct dd_list_file *f = file->private_data;
	int ret;

	if (cmd != DD_IOC_LIST_ARM)
		return -ENOTTY;
	if (arg)
		return -EINVAL;
	mutex_lock(&f->lock);
	ret = list_fd_arm(f);
	mutex_unlock(&f->lock);
	return ret;
}

/* The last close has called list_fd_fasync() to turn signals off. */
static int list_fd_release(struct inode *inode, struct file *file)
{
	struct dd_list_file *f = file->private_data;

	dd_list_put(f->list);
	kfree(f);
	return 0;
}

static __poll_t list_fd_poll(struct file *file, poll_table *pt)
{
	struct dd_list_file *f = file->private_data;
	struct dd_list *list = f->list;
	enum dd_list_state state;

	poll_wait(file, &list->wait, pt);
	state = READ_ONCE(list->state);
	if (state == DD_LIST_ENDED)
		return EPOLLHUP | EPOLLERR;
	dd_list_kick(list);
	dd_rings_arm(list);
	return (dd_list_ready(list) ? EPOLLIN | EPOLLRDNORM : 0) |
	       (state == DD_LIST_HUP ? EPOLLHUP : 0);
}

/* Copy the first note and its position; false if there is none. */
static bool list_peek(struct dd_list *list, struct dd_list_record *to, u64 *pos)
{
	u64 head = dd_list_head_pos(list), geometry;
	const struct dd_note *note;

	do {
		/* Pairs with dd_list_use(): the notes have been moved. */
		geometry = smp_load_acquire(&list->geometry);
		note = dd_area_unit(&list->obj.ctx->area, dd_slot_unit(geometry, head));
		/* Pairs with dd_list_commit(). */
		if (smp_load_acquire(&note->seq) != head + 1)
			return false;
		*to = (struct dd_list_record){
			.cookie = READ_ONCE(note->cookie),
			.offset = READ_ONCE(note->offset),
			.count = READ_ONCE(note->len),
			.node = READ_ONCE(note->node),
			.op = READ_ONCE(note->op),
			.type = READ_ONCE(note->type),
			.seq = READ_ONCE(note->msgid),
		};
		if (to->type == DD_NOTE_DONE)
			to->error = READ_ONCE(note->error);
		else
			to->generation = READ_ONCE(note->generation);
		/* Orders the loads above before the look whether the ring was moved. */
		smp_rmb();
	} while (READ_ONCE(list->geometry) != geometry);
	*pos = head;
	return true;
}

/* Wait for a note: 0, or an error. */
static int list_fd_wait(struct dd_list *list, bool block)
{
	if (dd_list_ended(list))
		return dd_list_has_note(list) ? 0 : -ENOENT;
	dd_list_kick(list);
	if (!block && !dd_list_has_note(list))
		return -EAGAIN;
	/* While the ring is moved, the caller looks again at once. */
	cond_resched();
	if (signal_pending(current))
		return -ERESTARTSYS;
	return wait_event_interruptible(list->wait,
					dd_list_ended(list) || dd_list_has_note(list));
}

/*
 * A note is consumed after its record was stored. Of several readers, the one that moves
 * the position has got the note; the others store another record at the same place.
 */
static ssize_t list_fd_read(struct file *file, char __user *to, size_t size,
			    loff_t *off)
{
	struct dd_list_file *f = file->private_data;
	struct dd_list *list = f->list;
	struct dd_list_record record;
	size_t done = 0;
	int err = 0;
	u64 pos;

	if (size < sizeof(record))
		return -EINVAL;
	while (!err && size - done >= sizeof(record)) {
		if (!list_peek(list, &record, &pos)) {
			if (done)
				break;
			err = list_fd_wait(list, !(file->f_flags & O_NONBLOCK));
			continue;
		}
		if (copy_to_user(to + done, &record, sizeof(record)))
			err = -EFAULT;
		/* The slot may be reused. Pairs with dd_list_head_pos(). */
		else if (cmpxchg_release(&list->head->head, pos, pos + 1) == pos)
			done += sizeof(record);
		/* The owner can write the position, so this may go on forever. */
		if (signal_pending(current) && !err)
			err = -ERESTARTSYS;
		cond_resched();
	}
	/* Senders may wait for the slots. */
	dd_list_kick(list);
	if (done)
		return done;
	return err == -ENOENT ? 0 : err;
}

static const struct file_operations list_fops = {
	.owner = THIS_MODULE,
	.release = list_fd_release,
	.poll = list_fd_poll,
	.read = list_fd_read,
	.fasync = list_fd_fasync,
	.unlocked_ioctl = list_fd_ioctl,
	.compat_ioctl = list_fd_ioctl,
	.llseek = noop_llseek,
};

/* A descriptor that is readable while the list has notes. */
int dd_list_fd(struct dd_ctx *ctx, u32 id)
{
	struct dd_list *list = dd_obj_get(ctx, id, &dd_list_ops);
	struct dd_list_file *f;
	int fd = -ENOMEM;

	if (!list)
		return -ENOENT;
	f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);
	if (f) {
		f->list = list;
		mutex_init(&f->lock);
		init_waitqueue_func_entry(&f->entry, list_signal);
		fd = anon_inode_getfd("[dd-list]", &list_fops, f,
				      O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0) {
		kfree(f);
		dd_list_put(list);
	}
	return fd;
}
