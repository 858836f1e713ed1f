// SPDX-License-Identifier: GPL-2.0-only
/*
 * spawn - a chain of processes, each on the next node
 *
 *   spawn [LEVEL]	spawns itself with LEVEL - 1 (of 1), until that is 0
 *
 * Copyright (C) 2026 The dd authors
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vmmc.h>

/* The node of the session that follows this one, which is this one if there is no other. */
static vmmc_node_t next_node(void)
{
	vmmc_node_t *hosts;
	uint32 n, i = 0;
	vmmc_result_t code = vmmc_SessionHosts(&n, &hosts);

	if (code) {
		vmmc_Error(code, "hosts of the session");
		exit(1);
	}
	while (i < n && !vmmc_EqualNodes(hosts[i], vmmc_MyNode()))
		i++;
	return hosts[i < n ? (i + 1) % n : 0];
}

int main(int argc, char **argv)
{
	char *end = "", text[16], *args[] = { argv[0], text, NULL };
	long level = argc > 1 ? strtol(argv[1], &end, 10) : 1;
	vmmc_node_t node;
	vmmc_result_t code;
	vmmc_pid_t pid;

	if (argc > 2 || *end || level < 0 || level > 1000)
		errx(2, "usage: spawn [LEVEL]");
	printf("level %ld: process %d on %s\n", level, vmmc_MyPid(), vmmc_MyHostName());
	if (!level)
		return 0;
	snprintf(text, sizeof(text), "%ld", level - 1);
	node = next_node();
	code = vmmc_Spawn(argv[0], args, node, &pid);
	if (code) {
		vmmc_Error(code, "spawn");
		return 1;
	}
	printf("spawned process %d on %s\n", pid, vmmc_NodeToName(node));
	return 0;
}
