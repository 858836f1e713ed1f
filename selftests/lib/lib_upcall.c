// SPDX-License-Identifier: LGPL-2.1-only
/*
 * lib_upcall.c - functions of notes, and the handle and the list that libraries share
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/dd_mem.h>

#include "../../lib/core/notes.h"
#include "../../lib/core/upcall.h"
#include "../../lib/mem/shared.h"
#include "faulty.h"
#include "segment.h"

#define WINDOW	256
#define ENTRIES	65536

/* ---- exported segments, and what their functions have seen --------------------------- */

struct owned {
	uint64_t segment;
	int cookie;
	struct dd_mem *mem;	/* by the importing handle of this process */
};

static struct dd *h;
static char *page;
static struct owned one, two;
static int handled;
static uint64_t seen[4 * WINDOW];	/* words of the notes, by the functions */

static void see(const struct dd_note *note, void *data)
{
	int n = ddi_load(&handled);

	(void)data;
	seen[n % (4 * WINDOW)] = note->word;
	ddi_store_release(&handled, n + 1);
}

static bool all_handled(int n)
{
	for (int i = 0; i < 10000 && ddi_load_acquire(&handled) < n; i++)
		usleep(1000);
	return ddi_load_acquire(&handled) == n;
}

static int export_with(struct owned *o, char id, ddi_upcall_fn fn)
{
	struct dd_export_attr a = attributes();
	int list, ret;

	ddi_upcall_enter();
	list = ddi_shared_list();
	if (list < 0) {
		ddi_upcall_leave();
		return list;
	}
	a.addr = page;
	a.key[strlen((char *)a.key)] = id;
	a.notify = DD_NOTIFY_ALWAYS;
	a.list = list;
	a.window = WINDOW;
	ddi_upcall_hold();
	o->cookie = ddi_upcall_add(fn, o);
	a.cookie = o->cookie;
	ret = o->cookie < 0 ? o->cookie : dd_export(h, &a, &o->segment);
	if (!ret)
		ddi_upcall_set(o->cookie, o->segment);
	ddi_upcall_release();
	ddi_upcall_leave();
	return ret ? ret : dd_import(im, dd_node(im), a.key_class, a.key, ALL, &o->mem);
}

static void end_of(struct owned *o)
{
	check_eq(dd_unimport(o->mem), 0);
	check_eq(dd_unexport(h, o->segment), 0);
	ddi_upcall_enter();
	ddi_upcall_hold();
	ddi_upcall_del(o->cookie);
	ddi_upcall_release();
	ddi_upcall_leave();
}

static void prepare(void)
{
	handled = 0;
	check_eq(ddi_shared(&h), 0);
	if (!page) {
		check_eq(dd_open(&im), 0);
		page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		check_eq(dd_pin(h, page, PAGE), 0);
	}
}

static void begin_with(ddi_upcall_fn fn)
{
	prepare();
	check_eq(export_with(&one, '1', fn), 0);
}

static int notify(struct owned *o, uint64_t word)
{
	return dd_put(o->mem, &word, sizeof(word), 0, 0);
}

/* ---- the handle and the list --------------------------------------------------------- */

/* In a child, which prints its failed checks, so that this process has no list yet: its exit status. */
static int in_child(int (*run)(const char *), const char *arg)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		exit(run(arg));
	check_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int by_signal(const char *number)
{
	int ret;

	setenv("DD_SIGNAL", number, 1);
	ret = ddi_shared_list();
	if (ret < 0)
		return ret == -EINVAL ? 2 : 3;
	begin_with(see);
	signal(SIGURG, SIG_DFL);
	check_eq(notify(&one, 5), 0);
	check(all_handled(1));
	check_eq(seen[0], 5);
	return test_failed;
}

