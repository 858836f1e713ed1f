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

/* ---- an exported segment, and what its function has seen ----------------------------- */

static struct dd *h;
static char *page;
static int cookie;
static int handled;
static uint64_t seen;	/* word of the latest note, by the function */
static char id = '1';	/* of the segment, in its key */

static void see(const struct dd_note *note, void *data)
{
	(void)data;
	seen = note->word;
	ddi_store_release(&handled, ddi_load(&handled) + 1);
}

static bool all_handled(int n)
{
	for (int i = 0; i < 10000 && ddi_load_acquire(&handled) < n; i++)
		usleep(1000);
	return ddi_load_acquire(&handled) == n;
}

static struct dd_export_attr own_attributes(void)
{
	struct dd_export_attr a = attributes();

	a.key[strlen((char *)a.key)] = id;
	return a;
}

static void begin_with(ddi_upcall_fn fn)
{
	struct dd_export_attr a = own_attributes();

	handled = 0;
	check_eq(ddi_shared(&h), 0);
	if (!page) {
		check_eq(dd_open(&im), 0);
		page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		check_eq(dd_pin(h, page, PAGE), 0);
	}
	ddi_upcall_enter();
	a.addr = page;
	a.notify = DD_NOTIFY_ALWAYS;
	a.list = ddi_shared_list();
	a.window = WINDOW;
	ddi_upcall_hold();
	cookie = ddi_upcall_add(fn, NULL);
	a.cookie = cookie;
	check_eq(dd_export(h, &a, &segment), 0);
	ddi_upcall_set(cookie, segment);
	ddi_upcall_release();
	ddi_upcall_leave();
	check_eq(dd_import(im, dd_node(im), a.key_class, a.key, ALL, &mem), 0);
}

static void end_segment(void)
{
	check_eq(dd_unimport(mem), 0);
	check_eq(dd_unexport(h, segment), 0);
	ddi_upcall_enter();
	ddi_upcall_hold();
	ddi_upcall_del(cookie);
	ddi_upcall_release();
	ddi_upcall_leave();
}

static int notify(uint64_t word)
{
	return dd_put(mem, &word, sizeof(word), 0, 0);
}

/* ---- the handle and the list --------------------------------------------------------- */

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static int failing(const void *arg)
{
	static const unsigned long steps[] = { DD_IOC_LIST_MAKE, DD_IOC_LIST_FD };
	static const char *const signals[] = { "9", "0", "URG", "4000" };
	int fds;

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
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		setenv("DD_SIGNAL", signals[i], 1);
		check_eq(ddi_shared_list(), -EINVAL);
		check_eq(descriptors(), fds);
	}
	/* A real-time signal. */
	setenv("DD_SIGNAL", "40", 1);
	check(ddi_shared_list() > 0);
	check_eq(descriptors(), fds + 1);
	return 0;
}

TEST(a_call_that_failed_is_made_again)
{
	/* This process is to have no list yet. */
	check_eq(in_child(failing, NULL), 0);
}

/* ---- nothing is lost ----------------------------------------------------------------- */

#define SENDERS	2
#define THREADS	3
#define MANY	4000

static int counted[SENDERS], out_of_order;

static void in_order(const struct dd_note *note, void *data)
{
	int sender = note->word >> 32, number = note->word;

	(void)data;
	if (number != counted[sender])
		out_of_order++;
	ddi_store_release(&counted[sender], counted[sender] + 1);
}

static long send_many(long sender, long b, long c)
{
	struct dd_export_attr a = own_attributes();
	struct dd *own;
	int ret;

	ret = dd_open(&own);
	if (!ret)
		ret = dd_import(own, dd_node(own), a.key_class, a.key, ALL, &mem);
	for (uint32_t i = 0; i < MANY && !ret; i++) {
		uint64_t word = (uint64_t)sender << 32 | i;

		while ((ret = dd_put(mem, &word, sizeof(word), 8 * sender, 0)) == -EBUSY)
			sched_yield();
	}
	return ret;
}

