// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that requests to another node have named by its address: it is pinned once, kept
 * pinned, and never taken for what is mapped at the address later. Run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "net_mem.h"
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

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

/* Put @len bytes and compare what has arrived: 0, or -1 and errno. */
static int put_all(FIXTURE_DATA(far) *self, const char *at, size_t len)
{
	int err;

	memset(self->em.at, ~at[0], len);
	if (stable_put(&self->im, &self->i, at, len) != 1)
		return -1;
	err = result(self);
	errno = err ?: EILSEQ;
	return err || memcmp(at, self->em.at, len) ? -1 : 0;
}

static int get_all(FIXTURE_DATA(far) *self, char *at, size_t len)
{
	int err;

	memset(self->em.at, at[0] + 1, len);
	if (get(self, at, 0, len) != 1)
		return -1;
	err = result(self);
	errno = err ?: EILSEQ;
	return err || memcmp(at, self->em.at, len) ? -1 : 0;
}

/* Bytes of sources that were copied. */
static long long copied(void)
{
	return reported("dd1", "peer show 2", ".counters.\"tx_copied\"");
}

/* Bytes that the user has pinned. */
static long long used(FIXTURE_DATA(far) *self)
{
	return memlock_used(&self->ex);
}

TEST_F(far, a_repeated_request_neither_copies_nor_pins_again)
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
TEST_F(far, pins_are_given_up_to_reclaim)
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

static int (*const changes[])(char *at, char *spare) = {
	replace_by_mapping, replace_by_a_move, replace_by_another, drop, drop_a_page, drop_lazily,
	protect_and_back, fork_and_store,
};

