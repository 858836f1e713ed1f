/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * peer.h - look-ups in the registries of other nodes
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _RMCLERK_PEER_H
#define _RMCLERK_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "registry.h"

bool peers_init(void);

/* @end: time of CLOCK_MONOTONIC at which the look-up fails. Returns 0 or an errno. */
int peer_find(int node, const char *name, uint64_t end, struct record *found);
void peer_answer(int node);

#endif /* _RMCLERK_PEER_H */
