/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * This node and its peers as a whole: as the kernel has them, as they are to
 * be, and the way from the one to the other.
 */
#ifndef DDCTL_NODES_H
#define DDCTL_NODES_H

#include <stdbool.h>
#include <stdint.h>
#include <json-c/json.h>

#include "addr.h"
#include "nl.h"

#define NODES_MAX	4096

/**
 * struct nodes_peer - a peer
 * @present: there is one with this number
 * @addr: address and port
 * @dead_time: in milliseconds
 * @payload_crc: whether payloads are checksummed
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
 * @up: whether it serves
 * @culprit: the peer that could not be changed; NODES_MAX for none
 * @peers: by number
 */
struct nodes {
	uint32_t id;
	uint32_t max;
	uint32_t port;
	bool up;
	uint32_t culprit;
	struct nodes_peer peers[NODES_MAX];
};

/* Ask the kernel; enum ddctl_exit. */
int nodes_get(struct ddnl *nl, struct nodes *now);

bool nodes_peer_equal(const struct nodes_peer *a, const struct nodes_peer *b);

/**
 * nodes_reach() - make the kernel have other nodes
 * @nl: an open socket
 * @now: what it has; follows what happens
 * @want: what it is to have
 *
 * Peers that stay as they are keep their sessions, unless this node gets
 * another number or another port. If max changes, the node is down for a
 * moment.
 *
 * Return: enum ddctl_exit; on failure @now tells how far it came, and at whom
 * it failed.
 */
int nodes_reach(struct ddnl *nl, struct nodes *now, const struct nodes *want);

#endif /* DDCTL_NODES_H */
