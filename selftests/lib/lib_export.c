// SPDX-License-Identifier: LGPL-2.1-only
/*
 * lib_export.c - what an exporter can do by the calls of dd_mem.h: control and describe its
 * segments, redirect messages, and find changed pages
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/dd_mem.h>

#include "segment.h"

static struct dd_export_desc info(void)
{
	struct dd_export_desc desc = { 0 };

	check_eq(dd_export_info(ex, segment, &desc, NULL, 0), 0);
	return desc;
}

TEST(an_exporter_sees_its_importers)
{
	struct dd_export_importer two[2] = { { 0 } };
	struct dd_export_desc desc;
	struct dd_mem *second;

	begin(0, 0);
	check_eq(dd_export_info(ex, segment, &desc, two, 2), 1);
	check_eq(desc.len, PAGE);
	check_eq(desc.importers, 1);
	check_eq(desc.inhibited, 0);
	check_eq(desc.notify, DD_NOTIFY_NEVER);
	check_eq(two[0].node, dd_node(im));
	check_eq(two[0].pid, getpid());
	check_eq(two[0].uid, geteuid());
	check_eq(two[0].rights, ALL);
	check(two[0].importer != 0);
	check_eq(dd_import(im, owner(), attr.key_class, key, DD_CAN_GET, &second), 0);
	check_eq(dd_export_info(ex, segment, &desc, two, 1), 1);
	check_eq(desc.importers, 2);
	check_eq(dd_export_info(ex, segment, &desc, two, 2), 2);
	check(two[0].importer != two[1].importer);
	check_eq(two[0].rights + two[1].rights, ALL + DD_CAN_GET);

	check_eq(dd_export_info(ex, segment, NULL, two, 2), -EINVAL);
	check_eq(dd_export_info(ex, segment, &desc, NULL, 2), -EINVAL);
	check_eq(dd_export_info(ex, segment, &desc, (void *)8, 2), -EFAULT);
	check_eq(dd_export_info(ex, segment + 1, &desc, two, 2), -ENOENT);
	check_eq(dd_unimport(second), 0);
	/* Another node is informed later. */
	while (far && info().importers != 1)
		;
	check_eq(info().importers, 1);
	check_eq(dd_unexport(ex, segment), 0);
	check_eq(dd_export_info(ex, segment, &desc, two, 2), -ENOENT);
	end();
}

/* Another node refuses by itself what cannot be executed here; inhibition is known here only. */
TEST(refused_requests_are_counted)
{
	struct dd_export_desc desc;
	uint64_t word = 0;

	begin(0, 0);
	check_eq(dd_put(mem, &word, 8, PAGE - 4, 0), -ERANGE);
	check_eq(info().refused_bounds, !far);
	check_eq(dd_export_inhibit(ex, segment, 1), 0);
	check_eq(dd_put(mem, &word, 8, 0, 0), -EACCES);
	desc = info();
	check_eq(desc.inhibited, 1);
	check_eq(desc.refused_inhibit, 1);
	check_eq(desc.refused_rights, 0);
	check_eq(dd_export_inhibit(ex, segment, 0), 0);
	check_eq(info().inhibited, 0);
	check_eq(dd_unimport(mem), 0);
	check_eq(dd_import(im, owner(), attr.key_class, key, DD_CAN_GET, &mem), 0);
	check_eq(dd_put(mem, &word, 8, 0, 0), -EACCES);
	check_eq(info().refused_rights, !far);
	end();
}

/* Which of two puts, without and with DD_PUT_NOTIFY, notify? */
static int notified(int fd)
{
	struct dd_list_record rec;
	int flags = 0;

	check_eq(dd_put(mem, "x", 1, 1, 0), 0);
	check_eq(dd_put(mem, "x", 1, 2, DD_PUT_NOTIFY), 0);
	while (read(fd, &rec, sizeof(rec)) == sizeof(rec))
		flags |= rec.offset;
	check_eq(errno, EAGAIN);
	return flags;
}

