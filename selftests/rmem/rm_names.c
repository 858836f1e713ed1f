// SPDX-License-Identifier: LGPL-2.1-only
/*
 * rm_names.c - names between two nodes: ways to look them up, forged registries, and a network
 *	that fails
 *
 * Run by selftests/net/across.sh. The tests start the clerks.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "asleep.h"
#include "dd_mem.h"
#include "owner.h"
#include "registry.h"

#define NAMES	40
#define SLOTS	"-s 64"	/* many names collide */

static const unsigned char well_known[DD_KEY_SIZE] = { REGISTRY_KEY };
static char local[PAGE] __attribute__((aligned(PAGE)));
static pid_t clerks[2];
static struct dd *h;
static rm_desc_t rd;

static void begin(const char *options)
{
	int i;

	owner_start();
	for (i = 0; i < 2; i++) {
		clerks[i] = clerk_start(options, 0, i);
		check(clerks[i] > 0);
	}
	check_eq(dd_open(&h), 0);
}

static void end(void)
{
	int i;

	owner_end();
	dd_shutdown(h);
	for (i = 0; i < 2; i++)
		if (clerks[i])
			clerk_end(clerks[i], SIGTERM);
}

static void name_of(char *name, int i)
{
	sprintf(name, i % 2 ? "%d" : "a name with the number %d", i);
}

/* Two of them are deleted again. */
static bool deleted(int i)
{
	return i == 7 || i == 8;
}

static void export_names(void)
{
	char name[64];
	int i;

	for (i = 0; i < NAMES; i++) {
		name_of(name, i);
		check_eq(owner_export(name, 0, 4 * (i + 1), RM_ALL, RM_NEVER), i);
	}
	for (i = 0; i < NAMES; i++)
		if (deleted(i))
			check_eq(owner_revoke(i), 0);
}

/* All names that are there are found, and no other one. */
static void import_names(void)
{
	char name[64];
	int i;

	for (i = 0; i < NAMES; i++) {
		name_of(name, i);
		check_eq(import_size(name, 2, RM_LOOKUP), deleted(i) ? -ENOENT : 4 * (i + 1));
	}
	check_eq(import_size("none", 2, 0), -ENOENT);
}

/* An import by what the clerk of this node knows; the library would look further. */
static int import_once(const char *name, int flags)
{
	struct dd_import_attr attr = {
		.size = sizeof(attr), .node = 2, .key_class = DD_KEY_REGISTERED,
		.rights = DD_CAN_PUT, .depth = 4, .flags = flags,
	};
	struct dd_mem *mem;
	int ret;

	strcpy((char *)attr.key, name);
	ret = dd_import_begin(h, &attr, &mem);
	if (ret)
		return ret;
	ret = dd_import_wait(mem, -1);
	dd_unimport(mem);
	return ret;
}

/* ---- ways to look names up --------------------------------------------------------- */

/* The clerk of the other node sleeps meanwhile. Names that were deleted leave marks. */
TEST(RM_40_1_RM_42_probes_by_remote_reads)
{
	begin(SLOTS);
	export_names();
	clerk_stop(clerks[1]);
	import_names();
	check_eq(kill(clerks[1], SIGCONT), 0);
	end();
}

TEST(RM_40_2_RM_41_a_request_by_a_write_that_notifies)
{
	begin(SLOTS " -m write");
	export_names();
	import_names();
	/* It needs the other clerk. */
	clerk_stop(clerks[1]);
	check_eq(import_size("a name with the number 0", 2, RM_LOOKUP), -EHOSTDOWN);
	check_eq(kill(clerks[1], SIGCONT), 0);
	check_eq(import_size("a name with the number 0", 2, RM_LOOKUP), 4);
	end();
}

/* What the first probe finds needs no action of the other clerk. */
TEST(RM_40_3_some_probes_then_a_request)
{
	char name[64];
	int i, found = 0, missed = 0;

	begin(SLOTS " -m mixed -p 1");
	export_names();
	import_names();
	clerk_stop(clerks[1]);
	for (i = 0; i < NAMES && !(found && missed); i++) {
		name_of(name, i);
		if (!deleted(i))
			*(import_once(name, DD_IMPORT_FRESH) ? &missed : &found) += 1;
	}
	check(found && missed);
	check_eq(kill(clerks[1], SIGCONT), 0);
	import_names();
	end();
}

