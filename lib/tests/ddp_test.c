// SPDX-License-Identifier: LGPL-2.1-only
/*
 * ddp_test.c - the documented calls, over a kernel made of user code
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/dd.h>

#include "fake.h"
#include "fedex.h"
#include "tap.h"

#define PAGE	0x1000
#define fails(call, error) \
	(errno = 0, check_eq((call), -1), check_eq(errno, (error)))

static noteid_t noteid, cnoteid;
static servid_t servid;
static connid_t connid;
static address_t in, out, req, rep;
static void *nowhere;			/* mapped, not accessible */
static void *readonly;

/* Before anything else has been called. */
/* Runs dderror() with standard error in a file: what it wrote. */
static const char *said(int error, const char *prefix)
{
	static char text[256];
	int saved = dup(2), fd = memfd_create("stderr", 0);
	ssize_t n;

	dup2(fd, 2);
	errno = error;
	dderror("%s %d", prefix, 7);
	check_eq(errno, error);
	dup2(saved, 2);
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = 0;
	close(fd);
	close(saved);
	return text;
}

static void without_a_handle(void)
{
	ddrecv_desc_t desc;
	struct timeval zero = { 0 };
	noteid_t id = 5;
	size_t size;
	connid_t c;
	address_t a;

	fake_reset();
	fake.absent = ENOENT;
	check(strstr(said(ENOCMP, "call"), "modprobe dd") != NULL);
	fails(ddclose(5), EBADID);
	fails(ddunserve(5), EBADID);
	fails(ddsend(5, NULL, 0, 0, 0), EBADID);
	fails(dddone(5, 0), EBADID);
	fails(ddrecv(5, &desc, RECV_NOBLOCK, 0), EBADID);
	fails(ddcall(5, NULL, 0, &a, &size), EBADID);
	fails(ddready(5), EBADID);
	fails(ddpeek(5, &size, &c), EBADID);
	fails(ddpoll(1, &id, &zero), EBADID);
	/* DDP-21, DDP-30: nothing that serves these. */
	fails(ddmynode(), ENOCMP);
	fails(ddmaxnodes(), ENOCMP);
	fails(ddpacketssize(), ENOCMP);
	errno = 0;
	check(!ddalloc(PAGE));
	check_eq(errno, ENOCMP);
	fails(ddserve("x", 0, 1, NULL, 0, NULL, 0, &id, &servid), ENOCMP);
	fails(ddconn("x", 1, TYPE_SPLIT, 0, NULL, 0, NULL, 0, &c, &id), ENOCMP);
	fake.absent = EACCES;
	fails(ddmynode(), EACCES);
	fake.absent = 0;
}

static void connects(void)
{
	in = ddalloc(PAGE);
	out = ddalloc(PAGE);
	check(in && out && !((uintptr_t)in % 128));
	check_eq(ddserve("echo", SERVE_NOOPTS, 2, in, PAGE, out, PAGE,
			 &noteid, &servid), 0);
	req = ddalloc(PAGE);
	rep = ddalloc(PAGE);
	check_eq(ddconn("echo", 1, TYPE_SPLIT, CONN_NOOPTS, req, PAGE, rep,
			PAGE, &connid, &cnoteid), 0);
	check(noteid && servid && connid && cnoteid);
	check_eq(ddmynode(), 1);
	check_eq(ddmaxnodes(), 2);
	check_eq(ddpacketssize(), 65536);
	check_eq(ddpacketsize(), 65536);
	errno = 0;
	check(!ddalloc(0));
	check_eq(errno, EINVAL);
}

