// SPDX-License-Identifier: GPL-2.0-only
/*
 * blackboard - what each of several processes writes, all of them read
 *
 *   blackboard 0 MEMBERS TEXT                  print ADDRESS:NUMBER, for the others
 *   blackboard INDEX MEMBERS TEXT ADDRESS:NUMBER
 *
 * Each process has the board in a buffer, and a page on it. It keeps a copy of its page for each
 * other member, which is mapped to that member's board: an address has one destination. Member 0
 * tells all of them about the others, by messages.
 *
 *	cc blackboard.c member.c -o blackboard $(pkg-config --cflags --libs libsbl)
 *
 * Copyright (C) 2026 The dd authors
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "member.h"

#define MEMBERS_MAX	8
#define BOARD		1	/* numbers of buffers */
#define TABLE		2

/* A page of the board. What is stored last has the highest address. */
struct note {
	char text[WORDS * sizeof(Int32) - 2 * sizeof(Int32)];
	Int32 written;
	Int32 read;		/* all pages */
};

static struct note board[MEMBERS_MAX] __attribute__((aligned(4096)));
static struct note own[MEMBERS_MAX] __attribute__((aligned(4096)));

/* The last word is 1 when the members are known. */
static struct {
	struct member member[MEMBERS_MAX];
	Int32 complete;
} table;

#define WORDS_OF(x)	((int)(sizeof(x) / sizeof(Int32)))

/* Member 0 collects the others, and sends the table to them. */
static void collect(int count)
{
	member_print(member_self());
	table.member[0] = member_self();
	for (int i = 1; i < count; i++)
		wait_while(&table.member[i].squid, 0);
	table.complete = 1;
	for (int i = 1; i < count; i++)
		check(SBL_SendMsg((Int32 *)&table, member_import(table.member[i], TABLE),
				  WORDS_OF(table)), "table");
}

static void join(struct member first, int index)
{
	const struct member self = member_self();
	Int32 *proxy = member_import(first, TABLE);

	check(SBL_SendMsg((const Int32 *)&self, proxy + index * WORDS_OF(self), WORDS_OF(self)),
	      "join");
	wait_until(&table.complete, 1);
}

/* The page of member @index on all boards, this process' own one too. */
static void map_all(int index, int count)
{
	for (int i = 0; i < count; i++)
		check(SBL_Map((Int32 *)&own[i], member_import(table.member[i], BOARD) +
			      index * WORDS, WORDS, 0), "map");
}

static void write_all(const char *text, int count)
{
	for (int i = 0; i < count; i++) {
		snprintf(own[i].text, sizeof(own[i].text), "%s", text);
		store_last(&own[i].written, 1);
	}
}

static void read_all(int count)
{
	for (int i = 0; i < count; i++) {
		wait_until(&board[i].written, 1);
		printf("%d: %s\n", i, board[i].text);
	}
}

/* A process that ends earlier would end its board under the others. */
static void leave(int count)
{
	for (int i = 0; i < count; i++)
		store_last(&own[i].read, 1);
	for (int i = 0; i < count; i++)
		wait_until(&board[i].read, 1);
}

int main(int argc, char **argv)
{
	int index = argc > 1 ? atoi(argv[1]) : -1, count = argc > 2 ? atoi(argv[2]) : 0;

	if (count < 1 || count > MEMBERS_MAX || index < 0 || index >= count ||
	    argc != (index ? 5 : 4))
		errx(2, "usage: blackboard INDEX MEMBERS TEXT [ADDRESS:NUMBER]");
	check(SBL_ExportRecvBuf((Int32 *)board, count * WORDS, BOARD, NULL, 0), "export");
	check(SBL_ExportRecvBuf((Int32 *)&table, WORDS_OF(table), TABLE, NULL, 0), "export");
	if (index)
		join(member_parse(argv[4]), index);
	else
		collect(count);
	map_all(index, count);
	write_all(argv[3], count);
	read_all(count);
	leave(count);
	return 0;
}
