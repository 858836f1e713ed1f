// SPDX-License-Identifier: GPL-2.0-only
/*
 * member.c - processes that know each other by ADDRESS:NUMBER
 *
 * Copyright (C) 2026 The dd authors
 */
#include <arpa/inet.h>
#include <err.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "member.h"

void check(int code, const char *what)
{
	if (!code)
		return;
	SBL_Error(code, what);
	exit(1);
}

struct member member_self(void)
{
	return (struct member){ SBL_MyNode(), SBL_MySquid() };
}

struct member member_parse(const char *text)
{
	const char *colon = strchr(text, ':');
	struct in_addr address;
	char host[64];

	snprintf(host, sizeof(host), "%.*s", colon ? (int)(colon - text) : 0, text);
	if (!inet_aton(host, &address))
		errx(2, "%s: not ADDRESS:NUMBER", text);
	return (struct member){ address.s_addr, atoi(colon + 1) };
}

void member_print(struct member m)
{
	const struct in_addr address = { m.node };

	printf("%s:%d\n", inet_ntoa(address), m.squid);
	fflush(stdout);
}

Int32 *member_import(struct member m, unsigned int id)
{
	Int32 *proxy;
	int nwords;

	check(SBL_ImportRecvBuf(m.node, m.squid, id, &proxy, &nwords), "import");
	return proxy;
}

void wait_until(const Int32 *word, Int32 value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
		sched_yield();
}

void wait_while(const Int32 *word, Int32 value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
		sched_yield();
}

void store_last(Int32 *word, Int32 value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}
