/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * This folder is the only place that knows kernel versions: 6.1, 6.12 and 7.3 today.
 */
#ifndef _DD_COMPAT_H
#define _DD_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#include <asm/unaligned.h>
#else
#include <linux/unaligned.h>
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_mod(struct vm_area_struct *vma,
				vm_flags_t set, vm_flags_t clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

/* Came with stable updates of old ones; what it spares is only time. */
#ifndef __uninitialized
#define __uninitialized
#endif

/* A shrinker of the machine's memory, or NULL. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
#define dd_shrinker_alloc(name)		kzalloc(sizeof(struct shrinker), GFP_KERNEL)
#define dd_shrinker_register(s, name)	register_shrinker(s, name)
static inline void dd_shrinker_del(struct shrinker *s)
{
	unregister_shrinker(s);
	kfree(s);
}
#else
#define dd_shrinker_alloc(name)		shrinker_alloc(0, name)
#define dd_shrinker_register(s, name)	({ shrinker_register(s); 0; })
#define dd_shrinker_del(s)		shrinker_free(s)
#endif

/* Attributes of a dump request, within its dumpit function. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
#define dd_dump_attrs(cb)	(genl_dumpit_info(cb)->attrs)
#else
#define dd_dump_attrs(cb)	(genl_info_dump(cb)->attrs)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *timer),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
#define zap_special_vma_range(vma, addr, size)	zap_vma_ptes(vma, addr, size)
#endif

/* User-Mode Linux patches no code at run time; its 7.3 has no cpu_feature_enabled(). */
#ifdef CONFIG_UML
#define dd_cpu_has(feature)	boot_cpu_has(feature)
#else
#define dd_cpu_has(feature)	cpu_feature_enabled(feature)
#endif

#endif /* _DD_COMPAT_H */
