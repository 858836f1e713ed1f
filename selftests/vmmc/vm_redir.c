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
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dd_mem.h"
#include "buffers.h"

#define BULK	(64 * WORDS)

/* ---- jobs of the sender ------------------------------------------------------------ */

static vmmc_imphandle_t imported;
static int32 *at;
static int32 message[BULK];

static long job_import(long node, long pid, long c)
{
	vmmc_node_t n = { node };
	uint32 size;

	return vmmc_ImportRecvBuf(n, pid, 1, &imported, &at, &size);
}

static int32 word_of(long round, long i)
{
	return round << 20 | i;
}

/* Send a message and wait for its end, in the buffer or elsewhere. */
static long job_send(long offset, long n, long round)
{
	vmmc_async_handle_t h;
	vmmc_result_t ret;
	int32 word;

	for (long i = 0; i < n; i++)
		message[i] = word_of(round, i);
	ret = vmmc_SendDataAsync(message, at + offset, n, &h);
	if (ret)
		return ret;
	while ((ret = vmmc_AsyncStatus(&h)) == vmmcErr_InProgress)
		sched_yield();
	return ret ? ret : vmmc_GetData(&word, at, 1);
}

/* Words are bytes for libdd. */
static long job_put_bytes(long node, long pid, long n)
{
	unsigned char key[DD_KEY_SIZE] = { pid, pid >> 8, pid >> 16, pid >> 24, 1, [8] = 'V' };
	struct dd_mem *mem;
	struct dd *h;

	if (dd_open(&h) || dd_import(h, node, DD_KEY_BUFFER, key, DD_CAN_PUT, &mem) ||
	    dd_put(mem, message, n, 0, 0))
		return -1;
	return dd_shutdown(h);
}

static struct worker *sender;

/* ---- this process -------------------------------------------------------------------- */

static int32 buf[BULK] __attribute__((aligned(PAGE)));
static int32 user[BULK] __attribute__((aligned(PAGE)));
static vmmc_exphandle_t own;
static uint32 count, first;
static bool lossy;

static void begin(void)
{
	lossy = getenv("DDP_LOSS") != NULL;
	sender = worker_new(THERE);
	memset(buf, 0xff, sizeof(buf));
	memset(user, 0xff, sizeof(user));
	check_eq(vmmc_ExportRecvBuf(buf, BULK, 1, NULL, BUF_READWRITE | BUF_REDIRECTABLE,
				    VMMC_PERM_ANY, &own), vmmc_Success);
	check_eq(worker_do(sender, job_import, vmmc_MyNode().number, vmmc_MyPid(), 0),
		 vmmc_Success);
}

static void end(void)
{
	check_eq(vmmc_UnexportRecvBuf(own), vmmc_Success);
	worker_end(sender);
}

static void send_words(long offset, long n, long round)
{
	check_eq(worker_do(sender, job_send, offset, n, round), vmmc_Success);
}

TEST(VM_54_VM_55_VM_46_20_the_end_of_the_data)
{
	vmmc_exphandle_t plain, none = { 0, 0 };
	static int32 word[4];

	begin();
	check_eq(vmmc_DataEnd(own), vmmcErr_NoSuchError);
	send_words(0, 1, 1);
	check_eq(vmmc_DataEnd(own), 0);
	send_words(10, 5, 2);
	check_eq(vmmc_DataEnd(own), 14);
	check_eq(buf[14], word_of(2, 4));
	vmmc_ClearDataEnd(own);
	check_eq(vmmc_DataEnd(own), vmmcErr_NoSuchError);
	send_words(BULK - 1, 1, 3);
	check_eq(vmmc_DataEnd(own), BULK - 1);
	send_words(0, 3, 4);
	check_eq(vmmc_DataEnd(own), 2);
	/* A message of libdd's that ends in a word. */
	check_eq(worker_do(sender, job_put_bytes, vmmc_MyNode().number, vmmc_MyPid(), 2), 0);
	check_eq(vmmc_DataEnd(own), 0);
	check_eq(worker_do(sender, job_put_bytes, vmmc_MyNode().number, vmmc_MyPid(), 7), 0);
	check_eq(vmmc_DataEnd(own), 1);
	/* For redirectable buffers only. */
	check_eq(vmmc_ExportRecvBuf(word, 4, 2, NULL, BUF_READWRITE, VMMC_PERM_ANY, &plain),
		 vmmc_Success);
	check_eq(vmmc_DataEnd(plain), vmmcErr_BadRbufState);
	vmmc_ClearDataEnd(plain);
	check_eq(vmmc_UnexportRecvBuf(plain), vmmc_Success);
	check_eq(vmmc_DataEnd(plain), vmmcErr_BadRbufState);
	check_eq(vmmc_DataEnd(none), vmmcErr_BadRbufState);
	end();
}

