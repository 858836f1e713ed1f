/* SPDX-License-Identifier: GPL-2.0-only */
/* The device file: chardev.c. */
#ifndef _DD_CHARDEV_H
#define _DD_CHARDEV_H

int dd_chardev_init(void);
void dd_chardev_exit(void);

#endif /* _DD_CHARDEV_H */
