// SPDX-License-Identifier: GPL-2.0-only
/*
 * dd-echo-server - returns what it receives
 *
 * After the first sample program of the protocol's description.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "serve.h"

int main(int argc, char **argv)
{
	struct sample_options o = {
		.name = "echo",
		.connections = 2,
		.size = 2048,
		.ready_fd = 1,
		.sleep = true,
	};
	struct sample_service service = { .compose = compose_echo };

	sample_parse(&o, SAMPLE_SERVER, "Returns each request to its sender.",
		     argc, argv);
	service.name = o.name;
	sample_serve(&o, &service, 1);
	return 0;
}
