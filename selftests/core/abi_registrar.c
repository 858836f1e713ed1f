// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registrar of a node: exports, imports and ends of class DD_SEGMENT_REGISTERED.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include "dd_harness.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "mem.h"

/* What a thread asks for: an export, or an import of its name. */
struct asker {
	struct raw *raw;
	struct dd_segment_make s;
	struct dd_import_make i;
	__u32 flags;
	int err;
	pthread_t thread;
	bool import;
	bool over;
};

FIXTURE(registrar) {
	struct raw clerk, ex, im;
	struct mem em;
	struct asker a;
	int fd;
	__u32 node;
	void *nowhere;
};

static int registrar(const struct raw *r)
{
	int fd = raw_op(r, DD_IOC_REGISTRAR, 0);

	if (fd >= 0)
		fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

FIXTURE_SETUP(registrar)
{
	struct dd_info info = { .size = sizeof(info) };

	self->nowhere = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->nowhere);
	ASSERT_OK(raw_open(&self->clerk));
	ASSERT_OK(raw_start(&self->ex, MEM_LEN, &self->em));
	ASSERT_OK(raw_open(&self->im));
	ASSERT_OK(raw_ioctl(&self->ex, DD_IOC_INFO, &info));
	self->node = info.node;
	self->fd = registrar(&self->clerk);
	ASSERT_LE(0, self->fd);
	self->a.raw = &self->ex;
	self->a.s = mem_segment(&self->em, "abi_registrar");
	self->a.s.key_class = DD_SEGMENT_REGISTERED;
}

FIXTURE_TEARDOWN(registrar)
{
	close(self->fd);
	raw_close(&self->im);
	raw_close(&self->ex);
	raw_close(&self->clerk);
}

static void *ask(void *arg)
{
	struct asker *a = arg;
	int err;

	if (a->import)
		err = mem_import_flags(a->raw, &a->s, DD_RIGHT_PUT, a->flags, 0, &a->i);
	else
		err = mem_export(a->raw, &a->s);
	a->err = err ? errno : 0;
	__atomic_store_n(&a->over, true, __ATOMIC_RELEASE);
	return NULL;
}

static int begin(struct asker *a)
{
	a->over = false;
	return pthread_create(&a->thread, NULL, ask, a) ? -1 : 0;
}

static int end(struct asker *a)
{
	pthread_join(a->thread, NULL);
	return a->err;
}

/* The next call; false if there is none. */
static bool next(FIXTURE_DATA(registrar) *self, struct dd_registrar_call *c)
{
	return read(self->fd, c, sizeof(*c)) == sizeof(*c);
}

static int answer(FIXTURE_DATA(registrar) *self, __u64 call, __u32 error, __u32 node,
		  __u64 generation)
{
	const struct dd_registrar_answer a = {
		.call = call, .error = error, .node = node, .generation = generation,
	};

	return write(self->fd, &a, sizeof(a)) == sizeof(a) ? 0 : -1;
}

/* Export the segment of the fixture; its name is accepted. */
static int export(FIXTURE_DATA(registrar) *self, struct dd_registrar_call *c)
{
	if (begin(&self->a))
		return -1;
	if (!WAIT_FOR(next(self, c)) || c->op != DD_REGISTRAR_ADD ||
	    answer(self, c->call, 0, 0, 0))
		return -1;
	return end(&self->a) ? -1 : 0;
}

static bool readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && p.revents & POLLIN;
}

TEST_F(registrar, a_node_has_one)
{
	EXPECT_ERR(EBUSY, raw_op(&self->ex, DD_IOC_REGISTRAR, 0));
	close(self->fd);
	self->fd = registrar(&self->ex);
	EXPECT_LE(0, self->fd);
	EXPECT_ERR(EBUSY, raw_op(&self->clerk, DD_IOC_REGISTRAR, 0));
	EXPECT_ERR(EINVAL, raw_op(&self->clerk, DD_IOC_REGISTRAR, 1));
}

