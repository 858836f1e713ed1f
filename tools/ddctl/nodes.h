/* SPDX-License-Identifier: GPL-2.0-only */
/* Commands that change the node and its peers. */
#ifndef DDCTL_NODES_H
#define DDCTL_NODES_H

#include "command.h"

extern const struct command command_apply, command_node, command_peer;

#endif /* DDCTL_NODES_H */
