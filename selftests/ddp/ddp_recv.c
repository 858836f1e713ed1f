// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddrecv and ddcall (requirements DDP-51 to DDP-61).
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <pthread.h>
#include "peer.h"
#include "trace.h"

#define BLOCK	4096	/* a page: allows direct sends */

/* A peer that serves; the test connects, mostly. */
FIXTURE(recv) {
	struct peer *srv;
	char *name;
	ddrecv_desc_t *there;
};

FIXTURE_SETUP(recv)
{
	self->srv = peer_start();
	self->name = (char *)own_name("r");
	self->there = &self->srv->shm->desc;
	ASSERT_OK(p_serve_simple(self->srv, self->name, 8, 8 * BLOCK));
}

FIXTURE_TEARDOWN(recv)
{
	peer_kill(self->srv);
}

#define TAKE() ASSERT_OK(p_recv(self->srv, 0, RECV_SLEEP, 0))

/* Has @c send a request that the server answers with @text at @at. */
#define REPLY(c, text, at) do {						\
	ASSERT_OK(ddsend((c).conn, (c).out, 8, 0, SEND_NOOPTS));	\
	TAKE();								\
	ASSERT_OK(p_send(self->srv, self->there->connid, text,		\
			 strlen(text) + 1, at, SEND_BLOCK));		\
} while (0)

TEST_F(recv, DDP_51_consumes_the_next_message_of_any_connection)
{
	struct slot c[3], s = peer_slot(self->srv, 0);
	static const int order[] = { 2, 0, 1 };
	conninfo_t *info = &self->srv->shm->info;
	int i;

	for (i = 0; i < 3; i++)
		ASSERT_OK(open_conn(&c[i], self->name, TYPE_SPLIT, BLOCK));
	for (i = 0; i < 3; i++) {
		sprintf(c[order[i]].out, "message %d", order[i]);
		ASSERT_OK(ddsend(c[order[i]].conn, c[order[i]].out, 10,
				 16 * order[i], SEND_BLOCK));
	}
	for (i = 0; i < 3; i++) {
		TAKE();
		EXPECT_EQ('0' + order[i], self->srv->shm->data[8]);
		EXPECT_EQ(s.serv, self->there->servid);
		EXPECT_EQ(10, self->there->msgsize);
		ASSERT_OK(p_info(self->srv, self->there->connid));
		EXPECT_EQ((void *)(info->recvbase + 16 * order[i]),
			  (void *)self->there->msgaddr);
	}
	EXPECT_ERR(EWOULDBLOCK, p_recv(self->srv, 0, RECV_NOBLOCK, 0));
}

TEST_F(recv, DDP_51_at_the_client_too)
{
	ddrecv_desc_t d;
	struct slot c;

	ASSERT_OK(open_conn(&c, self->name, TYPE_SPLIT, BLOCK));
	REPLY(c, "reply", 40);
	ASSERT_OK(ddrecv(c.note, &d, RECV_SPIN, 0));
	EXPECT_EQ(c.conn, d.connid);
	EXPECT_EQ((void *)(c.in + 40), (void *)d.msgaddr);
	EXPECT_EQ(6, d.msgsize);
	EXPECT_STREQ("reply", d.msgaddr);
}

TEST_F(recv, DDP_52_spin_waits_for_the_message)
{
	struct slot c;
	int i;

	EXPECT_EQ(0, RECV_SPIN);
	ASSERT_OK(open_conn(&c, self->name, TYPE_SSTREAM, BLOCK));
	for (i = 0; i < dd_count(100); i++) {
		p_recv_begin(self->srv, 0, RECV_SPIN, 0);
		EXPECT_FALSE(peer_ended(self->srv));
		sprintf(c.out, "%d", i);
		ASSERT_OK(ddsend(c.conn, c.out, 8, 0, SEND_BLOCK));
		ASSERT_EQ(0, peer_end(self->srv));
		EXPECT_EQ(i, atoi((char *)self->srv->shm->data));
	}
}

