// SPDX-License-Identifier: LGPL-2.1-only
/*
 * sb_stress.c - SBL: random stores to many mappings by several threads
 *
 * The mappings are to buffers of two processes, of the other node if the program is run by
 * across.sh. When the threads pause, one call of SBL has to have sent what they have stored.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "buffers.h"

#define MAPPINGS	64
#define THREADS		4
#define ROUNDS		40
#define STORES		300		/* of a thread in a round */
#define PAGES		2		/* of a mapping */
#define LEN		(PAGES * WORDS)
#define MARK		(MAPPINGS * LEN)	/* words of the board behind the buffers */

static Int32 *memory;
static pthread_barrier_t barrier;
static int kinds[MAPPINGS];		/* number of words */

static long job_export_half(long first, long step, long c)
{
	for (int i = first; i < MAPPINGS; i += step)
		if (SBL_ExportRecvBuf(board + i * LEN, LEN, i, NULL, 0))
			return i + 1;
	return SBL_ExportRecvBuf(board + MARK + first * WORDS, WORDS, 1000, NULL, 0);
}

static void *storing(void *arg)
{
	unsigned int seed = (long)arg;

	for (int round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&barrier);
		for (int i = 0; i < STORES; i++) {
			int m = rand_r(&seed) % MAPPINGS;
			Int32 *at = memory + m * LEN + rand_r(&seed) % kinds[m];

			switch (rand_r(&seed) % 3) {
			case 0:
				__atomic_store_n(at, rand_r(&seed), __ATOMIC_RELAXED);
				break;
			case 1:
				__atomic_fetch_add(at, 1, __ATOMIC_RELAXED);
				break;
			default:
				__atomic_store_n((char *)at + rand_r(&seed) % 4, rand_r(&seed),
						 __ATOMIC_RELAXED);
			}
		}
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

/* Messages behind the stores: when they are there, so are the stores. */
static bool round_compare(Int32 **marks, Int32 round)
{
	bool same = true;

	for (int o = 0; o < 2; o++) {
		check_eq(round % 2 ? SBL_SendMsg(&round, marks[o], 1) :
				     SBL_SendMsgWithNotify(&round, marks[o], 1), SBL_Success);
		check(arrives(board + MARK + o * WORDS, round));
	}
	for (int i = 0; i < MAPPINGS && same; i++)
		same = !memcmp(board + i * LEN, memory + i * LEN, 4 * kinds[i]);
	check(same);
	return same;
}

TEST(SBL_16_random_stores_to_64_mappings_by_4_threads)
{
	struct worker *owners[2] = { worker_new(THERE), worker_new(THERE) };
	pthread_t threads[THREADS];
	Int32 *marks[2], *at;
	int n;

	memory = mmap(NULL, MAPPINGS * LEN * 4, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(board, 0, BOARD * 4);
	for (int o = 0; o < 2; o++) {
		check_eq(worker_do(owners[o], job_export_half, o, 2, 0), SBL_Success);
		check_eq(SBL_ImportRecvBuf(node_there(), worker_pid(owners[o]), 1000, &marks[o], &n),
			 SBL_Success);
	}
	for (int i = 0; i < MAPPINGS; i++) {
		kinds[i] = i % 3 ? LEN : LEN - 700;
		check_eq(SBL_ImportRecvBuf(node_there(), worker_pid(owners[i % 2]), i, &at, &n),
			 SBL_Success);
		check_eq(SBL_Map(memory + i * LEN, at, kinds[i], 0), SBL_Success);
	}
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (long t = 0; t < THREADS; t++)
		check_eq(pthread_create(&threads[t], NULL, storing, (void *)(t + 1)), 0);
	for (int round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&barrier);
		/* While they store. */
		check_eq(SBL_SendMsg(&round, marks[round % 2] + 1, 1), SBL_Success);
		pthread_barrier_wait(&barrier);
		round_compare(marks, round + 1);
	}
	for (int t = 0; t < THREADS; t++)
		check_eq(pthread_join(threads[t], NULL), 0);
	for (int i = 0; i < MAPPINGS; i++) {
		check_eq(SBL_Unmap(memory + i * LEN), SBL_Success);
		for (int w = kinds[i]; w < LEN; w++)
			check_eq(board[i * LEN + w], 0);
	}
	for (int o = 0; o < 2; o++)
		worker_end(owners[o]);
}
