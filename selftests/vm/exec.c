// SPDX-License-Identifier: GPL-2.0-only
/*
 * A function for makefiles: $(exec COMMAND) turns make into the shell's
 * COMMAND, so that its exit status is make's.
 */
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include <gnumake.h>

int plugin_is_GPL_compatible;
int exec_gmk_setup(void);

static char *become(const char *name, unsigned int argc, char **argv)
{
	struct rlimit stack;

	(void)name;
	(void)argc;
	/* make has raised its own stack limit */
	if (!getrlimit(RLIMIT_STACK, &stack) && stack.rlim_cur > 8 << 20) {
		stack.rlim_cur = 8 << 20;
		setrlimit(RLIMIT_STACK, &stack);
	}
	execl("/bin/sh", "sh", "-c", argv[0], (char *)NULL);
	return NULL;
}

int exec_gmk_setup(void)
{
	gmk_add_function("exec", become, 1, 1, GMK_FUNC_DEFAULT);
	return 1;
}
