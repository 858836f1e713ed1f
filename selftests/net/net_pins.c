// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that requests to another node have named by its address: it is pinned once, kept
 * pinned, and never taken for what is mapped at the address later. Run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define SEGMENT_LEN	BULK
#include "exporter.h"
#include "nodes.h"
#include "threads.h"

#define LEN	(64ul << 10)	/* of a request that pins */
#define SMALL	4096		/* of one that does not */
#define SECRET	0xee		/* bytes that are never at an address of a request */

/*
 * A mapping of its own: the kernel reports that all of the 2 MiB around its bounds has changed when
 * it splits a mapping. A pin of a page of a huge one keeps that whole.
 */
static char *map(size_t len)
{
	char *at = mmap(NULL, len + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || mprotect(at + PAGE, len, PROT_READ | PROT_WRITE))
		return MAP_FAILED;
	madvise(at + PAGE, len, MADV_NOHUGEPAGE);
	return at + PAGE;
}

static int map_at(char *at, size_t len)
{
	return mmap(at, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		    0) == at ? 0 : -1;
}

/* The bytes at @at do not change before the request is done. */
static int stable_put(const struct raw *r, const struct dd_import_make *i, const char *at,
		      size_t len)
{
	return mem_put(r, i, at, 0, len, DD_SQE_REGION);
}

/* Whether a request has succeeded, and its @len bytes are at both places: 0, or -1 and errno. */
static int arrived(FIXTURE_DATA(mem) *self, int submitted, const char *at, size_t len)
{
	if (submitted != 1)
		return -1;
	errno = result(self);
	if (errno)
		return -1;
	errno = EILSEQ;
	return memcmp(at, self->em.at, len) ? -1 : 0;
}

static int put_all(FIXTURE_DATA(mem) *self, const char *at, size_t len)
{
	memset(self->em.at, ~at[0], len);
	return arrived(self, stable_put(&self->im, &self->i, at, len), at, len);
}

static int get_all(FIXTURE_DATA(mem) *self, char *at, size_t len)
{
	memset(self->em.at, at[0] + 1, len);
	return arrived(self, get(self, at, 0, len), at, len);
}

/* Bytes of sources that were copied. */
static long long copied(void)
{
	return reported(1, "peer show 2", ".counters.tx_copied");
}

/* Bytes that the user has pinned. */
static long long used(FIXTURE_DATA(mem) *self)
{
	return memlock_used(&self->ex);
}

TEST_F(mem, a_repeated_request_neither_copies_nor_pins_again)
{
	char *at = map(2 * LEN);
	long long before = copied(), pinned, unpinned = used(self);
	int n;

	ASSERT_NE(MAP_FAILED, at);
	pattern(at, 2 * LEN, 0);
	ASSERT_OK(put_all(self, at + 100, LEN));
	pinned = used(self);
	EXPECT_LE(unpinned + (long long)LEN, pinned);
	for (n = 1; n < 20; n++) {
		pattern(at, 2 * LEN, n);
		/* All of it, parts of it, and the other way. */
		ASSERT_OK(put_all(self, at + 100, LEN));
		ASSERT_OK(put_all(self, at + 8 * n, LEN / 2));
		ASSERT_OK(get_all(self, at + 100, LEN));
		ASSERT_EQ(pinned, used(self));
	}
	EXPECT_EQ(before, copied());
	/* A few bytes, and bytes that may change when the call returns, are copied. */
	ASSERT_OK(put_all(self, at, SMALL));
	ASSERT_EQ(1, put(self, at + 100, 0, LEN, 0));
	ASSERT_EQ(0, result(self));
	EXPECT_EQ(before + SMALL + (long long)LEN, copied());
	/* What is unmapped is not kept. */
	munmap(at, PAGE);
	EXPECT_TRUE(WAIT_FOR(used(self) == unpinned));
	munmap(at, 2 * LEN);
}

/* What nothing uses is given up when the machine needs memory. */
TEST_F(mem, pins_are_given_up_to_reclaim)
{
	long long before = used(self);
	char *at = map(LEN);

	ASSERT_NE(MAP_FAILED, at);
	pattern(at, LEN, 0);
	ASSERT_OK(put_all(self, at, LEN));
	ASSERT_LT(before, used(self));
	ASSERT_EQ(0, system("echo 2 >/proc/sys/vm/drop_caches"));
	EXPECT_TRUE(WAIT_FOR(used(self) == before));
	ASSERT_OK(put_all(self, at, LEN));
	munmap(at, LEN);
}