TEST(the_environment_names_the_signal)
{
	check_eq(in_child(by_signal, "12"), 0);
	check_eq(in_child(by_signal, "40"), 0);
	check_eq(in_child(by_signal, "9"), 2);
	check_eq(in_child(by_signal, "0"), 2);
	check_eq(in_child(by_signal, "URG"), 2);
	check_eq(in_child(by_signal, "4000"), 2);
}

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static int failing(const char *arg)
{
	static const unsigned long steps[] = { DD_IOC_LIST_MAKE, DD_IOC_LIST_FD };
	int fds;

	(void)arg;
	faulty.absent = ENOENT;
	check_eq(dd_errno(ddi_shared(&h)), ENODEV);
	check_eq(dd_errno(ddi_shared_list()), ENODEV);
	faulty.absent = 0;
	check_eq(ddi_shared(&h), 0);
	fds = descriptors();
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		faulty.refuse = steps[i];
		faulty.refusal = ENOMEM;
		check_eq(dd_errno(ddi_shared_list()), ENOMEM);
		check_eq(descriptors(), fds);
	}
	setenv("DD_SIGNAL", "9", 1);
	check_eq(ddi_shared_list(), -EINVAL);
	check_eq(descriptors(), fds);
	unsetenv("DD_SIGNAL");
	check(ddi_shared_list() > 0);
	check_eq(descriptors(), fds + 1);
	return test_failed;
}

TEST(a_call_that_failed_is_made_again)
{
	check_eq(in_child(failing, NULL), 0);
}

/* ---- nothing is lost ----------------------------------------------------------------- */

#define SENDERS	2
#define THREADS	3
#define MANY	4000

static int counted[SENDERS], out_of_order, bad_children;

static void in_order(const struct dd_note *note, void *data)
{
	int sender = note->word >> 32, number = note->word;

	(void)data;
	if (number != counted[sender])
		out_of_order++;
	ddi_store_release(&counted[sender], counted[sender] + 1);
}

static int send_many(int sender)
{
	struct dd_export_attr a = attributes();
	struct dd *own;
	int ret;

	a.key[strlen((char *)a.key)] = '1';
	ret = dd_open(&own);
	if (!ret)
		ret = dd_import(own, dd_node(own), a.key_class, a.key, ALL, &mem);
	for (uint32_t i = 0; i < MANY && !ret; i++) {
		uint64_t word = (uint64_t)sender << 32 | i;

		while ((ret = dd_put(mem, &word, sizeof(word), 8 * sender, 0)) == -EBUSY)
			sched_yield();
	}
	return ret ? 1 : 0;
}

static void fork_and_wait(void)
{
	int status = -1;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(ddi_upcall_blocked() || ddi_upcall_unblock() != 1);
	if (waitpid(pid, &status, 0) != pid || status)
		ddi_store(&bad_children, 1);
}

/* What programs do meanwhile. */
static void *disturb(void *over)
{
	for (unsigned int i = 0; !ddi_load_acquire((int *)over); i++) {
		switch (i % 4) {
		case 0:
			ddi_upcall_block();
			sched_yield();
			ddi_upcall_unblock();
			break;
		case 1:
			ddi_upcall_enter();
			ddi_upcall_hold();
			ddi_upcall_release();
			ddi_upcall_leave();
			break;
		case 2:
			ddi_upcall_enter();
			sched_yield();
			ddi_upcall_leave();
			break;
		default:
			if (i % 512 == 3)
				fork_and_wait();
		}
	}
	return NULL;
}

static bool all_counted(void)
{
	for (int i = 0; i < 100000; i++) {
		int n = 0;

		for (int s = 0; s < SENDERS; s++)
			n += ddi_load_acquire(&counted[s]);
		if (n >= SENDERS * MANY)
			return n == SENDERS * MANY;
		usleep(100);
	}
	return false;
}

TEST(no_note_waits_for_a_signal_that_was_lost)
{
	pid_t sender[SENDERS];
	pthread_t t[THREADS];
	int over = 0;

	for (int s = 0; s < SENDERS; s++)
		sender[s] = child(send_many, s);
	begin_with(in_order);
	for (int i = 0; i < THREADS; i++)
		check_eq(pthread_create(&t[i], NULL, disturb, &over), 0);
	for (int s = 0; s < SENDERS; s++)
		check_eq(kill(sender[s], SIGCONT), 0);
	check(all_counted());
	ddi_store_release(&over, 1);
	for (int i = 0; i < THREADS; i++)
		check_eq(pthread_join(t[i], NULL), 0);
	for (int s = 0; s < SENDERS; s++) {
		int status = -1;

		check_eq(waitpid(sender[s], &status, 0), sender[s]);
		check_eq(status, 0);
		check_eq(counted[s], MANY);
	}
	check_eq(out_of_order, 0);
	check_eq(bad_children, 0);
	end_of(&one);
}

