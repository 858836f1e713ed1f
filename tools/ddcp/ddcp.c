// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddcp - copy a file from one process to another by direct deposit
 *
 * The sender connects to the receiver's service and sends
 *
 *	HELLO {struct hello}
 *	DATA  {bytes of the file}, as often as it takes
 *	FIN   {checksum}
 *
 * The kind of a message is its first word of metadata. The receiver sends
 *
 *	RESULT error {text}
 *
 * once: after FIN, when the file is in place, or earlier, when it gives up.
 * Message n lies at place n % PLACES of both blocks. When message n - 1 has been
 * accepted, message n - PLACES has been sent and read: WINDOW messages are unread,
 * one more waits for its notification, and one is being written to the file.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "dd.h"
#include "../common/tool.h"

#define WINDOW	4
#define PLACES	(WINDOW + 2)
#define PLACE	(256 << 10)
#define REPLY	4096
#define MAGIC	0x35706364u	/* "dcp5", with the version of this protocol */
#define UNKNOWN	UINT64_MAX	/* size of what comes through a pipe */

enum { HELLO = 1, DATA, FIN, RESULT };

struct hello {
	uint32_t magic;
	uint32_t mode;
	uint64_t size;
};

static const char usage[] =
"Usage: ddcp recv [-n NAME] [-q] [-o FILE]\n"
"       ddcp send [-n NAME] [-q] [-N NODE] [-w SECONDS] FILE\n"
"Copies a file of any size from one process to another by direct deposit.\n"
"\n"
"  -n, --name NAME      name of the receiver [ddcp]\n"
"  -q, --quiet          no progress, no summary\n"
"  -o, --output FILE    file to write [standard output]\n"
"  -N, --node N         node of the receiver [this one]\n"
"  -w, --wait SECONDS   wait that long for the receiver [0]\n"
"  -h, --help           this text\n"
"  -V, --version        version\n"
"FILE - is standard input.\n"
"\n"
"Exit status: 0 copied and verified, 1 failed, 2 wrong command line,\n"
"3 dd is not available, 4 the other side went away.\n";

static const struct option options[] = {
	{ "name", required_argument, NULL, 'n' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "output", required_argument, NULL, 'o' },
	{ "node", required_argument, NULL, 'N' },
	{ "wait", required_argument, NULL, 'w' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ }
};

/* The command line. */
static bool sending, quiet;
static const char *service = "ddcp", *file = "-";
static int node = -1;
static unsigned int patience;

/* The copy: a process makes one. */
static struct dd *h;
static int conn, list, offered;
static char *reply;		/* the receiver's reply block, once connected */
static uint64_t size, total, begin, drawn;
static XXH3_state_t hash;

/*
 * The receiver's file; @temp is empty while it has its own name, and if it is written in
 * place: standard output, a pipe or a device. The handler of signals reads @temp.
 */
static int out = -1;
static char temp[PATH_MAX + NAME_MAX + 16];

/* --- messages for people --------------------------------------------------- */

/* On a terminal, five times a second and at the end; then a summary anywhere. */
static void progress(bool end)
{
	uint64_t now = tool_now();
	double mib = size / 1048576.0, seconds = (now - begin) / 1e9;
	double rate = seconds > 0 ? mib / seconds : 0;
	char percent[8] = "";

	if (isatty(STDERR_FILENO) && !quiet && (end || now - drawn >= 200000000)) {
		drawn = now;
		if (total != UNKNOWN)
			snprintf(percent, sizeof(percent), "%3.0f%% ",
				 size < total ? 100.0 * size / total : 100);
		fprintf(stderr, "\r%s%.1f MiB, %.1f MiB/s\033[K%s", percent, mib, rate,
			end ? "\n" : "");
	}
	if (end && !quiet)
		tool_warn("%s %llu byte%s in %.3f s, %.1f MiB/s, checksum verified",
			  sending ? "sent" : "received", (unsigned long long)size,
			  tool_s(size), seconds, rate);
}

/*
 * The receiver's last message. dd_unserve() waits until it has been sent, and lets no
 * other sender in, which waits for the next receiver.
 */
static void send_result(int error, const char *text)
{
	const unsigned int meta[2] = { RESULT, error };

	strcpy(reply, text);
	dd_send(h, conn, reply, strlen(text), 0, 0, meta, 2);
	dd_unserve(h, offered);
}

