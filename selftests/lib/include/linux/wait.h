/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_WAIT_H
#define _LINUX_WAIT_H

/* A member of structures; its contents are not used here. */
typedef struct {
	void *head;
} wait_queue_head_t;

#endif /* _LINUX_WAIT_H */