/* ---- one of each --------------------------------------------------------------------- */

TEST(libraries_have_one_handle_and_one_list)
{
	struct dd *again;
	int list;

	check_eq(ddi_shared(&h), 0);
	check_eq(ddi_shared(&again), 0);
	check(h == again);
	list = ddi_shared_list();
	check(list > 0);
	check_eq(ddi_shared_list(), list);
}

/* ---- signals and order --------------------------------------------------------------- */

static struct sigaction library;
static int signals;

static void count_signal(int sig)
{
	signals++;
	library.sa_handler(sig);
}

/* A process that was stopped, say, does not get one signal for each note. */
TEST(one_signal_for_all_notes_of_a_list)
{
	struct sigaction counting;

	begin_with(see);
	check_eq(sigaction(SIGURG, NULL, &library), 0);
	counting = library;
	counting.sa_handler = count_signal;
	check_eq(sigaction(SIGURG, &counting, NULL), 0);
	ddi_upcall_block();
	signals = 0;
	for (int i = 0; i < 10; i++)
		check_eq(notify(&one, i), 0);
	check_eq(signals, 1);
	check_eq(handled, 0);
	check_eq(ddi_upcall_unblock(), 1);
	check_eq(handled, 10);
	for (int i = 10; i < 20; i++)
		check_eq(notify(&one, i), 0);
	check_eq(signals, 11);
	check_eq(handled, 20);
	for (int i = 0; i < 20; i++)
		check_eq(seen[i], i);
	check_eq(sigaction(SIGURG, &library, NULL), 0);
	end_of(&one);
}

TEST(a_call_of_the_library_defers_functions_to_its_end)
{
	begin_with(see);
	ddi_upcall_enter();
	check_eq(notify(&one, 1), 0);
	check_eq(notify(&one, 2), 0);
	ddi_upcall_enter();
	ddi_upcall_leave();
	check_eq(handled, 0);
	ddi_upcall_block();
	check_eq(ddi_upcall_unblock(), 1);
	check_eq(handled, 0);
	ddi_upcall_leave();
	check_eq(handled, 2);
	end_of(&one);
}

/* ---- blocks -------------------------------------------------------------------------- */

static int undone[4];

static void block_twice(const struct dd_note *note, void *data)
{
	ddi_upcall_block();
	ddi_upcall_block();
	for (int i = 0; i < (int)note->word; i++)
		undone[i] = ddi_upcall_unblock();
	see(note, data);
}

TEST(a_function_undoes_its_own_blocks)
{
	begin_with(block_twice);
	check_eq(notify(&one, 4), 0);
	check_eq(handled, 1);
	check_eq(undone[0], 0);
	check_eq(undone[1], 0);
	check_eq(undone[2], -EPERM);
	check_eq(undone[3], -EPERM);
	check_eq(ddi_upcall_unblock(), 1);
	/* One that it leaves is undone by the program. */
	check_eq(notify(&one, 1), 0);
	check_eq(handled, 2);
	check(ddi_upcall_blocked());
	check_eq(notify(&one, 4), 0);
	check_eq(handled, 2);
	check_eq(ddi_upcall_unblock(), 1);
	check_eq(handled, 3);
	end_of(&one);
}

static int inside;
static bool met;

static void *block_in_thread(void *arg)
{
	while (!ddi_load_acquire(&inside))
		sched_yield();
	ddi_upcall_block();
	met = ddi_load_acquire(&inside) == 1;
	*(int *)arg = ddi_load_acquire(&handled);
	check_eq(ddi_upcall_unblock(), 1);
	return NULL;
}

