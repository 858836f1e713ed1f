// SPDX-License-Identifier: LGPL-2.1-only
/*
 * vm_redir.c - VMMC: transfer redirection, and the end of the data
 *
 * Each test names the requirements that it shows. This process exports buffers, a worker sends to
 * them, from the other node if the program is run by across.sh. DDP_LOSS says that the network
 * loses packets: then redirections may be partial.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "dd_mem.h"
#include "sender.h"

static int32 user[BULK] __attribute__((aligned(PAGE)));
static uint32 count, first;

/* Buffer 1, all of @words, is redirectable. */
#define OWN	(exported[1])

static void begin_redirectable(void)
{
	begin();
	memset(user, 0, sizeof(user));
	export_as(REDIRECTABLE(1), words, BULK, NULL);
}

static int32 word_of(long round, long i)
{
	return round << 20 | i;
}

static void send_words(long offset, long n, long round)
{
	check_eq(worker_do(sender, job_send_plain, 1, SPAN(offset, n), word_of(round, 0)),
		 vmmc_Success);
}

/* Words are bytes for libdd. */
static long job_put_bytes(long node, long of, long n)
{
	unsigned char key[DD_KEY_SIZE];
	struct dd_mem *mem;
	struct dd *h;

	buf_key(key, of, 1);
	if (dd_open(&h) || dd_import(h, node, DD_KEY_BUFFER, key, DD_CAN_PUT, &mem) ||
	    dd_put(mem, constant, n, 0, 0))
		return -1;
	return dd_shutdown(h);
}

static void put_bytes(long n)
{
	check_eq(worker_do(sender, job_put_bytes, buf_here(), buf_me(), n), 0);
}

TEST(VM_54_VM_55_VM_46_20_the_end_of_the_data)
{
	static const struct { long offset, n; } messages[] = {
		{ 0, 1 }, { 10, 5 }, { BULK - 1, 1 }, { 0, 3 },
	};
	static int32 plain[4];

	begin_redirectable();
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		vmmc_ClearDataEnd(OWN);
		check_eq(vmmc_DataEnd(OWN), vmmcErr_NoSuchError);
		/* Of the last message. */
		send_words(20, 20, 1);
		send_words(messages[i].offset, messages[i].n, 2);
		check_eq(vmmc_DataEnd(OWN), messages[i].offset + messages[i].n - 1);
	}
	/* A message of libdd's ends in a word. */
	put_bytes(2);
	check_eq(vmmc_DataEnd(OWN), 0);
	put_bytes(7);
	check_eq(vmmc_DataEnd(OWN), 1);
	/* For redirectable buffers only. */
	check_eq(buf_export(plain, 4, RW(2), NULL), 0);
	check_eq(vmmc_DataEnd(exported[2]), vmmcErr_BadRbufState);
	vmmc_ClearDataEnd(exported[2]);
	check_eq(buf_unexport(2), 0);
	check_eq(vmmc_DataEnd(exported[2]), vmmcErr_BadRbufState);
	check_eq(vmmc_DataEnd((vmmc_exphandle_t){ 0, 0 }), vmmcErr_BadRbufState);
	end(1);
}

/*
 * A redirection of the words from @from on has ended: each word of a message is in its place, and
 * nowhere else.
 */
static void check_words(long from, long offset, long n, long round)
{
	for (long i = 0; i < n; i++) {
		long at = offset + i - from;
		bool redirected = at >= first && at < first + (long)count;
		int32 in_user = at >= 0 && at < BULK ? user[at] : 0;

		if ((redirected ? in_user : words[offset + i]) == word_of(round, i) &&
		    (redirected ? words[offset + i] : in_user) != word_of(round, i))
			continue;
		printf("# word %ld of %ld, redirected %u from %u: %x in the buffer, %x\n", i, n,
		       count, first, words[offset + i], in_user);
		check(!"each word is where it should be");
		break;
	}
}

TEST(VM_78_VM_79_VM_80_a_message_is_stored_elsewhere)
{
	static const struct {
		long from, range;	/* words of the buffer that are redirected */
		long offset, n;		/* the message */
		uint32 count, first;	/* which words of the range were stored elsewhere */
	} t[] = {
		{ 100, 50, 90, 40, 30, 0 },
		{ 100, 50, 120, 60, 30, 20 },
		{ 100, 50, 90, 70, 50, 0 },
		{ 100, 50, 110, 7, 7, 10 },
	};

	begin_redirectable();
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		check_eq(vmmc_PostRedir(OWN, t[i].from, t[i].range, user), vmmc_Success);
		send_words(t[i].offset, t[i].n, i + 1);
		check_eq(vmmc_DataEnd(OWN), t[i].offset + t[i].n - 1);
		check_eq(vmmc_EndRedir(OWN, &count, &first), vmmc_Success);
		check_eq(count, t[i].count);
		check_eq(first, t[i].first);
		check_words(t[i].from, t[i].offset, t[i].n, i + 1);
	}
	/* One that is posted after the message; later messages do not know of it. */
	send_words(0, 100, 9);
	check_eq(vmmc_PostRedir(OWN, 0, BULK, user), vmmc_Success);
	check_eq(vmmc_EndRedir(OWN, &count, &first), vmmc_Success);
	check_eq(count, 0);
	check_words(0, 0, 100, 9);
	end(1);
}

static unsigned int seed;

static void pass_time(int most)
{
	seed = seed * 1103515245 + 12345;
	for (unsigned int n = (seed >> 16) % (most + 1); n-- > 0 && most-- > 0;)
		sched_yield();
}