static void traced_client(const char *name, option_t how)
{
	ddrecv_desc_t d;
	struct slot c;
	int i, r;

	CHILD_CHECK(open_conn(&c, name, TYPE_SSTREAM, BLOCK) == 0);
	/*
	 * The first calls may set up state and probe whether the page of the
	 * result is writable; that page may differ from the page of later
	 * results.
	 */
	CHILD_CHECK(ddsend(c.conn, c.out, 8, 0, SEND_BLOCK) == 0);
	CHILD_CHECK(ddrecv(c.note, &d, RECV_NOBLOCK, 0) < 0);
	trace_me();
	for (i = 0; i < 3; i++) {
		trace_mark();
		r = ddrecv(c.note, &d, how, 1000);
		trace_mark();
		CHILD_CHECK(r == 0);
		trace_mark();
		r = ddsend(c.conn, c.out, 8, 0, SEND_NOOPTS);
		trace_mark();
		CHILD_CHECK(r == 0);
	}
	_exit(0);
}

/* The client is stopped while its message is delivered. */
static void count_calls(struct __test_metadata *_metadata,
			FIXTURE_DATA(recv) *self, option_t how)
{
	pid_t pid = fork_child();
	long nr = -1;
	int i;

	if (!pid)
		traced_client(self->name, how);
	ASSERT_TRUE(trace_begin(pid));
	TAKE();
	for (i = 0; i < 3; i++) {
		ASSERT_OK(p_send(self->srv, self->there->connid, "x", 2, 0,
				 SEND_BLOCK));
		EXPECT_EQ(0, trace_next(pid, &nr)) {
			TH_LOG("ddrecv made system call %ld", nr);
		}
		EXPECT_EQ(!sends_directly(), trace_next(pid, &nr)) {
			TH_LOG("ddsend made system call %ld", nr);
		}
		EXPECT_TRUE(sends_directly() || nr == SYS_ioctl) {
			TH_LOG("ddsend made system call %ld", nr);
		}
		TAKE();
	}
	kill_child(pid);
}

TEST_F(recv, DDP_52_receive_of_a_present_message_makes_no_system_call)
{
	SKIP_ON_UM("does not implement PTRACE_GET_SYSCALL_INFO");
	count_calls(_metadata, self, RECV_SPIN);
}

TEST_F(recv, DDP_53_nor_does_it_with_sleep_and_a_send_makes_none_or_one)
{
	SKIP_ON_UM("does not implement PTRACE_GET_SYSCALL_INFO");
	count_calls(_metadata, self, RECV_SLEEP);
}

TEST_F(recv, DDP_54_nor_with_noblock)
{
	SKIP_ON_UM("does not implement PTRACE_GET_SYSCALL_INFO");
	count_calls(_metadata, self, RECV_NOBLOCK);
}

static bool is_sleep(long nr)
{
	return nr == SYS_ioctl;
}

/* Receives one message, and waits for a second one. */
static void waiting_client(const char *name, option_t how)
{
	ddrecv_desc_t d;
	struct slot c;

	CHILD_CHECK(open_conn(&c, name, TYPE_SSTREAM, BLOCK) == 0);
	CHILD_CHECK(ddsend(c.conn, c.out, 8, 0, SEND_BLOCK) == 0);
	CHILD_CHECK(ddrecv(c.note, &d, RECV_SLEEP, 0) == 0);
	trace_me();
	trace_mark();
	CHILD_CHECK(ddrecv(c.note, &d, how, 0) == 0);
	trace_mark();
	_exit(0);
}

static pid_t start_waiting_client(struct __test_metadata *_metadata,
				  FIXTURE_DATA(recv) *self, option_t how)
{
	pid_t pid = fork_child();

	if (!pid)
		waiting_client(self->name, how);
	TAKE();
	ASSERT_OK(p_send(self->srv, self->there->connid, "1", 2, 0, SEND_BLOCK));
	ASSERT_TRUE(trace_begin(pid));
	ASSERT_EQ(SYS_prctl, trace_enter(pid));
	return pid;
}

