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
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
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

static void export_names(void)
{
	char name[64];
	int i;

	for (i = 0; i < NAMES; i++) {
		name_of(name, i);
		check_eq(owner_export(name, 0, 4 * (i + 1), RM_ALL, RM_NEVER), i);
	}
}

/* Import all names; returns how many were found. */
static int import_names(int error)
{
	char name[64];
	int i, found = 0;

	for (i = 0; i < NAMES; i++) {
		name_of(name, i);
		if (rm_import(name, 2, RM_LOOKUP, &rd)) {
			check_eq(errno, error);
			continue;
		}
		check_eq(rm_size(rd), 4 * (i + 1));
		check_eq(rm_unimport(rd), 0);
		found++;
	}
	return found;
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

TEST(RM_39_the_local_table_then_that_of_the_hinted_node)
{
	rm_seg_t own;

	begin("");
	check(owner_export("both", 0, 64, RM_ALL, RM_NEVER) >= 0);
	check(owner_export("there", 0, 96, RM_ALL, RM_NEVER) >= 0);
	own = rm_export("both", local, 32, RM_ALL, RM_NEVER);
	check(own >= 0);
	check_eq(rm_import("both", 2, 0, &rd), 0);
	check_eq(rm_size(rd), 32);
	check_eq(rm_unimport(rd), 0);
	check_eq(rm_revoke(own), 0);
	check_eq(rm_import("both", 2, 0, &rd), 0);
	check_eq(rm_size(rd), 64);
	check_eq(rm_unimport(rd), 0);
	check_eq(rm_import("there", 2, 0, &rd), 0);
	check_eq(rm_unimport(rd), 0);
	check_eq(rm_import("there", -1, 0, &rd), -1);
	check_eq(errno, ENOENT);
	end();
}

/* The clerk of the other node sleeps meanwhile. */
TEST(RM_40_1_probes_by_remote_reads)
{
	begin(SLOTS);
	export_names();
	clerk_stop(clerks[1]);
	check_eq(import_names(0), NAMES);
	check_eq(rm_import("none", 2, 0, &rd), -1);
	check_eq(errno, ENOENT);
	check_eq(kill(clerks[1], SIGCONT), 0);
	end();
}

TEST(RM_40_2_RM_41_a_request_by_a_write_that_notifies)
{
	begin(SLOTS " -m write");
	export_names();
	check_eq(import_names(0), NAMES);
	check_eq(rm_import("none", 2, 0, &rd), -1);
	check_eq(errno, ENOENT);
	/* It needs the other clerk. */
	clerk_stop(clerks[1]);
	check_eq(rm_import("a name with the number 0", 2, RM_LOOKUP, &rd), -1);
	check_eq(errno, EHOSTDOWN);
	check_eq(kill(clerks[1], SIGCONT), 0);
	check_eq(rm_import("a name with the number 0", 2, RM_LOOKUP, &rd), 0);
	check_eq(rm_unimport(rd), 0);
	end();
}

/* What the first probe finds needs no action of the other clerk. */
TEST(RM_40_3_some_probes_then_a_request)
{
	char name[64];
	int i, found = 0;

	begin(SLOTS " -m mixed -p 1");
	export_names();
	check_eq(import_names(0), NAMES);
	clerk_stop(clerks[1]);
	for (i = 0; i < NAMES; i++) {
		name_of(name, i);
		found += !import_once(name, DD_IMPORT_FRESH);
		if (found && found <= i)
			break;
	}
	check(i < NAMES);
	check_eq(kill(clerks[1], SIGCONT), 0);
	check_eq(import_names(0), NAMES);
	end();
}

/* The clerk has no socket, only memory. */
static int sockets(pid_t pid)
{
	char path[64], to[64];
	struct dirent *e;
	int n = 0;
	ssize_t len;
	DIR *dir;

	sprintf(path, "/proc/%d/fd", pid);
	dir = opendir(path);
	check(dir);
	while (dir && (e = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%.16s", pid, e->d_name);
		len = readlink(path, to, sizeof(to) - 1);
		to[len > 0 ? len : 0] = 0;
		n += !strncmp(to, "socket", 6);
	}
	if (dir)
		closedir(dir);
	return n;
}

TEST(RM_34_RM_36_clerks_import_the_segments_of_others)
{
	struct dd_mem *mem;
	char filter[128];

	begin("-m write");
	export_names();
	check_eq(import_names(0), NAMES);
	check_eq(sockets(clerks[0]), 0);
	check_eq(sockets(clerks[1]), 0);
	snprintf(filter, sizeof(filter),
		 "ddctl -j import | jq -e 'any(.pid == %d and .peer_node == 2)' >/dev/null",
		 clerks[0]);
	check_eq(run(filter), 0);
	/* To reply, the other one has imported the segment of this one. */
	snprintf(filter, sizeof(filter),
		 "ddctl -j import | jq -e 'any(.pid == %d and .peer_node == 1)' >/dev/null",
		 clerks[1]);
	check_eq(run_at(THERE, filter), 0);
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
	check_eq(rm_write(rd, 0, 4, 0), -1);
	check_eq(errno, ESTALE);
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
	check_eq(rm_import("name", 2, RM_LOOKUP, &rd), 0);
	check_eq(rm_size(rd), 96);
	check_eq(rm_unimport(rd), 0);
	/* The new one is in the cache now. */
	check_eq(import_once("name", 0), 0);
	end();
}

/* ---- clerks that are gone --------------------------------------------------------------- */

TEST(the_other_clerk_is_absent)
{
	begin("");
	check(owner_export("name", 0, 64, RM_ALL, RM_NEVER) >= 0);
	check_eq(rm_import("name", 2, 0, &rd), 0);
	clerk_end(clerks[1], SIGKILL);
	clerks[1] = 0;
	check_eq(rm_import("other", 2, 0, &rd), -1);
	check_eq(errno, EHOSTDOWN);
	check_eq(owner_export("more", 0, 64, RM_ALL, RM_NEVER), -1);
	check_eq(errno, EHOSTDOWN);
	/* Data does not need it. */
	rm_mr[0] = 5;
	check_eq(rm_write(rd, 0, 4, 0), 0);
	check_eq(rm_fence(rd, -1), 0);
	check_eq(*(uint32_t *)shared, 5);
	check_eq(rm_unimport(rd), 0);
	end();
}

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

static volatile pid_t lookers[LOOKERS];
static volatile int outcomes[LOOKERS], over;

static void *look(void *number)
{
	int i = (long)number;
	rm_desc_t d;

	/* Of this thread only. */
	if (syscall(SYS_setresuid, -1, STRANGER_UID, -1))
		return NULL;
	lookers[i] = gettid();
	outcomes[i] = rm_import("none", 2, 0, &d) ? errno : 0;
	__atomic_fetch_add(&over, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* All have asked, and those that were not refused wait. */
static bool all_wait(void)
{
	int i;

	for (i = 0; i < LOOKERS; i++)
		if (!outcomes[i] && (!lookers[i] || !asleep_in(lookers[i], SYS_ioctl)))
			return false;
	return true;
}

TEST(a_silent_node_delays_no_other_call)
{
	pthread_t threads[LOOKERS];
	int i, refused, before;
	rm_seg_t seg;

	begin("");
	/* The device may be root's, so this thread opens it. */
	seg = rm_export("here", local, PAGE, RM_ALL, RM_NEVER);
	check(seg >= 0);
	check_eq(rm_revoke(seg), 0);
	cut(true);
	over = 0;
	for (i = 0; i < LOOKERS; i++) {
		lookers[i] = 0;
		outcomes[i] = 0;
		check_eq(pthread_create(&threads[i], NULL, look, (void *)(long)i), 0);
	}
	while (!all_wait())
		usleep(1000);
	before = over;
	check(before >= LOOKERS - LOOKUPS);
	seg = rm_export("here", local, PAGE, RM_ALL, RM_NEVER);
	check(seg >= 0);
	check_eq(rm_import("here", 2, RM_LOOKUP, &rd), 0);
	/* None of the look-ups had to end first. */
	check_eq(over, before);
	check_eq(rm_unimport(rd), 0);
	check_eq(rm_revoke(seg), 0);
	for (i = refused = 0; i < LOOKERS; i++) {
		pthread_join(threads[i], NULL);
		refused += outcomes[i] == EUSERS;
		if (outcomes[i] != EUSERS && outcomes[i] != EHOSTUNREACH)
			check_eq(outcomes[i], EHOSTDOWN);
	}
	check_eq(refused, before);
	cut(false);
	/* They are not counted any more. */
	while (rm_import("none", 2, 0, &rd) && errno != ENOENT)
		usleep(10000);
	check_eq(errno, ENOENT);
	end();
}

TEST(RM_11_RM_14_accepted_is_not_delivered)
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

/* A value that counts up is read with a time limit, until its node is silent. */
TEST(RM_30_a_silent_node_is_detected)
{
	uint32_t *count = (uint32_t *)shared, reads = 0;

	begin_segment();
	*count = 1;
	while (!rm_read(rd, 0, 4, own, 0, 0) && !rm_fence(rd, 1000)) {
		check_eq(*(uint32_t *)local, *count);
		++*count;
		if (++reads == 5)
			cut(true);
	}
	check(errno == ETIMEDOUT || errno == EHOSTUNREACH);
	check_eq(reads, 5);
	cut(false);
	rm_fence(rd, -1);
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
	check_eq(rm_import("name", 2, RM_LOOKUP, &rd), 0);
	check_eq(rm_unimport(rd), 0);
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

static int outcome(const char *name)
{
	int ret = rm_import(name, 2, RM_LOOKUP, &rd) ? errno : 0;

	if (!ret)
		rm_unimport(rd);
	return ret;
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
		check_eq(outcome("name"), EPROTO);
		/* The clerk does not read the head again for half a second after that. */
		usleep(600000);
	}
	*forged() = honest;
	check_eq(outcome("name"), ENOENT);
	end_forged();
}

/* Of the only segment at the other node. */
static uint64_t generation_there(void)
{
	unsigned long long generation = 0;
	FILE *f;

	check_eq(run_at(THERE, "ddctl -j segment | jq '.[].generation' >/tmp/rm_names"), 0);
	f = fopen("/tmp/rm_names", "r");
	check(f && fscanf(f, "%llu", &generation) == 1);
	if (f)
		fclose(f);
	unlink("/tmp/rm_names");
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
	check_eq(outcome("name"), EPROTO);
	forge("name", 1ull << 63, 64);
	check_eq(outcome("name"), ENOENT);
	/* A segment of that node which has no name: the forged registry itself. */
	forge("name", generation_there(), UINT64_MAX);
	check_eq(outcome("name"), ENOENT);
	/* Words that do not belong together, and unknown states. */
	forge("name", 1ull << 63, 64);
	r->generation = 0;
	check_eq(outcome("name"), ENOENT);
	forge("name", 0, 64);
	r->slot.state = 9;
	check_eq(outcome("name"), ENOENT);
	r->slot.state = UINT32_MAX;
	check_eq(outcome("name"), ENOENT);
	/* Names without an end. */
	forge("name", 0, 64);
	memset(r->id, 'n', sizeof(r->id));
	check_eq(outcome("name"), ENOENT);
	forge(longest, 0, 64);
	check_eq(outcome(longest), EPROTO);
	memset(shared + registry_name(&honest, 0), 'x', 64 * REGISTRY_NAME);
	check_eq(outcome(longest), ENOENT);
	/* No search has an end. */
	for (i = 0; i < 64; i++)
		((struct record *)(shared + sizeof(honest)))[i].slot.state = i % 2 ? 9 : 1;
	check_eq(outcome("name"), ENOENT);
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
	check_eq(rm_import("name", 2, RM_LOOKUP, &rd), 0);
	check_eq(rm_unimport(rd), 0);
	check(owner_import("name", -1, 0) >= 0);
	end();
}