/* Ways to replace what is mapped at an address. */
static int replace_by_mapping(char *at, char *spare)
{
	return map_at(at, LEN);
}

static int replace_by_a_move(char *at, char *spare)
{
	return mremap(at, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, spare) == spare ?
	       map_at(at, LEN) : -1;
}

static int replace_by_another(char *at, char *spare)
{
	return mremap(spare, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at ? 0 : -1;
}

static int drop(char *at, char *spare)
{
	return madvise(at, LEN, MADV_DONTNEED);
}

static int drop_a_page(char *at, char *spare)
{
	return madvise(at + LEN / 2, PAGE, MADV_DONTNEED);
}

static int drop_lazily(char *at, char *spare)
{
	return madvise(at, LEN, MADV_FREE);
}

static int protect_and_back(char *at, char *spare)
{
	return mprotect(at, LEN, PROT_READ) ?: mprotect(at, LEN, PROT_READ | PROT_WRITE);
}

/* The stores of the child, and later those of the parent, are to pages of their own. */
static int fork_and_store(char *at, char *spare)
{
	pid_t pid = fork_child();

	if (!pid) {
		memset(at, SECRET, LEN);
		_exit(0);
	}
	return wait_child(pid);
}

#define CHANGES	(sizeof(changes) / sizeof(changes[0]))
static int (*const changes[])(char *at, char *spare) = {
	replace_by_mapping, replace_by_a_move, replace_by_another, drop, drop_a_page, drop_lazily,
	protect_and_back, fork_and_store,
};

TEST_F(mem, an_address_means_what_is_mapped_there_now)
{
	size_t n, k;
	char *at, *spare;

	for (n = 0; n < CHANGES; n++) {
		at = map(LEN);
		spare = map(LEN);
		ASSERT_NE(MAP_FAILED, at);
		ASSERT_NE(MAP_FAILED, spare);
		pattern(at, LEN, n);
		pattern(spare, LEN, n + 100);
		ASSERT_OK(put_all(self, at, LEN));
		ASSERT_OK(get_all(self, spare, LEN));
		for (k = 0; k < 2; k++) {
			ASSERT_EQ(0, changes[n](at, spare)) {
				TH_LOG("change %zu", n);
			}
			EXPECT_EQ(0, put_all(self, at, LEN)) {
				TH_LOG("put after change %zu: errno %d", n, errno);
			}
			EXPECT_EQ(0, get_all(self, at, LEN)) {
				TH_LOG("get after change %zu: errno %d", n, errno);
			}
			spare = map(LEN);
			pattern(spare, LEN, n + 200);
			pattern(at, LEN, n + k);
			ASSERT_OK(put_all(self, at, LEN));
		}
		munmap(at, LEN);
		EXPECT_ERR(EFAULT, stable_put(&self->im, &self->i, at, LEN));
		munmap(spare, LEN);
	}
}

/* While a request is under way, its bytes are those that the address had when it was made. */
TEST_F(mem, a_request_keeps_the_bytes_that_it_was_made_for)
{
	char *at, *spare, *was = map(LEN);
	size_t n;

	ASSERT_NE(MAP_FAILED, was);
	ASSERT_EQ(0, dead_time(600000));
	pattern(was, LEN, 1);
	for (n = 0; n < CHANGES; n++) {
		at = map(LEN);
		spare = map(LEN);
		memset(spare, SECRET, LEN);
		memcpy(at, was, LEN);
		memset(self->em.at, 0, LEN);
		ASSERT_EQ(0, impair(1, "loss 100%"));
		ASSERT_EQ(1, stable_put(&self->im, &self->i, at, LEN));
		ASSERT_EQ(0, changes[n](at, spare));
		ASSERT_EQ(0, map_at(at, LEN));
		memset(at, SECRET, LEN);
		ASSERT_EQ(0, impair(1, NULL));
		ASSERT_EQ(0, result(self));
		EXPECT_EQ(0, memcmp(was, self->em.at, LEN)) {
			TH_LOG("change %zu", n);
		}
		/* Bytes that arrive now are not stored to what is there now. */
		ASSERT_OK(get_all(self, at, LEN));
		ASSERT_EQ(0, impair(1, "loss 100%"));
		ASSERT_EQ(1, get(self, at, 0, LEN));
		ASSERT_EQ(0, map_at(at, LEN));
		memset(at, SECRET, LEN);
		ASSERT_EQ(0, impair(1, NULL));
		ASSERT_EQ(0, result(self));
		EXPECT_EQ((char)SECRET, at[0]);
		EXPECT_EQ(0, memcmp(at, at + 1, LEN - 1));
		munmap(at, LEN);
	}
	ASSERT_EQ(0, dead_time(USUAL));
}

static char *map_file(int fd, int prot, int flags)
{
	return mmap(NULL, LEN, prot, flags, fd, 0);
}

TEST_F(mem, pages_of_a_file_are_used_while_they_are_in_it)
{
	int fd = memfd_create("pins", MFD_CLOEXEC);
	long long before = copied();
	char *at, *private, *read_only;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, LEN));
	at = map_file(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
	private = map_file(fd, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	read_only = map_file(fd, PROT_READ, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, at);
	ASSERT_NE(MAP_FAILED, private);
	ASSERT_NE(MAP_FAILED, read_only);
	pattern(at, LEN, 1);
	ASSERT_OK(put_all(self, at, LEN));
	EXPECT_EQ(before, copied());
	/* A hole, and the end of the file, which may grow again. */
	ASSERT_EQ(0, fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE, 2 * PAGE));
	ASSERT_OK(put_all(self, at, LEN));
	EXPECT_EQ(0, self->em.at[PAGE + 5]);
	pattern(at, LEN, 2);
	ASSERT_OK(put_all(self, at, LEN));
	ASSERT_EQ(0, ftruncate(fd, PAGE));
	EXPECT_ERR(EFAULT, stable_put(&self->im, &self->i, at, LEN));
	ASSERT_EQ(0, ftruncate(fd, LEN));
	ASSERT_OK(put_all(self, at, LEN));
	EXPECT_EQ(before, copied());
	/* Others are copied: pins would copy private pages for good, or make pages writable. */
	pattern(at, LEN, 3);
	ASSERT_OK(put_all(self, private, LEN));
	ASSERT_OK(put_all(self, read_only, LEN));
	EXPECT_EQ(before + 2 * (long long)LEN, copied());
	pattern(at, LEN, 4);
	EXPECT_EQ(0, memcmp(at, private, LEN));
	ASSERT_OK(put_all(self, private, LEN));
	EXPECT_ERR(EFAULT, get(self, read_only, 0, LEN));
	close(fd);
}

