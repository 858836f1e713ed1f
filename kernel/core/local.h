/* SPDX-License-Identifier: GPL-2.0-only */
/* The link between processes of this node: local.c. */
#ifndef _DD_LOCAL_H
#define _DD_LOCAL_H

#include "core/hooks.h"

extern const struct dd_link_ops dd_link_local;

#endif /* _DD_LOCAL_H */
