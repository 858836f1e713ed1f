/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * ddp.h - what serving and connecting share
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_DDP_H
#define _DD_DDP_H

int ddi_name_copy(unsigned char *to, const char *name);

#endif /* _DD_DDP_H */
