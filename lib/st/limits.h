/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * limits.h - values of the options
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _ST_LIMITS_H
#define _ST_LIMITS_H

#define ST_BUFSIZE_MIN	(1 << 12)
#define ST_BUFSIZE_MAX	(1 << 20)
#define ST_MAXSTU_MIN	64
#define ST_BUFX_MAX	(1 << 20)
#define ST_PORTLEN_MAX	256
#define ST_CHANNELS_ALL	15
#define ST_RX_SLOTS	256

#endif /* _ST_LIMITS_H */
