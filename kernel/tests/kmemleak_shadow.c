// SPDX-License-Identifier: GPL-2.0-only
/*
 * Excludes KASAN's shadow memory from kmemleak's scans. It is allocated at boot and has
 * no pointers, but it is 128 MiB per GiB and takes two thirds of the time of a scan.
 */
#include <linux/kasan.h>
#include <linux/kmemleak.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pgtable.h>

/* Only shadow mapped by huge pages: kasan_init() has allocated these singly. */
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
MODULE_DESCRIPTION("Exclude KASAN's shadow memory from kmemleak scans");
MODULE_LICENSE("GPL");
