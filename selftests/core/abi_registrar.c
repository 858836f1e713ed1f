// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registrar of a node: exports, imports and ends of class DD_SEGMENT_REGISTERED.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <poll.h>
#include "mem.h"
#include "threads.h"

/* What a thread asks for: an export, or an import of its name. */
struct asker {
	struct raw *raw;
	struct dd_segment_make s;
	struct dd_import_make i;
	__u32 flags;
	bool import;
	struct call call;
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

/* A segment of the exporter under a name of the registrar. */
static struct dd_segment_make named(const struct mem *m, const char *name)
{
	struct dd_segment_make s = mem_segment(m, name);

	s.key_class = DD_SEGMENT_REGISTERED;
	return s;
}

FIXTURE_SETUP(registrar)
{
	self->nowhere = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->nowhere);
	ASSERT_OK(raw_open(&self->clerk));
	ASSERT_OK(raw_start(&self->ex, MEM_LEN, &self->em));
	ASSERT_OK(raw_open(&self->im));
	self->node = mem_node(&self->ex);
	self->fd = registrar(&self->clerk);
	ASSERT_LE(0, self->fd);
	self->a.raw = &self->ex;
	self->a.s = named(&self->em, "abi_registrar");
}

FIXTURE_TEARDOWN(registrar)
{
	close(self->fd);
	raw_close(&self->im);
	raw_close(&self->ex);
	raw_close(&self->clerk);
}

static long ask(void *arg)
{
	struct asker *a = arg;

	return a->import ? mem_import_flags(a->raw, &a->s, DD_RIGHT_PUT, a->flags, 0, &a->i) :
			   mem_export(a->raw, &a->s);
}

static bool begin(struct asker *a)
{
	return call_begin(&a->call, ask, a);
}

static int end(struct asker *a)
{
	return call_end(&a->call) ? errno : 0;
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
	if (!begin(&self->a) || !WAIT_FOR(next(self, c)) || c->op != DD_REGISTRAR_ADD ||
	    answer(self, c->call, 0, 0, 0))
		return -1;
	return end(&self->a) ? -1 : 0;
}

static bool readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && p.revents & POLLIN;
}

TEST_F(registrar, a_node_has_one_with_a_capability)
{
	EXPECT_ERR(EBUSY, raw_op(&self->ex, DD_IOC_REGISTRAR, 0));
	EXPECT_ERR(EINVAL, raw_op(&self->clerk, DD_IOC_REGISTRAR, 1));
	close(self->fd);
	EXPECT_ERR(EPERM, AS_USER(65534, raw_op(&self->clerk, DD_IOC_REGISTRAR, 0)));
	/* Without it, names cannot be used. */
	EXPECT_ERR(EHOSTDOWN, mem_export(&self->ex, &self->a.s));
	EXPECT_ERR(EHOSTDOWN, mem_import(&self->im, &self->a.s, DD_RIGHT_PUT, &self->a.i));
	self->fd = registrar(&self->ex);
	EXPECT_LE(0, self->fd);
	EXPECT_ERR(EBUSY, raw_op(&self->clerk, DD_IOC_REGISTRAR, 0));
}

/* Flags that an import of a name of this class may not have. */
static int import_with(FIXTURE_DATA(registrar) *self, __u32 flags)
{
	return mem_import_flags(&self->im, &self->a.s, DD_RIGHT_PUT, flags, 0, &self->a.i);
}

TEST_F(registrar, arguments_are_checked)
{
	struct dd_segment_make *s = &self->a.s;

	EXPECT_ERR(EINVAL, import_with(self, DD_IMPORT_NOWAIT));
	EXPECT_ERR(EINVAL, import_with(self, DD_IMPORT_PARK));
	memset(s->key, 'x', sizeof(s->key));
	EXPECT_ERR(EINVAL, mem_export(&self->ex, s));
	EXPECT_ERR(EINVAL, import_with(self, 0));
	memset(s->key, 0, sizeof(s->key));
	EXPECT_ERR(EINVAL, mem_export(&self->ex, s));
	EXPECT_ERR(EINVAL, import_with(self, 0));
	strcpy((char *)s->key, "n");
	s->key_class = DD_SEGMENT_NAME;
	EXPECT_ERR(EINVAL, import_with(self, DD_IMPORT_FRESH));
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
	a->s = named(&m, "abi_registrar");
	ASSERT_OK(export(self, &c));
	munmap(m.at, m.len);
	raw_close(&r);
	ASSERT_SOON(next(self, &c));
	EXPECT_EQ(DD_REGISTRAR_DELETE, c.op);
	EXPECT_EQ(a->s.generation, c.generation);
	EXPECT_FALSE(readable(self->fd));
}

