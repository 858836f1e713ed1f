/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * dd.h - libdd's core: direct deposit over explicit handles
 *
 * Copyright (C) 2026 The dd authors
 *
 * A handle is one context of /dev/dd: it owns the memory, services,
 * connections and note lists created through it, and names them by positive
 * ints that are valid on that handle only.
 *
 * Every call returns >= 0, or -errno; the protocol's own numbers (dd_errno.h)
 * are negative too. errno has no meaning after a call.
 *
 * Threads: any number of threads may use one handle, one connection and one
 * note list at a time; each message goes to exactly one of them. During
 * dd_shutdown() no other thread may use the handle.
 *
 * fork(): a handle belongs to the process that opened it. In a child every
 * call on it returns -EBADID and touches nothing that was shared with the
 * parent; the child may open a handle of its own. The descriptors are
 * close-on-exec.
 *
 * Timeouts are nanoseconds: 0 does not wait, a negative value waits forever.
 * Signals end a wait only with DD_RECV_INTR.
 */
#ifndef _DD_H
#define _DD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
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
 * @handle: (out) the handle
 *
 * The handle belongs to the network namespace of the caller.
 *
 * Return: 0; -ENOCMP (module dd not loaded, or /dev/dd is not its device), -EACCES (not
 * allowed to use /dev/dd), -EMEMLOCK, -ENORESOURCE, -EPROTO (module and library are of
 * different releases), -EINVAL. dd_last_error(NULL, ...) has the details.
 */
int dd_open(struct dd **handle);

/**
 * dd_shutdown() - end a handle and everything created through it
 * @h: handle, not used by any thread any more
 *
 * Memory of dd_alloc() is unmapped, and the other ends of its connections are
 * closed. Nothing of it counts against RLIMIT_MEMLOCK any more when the call returns,
 * but for pages that the kernel still uses, for example in a pipe.
 *
 * Return: 0; -EBADID (the handle of a parent process; nothing is done).
 */
int dd_shutdown(struct dd *h);

/**
 * dd_fd() - descriptor of the handle, for poll()
 * @h: handle
 *
 * It polls readable while any note list of the handle has an unread note. With
 * O_ASYNC (see fcntl(2)) it sends SIGIO; the signal's handler may not use the
 * handle, because no call is async-signal-safe. The library owns the descriptor: do
 * not close it.
 *
 * Return: descriptor; -EBADID.
 */
int dd_fd(struct dd *h);

/**
 * dd_alloc() - allocate wired memory
 * @h: handle
 * @size: bytes, rounded up to whole pages
 * @addr: (out) its address
 *
 * The memory is zeroed, page aligned, counted against RLIMIT_MEMLOCK
 * of the user, and not inherited over fork(). Futexes in it work within the process only.
 *
 * Return: 0; -EINVAL, -EMEMLOCK (see dd_last_error()), -ENORESOURCE, -EBADID.
 */
int dd_alloc(struct dd *h, size_t size, void **addr);

/**
 * dd_free() - give wired memory back
 * @h: handle
 * @addr: address from dd_alloc()
 *
 * The memory does not count against RLIMIT_MEMLOCK any more when the call returns, unless a
 * segment or a request still uses it.
 *
 * Return: 0; -EINVAL (not an address of dd_alloc()), -EBUSY (a service, a connection, a
 * segment or a redirection uses it), -EBADID.
 */
int dd_free(struct dd *h, void *addr);

/* Flags of struct dd_serve_attr and struct dd_connect_attr */
#define DD_ATTR_LIST	0x1	/* @list must be valid: attach to it */
#define DD_ATTR_NODIRECT	0x4	/* no direct path in either direction */
#define DD_ATTR_DIRECT_ANY	0x8	/* other users may send here directly */

/* Flags of struct dd_serve_attr */
#define DD_ATTR_ACCEPT	0x2	/* a list and a note per connection */
#define DD_ATTR_CLOSE	0x10	/* a close record when a client has gone */
#define DD_ATTR_SAME_USER	0x20	/* clients of the same user may connect */
#define DD_ATTR_UID	0x40	/* clients of user @uid may connect */
#define DD_ATTR_GID	0x80	/* members of group @gid on this node may connect */

#define DD_ATTR_SHARED	0x200	/* other services may have the name; one client */

/* Flags of struct dd_connect_attr */
#define DD_ATTR_ANON	0x100	/* a new list, whatever @list is */
#define DD_ATTR_TIMEOUT	0x10	/* wait up to @timeout */
#define DD_ATTR_ERRNO	0x400	/* return the errors of errno.h only */

