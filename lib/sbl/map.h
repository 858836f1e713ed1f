/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * map.h - automatic update
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _SBL_MAP_H
#define _SBL_MAP_H

#include "common.h"
#include "proxy.h"

extern unsigned int sbl_maps;	/* number of mappings */

/* Whether all stores to mappings have been sent; there is a mapping. */
bool sbl_maps_clean(void);

/*
 * Send what was stored to the mappings of a peer, before a request to it: 0, or -EDEADLK in a
 * handler. Handlers may run.
 */
int sbl_maps_send(const struct ddi_peer *peer);

/* Whether there is a mapping to a proxy. The caller holds sbl_lock. */
bool sbl_mapped_to(const struct ddi_proxy *proxy);

/* End a mapping to a proxy, as SBL_Unmap(), if there is one: SBL_Success, or SBL_ENoMem. */
int sbl_unmap_from(const struct ddi_proxy *proxy);

#endif /* _SBL_MAP_H */