TEST(the_exporter_decides_on_notes)
{
	int fd;

	begin(1, DD_NOTIFY_NEVER);
	fd = dd_list_fd(ex, attr.list);
	check(fd >= 0);
	check_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	check_eq(notified(fd), 0);
	check_eq(dd_export_notify(ex, segment, DD_NOTIFY_ALWAYS), 0);
	check_eq(info().notify, DD_NOTIFY_ALWAYS);
	check_eq(notified(fd), 3);
	check_eq(dd_export_notify(ex, segment, DD_NOTIFY_IF_ASKED), 0);
	check_eq(notified(fd), 2);
	check_eq(dd_export_notify(ex, segment, DD_NOTIFY_NEVER), 0);
	check_eq(notified(fd), 0);
	check_eq(dd_export_notify(ex, segment, DD_NOTIFY_NEVER + 1), -EINVAL);
	check_eq(dd_unexport(ex, segment), 0);
	check_eq(dd_export_notify(ex, segment, DD_NOTIFY_NEVER), -ENOENT);
	close(fd);
	end();

	begin(0, 0);
	check_eq(dd_export_notify(ex, segment, DD_NOTIFY_ALWAYS), -EINVAL);
	check_eq(dd_export_notify(ex, segment, DD_NOTIFY_IF_ASKED), -EINVAL);
	check_eq(dd_export_notify(ex, segment, DD_NOTIFY_NEVER), 0);
	end();
}

/* The other import of the same process goes on. */
TEST(an_exporter_denies_an_importer)
{
	struct dd_export_importer one = { 0 };
	struct dd_export_desc desc;
	struct dd_mem *other;
	uint64_t word = 7;

	begin(0, 0);
	check_eq(dd_export_info(ex, segment, &desc, &one, 1), 1);
	check_eq(dd_import(im, owner(), attr.key_class, key, ALL, &other), 0);
	check_eq(dd_export_deny(ex, segment, one.importer + 1), -ENOENT);
	check_eq(dd_export_deny(ex, segment, 0), -ENOENT);
	check_eq(dd_export_deny(ex, segment + 1, one.importer), -ENOENT);
	check_eq(dd_put(mem, &word, 8, 0, 0), 0);
	check_eq(dd_export_deny(ex, segment, one.importer), 0);
	memset(shared, 0, PAGE);
	while (dd_put(mem, &word, 8, 0, 0) != -ESTALE)
		;
	check_eq(dd_get(mem, &word, 8, 0), -ESTALE);
	check_eq(dd_import_wait(mem, 0), -ESTALE);
	check_eq(*(volatile uint64_t *)shared, 0);
	check_eq(dd_export_deny(ex, segment, one.importer), -ENOENT);
	check_eq(dd_put(other, &word, 8, 8, 0), 0);
	check_eq(dd_unimport(other), 0);
	check_eq(dd_unimport(mem), 0);
	check_eq(dd_import(im, owner(), attr.key_class, key, ALL, &mem), 0);
	check_eq(dd_put(mem, &word, 8, 0, 0), 0);
	end();
}

static volatile sig_atomic_t signals;

static void on_note(int sig)
{
	(void)sig;
	signals++;
}

