// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddrecv and ddcall (requirements DDP-51 to DDP-61).
 *
 * Copyright (C) 2026 The dd authors
 */
#include "ddp.h"
#include <pthread.h>
#include "trace.h"

TEST_F(ddp, DDP_51_consumes_the_next_message_of_any_connection)
{
	struct slot c[3];
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
		EXPECT_EQ(self->s.serv, self->there->servid);
		EXPECT_EQ(10, self->there->msgsize);
		ASSERT_OK(p_info(self->srv, self->there->connid));
		EXPECT_EQ((void *)(info->recvbase + 16 * order[i]),
			  (void *)self->there->msgaddr);
	}
	EXPECT_ERR(EWOULDBLOCK, p_recv(self->srv, 0, RECV_NOBLOCK, 0));
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

/* The client is stopped while its message is delivered. A send makes no call, or one. */
static void count_calls(struct __test_metadata *_metadata,
			FIXTURE_DATA(ddp) *self, option_t how)
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

TEST_F(ddp, DDP_52_DDP_53_DDP_54_a_present_message_is_received_without_a_system_call)
{
	static const option_t how[] = { RECV_SPIN, RECV_SLEEP, RECV_NOBLOCK };
	int i;

	SKIP_ON_UM("does not implement PTRACE_GET_SYSCALL_INFO");
	for (i = 0; i < 3; i++)
		count_calls(_metadata, self, how[i]);
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
				  FIXTURE_DATA(ddp) *self, option_t how)
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
 * By RECV_SPIN, the first system call on an empty list is not the one that sleeps. The client
 * is stopped in it while the message is delivered, and need not sleep.
 */
TEST_F(ddp, DDP_52_DDP_53_spin_looks_for_a_message_before_it_sleeps_and_sleep_does_not)
{
	pid_t pid;
	long nr;

	SKIP_ON_UM("does not implement PTRACE_GET_SYSCALL_INFO");
	pid = start_waiting_client(_metadata, self, RECV_SLEEP);
	EXPECT_EQ(SYS_ioctl, trace_enter(pid));
	kill_child(pid);

	pid = start_waiting_client(_metadata, self, RECV_SPIN);
	nr = trace_enter(pid);
	EXPECT_NE(SYS_ioctl, nr);
	ASSERT_OK(p_send(self->srv, self->there->connid, "2", 2, 0, SEND_BLOCK));
	/* From another node it may still be in flight. */
	while (!across_nodes() && nr != SYS_prctl) {
		nr = trace_enter(pid);
		ASSERT_LE(0, nr);
		EXPECT_NE(SYS_ioctl, nr);
	}
	kill_child(pid);
}

TEST_F(ddp, DDP_52_DDP_53_DDP_55_a_receiver_waits_until_posted_also_with_a_timeout)
{
	static const int how[] = { RECV_SPIN, RECV_SLEEP, RECV_TIMEOUT, RECV_SLEEP | RECV_TIMEOUT };
	struct slot *c = &self->stream;
	int i;

	EXPECT_EQ(0, RECV_SPIN);
	for (i = 0; i < 4; i++) {
		p_recv_begin(self->srv, 0, how[i], 100000 * SBP_HZ);
		ASSERT_TRUE(worker_sleeps(self->srv));
		EXPECT_FALSE(worker_ready(self->srv));
		ASSERT_OK(ddsend(c->conn, strcpy(c->out, "wake up"), 8, 0, SEND_BLOCK));
		ASSERT_EQ(0, worker_result(self->srv));
		EXPECT_STREQ("wake up", (char *)self->srv->shm->data);
	}
}

TEST_F(ddp, DDP_54_DDP_57_3_noblock_is_always_immediate)
{
	static const int with[] = { 0, RECV_SLEEP, RECV_TIMEOUT,
				    RECV_SLEEP | RECV_TIMEOUT };
	ddrecv_desc_t d;
	struct slot *c = &self->split;
	int i;

	for (i = 0; i < 4; i++)
		EXPECT_ERR(EWOULDBLOCK,
			   ddrecv(c->note, &d, RECV_NOBLOCK | with[i], 100000));
	REPLY_AT(c, "here", 40);
	EXPECT_EQ(0, ddrecv(c->note, &d, RECV_NOBLOCK, 0));
	EXPECT_EQ(c->conn, d.connid);
	EXPECT_EQ((void *)(c->in + 40), (void *)d.msgaddr);
	EXPECT_EQ(5, d.msgsize);
	EXPECT_ERR(EWOULDBLOCK, ddrecv(c->note, &d, RECV_NOBLOCK, 0));
}