/**
 * struct dd_serve_attr - attributes of a service
 * @size: sizeof(struct dd_serve_attr); programs built with an older version pass the
 *	offset of @uid
 * @flags: DD_ATTR_LIST, DD_ATTR_ACCEPT, DD_ATTR_CLOSE, DD_ATTR_NODIRECT,
 *	DD_ATTR_DIRECT_ANY; DD_ATTR_SAME_USER, DD_ATTR_UID, DD_ATTR_GID: without any
 *	of these three all users may connect, else those that one of them admits;
 *	DD_ATTR_SHARED: @maxconn is 1, and other services of this user with this flag may
 *	have the same name. Each takes one client, the oldest one first, and has no name
 *	from then on
 * @maxconn: connections at a time, 1 to 65536
 * @window: unread messages that one client may have here, up to 256; 0
 *	means 16 for a client of DD_TYPE_STREAM, and 1 for others
 * @list: note list to attach to. Without DD_ATTR_LIST any value is allowed: if it
 *	is not a list of this handle, a new list is created
 * @recv: page-aligned memory of dd_alloc() where messages are deposited,
 *	divided into @maxconn equal blocks, each rounded down to 8 bytes
 * @recv_size: its size in bytes
 * @send: memory where replies are composed, divided in the same way; may be NULL
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
 * @attr: attributes
 * @list: (out) id of its note list; may be NULL
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
 * Its memory stays allocated.
 *
 * Return: 0; -EBADID.
 */
int dd_unserve(struct dd *h, int service);

/* Types of a connection; the library enforces the rules of each. */
#define DD_TYPE_RPC	1	/* dd_call() at the connecting end */
#define DD_TYPE_SPLIT	2	/* one request at a time, reply by dd_recv() */
#define DD_TYPE_STREAM	3	/* messages without replies */

/**
 * struct dd_connect_attr - attributes of a connection
 * @size: sizeof(struct dd_connect_attr)
 * @flags: DD_ATTR_LIST, DD_ATTR_ANON, which DD_TYPE_RPC implies,
 *	DD_ATTR_NODIRECT, DD_ATTR_DIRECT_ANY, DD_ATTR_TIMEOUT, DD_ATTR_ERRNO
 * @type: DD_TYPE_*
 * @window: unread messages that the server may have here, up to 256; 0
 *	means 16 for DD_TYPE_STREAM, and 1 for other types
 * @list: as in struct dd_serve_attr
 * @send: page-aligned memory of dd_alloc() where messages are composed; may
 *	be NULL
 * @send_size: its size in bytes; 0 if there is none
 * @recv: memory where the other end's messages are deposited
 * @recv_size: its size in bytes
 * @timeout: with DD_ATTR_TIMEOUT, nanoseconds to wait for another node. 0 does not
 *	wait: the service has to be on this node. Without the flag the call waits for
 *	the node's answer until its dead time has passed
 *
 * @size may be the offset of @timeout, if that is not used.
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
 * @node: its node, 0 to dd_max_nodes() - 1
 * @attr: attributes
 * @list: (out) id of the note list, 0 for DD_TYPE_RPC; may be NULL
 *
 * Return: id of the connection, > 0; -EACCES (the service does not admit this user),
 * -EBADSERVER (no such service there, or the node does not answer), -EPROTO (the nodes
 * have no protocol version in common, or belong to different clusters), -ETIMEDOUT
 * (nothing was connected), -EAGAIN (timeout 0, and another node), -ENORESOURCE (also:
 * no block for this client, see ddserve(3), or the server has reached its
 * RLIMIT_MEMLOCK), -EMEMLOCK (limit of this user), -EINVAL, -EBADID (list or handle),
 * -ENOCMP. dd_last_error() has the details.
 *
 * With DD_ATTR_ERRNO, errors of the kernel are returned as they are, such as -ECONNREFUSED (no
 * such service), -ENONET (no such node), -EHOSTUNREACH (the node does not answer), -EUSERS,
 * -ENOBUFS, -EDQUOT, -ENETDOWN.
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
 * dd_send() - deposit a message in the other end's memory, and notify it
 * @h: handle
 * @conn: connection
 * @addr: source; in the connection's own send buffer, unless @options allow other
 *	memory
 * @len: bytes, may be 0
 * @roffset: byte offset in the other end's buffer
 * @options: DD_SEND_*; UNWIRED and DMA exclude each other
 * @meta: metadata words delivered with the notification, or NULL
 * @metacount: their number, 0 to 4
 *
 * The call does not wait for the receiver. Sending directly (dd(7)), as to a process
 * of the same node and user whose buffer is whole pages, needs a system call only if
 * the receiver sleeps, and one if the source is not wired memory; sending through the
 * kernel needs one. The first message of an end, and one in some hundred later ones,
 * may need more, to set up the direct path. A refused message is not counted and
 * changes nothing.
 *
 * Return: 0; -EBADID, -ECONNCLOSE, -EBADTYPE (connecting end of
 * DD_TYPE_RPC), -ESLOTBUSY (DD_TYPE_SPLIT, reply not consumed yet),
 * -ENOTREADY (the other end is a full window behind), -EBADRANGE (source or
 * target), -EINVAL (options, metacount), -EFAULT (unreadable DD_SEND_UNWIRED
 * source), -EMEMLOCK (the copy of a DD_SEND_UNWIRED source for another node; while
 * earlier messages of the connection are under way, -ENOTREADY), -ENORESOURCE, -ENOCMP.
 */