/* A shell command of a node, with the process of its clerk, and the other node, as arguments. */
static int run_of_clerk(int node, const char *shell)
{
	char line[256];

	snprintf(line, sizeof(line), "set %d %d; %s", clerks[node - 1], 3 - node, shell);
	return run_at(node == 2 ? THERE : HERE, line);
}

TEST(RM_34_RM_36_clerks_import_the_segments_of_others)
{
	static const char sockets[] = "ls -l /proc/$1/fd | grep -q 'socket:'";
	static const char imports[] = "ddctl -j import | "
		"jq -e \"any(.pid == $1 and .peer_node == $2)\" >/dev/null";
	int node;
	struct dd_mem *mem;

	begin("-m write");
	export_names();
	import_names();
	/* To reply, the other one has imported the segment of this one. */
	for (node = 1; node <= 2; node++) {
		check(run_of_clerk(node, sockets));
		check_eq(run_of_clerk(node, imports), 0);
	}
	check_eq(dd_import(h, 2, DD_KEY_WELL_KNOWN, well_known, DD_CAN_GET, &mem), 0);
	dd_unimport(mem);
	end();
}

/* ---- the cache ------------------------------------------------------------------------ */

TEST(RM_43_dead_names_are_purged)
{
	rm_seg_t seg;

	begin("-r 1");
	seg = owner_export("name", 0, 64, RM_ALL, RM_NEVER);
	check_eq(rm_import("name", 2, 0, &rd), 0);
	check_eq(owner_revoke(seg), 0);
	/* The cached name leads to a segment that has ended; then it is unknown. */
	while (import_once("name", 0) == -ECONNREFUSED)
		usleep(10000);
	check_eq(import_once("name", 0), -ENOENT);
	/* The use of the old descriptor is refused by this node itself. */
	check_errno(rm_write(rd, 0, 4, 0), ESTALE);
	check_eq(rm_unimport(rd), 0);
	end();
}

TEST(RM_44_a_look_up_is_forced)
{
	rm_seg_t seg;

	begin("-r 86400");
	seg = owner_export("name", 0, 64, RM_ALL, RM_NEVER);
	check_eq(import_once("name", 0), 0);
	check_eq(owner_revoke(seg), 0);
	check(owner_export("name", 0, 96, RM_ALL, RM_NEVER) >= 0);
	check_eq(import_once("name", 0), -ECONNREFUSED);
	check_eq(import_size("name", 2, RM_LOOKUP), 96);
	/* The new one is in the cache now. */
	check_eq(import_once("name", 0), 0);
	end();
}

/* ---- clerks that are gone --------------------------------------------------------------- */

static volatile bool stop;
static volatile int rounds, failed;

static void *use_names(void *unused)
{
	rm_seg_t seg;
	rm_desc_t d;

	while (!stop && !failed) {
		seg = rm_export("busy", local, PAGE, RM_ALL, RM_NEVER);
		if (seg < 0 || rm_import("busy", -1, 0, &d) || rm_unimport(d) ||
		    rm_revoke(seg) || rm_import("name", 2, RM_LOOKUP, &d) || rm_unimport(d))
			failed = errno;
		rounds++;
	}
	return unused;
}

/* Programs see a delay only, of a name of this node and of one of the other. */
static void killed_under_load(const char *options)
{
	pthread_t thread;
	int i, before;

	begin(options);
	check(owner_export("name", 0, 64, RM_ALL, RM_NEVER) >= 0);
	stop = false;
	failed = 0;
	check_eq(pthread_create(&thread, NULL, use_names, NULL), 0);
	for (i = 0; i < 6 && !failed; i++) {
		before = rounds;
		while (rounds < before + 3 && !failed)
			usleep(1000);
		clerk_end(clerks[i % 2], SIGKILL);
		clerks[i % 2] = clerk_start(options, 0, i % 2);
	}
	stop = true;
	pthread_join(thread, NULL);
	check_eq(failed, 0);
	end();
}

