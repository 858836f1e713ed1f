/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * ddp.h - what serving and connecting share
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_DDP_H
#define _DD_DDP_H

/* Attributes of both that restrict or extend direct paths. */
#define DDI_ATTR_DIRECT	(DD_ATTR_NODIRECT | DD_ATTR_DIRECT_ANY)

int ddi_name_copy(unsigned char *to, const char *name);

#endif /* _DD_DDP_H */
