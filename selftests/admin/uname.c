// SPDX-License-Identifier: GPL-2.0-only
/*
 * For LD_PRELOAD: uname() of a kernel that the environment names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

int uname(struct utsname *u)
{
	const char *release = getenv("UNAME_RELEASE");
	const char *version = getenv("UNAME_VERSION");

	*u = (struct utsname) { .sysname = "Linux" };
	snprintf(u->release, sizeof(u->release), "%s", release ? release : "");
	snprintf(u->version, sizeof(u->version), "%s", version ? version : "");
	return 0;
}
