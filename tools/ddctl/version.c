// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl version - of this program, and of the module if it is loaded.
 */
#include <stdio.h>
#include <string.h>
#include <linux/dd_ddp.h>

#include "ddctl.h"

/* From /sys: also works when the family does not answer. */
const char *module_version(void)
{
	FILE *f = fopen("/sys/module/dd/version", "re");
	static char version[64];

	*version = '\0';
	if (!f)
		return version;
	if (fgets(version, sizeof(version), f))
		version[strcspn(version, "\n")] = '\0';
	fclose(f);
	return version;
}

static int show(int argc, char **argv)
{
	const char *module = module_version();
	json_object *obj;

	if (!options.json) {
		printf("ddctl   %s, ABI %d\n", DD_VERSION, DD_ABI_VERSION);
		printf("module  %s\n", *module ? module : "not loaded");
		return EXIT_OK;
	}
	obj = json_object_new_object();
	json_add(obj, "ddctl", json_str(DD_VERSION));
	json_add(obj, "abi", json_int(DD_ABI_VERSION));
	json_add(obj, "module", *module ? json_str(module) : NULL);
	print_json(obj);
	return EXIT_OK;
}

static const struct command version = {
	.name = "version",
	.brief = "versions of this program and of the loaded module",
	.verbs = (const struct verb[]) {
		{ "", NULL, "show them", .run = show },
		{ }
	},
};

COMMAND(version);