TEST_F(ddp, DDP_55_timeout_counts_units_of_sbp_hz)
{
	ddrecv_desc_t d;
	struct slot *c = &self->split;

	EXPECT_EQ(100, SBP_HZ);
	ASSERT_WAITS(500, EXPECT_ERR(ETIMEDOUT,
		     ddrecv(c->note, &d, RECV_TIMEOUT, SBP_HZ / 2)));
	ASSERT_WAITS(500, EXPECT_ERR(ETIMEDOUT,
		     ddrecv(c->note, &d, RECV_TIMEOUT | RECV_SLEEP,
			    SBP_HZ / 2)));
	EXPECT_ERR(ETIMEDOUT, ddrecv(c->note, &d, RECV_TIMEOUT, 0));
	/* A message that arrives in time ends the wait. */
	REPLY(c, "in time");
	EXPECT_EQ(0, ddrecv(c->note, &d, RECV_TIMEOUT, 1000 * SBP_HZ));
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

static void interrupt(struct __test_metadata *_metadata, struct worker *srv)
{
	ASSERT_TRUE(worker_sleeps(srv));
	ASSERT_EQ(0, kill(srv->pid, SIGUSR1));
}

TEST_F(ddp, a_caught_signal_ends_a_wait_if_asked_to)
{
	struct slot *c = &self->stream;

	ASSERT_EQ(0, worker_do(self->srv, catch_usr1, SA_RESTART, 0, 0));
	p_recv_begin(self->srv, 0, RECV_INTR, 0);
	interrupt(_metadata, self->srv);
	EXPECT_ERR(EINTR, worker_result(self->srv));
	p_recv_begin(self->srv, 0, RECV_INTR | RECV_SLEEP | RECV_TIMEOUT,
		     100000 * SBP_HZ);
	interrupt(_metadata, self->srv);
	EXPECT_ERR(EINTR, worker_result(self->srv));
	/* Nothing was lost, and without the option the wait continues. */
	p_recv_begin(self->srv, 0, RECV_SLEEP, 0);
	interrupt(_metadata, self->srv);
	ASSERT_OK(ddsend(c->conn, c->out, 8, 0, SEND_BLOCK));
	EXPECT_EQ(0, worker_result(self->srv));
}

TEST_F(ddp, DDP_57_2_unknown_options_and_bad_pointers_are_einval)
{
	ddrecv_desc_t d;
	struct slot *c = &self->split;
	int bit;

	REPLY(c, "stays");
	for (bit = 0; bit < 31; bit++) {
		if ((1 << bit) & (RECV_SLEEP | RECV_NOBLOCK | RECV_TIMEOUT |
				  RECV_INTR))
			continue;
		EXPECT_ERR(EINVAL, ddrecv(c->note, &d, 1 << bit, 0));
	}
	EXPECT_ERR(EINVAL, ddrecv(c->note, NULL, RECV_NOBLOCK, 0));
	/* None of the failed calls has consumed the message. */
	ASSERT_OK(ddrecv(c->note, &d, RECV_NOBLOCK, 0));
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

	__atomic_store_n(&w->tid, gettid(), __ATOMIC_RELEASE);
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
			asleep_in(w->tid, SYS_ioctl));
}

TEST_F(ddp, DDP_57_a_list_that_goes_away_ends_the_wait)
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

TEST_F(ddp, DDP_24_DDP_58_DDP_59_call_sends_and_waits_for_a_reply_with_address_and_size)
{
	struct slot *c = &self->rpc;
	address_t rep;
	size_t size;
	int i;

	/* The request lands at the start of the server's block. */
	p_echo_begin(self->srv, dd_count(50), 200);
	for (i = 0; i < dd_count(50); i++) {
		sprintf(c->out + i, "call %d", i);
		ASSERT_OK(ddcall(c->conn, c->out + i, 12, &rep, &size,
				 i & 1 ? RECV_SLEEP : RECV_SPIN, 0));
		EXPECT_EQ((void *)(c->in + 200), (void *)rep);
		EXPECT_EQ(12, size);
		EXPECT_EQ(i, atoi(rep + 5));
	}
	EXPECT_EQ(0, worker_result(self->srv));
}

TEST_F(ddp, DDP_58_null_source_is_the_send_buffer_and_options_default)
{
	address_t rep;
	struct slot *c = &self->rpc;
	size_t size;

	p_echo_begin(self->srv, 2, 0);
	strcpy(c->out, "from the start");
	ASSERT_OK(ddcall(c->conn, 0, 15, &rep, &size));
	EXPECT_STREQ("from the start", rep);
	ASSERT_OK(ddcall(c->conn, c->out, 15, &rep, &size, RECV_SLEEP));
	EXPECT_STREQ("from the start", rep);
	EXPECT_EQ(0, worker_result(self->srv));
}