static void message_and_reply(void)
{
	unsigned int meta[2] = { 7, 8 };
	ddrecv_desc_t desc = { .metad = { 1, 1, 1, 1 } };
	conninfo_t info;
	size_t length;
	connid_t c;

	strcpy(req, "hello");
	check_eq(ddpeek(noteid, &length, &c), 0);
	check_eq(length, 0);
	check_eq(c, -1);
	check_eq(ddsend_with_metadata(connid, req, 5, 8, SEND_NOOPTS,
				      (address_t)meta, 2), 0);
	check_eq(dddone(connid, SDONE_SLEEP), 1);
	check_eq(ddready(noteid), 1);
	check_eq(ddpeek(noteid, &length, &c), 0);
	check_eq(length, 5);
	check_eq(ddrecv(noteid, &desc, RECV_SPIN, NULL), 0);
	check_eq(desc.connid, c);
	check_eq(desc.servid, servid);
	check(desc.msgaddr == in + 8);
	check_eq(desc.msgsize, 5);
	check_eq(desc.metacount, 2);
	check_eq(desc.metad[1], 8);
	check_eq(desc.metad[2], 1);
	check(!DD_ISCONN(&desc));
	check_eq(ddconninfo(desc.connid, &info), 0);
	check(info.sendbase == out && info.sendsize == PAGE / 2);
	check(info.recvbase == in && info.recvsize == PAGE / 2);
	check_eq(info.noteid, noteid);
	check_eq(info.msgid_recv, 1);
	check_eq(info.remotesize, PAGE);
	check_eq(info.pid, getpid());
	check_eq(info.uid, (int)geteuid());
	check_eq(ddflush(in, PAGE), 0);
	check_eq(ddsend(desc.connid, info.sendbase, 5, 0, SEND_BLOCK), 0);
	check_eq(ddrecv(cnoteid, &desc, RECV_SLEEP, NULL), 0);
	check_eq(desc.metacount, 0);
	check_eq(desc.metad[0], 7);
}

static void receive_options(void)
{
	ddrecv_desc_t desc;

	fails(ddrecv(noteid, &desc, 16, 0), EINVAL);
	/* A signal ends the wait if that is asked for, and not else. */
	fake.interrupts = 1;
	fails(ddrecv(noteid, &desc, RECV_TIMEOUT, 1), ETIMEDOUT);
	fake.interrupts = 1;
	fails(ddrecv(noteid, &desc, RECV_TIMEOUT | RECV_INTR, 1), EINTR);
	fails(ddrecv(noteid, NULL, 0, 0), EINVAL);
	fails(ddrecv(noteid, &desc, RECV_NOBLOCK, 0), EWOULDBLOCK);
	fails(ddrecv(noteid, &desc, RECV_NOBLOCK | RECV_SLEEP | RECV_TIMEOUT,
		     500), EWOULDBLOCK);
	fails(ddrecv(noteid, &desc, RECV_TIMEOUT, 1), ETIMEDOUT);
	fails(ddrecv(noteid, &desc, RECV_TIMEOUT | RECV_SLEEP, 1), ETIMEDOUT);
	fails(ddrecv(noteid, &desc, RECV_TIMEOUT, 0), ETIMEDOUT);
	fails(ddrecv(noteid, &desc, RECV_TIMEOUT, -1), EINVAL);
	fails(ddrecv(0, &desc, RECV_NOBLOCK, 0), EBADID);
	fails(ddrecv(-1, &desc, RECV_NOBLOCK, 0), EBADID);
	fails(ddrecv(connid, &desc, RECV_NOBLOCK, 0), EBADID);
}

static void bad_pointers(void)
{
	struct timeval tv = { 0 };
	noteid_t id = 0;
	size_t size;

	fails(ddconninfo(connid, NULL), EINVAL);
	fails(ddconninfo(connid, nowhere), EINVAL);
	fails(ddconninfo(connid, readonly), EINVAL);
	fails(ddpeek(noteid, NULL, &connid), EINVAL);
	fails(ddpoll(1, NULL, &tv), EINVAL);
	fails(ddpoll(1, nowhere, &tv), EINVAL);
	fails(ddpoll(1, &noteid, nowhere), EINVAL);
	fails(ddserve("y", 0, 1, in, 8, NULL, 0, NULL, &servid), EINVAL);
	fails(ddserve("y", 0, 1, in, 8, NULL, 0, &id, NULL), EINVAL);
	fails(ddserve(NULL, 0, 1, in, 8, NULL, 0, &id, &servid), EINVAL);
	fails(ddconn("echo", 1, TYPE_SPLIT, 0, req, 8, rep, 8, NULL, &id),
	      EINVAL);
	fails(ddconn("echo", 1, TYPE_SPLIT, 0, req, 8, rep, 8, &connid, NULL),
	      EINVAL);
	fails(ddcall(connid, NULL, 0, NULL, &size, 0, 0), EINVAL);
	fails(ddsend_with_metadata(connid, req, 1, 0, 0, NULL, 1), EINVAL);
}