/* ---- limits ------------------------------------------------------------------ */

#define LIMIT	(8ul << 20)
#define PART	(3 * BULK)	/* of which two fit */

/* What a child does as a user of its own, and what the parent does meanwhile. */
struct user {
	const struct dd_segment_make *s;
	struct raw r, other;
	struct dd_import_make i;
	volatile int *step;
	long long unpinned;
	char *at[3];
};

static void user_limit(rlim_t bytes)
{
	const struct rlimit l = { bytes, LIMIT };

	CHILD_CHECK(setrlimit(RLIMIT_MEMLOCK, &l) == 0);
}

static void user_import(struct user *u)
{
	CHILD_CHECK(raw_open(&u->r) == 0);
	CHILD_CHECK(import(&u->r, u->s, DD_RIGHT_PUT, 0, &u->i) == 0);
}

static void user_start(struct user *u, uid_t uid)
{
	int n;

	user_limit(LIMIT);
	CHILD_CHECK(become_user(uid) == 0);
	CHILD_CHECK(raw_open(&u->other) == 0);
	user_import(u);
	u->unpinned = memlock_used(&u->other);
	for (n = 0; n < 3; n++) {
		u->at[n] = map(PART);
		CHILD_CHECK(u->at[n] != MAP_FAILED);
		memset(u->at[n], n, PART);
	}
}

static void user_put(struct user *u, int n)
{
	struct dd_mem_state *cs = raw_unit(&u->r, u->i.state_unit);
	__u64 last;

	CHILD_CHECK(stable_put(&u->r, &u->i, u->at[n], PART) == 1);
	last = cs->cs.submitted;
	CHILD_CHECK(wait_done(&u->r, &u->i, last) == 0 && !cs->result[last % DD_RESULTS]);
	CHILD_CHECK(memlock_used(&u->other) <= (long long)LIMIT);
}

static bool user_has(struct user *u, int parts)
{
	return WAIT_FOR(memlock_used(&u->other) - u->unpinned == (long long)parts * PART);
}

/* What was used last stays, whatever was pinned first. */
static void user_uses_in_turn(struct user *u)
{
	user_put(u, 0);
	user_put(u, 1);
	CHILD_CHECK(user_has(u, 2));
	user_put(u, 0);
	user_put(u, 2);
	CHILD_CHECK(user_has(u, 2));
	munmap(u->at[0], PART);
	CHILD_CHECK(user_has(u, 1));
	munmap(u->at[1], PART);
	CHILD_CHECK(user_has(u, 1));
	munmap(u->at[2], PART);
	CHILD_CHECK(user_has(u, 0));
}