/*
 * The first system call on an empty list is not the one that sleeps. The client
 * is stopped in it while the message is delivered, and need not sleep.
 */
TEST_F(recv, DDP_52_spin_looks_for_a_message_before_it_sleeps)
{
	pid_t pid;
	long nr;

	SKIP_ON_UM("does not implement PTRACE_GET_SYSCALL_INFO");
	pid = start_waiting_client(_metadata, self, RECV_SPIN);
	nr = trace_enter(pid);
	EXPECT_FALSE(is_sleep(nr));
	ASSERT_OK(p_send(self->srv, self->there->connid, "2", 2, 0, SEND_BLOCK));
	/* From another node it may still be in flight. */
	while (!across_nodes() && nr != SYS_prctl) {
		nr = trace_enter(pid);
		ASSERT_LE(0, nr);
		EXPECT_FALSE(is_sleep(nr));
	}
	kill_child(pid);
}

TEST_F(recv, DDP_53_sleep_does_not_look_for_long)
{
	pid_t pid;

	SKIP_ON_UM("does not implement PTRACE_GET_SYSCALL_INFO");
	pid = start_waiting_client(_metadata, self, RECV_SLEEP);
	EXPECT_TRUE(is_sleep(trace_enter(pid)));
	kill_child(pid);
}

TEST_F(recv, DDP_53_sleep_sleeps_until_posted)
{
	struct slot c;

	ASSERT_OK(open_conn(&c, self->name, TYPE_SPLIT, BLOCK));
	p_recv_begin(self->srv, 0, RECV_SLEEP, 0);
	ASSERT_TRUE(peer_sleeps(self->srv));
	EXPECT_FALSE(peer_ended(self->srv));
	ASSERT_OK(ddsend(c.conn, strcpy(c.out, "wake up"), 8, 0, SEND_NOOPTS));
	ASSERT_EQ(0, peer_end(self->srv));
	EXPECT_STREQ("wake up", (char *)self->srv->shm->data);
}

TEST_F(recv, DDP_54_DDP_57_3_noblock_is_always_immediate)
{
	static const int with[] = { 0, RECV_SLEEP, RECV_TIMEOUT,
				    RECV_SLEEP | RECV_TIMEOUT };
	ddrecv_desc_t d;
	struct slot c;
	int i;

	ASSERT_OK(open_conn(&c, self->name, TYPE_SPLIT, BLOCK));
	for (i = 0; i < 4; i++)
		EXPECT_ERR(EWOULDBLOCK,
			   ddrecv(c.note, &d, RECV_NOBLOCK | with[i], 100000));
	REPLY(c, "here", 0);
	EXPECT_EQ(0, ddrecv(c.note, &d, RECV_NOBLOCK, 0));
	EXPECT_ERR(EWOULDBLOCK, ddrecv(c.note, &d, RECV_NOBLOCK, 0));
}

TEST_F(recv, DDP_55_timeout_counts_units_of_sbp_hz)
{
	ddrecv_desc_t d;
	struct slot c;

	EXPECT_EQ(100, SBP_HZ);
	ASSERT_OK(open_conn(&c, self->name, TYPE_SPLIT, BLOCK));
	ASSERT_WAITS(500, EXPECT_ERR(ETIMEDOUT,
		     ddrecv(c.note, &d, RECV_TIMEOUT, SBP_HZ / 2)));
	ASSERT_WAITS(500, EXPECT_ERR(ETIMEDOUT,
		     ddrecv(c.note, &d, RECV_TIMEOUT | RECV_SLEEP,
			    SBP_HZ / 2)));
	EXPECT_ERR(ETIMEDOUT, ddrecv(c.note, &d, RECV_TIMEOUT, 0));
	/* A message that arrives in time ends the wait. */
	REPLY(c, "in time", 0);
	EXPECT_EQ(0, ddrecv(c.note, &d, RECV_TIMEOUT, 1000 * SBP_HZ));
}

