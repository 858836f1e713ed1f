/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * dd_errno.h - the error numbers of the Direct Deposit Protocol
 *
 * Copyright (C) 2026 The dd authors
 *
 * The protocol's own errors lie above those of any Linux system, so that both
 * kinds share errno. dderror() and dd_strerror() know the text of both.
 */
#ifndef _DD_ERRNO_H
#define _DD_ERRNO_H

#include <errno.h>

#define EBADID		1001	/* no such service, connection or note list */
#define EBADSERVER	1002	/* no such service, or no way to its node */
#define ENOCMP		1003	/* the kernel side of dd is not running */
#define ENORESOURCE	1004	/* the kernel is out of something it needs */
#define ECONNCLOSE	1005	/* closed by the other end */
#define ESLOTBUSY	1006	/* the reply has not been consumed yet */
#define EBADTYPE	1007	/* not a call for this type of connection */
#define EBADRANGE	1008	/* outside of the buffer */
#define ENOTREADY	1009	/* the previous message is not acknowledged */

/* Extension: not in the protocol's description. */
#define EMEMLOCK	1010	/* RLIMIT_MEMLOCK reached */

#endif /* _DD_ERRNO_H */
