// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl doctor - check whether dd can be used here, and give advice.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <linux/capability.h>
#include <linux/dd_ddp.h>

#include "addr.h"
#include "ddctl.h"
#include "nl.h"

#define DEVICE		"/dev/dd"
#define CLUSTER_FILE	"/etc/dd/cluster.conf"
#define GROUP		"dd"
#define INIT_USER_NS	"user:[4026531837]"	/* PROC_USER_INIT_INO */
#define LEAST_MEMLOCK	(4ull << 20)	/* bytes; below, programs soon fail */

/**
 * enum verdict - result of one check
 * @GOOD: nothing to do
 * @NOTE: worth knowing, nothing to do
 * @BAD: to be fixed
 */
enum verdict {
	GOOD,
	NOTE,
	BAD,
};

/* Lines of the module begin with "dd: "; many others contain "dd". */
#define SEE_LOG	"See the messages of the module, as root: dmesg | grep -w 'dd:'"

static const char *const verdict_names[] = { "ok", "note", "fix" };

static json_object *report;
static int bad;

/* Report the result of @check; @advice says how to fix it, and may be NULL. */
static void __attribute__((format(printf, 4, 5)))
found(enum verdict v, const char *check, const char *advice, const char *fmt, ...)
{
	json_object *line;
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	bad += v == BAD;
	if (!options.json) {
		printf("%-4s  %-7s  %s\n", verdict_names[v], check, text);
		if (advice)
			printf("               %s\n", advice);
		return;
	}
	line = json_object_new_object();
	json_add(line, "check", json_str(check));
	json_add(line, "status", json_str(verdict_names[v]));
	json_add(line, "text", json_str(text));
	json_add(line, "advice", advice ? json_str(advice) : NULL);
	json_object_array_add(report, line);
}

/* The address without the port, or all of it if it cannot be split. */
static const char *bare_host(json_object *row, char host[ADDR_HOST_MAX])
{
	uint16_t port;

	return addr_split(json_text(row, "address"), host, &port) ?
		json_text(row, "address") : host;
}

/* ---- peers -------------------------------------------------------------- */

static void no_peers(json_object *node)
{
	if (access(CLUSTER_FILE, R_OK))
		found(NOTE, "peers",
		      "To reach other nodes, as root: ddctl apply FILE, see dd-cluster.conf(5), or ddctl peer add",
		      "node %u of %u has no peers: it reaches itself only",
		      (uint32_t)json_number(node, "id"), (uint32_t)json_number(node, "maxnodes"));
	else
		found(BAD, "peers",
		      "As root: ddctl apply " CLUSTER_FILE "; 'systemctl enable dd-cluster' does this at each boot.",
		      "node %u of %u has no peers, but there is a "
		      CLUSTER_FILE, (uint32_t)json_number(node, "id"),
		      (uint32_t)json_number(node, "maxnodes"));
}

static const char *advice_refused(const char *reason)
{
	if (!strcmp(reason, "version"))
		return "Install one version of dd on both.";
	if (!strcmp(reason, "maxnodes"))
		return "Both need the same number of nodes: as root on both, ddctl apply with one file, or ddctl node set max";
	return "Numbers or addresses differ: as root on both, ddctl apply with one file, or ddctl peer set";
}

/* Report a peer that is not up; false if it is. */
static bool judge_peer(json_object *row, uint32_t port)
{
	const char *state = json_text(row, "state");
	const char *reason = json_text(row, "reason");
	char advice[ADDR_HOST_MAX + 128], host[ADDR_HOST_MAX];
	uint64_t lost;

	if (!strcmp(state, "up"))
		return false;
	if (!strcmp(state, "refused")) {
		found(BAD, "peers", advice_refused(reason),
		      "node %u at %s refuses this node (%s)",
		      (uint32_t)json_number(row, "number"), json_text(row, "address"), reason);
		return true;
	}
	lost = json_number(json_object_object_get(row, "counters"), "tx_noroute");
	if (lost) {
		snprintf(advice, sizeof(advice),
			 "ip route get %s shows whether there is a route now; if not, add one.",
			 bare_host(row, host));
		found(NOTE, "peers", advice,
		      "node %u at %s is %s: no route to it for %" PRIu64 " packet%s",
		      (uint32_t)json_number(row, "number"), json_text(row, "address"), state,
		      lost, lost == 1 ? "" : "s");
		return true;
	}
	snprintf(advice, sizeof(advice),
		 "Check that it is up, that it has the right address of this node, and that UDP passes to its port and to port %u here.",
		 port);
	found(NOTE, "peers", advice, "node %u at %s is %s",
	      (uint32_t)json_number(row, "number"), json_text(row, "address"), state);
	return true;
}

