/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * import.h - imported buffers
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _VMMC_IMPORT_H
#define _VMMC_IMPORT_H

#include "common.h"
#include "proxy.h"

/* An import is pending until its making has been reported. */
enum vmmc_import_state {
	VMMC_PENDING,
	VMMC_MADE,
};

/**
 * struct vmmc_import - an imported buffer
 * @slot: names it
 * @proxy: its addresses, and import of libdd
 * @state: see above; under vmmc_lock
 */
struct vmmc_import {
	struct vmmc_slot slot;
	struct ddi_proxy proxy;
	enum vmmc_import_state state;
};

struct vmmc_import *vmmc_import_find(vmmc_imphandle_t handle);

#endif /* _VMMC_IMPORT_H */
