/* SPDX-License-Identifier: GPL-2.0-only */
#define PAGE_SIZE	4096ul
