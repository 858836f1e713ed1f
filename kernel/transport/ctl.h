/* SPDX-License-Identifier: GPL-2.0-only */
/* Control messages: ctl.c. */
#ifndef _DD_TRANSPORT_CTL_H
#define _DD_TRANSPORT_CTL_H

#include <linux/types.h>

struct dd_tp;

/**
 * dd_tp_ctl() - send a control message, reliably and in order
 * @tp: the session
 * @data: bytes, copied
 * @len: number of bytes, 1..%DD_WIRE_CTL_MAX
 *
 * Not ordered with messages on channels, except that messages for which sent()
 * was called have arrived before.
 *
 * Return: 0, -%EAGAIN if too many are in flight, -%EINVAL, or -%ENOTCONN.
 */
int dd_tp_ctl(struct dd_tp *tp, const void *data, u32 len);

/**
 * dd_tp_ctl_space() - number of control messages that dd_tp_ctl() would accept now
 * @tp: the session
 *
 * Return: the number; 0 if no session is up.
 */
u32 dd_tp_ctl_space(const struct dd_tp *tp);

#endif /* _DD_TRANSPORT_CTL_H */
