// SPDX-License-Identifier: LGPL-2.1-only
/*
 * sb_notify.c - SBL: its calls in a handler of a notification
 *
 * Copyright (C) 2026 The dd authors
 */
#include <unistd.h>

#include "sender.h"

void calls(Int32 *where, Int32 what)
{
	Int32 word = 5, *r = result, *p;
	SBL_Squid *squids;
	NodeID *hosts;
	int n;

	*r++ = SBL_SendMsg(&word, back_at, 1);
	*r++ = SBL_SendMesg(&word, back_at + 1, 1);
	*r++ = SBL_SendMsgWithNotify(&word, back_at + 2, 1);
	SBL_BlockNotifications();
	*r++ = SBL_UnblockNotifications();
	*r++ = SBL_Hosts(&n, &hosts);
	*r++ = SBL_MyNode() != hosts[0] && n == 1;
	*r++ = SBL_MySquid() != getpid();
	*r++ = SBL_PageSize() - 4096;
	*r++ = SBL_WordSize() - 4;
	*r++ = ALLOWED;
	*r++ = SBL_ExportRecvBuf(words + 3 * WORDS, 1, 9, NULL, 0);
	*r++ = SBL_UnexportRecvBuf(2);
	*r++ = SBL_ImportRecvBuf(SBL_MyNode(), SBL_MySquid(), 2, &p, &n);
	*r++ = SBL_ImportRecvBufReq(SBL_MyNode(), SBL_MySquid(), 2, &p, &n, 0);
	*r++ = SBL_UnimportRecvBuf(back_at);
	*r++ = SBL_Map(words + 3 * WORDS, back_at, 1, 0);
	*r++ = SBL_AUMap(words + 3 * WORDS, back_at, 1, 0, AU_TimerWrite);
	*r++ = SBL_AUMap(words + 3 * WORDS, back_at, 1, 0, AU_Disable);
	*r++ = SBL_Unmap(words);
	*r++ = SBL_Importers(2, &n, &squids, &hosts);
	*r++ = SBL_UnblockNotifications();
	*r++ = REFUSED;
	note(where, what);
}
