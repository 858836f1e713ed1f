// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/dd: open, ioctl, mmap, poll.
 */
#include <linux/compat.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/uaccess.h>

#include "cluster/remote_import.h"
#include "cluster/peer.h"
#include "compat/compat.h"
#include "core/area.h"
#include "core/completion.h"
#include "core/ctx.h"
#include "core/export.h"
#include "core/import.h"
#include "core/local_import.h"
#include "core/node.h"
#include "core/notelist.h"
#include "core/page.h"
#include "core/pin.h"
#include "core/region.h"
#include "core/registrar.h"
#include "core/submit.h"
#include "core/window.h"
#include "ddp/conn.h"
#include "ddp/service.h"
#include "dev/chardev.h"
#include "direct/direct.h"

static int dd_open(struct inode *inode, struct file *file)
{
	struct dd_ctx *ctx;

	if (!current->mm)
		return -EINVAL;
	ctx = dd_ctx_create(dd_node_of(current->nsproxy->net_ns));
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	file->private_data = ctx;
	/* Mappings are found by this inode when a window is revoked. */
	file->f_mapping = ctx->windows.inode->i_mapping;
	return 0;
}

static int dd_release(struct inode *inode, struct file *file)
{
	struct dd_ctx *ctx = file->private_data;

	dd_ctx_end(ctx);
	dd_ctx_finish(ctx);
	dd_ctx_put(ctx);
	return 0;
}

/*
 * A process that exits, or closes a descriptor, may have unmapped the area before: end the
 * context now, also if another process has the file.
 */
static int dd_flush(struct file *file, fl_owner_t id)
{
	dd_ctx_finish(file->private_data);
	return 0;
}

/* ---- mmap --------------------------------------------------------------- */

static void area_vm_open(struct vm_area_struct *vma)
{
	struct dd_ctx *ctx = vma->vm_private_data;

	atomic_inc(&ctx->area_maps);
}

/*
 * The owner's address space is torn down, or the owner has unmapped the area. The
 * caller holds mmap_lock, which other paths take inside the locks that ending a
 * context needs, so a worker ends the context, or dd_flush(), whichever is first.
 */
static void area_vm_close(struct vm_area_struct *vma)
{
	struct dd_ctx *ctx = vma->vm_private_data;

	if (!atomic_dec_and_test(&ctx->area_maps))
		return;
	/* Not mapped again: mmap_lock excludes area_mmap(). */
	atomic_set(&ctx->area_maps, -1);
	dd_ctx_get(ctx);
	if (!queue_work(dd_wq, &ctx->end_work))
		dd_ctx_put(ctx);
}

static vm_fault_t area_vm_fault(struct vm_fault *vmf)
{
	struct dd_ctx *ctx = vmf->vma->vm_private_data;
	struct page *page = dd_area_page(&ctx->area, vmf->pgoff);

	if (!page)
		return VM_FAULT_SIGBUS;
	get_page(page);
	vmf->page = page;
	return 0;
}

static const struct vm_operations_struct area_vm_ops = {
	.open = area_vm_open,
	.close = area_vm_close,
	.may_split = dd_vm_may_split,
	.fault = area_vm_fault,
};

static int area_mmap(struct dd_ctx *ctx, struct vm_area_struct *vma)
{
	if (vma->vm_end - vma->vm_start > DD_AREA_SIZE)
		return -EINVAL;
	if (atomic_cmpxchg(&ctx->area_maps, 0, 1))
		return -EBUSY;
	/*
	 * VM_IO also prevents GUP, mlock() and MADV_DOFORK. mremap() may expand the
	 * mapping beyond the end of the area, where faults raise SIGBUS.
	 */
	vm_flags_mod(vma, VM_IO | VM_DONTCOPY | VM_DONTDUMP, VM_MAYEXEC);
	vma->vm_private_data = ctx;
	vma->vm_ops = &area_vm_ops;
	return 0;
}

static int dd_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct dd_ctx *ctx = file->private_data;
	int err = dd_ctx_check(ctx);

	if (err)
		return err;
	if (!(vma->vm_flags & VM_SHARED) || vma->vm_flags & VM_EXEC)
		return -EINVAL;
	if (vma->vm_pgoff == DD_AREA_OFFSET >> PAGE_SHIFT)
		return area_mmap(ctx, vma);
	if (xa_load(&ctx->windows.all, vma->vm_pgoff))
		return dd_window_mmap(&ctx->windows, vma);
	return dd_region_mmap(ctx, vma);
}