/* End the process; a receiver sends the reason to the sender. */
__attribute__((format(printf, 2, 3), noreturn))
static void fail(int code, const char *format, ...)
{
	char text[REPLY / 2], clean[REPLY / 2];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (*temp)
		unlink(temp);
	if (reply && code != TOOL_PEER)
		send_result(code, text);
	if (drawn)
		fputc('\n', stderr);
	/* File names, and the other side's words, may hold control characters. */
	tool_warn("%s", tool_print_name(clean, sizeof(clean), text));
	exit(code);
}

__attribute__((noreturn))
static void fail_errno(const char *what)
{
	fail(TOOL_FAILED, "%s: %s", what, strerror(errno));
}

__attribute__((noreturn))
static void fail_dd(const char *what, int error)
{
	char more[512] = "";

	if (h)
		dd_last_error(h, more, sizeof(more));
	fail(tool_exit_code(error), "%s: %s%s%s%s", what, dd_strerror(error),
	     *more ? " (" : "", more, *more ? ")" : "");
}

/* Open dd and allocate both blocks. */
static void open_dd(size_t send_size, void **send, size_t recv_size, void **recv)
{
	int ret = dd_open(&h);

	if (ret)
		fail_dd("/dev/dd", ret);
	tool_raise_memlock();
	ret = dd_alloc(h, send_size, send);
	if (!ret)
		ret = dd_alloc(h, recv_size, recv);
	if (ret)
		fail_dd("wired memory", ret);
	XXH3_128bits_reset(&hash);
}

/* --- the sender ------------------------------------------------------------ */

/* Take the receiver's RESULT, if there is one within @timeout. */
static void hear(int64_t timeout)
{
	char text[REPLY / 2] = "";
	struct dd_msg msg;
	int ret = dd_recv(h, list, &msg, DD_RECV_SPIN, timeout);

	if (ret == -EWOULDBLOCK)
		return;
	if (ret == -ECONNCLOSE)
		fail(TOOL_PEER, "the receiver went away after %llu byte%s",
		     (unsigned long long)size, tool_s(size));
	if (ret)
		fail_dd("receiving", ret);
	if (msg.meta_count != 2 || msg.meta[0] != RESULT || msg.len >= sizeof(text))
		fail(TOOL_FAILED, "the receiver broke the protocol");
	memcpy(text, msg.addr, msg.len);
	if (msg.meta[1])
		fail(TOOL_FAILED, "receiver: %s", text);
}

/* Send @len bytes, which are in place already. Return: the next place. */
static char *send_message(char *block, unsigned int kind, size_t len)
{
	static uint64_t n;
	size_t at = n++ % PLACES * PLACE;
	int ret;

	do {
		ret = dd_send(h, conn, block + at, len, at, 0, &kind, 1);
	} while (ret == -ENOTREADY &&
		 (ret = dd_done(h, conn, DD_DONE_PLACED, DD_FOREVER)) > 0);
	while (ret == -ECONNCLOSE)
		hear(DD_FOREVER);	/* the reason, or that there is none */
	if (ret < 0)
		fail_dd("sending", ret);
	return block + n % PLACES * PLACE;
}

/* Fill a place, as far as the file goes. The end of the receiver ends a wait for input. */
static size_t fill(struct pollfd *p, char *place)
{
	size_t done = 0;
	ssize_t n = 1;

	while (done < PLACE && n) {
		hear(0);
		if (poll(p, 2, -1) > 0 && !p[0].revents)
			continue;
		n = read(p[0].fd, place + done, PLACE - done);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			fail_errno(file);
		done += n > 0 ? n : 0;
	}
	XXH3_128bits_update(&hash, place, done);
	size += done;
	return done;
}

static void connect_to(struct dd_connect_attr *attr)
{
	uint64_t end = tool_now() + patience * 1000000000ull;

	if (node < 0)
		node = dd_node(h);
	/* While there is no receiver, or it has another sender. */
	do {
		conn = dd_connect(h, service, node, attr, &list);
	} while ((conn == -EBADSERVER || conn == -ENORESOURCE) && tool_now() < end &&
		 !usleep(50000));
	if (conn < 0)
		fail_dd("connecting", conn);
}

