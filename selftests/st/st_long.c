// SPDX-License-Identifier: LGPL-2.1-only
/*
 * st_long.c - ST: what takes ten seconds. Run on one node
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdio.h>

#include "pair.h"

/* A close waits for a peer that does not read, but not longer than twice the dead time of a node. */
TEST(ST_28_a_close_ends_without_the_peer)
{
	st_header_t h = header(ST_OP_NOP);
	double begun, took;
	st_chandle_t c = ends_new(0);

	OK(o_set(0, ST_OPT_RX_WINDOW_LOCAL, 4));
	join(c, 0);
	/* One more than the window is accepted. */
	for (int i = 0; i < 5; i++)
		OK(st_tx(&c, &h, NULL, 0, 0, 0));
	begun = st_time();
	OK(st_close(c));
	took = st_time() - begun;
	printf("# %.1f s\n", took);
	check(took > 4 && took < 30);
	/* What was inside the window is there. */
	for (int i = 0; i < 4; i++)
		OK(o_rx(0, &h, NULL, -1));
	ends_delete(c, 0);
}