/* The signal is sent when the note is posted, which is before the put is done. */
TEST(an_armed_list_sends_one_signal)
{
	const struct sigaction sa = { .sa_handler = on_note, .sa_flags = SA_RESTART };
	struct dd_list_record rec;
	int fd, pair[2];

	begin(1, DD_NOTIFY_ALWAYS);
	fd = dd_list_fd(ex, attr.list);
	check(fd >= 0);
	check_eq(dd_list_arm(fd), -EINVAL);
	check_eq(sigaction(SIGRTMIN, &sa, NULL), 0);
	check_eq(fcntl(fd, F_SETSIG, SIGRTMIN), 0);
	check_eq(fcntl(fd, F_SETOWN, getpid()), 0);
	check_eq(fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC), 0);
	signals = 0;
	check_eq(dd_list_arm(fd), 0);
	check_eq(signals, 0);
	check_eq(dd_put(mem, "x", 1, 0, 0), 0);
	check_eq(dd_put(mem, "x", 1, 0, 0), 0);
	while (!signals)
		;
	check_eq(signals, 1);
	check_eq(dd_list_arm(fd), 1);
	check_eq(read(fd, &rec, sizeof(rec)), sizeof(rec));
	check_eq(dd_list_arm(fd), 1);
	check_eq(read(fd, &rec, sizeof(rec)), sizeof(rec));
	check_eq(dd_put(mem, "x", 1, 0, 0), 0);
	check_eq(signals, 1);
	check_eq(read(fd, &rec, sizeof(rec)), sizeof(rec));
	check_eq(dd_list_arm(fd), 0);
	check_eq(dd_put(mem, "x", 1, 0, 0), 0);
	while (signals < 2)
		;
	check_eq(read(fd, &rec, sizeof(rec)), sizeof(rec));
	check_eq(dd_list_arm(fd), 0);
	/* The end of the list, and of its descriptor. */
	check_eq(dd_shutdown(ex), 0);
	while (signals < 3)
		;
	check_eq(dd_list_arm(fd), -ENOENT);
	close(fd);
	check_eq(dd_list_arm(fd), -EBADF);
	check_eq(pipe(pair), 0);
	check_eq(dd_list_arm(pair[0]), -ENOTTY);
	close(pair[0]);
	close(pair[1]);
	check_eq(dd_open(&ex), 0);
	end();
}

/* ---- redirection -------------------------------------------------------- */

#define LEN	256

static char from[LEN];

static uint64_t data_end(void)
{
	return __atomic_load_n(&attr.state->data_end, __ATOMIC_ACQUIRE);
}

/* Whether the put of LEN bytes is in place, @count of them from @at on in @to. */
static bool in_place(const char *to, size_t at, size_t count)
{
	bool good = !memcmp(shared, from, at) && !memcmp(to, from + at, count) &&
		    !memcmp(shared + at + count, from + at + count, LEN - at - count);

	for (size_t i = at; i < at + count; i++)
		good = good && shared[i] == 's';
	return good;
}

/* Into memory of dd_alloc(), and into pinned memory that begins at any word. */
static void redirected_to(char *to)
{
	memset(shared, 's', PAGE);
	check_eq(dd_redirect(ex, segment, 16, to, 64), 0);
	check_eq(dd_put(mem, from, LEN, 0, 0), 0);
	check_eq(data_end(), LEN);
	check_eq(dd_redirect_end(ex, segment), 0);
	check_eq(attr.state->first, 0);
	check_eq(attr.state->count, 64);
	check(in_place(to, 16, 64));

	/* Only its second half has bytes in the range. */
	memset(shared, 's', PAGE);
	check_eq(dd_redirect(ex, segment, LEN - 32, to, 64), 0);
	check_eq(dd_put(mem, from, LEN, 0, 0), 0);
	check_eq(dd_put(mem, "x", 1, LEN, 0), 0);
	check_eq(data_end(), LEN + 1);
	/* The put is over, so the next redirection takes its place. */
	check_eq(dd_redirect(ex, segment, 512, to + 32, 8), 0);
	check_eq(attr.state->count, 32);
	check(in_place(to, LEN - 32, 32));
	check_eq(shared[LEN], 'x');
	check_eq(dd_put(mem, from, 4, 516, 0), 0);
	check_eq(dd_redirect_end(ex, segment), 0);
	check_eq(attr.state->first, 4);
	check_eq(attr.state->count, 4);
	check(!memcmp(to + 36, from, 4));

	/* Nothing is redirected any more. */
	check_eq(dd_put(mem, from, LEN, 0, 0), 0);
	check(!memcmp(shared, from, LEN));
}