TEST_F(recv, DDP_55_timeout_is_woken_by_a_message)
{
	struct slot c;

	ASSERT_OK(open_conn(&c, self->name, TYPE_SPLIT, BLOCK));
	p_recv_begin(self->srv, 0, RECV_TIMEOUT | RECV_SLEEP, 100000 * SBP_HZ);
	ASSERT_TRUE(peer_sleeps(self->srv));
	ASSERT_OK(ddsend(c.conn, c.out, 8, 0, SEND_NOOPTS));
	EXPECT_EQ(0, peer_end(self->srv));
}

TEST_F(recv, DDP_56_metadata_or_none)
{
	unsigned int meta[2] = { 0x11111111, 0x22222222 }, untouched[4];
	struct slot c;

	ASSERT_OK(open_conn(&c, self->name, TYPE_SSTREAM, BLOCK));
	memset(untouched, 0x77, sizeof(untouched));
	memset(self->there->metad, 0x77, sizeof(untouched));
	self->there->metacount = 99;
	ASSERT_OK(ddsend(c.conn, c.out, 8, 0, SEND_BLOCK));
	TAKE();
	EXPECT_EQ(0, self->there->metacount);
	EXPECT_EQ(0, memcmp(untouched, self->there->metad, sizeof(untouched)));
	ASSERT_OK(ddsend_with_metadata(c.conn, c.out, 8, 0, SEND_BLOCK,
				       (address_t)meta, 2));
	TAKE();
	EXPECT_EQ(2, self->there->metacount);
	EXPECT_EQ(0x11111111, self->there->metad[0]);
	EXPECT_EQ(0x22222222, self->there->metad[1]);
}

static void noted(int signal)
{
}

/* In the peer. */
static long catch_usr1(long flags, long b, long c)
{
	struct sigaction act = { .sa_handler = noted, .sa_flags = flags };

	return sigaction(SIGUSR1, &act, NULL);
}

static void interrupt(struct __test_metadata *_metadata, struct peer *srv)
{
	ASSERT_TRUE(peer_sleeps(srv));
	ASSERT_EQ(0, kill(srv->pid, SIGUSR1));
}

TEST_F(recv, a_caught_signal_ends_a_wait_if_asked_to)
{
	struct slot c;

	ASSERT_OK(open_conn(&c, self->name, TYPE_SSTREAM, BLOCK));
	ASSERT_EQ(0, peer_call(self->srv, catch_usr1, SA_RESTART, 0, 0));
	p_recv_begin(self->srv, 0, RECV_INTR, 0);
	interrupt(_metadata, self->srv);
	EXPECT_ERR(EINTR, peer_end(self->srv));
	p_recv_begin(self->srv, 0, RECV_INTR | RECV_SLEEP | RECV_TIMEOUT,
		     100000 * SBP_HZ);
	interrupt(_metadata, self->srv);
	EXPECT_ERR(EINTR, peer_end(self->srv));
	/* Nothing was lost, and without the option the wait continues. */
	p_recv_begin(self->srv, 0, RECV_SLEEP, 0);
	interrupt(_metadata, self->srv);
	ASSERT_OK(ddsend(c.conn, c.out, 8, 0, SEND_BLOCK));
	EXPECT_EQ(0, peer_end(self->srv));
}

TEST_F(recv, DDP_57_1_bad_noteid_is_ebadid)
{
	ddrecv_desc_t d;
	struct slot c;

	EXPECT_ERR(EBADID, ddrecv(0, &d, RECV_NOBLOCK, 0));
	EXPECT_ERR(EBADID, ddrecv(-1, &d, RECV_SLEEP, 0));
	EXPECT_ERR(EBADID, ddrecv(0x7fffffff, &d, RECV_SPIN, 0));
	ASSERT_OK(open_conn(&c, self->name, TYPE_SPLIT, BLOCK));
	EXPECT_ERR(EBADID, ddrecv(c.conn, &d, RECV_NOBLOCK, 0));
	ASSERT_OK(ddclose(c.conn));
	EXPECT_ERR(EBADID, ddrecv(c.note, &d, RECV_NOBLOCK, 0));
}