TEST_F(registrar, it_needs_a_capability)
{
	int ret;

	close(self->fd);
	ASSERT_EQ(0, seteuid(65534));
	ret = raw_op(&self->clerk, DD_IOC_REGISTRAR, 0);
	self->fd = ret;
	EXPECT_TRUE(ret == -1 && errno == EPERM);
	ASSERT_EQ(0, seteuid(0));
}

TEST_F(registrar, without_it_names_cannot_be_used)
{
	close(self->fd);
	self->fd = -1;
	EXPECT_ERR(EHOSTDOWN, mem_export(&self->ex, &self->a.s));
	EXPECT_ERR(EHOSTDOWN, mem_import(&self->im, &self->a.s, DD_RIGHT_PUT, &self->a.i));
	self->a.s.key_class = DD_SEGMENT_NAME;
	ASSERT_OK(mem_export(&self->ex, &self->a.s));
}

TEST_F(registrar, arguments_are_checked)
{
	struct asker *a = &self->a;

	memset(a->s.key, 'x', sizeof(a->s.key));
	EXPECT_ERR(EINVAL, mem_export(&self->ex, &a->s));
	EXPECT_ERR(EINVAL, mem_import(&self->im, &a->s, DD_RIGHT_PUT, &a->i));
	memset(a->s.key, 0, sizeof(a->s.key));
	EXPECT_ERR(EINVAL, mem_export(&self->ex, &a->s));
	EXPECT_ERR(EINVAL, mem_import(&self->im, &a->s, DD_RIGHT_PUT, &a->i));
	strcpy((char *)a->s.key, "n");
	EXPECT_ERR(EINVAL, mem_import_flags(&self->im, &a->s, DD_RIGHT_PUT, DD_IMPORT_NOWAIT,
					    0, &a->i));
	EXPECT_ERR(EINVAL, mem_import_flags(&self->im, &a->s, DD_RIGHT_PUT, DD_IMPORT_PARK,
					    0, &a->i));
	a->s.key_class = DD_SEGMENT_NAME;
	EXPECT_ERR(EINVAL, mem_import_flags(&self->im, &a->s, DD_RIGHT_PUT, DD_IMPORT_FRESH,
					    0, &a->i));
	EXPECT_FALSE(readable(self->fd));
}

TEST_F(registrar, RM_35_1_RM_35_3_an_export_adds_its_name)
{
	struct dd_registrar_call c;
	struct asker *a = &self->a;

	struct raw r;
	struct mem m;

	ASSERT_OK(export(self, &c));
	EXPECT_STREQ("abi_registrar", (char *)c.name);
	EXPECT_EQ(a->s.generation, c.generation);
	EXPECT_EQ(MEM_LEN, c.length);
	EXPECT_EQ(DD_RIGHTS, c.rights);
	EXPECT_EQ(self->node, c.node);
	EXPECT_EQ(geteuid(), c.uid);
	EXPECT_NE(0, c.call);
	ASSERT_OK(mem_end(&self->ex, a->s.segment));
	ASSERT_TRUE(next(self, &c));
	EXPECT_EQ(DD_REGISTRAR_DELETE, c.op);
	EXPECT_EQ(0, c.call);
	EXPECT_EQ(a->s.generation, c.generation);
	EXPECT_STREQ("abi_registrar", (char *)c.name);
	EXPECT_FALSE(readable(self->fd));
	/* The end of the exporter deletes it, too. */
	ASSERT_OK(raw_start(&r, MEM_LEN, &m));
	a->raw = &r;
	a->s = mem_segment(&m, "abi_registrar");
	a->s.key_class = DD_SEGMENT_REGISTERED;
	ASSERT_OK(export(self, &c));
	munmap(m.at, m.len);
	raw_close(&r);
	ASSERT_SOON(next(self, &c));
	EXPECT_EQ(DD_REGISTRAR_DELETE, c.op);
	EXPECT_EQ(a->s.generation, c.generation);
	EXPECT_FALSE(readable(self->fd));
}