TEST(clerks_are_killed_under_load)
{
	killed_under_load("");
	killed_under_load("-m write");
}

/* ---- a network that fails ----------------------------------------------------------------- */

static rm_seg_t own;

/* The owner has a segment, and this process a descriptor and memory for what it reads. */
static void begin_segment(void)
{
	begin("");
	check(owner_export("seg", 0, PAGE, RM_ALL, RM_CONDITIONAL) >= 0);
	check_eq(rm_import("seg", 2, 0, &rd), 0);
	memset(local, 0, sizeof(local));
	own = rm_export(NULL, local, PAGE, 0, RM_NEVER);
	check(own >= 0);
}

static void end_segment(void)
{
	check_eq(rm_unimport(rd), 0);
	check_eq(rm_revoke(own), 0);
	end();
}

static void cut(bool on)
{
	check_eq(run_at(THERE, on ? "ip link set eth0 down" : "ip link set eth0 up"), 0);
}

static void check_fence(int ms, int error)
{
	check_eq(rm_fence(rd, ms), error ? -1 : 0);
	check(!error || errno == error);
}

/* Threads of another user, which look names up at a node that does not answer. */
#define LOOKERS		70
#define LOOKUPS		64	/* that a clerk accepts of a user */

static struct looker {
	pthread_t thread;
	volatile pid_t id;
	volatile int error;
} lookers[LOOKERS];

static void *look(void *arg)
{
	struct looker *me = arg;
	rm_desc_t d;

	/* Of this thread only. */
	if (syscall(SYS_setresuid, -1, STRANGER_UID, -1))
		return NULL;
	me->id = gettid();
	me->error = rm_import("none", 2, 0, &d) ? errno : 0;
	return NULL;
}

static int refused(void)
{
	int i, n = 0;

	for (i = 0; i < LOOKERS; i++)
		n += lookers[i].error != 0;
	return n;
}

/* All have asked, and those that were not refused wait. */
static bool all_wait(void)
{
	struct looker *l;

	for (l = lookers; l < lookers + LOOKERS; l++)
		if (!l->error && (!l->id || !asleep_in(l->id, SYS_ioctl)))
			return false;
	return true;
}

TEST(a_silent_node_delays_no_other_call)
{
	struct looker *l;
	int before;
	rm_seg_t seg;

	begin("");
	/* The device may be root's, so this thread opens it. */
	seg = rm_export("here", local, PAGE, RM_ALL, RM_NEVER);
	check(seg >= 0);
	check_eq(rm_revoke(seg), 0);
	cut(true);
	for (l = lookers; l < lookers + LOOKERS; l++)
		check_eq(pthread_create(&l->thread, NULL, look, l), 0);
	while (!all_wait())
		usleep(1000);
	before = refused();
	check(before >= LOOKERS - LOOKUPS);
	seg = rm_export("here", local, PAGE, RM_ALL, RM_NEVER);
	check(seg >= 0);
	check_eq(rm_import("here", 2, RM_LOOKUP, &rd), 0);
	/* None of the look-ups had to end first. */
	check_eq(refused(), before);
	check_eq(rm_unimport(rd), 0);
	check_eq(rm_revoke(seg), 0);
	for (l = lookers; l < lookers + LOOKERS; l++) {
		pthread_join(l->thread, NULL);
		before -= l->error == EUSERS;
		if (l->error != EUSERS && l->error != EHOSTUNREACH)
			check_eq(l->error, EHOSTDOWN);
	}
	check_eq(before, 0);
	cut(false);
	/* They are not counted any more. */
	while (rm_import("none", 2, 0, &rd) && errno != ENOENT)
		usleep(10000);
	check_eq(errno, ENOENT);
	end();
}

TEST(RM_11_RM_14_RM_30_accepted_is_not_delivered)
{
	uint32_t *words = (uint32_t *)shared;

	begin_segment();
	words[1] = 22;
	cut(true);
	rm_mr[0] = 11;
	check_eq(rm_write(rd, 0, 4, 0), 0);
	check_eq(rm_read(rd, 4, 4, own, 4, 0), 0);
	check_fence(100, ETIMEDOUT);
	check_eq(words[0], 0);
	check_eq(((uint32_t *)local)[1], 0);
	cut(false);
	check_fence(-1, 0);
	check_eq(words[0], 11);
	check_eq(((uint32_t *)local)[1], 22);
	end_segment();
}