TEST_F(ddp, DDP_60_DDP_61_6_timeout_is_etimedout)
{
	address_t rep;
	struct slot *c = &self->rpc;
	size_t size;

	ASSERT_WAITS(500, EXPECT_ERR(ETIMEDOUT,
		     ddcall(c->conn, c->out, 8, &rep, &size, RECV_TIMEOUT,
			    SBP_HZ / 2)));
	ASSERT_WAITS(500, EXPECT_ERR(ETIMEDOUT,
		     ddcall(c->conn, c->out, 8, &rep, &size,
			    RECV_TIMEOUT | RECV_SLEEP, SBP_HZ / 2)));
}

TEST_F(ddp, DDP_60_a_late_reply_is_not_taken_for_the_next)
{
	address_t rep;
	connid_t there;
	struct slot *c = &self->rpc;
	size_t size;
	pid_t pid;

	strcpy(c->out, "one");
	EXPECT_ERR(ETIMEDOUT, ddcall(c->conn, c->out, 4, &rep, &size,
				     RECV_TIMEOUT, 1));
	TAKE();
	there = self->there->connid;
	ASSERT_OK(p_send(self->srv, there, "late", 5, 0, SEND_BLOCK));
	/* The second call gets its own reply. */
	p_recv_begin(self->srv, 0, RECV_SLEEP, 0);
	pid = fork_child();
	if (!pid) {
		CHILD_CHECK(worker_result(self->srv) == 0);
		CHILD_CHECK(p_send(self->srv, there, "right", 6, 0, 0) == 0);
		_exit(0);
	}
	strcpy(c->out, "two");
	ASSERT_OK(ddcall(c->conn, c->out, 4, &rep, &size,
			 RECV_SLEEP | RECV_TIMEOUT, 10000));
	EXPECT_STREQ("right", rep);
	ASSERT_CHILD_OK(pid);
}

/* In the server: takes a request and ends the service instead of answering. */
static long take_and_unserve(long note, long serv, long c)
{
	ddrecv_desc_t d;

	if (ddrecv(note, &d, RECV_SLEEP, 0))
		return -1;
	return ddunserve(serv);
}

TEST_F(ddp, DDP_61_3_closed_while_waiting_is_econnclose)
{
	struct slot *c = &self->rpc;
	address_t rep;
	size_t size;

	worker_begin(self->srv, take_and_unserve, self->s.note, self->s.serv, 0);
	EXPECT_ERR(ECONNCLOSE, ddcall(c->conn, c->out, 8, &rep, &size, RECV_SLEEP, 0));
	EXPECT_EQ(0, worker_result(self->srv));
}

TEST_F(ddp, DDP_61_2_DDP_61_4_DDP_61_5_requests_that_are_refused)
{
	const struct slot *c = &self->rpc, *split = &self->split, *stream = &self->stream;
	address_t rep;
	size_t size;
	const struct {
		connid_t conn;
		address_t from;
		size_t len;
		address_t *rep;
		size_t *size;
		int options, error;
	} bad[] = {
		{ c->conn, c->out, 8, &rep, &size, 0x4000, EINVAL },
		{ c->conn, c->out, 8, NULL, &size, 0, EINVAL },
		{ c->conn, c->out, 8, &rep, NULL, 0, EINVAL },
		{ split->conn, split->out, 8, &rep, &size, 0, EBADTYPE },
		{ stream->conn, stream->out, 8, &rep, &size, 0, EBADTYPE },
		{ c->conn, c->out, BLOCK + 1, &rep, &size, 0, EBADRANGE },
		{ c->conn, c->out, (size_t)-1, &rep, &size, 0, EBADRANGE },
		{ c->conn, c->out + 2 * BLOCK - 4, 8, &rep, &size, 0, EBADRANGE },
		{ c->conn, (address_t)&c, 8, &rep, &size, 0, EBADRANGE },
	};

	for (int i = 0; i < 9; i++) {
		TH_LOG("case %d", i);
		EXPECT_ERR(bad[i].error, ddcall(bad[i].conn, bad[i].from, bad[i].len, bad[i].rep,
						bad[i].size, bad[i].options, 0));
	}
	EXPECT_EQ(0, p_ready(self->srv, 0));
}

DD_TEST_MAIN
