// SPDX-License-Identifier: GPL-2.0-only
/*
 * dd-two-services - echo and reverse, one note list, one loop
 *
 * After the second sample program of the protocol's description: requests to
 * either service arrive by one ddrecv(), told apart by their servid.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "serve.h"

int main(int argc, char **argv)
{
	struct sample_options o = {
		.name = "echo",
		.name2 = "reverse",
		.connections = 2,
		.size = 2048,
		.ready_fd = 1,
		.sleep = true,
	};
	struct sample_service services[] = {
		{ .compose = compose_echo },
		{ .compose = compose_reverse },
	};

	sample_parse(&o, SAMPLE_SERVER,
		     "Returns requests as they are, or back to front.",
		     argc, argv);
	services[0].name = o.name;
	services[1].name = o.name2;
	sample_serve(&o, services, 2);
	return 0;
}
