/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * dd - Direct Deposit: services and connections of the Direct Deposit Protocol.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _UAPI_LINUX_DD_DDP_H
#define _UAPI_LINUX_DD_DDP_H

#include <linux/dd.h>

#define DD_NAME_MAX		63	/* longest service name, without the NUL */
#define DD_WINDOW_STREAM	16	/* default window of %DD_CONN_STREAM */
#define DD_MAXCONN_MAX		65536

/**
 * enum dd_conn_type - connection types of DDP, visible to both ends
 * @DD_CONN_RPC: request and reply, one at a time
 * @DD_CONN_SPLIT: like RPC, but the reply is collected later
 * @DD_CONN_STREAM: no replies; a send waits until the previous message is done
 */
enum dd_conn_type {
	DD_CONN_RPC = 1,
	DD_CONN_SPLIT = 2,
	DD_CONN_STREAM = 3,
};

#define DD_SERVE_LIST		0x1	/* attach to the list in @list */
#define DD_SERVE_ACCEPT		0x2	/* a list and a note per connection */
#define DD_SERVE_NODIRECT	0x4	/* no client may send directly */
#define DD_SERVE_DIRECT_ANY	0x8	/* clients of other users may, too */
#define DD_SERVE_CLOSE		0x10	/* a note when a client has closed */
#define DD_SERVE_SAME_USER	0x20	/* the server's user may connect */
#define DD_SERVE_UID		0x40	/* user @uid may connect */
#define DD_SERVE_GID		0x80	/* group @gid of this node may connect */
#define DD_SERVE_SHARED		0x200	/* the user's services may have one name */
#define DD_SERVE_FLAGS		0x2ff

/**
 * struct dd_serve - register a service (%DD_IOC_SERVE)
 * @size: sizeof(struct dd_serve)
 * @flags: DD_SERVE_*
 * @name: name of the service, 1..%DD_NAME_MAX bytes and a NUL
 * @maxconn: number of concurrent connections, 1..%DD_MAXCONN_MAX
 * @window: unread messages allowed to a client, up to %DD_WINDOW_MAX; 0 means
 *	%DD_WINDOW_STREAM for a client of type %DD_CONN_STREAM, for which the
 *	kernel reserves the slots when it connects, and 1 for others
 * @recv: memory for requests, divided into @maxconn blocks
 * @send: where replies are composed, divided in the same way; may be none
 * @list: (in) with %DD_SERVE_LIST, the list to attach to; without, a list to
 *	attach to if it exists; (out) the list attached to
 * @service: (out) id of the service
 * @list_unit: (out) unit number of struct dd_list_head
 * @states_unit: (out) unit number of the state of block 0
 * @state_units: (out) units from one block's state to the next
 * @__reserved: zero
 * @recv_block: (out) bytes in a receive block, a multiple of 8
 * @send_block: (out) bytes in a send block, a multiple of 8
 * @uid: with %DD_SERVE_UID, in the caller's user namespace; else 0
 * @gid: with %DD_SERVE_GID, in the caller's user namespace; else 0
 * @peruser: blocks that clients of one user of one node may have, 0 for no limit:
 *	of open connections, and of closed ones until another user may get them
 * @__reserved2: zero
 *
 * Without %DD_SERVE_SAME_USER, %DD_SERVE_UID and %DD_SERVE_GID all clients may
 * connect; with several of them, a client that any of them permits. They are
 * compared with the effective ids of the client when it connects; for a client on
 * another node only with the user id that its node reports, not with groups.
 *
 * With %DD_SERVE_SHARED, @maxconn is 1, and other services of the same user with this flag
 * may have the same name. Each of them takes one client, the oldest one first, and then has
 * no name any more; its block is given to no other client.
 *
 * The block of a client that has closed is given to another client when all its
 * notes have been consumed; to a client of another user or node only if the
 * server has also closed its end, or has sent as many messages on it as it has
 * received. A doorbell refused with %ECONNRESET counts as a message sent. Messages
 * sent directly by a serving end are counted by @meta in its state; those of a
 * client of another user than the server's are as many as notes were consumed of
 * its ring.
 *
 * Errors: %EINVAL, %ENOENT (a region, or the list with %DD_SERVE_LIST),
 * %EEXIST (the name), %EINVAL (memory in use), %ENETDOWN, %ENOMEM, %ENOSPC,
 * %EDQUOT.
 */
struct dd_serve {
	__u32 size;
	__u32 flags;
	__u8 name[DD_NAME_MAX + 1];
	__u32 maxconn;
	__u32 window;
	struct dd_buf recv;
	struct dd_buf send;
	__u32 list;
	__u32 service;
	__u32 list_unit;
	__u32 states_unit;
	__u32 state_units;
	__u32 __reserved;
	__aligned_u64 recv_block;
	__aligned_u64 send_block;
	__u32 uid;
	__u32 gid;
	__u32 peruser;
	__u32 __reserved2;
};

#define DD_CONNECT_LIST		0x1	/* attach to the list in @list */
#define DD_CONNECT_ANON		0x2	/* a new list; @list is ignored */
#define DD_CONNECT_NODIRECT	0x4	/* neither end may send directly */
#define DD_CONNECT_DIRECT_ANY	0x8	/* a server of another user may, too */
#define DD_CONNECT_TIMEOUT	0x10	/* @timeout limits the wait */
#define DD_CONNECT_FLAGS	0x1f