static int copy_out(void)
{
	struct dd_connect_attr attr = {
		.size = sizeof(attr), .type = DD_TYPE_STREAM, .window = WINDOW,
		.send_size = PLACES * PLACE, .recv_size = REPLY,
	};
	struct hello hello = { MAGIC, 0666, UNKNOWN };
	bool in = !strcmp(file, "-");
	int fd = in ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC);
	struct pollfd p[2] = { { .fd = fd, .events = POLLIN }, { .events = POLLIN } };
	XXH128_hash_t sum;
	struct stat st;
	char *place;
	size_t n;

	if (fd < 0 || fstat(fd, &st))
		fail_errno(file);
	if (S_ISDIR(st.st_mode))
		fail(TOOL_FAILED, "%s: Is a directory", file);
	if (S_ISREG(st.st_mode))
		hello.mode = st.st_mode & 0777;
	/* Files of /proc have a size of 0. */
	if (S_ISREG(st.st_mode) && st.st_size && !in)
		hello.size = st.st_size;
	total = hello.size;

	open_dd(attr.send_size, &attr.send, attr.recv_size, &attr.recv);
	connect_to(&attr);
	p[1].fd = dd_list_fd(h, list);
	begin = tool_now();
	memcpy(attr.send, &hello, sizeof(hello));
	place = send_message(attr.send, HELLO, sizeof(hello));
	while ((n = fill(p, place))) {
		place = send_message(attr.send, DATA, n);
		progress(false);
	}
	if (total != UNKNOWN && size != total)
		fail(TOOL_FAILED, "%s: its size has changed from %llu to %llu", file,
		     (unsigned long long)total, (unsigned long long)size);
	sum = XXH3_128bits_digest(&hash);
	memcpy(place, &sum, sizeof(sum));
	send_message(attr.send, FIN, sizeof(sum));
	hear(DD_FOREVER);
	progress(true);
	return TOOL_OK;
}

/* --- the receiver's file --------------------------------------------------- */

static void unlink_temp(int sig)
{
	if (*temp)
		unlink(temp);
	signal(sig, SIG_DFL);
	raise(sig);	/* ends the process when this function returns */
}

static void open_output(void)
{
	const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
	struct stat st;

	if (!strcmp(file, "-")) {
		out = STDOUT_FILENO;
	} else if (!stat(file, &st) && !S_ISREG(st.st_mode)) {
		out = open(file, O_WRONLY | O_CLOEXEC);
	} else {
		/* .NAME.ddcp.XXXXXX beside it, NAME cut where it would be too long. */
		snprintf(temp, sizeof(temp), "%.*s.%.*s.ddcp.XXXXXX", (int)(base - file),
			 file, NAME_MAX - 13, base);
		out = mkostemp(temp, O_CLOEXEC);
		if (out < 0)
			*temp = 0;
	}
	if (out < 0)
		fail_errno(file);
}

/* Before there is a sender: can the file be created? */
static void try_output(void)
{
	open_output();
	if (*temp) {
		unlink(temp);
		*temp = 0;
		close(out);
		out = -1;
	}
}

static void write_output(const char *p, size_t len)
{
	ssize_t n;

	for (; len; p += n > 0 ? n : 0, len -= n > 0 ? n : 0) {
		n = write(out, p, len);
		if (n < 0 && errno != EINTR)
			fail_errno(strcmp(file, "-") ? file : "standard output");
	}
}