TEST_F(registrar, a_refused_export_ends)
{
	struct dd_registrar_call c, d;

	ASSERT_OK(begin(&self->a));
	ASSERT_SOON(next(self, &c));
	ASSERT_OK(answer(self, c.call, EEXIST, 0, 0));
	EXPECT_EQ(EEXIST, end(&self->a));
	ASSERT_TRUE(next(self, &d));
	EXPECT_EQ(DD_REGISTRAR_DELETE, d.op);
	EXPECT_EQ(c.generation, d.generation);
	/* The region has no other user. */
	EXPECT_LE(0, raw_free(&self->ex, &self->em));
}

TEST_F(registrar, RM_35_2_an_import_looks_its_name_up)
{
	struct dd_registrar_call c;
	struct asker b = {
		.raw = &self->im, .import = true, .flags = DD_IMPORT_FRESH,
	};

	ASSERT_OK(export(self, &c));
	b.s = self->a.s;
	ASSERT_OK(begin(&b));
	ASSERT_SOON(next(self, &c));
	EXPECT_EQ(DD_REGISTRAR_LOOKUP, c.op);
	EXPECT_EQ(DD_IMPORT_FRESH, c.flags);
	EXPECT_EQ(DD_RIGHT_PUT, c.rights);
	EXPECT_EQ(self->node, c.node);
	EXPECT_EQ(geteuid(), c.uid);
	EXPECT_EQ(0, c.generation);
	EXPECT_STREQ("abi_registrar", (char *)c.name);
	ASSERT_OK(answer(self, c.call, 0, self->node, self->a.s.generation));
	ASSERT_EQ(0, end(&b));
	EXPECT_EQ(self->a.s.generation, b.i.generation);
	EXPECT_EQ(DD_SEGMENT_ID, b.i.key_class);
	EXPECT_EQ(self->node, b.i.node);
	EXPECT_EQ(1, mem_put(&self->im, &b.i, &(__u64){ 5 }, 0, 8, 0));
	EXPECT_EQ(5, *(__u64 *)self->em.at);
	/* By what was found, it is imported without the registrar. */
	self->a.s.key_class = DD_SEGMENT_ID;
	memcpy(self->a.s.key, b.i.key, sizeof(b.i.key));
	EXPECT_LE(0, mem_import(&self->im, &self->a.s, DD_RIGHT_PUT, &self->a.i));
	EXPECT_FALSE(readable(self->fd));
}

/* The importer knows the name, so it learns why it is refused. */
TEST_F(registrar, a_user_that_may_not_import_is_denied)
{
	struct asker b = { .raw = &self->im, .import = true };
	struct dd_registrar_call c;

	self->a.s.permission = DD_PERMIT_LISTED;
	ASSERT_OK(export(self, &c));
	b.s = self->a.s;
	ASSERT_OK(begin(&b));
	ASSERT_SOON(next(self, &c));
	ASSERT_OK(answer(self, c.call, 0, self->node, self->a.s.generation));
	EXPECT_EQ(EACCES, end(&b));
}

TEST_F(registrar, what_it_answers_is_checked_and_returned)
{
	struct asker b = { .raw = &self->im, .import = true, .s = self->a.s };
	struct dd_registrar_call c;
	struct dd_info info = { .size = sizeof(info) };

	ASSERT_OK(raw_ioctl(&self->im, DD_IOC_INFO, &info));
	ASSERT_OK(begin(&b));
	ASSERT_SOON(next(self, &c));
	EXPECT_ERR(EINVAL, answer(self, c.call, 0, self->node, 0));
	EXPECT_ERR(EINVAL, answer(self, c.call, 0, info.maxnodes, 1));
	EXPECT_ERR(EINVAL, answer(self, c.call, DD_REGISTRAR_ERROR_MAX + 1, 0, 0));
	EXPECT_ERR(ENOENT, answer(self, c.call + 1, ENOENT, 0, 0));
	EXPECT_ERR(EINVAL, write(self->fd, &c, 8));
	EXPECT_ERR(EINVAL, write(self->fd, &c, 0));
	EXPECT_ERR(EFAULT, write(self->fd, self->nowhere, sizeof(struct dd_registrar_answer)));
	EXPECT_FALSE(b.over);
	ASSERT_OK(answer(self, c.call, EACCES, 0, 0));
	EXPECT_EQ(EACCES, end(&b));
	EXPECT_ERR(ENOENT, answer(self, c.call, 0, 0, 0));
	/* There is no such segment any more. */
	ASSERT_OK(begin(&b));
	ASSERT_SOON(next(self, &c));
	ASSERT_OK(answer(self, c.call, 0, self->node, ~0ull));
	EXPECT_EQ(ECONNREFUSED, end(&b));
}

