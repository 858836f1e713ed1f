/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* What Documentation/netlink/specs/dd.yaml describes; a test compares them. */
#ifndef _UAPI_LINUX_DD_NETLINK_H
#define _UAPI_LINUX_DD_NETLINK_H

#define DD_FAMILY_NAME		"dd"
#define DD_FAMILY_VERSION	1

/**
 * enum dd_conn_role - the two ends of a connection
 * @DD_CONN_ROLE_CLIENT: the end that has connected
 * @DD_CONN_ROLE_SERVER: the end that serves
 */
enum dd_conn_role {
	DD_CONN_ROLE_CLIENT = 1,
	DD_CONN_ROLE_SERVER,
};

/**
 * enum dd_peer_state - what there is between this node and a peer
 * @DD_PEER_STATE_IDLE: nothing, and nothing is tried
 * @DD_PEER_STATE_CONNECTING: a session is sought, for the first time or again
 * @DD_PEER_STATE_UP: a session
 * @DD_PEER_STATE_UNREACHABLE: no answer for the dead time; trying goes on
 * @DD_PEER_STATE_REFUSED: it answers, but there can be no session; trying
 *	goes on, in case that one of the two is changed
 */
enum dd_peer_state {
	DD_PEER_STATE_IDLE = 1,
	DD_PEER_STATE_CONNECTING,
	DD_PEER_STATE_UP,
	DD_PEER_STATE_UNREACHABLE,
	DD_PEER_STATE_REFUSED,
};

/**
 * enum dd_peer_reason - why there is no session, or the last one ended
 * @DD_PEER_REASON_DEAD: the peer was silent for the dead time
 * @DD_PEER_REASON_REBOOT: it has a new life, and knows nothing of the old one
 * @DD_PEER_REASON_RESET: it says that it does not know the session
 * @DD_PEER_REASON_VERSION: no version of the protocol in common
 * @DD_PEER_REASON_MAXNODES: it is of a cluster of another size
 * @DD_PEER_REASON_NODE: one of the two is not the node that the other expects
 * @DD_PEER_REASON_STOPPED: it was removed, here or there
 * @DD_PEER_REASON_ADDRESS: it was given another address
 */
enum dd_peer_reason {
	DD_PEER_REASON_DEAD = 1,
	DD_PEER_REASON_REBOOT,
	DD_PEER_REASON_RESET,
	DD_PEER_REASON_VERSION,
	DD_PEER_REASON_MAXNODES,
	DD_PEER_REASON_NODE,
	DD_PEER_REASON_STOPPED,
	DD_PEER_REASON_ADDRESS,
};

enum {
	DD_A_NODE_ID = 1,
	DD_A_NODE_MAXNODES,
	DD_A_NODE_UP,
	DD_A_NODE_PACKET_SIZE,
	DD_A_NODE_ABI,
	DD_A_NODE_VERSION,

	__DD_A_NODE_MAX,
	DD_A_NODE_MAX = (__DD_A_NODE_MAX - 1)
};

enum {
	DD_A_SERVICE_CTX = 1,
	DD_A_SERVICE_ID,
	DD_A_SERVICE_PID,
	DD_A_SERVICE_UID,
	DD_A_SERVICE_NAME,
	DD_A_SERVICE_MAXCONN,
	DD_A_SERVICE_CONNS,
	DD_A_SERVICE_WINDOW,
	DD_A_SERVICE_ACCEPT,
	DD_A_SERVICE_LIST,
	DD_A_SERVICE_RECV_BLOCK,
	DD_A_SERVICE_SEND_BLOCK,
	DD_A_SERVICE_TOTAL,
	DD_A_SERVICE_RECEIVED,
	DD_A_SERVICE_SENT,
	DD_A_SERVICE_PAD,

	__DD_A_SERVICE_MAX,
	DD_A_SERVICE_MAX = (__DD_A_SERVICE_MAX - 1)
};

enum {
	DD_A_CONN_CTX = 1,
	DD_A_CONN_ID,
	DD_A_CONN_PID,
	DD_A_CONN_UID,
	DD_A_CONN_SERVICE,
	DD_A_CONN_ROLE,
	DD_A_CONN_TYPE,
	DD_A_CONN_BLOCK,
	DD_A_CONN_LIST,
	DD_A_CONN_ERROR,
	DD_A_CONN_PEER_NODE,
	DD_A_CONN_PEER_CTX,
	DD_A_CONN_PEER_ID,
	DD_A_CONN_PEER_PID,
	DD_A_CONN_PEER_UID,
	DD_A_CONN_WINDOW,
	DD_A_CONN_SEND_WINDOW,
	DD_A_CONN_RECV_SIZE,
	DD_A_CONN_SEND_SIZE,
	DD_A_CONN_PEER_SIZE,
	DD_A_CONN_SUBMITTED,
	DD_A_CONN_SENT,
	DD_A_CONN_DONE,
	DD_A_CONN_RECEIVED,
	DD_A_CONN_PAD,

	__DD_A_CONN_MAX,
	DD_A_CONN_MAX = (__DD_A_CONN_MAX - 1)
};

enum {
	DD_A_REGION_CTX = 1,
	DD_A_REGION_ID,
	DD_A_REGION_PID,
	DD_A_REGION_UID,
	DD_A_REGION_LENGTH,
	DD_A_REGION_BUSY,
	DD_A_REGION_PAD,

	__DD_A_REGION_MAX,
	DD_A_REGION_MAX = (__DD_A_REGION_MAX - 1)
};

enum {
	DD_A_STAT_OPS = 1,
	DD_A_STAT_BYTES,
	DD_A_STAT_NOTES,
	DD_A_STAT_WITHHELD,
	DD_A_STAT_WAKEUPS,
	DD_A_STAT_REFUSED,
	DD_A_STAT_CONNECTS,
	DD_A_STAT_CLOSES,
	DD_A_STAT_PAD,

	__DD_A_STAT_MAX,
	DD_A_STAT_MAX = (__DD_A_STAT_MAX - 1)
};

enum {
	DD_A_EVENT_SEQ = 1,
	DD_A_EVENT_PAD,
	DD_A_EVENT_NODE,
	DD_A_EVENT_SERVICE,
	DD_A_EVENT_CONN,

	__DD_A_EVENT_MAX,
	DD_A_EVENT_MAX = (__DD_A_EVENT_MAX - 1)
};

enum {
	DD_CMD_NODE_GET = 1,
	DD_CMD_NODE_SET,
	DD_CMD_SERVICE_GET,
	DD_CMD_CONN_GET,
	DD_CMD_REGION_GET,
	DD_CMD_STAT_GET,

	DD_CMD_NODE_UP = 32,
	DD_CMD_NODE_DOWN,
	DD_CMD_NODE_SET_NTF,
	DD_CMD_SERVICE_ADD,
	DD_CMD_SERVICE_DEL,
	DD_CMD_CONN_ADD,
	DD_CMD_CONN_DEL,

	__DD_CMD_MAX,
	DD_CMD_MAX = (__DD_CMD_MAX - 1)
};

#define DD_MCGRP_EVENTS	"events"

#endif /* _UAPI_LINUX_DD_NETLINK_H */
