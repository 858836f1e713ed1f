/* SPDX-License-Identifier: GPL-2.0-only */
/* The link between processes of this node: local.c. */
#ifndef _DD_LOCAL_H
#define _DD_LOCAL_H

#include "core/hooks.h"

/* Of imports of segments, and of those that are part of a connection: these only put. */
extern const struct dd_link_ops dd_link_local;
extern const struct dd_link_ops dd_link_local_put;

#endif /* _DD_LOCAL_H */
