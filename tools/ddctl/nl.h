/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The generic netlink family of dd. Whatever fails is said on standard error
 * here; callers pass the exit status on.
 */
#ifndef DDCTL_NL_H
#define DDCTL_NL_H

#include <netlink/netlink.h>

#include "object.h"

/**
 * struct ddnl - a socket that talks to dd
 * @sk: the socket
 * @family: number of the family
 * @refused: errno of the last answer, 0 if it was no refusal
 */
struct ddnl {
	struct nl_sock *sk;
	int family;
	int refused;
};

/**
 * ddnl_open() - a socket, and the family
 * @nl: filled in; ddnl_close() it
 *
 * Return: %EXIT_OK, %EXIT_NO_MODULE or %EXIT_RUNTIME.
 */
int ddnl_open(struct ddnl *nl);
void ddnl_close(struct ddnl *nl);

/**
 * ddnl_get() - ask for the objects of a kind
 * @nl: an open socket
 * @obj: which kind
 * @rows: (out) an array of them, to be put
 *
 * Return: enum ddctl_exit.
 */
int ddnl_get(struct ddnl *nl, const struct object *obj, json_object **rows);

/* A request to be filled and passed to ddnl_set(); NULL if memory is out. */
struct nl_msg *ddnl_request(struct ddnl *nl, uint8_t cmd, int flags);

/**
 * ddnl_ask() - ask for one object
 * @nl: an open socket
 * @obj: which kind
 * @msg: the request; freed
 * @rows: (out) an array of it, to be put
 *
 * Return: enum ddctl_exit.
 */
int ddnl_ask(struct ddnl *nl, const struct object *obj, struct nl_msg *msg,
	     json_object **rows);

/**
 * ddnl_set() - ask the kernel to change something
 * @nl: an open socket
 * @obj: what the attributes of @msg belong to
 * @msg: the request; freed
 *
 * Return: enum ddctl_exit.
 */
int ddnl_set(struct ddnl *nl, const struct object *obj, struct nl_msg *msg);

/**
 * ddnl_listen() - receive events until that fails
 * @nl: an open socket, used for nothing else any more
 * @ready: called once, when nothing can be missed any more; what it returns
 *	ends this unless it is %EXIT_OK
 * @event: called for each event
 *
 * Return: enum ddctl_exit of what has failed. That events were lost is said,
 * and is no failure.
 */
int ddnl_listen(struct ddnl *nl, int (*ready)(void),
		void (*event)(uint8_t cmd, struct nlattr *head, int len));

/*
 * The same for a request whose filling has returned @err, an error of libnl,
 * which may be because there is no @msg.
 */
int ddnl_submit(struct ddnl *nl, const struct object *obj, struct nl_msg *msg,
		int err);

/* Show table or JSON of the objects of a kind; enum ddctl_exit. */
int ddnl_show(const struct object *obj);

#endif /* DDCTL_NL_H */
