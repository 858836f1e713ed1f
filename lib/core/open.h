/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * open.h - the end of a handle
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_OPEN_H
#define _DD_OPEN_H

#include "handle.h"

/*
 * Have dd_shutdown() call a function of a folder above, at most DDI_RELEASES of them, while
 * the device is open and the area is mapped. dd.lock is held; repeated calls do nothing.
 */
void ddi_at_shutdown(struct dd *h, void (*release)(struct dd *h));

#endif /* _DD_OPEN_H */
