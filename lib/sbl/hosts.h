/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * hosts.h - addresses of nodes
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _SBL_HOSTS_H
#define _SBL_HOSTS_H

#include "dd.h"
#include "sbl.h"

/* Called once, before the others. */
void sbl_hosts_read(int own);

/* All nodes: their number. */
int sbl_hosts(NodeID **hosts);

/* The address of a node. */
NodeID sbl_node_id(int number);

/* The number of a node, or a negative error. */
int sbl_node_number(struct dd *h, NodeID node);

#endif /* _SBL_HOSTS_H */