static void judge_peers(json_object *node, json_object *rows)
{
	size_t i, n = json_object_array_length(rows), odd = 0;

	for (i = 0; i < n; i++)
		odd += judge_peer(json_object_array_get_idx(rows, i),
				  (uint32_t)json_number(node, "port"));
	if (!n)
		no_peers(node);
	else if (!odd)
		found(GOOD, "peers", NULL, "%zu of %zu peer%s up", n, n,
		      n == 1 ? " is" : "s are");
}

/* ---- the port ----------------------------------------------------------- */

/* Whether @port is in a list like "1,5-7,9". */
static bool is_listed(const char *list, uint32_t port)
{
	unsigned int low, high;
	int skip;

	while (*list) {
		if (sscanf(list, "%u-%u%n", &low, &high, &skip) != 2) {
			if (sscanf(list, "%u%n", &low, &skip) != 1)
				return false;
			high = low;
		}
		if (port >= low && port <= high)
			return true;
		list += skip;
		list += *list == ',';
	}
	return false;
}

/* The list may be long: each port once is 340 KiB. */
static bool is_reserved(uint32_t port)
{
	FILE *f = fopen("/proc/sys/net/ipv4/ip_local_reserved_ports", "re");
	char *list = NULL;
	bool reserved;
	size_t size = 0;

	if (!f)
		return false;
	reserved = getline(&list, &size, f) > 0 && is_listed(list, port);
	free(list);
	fclose(f);
	return reserved;
}

static bool is_given_away(uint32_t port)
{
	FILE *f = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
	unsigned int low = 0, high = 0;

	if (!f)
		return false;
	if (fscanf(f, "%u %u", &low, &high) != 2)
		high = 0;
	fclose(f);
	return port >= low && port <= high;
}

/* Whether a socket of @family cannot have the port because another has it. */
static bool is_taken(int family, uint32_t port)
{
	union addr addr = { .sa.sa_family = family };
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1;
	bool taken;

	if (fd < 0)
		return false;
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	addr_set_port(&addr, port);
	taken = bind(fd, &addr.sa, addr_len(&addr)) && errno == EADDRINUSE;
	close(fd);
	return taken;
}

/* With peers the node itself has the port. */
static void judge_port(uint32_t port, bool peers)
{
	char advice[256];

	if (!peers && (is_taken(AF_INET, port) || is_taken(AF_INET6, port))) {
		snprintf(advice, sizeof(advice),
			 "As root: ss -lunp sport = :%u shows which program has it; end it, or use another port: ddctl node set port",
			 port);
		found(BAD, "port", advice, "UDP port %u is in use", port);
	} else if (is_given_away(port) && !is_reserved(port)) {
		snprintf(advice, sizeof(advice),
			 "As root: sysctl -w net.ipv4.ip_local_reserved_ports=%u; a file in /etc/sysctl.d makes this permanent.",
			 port);
		found(NOTE, "port", advice,
		      "UDP port %u may be given to any program before dd takes it",
		      port);
	} else {
		found(GOOD, "port", NULL, "UDP port %u is kept for dd", port);
	}
}

static void check_network(struct ddnl *nl, json_object *node)
{
	json_object *rows;

	if (ddnl_get(nl, &object_peers, &rows)) {
		found(BAD, "peers", SEE_LOG,
		      "the module does not report its peers");
		return;
	}
	judge_peers(node, rows);
	judge_port((uint32_t)json_number(node, "port"), json_object_array_length(rows));
	json_object_put(rows);
}

/* ---- the kernel and the module ----------------------------------------- */