/* Redirections are posted and ended at any time of a message. */
TEST(VM_80_posted_and_ended_while_the_message_arrives)
{
	const int rounds = far ? 60 : 200;
	int whole = 0, none = 0, part = 0;

	begin_redirectable();
	/* Messages take a while. */
	link_shape("rate 40mbit");
	for (int round = 1; round <= rounds; round++) {
		memset(words, 0, sizeof(words));
		memset(user, 0, sizeof(user));
		vmmc_ClearDataEnd(OWN);
		worker_begin(sender, job_send_plain, 1, SPAN(0, BULK), word_of(round, 0));
		if (round % 2)
			while (!load(&words[0]))
				sched_yield();
		else
			pass_time(20);
		check_eq(vmmc_PostRedir(OWN, 0, BULK, user), vmmc_Success);
		if (round % 3)
			check_eq(worker_result(sender), vmmc_Success);
		else
			pass_time(20);
		check_eq(vmmc_EndRedir(OWN, &count, &first), vmmc_Success);
		if (!(round % 3))
			check_eq(worker_result(sender), vmmc_Success);
		check_eq(vmmc_DataEnd(OWN), BULK - 1);
		check_words(0, 0, BULK, round);
		*(count == BULK ? &whole : count ? &part : &none) += 1;
	}
	printf("# redirected: %d whole, %d in part, %d not\n", whole, part, none);
	check(!far || getenv("DDP_LOSS") || part);
	link_shape(NULL);
	end(1);
}

TEST(VM_81_a_redirection_is_for_one_message)
{
	begin_redirectable();
	for (int i = 0; i < 2; i++) {
		/* One that was used is replaced. */
		check_eq(vmmc_PostRedir(OWN, 0, 100, user + 100 * i), vmmc_Success);
		send_words(0, 10, 3 * i + 1);
		send_words(10, 10, 3 * i + 2);
		send_words(0, 10, 3 * i + 3);
	}
	check_eq(vmmc_EndRedir(OWN, &count, &first), vmmc_Success);
	check_eq(count, 10);
	check_eq(first, 0);
	for (int i = 0; i < 10; i++) {
		check_eq(user[i], word_of(1, i));
		check_eq(user[100 + i], word_of(4, i));
		check_eq(user[10 + i], 0);
		check_eq(words[10 + i], word_of(5, i));
		check_eq(words[i], word_of(6, i));
	}
	end(1);
}

TEST(VM_78_VM_46_4_bad_redirections)
{
	int32 *hole = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct {
		uint32 from, n;
		int32 *user;
		vmmc_result_t code;
	} bad[] = {
		{ 0, BULK + 1, user, vmmcErr_BadArg },
		{ BULK, 1, user, vmmcErr_BadArg },
		{ 0xffffffff, 1, user, vmmcErr_BadArg },
		{ 0, 0, user, vmmcErr_BadSize },
		{ 0, 1, NULL, vmmcErr_BadArg },
		{ 0, 1, hole, vmmcErr_BadArg },
		{ 0, 1, (int32 *)((char *)user + 2), vmmcErr_BadAlignment },
	};
	static int32 plain[4];

	begin_redirectable();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		check_eq(vmmc_PostRedir(OWN, bad[i].from, bad[i].n, bad[i].user), bad[i].code);
	check_eq(vmmc_EndRedir(OWN, &count, &first), vmmcErr_BadRbufState);
	check_eq(vmmc_EndRedir(OWN, NULL, &first), vmmcErr_BadArg);
	check_eq(vmmc_EndRedir(OWN, &count, NULL), vmmcErr_BadArg);
	/* There is one at a time, until it is used. */
	check_eq(vmmc_PostRedir(OWN, 0, 10, user), vmmc_Success);
	check_eq(vmmc_PostRedir(OWN, 0, 10, user + 10), vmmcErr_BadRbufState);
	send_words(0, 10, 1);
	check_eq(vmmc_EndRedir(OWN, &count, &first), vmmc_Success);
	check_words(0, 0, 10, 1);
	check_eq(vmmc_EndRedir(OWN, &count, &first), vmmcErr_BadRbufState);
	check_eq(buf_export(plain, 4, RW(2), NULL), 0);
	check_eq(vmmc_PostRedir(exported[2], 0, 1, user), vmmcErr_BadRbufState);
	check_eq(vmmc_EndRedir(exported[2], &count, &first), vmmcErr_BadRbufState);
	munmap(hole, PAGE);
	end(2);
}

TEST(VM_82_VM_87_unexport_ends_a_redirection)
{
	begin_redirectable();
	check_eq(vmmc_PostRedir(OWN, 0, 100, user), vmmc_Success);
	end(1);
	check_eq(vmmc_EndRedir(OWN, &count, &first), vmmcErr_BadRbufState);
	check_eq(user[0], 0);
}

/* DataEnd is in place after the data: a receiver that polls it finds the whole message. */
TEST(VM_82_the_end_follows_the_data)
{
	begin_redirectable();
	for (int round = 1; round <= 50; round++) {
		int n = 1 + round * 37 % 5000;

		vmmc_ClearDataEnd(OWN);
		worker_begin(sender, job_send_plain, 1, SPAN(0, n), word_of(round, 0));
		while (vmmc_DataEnd(OWN) != n - 1)
			sched_yield();
		check_eq(words[n - 1], word_of(round, n - 1));
		check_eq(words[0], word_of(round, 0));
		check_eq(words[n / 2], word_of(round, n / 2));
		check_eq(worker_result(sender), vmmc_Success);
	}
	end(1);
}
