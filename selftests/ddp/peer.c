// SPDX-License-Identifier: GPL-2.0-only
/*
 * Other processes that make DDP calls for a test.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "asleep.h"
#include "peer.h"

struct order {
	peer_fn fn;
	long a, b, c;
};

struct answer {
	long ret;
	int err;
};

struct peer_shm *peer_shm;
static struct slot slots[PEER_SLOTS];
static bool is_far;		/* this is a peer, on its node */

static int patience_ms(void)
{
	return access("/proc/self/fail-nth", F_OK) ? 20000 : 120000;
}

static void die(const struct peer *p, const char *what)
{
	fprintf(stderr, "# peer %d: %s\n", p->pid, what);
	abort();
}

/* --- nodes -----------------------------------------------------------------*/

static int env_node(const char *name)
{
	const char *number = getenv(name);

	if (number)
		return atoi(number);
	fprintf(stderr, "# %s is not set\n", name);
	abort();
}

bool across_nodes(void)
{
	return getenv("DDP_PEER_NETNS");
}

bool sends_directly(void)
{
	const char *direct = getenv("DD_DIRECT");

	return !across_nodes() && (!direct || strcmp(direct, "0"));
}

int near_node(void)
{
	if (!across_nodes())
		return 1;
	return env_node(is_far ? "DDP_PEER_NODE" : "DDP_OWN_NODE");
}

int far_node(void)
{
	if (!across_nodes())
		return 1;
	return env_node(is_far ? "DDP_OWN_NODE" : "DDP_PEER_NODE");
}

/* To be called before the first dd call. */
static int go_far(void)
{
	char path[128];
	int fd, ret;

	snprintf(path, sizeof(path), "/run/netns/%s", getenv("DDP_PEER_NETNS"));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ret = setns(fd, CLONE_NEWNET);
	close(fd);
	is_far = !ret;
	return ret;
}

/* --- the peer's side -------------------------------------------------------*/

static void peer_main(int fd)
{
	struct answer a;
	struct order o;

	while (read(fd, &o, sizeof(o)) == sizeof(o)) {
		errno = 0;
		a.ret = o.fn(o.a, o.b, o.c);
		a.err = errno;
		if (write(fd, &a, sizeof(a)) != sizeof(a))
			break;
	}
	_exit(0);
}