static void argument_values(void)
{
	struct timeval bad = { .tv_usec = 1000000 };
	noteid_t id = 0, two[2] = { noteid, 99 };
	servid_t s;
	connid_t c;
	size_t size;
	address_t a;

	fails(ddserve("y", 0x40, 1, in, 8, NULL, 0, &id, &s), EINVAL);
	fails(ddserve("y", 0, 0, in, 8, NULL, 0, &id, &s), EINVAL);
	fails(ddserve("y", 0, -1, in, 8, NULL, 0, &id, &s), EINVAL);
	fails(ddserve("", 0, 1, in, 8, NULL, 0, &id, &s), EINVAL);
	fails(ddserve("y", SERVE_NOTELIST, 1, in, 8, NULL, 0, &id, &s), EBADID);
	fails(ddserve("y", 0, 1, in, 0, NULL, 0, &id, &s), EINVAL);
	fails(ddconn("echo", 1, 0, 0, req, 8, rep, 8, &c, &id), EINVAL);
	fails(ddconn("echo", 1, 4, 0, req, 8, rep, 8, &c, &id), EINVAL);
	fails(ddconn("echo", 1, TYPE_SPLIT, 2, req, 8, rep, 8, &c, &id),
	      EINVAL);
	fails(ddconn("nobody", 1, TYPE_SPLIT, 0, req, 8, rep, 8, &c, &id),
	      EBADSERVER);
	fails(dddone(connid, 2), EINVAL);
	fails(ddsend(connid, req, 1, -1, 0), EBADRANGE);
	fails(ddsend(connid, req, 1ul << 31, 0, 0), EBADRANGE);
	fails(ddsend(999, req, 1ul << 31, 0, 0), EBADID);
	fails(ddsend_with_metadata(connid, req, 1, 0, 0, req, 5), EINVAL);
	fails(ddcall(connid, req, 1, &a, &size), EBADTYPE);
	fails(ddcall(connid, req, 1, &a, &size, RECV_NOBLOCK), EINVAL);
	fails(ddpoll(-1, two, NULL), EINVAL);
	fails(ddpoll(2, two, NULL), EBADID);
	fails(ddpoll(1, two, &bad), EINVAL);
	bad.tv_usec = 0;
	bad.tv_sec = -1;
	fails(ddpoll(1, two, &bad), EINVAL);
	fails(ddconnlist(servid, -1, &c), EINVAL);
	fails(ddconnlist(servid, 1, NULL), EINVAL);
	fails(ddfree(req + 1), EINVAL);
	check_eq(ddconnlist(servid, 1, &c), 1);
}

static void rpc_with_five_arguments(void)
{
	connid_t rpc;
	address_t a;
	size_t size;

	check_eq(ddconn("echo", 1, TYPE_RPC, CONN_NOOPTS, ddalloc(PAGE), PAGE,
			ddalloc(PAGE), PAGE, &rpc, NULL), 0);
	fails(ddsend(rpc, req, 1, 0, 0), EBADTYPE);
	fails(ddcall(rpc, 0, 4, &a, &size, RECV_TIMEOUT, 1), ETIMEDOUT);
	check_eq(ddclose(rpc), 0);
	fails(ddcall(rpc, 0, 4, &a, &size), EBADID);
}

/* Messages sent on @conn before the first of them is acknowledged. */
static int unacknowledged(connid_t conn, address_t from)
{
	int n = 0;

	fake.far = true;
	while (n < 100 && !ddsend(conn, from, 1, 0, SEND_NOOPTS))
		n++;
	check_eq(errno, ENOTREADY);
	fake.far = false;
	fake_told(conn);
	return n;
}

/* Of a service and a client that ask for windows: at either end. */
static void window_of_two(int serves, int asks, int want)
{
	address_t mem = ddalloc(PAGE), to = ddalloc(PAGE), from = ddalloc(PAGE),
		  answer = ddalloc(PAGE);
	noteid_t list = 0, clist = 0;
	ddrecv_desc_t desc;
	servid_t service;
	connid_t c;

	check_eq(ddserve("w", serves, 1, mem, PAGE, answer, PAGE, &list,
			 &service), 0);
	check_eq(ddconn("w", 1, TYPE_SSTREAM, asks, from, PAGE, to, PAGE, &c,
			&clist), 0);
	check_eq(unacknowledged(c, from), want);
	check_eq(ddrecv(list, &desc, RECV_NOBLOCK, 0), 0);
	check_eq(unacknowledged(desc.connid, answer), want);
	check_eq(ddunserve(service), 0);
	check_eq(ddclose(c), 0);
}