/* ---- ioctl -------------------------------------------------------------- */

static int dd_info(struct dd_ctx *ctx, struct dd_info *info)
{
	info->abi = DD_ABI_VERSION;
	info->features = DD_FEATURE_DIRECT | DD_FEATURE_SUBMIT |
			 DD_FEATURE_MEMORY;
	info->area_size = DD_AREA_SIZE;
	info->node = READ_ONCE(ctx->node->id);
	info->maxnodes = READ_ONCE(ctx->node->max);
	info->up = READ_ONCE(ctx->node->up);
	info->packet_size = dd_peers_packet_size(ctx->node, DD_PACKET_SIZE);
	info->memlock_limit = rlimit(RLIMIT_MEMLOCK);
	info->pid = dd_ctx_pid(ctx, ctx->node->pid_ns);
	info->memlock_used = (u64)atomic_long_read(&ctx->cred->user->locked_vm) << PAGE_SHIFT;
	return 0;
}

static int dd_import(struct dd_ctx *ctx, struct dd_import_make *arg)
{
	int err = dd_import_check_args(arg);

	if (err)
		return err;
	if (!READ_ONCE(ctx->node->up))
		return -ENETDOWN;
	if (arg->key_class == DD_SEGMENT_REGISTERED)
		err = dd_registrar_lookup(ctx, arg);
	if (err)
		return err;
	if (arg->node == READ_ONCE(ctx->node->id))
		err = dd_local_import_make(ctx, arg);
	else
		err = dd_remote_import_make(ctx, arg);
	arg->key_class = dd_import_class(arg);
	return err;
}

