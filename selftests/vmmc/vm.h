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

#endif /* _VMMC_VM_H */