TEST(a_put_is_redirected)
{
	static char pinned[1000] __attribute__((aligned(8)));
	void *to;

	begin(0, 0);
	check(!attr.state);
	reexport(ALL, DD_EXPORT_REDIRECT, PAGE);
	check(attr.state != NULL);
	for (int i = 0; i < LEN; i++)
		from[i] = 1 + i % 100;
	check_eq(data_end(), 0);
	check_eq(dd_put(mem, from, 64, 64, 0), 0);
	check_eq(data_end(), 128);
	attr.state->data_end = 0;
	check_eq(dd_put(mem, from, 0, 64, 0), 0);
	check_eq(data_end(), 0);
	check_eq(dd_alloc(ex, PAGE, &to), 0);
	redirected_to(to);
	check_eq(dd_pin(ex, pinned + 4, 900), 0);
	redirected_to(pinned + 8);
	end();
}

TEST(bad_redirections)
{
	void *to;

	begin(0, 0);
	check_eq(dd_alloc(ex, PAGE, &to), 0);
	check_eq(dd_redirect(ex, segment, 0, to, 8), -EOPNOTSUPP);
	check_eq(dd_redirect_end(ex, segment), -ENOENT);
	reexport(ALL, DD_EXPORT_REDIRECT, PAGE);
	check_eq(dd_redirect(ex, segment, 0, from, 8), -EINVAL);
	check_eq(dd_redirect(ex, segment, 0, (char *)to + PAGE - 4, 8), -EINVAL);
	check_eq(dd_redirect(ex, segment, 2, to, 8), -EINVAL);
	check_eq(dd_redirect(ex, segment, 0, (char *)to + 2, 8), -EINVAL);
	check_eq(dd_redirect(ex, segment, 0, to, 6), -EINVAL);
	check_eq(dd_redirect(ex, segment, 0, to, 0), -EINVAL);
	check_eq(dd_redirect(ex, segment, PAGE - 4, to, 8), -ERANGE);
	check_eq(dd_redirect_end(ex, segment), -ENOENT);
	check_eq(dd_redirect(ex, segment, 0, to, 8), 0);
	check_eq(dd_redirect(ex, segment, 8, to, 8), -EBUSY);
	check_eq(dd_unexport(ex, segment), 0);
	check_eq(dd_redirect(ex, segment, 0, to, 8), -ENOENT);
	check_eq(dd_redirect_end(ex, segment), -ENOENT);
	end();
}

/* ---- tracked memory ----------------------------------------------------- */

#define PAGES	70

/* Whether pages @a and @b are reported, and none else; -1 for none. */
static bool reported(char *at, int a, int b)
{
	uint64_t bits[2], want[2] = { 0, 0 };

	memset(bits, 0xff, sizeof(bits));
	if (a >= 0)
		want[a / 64] |= 1ull << a % 64;
	if (b >= 0)
		want[b / 64] |= 1ull << b % 64;
	return !dd_dirty(ex, at, PAGES * PAGE, bits) && !memcmp(bits, want, sizeof(bits));
}

TEST(changed_pages_are_found)
{
	uint64_t bits = ~0ull;
	void *addr;
	char *at;

	begin(0, 0);
	check_eq(dd_alloc_tracked(ex, PAGES * PAGE, &addr), 0);
	at = addr;
	check(reported(at, -1, -1));
	at[3 * PAGE + 5] = 1;
	at[69 * PAGE] = 1;
	check(reported(at, 3, 69));
	check(reported(at, -1, -1));
	at[3 * PAGE] = 1;
	at[4 * PAGE] = 1;
	check_eq(dd_dirty(ex, at + 4 * PAGE, PAGE, &bits), 0);
	check_eq(bits, 1);
	check(reported(at, 3, -1));
	/* What an importer puts is not reported. */
	check_eq(dd_unexport(ex, segment), 0);
	attr.addr = at;
	check_eq(dd_export(ex, &attr, &segment), 0);
	check_eq(dd_unimport(mem), 0);
	check_eq(dd_import(im, owner(), attr.key_class, key, ALL, &mem), 0);
	check_eq(dd_put(mem, "x", 1, 0, 0), 0);
	check_eq(at[0], 'x');
	check(reported(at, -1, -1));
	check_eq(dd_unexport(ex, segment), 0);
	check_eq(dd_free(ex, at), 0);
	check_eq(dd_dirty(ex, at, PAGE, &bits), -EINVAL);
	end();
}