/* 6.1 and 6.12, as in README.md and dkms.conf. */
static void check_kernel(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname uts;

	uname(&uts);
	sscanf(uts.release, "%u.%u", &major, &minor);
	if (strstr(uts.version, "PREEMPT_RT"))
		found(BAD, "kernel", "Boot a kernel without PREEMPT_RT.",
		      "Linux %s has PREEMPT_RT, which dd does not support", uts.release);
	else if (major == 6 && (minor == 1 || minor == 12))
		found(GOOD, "kernel", NULL, "Linux %s", uts.release);
	else
		found(major < 6 || (major == 6 && minor < 1) ? BAD : NOTE, "kernel",
		      "Boot Linux 6.1 or 6.12.",
		      "Linux %s is not supported: dd is for 6.1 and 6.12", uts.release);
}

#define ONE_VERSION	"Install module and tools of one version; then, as root: rmmod dd && modprobe dd"

static bool check_module(void)
{
	const char *version = module_version();
	struct utsname uts;
	char advice[256];

	if (access("/sys/module/dd", F_OK)) {
		uname(&uts);
		snprintf(advice, sizeof(advice),
			 "As root: modprobe dd. If it is not found, build and install it for this kernel (package linux-headers-%s).",
			 uts.release);
		found(BAD, "module", advice, "dd is not loaded");
		return false;
	}
	if (strcmp(version, DD_VERSION))
		found(NOTE, "module", ONE_VERSION, "dd %s is loaded, ddctl is %s",
		      *version ? version : "of an unknown version", DD_VERSION);
	else
		found(GOOD, "module", NULL, "dd %s is loaded", version);
	return true;
}

static void judge_node(json_object *row)
{
	unsigned int abi = json_number(row, "abi"), id = json_number(row, "id");
	unsigned int max = json_number(row, "maxnodes");

	if (abi != DD_ABI_VERSION)
		found(BAD, "abi", ONE_VERSION, "the module has ABI %u, ddctl has %d", abi,
		      DD_ABI_VERSION);
	else
		found(GOOD, "abi", NULL, "module and tools have ABI %u", abi);
	if (json_number(row, "up"))
		found(GOOD, "node", NULL, "node %u of %u is up", id, max);
	else
		found(BAD, "node", "As root: ddctl node up",
		      "node %u of %u is down: programs get ENOCMP", id, max);
}

static void check_node(void)
{
	json_object *rows;
	struct ddnl nl;

	if (ddnl_open(&nl)) {
		found(BAD, "node", SEE_LOG, "the module does not answer");
		return;
	}
	if (ddnl_get(&nl, &object_node, &rows)) {
		found(BAD, "node", SEE_LOG, "the module does not report its state");
	} else {
		judge_node(json_object_array_get_idx(rows, 0));
		check_network(&nl, json_object_array_get_idx(rows, 0));
		json_object_put(rows);
	}
	ddnl_close(&nl);
}

/* ---- the device --------------------------------------------------------- */

static const char *user_name(void)
{
	struct passwd *pw = getpwuid(geteuid());

	return pw ? pw->pw_name : "USER";
}

static void say_no_access(const struct stat *st)
{
	struct group *gr = getgrgid(st->st_gid);
	char advice[256];

	if (st->st_gid && (st->st_mode & 0060) == 0060)
		snprintf(advice, sizeof(advice),
			 "As root: usermod -aG %s %s; then log in again.",
			 gr ? gr->gr_name : "GROUP", user_name());
	else
		snprintf(advice, sizeof(advice),
			 "As root: groupadd -rf " GROUP " && chgrp " GROUP " "
			 DEVICE " && chmod 660 " DEVICE " && usermod -aG "
			 GROUP " %s; the udev rule of dd does the first three.",
			 user_name());
	found(BAD, "device", advice,
	      DEVICE " is for user %u and group %s (mode %04o), not for %s",
	      st->st_uid, gr ? gr->gr_name : "?", st->st_mode & 07777,
	      user_name());
}

/* The memory lock limit does not allow the device to be opened. */
static bool memlock_full;

