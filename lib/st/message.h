/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * message.h - messages of the connection
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _ST_MESSAGE_H
#define _ST_MESSAGE_H

#include "end.h"

/*
 * Where to compose the next message; and send its @len bytes, which waits while the other end's window
 * is full: 0, ECONNRESET or another error. The caller holds st_end.order, or no other thread sends.
 */
struct st_slot *st_message_slot(struct st_end *e);
int st_message_send(struct st_end *e, unsigned int len);

/*
 * Receive the next message of list @list. Returns its length, with the message in @slot; 0: it is
 * no message of this protocol, with *@conn set if it reports a new connection; -EAGAIN: there is
 * none; -ECONNRESET: the other end has closed.
 */
int st_message_receive(struct st_end *e, int list, struct st_slot *slot, int *conn);

#endif /* _ST_MESSAGE_H */
