// SPDX-License-Identifier: GPL-2.0-only
/*
 * fabric.c - the loops by libfabric, between two processes of one machine:
 * dd-fabric PROVIDER lat|bw SIZE...
 *
 * Copyright (C) 2026 The dd authors
 */
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "loop.h"

#define NAME_MAX_BYTES	256
#define SIZE_LIMIT	(64 << 20)	/* of a message */

static struct fid_ep *ep;
static struct fid_cq *sent, *arrived;
static fi_addr_t other;
static struct fi_context sends[LOOP_WINDOW], receives[LOOP_WINDOW];
static unsigned int started, finished, next_receive;
static char *posted_at;

static void must(long ret, const char *what)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "dd-fabric: %s: %s\n", what, fi_strerror(-ret));
	exit(1);
}

static int reap(struct fid_cq *cq)
{
	struct fi_cq_entry entry;
	long n = fi_cq_read(cq, &entry, 1);

	if (n == -FI_EAGAIN)
		return 0;
	must(n, "completion");
	return n;
}

void put(char *buffer, int size)
{
	long ret;

	while (started - finished == LOOP_WINDOW)
		finished += reap(sent);
	while ((ret = fi_send(ep, buffer, size, NULL, other,
			      &sends[started % LOOP_WINDOW])) == -FI_EAGAIN)
		finished += reap(sent);
	must(ret, "send");
	started++;
}

static void post(char *buffer, int size)
{
	long ret;

	while ((ret = fi_recv(ep, buffer, size, NULL, other,
			      &receives[next_receive % LOOP_WINDOW])) == -FI_EAGAIN)
		reap(sent);
	must(ret, "receive");
	next_receive++;
}

/*
 * A window of receives is posted, all to one place, of which each takes the
 * largest message that is sent.
 */
void get(char *buffer, int size)
{
	while (!reap(arrived))
		;
	post(posted_at, SIZE_LIMIT);
}

void settle(void)
{
	while (started != finished)
		finished += reap(sent);
}

static void exchange(int control, const char *own, size_t len, char *name)
{
	char padded[NAME_MAX_BYTES] = {};

	memcpy(padded, own, len);
	if (send(control, padded, sizeof(padded), 0) != sizeof(padded) ||
	    recv(control, name, NAME_MAX_BYTES, MSG_WAITALL) != NAME_MAX_BYTES)
		must(-FI_EIO, "the other process");
}

static struct fi_info *find(const char *provider)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG;
	hints->mode = FI_CONTEXT;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->fabric_attr->prov_name = strdup(provider);
	must(fi_getinfo(FI_VERSION(1, 9), NULL, NULL, 0, hints, &info), provider);
	fi_freeinfo(hints);
	return info;
}

static void set_up(const char *provider, int control)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_CONTEXT };
	struct fi_av_attr av_attr = { .type = FI_AV_UNSPEC };
	struct fi_info *info = find(provider);
	char own[NAME_MAX_BYTES], name[NAME_MAX_BYTES];
	size_t len = sizeof(own);
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	int i;

	must(fi_fabric(info->fabric_attr, &fabric, NULL), "fabric");
	must(fi_domain(fabric, info, &domain, NULL), "domain");
	must(fi_av_open(domain, &av_attr, &av, NULL), "address vector");
	must(fi_cq_open(domain, &cq, &sent, NULL), "queue");
	must(fi_cq_open(domain, &cq, &arrived, NULL), "queue");
	must(fi_endpoint(domain, info, &ep, NULL), "endpoint");
	must(fi_ep_bind(ep, &av->fid, 0), "bind");
	must(fi_ep_bind(ep, &sent->fid, FI_TRANSMIT), "bind");
	must(fi_ep_bind(ep, &arrived->fid, FI_RECV), "bind");
	must(fi_enable(ep), "enable");
	must(fi_getname(&ep->fid, own, &len), "name");
	exchange(control, own, len, name);
	must(fi_av_insert(av, name, 1, &other, 0, NULL) == 1 ? 0 : -FI_EINVAL,
	     "address");
	posted_at = malloc(SIZE_LIMIT);
	must(posted_at ? 0 : -FI_ENOMEM, "memory");
	memset(posted_at, 0, SIZE_LIMIT);
	for (i = 0; i < LOOP_WINDOW; i++)
		post(posted_at, SIZE_LIMIT);
	/* Neither sends before the other one has posted. */
	exchange(control, own, len, name);
}

/* Neither goes while the other one may need it. */
static void finish(int control)
{
	char own = 0, name[NAME_MAX_BYTES];

	exchange(control, &own, 1, name);
}

int main(int argc, char **argv)
{
	int control;

	if (argc < 4) {
		fprintf(stderr, "Usage: dd-fabric PROVIDER lat|bw SIZE...\n");
		return 2;
	}
	control = loop_fork();
	set_up(argv[1], control);
	loop_run(argv[2], argv + 3);
	finish(control);
	return loop_join();
}