TEST_F(recv, DDP_57_2_unknown_options_and_bad_pointers_are_einval)
{
	ddrecv_desc_t d;
	struct slot c;
	int bit;

	ASSERT_OK(open_conn(&c, self->name, TYPE_SPLIT, BLOCK));
	REPLY(c, "stays", 0);
	for (bit = 0; bit < 31; bit++) {
		if ((1 << bit) & (RECV_SLEEP | RECV_NOBLOCK | RECV_TIMEOUT |
				  RECV_INTR))
			continue;
		EXPECT_ERR(EINVAL, ddrecv(c.note, &d, 1 << bit, 0));
	}
	EXPECT_ERR(EINVAL, ddrecv(c.note, NULL, RECV_NOBLOCK, 0));
	/* None of the failed calls has consumed the message. */
	ASSERT_OK(ddrecv(c.note, &d, RECV_NOBLOCK, 0));
	EXPECT_STREQ("stays", d.msgaddr);
}

struct waiter {
	noteid_t note;
	option_t options;
	pid_t tid;
	int ret, err;
	pthread_t thread;
};

static void *wait_for_message(void *arg)
{
	struct waiter *w = arg;
	ddrecv_desc_t d;

	__atomic_store_n(&w->tid, thread_id(), __ATOMIC_RELEASE);
	w->ret = ddrecv(w->note, &d, w->options, 100000 * SBP_HZ);
	w->err = errno;
	return NULL;
}

/* Waits in a thread of its own; returns whether the thread sleeps. */
static bool waiter_sleeps(struct waiter *w)
{
	w->tid = 0;
	return !pthread_create(&w->thread, NULL, wait_for_message, w) &&
	       WAIT_FOR(__atomic_load_n(&w->tid, __ATOMIC_ACQUIRE) &&
			asleep_in_wait(w->tid));
}

TEST_F(recv, DDP_57_a_list_that_goes_away_ends_the_wait)
{
	static const option_t how[] = { RECV_SLEEP, RECV_SPIN, RECV_TIMEOUT,
					RECV_SLEEP | RECV_TIMEOUT };
	struct waiter w;
	struct slot c;
	int i;

	/*
	 * The list goes away with its last connection, and with its last
	 * service.
	 */
	for (i = 0; i < 8; i++) {
		ASSERT_OK(i % 2 ? open_serve(&c, own_name("gone"), 1, BLOCK) :
			  open_conn(&c, self->name, TYPE_SPLIT, BLOCK));
		w = (struct waiter){ .note = c.note, .options = how[i / 2] };
		ASSERT_TRUE(waiter_sleeps(&w));
		ASSERT_OK(i % 2 ? ddunserve(c.serv) : ddclose(c.conn));
		ASSERT_EQ(0, pthread_join(w.thread, NULL));
		EXPECT_EQ(-1, w.ret);
		EXPECT_EQ(EBADID, w.err) {
			TH_LOG("case %d: errno %d", i, w.err);
		}
	}
}

/* --- ddcall ----------------------------------------------------------------*/

/* In the server: answers @n calls with the request's bytes, at offset @at. */
static long echo(long note, long n, long at)
{
	ddrecv_desc_t d;
	conninfo_t info;

	while (n--) {
		if (ddrecv(note, &d, RECV_SLEEP, 0) ||
		    ddconninfo(d.connid, &info))
			return -1;
		memcpy(info.sendbase, d.msgaddr, d.msgsize);
		if (d.msgaddr != info.recvbase)
			return -2;
		if (ddsend(d.connid, info.sendbase, d.msgsize, at, SEND_NOOPTS))
			return -1;
	}
	return 0;
}

static void echo_begin(struct peer *p, int n, int at)
{
	peer_begin(p, echo, peer_slot(p, 0).note, n, at);
}

