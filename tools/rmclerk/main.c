// SPDX-License-Identifier: GPL-2.0-only
/*
 * rmclerk - the name clerk of a node: names of segments, for exports and imports
 *
 * Copyright (C) 2026 The dd authors
 *
 * Threads: some read calls of the kernel from the descriptor of the registrar, see lookup.c; one
 * reads the notes of other clerks and waits for none of them; one refreshes the cache. The first
 * one shows that the clerk works.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include <linux/dd_mem.h>

#include "cache.h"
#include "clerk.h"
#include "lookup.h"
#include "peer.h"
#include "../common/tool.h"

#define BEAT_NS		100000000

static uint32_t user_names;	/* that a user other than the clerk's may have */
static pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER;

_Static_assert(REGISTRY_NAME == DD_SEGMENT_KEY, "names are keys");

/* ---- calls of this node ----------------------------------------------------- */

static void look_up(const struct dd_registrar_call *call)
{
	const char *name = (const char *)call->name;
	int own = dd_node(clerk.h), err;
	struct record r;

	pthread_mutex_lock(&clerk.lock);
	err = registry_find(clerk.head, name, &r);
	pthread_mutex_unlock(&clerk.lock);
	if (!err || call->node == (uint32_t)own)
		answer(call, err, own, err ? 0 : r.generation);
	else if (call->node >= clerk.nodes)
		answer(call, ENONET, 0, 0);
	else if (!(call->flags & DD_IMPORT_FRESH) && cache_find(call->node, name, &r))
		answer(call, 0, call->node, r.generation);
	else
		lookup(call);
}

/* The registry is locked. */
static int change(const struct dd_registrar_call *call)
{
	struct user *u = user_of(call->uid);
	int err;

	if (call->op == DD_REGISTRAR_DELETE) {
		u->names -= registry_delete(clerk.head, (char *)call->name, call->generation);
		return 0;
	}
	if (u->names >= user_names && call->uid != clerk.uid)
		return EDQUOT;
	err = registry_add(clerk.head, (char *)call->name, call->generation, call->length);
	u->names += !err;
	return err;
}

/* Read a call, and execute it if it changes the registry. False if no call could be read. */
static bool call_read(struct dd_registrar_call *call, int *err)
{
	if (read(clerk.registrar, call, sizeof(*call)) != sizeof(*call)) {
		if (errno == EAGAIN)
			return false;
		fail("cannot read calls of the kernel", errno);
	}
	pthread_mutex_lock(&clerk.lock);
	*err = call->op == DD_REGISTRAR_LOOKUP ? 0 : change(call);
	pthread_mutex_unlock(&clerk.lock);
	return true;
}

static void finish(const struct dd_registrar_call *call, int err)
{
	if (call->op == DD_REGISTRAR_LOOKUP)
		look_up(call);
	else
		answer(call, err, 0, 0);
}

/* A call that was read before the first thread that reads calls; its call is 0 if there is none. */
struct early {
	struct dd_registrar_call call;
	int err;
};

/* Calls that change the registry are executed in their order, under @reading. */
static void *serve(void *arg)
{
	const struct early *early = arg;
	struct dd_registrar_call call;
	bool done;
	int err;

	if (early && early->call.call)
		finish(&early->call, early->err);
	for (;;) {
		pthread_mutex_lock(&reading);
		done = call_read(&call, &err);
		pthread_mutex_unlock(&reading);
		if (done)
			finish(&call, err);
	}
	return NULL;
}

/*
 * Take the names of existing segments before other nodes can read the registry, which would not
 * find them. The kernel sends these names first, and then maybe a call that waits.
 */
static void read_names(struct early *early)
{
	fcntl(clerk.registrar, F_SETFL, O_NONBLOCK);
	while (call_read(&early->call, &early->err) && !early->call.call)
		;
	fcntl(clerk.registrar, F_SETFL, 0);
}

/* ---- requests of other clerks ------------------------------------------------- */

static void *reply(void *arg)
{
	int fd = *(int *)arg;
	struct dd_list_record note;

	/* Of a request, or of the import that its reply needs. */
	while (read(fd, &note, sizeof(note)) == sizeof(note))
		if ((note.op == DD_OP_PUT || note.type == DD_NOTE_IMPORT) &&
		    note.node < clerk.nodes)
			peer_answer(note.node);
	fail("cannot read notes", errno);
}

/* ---- start -------------------------------------------------------------------- */

static void *memory(size_t len)
{
	void *p;
	int ret = dd_alloc(clerk.h, len, &p);

	if (ret)
		fail("cannot allocate the registry", -ret);
	return p;
}

static void export(unsigned int key, void *addr, size_t len, unsigned int rights, int list)
{
	struct dd_export_attr attr = {
		.size = sizeof(attr), .addr = addr, .len = len, .key_class = DD_KEY_WELL_KNOWN,
		.key = { key }, .rights = rights, .importers = 8192, .list = list,
		.window = list ? 4 : 0, .notify = list ? DD_NOTIFY_IF_ASKED : DD_NOTIFY_NEVER,
	};
	uint64_t segment;
	int ret = dd_export(clerk.h, &attr, &segment);

	if (ret)
		fail("cannot export the registry", -ret);
}

