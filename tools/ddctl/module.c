// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module as /sys shows it.
 */
#include <stdio.h>
#include <string.h>

#include "module.h"

void module_version(char version[MODULE_VERSION_SIZE])
{
	FILE *f = fopen("/sys/module/dd/version", "re");

	*version = '\0';
	if (!f)
		return;
	if (fgets(version, MODULE_VERSION_SIZE, f))
		version[strcspn(version, "\n")] = '\0';
	fclose(f);
}
