// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl version - of this program, and of the module if that is loaded.
 */
#include <stdio.h>
#include <string.h>
#include <linux/dd.h>

#include "ddctl.h"
#include "module.h"

static int show(int argc, char **argv)
{
	int status = no_arguments(argc, argv);
	char module[MODULE_VERSION_SIZE];
	json_object *obj;

	if (status)
		return status;
	module_version(module);
	if (!options.json) {
		printf("ddctl   %s, ABI %d\n", DD_VERSION, DD_ABI_VERSION);
		printf("module  %s\n", *module ? module : "not loaded");
		return EXIT_OK;
	}
	obj = json_object_new_object();
	json_object_object_add(obj, "ddctl", json_object_new_string(DD_VERSION));
	json_object_object_add(obj, "abi", json_object_new_int(DD_ABI_VERSION));
	json_object_object_add(obj, "module",
			       *module ? json_object_new_string(module) : NULL);
	print_json(obj);
	return EXIT_OK;
}

static const struct command version = {
	.name = "version",
	.brief = "versions of this program and of the loaded module",
	.verbs = (const struct verb[]) {
		{ "", NULL, "show them", show },
		{ }
	},
};

COMMAND(version);