/* Another thread blocks while this runs. */
static void until_blocked(const struct dd_note *note, void *data)
{
	ddi_store_release(&inside, 1);
	while (!ddi_upcall_blocked())
		sched_yield();
	undone[0] = ddi_upcall_unblock();
	/* Long enough for the other thread, if it did not wait. */
	for (int i = 0; i < 100; i++)
		sched_yield();
	ddi_store_release(&inside, 2);
	see(note, data);
}

TEST(a_block_waits_for_the_function_of_another_thread)
{
	int handled_then = -1;
	pthread_t t;

	begin_with(until_blocked);
	inside = 0;
	check_eq(pthread_create(&t, NULL, block_in_thread, &handled_then), 0);
	check_eq(notify(&one, 1), 0);
	check_eq(pthread_join(t, NULL), 0);
	check_eq(undone[0], -EPERM);
	check(!met);
	check_eq(handled_then, 1);
	check(!ddi_upcall_blocked());
	end_of(&one);
}

static void on_program_signal(int sig)
{
	(void)sig;
	ddi_upcall_block();
	undone[0] = ddi_upcall_unblock();
}

static void raise_inside(const struct dd_note *note, void *data)
{
	raise(SIGUSR1);
	see(note, data);
}

static void until_released(const struct dd_note *note, void *data)
{
	ddi_store_release(&inside, 1);
	while (ddi_load_acquire(&inside) == 1)
		sched_yield();
	see(note, data);
}

static void mask(int how, int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	check_eq(pthread_sigmask(how, &set, NULL), 0);
}

/* A thread that functions run in, if the others block the signal. */
static void *run_functions(void *end)
{
	mask(SIG_UNBLOCK, SIGURG);
	while (!ddi_load_acquire((int *)end))
		sched_yield();
	return NULL;
}

TEST(a_signal_handler_of_the_program_blocks)
{
	int over = 0;
	pthread_t t;

	signal(SIGUSR1, on_program_signal);
	/* In a function, which is then that function's. */
	begin_with(raise_inside);
	check_eq(notify(&one, 1), 0);
	check_eq(handled, 1);
	check_eq(undone[0], 0);
	end_of(&one);
	/* In a call of the library, for which the function of another thread may wait. */
	begin_with(until_released);
	inside = 0;
	mask(SIG_BLOCK, SIGURG);
	check_eq(pthread_create(&t, NULL, run_functions, &over), 0);
	check_eq(notify(&one, 1), 0);
	while (!ddi_load_acquire(&inside))
		sched_yield();
	ddi_upcall_enter();
	raise(SIGUSR1);
	ddi_upcall_leave();
	check_eq(undone[0], 1);
	check_eq(handled, 0);
	ddi_store_release(&inside, 2);
	check(all_handled(1));
	ddi_store_release(&over, 1);
	check_eq(pthread_join(t, NULL), 0);
	mask(SIG_UNBLOCK, SIGURG);
	end_of(&one);
}

/* ---- notes that come faster than they are handled ------------------------------------ */

static int chain;

/* Each note causes the next one, so that the list is never empty. */
static void notify_again(const struct dd_note *note, void *data)
{
	if (note->word < (uint64_t)ddi_load(&chain) && notify(data, note->word + 1))
		abort();
	see(note, data);
}

TEST(the_program_goes_on_while_notes_keep_coming)
{
	int list, slots, turns = 0, last;

	begin_with(notify_again);
	list = ddi_shared_list();
	slots = ddi_note_slots(h, ddi_note_list(h, list));
	check(slots >= WINDOW);
	chain = 6 * slots;
	ddi_upcall_block();
	check_eq(notify(&one, 1), 0);
	check_eq(ddi_upcall_unblock(), 1);
	last = ddi_load(&handled);
	check(last > 0 && last <= slots);
	/* Without calls. */
	while (last < chain) {
		int now = ddi_load_acquire(&handled);

		turns += now != last;
		check(now - last <= slots);
		last = now;
	}
	check(turns >= 4);
	/* With calls. */
	handled = 0;
	check_eq(notify(&one, 1), 0);
	for (turns = 0; ddi_load(&handled) < chain; turns++) {
		ddi_upcall_enter();
		ddi_upcall_leave();
	}
	check(turns >= 2);
	check(all_handled(chain));
	end_of(&one);
}

