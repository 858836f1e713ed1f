/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * dd.h - libdd's core: direct deposit over explicit handles
 *
 * Copyright (C) 2026 The dd authors
 *
 * A handle is one context of /dev/dd: it owns the memory, services,
 * connections and note lists created through it, and names them by positive
 * ints that mean something on that handle only.
 *
 * Every call returns >= 0, or -errno; the protocol's own numbers (dd_errno.h)
 * are negative too. errno itself is not touched on purpose, nor relied upon.
 *
 * Threads: any number of threads may use one handle, one connection and one
 * note list at a time; each message goes to exactly one of them. Only
 * dd_shutdown() wants the handle for itself.
 *
 * fork(): a handle belongs to the process that opened it. In a child every
 * call on it returns -EBADID and touches nothing that was shared with the
 * parent; the child may open a handle of its own. The descriptors are
 * close-on-exec.
 *
 * Timeouts are nanoseconds: 0 does not wait, a negative value waits for ever.
 * Signals do not end a wait, but for DD_RECV_INTR.
 */
#ifndef _DD_H
#define _DD_H

#include <stddef.h>
#include <stdint.h>
#include "dd_errno.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dd;

/**
 * dd_version() - version of the library
 *
 * Return: that of the package, "MAJOR.MINOR.PATCH"; a constant string.
 */
const char *dd_version(void);

#define DD_FOREVER	(-1)

/**
 * dd_open() - open a handle
 * @handle: where to put it
 *
 * The handle belongs to the network namespace of the caller.
 *
 * Return: 0; -ENOCMP (module dd not loaded), -EACCES (not allowed to use
 * /dev/dd), -EMEMLOCK, -ENORESOURCE, -EINVAL.
 */
int dd_open(struct dd **handle);

/**
 * dd_shutdown() - end a handle and everything created through it
 * @h: handle, not used by any thread any more
 *
 * Memory of dd_alloc() is unmapped, and the other ends of its connections are
 * closed.
 *
 * Return: 0; -EBADID (the handle of a parent process; nothing is done).
 */
int dd_shutdown(struct dd *h);

/**
 * dd_fd() - descriptor of the handle, for poll()
 * @h: handle
 *
 * It polls readable while any note list of the handle has an unconsumed note,
 * and can be told by fcntl() to send SIGIO, whose handler may not use the handle:
 * no call is async-signal-safe. The library keeps it: not to be closed.
 *
 * Return: descriptor; -EBADID.
 */
int dd_fd(struct dd *h);

/**
 * dd_alloc() - allocate wired memory
 * @h: handle
 * @size: bytes, rounded up to whole pages
 * @addr: where to put its address
 *
 * The memory is zeroed, page aligned, counted against RLIMIT_MEMLOCK
 * of the user, and not inherited over fork().
 *
 * Return: 0; -EINVAL, -EMEMLOCK (see dd_last_error()), -ENORESOURCE, -EBADID.
 */
int dd_alloc(struct dd *h, size_t size, void **addr);

/**
 * dd_free() - give wired memory back
 * @h: handle
 * @addr: address from dd_alloc()
 *
 * Return: 0; -EINVAL (not an address of dd_alloc()), -EBUSY (a service or a
 * connection uses it), -EBADID.
 */
int dd_free(struct dd *h, void *addr);

/* Flags of struct dd_serve_attr and struct dd_connect_attr */
#define DD_ATTR_LIST	0x1	/* @list must be valid: attach to it */
#define DD_ATTR_ACCEPT	0x2	/* dd_serve(): a list and a note per connection */
#define DD_ATTR_ANON	0x4	/* dd_connect(): a new list, whatever @list is */
#define DD_ATTR_NODIRECT	0x8	/* neither end sends without the kernel */
#define DD_ATTR_DIRECT_ANY	0x10	/* other users may send here without it */
#define DD_ATTR_SAME_USER	0x40	/* dd_serve(): clients of the own user may connect */
#define DD_ATTR_UID	0x80	/* dd_serve(): clients of user @uid may */
#define DD_ATTR_GID	0x100	/* dd_serve(): members of group @gid may, of this node */
#define DD_ATTR_CLOSE	0x20	/* dd_serve(): a close record when a client has gone */
#define DD_ATTR_TIMEOUT	0x40	/* dd_connect(): @timeout says how long */