TEST_F(recv, DDP_58_call_sends_and_waits_request_lands_at_the_start)
{
	address_t rep;
	struct slot c;
	size_t size;
	int i;

	ASSERT_OK(open_conn(&c, self->name, TYPE_RPC, BLOCK));
	echo_begin(self->srv, dd_count(50), 0);
	for (i = 0; i < dd_count(50); i++) {
		sprintf(c.out + i, "call %d", i);
		ASSERT_OK(ddcall(c.conn, c.out + i, 12, &rep, &size,
				 i & 1 ? RECV_SLEEP : RECV_SPIN, 0));
		EXPECT_EQ(12, size);
		EXPECT_EQ(i, atoi(rep + 5));
	}
	EXPECT_EQ(0, peer_end(self->srv));
}

TEST_F(recv, DDP_58_null_source_is_the_send_buffer_and_options_default)
{
	address_t rep;
	struct slot c;
	size_t size;

	ASSERT_OK(open_conn(&c, self->name, TYPE_RPC, BLOCK));
	echo_begin(self->srv, 2, 0);
	strcpy(c.out, "from the start");
	ASSERT_OK(ddcall(c.conn, 0, 15, &rep, &size));
	EXPECT_STREQ("from the start", rep);
	ASSERT_OK(ddcall(c.conn, c.out, 15, &rep, &size, RECV_SLEEP));
	EXPECT_STREQ("from the start", rep);
	EXPECT_EQ(0, peer_end(self->srv));
}

TEST_F(recv, DDP_59_reply_address_and_size)
{
	address_t rep = NULL;
	struct slot c;
	size_t size = 0;

	ASSERT_OK(open_conn(&c, self->name, TYPE_RPC, BLOCK));
	echo_begin(self->srv, 1, 200);
	strcpy(c.out, "somewhere");
	ASSERT_OK(ddcall(c.conn, c.out, 10, &rep, &size, RECV_SLEEP, 0));
	EXPECT_EQ((void *)(c.in + 200), (void *)rep);
	EXPECT_EQ(10, size);
	EXPECT_EQ(0, peer_end(self->srv));
}

TEST_F(recv, DDP_60_DDP_61_6_timeout_is_etimedout)
{
	address_t rep;
	struct slot c;
	size_t size;

	ASSERT_OK(open_conn(&c, self->name, TYPE_RPC, BLOCK));
	ASSERT_WAITS(500, EXPECT_ERR(ETIMEDOUT,
		     ddcall(c.conn, c.out, 8, &rep, &size, RECV_TIMEOUT,
			    SBP_HZ / 2)));
	ASSERT_WAITS(500, EXPECT_ERR(ETIMEDOUT,
		     ddcall(c.conn, c.out, 8, &rep, &size,
			    RECV_TIMEOUT | RECV_SLEEP, SBP_HZ / 2)));
}

TEST_F(recv, DDP_60_a_late_reply_is_not_taken_for_the_next)
{
	address_t rep;
	connid_t there;
	struct slot c;
	size_t size;
	pid_t pid;

	ASSERT_OK(open_conn(&c, self->name, TYPE_RPC, BLOCK));
	strcpy(c.out, "one");
	EXPECT_ERR(ETIMEDOUT, ddcall(c.conn, c.out, 4, &rep, &size,
				     RECV_TIMEOUT, 1));
	TAKE();
	there = self->there->connid;
	ASSERT_OK(p_send(self->srv, there, "late", 5, 0, SEND_BLOCK));
	/* The second call gets its own reply. */
	p_recv_begin(self->srv, 0, RECV_SLEEP, 0);
	pid = fork_child();
	if (!pid) {
		CHILD_CHECK(peer_end(self->srv) == 0);
		CHILD_CHECK(p_send(self->srv, there, "right", 6, 0, 0) == 0);
		_exit(0);
	}
	strcpy(c.out, "two");
	ASSERT_OK(ddcall(c.conn, c.out, 4, &rep, &size,
			 RECV_SLEEP | RECV_TIMEOUT, 10000));
	EXPECT_STREQ("right", rep);
	ASSERT_CHILD_OK(pid);
}