/* What programs do meanwhile. */
static void *disturb(void *over)
{
	for (unsigned int i = 0; !ddi_load_acquire((int *)over); i++) {
		switch (i % 3) {
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
		default:
			ddi_upcall_enter();
			sched_yield();
			ddi_upcall_leave();
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

TEST(notes_stay_in_order_while_their_list_grows)
{
	struct dd_export_attr a = own_attributes();
	struct dd_mem *more[7];
	uint64_t word = 0;

	begin_with(in_order);
	counted[0] = 0;
	ddi_upcall_block();
	for (; word < 2; word++)
		check_eq(notify(word), 0);
	for (int i = 0; i < 7; i++)
		check_eq(dd_import(im, dd_node(im), a.key_class, a.key, ALL, &more[i]), 0);
	for (int i = 0; i < 7; i++, word++)
		check_eq(dd_put(more[i], &word, sizeof(word), 0, 0), 0);
	check_eq(ddi_upcall_unblock(), 1);
	check_eq(counted[0], word);
	check_eq(out_of_order, 0);
	for (int i = 0; i < 7; i++)
		check_eq(dd_unimport(more[i]), 0);
	end_segment();
}

TEST(no_note_waits_for_a_signal_that_was_lost)
{
	struct worker *sender[SENDERS];
	pthread_t t[THREADS];
	int over = 0;

	for (int s = 0; s < SENDERS; s++)
		sender[s] = worker_new(HERE);
	begin_with(in_order);
	counted[0] = 0;
	for (int i = 0; i < THREADS; i++)
		check_eq(pthread_create(&t[i], NULL, disturb, &over), 0);
	for (int s = 0; s < SENDERS; s++)
		worker_begin(sender[s], send_many, s, 0, 0);
	check(all_counted());
	ddi_store_release(&over, 1);
	for (int i = 0; i < THREADS; i++)
		check_eq(pthread_join(t[i], NULL), 0);
	for (int s = 0; s < SENDERS; s++) {
		check_eq(worker_result(sender[s]), 0);
		worker_end(sender[s]);
		check_eq(counted[s], MANY);
	}
	check_eq(out_of_order, 0);
	end_segment();
}

/* ---- blocks -------------------------------------------------------------------------- */

static void mask(int how, int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	check_eq(pthread_sigmask(how, &set, NULL), 0);
}

static int undone;

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
	undone = ddi_upcall_unblock();
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
	/* The other thread gets no signal, that of the test before neither. */
	mask(SIG_BLOCK, SIGURG);
	check_eq(pthread_create(&t, NULL, block_in_thread, &handled_then), 0);
	mask(SIG_UNBLOCK, SIGURG);
	check_eq(notify(1), 0);
	check_eq(pthread_join(t, NULL), 0);
	check_eq(undone, -EPERM);
	check(!met);
	check_eq(handled_then, 1);
	check(!ddi_upcall_blocked());
	end_segment();
}

static void on_program_signal(int sig)
{
	(void)sig;
	ddi_upcall_block();
	undone = ddi_upcall_unblock();
}

static void until_released(const struct dd_note *note, void *data)
{
	ddi_store_release(&inside, 1);
	while (ddi_load_acquire(&inside) == 1)
		sched_yield();
	see(note, data);
}

/* A thread that functions run in, if the others block the signal. */
static void *run_functions(void *end)
{
	mask(SIG_UNBLOCK, SIGURG);
	while (!ddi_load_acquire((int *)end))
		sched_yield();
	return NULL;
}

/* In a call of the library, for which the function of another thread may wait. */
TEST(a_signal_handler_of_the_program_blocks)
{
	int over = 0;
	pthread_t t;

	signal(SIGUSR1, on_program_signal);
	begin_with(until_released);
	inside = 0;
	mask(SIG_BLOCK, SIGURG);
	check_eq(pthread_create(&t, NULL, run_functions, &over), 0);
	check_eq(notify(1), 0);
	while (!ddi_load_acquire(&inside))
		sched_yield();
	ddi_upcall_enter();
	raise(SIGUSR1);
	ddi_upcall_leave();
	check_eq(undone, 1);
	check_eq(handled, 0);
	ddi_store_release(&inside, 2);
	check(all_handled(1));
	ddi_store_release(&over, 1);
	check_eq(pthread_join(t, NULL), 0);
	mask(SIG_UNBLOCK, SIGURG);
	end_segment();
}

/* ---- notes that come faster than they are handled ------------------------------------ */

static int chain;

/* Each note causes the next one, so that the list is never empty. */
static void notify_again(const struct dd_note *note, void *data)
{
	if (note->word < (uint64_t)ddi_load(&chain) && notify(note->word + 1))
		abort();
	see(note, data);
}

TEST(the_program_goes_on_while_notes_keep_coming)
{
	int list, slots, turns = 0, last = 0;

	begin_with(notify_again);
	list = ddi_shared_list();
	slots = ddi_note_slots(h, ddi_note_list(h, list));
	check(slots >= WINDOW);
	chain = 6 * slots;
	ddi_upcall_block();
	check_eq(notify(1), 0);
	check_eq(ddi_upcall_unblock(), 1);
	while (last < chain) {
		int now = ddi_load_acquire(&handled);

		turns += now != last;
		check(now - last <= slots);
		last = now;
	}
	check(turns >= 5);
	end_segment();
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
	int fds = descriptors() - 1;	/* without the list's */

	begin_with(fork_inside);
	ddi_upcall_block();
	check_eq(notify(1), 0);
	inside = 0;
	ddi_upcall_unblock();
	if (!inside) {
		/* The child, after its function has returned. The list's descriptor is closed. */
		page = NULL;
		if (handled != 1 || ddi_upcall_blocked() || ddi_upcall_unblock() != 1 ||
		    descriptors() != fds || raise(SIGURG) || ddi_shared(&own) || own == h)
			_exit(1);
		id = 'c';
		begin_with(see);
		check_eq(notify(3), 0);
		check(all_handled(1));
		check_eq(seen, 3);
		exit(test_failed);
	}
	check_eq(in_parent, 0);
	/* The parent's goes on. */
	check_eq(handled, 1);
	end_segment();
}