/**
 * struct dd_serve_attr - how to serve
 * @size: sizeof(struct dd_serve_attr); or up to @send_size, of an older version
 * @flags: DD_ATTR_LIST, DD_ATTR_ACCEPT, DD_ATTR_CLOSE, DD_ATTR_NODIRECT,
 *	DD_ATTR_DIRECT_ANY; DD_ATTR_SAME_USER, DD_ATTR_UID, DD_ATTR_GID: without
 *	these all users may connect, with several those that one of them lets in
 * @maxconn: connections at a time, 1 to 65536
 * @window: unconsumed messages that one client may have here, up to 256; 0
 *	means 16 for a client of DD_TYPE_STREAM, and 1 for others
 * @list: note list to attach to. Without DD_ATTR_LIST it may be anything: a
 *	value that is not a list of this handle makes a new one
 * @recv: page-aligned memory of dd_alloc() where messages are deposited,
 *	divided into @maxconn equal blocks, each rounded down to 8 bytes
 * @recv_size: its size in bytes
 * @send: memory where replies are composed, divided likewise; may be NULL
 * @send_size: its size in bytes; 0 if there is none
 * @uid: with DD_ATTR_UID, effective user id of clients; else 0
 * @gid: with DD_ATTR_GID, one of the groups of clients; else 0
 * @peruser: blocks that clients of one user may have, up to @maxconn; 0 for no limit
 */
struct dd_serve_attr {
	size_t size;
	unsigned int flags;
	unsigned int maxconn;
	unsigned int window;
	int list;
	void *recv;
	size_t recv_size;
	void *send;
	size_t send_size;
	unsigned int uid;
	unsigned int gid;
	unsigned int peruser;
};

/**
 * dd_serve() - offer a service
 * @h: handle
 * @name: its name, 1 to 63 bytes, unique on the node
 * @attr: how
 * @list: where to put the id of its note list, or NULL
 *
 * Return: id of the service, > 0; -EINVAL (name, attributes, memory that is
 * not of dd_alloc() or in use), -EEXIST (name in use), -EBADID (list or
 * handle), -ENOCMP, -EMEMLOCK (see dd_last_error()), -ENORESOURCE.
 */
int dd_serve(struct dd *h, const char *name, const struct dd_serve_attr *attr,
	     int *list);

/**
 * dd_unserve() - withdraw a service and close its connections
 * @h: handle
 * @service: its id
 *
 * Its memory stays.
 *
 * Return: 0; -EBADID.
 */
int dd_unserve(struct dd *h, int service);

/* Types of a connection; the library enforces what each one asks. */
#define DD_TYPE_RPC	1	/* dd_call() at the connecting end */
#define DD_TYPE_SPLIT	2	/* one request at a time, reply by dd_recv() */
#define DD_TYPE_STREAM	3	/* no replies asked for */

/**
 * struct dd_connect_attr - how to connect
 * @size: sizeof(struct dd_connect_attr)
 * @flags: DD_ATTR_LIST, DD_ATTR_ANON, which DD_TYPE_RPC implies,
 *	DD_ATTR_NODIRECT, DD_ATTR_DIRECT_ANY, DD_ATTR_TIMEOUT
 * @type: DD_TYPE_*
 * @window: unconsumed messages that the server may have here, up to 256; 0
 *	means 16 for DD_TYPE_STREAM, and 1 for other types
 * @list: as in struct dd_serve_attr
 * @send: page-aligned memory of dd_alloc() where messages are composed; may
 *	be NULL
 * @send_size: its size in bytes; 0 if there is none
 * @recv: memory where the other end's messages are deposited
 * @recv_size: its size in bytes
 * @timeout: with DD_ATTR_TIMEOUT, nanoseconds to wait for another node. 0 does not
 *	wait: only a service of this node can be connected to. Without the flag, as
 *	long as the node may take to answer, which its dead time bounds
 *
 * Without @timeout, @size may be the offset of that.
 */
struct dd_connect_attr {
	size_t size;
	unsigned int flags;
	unsigned int type;
	unsigned int window;
	int list;
	void *send;
	size_t send_size;
	void *recv;
	size_t recv_size;
	int64_t timeout;
};

/**
 * dd_connect() - connect to a service
 * @h: handle
 * @name: its name, 1 to 63 bytes
 * @node: node that it is on, 0 to dd_max_nodes() - 1
 * @attr: how
 * @list: where to put the id of the note list, or NULL; 0 for DD_TYPE_RPC
 *
 * Return: id of the connection, > 0; -EACCES (the service does not let this user
 * connect), -EBADSERVER (no such service there, or the
 * node does not answer), -EPROTO (there can be no session with that node: it
 * speaks no version of the protocol that this one does, or is of another cluster),
 * -ETIMEDOUT (nothing was connected), -EAGAIN (timeout 0, and another node),
 * -ENORESOURCE (also: it has no block for this client, see ddserve(3), or its server
 * has reached its RLIMIT_MEMLOCK), -EMEMLOCK (that of this user), -EINVAL, -EBADID
 * (list or handle), -ENOCMP. dd_last_error() says more.
 */