int dd_send(struct dd *h, int conn, const void *addr, size_t len,
	    size_t roffset, unsigned int options, const unsigned int *meta,
	    size_t metacount);

/**
 * struct dd_send_msg - one message of several
 * @conn: connection
 * @options: as for dd_send(), but not DD_SEND_BLOCK
 * @addr: source, as for dd_send()
 * @len: bytes, may be 0
 * @roffset: byte offset in the other end's buffer
 * @meta: metadata words, or NULL
 * @metacount: their number, 0 to 4
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
 * @error: (out) 0 if all were accepted, else the error of dd_send() for the first one
 *	that was refused; may be NULL
 *
 * As dd_send() for each in turn, up to the first one that is refused. Up to 64
 * consecutive messages that the kernel sends take one system call, and those for
 * another node leave together. Whether the first one has arrived when the last one is
 * accepted is not defined.
 *
 * Return: number of accepted messages, the first ones; -EBADID (handle), -EINVAL
 * (@msgs or @count).
 */
int dd_sendv(struct dd *h, const struct dd_send_msg *msgs, size_t count,
	     int *error);

#define DD_DONE_SENT	0	/* the source may be reused */
#define DD_DONE_PLACED	1	/* bytes and notification are at the other end */

/**
 * dd_done() - completion of the last message
 * @h: handle
 * @conn: connection
 * @what: DD_DONE_SENT, or DD_DONE_PLACED: then the next message is not refused with
 *	-ENOTREADY
 * @timeout: nanoseconds to wait for it
 *
 * A system call is needed only to wait.
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
 * @conn: its connection
 * @service: service of that connection, 0 at the connecting end
 * @msgid: number of the message on its connection, from 1
 * @serial: serial of that connection, which never repeats within the handle. Its lower
 *	half, @conn, may repeat after some 2 billion connections
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
#define DD_RECV_SPIN	0x0	/* spin first, if that may help */
#define DD_RECV_SLEEP	0x1	/* sleep at once */
#define DD_RECV_INTR	0x8	/* sleep at once; a caught signal ends the wait */

/**
 * dd_recv() - consume the next message of a note list
 * @h: handle
 * @list: note list
 * @msg: (out) the message
 * @options: DD_RECV_*
 * @timeout: nanoseconds to wait
 *
 * If there is a message already, no system call is needed, unless it is the first one of
 * its connection or a sender waits for a free slot. Spinning is bounded, yields to other
 * threads on the CPU, and is not done if there is only one CPU.
 *
 * Return: 0; -ECONNCLOSE (the other end has closed @msg->conn, and all its messages
 * have been consumed; at a serving end with DD_ATTR_CLOSE only, otherwise the next
 * dd_send() returns it), -EWOULDBLOCK (timeout 0), -ETIMEDOUT, -EINTR
 * (DD_RECV_INTR), -EBADID, -EINVAL.
 */
int dd_recv(struct dd *h, int list, struct dd_msg *msg, unsigned int options,
	    int64_t timeout);

/**
 * dd_reply() - send a reply to a particular message
 * @h: handle
 * @msg: message from dd_recv() to reply to
 * @addr: as for dd_send()
 * @len: as for dd_send()
 * @roffset: as for dd_send()
 * @options: as for dd_send()
 *
 * dd_send() replies to the last message consumed on a connection. If several
 * threads consume the requests of one DD_TYPE_RPC client, this call names the request,
 * so that the client recognises a late reply. The reply is refused if the connection
 * has ended, even if another connection has its id by now.
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
 * @reply: (out) the reply
 * @options: DD_RECV_*
 * @timeout: nanoseconds to wait at most
 *
 * The request lands at the start of the server's buffer. A reply that comes
 * after its call has timed out is dropped. Calls of several threads on one
 * connection take turns.
 *
 * Return: 0; -EBADID, -EINVAL, -ECONNCLOSE, -EBADTYPE, -EBADRANGE,
 * -ETIMEDOUT, -EINTR (DD_RECV_INTR; as after a timeout, a later reply is dropped),
 * -ENOCMP.
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
 * @pid: its process id, 0 if this process cannot see it or it has ended; for another node, as
 *	that node reports it
 * @uid: its effective user id when it served or connected; for another node, as that
 *	node reports it
 * @window: unread messages it may have here
 * @send_window: unread messages allowed there
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
 * @desc: (out) the description
 *
 * Return: 0; -EBADID, -EINVAL.
 */
