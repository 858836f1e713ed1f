// SPDX-License-Identifier: GPL-2.0-only
/*
 * st-store - a store of blocks: a file, read and written by the sequences of ST
 *
 *   st-store serve SERVICE FILE
 *   st-store read HOST SERVICE BLOCK COUNT     blocks to the standard output
 *   st-store write HOST SERVICE BLOCK          the standard input to blocks
 *
 * Read:	REQUEST_TO_RECEIVE{first block, bytes, Mx of the client}, then Data
 * Write:	REQUEST_TO_SEND{first block, bytes}, CLEAR_TO_SEND{Mx of the store}, Data, and
 *		END when the bytes are in the file
 *
 * The store answers REQUEST_ANSWER with an error number in param if it cannot do that. It serves one
 * client at a time; a real one would have a handle and a thread for each.
 *
 *	cc st-store.c -o st-store $(pkg-config --cflags --libs dd-st)
 *
 * Copyright (C) 2026 The dd authors
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <st.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK	4096
#define MOST	256		/* blocks of a request */
#define BYTES	(MOST * BLOCK)

static st_chandle_t c;
static char *memory;
static int Mx;

static void map(int flags)
{
	st_mhandle_t m;

	if (st_map(&c, flags, memory, BYTES, 0, -1, &m, &Mx))
		err(1, "map");
}

static int send_header(st_header_t hdr)
{
	return st_tx(&c, &hdr, NULL, 0, 0, 0);
}

/* ---- the store ------------------------------------------------------------ */

static int refuse(const st_header_t *request, int error)
{
	st_header_t hdr = { .op = ST_OP_REQUEST_ANSWER, .d_id = request->s_id, .param = error };

	return send_header(hdr);
}

static int store_read(int file, const st_header_t *request)
{
	st_header_t data = { .op = ST_OP_DATA, .d_id = request->s_id, .mx = request->mx };
	ssize_t n;

	if (!request->t_len || request->t_len > BYTES)
		return refuse(request, EINVAL);
	n = pread(file, memory, request->t_len, (off_t)request->b_num * BLOCK);
	if (n <= 0)
		return refuse(request, n ? errno : ENXIO);
	memset(memory + n, 0, request->t_len - n);
	return st_tx(&c, &data, NULL, request->t_len, 0, 0);
}

static int store_write(int file, const st_header_t *request)
{
	st_header_t cts = { .op = ST_OP_CLEAR_TO_SEND, .d_id = request->s_id, .mx = Mx }, data;
	st_header_t end = { .op = ST_OP_END, .d_id = request->s_id };
	int error;

	if (!request->t_len || request->t_len > BYTES)
		return refuse(request, EINVAL);
	error = send_header(cts);
	if (!error)
		error = st_rx(&c, &data, NULL, NULL);
	if (error || data.op != ST_OP_DATA)
		return error ? error : refuse(request, EPROTO);
	if (pwrite(file, memory, request->t_len, (off_t)request->b_num * BLOCK) !=
	    (ssize_t)request->t_len)
		return refuse(request, errno);
	return send_header(end);
}

static void serve_client(int file)
{
	st_header_t request;
	int error;

	map(ST_PIN_TX | ST_PIN_RX);
	do {
		error = st_rx(&c, &request, NULL, NULL);
		if (!error && request.op == ST_OP_REQUEST_TO_RECEIVE)
			error = store_read(file, &request);
		else if (!error && request.op == ST_OP_REQUEST_TO_SEND)
			error = store_write(file, &request);
		else if (!error)
			error = refuse(&request, EOPNOTSUPP);
	} while (!error);
	if (error != ECONNRESET)
		warnx("client: %s", strerror(error));
}

static void serve(const char *service, const char *path)
{
	int file = open(path, O_RDWR | O_CREAT, 0666);

	if (file < 0)
		err(1, "%s", path);
	for (;;) {
		if (st_listen(c, NULL, service))
			err(1, "listen to %s", service);
		puts("ready");
		fflush(stdout);
		if (st_accept(c))
			err(1, "accept");
		serve_client(file);
		st_close(c);
	}
}

/* ---- a client ------------------------------------------------------------- */

/* Wait for the answer @op of the store. */
static void answer(int op)
{
	st_header_t hdr;

	if (st_rx(&c, &hdr, NULL, NULL))
		err(1, "the store");
	if (hdr.op == ST_OP_REQUEST_ANSWER)
		errx(1, "the store: %s", strerror(hdr.param));
	if (hdr.op != op)
		errx(1, "the store has sent operation %u", hdr.op);
	Mx = hdr.mx;
}

static void store_connect(const char *host, const char *service)
{
	if (st_connect(c, host, service))
		err(1, "connect to %s, %s", host, service);
	map(ST_PIN_TX | ST_PIN_RX);
}

static void read_blocks(unsigned int block, unsigned int count)
{
	st_header_t request = { .op = ST_OP_REQUEST_TO_RECEIVE, .mx = Mx };
	unsigned int n;

	for (; count; count -= n, block += n) {
		n = count < MOST ? count : MOST;
		request.t_len = (size_t)n * BLOCK;
		request.b_num = block;
		if (send_header(request))
			err(1, "request");
		answer(ST_OP_DATA);
		if (fwrite(memory, BLOCK, n, stdout) != n)
			err(1, "write");
	}
}

static void write_blocks(unsigned int block)
{
	st_header_t request = { .op = ST_OP_REQUEST_TO_SEND }, data = { .op = ST_OP_DATA };
	size_t n;

	while ((n = fread(memory, 1, BYTES, stdin))) {
		request.t_len = n;
		request.b_num = block;
		if (send_header(request))
			err(1, "request");
		answer(ST_OP_CLEAR_TO_SEND);
		data.mx = Mx;
		if (st_tx(&c, &data, NULL, n, 0, 0))
			err(1, "data");
		answer(ST_OP_END);
		block += MOST;
	}
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";

	memory = st_malloc(BYTES);
	if (!memory || st_create(&c))
		err(1, "create");
	if (argc == 4 && !strcmp(verb, "serve"))
		serve(argv[2], argv[3]);
	if ((argc != 6 || strcmp(verb, "read")) && (argc != 5 || strcmp(verb, "write")))
		errx(2, "usage: st-store serve SERVICE FILE | read HOST SERVICE BLOCK COUNT | "
		     "write HOST SERVICE BLOCK");
	store_connect(argv[2], argv[3]);
	if (argc == 6)
		read_blocks(atoi(argv[4]), atoi(argv[5]));
	else
		write_blocks(atoi(argv[4]));
	return st_delete(c);
}
