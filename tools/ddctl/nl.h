/* SPDX-License-Identifier: GPL-2.0-only */
/* Generic netlink. */
#ifndef DDCTL_NL_H
#define DDCTL_NL_H

#include <stdint.h>
#include <netlink/netlink.h>

#include "object.h"

/**
 * struct ddnl - a netlink socket
 * @sk: the socket
 * @family: number of the family
 * @refused: errno of the last answer, 0 if it was no refusal
 */
struct ddnl {
	struct nl_sock *sk;
	int family;
	int refused;
};

/* These report their errors and return enum ddctl_exit. */
int ddnl_open(struct ddnl *nl);
void ddnl_close(struct ddnl *nl);

/* Request the objects of a kind; @rows is an array of them, to be put. */
int ddnl_get(struct ddnl *nl, const struct object *obj, json_object **rows);

/* A request for ddnl_ask(), which frees it. */
struct nl_msg *ddnl_request(struct ddnl *nl, uint8_t cmd, int flags);

/* Send @msg with attributes of @obj; @rows as for ddnl_get(), or NULL. */
int ddnl_ask(struct ddnl *nl, const struct object *obj, struct nl_msg *msg,
	     json_object **rows);

/**
 * ddnl_listen() - receive events until an error or the end of the module
 * @nl: an open socket, not used otherwise
 * @ready: called once, when no further event can be missed; a status other than
 *	%EXIT_OK ends this function
 * @event: called for each event
 *
 * Lost events are reported on standard error.
 */
int ddnl_listen(struct ddnl *nl, int (*ready)(void),
		void (*event)(uint8_t cmd, struct nlattr *head, int len));

/* Print the objects of a kind as table or JSON. */
int ddnl_show(const struct object *obj);

#endif /* DDCTL_NL_H */
