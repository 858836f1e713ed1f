// SPDX-License-Identifier: GPL-2.0-only
/*
 * ucx.c - the loops by UCX, between two processes of one machine:
 * dd-ucx lat|bw SIZE...
 *
 * Tag matching, as what ucx_perftest's tag_lat and tag_bw do; UCX_TLS in the
 * environment says by what transports.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <ucp/api/ucp.h>

#include "loop.h"

#define NAME_MAX_BYTES	4096
#define SIZE_LIMIT	(64 << 20)	/* of a message */
#define TAG		1

static ucp_worker_h worker;
static ucp_ep_h ep;
static void *sends[LOOP_WINDOW], *receives[LOOP_WINDOW];
static unsigned int next_send, next_receive;
static char *posted_at;

static void must(ucs_status_t status, const char *what)
{
	if (status == UCS_OK)
		return;
	fprintf(stderr, "dd-ucx: %s: %s\n", what, ucs_status_string(status));
	exit(1);
}

/* What was started at a place is over after it; NULL was over at once. */
static void await(void **request, const char *what)
{
	ucs_status_t status;

	if (!*request)
		return;
	if (UCS_PTR_IS_ERR(*request))
		must(UCS_PTR_STATUS(*request), what);
	while ((status = ucp_request_check_status(*request)) == UCS_INPROGRESS)
		ucp_worker_progress(worker);
	must(status, what);
	ucp_request_free(*request);
	*request = NULL;
}

void put(char *buffer, int size)
{
	const ucp_request_param_t param = {};
	void **request = &sends[next_send++ % LOOP_WINDOW];

	await(request, "send");
	*request = ucp_tag_send_nbx(ep, buffer, size, TAG, &param);
}

static void post(void **request, int size)
{
	const ucp_request_param_t param = {};

	*request = ucp_tag_recv_nbx(worker, posted_at, size, TAG, -1, &param);
}

/*
 * A window of receives is posted, all to one place, of which each takes the
 * largest message that is sent.
 */
void get(char *buffer, int size)
{
	void **request = &receives[next_receive++ % LOOP_WINDOW];

	await(request, "receive");
	post(request, SIZE_LIMIT);
}

void settle(void)
{
	int i;

	for (i = 0; i < LOOP_WINDOW; i++)
		await(&sends[i], "send");
}

/* Progress while it waits: the other one may need it. */
static void exchange(int control, const void *own, size_t len, char *name)
{
	char padded[NAME_MAX_BYTES] = {};
	ssize_t n;
	size_t got = 0;

	memcpy(padded, own, len);
	if (send(control, padded, sizeof(padded), 0) != sizeof(padded))
		must(UCS_ERR_IO_ERROR, "the other process");
	while (got < NAME_MAX_BYTES) {
		n = recv(control, name + got, NAME_MAX_BYTES - got, MSG_DONTWAIT);
		if (!n)
			must(UCS_ERR_CONNECTION_RESET, "the other process");
		got += n > 0 ? n : 0;
		ucp_worker_progress(worker);
	}
}

static void open_worker(void)
{
	const ucp_params_t params = {
		.field_mask = UCP_PARAM_FIELD_FEATURES,
		.features = UCP_FEATURE_TAG,
	};
	const ucp_worker_params_t single = {
		.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
		.thread_mode = UCS_THREAD_MODE_SINGLE,
	};
	ucp_config_t *config;
	ucp_context_h context;

	must(ucp_config_read(NULL, NULL, &config), "configuration");
	must(ucp_init(&params, config, &context), "context");
	ucp_config_release(config);
	must(ucp_worker_create(context, &single, &worker), "worker");
}

static void set_up(int control)
{
	ucp_ep_params_t params = {
		.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
	};
	char name[NAME_MAX_BYTES];
	ucp_address_t *own;
	size_t len;
	int i;

	open_worker();
	must(ucp_worker_get_address(worker, &own, &len), "address");
	must(len <= NAME_MAX_BYTES ? UCS_OK : UCS_ERR_BUFFER_TOO_SMALL, "address");
	exchange(control, own, len, name);
	params.address = (const ucp_address_t *)name;
	must(ucp_ep_create(worker, &params, &ep), "endpoint");
	posted_at = malloc(SIZE_LIMIT);
	must(posted_at ? UCS_OK : UCS_ERR_NO_MEMORY, "memory");
	memset(posted_at, 0, SIZE_LIMIT);
	for (i = 0; i < LOOP_WINDOW; i++)
		post(&receives[i], SIZE_LIMIT);
	/* Neither sends before the other one has posted. */
	exchange(control, own, len, name);
	ucp_worker_release_address(worker, own);
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

	if (argc < 3) {
		fprintf(stderr, "Usage: dd-ucx lat|bw SIZE...\n");
		return 2;
	}
	control = loop_fork();
	set_up(control);
	loop_run(argv[1], argv + 2);
	finish(control);
	return loop_join();
}
