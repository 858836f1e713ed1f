/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * vm.h - what the tests of VMMC share
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _VMMC_VM_H
#define _VMMC_VM_H

#include "vmmc.h"
#include "worker.h"

/* The node of the workers THERE. */
vmmc_node_t node_there(void);

/*
 * Have that node send as netem says, for example "delay 30ms", and lose as many packets as before.
 * NULL ends this. On one node there is nothing to do.
 */
void link_shape(const char *netem);

#endif /* _VMMC_VM_H */
