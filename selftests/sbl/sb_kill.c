// SPDX-License-Identifier: LGPL-2.1-only
/*
 * sb_kill.c - SBL: what a process does with an import until it is killed
 *
 * It maps memory, sends, stores, notifies and ends the mapping.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "buffer_kill.h"

static Int32 mapped[PAGES * WORDS] __attribute__((aligned(PAGE)));

static int step(Int32 *at, int what)
{
	switch (what % 4) {
	case 0:
		return SBL_SendMsg(words, at, 1 + what % WORDS);
	case 1:
		return SBL_SendMsgWithNotify(words, at + 1, 1);
	default:
		store(mapped + what % (PAGES * WORDS), what);
		return SBL_Success;
	}
}

int use(Int32 *at, int steps)
{
	int code = SBL_Map(mapped, at, PAGES * WORDS, steps % 2), end;

	if (code)
		return code;
	while (steps-- > 0 && !code)
		code = step(at, rand());
	end = SBL_Unmap(mapped);
	return code ? code : end;
}
