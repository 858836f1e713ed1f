// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads dd.ko with its n-th allocation failing, for each n of its initialisation. A load
 * that has failed leaves nothing, and the next one succeeds. Needs root, a module that is
 * not in use, and a kernel with fault injection.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include "inject.h"

/* The device's owner and mode, which a load does not restore. */
FIXTURE(module) {
	int fd;
	struct stat dev;
};

static bool loaded(void)
{
	return !access("/sys/module/dd", F_OK);
}

static bool load(int fd, const char *parameters)
{
	return !syscall(SYS_finit_module, fd, parameters, 0);
}

/* A worker may end the last use some time after its process has exited. */
static bool unload(void)
{
	return WAIT_FOR(!syscall(SYS_delete_module, "dd", O_NONBLOCK));
}

FIXTURE_SETUP(module)
{
	struct utsname name;
	char path[300];

	if (!inject_ready())
		DD_SKIP("no fault injection in this kernel");
	uname(&name);
	snprintf(path, sizeof(path), "/lib/modules/%s/extra/dd.ko", name.release);
	self->fd = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, stat("/dev/dd", &self->dev));
	ASSERT_TRUE(unload());
}

FIXTURE_TEARDOWN(module)
{
	if (!loaded())
		EXPECT_TRUE(load(self->fd, ""));
	EXPECT_EQ(0, chown("/dev/dd", self->dev.st_uid, self->dev.st_gid));
	EXPECT_EQ(0, chmod("/dev/dd", self->dev.st_mode & 07777));
	close(self->fd);
}

TEST_F(module, a_load_that_fails_leaves_nothing)
{
	int n, first, failures = 0;
	bool hit, ok;

	/*
	 * A bad parameter ends a load before the module's initialisation. Failures before
	 * that are not dd's, and Linux 6.1 warns of some.
	 */
	inject_arm(INJECT_NTH, INJECT_LIMIT);
	ok = load(self->fd, "rx_budget=x");
	first = inject_count(INJECT_LIMIT) + 1;
	ASSERT_FALSE(ok);
	for (n = first;; n++) {
		inject_arm(INJECT_NTH, n);
		ok = load(self->fd, "");
		hit = inject_disarm(INJECT_NTH);
		if (ok) {
			ASSERT_EQ(0, access("/dev/dd", F_OK));
			ASSERT_TRUE(unload());
			if (!hit)
				break;
			continue;
		}
		failures++;
		ASSERT_TRUE(hit) {
			TH_LOG("errno %d without a failure", errno);
		}
		ASSERT_FALSE(loaded()) {
			TH_LOG("failure %d", n);
		}
		ASSERT_NE(0, access("/dev/dd", F_OK));
	}
	TH_LOG("%d of %d failures end a load", failures, n - first);
	EXPECT_LE(50, failures);
}

DD_TEST_MAIN