int dd_conn_info(struct dd *h, int conn, struct dd_conn_desc *desc);

/**
 * dd_conn_list() - list the connections of a service
 * @h: handle
 * @service: service
 * @conns: (out) ids of up to @count connections
 * @count: entries in @conns
 *
 * Return: number of connections, which may be more than @count; -EBADID,
 * -EINVAL.
 */
int dd_conn_list(struct dd *h, int service, int *conns, int count);

/**
 * dd_poll() - wait for any of several note lists
 * @h: handle
 * @lists: note lists; (out) the ready ones
 * @count: number of lists, 0 to 1024; 0 makes the call a pause
 * @timeout: nanoseconds to wait
 *
 * Return: number of ready lists, 0 after the timeout; -EBADID (any of them, even if
 * another one is ready), -EINVAL.
 */
int dd_poll(struct dd *h, int *lists, int count, int64_t timeout);

/**
 * dd_peek() - look at the next message without consuming it
 * @h: handle
 * @list: note list
 * @msg: (out) the message, if there is one
 *
 * A system call is needed only for a list or a connection that is used for the first
 * time.
 *
 * Return: 1 there is one, 0 there is none; -EBADID, -EINVAL.
 */
int dd_peek(struct dd *h, int list, struct dd_msg *msg);

/**
 * dd_ready() - whether there is a message
 * @h: handle
 * @list: note list
 *
 * System calls as in dd_peek().
 *
 * Return: 1 yes, 0 no; -EBADID.
 */
int dd_ready(struct dd *h, int list);

/**
 * dd_list_fd() - make a descriptor that polls readable while a list has notes
 * @h: handle
 * @list: note list
 *
 * The caller closes it. Only dd_recv() consumes messages.
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
 * dd_node_of() - number of the node with an address
 * @h: handle
 * @sa: AF_INET or AF_INET6 address, for example from getaddrinfo(); its port is not used
 * @len: bytes at @sa
 *
 * A loopback address, and an address of the handle's network namespace, are those of this node.
 * Other nodes are found by the addresses that "ddctl peer" lists.
 *
 * Return: number; -EBADID, -EINVAL, -EAFNOSUPPORT (another family), -ENONET (no node has the
 * address), -ENOTUNIQ (several peers have it, with different ports).
 */
int dd_node_of(struct dd *h, const struct sockaddr *sa, socklen_t len);

/**
 * dd_max_nodes() - number of nodes
 * @h: handle
 *
 * Return: number, > 0; -EBADID.
 */
int dd_max_nodes(struct dd *h);

/**
 * dd_pid() - process id of the caller on its node
 * @h: handle
 *
 * Keys of class DD_KEY_BUFFER of <dd_mem.h> contain it. It is the process id in the pid
 * namespace of the process that has created the network namespace of this node, or has loaded
 * the module: in a container it may differ from getpid().
 *
 * Return: process id, > 0; 0 if this process is not visible in that namespace; -EBADID.
 */
int dd_pid(struct dd *h);

/**
 * dd_packet_size() - largest packet
 * @h: handle
 *
 * The smallest of those to the configured peers; without peers, the largest within
 * the node.
 *
 * Return: bytes; -EBADID.
 */
int dd_packet_size(struct dd *h);

/**
 * dd_strerror() - text for an error number
 * @error: number, of either sign
 *
 * Return: a constant string, never NULL, for the protocol's numbers and the system's.
 */
const char *dd_strerror(int error);

/**
 * dd_errno() - the system's error number for one of the protocol
 * @error: number of dd_errno.h or errno.h, of either sign
 *
 * For programs that pass an error on as errno. Several numbers of the system may have become one
 * of the protocol: the result is the most frequent of them.
 *
 * Return: a number > 0 of errno.h; 0 if @error is 0.
 */
int dd_errno(int error);

/**
 * dd_last_error() - details of the last error
 * @h: handle, or NULL for the last dd_open() of this thread that has failed
 * @buf: (out) the text
 * @size: its size in bytes
 *
 * dd_alloc(), dd_serve(), dd_connect() and dd_list_fd() record here what the error
 * number does not say: the limit that was reached and how to raise it, or the argument
 * that was wrong. Empty if there is nothing to add. Threads share the text of a handle.
 *
 * Return: 0; -EBADID, -EINVAL.
 */
int dd_last_error(struct dd *h, char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* _DD_H */