/*
 * The owner ends while this node does not hear of it, and another process exports the name. Then
 * the source accepts what the destination refuses.
 */
TEST(RM_10_RM_29_stale_requests_are_refused_there)
{
	begin_segment();
	cut(true);
	owner_kill(SIGKILL);
	check(owner_export("seg", 0, PAGE, RM_ALL, RM_NEVER) >= 0);
	memset(shared, 7, PAGE);
	rm_mr[0] = 11;
	check_eq(rm_write(rd, 0, 4, 0), 0);
	check_eq(rm_read(rd, 4, 4, own, 4, 0), 0);
	check_fence(100, ETIMEDOUT);
	cut(false);
	check_fence(-1, ESTALE);
	check_eq(*(uint32_t *)shared, 0x07070707);
	check_eq(((uint32_t *)local)[1], 0);
	check_eq(rm_unimport(rd), 0);
	check_eq(rm_import("seg", 2, 0, &rd), 0);
	check_eq(rm_read(rd, 4, 4, own, 4, 0), 0);
	check_fence(-1, 0);
	check_eq(((uint32_t *)local)[1], 0x07070707);
	end_segment();
}

/* ---- forged registries -------------------------------------------------------------------- */

static const struct registry_head honest = { .magic = REGISTRY_MAGIC, .slots = 64 };

/* The registry that the owner exports instead of a clerk. */
static struct registry_head *forged(void)
{
	return (struct registry_head *)shared;
}

static void begin_forged(void)
{
	owner_start();
	memset(shared, 0, SHARED);
	*forged() = honest;
	check_eq(owner_forge(), 0);
	clerks[0] = clerk_start("", 0, false);
	check_eq(dd_open(&h), 0);
}

/* The same clerk finds what a true one has. */
static void end_forged(void)
{
	check_eq(owner_forge(), 0);
	memset(shared, 0, SHARED);
	clerks[1] = clerk_start("", 0, true);
	check(owner_export("name", 0, 64, RM_ALL, RM_NEVER) >= 0);
	check_eq(import_size("name", 2, RM_LOOKUP), 64);
	end();
}

static struct record *record_of(const char *name)
{
	return (struct record *)(shared + registry_record(&honest, registry_hash(&honest, name)));
}

static void forge(const char *name, uint64_t generation, uint64_t length)
{
	char padded[REGISTRY_NAME] = "";

	strcpy(padded, name);
	memset(shared + sizeof(honest), 0, 64 * sizeof(struct record));
	check_eq(registry_add(forged(), padded, generation, length), 0);
}

TEST(forged_heads_of_a_registry)
{
	static const struct registry_head heads[] = {
		{ .magic = REGISTRY_MAGIC + 1, .slots = 64 },
		{ .magic = REGISTRY_MAGIC, .slots = 0 },
		{ .magic = REGISTRY_MAGIC, .slots = 4096 },
		{ .magic = REGISTRY_MAGIC, .slots = REGISTRY_SLOTS_MAX + 1 },
		{ .magic = REGISTRY_MAGIC, .slots = UINT32_MAX },
	};
	size_t i;

	begin_forged();
	for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		*forged() = heads[i];
		check_eq(import_size("name", 2, RM_LOOKUP), -EPROTO);
		/* The clerk does not read the head again for half a second after that. */
		usleep(600000);
	}
	*forged() = honest;
	check_eq(import_size("name", 2, RM_LOOKUP), -ENOENT);
	end_forged();
}

/* Of the only segment at the other node. */
static uint64_t generation_there(void)
{
	/* The sh of a guest has an ip without namespaces. */
	FILE *f = popen("bash -c 'ip netns exec dd2 ddctl -j segment' | jq '.[].generation'", "r");
	unsigned long long generation = 0;

	check(f && fscanf(f, "%llu", &generation) == 1 && !pclose(f));
	return generation;
}