static void registry_new(uint32_t slots)
{
	struct registry_head head = { .magic = REGISTRY_MAGIC, .slots = slots };

	if (getrandom(&head.seed, sizeof(head.seed), GRND_INSECURE) < 0)
		fail("cannot choose a seed", errno);
	clerk.nodes = dd_max_nodes(clerk.h);
	clerk.boxes = memory(clerk.nodes * sizeof(*clerk.boxes));
	clerk.head = memory(registry_size(&head));
	memcpy(clerk.head, &head, sizeof(head));
}

/* The registry, and the mailboxes, whose notes have a list. */
static void registry_export(int list)
{
	export(MAILBOXES_KEY, clerk.boxes, clerk.nodes * sizeof(*clerk.boxes), DD_CAN_PUT, list);
	export(REGISTRY_KEY, clerk.head, registry_size(clerk.head), DD_CAN_GET, 0);
}

/* Become the registrar of the node. */
static int registrar_open(void)
{
	int fd = open("/dev/dd", O_RDWR | O_CLOEXEC);
	int ret = fd < 0 ? -1 : ioctl(fd, DD_IOC_REGISTRAR, 0);

	if (ret < 0 && errno == EBUSY) {
		tool_warn("this node has a name clerk: stop that first");
		exit(TOOL_FAILED);
	}
	if (ret < 0)
		fail("cannot become the name clerk of this node", errno);
	close(fd);
	return ret;
}

static int thread_start(void *(*run)(void *), void *arg)
{
	pthread_t thread;
	int err = pthread_create(&thread, NULL, run, arg);

	if (!err)
		pthread_detach(thread);
	return err;
}

static int serve_start(void)
{
	return thread_start(serve, NULL);
}

static void start(void *(*run)(void *), void *arg)
{
	int err = thread_start(run, arg);

	if (err)
		fail("cannot start a thread", err);
}

static void *refresh(void *seconds)
{
	for (;;) {
		sleep(*(unsigned int *)seconds);
		cache_refresh();
	}
	return NULL;
}

/* Until a signal ends the clerk. */
static void beat(const sigset_t *signals)
{
	const struct timespec pause = { .tv_nsec = BEAT_NS };

	while (sigtimedwait(signals, NULL, &pause) < 0)
		__atomic_fetch_add(&clerk.head->beat, 1, __ATOMIC_RELEASE);
}

static const char usage[] =
	"Usage: rmclerk [-m read|write|mixed] [-p PROBES] [-r SECONDS] [-s NAMES] [-u NAMES]\n"
	"The name clerk of this node: keeps names of segments, see rmclerk(8).\n"
	"  -m MODE     look names of other nodes up by reads of their registries (read, the\n"
	"              default), by a request to their clerks (write), or by reads first and\n"
	"              then a request (mixed)\n"
	"  -p PROBES   with -m mixed, records that are read before the request (7)\n"
	"  -r SECONDS  look cached names up again each SECONDS (30)\n"
	"  -s NAMES    places in the registry (4096)\n"
	"  -u NAMES    names that one user may have (a quarter of the places)\n"
	"  -h, --help  print this text\n"
	"  -V, --version\n"
	"              print the version\n";

static const struct option long_options[] = {
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ }
};

int main(int argc, char **argv)
{
	static const char * const modes[] = { "read", "write", "mixed" };
	uint64_t slots = 4096, probes = clerk.probes;
	static unsigned int seconds = 30;
	sigset_t signals;
	static struct early early;
	int opt, ret, i, fd;

	tool_begin("rmclerk");
	while ((opt = getopt_long(argc, argv, "m:p:r:s:u:hV", long_options, NULL)) != -1) {
		switch (opt) {
		case 'm':
			for (i = 0; i < 3 && strcmp(optarg, modes[i]); i++)
				;
			if (i == 3)
				tool_usage("-m is read, write or mixed, not '%s'", optarg);
			clerk.mode = i;
			break;
		case 'p':
			probes = tool_number("-p", optarg, 1, 65536);
			break;
		case 'r':
			seconds = tool_number("-r", optarg, 1, 86400);
			break;
		case 's':
			slots = tool_number("-s", optarg, 1, REGISTRY_SLOTS_MAX);
			break;
		case 'u':
			user_names = tool_number("-u", optarg, 1, REGISTRY_SLOTS_MAX);
			break;
		case 'h':
			fputs(usage, stdout);
			return TOOL_OK;
		case 'V':
			tool_version();
		default:
			tool_bad_option(argv);
		}
	}
	if (optind < argc)
		tool_usage("unexpected argument '%s'", argv[optind]);
	tool_raise_memlock();
	clerk.probes = probes;
	clerk.uid = geteuid();
	if (!user_names)
		user_names = (slots + 3) / 4;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	ret = dd_open(&clerk.h);
	if (ret)
		fail("cannot open /dev/dd", -ret);
	clerk.registrar = registrar_open();
	registry_new(slots);
	if (!peers_init() || !lookups_init(serve_start))
		fail("cannot keep state of other nodes", errno);
	read_names(&early);
	clerk.list = dd_list(clerk.h);
	if (clerk.list < 0)
		fail("cannot receive notes", -clerk.list);
	registry_export(clerk.list);
	fd = dd_list_fd(clerk.h, clerk.list);
	if (fd < 0)
		fail("cannot read notes", -fd);
	start(reply, &fd);
	start(serve, &early);
	start(refresh, &seconds);
	printf("rmclerk: ready\n");
	fflush(stdout);
	beat(&signals);
	return TOOL_OK;
}