TEST_F(registrar, a_call_that_cannot_be_stored_is_not_lost)
{
	struct dd_registrar_call c[2];
	struct asker *a = &self->a;

	EXPECT_ERR(EAGAIN, read(self->fd, c, sizeof(c)));
	EXPECT_ERR(EINVAL, read(self->fd, c, sizeof(c[0]) - 1));
	ASSERT_OK(begin(a));
	ASSERT_SOON(readable(self->fd));
	EXPECT_ERR(EFAULT, read(self->fd, self->nowhere, sizeof(c)));
	EXPECT_ERR(ENOENT, answer(self, 1, 0, 0, 0));
	ASSERT_EQ(sizeof(c[0]), read(self->fd, c, sizeof(c) - 1));
	ASSERT_OK(answer(self, c[0].call, 0, 0, 0));
	EXPECT_EQ(0, end(a));
}

static void nothing(int sig)
{
}

TEST_F(registrar, a_signal_interrupts_the_caller)
{
	struct sigaction act = { .sa_handler = nothing };
	struct dd_registrar_call c, d;
	struct asker *a = &self->a;

	ASSERT_OK(sigaction(SIGUSR1, &act, NULL));
	ASSERT_OK(begin(a));
	ASSERT_SOON(next(self, &c));
	/* Until the caller sleeps, a signal may come too early. */
	ASSERT_SOON(pthread_kill(a->thread, SIGUSR1) == 0 &&
		    __atomic_load_n(&a->over, __ATOMIC_ACQUIRE));
	EXPECT_EQ(EINTR, end(a));
	EXPECT_ERR(ENOENT, answer(self, c.call, 0, 0, 0));
	ASSERT_TRUE(next(self, &d));
	EXPECT_EQ(DD_REGISTRAR_DELETE, d.op);
	EXPECT_EQ(c.generation, d.generation);
	EXPECT_LE(0, raw_free(&self->ex, &self->em));
}

/* It is stopped, before or after it has read a call. */
TEST_F(registrar, callers_do_not_wait_for_ever)
{
	struct asker b = { .raw = &self->im, .import = true, .s = self->a.s };
	struct dd_registrar_call c, d;

	ASSERT_OK(begin(&self->a));
	ASSERT_SOON(next(self, &c));
	ASSERT_OK(begin(&b));
	EXPECT_EQ(ETIMEDOUT, end(&self->a));
	EXPECT_EQ(ETIMEDOUT, end(&b));
	EXPECT_ERR(ENOENT, answer(self, c.call, 0, 0, 0));
	/* The export has ended; the import is forgotten. */
	ASSERT_TRUE(next(self, &d));
	EXPECT_EQ(DD_REGISTRAR_DELETE, d.op);
	EXPECT_EQ(c.generation, d.generation);
	EXPECT_FALSE(next(self, &d));
}

TEST_F(registrar, its_end_fails_what_waits)
{
	struct asker b = { .raw = &self->im, .import = true, .s = self->a.s };
	struct dd_registrar_call c;

	ASSERT_OK(begin(&self->a));
	ASSERT_SOON(next(self, &c));
	ASSERT_OK(begin(&b));
	ASSERT_SOON(readable(self->fd));
	/* One was read, the other was not. */
	close(self->fd);
	self->fd = -1;
	EXPECT_EQ(EHOSTDOWN, end(&self->a));
	EXPECT_EQ(EHOSTDOWN, end(&b));
}