int dd_connect(struct dd *h, const char *name, int node,
	       const struct dd_connect_attr *attr, int *list);

/**
 * dd_close() - end a connection, from either end
 * @h: handle
 * @conn: its id
 *
 * Return: 0; -EBADID.
 */
int dd_close(struct dd *h, int conn);

/* Options of dd_send() and dd_reply() */
#define DD_SEND_BLOCK	0x1	/* return when the source may be reused */
#define DD_SEND_UNWIRED	0x2	/* source is any memory */
#define DD_SEND_DMA	0x4	/* source is any memory of dd_alloc() */

/**
 * dd_send() - deposit a message in the other end's memory, and tell it
 * @h: handle
 * @conn: connection
 * @addr: source; in the connection's own send buffer unless @options say
 *	otherwise
 * @len: bytes, may be 0
 * @roffset: byte offset in the other end's buffer
 * @options: DD_SEND_*; UNWIRED and DMA exclude each other
 * @meta: metadata words delivered with the notification, or NULL
 * @metacount: their number, 0 to 4
 *
 * It does not wait for the receiver. A message that is sent directly (dd(7)), as
 * to a process of the same node and user whose buffer is whole pages, makes a
 * system call only if the receiver sleeps, and another one if the source is not
 * wired; others make one. The first message of an end may make more, to set this
 * up, and now and then another one.
 * A message that is refused is not counted and changes nothing.
 *
 * Return: 0; -EBADID, -ECONNCLOSE, -EBADTYPE (connecting end of
 * DD_TYPE_RPC), -ESLOTBUSY (DD_TYPE_SPLIT, reply not consumed yet),
 * -ENOTREADY (the other end is a full window behind), -EBADRANGE (source or
 * target), -EINVAL (options, metacount), -EFAULT (unreadable DD_SEND_UNWIRED
 * source), -ENOCMP.
 */
int dd_send(struct dd *h, int conn, const void *addr, size_t len,
	    size_t roffset, unsigned int options, const unsigned int *meta,
	    size_t metacount);

/**
 * struct dd_send_msg - one message of several
 * @conn: connection
 * @options: as for dd_send(), but not DD_SEND_BLOCK
 * @addr: as for dd_send(), like those that follow
 * @len: likewise
 * @roffset: likewise
 * @meta: likewise
 * @metacount: likewise
 */
struct dd_send_msg {
	int conn;
	unsigned int options;
	const void *addr;
	size_t len;
	size_t roffset;
	const unsigned int *meta;
	size_t metacount;
};

/**
 * dd_sendv() - send several messages, on one connection or on several
 * @h: handle
 * @msgs: the messages
 * @count: their number
 * @error: set to 0 if all were accepted, else to the error by which dd_send()
 *	would have refused the first that was not; or NULL
 *
 * As dd_send() for one after the other, up to the first that is refused; but
 * those that go by the kernel take one system call for as many as follow each
 * other, up to 64, and those for another node leave together. So do not count on
 * the first being there while the last is being accepted, nor on the contrary.
 *
 * Return: number of messages that were accepted, which are the first ones; -EBADID
 * (the handle), -EINVAL (@msgs or @count).
 */
int dd_sendv(struct dd *h, const struct dd_send_msg *msgs, size_t count,
	     int *error);

#define DD_DONE_SENT	0	/* the source may be reused */
#define DD_DONE_PLACED	1	/* bytes and notification are at the other end */

/**
 * dd_done() - has the last message been sent?
 * @h: handle
 * @conn: connection
 * @what: DD_DONE_SENT, or DD_DONE_PLACED, which also says that the next
 *	message will not be refused with -ENOTREADY
 * @timeout: nanoseconds to wait for it
 *
 * No system call unless it waits.
 *
 * Return: 1 yes, 0 not yet (timeout 0); -ETIMEDOUT, -EBADID, -EINVAL,
 * -ECONNCLOSE.
 */
int dd_done(struct dd *h, int conn, unsigned int what, int64_t timeout);

enum dd_msg_type {
	DD_MSG_DATA = 1,	/* a message is in place */
	DD_MSG_CONN = 2,	/* a client has connected (DD_ATTR_ACCEPT) */
	DD_MSG_CLOSE = 3	/* the other end has closed (a client: DD_ATTR_CLOSE) */
};

