// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program that uses the installed headers and library, in C and C++. Without the
 * module the library reports that the device cannot be opened.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <dd.h>
#include <fedex.h>
#include <linux/dd_ddp.h>

int main(int argc, char **argv)
{
	struct dd *h = NULL;
	int rc = dd_open(&h);

	/* Compares the version of the library with its argument. */
	if (argc > 1)
		return strcmp(argv[1], dd_version()) != 0;
	if (!rc)
		dd_shutdown(h);
	if (strlen(dd_strerror(ENOCMP)) == 0)
		return 1;
	printf("%s %d\n", rc ? dd_strerror(rc) : "open", ddmynode());
	return sizeof(struct dd_sqe) != 64;
}