/* Other memory of the user, also of another context, comes first. */
static void user_needs_memory(struct user *u)
{
	const struct raw *contexts[] = { &u->r, &u->other };
	struct mem m;
	int n;

	for (n = 0; n < 2; n++) {
		user_put(u, 0);
		user_put(u, 1);
		CHILD_CHECK(raw_alloc(contexts[n], 2 * PART, &m) == 0);
		CHILD_CHECK(memlock_used(&u->other) - u->unpinned == 2 * PART);
		CHILD_ERR(EDQUOT, stable_put(&u->r, &u->i, u->at[0], PART));
		CHILD_CHECK(raw_free(contexts[n], &m) == 0);
	}
	CHILD_CHECK(user_has(u, 0));
}

/* From here on the other node is not reached, until @step is 3. */
static void user_cuts(struct user *u)
{
	*u->step = 1;
	CHILD_CHECK(WAIT_FOR(*u->step == 2));
}

/* What requests use stays until they are done. */
static void user_has_requests(struct user *u)
{
	struct mem m;

	user_put(u, 0);
	user_cuts(u);
	CHILD_CHECK(stable_put(&u->r, &u->i, u->at[0], PART) == 1);
	CHILD_ERR(EDQUOT, raw_alloc(&u->r, 2 * PART, &m));
	*u->step = 3;
	CHILD_CHECK(wait_done(&u->r, &u->i, 2) == 0);
	CHILD_CHECK(WAIT_FOR(raw_alloc(&u->r, 2 * PART, &m) == 0));
}

static int user_copy(struct user *u)
{
	return mem_put(&u->r, &u->i, u->at[0], 0, PART, 0);
}

/* Sources that may change are copied, and two copies fit. Others wait for them to be done. */
static void user_has_copies(struct user *u)
{
	const struct dd_conn_state *cs;
	struct mem m;
	__u64 done;
	int n = 0;

	user_cuts(u);
	while (n < 3 && user_copy(u) == 1)
		n++;
	CHILD_CHECK(n == 2 && errno == EBUSY);
	CHILD_CHECK(memlock_used(&u->other) >= u->unpinned + 2 * PART);
	CHILD_ERR(EDQUOT, raw_alloc(&u->other, PART, &m));
	raw_close(&u->r);
	CHILD_CHECK(memlock_used(&u->other) <= u->unpinned);
	*u->step = 3;
	user_import(u);
	cs = raw_state(&u->r, u->i.state_unit);
	for (n = 0; n < 20; n++)
		/* Read before the call: a request that it refuses waits for the next one. */
		while (done = *(volatile __u64 *)&cs->done, user_copy(u) != 1) {
			CHILD_CHECK(errno == EBUSY);
			CHILD_CHECK(wait_done(&u->r, &u->i, done + 1) == 0);
		}
	CHILD_CHECK(wait_done(&u->r, &u->i, n) == 0);
	CHILD_CHECK(raw_alloc(&u->r, 2 * PART, &m) == 0);
	/* Nothing is under way, and the request does not fit. */
	CHILD_ERR(EDQUOT, user_copy(u));
	CHILD_CHECK(raw_free(&u->r, &m) == 0);
	CHILD_CHECK(user_copy(u) == 1);
	CHILD_CHECK(wait_done(&u->r, &u->i, n + 1) == 0);
	user_limit(PART / 2);
	CHILD_ERR(EDQUOT, user_copy(u));
}

TEST_F(mem, pins_and_copies_never_hold_what_the_user_needs)
{
	static void (*const uses[])(struct user *u) = {
		user_uses_in_turn, user_needs_memory, user_has_requests, user_has_copies,
	};
	struct user u = { .step = shared_memory(sizeof(*u.step)) };
	struct dd_segment_make s;
	long long before = copied();
	struct mem large;
	size_t n;
	pid_t pid;

	ASSERT_EQ(0, dead_time(600000));
	ASSERT_OK(raw_alloc(&self->ex, PART, &large));
	s = mem_segment(&large, "limited");
	ASSERT_OK(mem_export(&self->ex, &s));
	u.s = &s;
	for (n = 0; n < 4; n++) {
		*u.step = 0;
		pid = fork_child();
		if (!pid) {
			user_start(&u, lone_user());
			uses[n](&u);
			_exit(0);
		}
		ASSERT_LT(0, pid);
		if (n >= 2) {
			EXPECT_TRUE(WAIT_FOR(*u.step == 1));
			ASSERT_EQ(0, impair(1, "loss 100%"));
			*u.step = 2;
			EXPECT_TRUE(WAIT_FOR(*u.step == 3));
			ASSERT_EQ(0, impair(1, NULL));
		}
		ASSERT_CHILD_OK(pid);
		if (n < 3)
			EXPECT_EQ(before, copied());
	}
	ASSERT_EQ(0, dead_time(USUAL));
}

