// SPDX-License-Identifier: LGPL-2.1-only
/*
 * notify.c - when notification handlers run
 *
 * Copyright (C) 2026 The dd authors
 */
#include "common.h"

VMMC_API void vmmc_BlockNotifications(void)
{
	ddi_upcall_block();
}

VMMC_API int vmmc_UnblockNotifications(void)
{
	int ret = ddi_upcall_unblock();

	return ret < 0 ? vmmcErr_NotInHandler : ret;
}