TEST_F(recv, DDP_61_1_bad_connid_is_ebadid)
{
	address_t rep;
	struct slot c;
	size_t size;

	EXPECT_ERR(EBADID, ddcall(0, 0, 8, &rep, &size, 0, 0));
	EXPECT_ERR(EBADID, ddcall(-1, 0, 8, &rep, &size, 0, 0));
	ASSERT_OK(open_conn(&c, self->name, TYPE_RPC, BLOCK));
	ASSERT_OK(ddclose(c.conn));
	EXPECT_ERR(EBADID, ddcall(c.conn, c.out, 8, &rep, &size, 0, 0));
}

TEST_F(recv, DDP_61_2_improper_arguments_are_einval)
{
	address_t rep;
	struct slot c;
	size_t size;

	ASSERT_OK(open_conn(&c, self->name, TYPE_RPC, BLOCK));
	EXPECT_ERR(EINVAL, ddcall(c.conn, c.out, 8, &rep, &size, 0x4000, 0));
	EXPECT_ERR(EINVAL, ddcall(c.conn, c.out, 8, NULL, &size, 0, 0));
	EXPECT_ERR(EINVAL, ddcall(c.conn, c.out, 8, &rep, NULL, 0, 0));
	EXPECT_EQ(0, p_ready(self->srv, 0));
}

/* In the server: takes a request and ends the service instead of answering. */
static long take_and_unserve(long note, long serv, long c)
{
	ddrecv_desc_t d;

	if (ddrecv(note, &d, RECV_SLEEP, 0))
		return -1;
	return ddunserve(serv);
}

TEST_F(recv, DDP_61_3_closed_while_waiting_is_econnclose)
{
	struct slot c, s = peer_slot(self->srv, 0);
	address_t rep;
	size_t size;

	ASSERT_OK(open_conn(&c, self->name, TYPE_RPC, BLOCK));
	peer_begin(self->srv, take_and_unserve, s.note, s.serv, 0);
	EXPECT_ERR(ECONNCLOSE, ddcall(c.conn, c.out, 8, &rep, &size,
				      RECV_SLEEP, 0));
	EXPECT_EQ(0, peer_end(self->srv));
}

TEST_F(recv, DDP_61_4_other_types_are_ebadtype)
{
	struct slot split, stream;
	address_t rep;
	size_t size;

	ASSERT_OK(open_conn(&split, self->name, TYPE_SPLIT, BLOCK));
	ASSERT_OK(open_conn(&stream, self->name, TYPE_SSTREAM, BLOCK));
	EXPECT_ERR(EBADTYPE, ddcall(split.conn, split.out, 8, &rep, &size, 0, 0));
	EXPECT_ERR(EBADTYPE, ddcall(stream.conn, stream.out, 8, &rep, &size, 0,
				    0));
	EXPECT_EQ(0, p_ready(self->srv, 0));
}

TEST_F(recv, DDP_61_5_outside_of_the_buffers_is_ebadrange)
{
	address_t rep;
	struct slot c;
	size_t size;

	ASSERT_OK(open_conn(&c, self->name, TYPE_RPC, 4 * BLOCK));
	EXPECT_ERR(EBADRANGE, ddcall(c.conn, c.out, BLOCK + 1, &rep, &size, 0,
				     0));
	EXPECT_ERR(EBADRANGE, ddcall(c.conn, c.out, (size_t)-1, &rep, &size, 0,
				     0));
	EXPECT_ERR(EBADRANGE, ddcall(c.conn, c.out + 4 * BLOCK - 4, 8, &rep,
				     &size, 0, 0));
	EXPECT_ERR(EBADRANGE, ddcall(c.conn, (address_t)&c, 8, &rep, &size, 0,
				     0));
	EXPECT_EQ(0, p_ready(self->srv, 0));
}

DD_TEST_MAIN