static void windows(void)
{
	noteid_t id = 0;
	servid_t s;
	connid_t c;

	window_of_two(SERVE_NOOPTS, CONN_NOOPTS, 16);
	window_of_two(SERVE_WINDOW(4), CONN_NOOPTS, 4);
	window_of_two(SERVE_NOOPTS, CONN_WINDOW(4), 4);
	window_of_two(SERVE_WINDOW(1), CONN_NOOPTS, 1);
	window_of_two(SERVE_WINDOW(20), CONN_NOOPTS, 16);
	window_of_two(SERVE_WINDOW(4), CONN_WINDOW(3), 3);
	window_of_two(SERVE_WINDOW(2), CONN_WINDOW(5), 2);
	window_of_two(SERVE_WINDOW(0), CONN_WINDOW(0), 16);
	fails(ddserve("w", SERVE_WINDOW(257), 1, in, PAGE, NULL, 0, &id, &s),
	      EINVAL);
	fails(ddserve("w", SERVE_WINDOW(-1), 1, in, PAGE, NULL, 0, &id, &s),
	      EINVAL);
	fails(ddconn("echo", 1, TYPE_SSTREAM, CONN_WINDOW(257), req, PAGE, rep,
		     PAGE, &c, &id), EINVAL);
	fails(ddconn("echo", 1, TYPE_SSTREAM, CONN_WINDOW(4096), req, PAGE, rep,
		     PAGE, &c, &id), EINVAL);
}

/* An int holds 31 bits of a count that is not negative. */
static void counts_modulo_2_31(void)
{
	address_t mem = ddalloc(PAGE), to = ddalloc(PAGE), from = ddalloc(PAGE);
	noteid_t list = 0, clist = 0;
	ddrecv_desc_t desc;
	conninfo_t info;
	servid_t service;
	connid_t c;

	check_eq(ddserve("m", SERVE_NODIRECT, 1, mem, PAGE, NULL, 0, &list,
			 &service), 0);
	check_eq(ddconn("m", 1, TYPE_SSTREAM, CONN_NOOPTS, from, PAGE, to, PAGE,
			&c, &clist), 0);
	for (int i = 0; i < 2; i++) {
		fake_counted(c, (1ull << (31 + i)) - 2);
		for (int k = 0; k < 4; k++) {
			check_eq(ddsend(c, from, 8, 0, SEND_NOOPTS), 0);
			check_eq(ddrecv(list, &desc, RECV_NOBLOCK, 0), 0);
			check_eq(ddconninfo(c, &info), 0);
			check_eq(info.msgid_send, k ? k - 1 : INT_MAX);
			check_eq(ddconninfo(desc.connid, &info), 0);
			check_eq(info.msgid_recv, k ? k - 1 : INT_MAX);
		}
	}
	check_eq(ddunserve(service), 0);
	check_eq(ddclose(c), 0);
}

enum { CLIENT = 1, SERVER = 2 };

/* Which ends of a connection with these flags send directly. */
static int who_sends_directly(int serves, int asks)
{
	address_t mem = ddalloc(PAGE), to = ddalloc(PAGE), from = ddalloc(PAGE),
		  answer = ddalloc(PAGE);
	noteid_t list = 0, clist = 0;
	ddrecv_desc_t desc;
	servid_t service;
	int calls, ret = 0;
	connid_t c;

	check_eq(ddserve("d", serves, 1, mem, PAGE, answer, PAGE, &list,
			 &service), 0);
	check_eq(ddconn("d", 1, TYPE_SSTREAM, asks, from, PAGE, to, PAGE, &c,
			&clist), 0);
	/* The first of each end sets things up. */
	for (int i = 0; i < 2; i++) {
		calls = fake.calls;
		check_eq(ddsend(c, from, 8, 0, SEND_NOOPTS), 0);
		ret |= i && fake.calls == calls ? CLIENT : 0;
		check_eq(ddrecv(list, &desc, RECV_NOBLOCK, 0), 0);
		calls = fake.calls;
		check_eq(ddsend(desc.connid, answer, 8, 0, SEND_NOOPTS), 0);
		ret |= i && fake.calls == calls ? SERVER : 0;
		check_eq(ddrecv(clist, &desc, RECV_NOBLOCK, 0), 0);
	}
	check_eq(ddclose(c), 0);
	check_eq(ddunserve(service), 0);
	check(!ddfree(mem) && !ddfree(to) && !ddfree(from) && !ddfree(answer));
	return ret;
}