TEST(forged_records_of_a_registry)
{
	static const char longest[] = "a long name, of which the record has a hash";
	struct record *r;
	int i;

	begin_forged();
	r = record_of("name");
	/* No segment has this generation, or any could have that. */
	forge("name", 0, 64);
	check_eq(import_size("name", 2, RM_LOOKUP), -EPROTO);
	forge("name", 1ull << 63, 64);
	check_eq(import_size("name", 2, RM_LOOKUP), -ENOENT);
	/* A segment of that node which has no name: the forged registry itself. */
	forge("name", generation_there(), UINT64_MAX);
	check_eq(import_size("name", 2, RM_LOOKUP), -ENOENT);
	/* Words that do not belong together, and unknown states. */
	forge("name", 1ull << 63, 64);
	r->generation = 0;
	check_eq(import_size("name", 2, RM_LOOKUP), -ENOENT);
	forge("name", 0, 64);
	r->slot.state = 9;
	check_eq(import_size("name", 2, RM_LOOKUP), -ENOENT);
	r->slot.state = UINT32_MAX;
	check_eq(import_size("name", 2, RM_LOOKUP), -ENOENT);
	/* Names without an end. */
	forge("name", 0, 64);
	memset(r->id, 'n', sizeof(r->id));
	check_eq(import_size("name", 2, RM_LOOKUP), -ENOENT);
	forge(longest, 0, 64);
	check_eq(import_size(longest, 2, RM_LOOKUP), -EPROTO);
	memset(shared + registry_name(&honest, 0), 'x', 64 * REGISTRY_NAME);
	check_eq(import_size(longest, 2, RM_LOOKUP), -ENOENT);
	/* No search has an end. */
	for (i = 0; i < 64; i++)
		((struct record *)(shared + sizeof(honest)))[i].slot.state = i % 2 ? 9 : 1;
	check_eq(import_size("name", 2, RM_LOOKUP), -ENOENT);
	end_forged();
}

/* What a process does that may write to the segments of a working clerk. */
TEST(a_clerk_survives_forged_requests)
{
	static const unsigned char boxes[DD_KEY_SIZE] = { MAILBOXES_KEY };
	struct request request = { .seq = 1 };
	struct reply none = { .seq = 1 };
	static char noise[64 * sizeof(struct mailbox)];
	struct dd_mem *mem;
	size_t i, size;

	begin(SLOTS " -m write");
	check(owner_export("name", 0, 64, RM_ALL, RM_NEVER) >= 0);
	check_eq(dd_import(h, 2, DD_KEY_WELL_KNOWN, well_known, DD_CAN_PUT, &mem), -EACCES);
	check_eq(dd_import(h, 2, DD_KEY_WELL_KNOWN, boxes, DD_CAN_GET, &mem), -EACCES);
	check_eq(dd_import(h, 2, DD_KEY_WELL_KNOWN, boxes, DD_CAN_PUT, &mem), 0);
	/* In the mailboxes of all nodes, those that do not exist too: a name without an end. */
	memset(request.name, 'n', sizeof(request.name));
	size = dd_mem_size(mem);
	check(size >= 3 * sizeof(struct mailbox) && size <= sizeof(noise));
	for (i = 0; i < size / sizeof(struct mailbox); i++)
		check_eq(dd_put(mem, &request, sizeof(request), i * sizeof(struct mailbox),
				DD_PUT_NOTIFY), 0);
	/* Everything, replies that it did not ask for included. */
	memset(noise, 0xa5, sizeof(noise));
	for (i = 0; i < 5; i++)
		check_eq(dd_put(mem, noise, size, 0, DD_PUT_NOTIFY), 0);
	dd_unimport(mem);
	/* To the clerk of this node: the reply to a first request, which says that there is none. */
	check_eq(dd_import(h, 1, DD_KEY_WELL_KNOWN, boxes, DD_CAN_PUT, &mem), 0);
	check_eq(dd_put(mem, &none, sizeof(none), 2 * sizeof(struct mailbox) +
			offsetof(struct mailbox, reply), 0), 0);
	dd_unimport(mem);
	check_eq(import_size("name", 2, RM_LOOKUP), 64);
	check(owner_import("name", -1, 0) >= 0);
	end();
}