TEST(bad_tracking)
{
	uint64_t bits;
	void *addr;
	char *at;

	begin(0, 0);
	check_eq(dd_alloc_tracked(ex, 0, &addr), -EINVAL);
	check_eq(dd_alloc_tracked(ex, PAGE, NULL), -EINVAL);
	check_eq(dd_alloc_tracked(ex, 1ull << 50, &addr), -ENOMEM);
	check_eq(dd_alloc(ex, PAGE, &addr), 0);
	check_eq(dd_dirty(ex, addr, PAGE, &bits), -EOPNOTSUPP);
	check_eq(dd_dirty(ex, &bits, PAGE, &bits), -EINVAL);
	check_eq(dd_alloc_tracked(ex, 2 * PAGE, &addr), 0);
	at = addr;
	at[PAGE] = 1;
	check_eq(dd_dirty(ex, at, 0, &bits), -EINVAL);
	check_eq(dd_dirty(ex, at, 8, &bits), -EINVAL);
	check_eq(dd_dirty(ex, at + 8, PAGE, &bits), -EINVAL);
	check_eq(dd_dirty(ex, at + PAGE, 2 * PAGE, &bits), -EINVAL);
	check_eq(dd_dirty(ex, at, 2 * PAGE, NULL), -EINVAL);
	check_eq(dd_dirty(ex, NULL, PAGE, &bits), -EINVAL);
	check_eq(dd_dirty(ex, at, 2 * PAGE, (void *)8), -EFAULT);
	check_eq(dd_dirty(ex, at, 2 * PAGE, &bits), 0);
	check_eq(bits, 2);
	end();
}

static int alloc_beyond_the_limit(int arg)
{
	const struct rlimit limit = { 1 << 16, 1 << 16 };
	struct stat dev;
	struct dd *h;
	void *addr;

	(void)arg;
	return stat("/dev/dd", &dev) || setgroups(1, &dev.st_gid) ||
	       setresuid(4321, 4321, 4321) || dd_open(&h) ||
	       setrlimit(RLIMIT_MEMLOCK, &limit) ||
	       dd_alloc_tracked(h, 1 << 20, &addr) != -EDQUOT;
}

TEST(tracked_memory_is_charged)
{
	child_run(child(alloc_beyond_the_limit, 0));
}

TEST(a_child_exports_nothing)
{
	struct dd_export_desc desc;
	int status = -1;
	uint64_t bits;
	void *tracked;
	pid_t pid;

	begin(0, 0);
	check_eq(dd_alloc_tracked(ex, PAGE, &tracked), 0);
	pid = fork();
	if (!pid)
		_exit(dd_export_notify(ex, segment, DD_NOTIFY_NEVER) != -ESTALE ||
		      dd_export_deny(ex, segment, 1) != -ESTALE ||
		      dd_export_info(ex, segment, &desc, NULL, 0) != -ESTALE ||
		      dd_redirect(ex, segment, 0, tracked, 4) != -ESTALE ||
		      dd_redirect_end(ex, segment) != -ESTALE ||
		      dd_alloc_tracked(ex, PAGE, &tracked) != -ESTALE ||
		      dd_dirty(ex, tracked, PAGE, &bits) != -ESTALE);
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	end();
}
