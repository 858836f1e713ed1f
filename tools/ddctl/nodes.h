/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * This node and its peers: their state in the kernel, and requests to change it.
 */
#ifndef DDCTL_NODES_H
#define DDCTL_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"
#include "nl.h"
#include "words.h"

/* Change this node; enum ddctl_exit. */
int nodes_set(struct ddnl *nl, const struct setting *list);

/**
 * nodes_set_peer() - add, change or remove a peer
 * @nl: an open socket
 * @cmd: DD_CMD_PEER_*
 * @number: number of the peer
 * @addr: its address, or NULL
 * @list: settings, or NULL
 *
 * Return: enum ddctl_exit.
 */
int nodes_set_peer(struct ddnl *nl, uint8_t cmd, uint32_t number,
		   const union addr *addr, const struct setting *list);

/**
 * struct nodes_peer - a peer
 * @present: there is a peer with this number
 * @addr: address and port
 * @dead_time: in milliseconds
 * @payload_crc: payloads are checksummed
 */
struct nodes_peer {
	bool present;
	union addr addr;
	uint32_t dead_time;
	bool payload_crc;
};

/**
 * struct nodes - this node and its peers
 * @id: its number
 * @max: number of nodes
 * @port: its UDP port
 * @up: it serves
 * @culprit: the peer that could not be changed; NODES_TOTAL for none
 * @peers: by number
 */
struct nodes {
	uint32_t id;
	uint32_t max;
	uint32_t port;
	bool up;
	uint32_t culprit;
	struct nodes_peer peers[NODES_TOTAL];
};

/* Read the state from the kernel; enum ddctl_exit. */
int nodes_get(struct ddnl *nl, struct nodes *now);

bool nodes_peer_equal(const struct nodes_peer *a, const struct nodes_peer *b);

/**
 * nodes_reach() - change the state in the kernel
 * @nl: an open socket
 * @now: present state, updated by each change
 * @want: the state to reach
 *
 * Unchanged peers keep their sessions, unless number or port of this node change. If
 * the number of nodes changes, the node is down for a moment.
 *
 * Return: enum ddctl_exit; on failure @now has the changes made so far, and the
 * peer that failed.
 */
int nodes_reach(struct ddnl *nl, struct nodes *now, const struct nodes *want);

#endif /* DDCTL_NODES_H */