/* ---- changes at any time ------------------------------------------------------ */

#define SCRATCH	(32 * PAGE)

struct changer {
	char *at, *to;		/* where requests read from, and store to */
	unsigned int seed;
};

/* Pages that others have given up get the secret, which no request may send or change. */
static bool reuse_pages(void)
{
	char *scratch = map(SCRATCH);
	bool kept = scratch != MAP_FAILED;

	if (!kept)
		return false;
	memset(scratch, SECRET, SCRATCH);
	sched_yield();
	kept = scratch[0] == (char)SECRET && !memcmp(scratch, scratch + 1, SCRATCH - 1);
	munmap(scratch, SCRATCH);
	return kept;
}

/* Change one of both; false if bytes have arrived in other memory. */
static bool change(void *arg)
{
	struct changer *c = arg;
	char *at = rand_r(&c->seed) & 1 ? c->at : c->to, *spare = map(LEN);

	changes[rand_r(&c->seed) % CHANGES](at, spare);
	munmap(spare, LEN);
	memset(at, 1 + rand_r(&c->seed) % 100, LEN);
	errno = EILSEQ;
	return reuse_pages();
}

/* Requests may fail while nothing is mapped, or memory is read-only; else they succeed. */
static const char *request_and_check(FIXTURE_DATA(mem) *self, struct changer *c)
{
	if (stable_put(&self->im, &self->i, c->at, LEN) != 1 ? errno != EFAULT : result(self))
		return "a put failed";
	if (memchr(self->em.at, SECRET, LEN))
		return "bytes of other memory were sent";
	memset(self->em.at, 7, LEN);
	if (get(self, c->to, 0, LEN) != 1 ? errno != EFAULT : result(self))
		return "a get failed";
	return NULL;
}

/* Packets are lost, so that some requests last longer than others. */
TEST_F(mem, memory_is_changed_at_any_time)
{
	struct changer c = { .at = map(LEN), .to = map(LEN), .seed = dd_seed(_metadata) };
	const char *wrong = NULL;
	int rounds = dd_count(500);
	struct loop l;

	memset(self->em.at, 0, LEN);
	ASSERT_EQ(0, impair_both("loss 1%"));
	ASSERT_TRUE(loop_begin(&l, change, &c));
	while (rounds-- && !wrong)
		wrong = request_and_check(self, &c);
	EXPECT_EQ(NULL, wrong) {
		TH_LOG("%s, errno %d", wrong, errno);
	}
	/* EILSEQ: bytes have arrived in other memory. */
	EXPECT_EQ(0, loop_end(&l));
	ASSERT_EQ(0, impair_both(NULL));
	pattern(c.at, LEN, 9);
	EXPECT_EQ(0, put_all(self, c.at, LEN));
	EXPECT_EQ(0, get_all(self, c.to, LEN));
}

/* The context of a process that has ended keeps no pins. */
TEST_F(mem, the_end_of_a_process_ends_its_pins)
{
	long long before = used(self);
	struct dd_import_make i;
	struct raw r;
	char *at;
	int ready, n;
	pid_t pid;

	for (n = 0; n < dd_count(20); n++) {
		pid = fork_until_report(&ready);
		if (!pid) {
			at = map(LEN);
			CHILD_CHECK(raw_open(&r) == 0);
			CHILD_CHECK(import(&r, &self->s, DD_RIGHT_PUT, 0, &i) == 0);
			CHILD_CHECK(stable_put(&r, &i, at, LEN) == 1);
			child_report(ready);
			while (n & 1 || !raw_conn_wait(&r, i.import, DD_WAIT_DONE, 1, SECOND))
				stable_put(&r, &i, at + 8 * (n & 7), LEN / 2);
			_exit(0);
		}
		ASSERT_LT(0, pid);
		kill_child(pid);
		EXPECT_TRUE(WAIT_FOR(used(self) == before));
	}
}

DD_TEST_MAIN
