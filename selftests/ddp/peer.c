// SPDX-License-Identifier: GPL-2.0-only
/*
 * DDP calls of other processes.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "peer.h"

static struct slot slots[PEER_SLOTS];

bool sends_directly(void)
{
	const char *direct = getenv("DD_DIRECT");

	return !across_nodes() && (!direct || strcmp(direct, "0"));
}

int near_node(void)
{
	return is_far ? 2 : 1;
}

int far_node(void)
{
	return across_nodes() && !is_far ? 2 : 1;
}

/* --- DDP calls -------------------------------------------------------------*/

static long do_slot(long i, long b, long c)
{
	memcpy(peer_shm->data, &slots[i], sizeof(slots[i]));
	return 0;
}

struct slot peer_slot(struct worker *p, int slot)
{
	struct slot s;

	worker_do(p, do_slot, slot, 0, 0);
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

int p_serve(struct worker *p, const struct peer_serve *s)
{
	snprintf(p->shm->name, sizeof(p->shm->name), "%s", s->name);
	memcpy(p->shm->data, s, sizeof(*s));
	return worker_do(p, do_serve, 0, 0, 0);
}

int p_serve_simple(struct worker *p, const char *name, int maxconn, size_t size)
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

int p_conn(struct worker *p, const char *name, int type, size_t size, int slot)
{
	snprintf(p->shm->name, sizeof(p->shm->name), "%s", name);
	return worker_do(p, do_conn, type, size, slot);
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

void p_recv_begin(struct worker *p, int slot, int options, int timeout)
{
	worker_begin(p, do_recv, slot, options, timeout);
}

int p_recv(struct worker *p, int slot, int options, int timeout)
{
	return worker_do(p, do_recv, slot, options, timeout);
}

static long do_echo(long slot, long n, long at)
{
	ddrecv_desc_t d;
	conninfo_t info;

	while (n--) {
		if (ddrecv(slots[slot].note, &d, RECV_SLEEP, 0) || ddconninfo(d.connid, &info))
			return -1;
		memcpy(info.sendbase, d.msgaddr, d.msgsize);
		if (d.msgaddr != info.recvbase)
			return -2;
		if (ddsend(d.connid, info.sendbase, d.msgsize, at, SEND_NOOPTS))
			return -1;
	}
	return 0;
}

void p_echo_begin(struct worker *p, int n, int at)
{
	worker_begin(p, do_echo, 0, n, at);
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

int p_send(struct worker *p, connid_t conn, const void *bytes, size_t len,
	   size_t roffset, int options)
{
	struct send_args *a = (struct send_args *)p->shm->data;

	a->conn = conn;
	a->len = len;
	a->roffset = roffset;
	a->options = options;
	memcpy(a->bytes, bytes, len);
	return worker_do(p, do_send, 0, 0, 0);
}

static long do_info(long conn, long b, long c)
{
	return ddconninfo(conn, &peer_shm->info);
}

int p_info(struct worker *p, connid_t conn)
{
	return worker_do(p, do_info, conn, 0, 0);
}

static long do_close(long conn, long b, long c)
{
	return ddclose(conn);
}

int p_close(struct worker *p, connid_t conn)
{
	return worker_do(p, do_close, conn, 0, 0);
}

static long do_unserve(long serv, long b, long c)
{
	return ddunserve(serv);
}

int p_unserve(struct worker *p, servid_t serv)
{
	return worker_do(p, do_unserve, serv, 0, 0);
}

static long do_connlist(long serv, long count, long c)
{
	return ddconnlist(serv, count, peer_shm->conns);
}

int p_connlist(struct worker *p, servid_t serv, int count)
{
	return worker_do(p, do_connlist, serv, count, 0);
}

static long do_ready(long slot, long b, long c)
{
	return ddready(slots[slot].note);
}

int p_ready(struct worker *p, int slot)
{
	return worker_do(p, do_ready, slot, 0, 0);
}

static long do_read(long from, long len, long c)
{
	memcpy(peer_shm->data, (void *)from, len);
	return 0;
}

int p_read(struct worker *p, address_t from, void *to, size_t len)
{
	int ret = worker_do(p, do_read, (long)from, len, 0);

	memcpy(to, p->shm->data, len);
	return ret;
}

const char *said(int err)
{
	static char text[1024];
	int saved = dup(2), fd = memfd_create("stderr", 0);
	ssize_t n;

	dup2(fd, 2);
	errno = err;
	dderror("call %d", 7);
	err = errno;
	dup2(saved, 2);
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = 0;
	close(fd);
	close(saved);
	errno = err;
	return text;
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
int far_node_down(void)
{
	return system("bash -c 'ip netns exec dd2 ddctl node down'");
}

int far_node_up(void)
{
	return system("bash -c 'ip netns exec dd2 ddctl node up'");
}