/* Functions that run without a break in another thread let a change of the table in between. */
TEST(a_segment_is_added_while_notes_keep_coming)
{
	int over = 0;
	pthread_t t;

	begin_with(notify_again);
	chain = 0x7fffffff;
	mask(SIG_BLOCK, SIGURG);
	check_eq(pthread_create(&t, NULL, run_functions, &over), 0);
	check_eq(notify(&one, 1), 0);
	for (int i = 0; i < 20; i++) {
		check_eq(export_with(&two, '2', see), 0);
		end_of(&two);
	}
	ddi_store(&chain, 0);
	ddi_store_release(&over, 1);
	check_eq(pthread_join(t, NULL), 0);
	mask(SIG_UNBLOCK, SIGURG);
	end_of(&one);
}

/* ---- the table ----------------------------------------------------------------------- */

static void wrong(const struct dd_note *note, void *data)
{
	(void)note;
	(void)data;
	handled += 1000;
}

/* Entries are used again, and a note of the last user of one is no note of the next. */
TEST(the_table_has_65536_entries)
{
	static int cookie[ENTRIES];
	struct owned three;
	int n;

	begin_with(see);
	check_eq(export_with(&two, '2', see), 0);
	ddi_upcall_enter();
	ddi_upcall_hold();
	for (n = 0; n <= ENTRIES; n++) {
		cookie[n % ENTRIES] = ddi_upcall_add(wrong, NULL);
		if (cookie[n % ENTRIES] < 0)
			break;
	}
	check_eq(n, ENTRIES - 2);
	check_eq(cookie[n], -ENOSPC);
	ddi_upcall_release();
	ddi_upcall_leave();
	check_eq(export_with(&three, '3', see), -ENOSPC);
	/* Unread, as the segment ends; the next one gets its cookie. */
	ddi_upcall_block();
	check_eq(notify(&two, 1), 0);
	check(ddi_upcall_waits(two.segment));
	check(!ddi_upcall_waits(one.segment));
	end_of(&two);
	check_eq(export_with(&three, '3', wrong), 0);
	check_eq(three.cookie, two.cookie);
	check_eq(ddi_upcall_unblock(), 1);
	check_eq(handled, 0);
	check_eq(notify(&one, 7), 0);
	check_eq(handled, 1);
	end_of(&three);
	ddi_upcall_enter();
	ddi_upcall_hold();
	while (n--)
		ddi_upcall_del(cookie[n]);
	ddi_upcall_release();
	ddi_upcall_leave();
	end_of(&one);
}

/* ---- children ------------------------------------------------------------------------ */

static int in_parent;

static void fork_inside(const struct dd_note *note, void *data)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	see(note, data);
	if (pid) {
		in_parent = waitpid(pid, &status, 0) == pid ? status : -1;
		ddi_store(&inside, 1);
	}
}

/* A child has no functions, also if it was forked in one, and makes its own. */
TEST(a_child_of_fork_has_its_own)
{
	struct dd *own = NULL;
	int status = -1, fds = descriptors() - 1;	/* without the list's */
	pid_t pid;

	begin_with(fork_inside);
	ddi_upcall_block();
	check_eq(notify(&one, 1), 0);
	inside = 0;
	ddi_upcall_unblock();
	if (!inside) {
		/* The child, after its function has returned. The list's descriptor is closed. */
		page = NULL;
		if (handled != 1 || ddi_upcall_blocked() || ddi_upcall_unblock() != 1 ||
		    descriptors() != fds || raise(SIGURG) || ddi_shared(&own) || own == h)
			_exit(1);
		prepare();
		check_eq(export_with(&one, 'c', see), 0);
		check_eq(notify(&one, 3), 0);
		check(all_handled(1));
		check_eq(seen[0], 3);
		exit(test_failed);
	}
	check_eq(in_parent, 0);
	/* The parent's goes on. */
	check_eq(handled, 1);
	ddi_upcall_block();
	pid = fork();
	if (!pid)
		_exit(ddi_upcall_blocked());
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	check(ddi_upcall_blocked());
	check_eq(ddi_upcall_unblock(), 1);
	end_of(&one);
}
