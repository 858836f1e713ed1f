// SPDX-License-Identifier: LGPL-2.1-only
/*
 * notify.c - when notification handlers run
 *
 * Copyright (C) 2026 The dd authors
 */
#include "common.h"

SBL_API void SBL_BlockNotifications(void)
{
	ddi_upcall_block();
}

SBL_API int SBL_UnblockNotifications(void)
{
	int ret = ddi_upcall_unblock();

	return ret < 0 ? SBL_ENotInHandler : ret;
}