/* The file gets its name when it is on disk. */
static void commit(mode_t mode)
{
	if (*temp && fchmod(out, mode & 0777 & ~umask(0)) < 0)
		fail_errno(file);
	/* Pipes and some devices cannot be written back. */
	if (fsync(out) < 0 && (*temp || (errno != EINVAL && errno != EROFS)))
		fail_errno(file);
	if (!*temp)
		return;
	if (rename(temp, file) < 0)
		fail_errno(file);
	*temp = 0;
	/* EBADF if it cannot be opened: then the kernel writes it back later. */
	fsync(open(dirname(strdup(file)), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/* --- the receiver ---------------------------------------------------------- */

/* Whether it is the first message of a ddcp. */
static bool on_hello(const struct dd_msg *msg, struct hello *hello)
{
	if (msg->meta_count != 1 || msg->meta[0] != HELLO || msg->len != sizeof(*hello))
		return false;
	/* Copied: the sender can still write to it. */
	memcpy(hello, msg->addr, sizeof(*hello));
	if (hello->magic != MAGIC)
		return false;
	conn = msg->conn;
	reply = msg->send;
	total = hello->size;
	begin = tool_now();
	if (out < 0)
		open_output();
	return true;
}

static int copy_in(void)
{
	struct dd_serve_attr attr = {
		.size = sizeof(attr), .flags = DD_ATTR_CLOSE, .maxconn = 1,
		.window = WINDOW, .recv_size = PLACES * PLACE, .send_size = REPLY,
	};
	static const int fatal[] = { SIGHUP, SIGINT, SIGTERM, SIGQUIT };
	XXH128_hash_t sum;
	struct hello hello;
	struct dd_msg msg;
	int ret;

	/* nohup, and shells that start it in the background, ignore some. */
	for (size_t i = 0; i < sizeof(fatal) / sizeof(*fatal); i++)
		if (signal(fatal[i], unlink_temp) == SIG_IGN)
			signal(fatal[i], SIG_IGN);
	try_output();
	open_dd(attr.send_size, &attr.send, attr.recv_size, &attr.recv);
	offered = dd_serve(h, service, &attr, &list);
	if (offered < 0)
		fail_dd("service", offered);
	if (!quiet)
		tool_warn("ready as '%s' on node %d", service, dd_node(h));
	for (;;) {
		ret = dd_recv(h, list, &msg, DD_RECV_SPIN, DD_FOREVER);
		if (ret == -ECONNCLOSE && conn)
			fail(TOOL_PEER, "%s: the sender went away after %llu byte%s",
			     file, (unsigned long long)size, tool_s(size));
		if (ret && ret != -ECONNCLOSE)
			fail_dd("receiving", ret);
		if (!conn) {
			/* A client that is no ddcp makes room for another one. */
			if (ret || !on_hello(&msg, &hello))
				dd_close(h, msg.conn);
			continue;
		}
		if (msg.meta_count == 1 && msg.meta[0] == FIN)
			break;
		if (msg.meta_count != 1 || msg.meta[0] != DATA)
			fail(TOOL_FAILED, "the sender broke the protocol");
		XXH3_128bits_update(&hash, msg.addr, msg.len);
		write_output(msg.addr, msg.len);
		size += msg.len;
		progress(false);
	}
	sum = XXH3_128bits_digest(&hash);
	if (msg.len != sizeof(sum) || memcmp(msg.addr, &sum, sizeof(sum)))
		fail(TOOL_FAILED, "the checksum does not match what arrived");
	commit(hello.mode);
	send_result(0, "");
	progress(true);
	return TOOL_OK;
}

/* --- the command line ------------------------------------------------------ */

static void parse(int argc, char **argv)
{
	const char *given[128] = { NULL };
	int c;

	while ((c = getopt_long(argc, argv, "n:qo:N:w:hV", options, NULL)) != -1) {
		if (c == '?')
			tool_bad_option(argv);
		given[c] = optarg ? optarg : "";
	}
	if (given['h'] || given['V']) {
		printf("%s", given['h'] ? usage : "ddcp " DD_VERSION "\n");
		exit(TOOL_OK);
	}
	if (optind == argc)
		tool_usage("send or recv?");
	sending = !strcmp(argv[optind], "send");
	if (!sending && strcmp(argv[optind], "recv"))
		tool_usage("'%s': send or recv?", argv[optind]);
	if (++optind + sending != argc)
		tool_usage(sending ? "send takes one file" : "recv takes options only");
	if (sending && given['o'])
		tool_usage("--output is an option of recv");
	if (!sending && (given['N'] || given['w']))
		tool_usage("--node and --wait are options of send");
	quiet = given['q'];
	if (given['n'])
		service = given['n'];
	if (!*service || strlen(service) > 63)
		tool_usage("--name: 1 to 63 bytes");
	if (sending)
		file = argv[optind];
	else if (given['o'])
		file = given['o'];
	if (given['N'])
		node = tool_number("--node", given['N'], 0, INT_MAX);
	if (given['w'])
		patience = tool_number("--wait", given['w'], 0, 86400);
}

int main(int argc, char **argv)
{
	tool_begin("ddcp");
	parse(argc, argv);
	/* A closed pipe is an error to report, to the other side as well. */
	signal(SIGPIPE, SIG_IGN);
	return sending ? copy_out() : copy_in();
}
