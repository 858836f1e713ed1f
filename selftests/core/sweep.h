/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sweep of injected failures over paths: each run of a path has a stage of its own. A
 * program includes this after its struct stage, what its paths work on, and implements
 * the four functions below.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_SWEEP_H
#define DD_SWEEP_H

#include "dd_harness.h"
#include "inject.h"

/* The functions return 0, or -1 with errno. */
struct path {
	int (*before)(struct stage *t);
	int (*run)(struct stage *t);
	int (*after)(struct stage *t);	/* what it cannot end has ended */
	int least, far;		/* failures that must have been possible; between nodes */
	bool never_fails;	/* the end of an object must not need memory */
	int repeated;		/* errno of a repetition, if only the answer was lost */
	enum inject first, last;	/* of the kinds; 0 and 0: all in the task */
};

static void stage_open(struct stage *t);
static void stage_close(struct stage *t);
/* Whether a path may fail with @err when a failure is injected. */
static bool expected(const struct path *path, int err);
/* Whether a path that has failed succeeds now. */
static bool repeat(const struct path *path, struct stage *t);

/* Pages that may stay with the contexts, whether the call succeeded or not. */
#define AREA_PAGES	32

/* One run with failure @n; returns whether that was met. */
static bool run_once(const struct path *path, const struct raw *audit, enum inject how, int n)
{
	long long before = memlock_used(audit), most;
	struct stage t = { };
	int err, ret;
	bool hit;

	stage_open(&t);
	most = memlock_used(audit) + AREA_PAGES * PAGE;
	CHILD_CHECK(!path->before || path->before(&t) == 0);
	errno = 0;
	inject_arm(how, n);
	ret = path->run(&t);
	err = errno;
	hit = inject_disarm(how);
	if (ret && (!hit || !expected(path, err) || path->never_fails))
		inject_failed(how, n, "errno %d", err);
	errno = 0;
	if (ret && !repeat(path, &t))
		inject_failed(how, n, "errno %d, and then errno %d", err, errno);
	if (path->after)
		path->after(&t);
	if (!WAIT_FOR(memlock_used(audit) <= most))
		inject_failed(how, n, "%lld bytes are left after the call",
			      memlock_used(audit) - most);
	stage_close(&t);
	if (!WAIT_FOR(memlock_used(audit) == before))
		inject_failed(how, n, "%lld bytes are left after the close",
			      memlock_used(audit) - before);
	return hit;
}

/* @least failures must have been possible; @as_user: by a user without most capabilities. */
static void sweep(struct __test_metadata *_metadata, const struct path *path, int least,
		  bool as_user)
{
	int *runs = shared_memory(sizeof(*runs)), n;
	enum inject how, last = path->last ?: INJECT_COPY;
	struct raw audit;

	IN_CHILD {
		/* The file belongs to the task that opened it. */
		CHILD_CHECK(inject_ready());
		if (as_user) {
			CHILD_CHECK(prctl(PR_SET_KEEPCAPS, 1) == 0);
			CHILD_CHECK(become_user(lone_user()) == 0);
			CHILD_CHECK(inject_keep());
		}
		CHILD_CHECK(raw_open(&audit) == 0);
		for (how = path->first; how <= last; how++)
			for (n = 1; run_once(path, &audit, how, n); n = inject_next(how, n))
				++*runs;
	}
	TH_LOG("%d failures", *runs);
	EXPECT_LE(least, *runs);
}

/* Each program defines check_path(), which calls sweep(). */
#define PATH(name, ...)							\
TEST(failures_##name)						\
{									\
	static const struct path path = { __VA_ARGS__ };		\
									\
	check_path(_metadata, &path);					\
}

#endif /* DD_SWEEP_H */
