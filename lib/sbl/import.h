/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * import.h - imported buffers
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _SBL_IMPORT_H
#define _SBL_IMPORT_H

#include "common.h"
#include "proxy.h"

enum sbl_import_state {
	SBL_PENDING,
	SBL_MADE,		/* and has addresses */
};

/**
 * struct sbl_import - an imported buffer; the record is used again, but never freed
 * @proxy: its addresses, and import of libdd
 * @state: see above; sbl_lock
 * @address: of a request: where to store the address
 * @nwords: of a request: where to store the size
 * @next: in the list of requests, or of free records
 * @older: in the list of all records
 */
struct sbl_import {
	struct ddi_proxy proxy;
	enum sbl_import_state state;
	Int32 **address;
	int *nwords;
	struct sbl_import *next;
	struct sbl_import *older;
};

#endif /* _SBL_IMPORT_H */