static void direct_flags(void)
{
	const char *direct = getenv("DD_DIRECT");
	bool on = !direct || strcmp(direct, "0");
	int both = on ? CLIENT | SERVER : 0;

	check_eq(who_sends_directly(SERVE_NOOPTS, CONN_NOOPTS), both);
	check_eq(who_sends_directly(SERVE_NODIRECT, CONN_NOOPTS), 0);
	check_eq(who_sends_directly(SERVE_NOOPTS, CONN_NODIRECT), 0);
	fake.strangers = true;
	check_eq(who_sends_directly(SERVE_NOOPTS, CONN_NOOPTS), 0);
	check_eq(who_sends_directly(SERVE_DIRECT_ANY, CONN_NOOPTS),
		 both & CLIENT);
	check_eq(who_sends_directly(SERVE_NOOPTS, CONN_DIRECT_ANY),
		 both & SERVER);
	check_eq(who_sends_directly(SERVE_DIRECT_ANY, CONN_DIRECT_ANY), both);
	check_eq(who_sends_directly(SERVE_DIRECT_ANY, CONN_DIRECT_ANY |
				    CONN_NODIRECT), 0);
	fake.strangers = false;
}

static void error_messages(void)
{
	noteid_t id = 0;
	connid_t c;

	fails(ddconn("nobody", 1, TYPE_SPLIT, 0, req, 8, rep, 8, &c, &id),
	      EBADSERVER);
	check(!strcmp(said(EINVAL, "call"), "call 7: Invalid argument\n"));
	check(!strcmp(said(EBADSERVER, "call"),
		      "call 7: no such service, or no way to its node (node 1 has no service 'nobody': 'ddctl service' there lists those it has)\n"));
	fails(ddconn("errno 93", 1, TYPE_SPLIT, 0, req, 8, rep, 8, &c, &id),
	      EBADSERVER);
	check(!strcmp(said(EBADSERVER, "call"),
		      "call 7: no such service, or no way to its node (node 1 speaks no version of the protocol that this one speaks)\n"));
	fails(ddconn("errno 24", 1, TYPE_SPLIT, 0, req, 8, rep, 8, &c, &id),
	      ENORESOURCE);
	check(strstr(said(ENORESOURCE, "call"), "ulimit -n") != NULL);
	fails(ddconn("errno 87", 1, TYPE_SPLIT, 0, req, 8, rep, 8, &c, &id),
	      ENORESOURCE);
	check(strstr(said(ENORESOURCE, "call"), "has no block") != NULL);
	fails(ddconn("errno 100", 1, TYPE_SPLIT, 0, req, 8, rep, 8, &c, &id),
	      ENOCMP);
	check(strstr(said(ENOCMP, "call"), "ddctl node up") != NULL);
	check(strstr(said(EMEMLOCK, "call"), "the limit is") != NULL);
	check(!strcmp(said(9999, "call"), "call 7: unknown error\n"));
}

static int child_calls(void)
{
	ddrecv_desc_t desc;
	connid_t c;
	noteid_t id = 0;
	int bad = 0;

	bad += ddsend(connid, req, 1, 0, 0) != -1 || errno != EBADID;
	bad += ddrecv(noteid, &desc, 0, 0) != -1 || errno != EBADID;
	bad += ddready(noteid) != -1 || errno != EBADID;
	bad += ddmynode() != -1 || errno != EBADID;
	bad += ddconn("echo", 1, TYPE_SPLIT, 0, req, PAGE, rep, PAGE, &c,
		      &id) != -1 || errno != EBADID;
	return bad;
}

static void forked_child(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(child_calls());
	waitpid(pid, &status, 0);
	check_eq(status, 0);
	/* A child that allocates becomes a user of its own. */
	pid = fork();
	if (!pid)
		_exit(!ddalloc(PAGE) || ddmynode() != 1 ||
		      ddready(noteid) != -1 || errno != EBADID);
	waitpid(pid, &status, 0);
	check_eq(status, 0);
	check_eq(ddmynode(), 1);
}

static void ends(void)
{
	fails(ddfd(noteid), ENOTTY);
	check_eq(ddclose(connid), 0);
	fails(ddclose(connid), EBADID);
	check_eq(ddunserve(servid), 0);
	fails(ddunserve(servid), EBADID);
	check_eq(ddfree(req), 0);
	fails(ddfree(req), EINVAL);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(without_a_handle),
		TEST(connects),
		TEST(message_and_reply),
		TEST(receive_options),
		TEST(bad_pointers),
		TEST(argument_values),
		TEST(rpc_with_five_arguments),
		TEST(windows),
		TEST(counts_modulo_2_31),
		TEST(direct_flags),
		TEST(error_messages),
		TEST(forked_child),
		TEST(ends),
	};
	char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	nowhere = pages + PAGE;
	readonly = pages + 2 * PAGE;
	mprotect(nowhere, PAGE, PROT_NONE);
	mprotect(readonly, PAGE, PROT_READ);
	return test_run(tests, sizeof(tests) / sizeof(*tests));
}