/* Open the device; -1 if that fails, which is reported. */
static int check_device(void)
{
	struct stat st;
	int fd;

	if (stat(DEVICE, &st)) {
		found(BAD, "device",
		      "Without udev, or in a container: mknod " DEVICE " c 10 $(sed -n 's/ dd$//p' /proc/misc)",
		      DEVICE ": %s", strerror(errno));
		return -1;
	}
	if (!S_ISCHR(st.st_mode)) {
		found(BAD, "device", "As root: rm " DEVICE " && rmmod dd && modprobe dd",
		      DEVICE " is not a device");
		return -1;
	}
	fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		found(GOOD, "device", NULL, DEVICE " can be opened");
		if ((st.st_mode & 0006))
			found(NOTE, "device", "As root: chmod o-rw " DEVICE,
			      "every user may use " DEVICE);
	} else if (errno == EDQUOT) {
		memlock_full = true;
	} else if (errno == EACCES || errno == EPERM) {
		say_no_access(&st);
	} else {
		found(BAD, "device", "As root: rmmod dd && modprobe dd",
		      DEVICE ": %s", strerror(errno));
	}
	return fd;
}

/* ---- memory and processors ---------------------------------------------- */

#define RAISE_MEMLOCK							\
	"Raise it: 'ulimit -l' for this shell, a line '@" GROUP		\
	" - memlock 1048576' (KiB) in /etc/security/limits.d/dd.conf "	\
	"for logins, LimitMEMLOCK= for a systemd service."

/* Bytes charged to this user. */
static uint64_t memlock_used(int fd)
{
	struct dd_info info = { .size = sizeof(info) };

	if (fd < 0 || ioctl(fd, DD_IOC_INFO, &info))
		return 0;
	return info.memlock_used;
}

/* Whether the caller has CAP_IPC_LOCK in the initial user namespace. */
static bool is_exempt(void)
{
	unsigned long long caps = 0;
	char line[128] = "";
	FILE *f;

	if (readlink("/proc/self/ns/user", line, sizeof(line) - 1) < 0 ||
	    strcmp(line, INIT_USER_NS))
		return false;
	f = fopen("/proc/self/status", "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	}
	fclose(f);
	return caps & 1ull << CAP_IPC_LOCK;
}

static void check_memlock(int fd)
{
	uint64_t used = memlock_used(fd), left;
	struct rlimit lim;

	getrlimit(RLIMIT_MEMLOCK, &lim);
	if (memlock_full) {
		found(BAD, "memlock", RAISE_MEMLOCK,
		      "the limit of %" PRIu64 " KiB for %s is reached: " DEVICE
		      " cannot be opened", (uint64_t)lim.rlim_cur >> 10,
		      user_name());
		return;
	}
	if (is_exempt() || lim.rlim_cur == RLIM_INFINITY) {
		found(GOOD, "memlock", NULL,
		      "%" PRIu64 " KiB in use, no limit for %s", used >> 10,
		      user_name());
		return;
	}
	left = lim.rlim_cur > used ? lim.rlim_cur - used : 0;
	found(left < LEAST_MEMLOCK ? BAD : GOOD, "memlock",
	      left < LEAST_MEMLOCK ? RAISE_MEMLOCK : NULL,
	      "%" PRIu64 " KiB of %" PRIu64 " KiB in use by %s", used >> 10,
	      (uint64_t)lim.rlim_cur >> 10, user_name());
}

static void check_cpus(void)
{
	cpu_set_t set;
	int n;

	if (sched_getaffinity(0, sizeof(set), &set)) {
		found(NOTE, "cpus", NULL, "more than %d processors", CPU_SETSIZE);
		return;
	}
	n = CPU_COUNT(&set);
	if (n == 1)
		found(NOTE, "cpus",
		      "Receivers that spin (RECV_SPIN) yield sooner here; with two processors they answer faster.",
		      "one processor may be used here");
	else
		found(GOOD, "cpus", NULL, "%d processors may be used here", n);
}

/* ------------------------------------------------------------------------- */

static int doctor_run(int argc, char **argv)
{
	int fd = -1;

	report = json_object_new_array();
	check_kernel();
	if (check_module()) {
		check_node();
		fd = check_device();
	}
	check_memlock(fd);
	check_cpus();
	if (fd >= 0)
		close(fd);
	if (options.json)
		print_json(report);
	else
		json_object_put(report);
	return bad ? EXIT_FINDINGS : EXIT_OK;
}

static const struct command doctor = {
	.name = "doctor",
	.brief = "check whether dd can be used here, and give advice",
	.verbs = (const struct verb[]) {
		{ "", NULL, "check kernel, module, peers, device, memory, processors",
		  .run = doctor_run },
		{ }
	},
};

COMMAND(doctor);