/**
 * struct dd_connect - connect to a service (%DD_IOC_CONNECT)
 * @size: sizeof(struct dd_connect)
 * @flags: DD_CONNECT_*
 * @name: name of the service
 * @node: number of its node
 * @type: enum dd_conn_type
 * @window: unread messages allowed to the server, up to %DD_WINDOW_MAX;
 *	0 means %DD_WINDOW_STREAM for %DD_CONN_STREAM, and 1 for other types
 * @list: see struct dd_serve
 * @send: memory for requests; may be none
 * @recv: memory for replies
 * @cookie: copied to each note of this connection
 * @conn: (out) serial of the connection
 * @list_unit: (out) unit number of struct dd_list_head
 * @state_unit: (out) unit number of struct dd_conn_state
 * @peer_size: (out) bytes in the server's block
 * @timeout: with %DD_CONNECT_TIMEOUT, nanoseconds to wait for another node; else 0
 *
 * Connecting to another node takes until that node answers: twice its dead time
 * at most, and with %DD_CONNECT_TIMEOUT at most @timeout. A @timeout of 0 permits
 * only services of this node. Other threads may use the context meanwhile.
 *
 * Errors: %EINVAL, %ENOENT, %EACCES, %ECONNREFUSED, %ENONET, %EHOSTUNREACH,
 * %EUSERS, %ENETDOWN, %ENOMEM, %ENOSPC, %EDQUOT, %ENOBUFS, %EINTR,
 * %EAGAIN (another node with timeout 0), %ETIMEDOUT, %EPROTO, %EPROTONOSUPPORT.
 */
struct dd_connect {
	__u32 size;
	__u32 flags;
	__u8 name[DD_NAME_MAX + 1];
	__u32 node;
	__u32 type;
	__u32 window;
	__u32 list;
	struct dd_buf send;
	struct dd_buf recv;
	__aligned_u64 cookie;
	__aligned_u64 conn;
	__u32 list_unit;
	__u32 state_unit;
	__aligned_u64 peer_size;
	__aligned_u64 timeout;
};

/**
 * struct dd_conn_info - describe a connection (%DD_IOC_CONN_INFO)
 * @size: sizeof(struct dd_conn_info)
 * @list: (out) id of its note list
 * @conn: (in) its serial, or its id alone; (out) its serial
 * @service: (out) at the serving end, id of the service, else 0
 * @block: (out) at the serving end, block number, else 0
 * @type: (out) enum dd_conn_type
 * @closed: (out) 0, or the errno that ended it
 * @node: (out) node number of the other end
 * @pid: (out) process id of the other end in the caller's pid namespace, 0 if it
 *	has none there or has ended; on another node, as that node numbered it
 * @uid: (out) effective user id of the other end when it served or connected, in
 *	the caller's user namespace (the overflow id if it has none there)
 * @__reserved: zero
 * @send: (out) send block of this end
 * @recv: (out) receive block of this end
 * @peer_size: (out) bytes in the receive block of the other end
 * @submitted: (out) messages sent
 * @received: (out) messages received
 * @cookie: (out) cookie in its notes
 * @list_unit: (out) unit number of struct dd_list_head
 * @state_unit: (out) unit number of struct dd_conn_state
 * @window: (out) unread messages allowed to the other end
 * @send_window: (out) unread messages allowed at the other end
 */
struct dd_conn_info {
	__u32 size;
	__u32 list;
	__aligned_u64 conn;
	__u32 service;
	__u32 block;
	__u32 type;
	__u32 closed;
	__u32 node;
	__u32 pid;
	__u32 uid;
	__u32 __reserved;
	struct dd_buf send;
	struct dd_buf recv;
	__aligned_u64 peer_size;
	__aligned_u64 submitted;
	__aligned_u64 received;
	__aligned_u64 cookie;
	__u32 list_unit;
	__u32 state_unit;
	__u32 window;
	__u32 send_window;
};

/**
 * struct dd_conn_list - connections of a service (%DD_IOC_CONN_LIST)
 * @size: sizeof(struct dd_conn_list)
 * @service: (in) id of the service
 * @conns: (in) address of an array of __u64 for the serials
 * @count: (in) entries in that array; (out) number of connections, which may be
 *	larger
 * @__reserved: zero
 */
struct dd_conn_list {
	__u32 size;
	__u32 service;
	__aligned_u64 conns;
	__u32 count;
	__u32 __reserved;
};

/*
 * UNSERVE takes the id of a service, CLOSE the serial of a connection, or its address
 * like DD_IOC_DOORBELL.
 */
#define DD_IOC_SERVE		_IO(DD_IOC_TYPE, 0x02)
#define DD_IOC_CONNECT		_IO(DD_IOC_TYPE, 0x03)
#define DD_IOC_CONN_INFO	_IO(DD_IOC_TYPE, 0x04)
#define DD_IOC_CONN_LIST	_IO(DD_IOC_TYPE, 0x05)
#define DD_IOC_CLOSE		_IO(DD_IOC_TYPE, 0x24)
#define DD_IOC_UNSERVE		_IO(DD_IOC_TYPE, 0x25)

#endif /* _UAPI_LINUX_DD_DDP_H */