/* Which words of a message were redirected, from @from of the message on. */
static void check_words(long offset, long n, long round)
{
	for (long i = 0; i < n; i++) {
		bool redirected = offset + i >= first && offset + i < first + (long)count;
		int32 *place = redirected ? user : buf;

		if (place[offset + i] != word_of(round, i)) {
			printf("# word %ld of %ld, redirected %u from %u: %x in the buffer, %x\n", i, n,
			       count, first, buf[offset + i], user[offset + i]);
			check(!"each word is where it should be");
			return;
		}
	}
}

TEST(VM_78_VM_79_a_message_is_stored_elsewhere)
{
	begin();
	check_eq(vmmc_PostRedir(own, 100, 50, user + 100), vmmc_Success);
	send_words(90, 40, 1);
	check_eq(vmmc_DataEnd(own), 129);
	check_eq(vmmc_EndRedir(own, &count, &first), vmmc_Success);
	/* Words 100 to 129 of the buffer, the first ones of the range. */
	check_eq(count, 30);
	check_eq(first, 0);
	for (int i = 0; i < 40; i++) {
		check_eq((i < 10 ? buf : user)[90 + i], word_of(1, i));
		check_eq((i < 10 ? user : buf)[90 + i], -1);
	}
	/* A message that begins inside of the range. */
	check_eq(vmmc_PostRedir(own, 100, 50, user + 1000), vmmc_Success);
	send_words(120, 60, 2);
	check_eq(vmmc_EndRedir(own, &count, &first), vmmc_Success);
	check_eq(count, 30);
	check_eq(first, 20);
	for (int i = 0; i < 60; i++)
		check_eq(i < 30 ? user[1020 + i] : buf[120 + i], word_of(2, i));
	/* The sender, and later messages, do not know of it. */
	send_words(100, 50, 3);
	check_eq(buf[100], word_of(3, 0));
	end();
}

TEST(VM_80_posted_before_the_message)
{
	static const uint32 sizes[] = { 1, 2, 3, 1023, 1024, 1025, BULK };

	begin();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		vmmc_ClearDataEnd(own);
		check_eq(vmmc_PostRedir(own, 0, BULK, user), vmmc_Success);
		send_words(0, sizes[i], i);
		check_eq(vmmc_DataEnd(own), sizes[i] - 1);
		check_eq(vmmc_EndRedir(own, &count, &first), vmmc_Success);
		check(lossy || (count == sizes[i] && !first));
		check_words(0, sizes[i], i);
	}
	end();
}

TEST(VM_80_posted_after_the_message)
{
	begin();
	send_words(0, 100, 1);
	check_eq(vmmc_PostRedir(own, 0, BULK, user), vmmc_Success);
	check_eq(vmmc_EndRedir(own, &count, &first), vmmc_Success);
	check_eq(count, 0);
	check_words(0, 100, 1);
	check_eq(user[0], -1);
	end();
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
	int whole = 0, none = 0, part = 0, rounds;

	begin();
	/* Messages take a while. */
	link_shape("rate 40mbit");
	rounds = far ? 60 : 200;
	for (int round = 1; round <= rounds; round++) {
		memset(buf, 0xff, sizeof(buf));
		memset(user, 0xff, sizeof(user));
		vmmc_ClearDataEnd(own);
		worker_begin(sender, job_send, 0, BULK, round);
		if (round % 2)
			while (__atomic_load_n(&buf[0], __ATOMIC_ACQUIRE) == -1)
				sched_yield();
		else
			pass_time(20);
		check_eq(vmmc_PostRedir(own, 0, BULK, user), vmmc_Success);
		if (round % 3)
			check_eq(worker_result(sender), vmmc_Success);
		else
			pass_time(20);
		check_eq(vmmc_EndRedir(own, &count, &first), vmmc_Success);
		if (!(round % 3))
			check_eq(worker_result(sender), vmmc_Success);
		check_eq(vmmc_DataEnd(own), BULK - 1);
		check_words(0, BULK, round);
		*(count == BULK ? &whole : count ? &part : &none) += 1;
	}
	printf("# redirected: %d whole, %d in part, %d not\n", whole, part, none);
	check(!far || lossy || part);
	link_shape(NULL);
	end();
}