static void peer_child(int fd, uid_t uid, pid_t parent, bool far)
{
	gid_t dd = 900;

	if (far && go_far()) {
		fprintf(stderr, "# no network namespace %s\n",
			getenv("DDP_PEER_NETNS"));
		_exit(1);
	}
	if (uid && (setgroups(1, &dd) || setresgid(uid, uid, uid) ||
		    setresuid(uid, uid, uid)))
		_exit(1);
	/* A change of user clears the parent-death signal. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	peer_main(fd);
}

/* --- the test's side -------------------------------------------------------*/

static struct peer *start(uid_t uid, bool far)
{
	struct peer *p = calloc(1, sizeof(*p));
	pid_t parent = getpid();
	int fds[2];

	p->shm = mmap(NULL, sizeof(*p->shm), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p->shm == MAP_FAILED ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		die(p, "cannot start");
	fflush(stdout);
	fflush(stderr);
	p->pid = fork();
	if (p->pid < 0)
		die(p, "cannot fork");
	if (!p->pid) {
		close(fds[0]);
		peer_shm = p->shm;
		peer_child(fds[1], uid, parent, far);
	}
	close(fds[1]);
	p->fd = fds[0];
	return p;
}

struct peer *peer_start_user(uid_t uid)
{
	return start(uid, across_nodes());
}

struct peer *peer_start(void)
{
	return peer_start_user(0);
}

struct peer *peer_start_near(void)
{
	return start(0, false);
}

void peer_kill(struct peer *p)
{
	int status;

	kill(p->pid, SIGKILL);
	if (waitpid(p->pid, &status, 0) != p->pid)
		die(p, "cannot be waited for");
	close(p->fd);
}

void peer_begin(struct peer *p, peer_fn fn, long a, long b, long c)
{
	struct order o = { fn, a, b, c };

	if (write(p->fd, &o, sizeof(o)) != sizeof(o))
		die(p, "has gone");
}

bool peer_ended(struct peer *p)
{
	struct pollfd pfd = { .fd = p->fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

long peer_end(struct peer *p)
{
	struct pollfd pfd = { .fd = p->fd, .events = POLLIN };
	struct answer a;

	if (poll(&pfd, 1, patience_ms()) != 1)
		die(p, "does not answer");
	if (read(p->fd, &a, sizeof(a)) != sizeof(a))
		die(p, "has died");
	errno = a.err;
	return a.ret;
}

long peer_call(struct peer *p, peer_fn fn, long a, long b, long c)
{
	peer_begin(p, fn, a, b, c);
	return peer_end(p);
}

bool peer_sleeps(struct peer *p)
{
	int left;

	for (left = patience_ms(); left > 0; left--) {
		if (asleep_in(p->pid, SYS_ioctl))
			return true;
		usleep(1000);
	}
	return false;
}

/* --- DDP calls -------------------------------------------------------------*/

static long do_slot(long i, long b, long c)
{
	memcpy(peer_shm->data, &slots[i], sizeof(slots[i]));
	return 0;
}

struct slot peer_slot(struct peer *p, int slot)
{
	struct slot s;

	peer_call(p, do_slot, slot, 0, 0);
	memcpy(&s, p->shm->data, sizeof(s));
	return s;
}

static long do_serve(long arg, long b, long c)
{
	struct peer_serve a;
	struct slot *s;
	noteid_t *note;

	memcpy(&a, peer_shm->data, sizeof(a));
	s = &slots[a.slot];
	note = a.share < 0 ? &s->note : &slots[a.share].note;
	s->in = ddalloc(a.recvsize);
	s->out = a.sendsize ? ddalloc(a.sendsize) : NULL;
	if (!s->in || (a.sendsize && !s->out))
		return -2;
	if (ddserve(peer_shm->name, a.flags, a.maxconn, s->in, a.recvsize,
		    s->out, a.sendsize, note, &s->serv))
		return -1;
	s->note = *note;
	return 0;
}

int p_serve(struct peer *p, const struct peer_serve *s)
{
	snprintf(p->shm->name, sizeof(p->shm->name), "%s", s->name);
	memcpy(p->shm->data, s, sizeof(*s));
	return peer_call(p, do_serve, 0, 0, 0);
}

int p_serve_simple(struct peer *p, const char *name, int maxconn, size_t size)
{
	struct peer_serve s = {
		.name = name, .flags = SERVE_NOOPTS, .maxconn = maxconn,
		.recvsize = size, .sendsize = size, .slot = 0, .share = -1,
	};

	return p_serve(p, &s);
}

int open_conn(struct slot *s, const char *name, int type, size_t size)
{
	return open_conn_at(s, name, far_node(), type, size);
}

int open_conn_at(struct slot *s, const char *name, int node, int type,
		 size_t size)
{
	memset(s, 0, sizeof(*s));
	s->in = ddalloc(size);
	s->out = ddalloc(size);
	if (!s->in || !s->out)
		return -2;
	return ddconn((char *)name, node, type, CONN_NOOPTS, s->out, size, s->in,
		      size, &s->conn, &s->note);
}

int open_serve(struct slot *s, const char *name, int maxconn, size_t size)
{
	memset(s, 0, sizeof(*s));
	s->in = ddalloc(size);
	s->out = ddalloc(size);
	if (!s->in || !s->out)
		return -2;
	return ddserve((char *)name, SERVE_NOOPTS, maxconn, s->in, size, s->out,
		       size, &s->note, &s->serv);
}

static long do_conn(long type, long size, long slot)
{
	return open_conn(&slots[slot], peer_shm->name, type, size);
}

int p_conn(struct peer *p, const char *name, int type, size_t size, int slot)
{
	snprintf(p->shm->name, sizeof(p->shm->name), "%s", name);
	return peer_call(p, do_conn, type, size, slot);
}

static long do_recv(long slot, long options, long timeout)
{
	ddrecv_desc_t *d = &peer_shm->desc;
	int ret = ddrecv(slots[slot].note, d, options, timeout);

	if (!ret && d->msgaddr && d->msgsize > 0)
		memcpy(peer_shm->data, d->msgaddr,
		       d->msgsize < PEER_DATA ? d->msgsize : PEER_DATA);
	return ret;
}

void p_recv_begin(struct peer *p, int slot, int options, int timeout)
{
	peer_begin(p, do_recv, slot, options, timeout);
}

int p_recv(struct peer *p, int slot, int options, int timeout)
{
	return peer_call(p, do_recv, slot, options, timeout);
}

struct send_args {
	connid_t conn;
	size_t len, roffset;
	int options;
	unsigned char bytes[];
};

static long do_send(long arg, long b, long c)
{
	struct send_args *a = (struct send_args *)peer_shm->data;
	address_t from = (address_t)a->bytes;
	conninfo_t info;

	if (!(a->options & SEND_UNWIRED)) {
		if (ddconninfo(a->conn, &info))
			return -1;
		from = info.sendbase;
		memcpy(from, a->bytes, a->len);
	}
	return ddsend(a->conn, from, a->len, a->roffset, a->options);
}

int p_send(struct peer *p, connid_t conn, const void *bytes, size_t len,
	   size_t roffset, int options)
{
	struct send_args *a = (struct send_args *)p->shm->data;

	a->conn = conn;
	a->len = len;
	a->roffset = roffset;
	a->options = options;
	memcpy(a->bytes, bytes, len);
	return peer_call(p, do_send, 0, 0, 0);
}

static long do_info(long conn, long b, long c)
{
	return ddconninfo(conn, &peer_shm->info);
}

int p_info(struct peer *p, connid_t conn)
{
	return peer_call(p, do_info, conn, 0, 0);
}

static long do_close(long conn, long b, long c)
{
	return ddclose(conn);
}

int p_close(struct peer *p, connid_t conn)
{
	return peer_call(p, do_close, conn, 0, 0);
}

static long do_unserve(long serv, long b, long c)
{
	return ddunserve(serv);
}

int p_unserve(struct peer *p, servid_t serv)
{
	return peer_call(p, do_unserve, serv, 0, 0);
}

static long do_connlist(long serv, long count, long c)
{
	return ddconnlist(serv, count, peer_shm->conns);
}

int p_connlist(struct peer *p, servid_t serv, int count)
{
	return peer_call(p, do_connlist, serv, count, 0);
}

static long do_ready(long slot, long b, long c)
{
	return ddready(slots[slot].note);
}

int p_ready(struct peer *p, int slot)
{
	return peer_call(p, do_ready, slot, 0, 0);
}

static long do_read(long from, long len, long c)
{
	memcpy(peer_shm->data, (void *)from, len);
	return 0;
}

int p_read(struct peer *p, address_t from, void *to, size_t len)
{
	int ret = peer_call(p, do_read, (long)from, len, 0);

	memcpy(to, p->shm->data, len);
	return ret;
}

/* --- names and administration ----------------------------------------------*/

const char *own_name(const char *stem)
{
	static char names[8][64];
	static int next;
	char *name = names[next++ % 8];

	snprintf(name, sizeof(names[0]), "%s.%d", stem, getpid());
	return name;
}

int node_down(void)
{
	return system("ddctl node down");
}

int node_up(void)
{
	return system("ddctl node up");
}

/* The builtin ip of the guest's sh has no netns command. */
static int far_ddctl(const char *words)
{
	char command[160];

	snprintf(command, sizeof(command),
		 "bash -c 'ip netns exec %s ddctl %s'", getenv("DDP_PEER_NETNS"),
		 words);
	return system(command);
}

int far_node_down(void)
{
	return far_ddctl("node down");
}

int far_node_up(void)
{
	return far_ddctl("node up");
}