/* The function of an ioctl that takes a struct dd_@type. */
#define DD_DO(type, call)						\
static int dd_do_##type(struct dd_ctx *ctx, void *arg)			\
{									\
	return call(ctx, (struct dd_##type *)arg);			\
}

DD_DO(info, dd_info)
DD_DO(region_alloc, dd_region_alloc)
DD_DO(serve, dd_service_serve)
DD_DO(connect, dd_conn_connect)
DD_DO(conn_info, dd_conn_info)
DD_DO(conn_list, dd_service_conns)
DD_DO(conn_wait, dd_conn_wait)
DD_DO(list_info, dd_list_info)
DD_DO(list_wait, dd_list_wait)
DD_DO(direct, dd_direct_grant)
DD_DO(submit, dd_nic_submit)
DD_DO(region_pin, dd_region_pin)
DD_DO(region_dirty, dd_region_dirty)
DD_DO(region_check, dd_region_check)
DD_DO(region_stored, dd_region_stored)
DD_DO(segment_make, dd_export_make)
DD_DO(segment_ctl, dd_export_ctl)
DD_DO(segment_info, dd_export_info)
DD_DO(import_make, dd_import)
DD_DO(import_list, dd_completion_attach)
DD_DO(list_make, dd_list_make)
DD_DO(node_find, dd_peer_find)

/* The function that undoes it, by the id in its result. */
#define DD_UNDO(type, call, member)					\
static void dd_undo_##type(struct dd_ctx *ctx, const void *arg)		\
{									\
	call(ctx, ((const struct dd_##type *)arg)->member);		\
}

DD_UNDO(region_alloc, dd_region_free, region)
DD_UNDO(serve, dd_service_unserve, service)
DD_UNDO(connect, dd_conn_close, conn)
DD_UNDO(region_pin, dd_region_free, region)
DD_UNDO(segment_make, dd_obj_end, segment)
DD_UNDO(import_make, dd_obj_end, import)
DD_UNDO(list_make, dd_obj_end, serial)

/**
 * struct dd_ioctl - an ioctl that takes a structure
 * @fn: serves it, with the kernel's copy of the structure
 * @undo: undoes it if the results cannot be stored, or NULL
 * @size: size of the kernel's copy
 * @min: size of the first version of the structure
 * @no_area: allowed before the area is mapped
 * @no_result: stores nothing in the structure, which may be read-only
 */
struct dd_ioctl {
	int (*fn)(struct dd_ctx *ctx, void *arg);
	void (*undo)(struct dd_ctx *ctx, const void *arg);
	u32 size;
	u32 min;
	bool no_area;
	bool no_result;
};

#define DD_ARG_MAX	192	/* bytes in a structure */

/* @last is the last member of the structure's first version; other initialisers follow. */
#define DD_IOCTL(nr, type, last, ...)					\
	[_IOC_NR(DD_IOC_##nr)] = {					\
		.fn = dd_do_##type,					\
		.size = sizeof(struct dd_##type) + BUILD_BUG_ON_ZERO(	\
			sizeof(struct dd_##type) > DD_ARG_MAX),		\
		.min = offsetofend(struct dd_##type, last),		\
		__VA_ARGS__						\
	}

static const struct dd_ioctl dd_ioctls[] = {
	DD_IOCTL(INFO, info, memlock_used, .no_area = true),
	DD_IOCTL(REGION_ALLOC, region_alloc, __reserved, .undo = dd_undo_region_alloc),
	DD_IOCTL(SERVE, serve, send_block, .undo = dd_undo_serve),
	DD_IOCTL(CONNECT, connect, peer_size, .undo = dd_undo_connect),
	DD_IOCTL(CONN_INFO, conn_info, send_window),
	DD_IOCTL(CONN_LIST, conn_list, __reserved),
	DD_IOCTL(CONN_WAIT, conn_wait, timeout),
	DD_IOCTL(LIST_INFO, list_info, users),
	DD_IOCTL(LIST_WAIT, list_wait, timeout),
	/* Nothing to undo: a second call returns the same. */
	DD_IOCTL(DIRECT, direct, __reserved),
	/* Nothing to undo: the states show which requests were accepted. */
	DD_IOCTL(SUBMIT, submit, error),
	DD_IOCTL(REGION_PIN, region_pin, __reserved, .undo = dd_undo_region_pin),
	DD_IOCTL(SEGMENT, segment_make, __reserved, .undo = dd_undo_segment_make),
	DD_IOCTL(SEGMENT_CTL, segment_ctl, __reserved, .no_result = true),
	DD_IOCTL(SEGMENT_INFO, segment_info, refused_bounds),
	DD_IOCTL(IMPORT, import_make, cookie, .undo = dd_undo_import_make),
	DD_IOCTL(LIST_MAKE, list_make, serial, .undo = dd_undo_list_make),
	DD_IOCTL(REGION_DIRTY, region_dirty, bitmap, .no_result = true),
	DD_IOCTL(REGION_CHECK, region_check, length, .no_result = true),
	DD_IOCTL(IMPORT_LIST, import_list, depth, .no_result = true),
	DD_IOCTL(NODE_FIND, node_find, __reserved),
	/* Nothing to undo: another call finds the same. */
	DD_IOCTL(REGION_STORED, region_stored, timeout),
};

static int ioctl_struct(struct dd_ctx *ctx, const struct dd_ioctl *op,
			void __user *uarg)
{
	u64 arg[DD_ARG_MAX / sizeof(u64)];
	u32 size;
	int err;

	if (get_user(size, (u32 __user *)uarg))
		return -EFAULT;
	if (size < op->min || size > PAGE_SIZE)
		return -EINVAL;
	if (!op->no_area && atomic_read(&ctx->area_maps) <= 0)
		return -ENXIO;
	err = copy_struct_from_user(arg, op->size, uarg, size);
	if (err)
		return err;
	err = op->fn(ctx, arg);
	if (err || op->no_result)
		return err;
	*(u32 *)arg = size;
	if (!copy_to_user(uarg, arg, min(size, op->size)))
		return 0;
	/* The caller does not know the id of what was created. */
	if (op->undo)
		op->undo(ctx, arg);
	return -EFAULT;
}

/* ioctls that take an id. */
static long ioctl_id(struct dd_ctx *ctx, unsigned int cmd, u32 id)
{
	struct dd_list *list;

	switch (cmd) {
	case DD_IOC_LIST_KICK:
		list = dd_obj_get(ctx, id, &dd_list_ops);
		if (!list)
			return -ENOENT;
		dd_list_kick(list);
		dd_list_put(list);
		return 0;
	case DD_IOC_LIST_FD:
		return dd_list_fd(ctx, id);
	case DD_IOC_REGISTRAR:
		return id ? -EINVAL : dd_registrar_open(ctx);
	case DD_IOC_REGION_FREE:
		return dd_region_free(ctx, id);
	case DD_IOC_UNSERVE:
		return dd_service_unserve(ctx, id);
	default:
		return -ENOTTY;
	}
}

static long dd_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct dd_ctx *ctx = file->private_data;
	unsigned int nr = _IOC_NR(cmd);
	int err;

	err = dd_ctx_check(ctx);
	if (unlikely(err))
		return err;
	if (likely(cmd == DD_IOC_DOORBELL))
		return dd_nic_doorbell(ctx, arg);
	if (cmd == DD_IOC_CLOSE)
		return dd_conn_close(ctx, arg);
	if (cmd == DD_IOC_WAKE)
		return dd_direct_wake(ctx, arg);
	if (cmd == DD_IOC_END)
		return dd_obj_end(ctx, arg);
	if (cmd != _IO(DD_IOC_TYPE, nr))
		return -ENOTTY;
	if (nr >= ARRAY_SIZE(dd_ioctls))
		return ioctl_id(ctx, cmd, arg);
	nr = array_index_nospec(nr, ARRAY_SIZE(dd_ioctls));
	if (!dd_ioctls[nr].fn)
		return ioctl_id(ctx, cmd, arg);
	return ioctl_struct(ctx, &dd_ioctls[nr], (void __user *)arg);
}

/* A serial does not fit a 32-bit long: its address is passed. */
static long dd_compat_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	u64 serial;

	arg = (unsigned long)compat_ptr(arg);
	if (cmd == DD_IOC_DOORBELL || cmd == DD_IOC_CLOSE ||
	    cmd == DD_IOC_WAKE || cmd == DD_IOC_END) {
		if (get_user(serial, (u64 __user *)arg))
			return -EFAULT;
		arg = serial;
	}
	return dd_ioctl(file, cmd, arg);
}

/* ---- poll, SIGIO -------------------------------------------------------- */

static __poll_t dd_poll(struct file *file, poll_table *pt)
{
	struct dd_ctx *ctx = file->private_data;
	unsigned long index = 0;
	struct dd_list *list;
	__poll_t mask = 0;

	poll_wait(file, &ctx->wait, pt);
	/*
	 * The caller may be a kernel worker or another process, by epoll or
	 * io_uring, so dd_ctx_check() does not apply here.
	 */
	if (READ_ONCE(ctx->dead))
		return EPOLLERR | EPOLLHUP;
	/* Arm every list: a note in any of them has to cause an edge. */
	while ((list = dd_obj_next(ctx, &index, &dd_list_ops))) {
		dd_rings_arm(list);
		if (dd_list_ready(list))
			mask = EPOLLIN | EPOLLRDNORM;
		dd_list_put(list);
	}
	return mask;
}

static int dd_fasync(int fd, struct file *file, int on)
{
	struct dd_ctx *ctx = file->private_data;
	int ret = fasync_helper(fd, file, on, &ctx->fasync);
	unsigned long index = 0;
	struct dd_list *list;

	/* A SIGIO is due for direct notes as well. */
	while (on && ret >= 0 && (list = dd_obj_next(ctx, &index, &dd_list_ops))) {
		dd_rings_arm(list);
		dd_list_put(list);
	}
	return ret;
}

static const struct file_operations dd_fops = {
	.owner = THIS_MODULE,
	.open = dd_open,
	.flush = dd_flush,
	.release = dd_release,
	.unlocked_ioctl = dd_ioctl,
	.compat_ioctl = dd_compat_ioctl,
	.mmap = dd_mmap,
	.poll = dd_poll,
	.fasync = dd_fasync,
};

static struct miscdevice misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "dd",
	.fops = &dd_fops,
	.mode = 0660,
};

int dd_chardev_init(void)
{
	return misc_register(&misc);
}

void dd_chardev_exit(void)
{
	misc_deregister(&misc);
}
