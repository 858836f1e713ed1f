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
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <linux/capability.h>
#include <linux/dd.h>

#include "ddctl.h"
#include "doctor.h"

#define DEVICE		"/dev/dd"
#define GROUP		"dd"
#define INIT_USER_NS	"user:[4026531837]"	/* PROC_USER_INIT_INO */
#define LEAST_MEMLOCK	(4ull << 20)	/* bytes; below, programs soon fail */

static const char *const verdict_names[] = { "ok", "note", "fix" };

static json_object *report;
static int bad;

void found(enum verdict v, const char *check, const char *advice,
	   const char *fmt, ...)
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