TEST_F(registrar, RM_35_2_an_import_looks_its_name_up)
{
	struct dd_registrar_call c;
	struct asker b = {
		.raw = &self->im, .import = true, .flags = DD_IMPORT_FRESH,
	};

	ASSERT_OK(export(self, &c));
	b.s = self->a.s;
	ASSERT_TRUE(begin(&b));
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

TEST_F(registrar, what_it_answers_is_checked_and_returned)
{
	struct asker b = { .raw = &self->im, .import = true, .s = self->a.s };
	struct dd_info info = { .size = sizeof(info) };
	struct dd_registrar_call c;

	ASSERT_OK(raw_ioctl(&self->im, DD_IOC_INFO, &info));
	ASSERT_TRUE(begin(&b));
	ASSERT_SOON(next(self, &c));
	EXPECT_ERR(EINVAL, answer(self, c.call, 0, self->node, 0));
	EXPECT_ERR(EINVAL, answer(self, c.call, 0, info.maxnodes, 1));
	EXPECT_ERR(EINVAL, answer(self, c.call, DD_REGISTRAR_ERROR_MAX + 1, 0, 0));
	EXPECT_ERR(ENOENT, answer(self, c.call + 1, ENOENT, 0, 0));
	EXPECT_ERR(EINVAL, write(self->fd, &c, 8));
	EXPECT_ERR(EINVAL, write(self->fd, &c, 0));
	EXPECT_ERR(EFAULT, write(self->fd, self->nowhere, sizeof(struct dd_registrar_answer)));
	EXPECT_FALSE(call_is_over(&b.call));
	ASSERT_OK(answer(self, c.call, EACCES, 0, 0));
	EXPECT_EQ(EACCES, end(&b));
	EXPECT_ERR(ENOENT, answer(self, c.call, 0, 0, 0));
	/* There is no such segment any more. */
	ASSERT_TRUE(begin(&b));
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
	ASSERT_TRUE(begin(a));
	ASSERT_SOON(readable(self->fd));
	EXPECT_ERR(EFAULT, read(self->fd, self->nowhere, sizeof(c)));
	EXPECT_ERR(ENOENT, answer(self, 1, 0, 0, 0));
	ASSERT_EQ(sizeof(c[0]), read(self->fd, c, sizeof(c) - 1));
	ASSERT_OK(answer(self, c[0].call, 0, 0, 0));
	EXPECT_EQ(0, end(a));
}

TEST_F(registrar, a_signal_interrupts_the_caller)
{
	struct dd_registrar_call c, d;
	struct asker *a = &self->a;

	ASSERT_TRUE(begin(a));
	ASSERT_SOON(next(self, &c));
	ASSERT_TRUE(call_interrupt(&a->call));
	EXPECT_EQ(EINTR, end(a));
	EXPECT_ERR(ENOENT, answer(self, c.call, 0, 0, 0));
	ASSERT_TRUE(next(self, &d));
	EXPECT_EQ(DD_REGISTRAR_DELETE, d.op);
	EXPECT_EQ(c.generation, d.generation);
	EXPECT_LE(0, raw_free(&self->ex, &self->em));
}

TEST_F(registrar, its_end_fails_what_waits)
{
	struct asker b = { .raw = &self->im, .import = true, .s = self->a.s };
	struct dd_registrar_call c;

	ASSERT_TRUE(begin(&self->a));
	ASSERT_SOON(next(self, &c));
	ASSERT_TRUE(begin(&b));
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
	self->a.s = named(&self->em, "other");
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
	struct asker *a = &self->a;
	int n;

	for (n = 0; n < 10; n++) {
		a->s = named(&self->em, "unread");
		ASSERT_TRUE(begin(a));
		ASSERT_SOON(readable(self->fd));
		ASSERT_TRUE(call_interrupt(&a->call));
		ASSERT_EQ(EINTR, end(a));
		ASSERT_FALSE(readable(self->fd));
	}
}

#define CALLS	512	/* of one user that wait, at most: half of all */

static bool full;

/* A call ends after three seconds. */
static long ask_until_full(void *arg)
{
	long ret;

	do {
		ret = ask(arg);
		if (ret && errno == EUSERS)
			__atomic_store_n(&full, true, __ATOMIC_RELEASE);
	} while (ret && errno == ETIMEDOUT && !__atomic_load_n(&full, __ATOMIC_ACQUIRE));
	return ret;
}

static long ask_as_other(void *arg)
{
	long ret;

	/* Of this thread only. */
	syscall(SYS_setresuid, -1, 65534, -1);
	do
		ret = ask(arg);
	while (ret && errno == ETIMEDOUT);
	return ret;
}

/* Reads all calls that are there. */
static bool next_of(FIXTURE_DATA(registrar) *self, __u32 uid)
{
	struct dd_registrar_call c;

	while (next(self, &c))
		if (c.uid == uid)
			return true;
	return false;
}

TEST_F(registrar, a_user_leaves_half_of_the_calls_to_others)
{
	static struct asker a[CALLS + 1];
	struct asker other = { .raw = &self->im, .import = true, .s = self->a.s };
	int n;

	for (n = 0; n <= CALLS; n++) {
		a[n] = other;
		ASSERT_TRUE(call_begin(&a[n].call, ask_until_full, &a[n]));
	}
	ASSERT_SOON(__atomic_load_n(&full, __ATOMIC_ACQUIRE));
	ASSERT_TRUE(call_begin(&other.call, ask_as_other, &other));
	ASSERT_SOON(next_of(self, 65534));
	close(self->fd);
	self->fd = -1;
	EXPECT_EQ(EHOSTDOWN, end(&other));
	while (n--)
		end(&a[n]);
}

DD_TEST_MAIN
