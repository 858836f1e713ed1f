// SPDX-License-Identifier: GPL-2.0-only
/*
 * kmemleak reads all that was allocated at boot, KASAN's shadow of memory
 * included, where there are no pointers: 128 MiB of each GiB, two thirds of what
 * a scan takes. Once this is loaded it does not.
 */
#include <linux/kasan.h>
#include <linux/kmemleak.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pgtable.h>

/* Where a big page is its shadow, kasan_init() has allocated that page alone. */
static void dd_shadow_ignore(void *shadow)
{
	unsigned int level;
	pte_t *pte = lookup_address((unsigned long)shadow, &level);

	if (pte && pte_present(*pte) && level == PG_LEVEL_2M)
		kmemleak_ignore_phys(PFN_PHYS(pmd_pfn(*(pmd_t *)pte)));
}

static int __init dd_shadow_init(void)
{
	void *at = (void *)PAGE_OFFSET;

	for (; at < high_memory; at += PMD_SIZE << KASAN_SHADOW_SCALE_SHIFT)
		dd_shadow_ignore(kasan_mem_to_shadow(at));
	return 0;
}

static void __exit dd_shadow_exit(void)
{
}

module_init(dd_shadow_init);
module_exit(dd_shadow_exit);
MODULE_DESCRIPTION("Tells kmemleak to leave out KASAN's shadow");
MODULE_LICENSE("GPL");