TEST_F(far, an_address_means_what_is_mapped_there_now)
{
	size_t n, k;
	char *at, *spare;

	for (n = 0; n < sizeof(changes) / sizeof(changes[0]); n++) {
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
TEST_F(far, a_request_keeps_the_bytes_that_it_was_made_for)
{
	char *at, *spare, *was = map(LEN);
	size_t n;

	ASSERT_NE(MAP_FAILED, was);
	ASSERT_EQ(0, dead_time(600000));
	pattern(was, LEN, 1);
	for (n = 0; n < sizeof(changes) / sizeof(changes[0]); n++) {
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
	ASSERT_EQ(0, dead_time(5000));
}

static char *map_file(int fd, int prot, int flags)
{
	return mmap(NULL, LEN, prot, flags, fd, 0);
}

TEST_F(far, pages_of_a_file_are_used_while_they_are_in_it)
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
	struct raw r, other;
	struct dd_import_make i;
	volatile int *step;
	long long unpinned;
	char *at[3];
};

static void user_start(struct user *u, const struct dd_segment_make *s, uid_t uid)
{
	const struct rlimit l = { LIMIT, LIMIT };
	int n;

	CHILD_CHECK(setrlimit(RLIMIT_MEMLOCK, &l) == 0);
	CHILD_CHECK(become_user(uid) == 0);
	CHILD_CHECK(raw_open(&u->r) == 0 && raw_open(&u->other) == 0);
	CHILD_CHECK(import(&u->r, s, DD_RIGHT_PUT, 0, &u->i) == 0);
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

/* Other memory of the user, also of another context or process, comes first. */
static void user_needs_memory(struct user *u)
{
	struct mem m;
	pid_t pid;

	user_put(u, 0);
	user_put(u, 1);
	CHILD_CHECK(raw_alloc(&u->r, 2 * PART, &m) == 0);
	CHILD_CHECK(memlock_used(&u->other) - u->unpinned == 2 * PART);
	CHILD_ERR(EDQUOT, stable_put(&u->r, &u->i, u->at[0], PART));
	CHILD_CHECK(raw_free(&u->r, &m) == 0);
	user_put(u, 0);
	user_put(u, 1);
	CHILD_CHECK(raw_alloc(&u->other, 2 * PART, &m) == 0);
	CHILD_CHECK(raw_free(&u->other, &m) == 0);
	user_put(u, 0);
	user_put(u, 1);
	pid = fork_child();
	if (!pid) {
		CHILD_CHECK(raw_open(&u->other) == 0);
		CHILD_CHECK(raw_alloc(&u->other, 2 * PART, &m) == 0);
		_exit(0);
	}
	CHILD_CHECK(wait_child(pid) == 0);
	CHILD_CHECK(user_has(u, 0));
}

/* What requests use stays until they are done. */
static void user_has_requests(struct user *u)
{
	struct mem m;

	user_put(u, 0);
	*u->step = 1;
	CHILD_CHECK(WAIT_FOR(*u->step == 2));
	CHILD_CHECK(stable_put(&u->r, &u->i, u->at[0], PART) == 1);
	CHILD_ERR(EDQUOT, raw_alloc(&u->r, 2 * PART, &m));
	*u->step = 3;
	CHILD_CHECK(wait_done(&u->r, &u->i, 2) == 0);
	CHILD_CHECK(WAIT_FOR(raw_alloc(&u->r, 2 * PART, &m) == 0));
}

TEST_F(far, pins_never_hold_what_the_user_needs)
{
	void (*const uses[])(struct user *u) = { user_uses_in_turn, user_needs_memory,
						 user_has_requests };
	volatile int *step = shared_memory(sizeof(*step));
	struct user u = { .step = step };
	struct dd_segment_make s;
	long long before = copied();
	struct mem large;
	size_t n;
	pid_t pid;

	ASSERT_EQ(0, dead_time(600000));
	ASSERT_OK(raw_alloc(&self->ex, PART, &large));
	s = mem_segment(&large, "limited");
	ASSERT_OK(mem_export(&self->ex, &s));
	for (n = 0; n < 3; n++) {
		pid = fork_child();
		if (!pid) {
			user_start(&u, &s, lone_user());
			uses[n](&u);
			_exit(0);
		}
		ASSERT_LT(0, pid);
		if (n == 2) {
			EXPECT_TRUE(WAIT_FOR(*step == 1));
			ASSERT_EQ(0, impair(1, "loss 100%"));
			*step = 2;
			EXPECT_TRUE(WAIT_FOR(*step == 3));
			ASSERT_EQ(0, impair(1, NULL));
		}
		ASSERT_CHILD_OK(pid);
	}
	EXPECT_EQ(before, copied());
	ASSERT_EQ(0, dead_time(5000));
}

/* ---- changes at any time ------------------------------------------------------ */

#define SCRATCH	(32 * PAGE)

struct changer {
	char *at, *to;		/* where requests read from, and store to */
	volatile bool stop;
	unsigned int seed;
	const char *wrong;
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

static void change(struct changer *c, char *at)
{
	char *aside = map(LEN);
	pid_t pid;

	switch (rand_r(&c->seed) % 6) {
	case 0:
		map_at(at, LEN);
		break;
	case 1:
		madvise(at + PAGE * (rand_r(&c->seed) % 8), PAGE * 8, MADV_DONTNEED);
		break;
	case 2:
		mremap(at, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, aside);
		map_at(at, LEN);
		break;
	case 3:
		mprotect(at, LEN, PROT_READ);
		mprotect(at, LEN, PROT_READ | PROT_WRITE);
		break;
	case 4:
		pid = fork();
		if (!pid) {
			memset(at, SECRET, LEN);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		break;
	default:
		break;
	}
	munmap(aside, LEN);
	memset(at, 1 + rand_r(&c->seed) % 100, LEN);
}

static void *changer(void *arg)
{
	struct changer *c = arg;

	while (!c->stop && !c->wrong) {
		change(c, rand_r(&c->seed) & 1 ? c->at : c->to);
		if (!reuse_pages())
			c->wrong = "bytes arrived in other memory";
	}
	return NULL;
}

/* Requests may fail while nothing is mapped, or memory is read-only; else they succeed. */
static const char *request_and_check(FIXTURE_DATA(far) *self, struct changer *c)
{
	if (stable_put(&self->im, &self->i, c->at, LEN) != 1 ? errno != EFAULT : result(self))
		return "a put failed";
	if (memchr(self->em.at, SECRET, LEN))
		return "bytes of other memory were sent";
	memset(self->em.at, 7, LEN);
	if (get(self, c->to, 0, LEN) != 1 ? errno != EFAULT : result(self))
		return "a get failed";
	return c->wrong;
}

static void change_and_request(struct __test_metadata *_metadata, FIXTURE_DATA(far) *self,
			       int rounds)
{
	struct changer c = { .at = map(LEN), .to = map(LEN), .seed = dd_seed(_metadata) };
	const char *wrong = NULL;
	pthread_t thread;

	memset(self->em.at, 0, LEN);
	ASSERT_EQ(0, pthread_create(&thread, NULL, changer, &c));
	while (rounds-- && !wrong)
		wrong = request_and_check(self, &c);
	c.stop = true;
	pthread_join(thread, NULL);
	EXPECT_EQ(NULL, wrong) {
		TH_LOG("%s, errno %d", wrong, errno);
	}
	pattern(c.at, LEN, 9);
	EXPECT_EQ(0, put_all(self, c.at, LEN));
	EXPECT_EQ(0, get_all(self, c.to, LEN));
}

TEST_F(far, memory_is_changed_at_any_time)
{
	change_and_request(_metadata, self, dd_count(1000));
}

TEST_F(far, memory_is_changed_at_any_time_and_packets_are_lost)
{
	ASSERT_EQ(0, impair(1, "loss 1%"));
	ASSERT_EQ(0, impair(2, "loss 1%"));
	change_and_request(_metadata, self, dd_count(300));
	ASSERT_EQ(0, lose_none());
}

/* The context of a process that has ended keeps no pins. */
TEST_F(far, the_end_of_a_process_ends_its_pins)
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