/**
 * struct dd_msg - a received notification
 * @type: enum dd_msg_type
 * @conn: connection that it came on
 * @service: service of that connection, 0 at the connecting end
 * @msgid: number of the message on its connection, from 1
 * @serial: serial of that connection, which no other one of this handle ever has:
 *	@conn, its lower half, is that of another one some 2 billion connections
 *	later
 * @addr: first byte of the message; NULL unless DD_MSG_DATA
 * @len: its length in bytes
 * @send: the connection's own send buffer, where a reply can be composed
 * @send_size: its size in bytes
 * @word: the last aligned 8 bytes that the message wrote, or its tail, as
 *	they were when it arrived
 * @tag: request that the message replies to (DD_TYPE_RPC), else 0
 * @meta_count: words of metadata, 0 to 4
 * @meta: metadata; untouched beyond @meta_count
 */
struct dd_msg {
	int type;
	int conn;
	int service;
	uint32_t msgid;
	uint64_t serial;
	void *addr;
	size_t len;
	void *send;
	size_t send_size;
	uint64_t word;
	uint32_t tag;
	unsigned int meta_count;
	unsigned int meta[4];
};

/* Options of dd_recv() and dd_call() */
#define DD_RECV_SPIN	0x0	/* spin first, where that makes sense */
#define DD_RECV_SLEEP	0x1	/* sleep at once */
#define DD_RECV_INTR	0x2	/* sleep at once; a caught signal ends the wait */

/**
 * dd_recv() - consume the next message of a note list
 * @h: handle
 * @list: note list
 * @msg: filled in
 * @options: DD_RECV_*
 * @timeout: nanoseconds to wait
 *
 * No system call if there is a message already, unless a sender waits for room.
 * Spinning is bounded, gives way to whom the CPU is shared with, and is not done
 * at all where there is only one.
 *
 * Return: 0; -ECONNCLOSE (@msg->conn was closed by its other end, all its
 * messages have been consumed; of a serving end with DD_ATTR_CLOSE only, without it
 * the next dd_send() says so), -EWOULDBLOCK (timeout 0), -ETIMEDOUT, -EINTR
 * (DD_RECV_INTR), -EBADID, -EINVAL.
 */
int dd_recv(struct dd *h, int list, struct dd_msg *msg, unsigned int options,
	    int64_t timeout);

/**
 * dd_reply() - send a reply to a particular message
 * @h: handle
 * @msg: message from dd_recv() that is replied to
 * @addr: as for dd_send()
 * @len: as for dd_send()
 * @roffset: as for dd_send()
 * @options: as for dd_send()
 *
 * dd_send() replies to the last message consumed on a connection. Where
 * several threads consume the requests of one DD_TYPE_RPC client, this call
 * says which one is replied to, so that a late reply is recognised. A reply whose
 * connection is over is refused, also if another one has its id by now.
 *
 * Return: as dd_send().
 */
int dd_reply(struct dd *h, const struct dd_msg *msg, const void *addr,
	     size_t len, size_t roffset, unsigned int options);

/**
 * dd_call() - send a request and wait for its reply
 * @h: handle
 * @conn: connecting end of a DD_TYPE_RPC connection
 * @addr: request, in the connection's send buffer; NULL for the start of it
 * @len: its length in bytes
 * @reply: filled in
 * @options: DD_RECV_*
 * @timeout: nanoseconds to wait at most
 *
 * The request lands at the start of the server's buffer. A reply that comes
 * after its call has timed out is dropped. Calls of several threads on one
 * connection take turns.
 *
 * Return: 0; -EBADID, -EINVAL, -ECONNCLOSE, -EBADTYPE, -EBADRANGE,
 * -ETIMEDOUT, -EINTR (DD_RECV_INTR; as after a timeout, the reply may still come,
 * and is dropped), -ENOCMP.
 */
int dd_call(struct dd *h, int conn, const void *addr, size_t len,
	    struct dd_msg *reply, unsigned int options, int64_t timeout);