TEST(VM_81_a_redirection_is_for_one_message)
{
	begin();
	check_eq(vmmc_PostRedir(own, 0, 100, user), vmmc_Success);
	send_words(0, 10, 1);
	send_words(10, 10, 2);
	send_words(0, 10, 3);
	check_eq(vmmc_EndRedir(own, &count, &first), vmmc_Success);
	check_eq(count, 10);
	check_eq(first, 0);
	for (int i = 0; i < 10; i++) {
		check_eq(user[i], word_of(1, i));
		check_eq(user[10 + i], -1);
		check_eq(buf[10 + i], word_of(2, i));
		check_eq(buf[i], word_of(3, i));
	}
	/* One that was used is replaced. */
	check_eq(vmmc_PostRedir(own, 0, 100, user), vmmc_Success);
	send_words(0, 10, 4);
	check_eq(vmmc_PostRedir(own, 0, 100, user + 100), vmmc_Success);
	send_words(0, 10, 5);
	check_eq(vmmc_EndRedir(own, &count, &first), vmmc_Success);
	check_eq(count, 10);
	check_eq(user[0], word_of(4, 0));
	check_eq(user[100], word_of(5, 0));
	end();
}

TEST(VM_78_VM_46_4_bad_redirections)
{
	static int32 words[4];
	vmmc_exphandle_t plain, none = { 0, 0 };
	int32 *hole = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	begin();
	check_eq(vmmc_EndRedir(own, &count, &first), vmmcErr_BadRbufState);
	check_eq(vmmc_PostRedir(own, 0, BULK + 1, user), vmmcErr_BadArg);
	check_eq(vmmc_PostRedir(own, BULK, 1, user), vmmcErr_BadArg);
	check_eq(vmmc_PostRedir(own, 0xffffffff, 1, user), vmmcErr_BadArg);
	check_eq(vmmc_PostRedir(own, 0, 0, user), vmmcErr_BadSize);
	check_eq(vmmc_PostRedir(own, 0, 1, NULL), vmmcErr_BadArg);
	check_eq(vmmc_PostRedir(own, 0, 1, hole), vmmcErr_BadArg);
	check_eq(vmmc_PostRedir(own, 0, 1, (int32 *)((char *)user + 2)), vmmcErr_BadAlignment);
	check_eq(vmmc_PostRedir(none, 0, 1, user), vmmcErr_BadRbufState);
	check_eq(vmmc_EndRedir(own, NULL, &first), vmmcErr_BadArg);
	check_eq(vmmc_EndRedir(own, &count, NULL), vmmcErr_BadArg);
	check_eq(vmmc_PostRedir(own, 0, 10, user), vmmc_Success);
	check_eq(vmmc_PostRedir(own, 0, 10, user + 10), vmmcErr_BadRbufState);
	send_words(0, 10, 1);
	check_eq(vmmc_EndRedir(own, &count, &first), vmmc_Success);
	check_eq(count, 10);
	check_eq(user[9], word_of(1, 9));
	check_eq(vmmc_EndRedir(own, &count, &first), vmmcErr_BadRbufState);
	check_eq(vmmc_ExportRecvBuf(words, 4, 2, NULL, BUF_READWRITE, VMMC_PERM_ANY, &plain),
		 vmmc_Success);
	check_eq(vmmc_PostRedir(plain, 0, 1, user), vmmcErr_BadRbufState);
	check_eq(vmmc_EndRedir(plain, &count, &first), vmmcErr_BadRbufState);
	check_eq(vmmc_UnexportRecvBuf(plain), vmmc_Success);
	munmap(hole, PAGE);
	end();
}

/* The place of the redirection may be at any time the end of the export. */
TEST(VM_82_VM_87_unexport_ends_a_redirection)
{
	begin();
	check_eq(vmmc_PostRedir(own, 0, 100, user), vmmc_Success);
	check_eq(vmmc_UnexportRecvBuf(own), vmmc_Success);
	check_eq(vmmc_EndRedir(own, &count, &first), vmmcErr_BadRbufState);
	check_eq(worker_do(sender, job_send, 0, 1, 0), vmmcErr_BadIbufState);
	check_eq(user[0], -1);
	worker_end(sender);
}

/* DataEnd is in place after the data: a receiver that polls it finds the whole message. */
TEST(VM_82_the_end_follows_the_data)
{
	begin();
	for (int round = 1; round <= 50; round++) {
		int n = 1 + round * 37 % 5000;

		vmmc_ClearDataEnd(own);
		worker_begin(sender, job_send, 0, n, round);
		while (vmmc_DataEnd(own) != n - 1)
			sched_yield();
		check_eq(buf[n - 1], word_of(round, n - 1));
		check_eq(buf[0], word_of(round, 0));
		check_eq(buf[n / 2], word_of(round, n / 2));
		check_eq(worker_result(sender), vmmc_Success);
	}
	end();
}
