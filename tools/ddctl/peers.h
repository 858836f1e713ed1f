/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests about peers.
 */
#ifndef DDCTL_PEERS_H
#define DDCTL_PEERS_H

#include "addr.h"
#include "nl.h"
#include "words.h"

/**
 * peers_send() - ask the kernel to add, change or remove a peer
 * @nl: an open socket
 * @cmd: DD_CMD_PEER_*
 * @number: which one
 * @addr: its address, or NULL
 * @list: settings to send along, or NULL
 *
 * Return: enum ddctl_exit.
 */
int peers_send(struct ddnl *nl, uint8_t cmd, uint32_t number,
	       const union addr *addr, const struct setting *list);

#endif /* DDCTL_PEERS_H */