/**
 * struct dd_conn_desc - description of a connection
 * @type: DD_TYPE_*
 * @service: service of the serving end, 0 at the connecting end
 * @list: note list; 0 at the connecting end of DD_TYPE_RPC
 * @closed: 1 if the other end has closed
 * @node: node of the other end
 * @pid: its process id, 0 if this process cannot see it; of another node, what
 *	that says, a number there
 * @uid: its effective user id when it served or connected; of another node,
 *	what that says
 * @window: unconsumed messages it may have here
 * @send_window: unconsumed messages allowed there
 * @send: own send buffer
 * @send_size: its size in bytes
 * @recv: own receive buffer
 * @recv_size: its size in bytes
 * @peer_size: size in bytes of the other end's receive buffer
 * @submitted: messages sent
 * @sent: of these, messages whose source may be reused
 * @done: of these, messages in place at the other end, with notification
 * @received: messages deposited here
 * @serial: as in struct dd_msg
 * @reserved: 0
 * @reserved2: 0
 */
struct dd_conn_desc {
	int type;
	int service;
	int list;
	int closed;
	int node;
	int pid;
	unsigned int uid;
	unsigned int window;
	unsigned int send_window;
	unsigned int reserved;
	void *send;
	size_t send_size;
	void *recv;
	size_t recv_size;
	size_t peer_size;
	uint64_t submitted;
	uint64_t sent;
	uint64_t done;
	uint64_t received;
	uint64_t serial;
	uint64_t reserved2[3];
};

/**
 * dd_conn_info() - describe a connection
 * @h: handle
 * @conn: connection
 * @desc: filled in
 *
 * A system call the first time for each connection only, and while messages have
 * come directly to a list that nobody has looked at yet.
 *
 * Return: 0; -EBADID, -EINVAL.
 */
int dd_conn_info(struct dd *h, int conn, struct dd_conn_desc *desc);

/**
 * dd_conn_list() - list the connections of a service
 * @h: handle
 * @service: service
 * @conns: filled with the ids of up to @count connections
 * @count: entries in @conns
 *
 * Return: number of connections, which may be more than @count; -EBADID,
 * -EINVAL.
 */
int dd_conn_list(struct dd *h, int service, int *conns, int count);

/**
 * dd_poll() - wait for any of several note lists
 * @h: handle
 * @lists: note lists; replaced by those that have something
 * @count: number of lists, 0 to 1024; 0 makes the call a pause
 * @timeout: nanoseconds to wait
 *
 * Return: number of lists that have something, 0 after the timeout; -EBADID
 * (any of them, even if another one has something), -EINVAL.
 */
int dd_poll(struct dd *h, int *lists, int count, int64_t timeout);

/**
 * dd_peek() - look at the next message without consuming it
 * @h: handle
 * @list: note list
 * @msg: filled in if there is one
 *
 * No system call, but for what is seen for the first time.
 *
 * Return: 1 there is one, 0 there is none; -EBADID, -EINVAL.
 */
int dd_peek(struct dd *h, int list, struct dd_msg *msg);

/**
 * dd_ready() - is there a message?
 * @h: handle
 * @list: note list
 *
 * No system call, but for what is seen for the first time.
 *
 * Return: 1 yes, 0 no; -EBADID.
 */
int dd_ready(struct dd *h, int list);

/**
 * dd_list_fd() - make a descriptor that polls readable while a list has notes
 * @h: handle
 * @list: note list
 *
 * The caller closes it. Messages are consumed by dd_recv() alone.
 *
 * Return: descriptor, close-on-exec; -EBADID, -ENORESOURCE.
 */
int dd_list_fd(struct dd *h, int list);

/**
 * dd_node() - number of this node
 * @h: handle
 *
 * Return: 0 to dd_max_nodes() - 1; -EBADID.
 */
int dd_node(struct dd *h);

/**
 * dd_max_nodes() - number of nodes
 * @h: handle
 *
 * Return: number, > 0; -EBADID.
 */
int dd_max_nodes(struct dd *h);

/**
 * dd_packet_size() - largest packet
 * @h: handle
 *
 * Of those to the configured peers the smallest; without peers, the largest within
 * the node.
 *
 * Return: bytes; -EBADID.
 */
int dd_packet_size(struct dd *h);

/**
 * dd_strerror() - text for an error number
 * @error: number, of either sign
 *
 * Return: a constant string, never NULL; knows the protocol's numbers and the
 * system's.
 */
const char *dd_strerror(int error);

/**
 * dd_last_error() - why the last refused call was refused, in words
 * @h: handle
 * @buf: where to put the text
 * @size: its size in bytes
 *
 * dd_alloc(), dd_serve() and dd_connect() leave more here than an error
 * number can say: which limit was met and how to raise it, which argument
 * was wrong. Empty if there is nothing to add. Threads share the text.
 *
 * Return: 0; -EBADID, -EINVAL.
 */
int dd_last_error(struct dd *h, char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* _DD_H */