TEST_F(registrar, the_next_one_gets_all_names)
{
	struct dd_registrar_call c;
	struct dd_segment_make first;

	ASSERT_OK(export(self, &c));
	first = self->a.s;
	self->a.s = mem_segment(&self->em, "other");
	self->a.s.key_class = DD_SEGMENT_REGISTERED;
	ASSERT_OK(export(self, &c));
	close(self->fd);
	/* This one is not deleted at a registrar. */
	ASSERT_OK(mem_end(&self->ex, first.segment));
	self->fd = registrar(&self->ex);
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(next(self, &c));
	EXPECT_EQ(DD_REGISTRAR_ADD, c.op);
	EXPECT_EQ(0, c.call);
	EXPECT_EQ(self->a.s.generation, c.generation);
	EXPECT_STREQ("other", (char *)c.name);
	EXPECT_FALSE(readable(self->fd));

	/* An ADD that was not read needs no DELETE. */
	close(self->fd);
	self->fd = registrar(&self->clerk);
	ASSERT_LE(0, self->fd);
	EXPECT_TRUE(readable(self->fd));
	ASSERT_OK(mem_end(&self->ex, self->a.s.segment));
	EXPECT_FALSE(readable(self->fd));
}

/* However often that happens, a registrar that reads nothing has nothing to read. */
TEST_F(registrar, a_name_that_was_not_read_leaves_no_call)
{
	struct sigaction act = { .sa_handler = nothing };
	struct asker *a = &self->a;
	int n;

	ASSERT_OK(sigaction(SIGUSR1, &act, NULL));
	for (n = 0; n < 10; n++) {
		a->s = mem_segment(&self->em, "unread");
		a->s.key_class = DD_SEGMENT_REGISTERED;
		ASSERT_OK(begin(a));
		ASSERT_SOON(readable(self->fd));
		ASSERT_SOON(pthread_kill(a->thread, SIGUSR1) == 0 &&
			    __atomic_load_n(&a->over, __ATOMIC_ACQUIRE));
		ASSERT_EQ(EINTR, end(a));
		ASSERT_FALSE(readable(self->fd));
	}
}

#define CALLS	512	/* of one user that wait, at most: half of all */

static bool full;

/* A call ends after three seconds. */
static void *ask_until_full(void *arg)
{
	struct asker *a = arg;

	do {
		ask(a);
		if (a->err == EUSERS)
			__atomic_store_n(&full, true, __ATOMIC_RELEASE);
	} while (a->err == ETIMEDOUT && !__atomic_load_n(&full, __ATOMIC_ACQUIRE));
	return NULL;
}

static void *ask_as_other(void *arg)
{
	/* Of this thread only. */
	syscall(SYS_setresuid, -1, 65534, -1);
	return ask(arg);
}

TEST_F(registrar, a_user_leaves_half_of_the_calls_to_others)
{
	static struct asker a[CALLS + 1];
	struct asker other = { .raw = &self->im, .import = true, .s = self->a.s };
	struct dd_registrar_call c;
	pthread_attr_t small;
	int n;

	ASSERT_EQ(0, pthread_attr_init(&small));
	ASSERT_EQ(0, pthread_attr_setstacksize(&small, 64 << 10));
	for (n = 0; n <= CALLS; n++) {
		a[n] = other;
		ASSERT_EQ(0, pthread_create(&a[n].thread, &small, ask_until_full, &a[n]));
	}
	ASSERT_SOON(__atomic_load_n(&full, __ATOMIC_ACQUIRE));
	ASSERT_EQ(0, pthread_create(&other.thread, NULL, ask_as_other, &other));
	ASSERT_SOON(next(self, &c) && c.uid == 65534);
	close(self->fd);
	self->fd = -1;
	EXPECT_EQ(EHOSTDOWN, end(&other));
	while (n--)
		end(&a[n]);
}

DD_TEST_MAIN
