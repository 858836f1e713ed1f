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
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <linux/capability.h>
#include <linux/dd_ddp.h>
#include <linux/dd_mem.h>

#include "addr.h"
#include "doctor.h"
#include "nl.h"
#include "output.h"
#include "say.h"

#define DEVICE		"/dev/dd"
#define CLUSTER_FILE	"/etc/dd/cluster.conf"
#define GROUP		"dd"
#define INIT_USER_NS	"user:[4026531837]"	/* PROC_USER_INIT_INO */
#define AREA_PART	65536	/* the largest page size of any architecture */
#define LEAST_MEMLOCK	(4ull << 20)	/* bytes; below, programs soon fail */

/* Result of one check: nothing to do; worth knowing; to be fixed. */
enum verdict { GOOD, NOTE, BAD };

static const char *const verdict_names[] = { "ok", "note", "fix" };

static json_object *report, *line;
static int bad;

/* Report the result of @check. */
static void __attribute__((format(printf, 3, 4)))
found(enum verdict v, const char *check, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	bad += v == BAD;
	if (!options.json)
		printf("%-4s  %-7s  %s\n", verdict_names[v], check, text);
	line = json_object_new_object();
	json_add(line, "check", json_str(check));
	json_add(line, "status", json_str(verdict_names[v]));
	json_add(line, "text", json_str(text));
	json_add(line, "advice", NULL);
	json_object_array_add(report, line);
}

/* Say how to fix what has just been found. */
static void __attribute__((format(printf, 1, 2))) advise(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!options.json)
		printf("               %s\n", text);
	json_add(line, "advice", json_str(text));
}

/* Lines of the module begin with "dd: "; many others contain "dd". */
static void advise_log(void)
{
	advise("See the messages of the module, as root: dmesg | grep -w 'dd:'");
}

/* The first line of a file, which may be long; NULL if there is none. */
static char *first_line(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;
	ssize_t len;

	if (!f)
		return NULL;
	len = getline(&text, &size, f);
	fclose(f);
	if (len > 0)
		return text;
	free(text);
	return NULL;
}

/* ---- peers -------------------------------------------------------------- */

static void no_peers(uint32_t id, uint32_t max)
{
	if (access(CLUSTER_FILE, R_OK)) {
		found(NOTE, "peers", "node %u of %u has no peers: it reaches itself only",
		      id, max);
		advise("To reach other nodes, as root: ddctl apply FILE, see dd-cluster.conf(5), or ddctl peer add");
	} else {
		found(BAD, "peers", "node %u of %u has no peers, but there is a " CLUSTER_FILE,
		      id, max);
		advise("As root: ddctl apply " CLUSTER_FILE "; 'systemctl enable dd-cluster' does this at each boot.");
	}
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
	const char *state = json_text(row, "state"), *address = json_text(row, "address");
	const char *reason = json_text(row, "reason");
	uint32_t n = json_number(row, "number");
	char host[ADDR_HOST_MAX];
	uint16_t its_port;
	uint64_t lost;

	if (!strcmp(state, "up"))
		return false;
	lost = json_number(json_object_object_get(row, "counters"), "tx_noroute");
	if (!strcmp(state, "refused")) {
		found(BAD, "peers", "node %u at %s refuses this node (%s)", n, address, reason);
		advise("%s", advice_refused(reason));
	} else if (lost) {
		found(NOTE, "peers", "node %u at %s is %s: no route to it for %" PRIu64 " packet%s",
		      n, address, state, lost, lost == 1 ? "" : "s");
		advise("ip route get %s shows whether there is a route now; if not, add one.",
		       addr_split(address, host, &its_port) ? address : host);
	} else {
		found(NOTE, "peers", "node %u at %s is %s", n, address, state);
		advise("Check that it is up, that it has the right address of this node, and that UDP passes to its port and to port %u here.",
		       port);
	}
	return true;
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

/* Whether programs that ask for any port may get this one. */
static bool is_given_away(uint32_t port)
{
	char *range = first_line("/proc/sys/net/ipv4/ip_local_port_range");
	char *reserved = first_line("/proc/sys/net/ipv4/ip_local_reserved_ports");
	unsigned int low, high;
	bool given;

	given = range && sscanf(range, "%u %u", &low, &high) == 2 &&
		port >= low && port <= high && !(reserved && is_listed(reserved, port));
	free(range);
	free(reserved);
	return given;
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
	if (!peers && (is_taken(AF_INET, port) || is_taken(AF_INET6, port))) {
		found(BAD, "port", "UDP port %u is in use", port);
		advise("As root: ss -lunp sport = :%u shows which program has it; end it, or use another port: ddctl node set port",
		       port);
	} else if (is_given_away(port)) {
		found(NOTE, "port",
		      "UDP port %u may be given to any program before dd takes it", port);
		advise("As root: sysctl -w net.ipv4.ip_local_reserved_ports=%u; a file in /etc/sysctl.d makes this permanent.",
		       port);
	} else {
		found(GOOD, "port", "UDP port %u is kept for dd", port);
	}
}

/* ---- the kernel, the module and its node --------------------------------- */

/* As in README.md and dkms.conf. */
static bool supported(unsigned int major, unsigned int minor)
{
	return (major == 6 && (minor == 1 || minor == 12)) || (major == 7 && minor == 3);
}

static void check_kernel(const struct utsname *uts)
{
	unsigned int major = 0, minor = 0;

	sscanf(uts->release, "%u.%u", &major, &minor);
	if (strstr(uts->version, "PREEMPT_RT")) {
		found(BAD, "kernel", "Linux %s has PREEMPT_RT, which dd does not support",
		      uts->release);
		advise("Boot a kernel without PREEMPT_RT.");
	} else if (supported(major, minor)) {
		found(GOOD, "kernel", "Linux %s", uts->release);
	} else {
		found(major < 6 || (major == 6 && minor < 1) ? BAD : NOTE, "kernel",
		      "Linux %s is not supported: dd is for 6.1, 6.12 and 7.3", uts->release);
		advise("Boot Linux 6.1, 6.12 or 7.3.");
	}
}

/* Whether the kernel loads signed modules only, as it does under Secure Boot. */
static bool wants_signature(void)
{
	char *enforce = first_line("/sys/module/module/parameters/sig_enforce");
	char *lockdown = first_line("/sys/kernel/security/lockdown");
	bool wants = (enforce && *enforce == 'Y') ||
		     (lockdown && strchr(lockdown, '[') && !strstr(lockdown, "[none]"));

	free(enforce);
	free(lockdown);
	return wants;
}

/* Docker, Podman and systemd mark their containers. */
static bool is_container(void)
{
	return !access("/.dockerenv", F_OK) || !access("/run/.containerenv", F_OK) ||
	       !access("/run/systemd/container", F_OK);
}

static void advise_load(const struct utsname *uts)
{
	if (is_container())
		advise("The module belongs to the host of this container: install and load dd there.");
	else if (wants_signature())
		advise("As root: modprobe dd. This kernel refuses a module without a signature ('Key was rejected by service'): make dkms-install signs it; enrol its key: mokutil --import /var/lib/dkms/mok.pub, and restart.");
	else
		advise("As root: modprobe dd. If it is not found, build and install it for this kernel (package linux-headers-%s).",
		       uts->release);
}

static void advise_one_version(void)
{
	advise("Install module and tools of one version; then, as root: rmmod dd && modprobe dd");
}

/* From /sys: also works when the family does not answer. */
const char *module_version(void)
{
	FILE *f = fopen("/sys/module/dd/version", "re");
	static char version[64];

	if (f && fgets(version, sizeof(version), f))
		version[strcspn(version, "\n")] = '\0';
	if (f)
		fclose(f);
	return version;
}

static bool check_module(const struct utsname *uts)
{
	const char *version = module_version();

	if (access("/sys/module/dd", F_OK)) {
		found(BAD, "module", "dd is not loaded");
		advise_load(uts);
		return false;
	}
	if (strcmp(version, DD_VERSION)) {
		found(NOTE, "module", "dd %s is loaded, ddctl is %s",
		      *version ? version : "of an unknown version", DD_VERSION);
		advise_one_version();
	} else {
		found(GOOD, "module", "dd %s is loaded", version);
	}
	return true;
}

static void judge_node(struct ddnl *nl, json_object *row)
{
	unsigned int abi = json_number(row, "abi"), id = json_number(row, "id");
	unsigned int max = json_number(row, "maxnodes"), port = json_number(row, "port");
	size_t i, n, odd = 0;
	json_object *peers;

	if (abi != DD_ABI_VERSION) {
		found(BAD, "abi", "the module has ABI %u, ddctl has %d", abi, DD_ABI_VERSION);
		advise_one_version();
	} else {
		found(GOOD, "abi", "module and tools have ABI %u", abi);
	}
	if (json_number(row, "up")) {
		found(GOOD, "node", "node %u of %u is up", id, max);
	} else {
		found(BAD, "node", "node %u of %u is down: programs get ENOCMP", id, max);
		advise("As root: ddctl node up");
	}
	if (ddnl_get(nl, &object_peers, &peers)) {
		found(BAD, "peers", "the module does not report its peers");
		advise_log();
		return;
	}
	n = json_object_array_length(peers);
	for (i = 0; i < n; i++)
		odd += judge_peer(json_object_array_get_idx(peers, i), port);
	if (!n)
		no_peers(id, max);
	else if (!odd)
		found(GOOD, "peers", "%zu of %zu peer%s up", n, n, n == 1 ? " is" : "s are");
	judge_port(port, n);
	json_object_put(peers);
}

static void check_node(void)
{
	json_object *rows;
	struct ddnl nl;

	if (ddnl_open(&nl)) {
		found(BAD, "node", "the module does not answer");
		advise_log();
		return;
	}
	if (ddnl_get(&nl, &object_node, &rows)) {
		found(BAD, "node", "the module does not report its state");
		advise_log();
	} else {
		judge_node(&nl, json_object_array_get_idx(rows, 0));
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

	found(BAD, "device", DEVICE " is for user %u and group %s (mode %04o), not for %s",
	      st->st_uid, gr ? gr->gr_name : "?", st->st_mode & 07777, user_name());
	if (st->st_gid && (st->st_mode & 0060) == 0060 && gr)
		advise("As root: usermod -aG %s %s; then log in again.", gr->gr_name, user_name());
	else if (st->st_gid && (st->st_mode & 0060) == 0060)
		advise("As root: groupadd -g %u " GROUP " && usermod -aG " GROUP
		       " %s; then log in again. In a container: start it with --group-add %u.",
		       st->st_gid, user_name(), st->st_gid);
	else
		advise("As root: groupadd -rf " GROUP " && chgrp " GROUP " " DEVICE
		       " && chmod 660 " DEVICE " && usermod -aG " GROUP
		       " %s; the udev rule of dd does the first three.", user_name());
}

/* The memory lock limit does not allow the device to be opened. */
static bool memlock_full;

/* Open the device; -1 if that fails, which is reported. */
static int check_device(void)
{
	struct dd_info info = { .size = sizeof(info) };
	struct stat st;
	int fd;

	if (stat(DEVICE, &st)) {
		found(BAD, "device", DEVICE ": %s", strerror(errno));
		advise("In a container: start it with --device " DEVICE ". Without udev: mknod " DEVICE " c 10 $(sed -n 's/ dd$//p' /proc/misc)");
		return -1;
	}
	if (!S_ISCHR(st.st_mode)) {
		found(BAD, "device", DEVICE " is not a device");
		advise("As root: rm " DEVICE " && rmmod dd && modprobe dd");
		return -1;
	}
	fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	if (fd >= 0 && ioctl(fd, DD_IOC_INFO, &info)) {
		found(BAD, "device", DEVICE " has number %u:%u, which is another device",
		      major(st.st_rdev), minor(st.st_rdev));
		advise("As root: rm " DEVICE " && mknod " DEVICE " c 10 $(sed -n 's/ dd$//p' /proc/misc); a container that was started before the module was loaded again has to be started again.");
		close(fd);
		fd = -1;
	} else if (fd >= 0) {
		found(GOOD, "device", DEVICE " can be opened");
		if (st.st_mode & 0006) {
			found(NOTE, "device", "every user may use " DEVICE);
			advise("As root: chmod o-rw " DEVICE);
		}
	} else if (errno == EDQUOT) {
		memlock_full = true;
	} else if (errno == EACCES) {
		say_no_access(&st);
	} else if (errno == EPERM) {
		found(BAD, "device", "the container or service may not use " DEVICE);
		advise("Start the container with --device " DEVICE ", or the service with DeviceAllow=" DEVICE ".");
	} else {
		found(BAD, "device", DEVICE ": %s", strerror(errno));
		advise("As root: rmmod dd && modprobe dd");
	}
	return fd;
}

/* ---- the name clerk ------------------------------------------------------ */

/* Look a name up that no segment has: only the clerk can answer. */
static void check_clerk(int fd)
{
	struct dd_import_make look = {
		.size = sizeof(look), .key_class = DD_SEGMENT_REGISTERED,
		.key = "ddctl doctor", .rights = DD_RIGHT_GET,
	};
	struct dd_info info = { .size = sizeof(info) };

	/* Without the area there are no imports; it is unmapped at exit. */
	if (ioctl(fd, DD_IOC_INFO, &info) || !info.up ||
	    mmap(NULL, AREA_PART, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 DD_AREA_OFFSET) == MAP_FAILED)
		return;
	look.node = info.node;
	/* It ends with @fd if there is one of that name. */
	if (!ioctl(fd, DD_IOC_IMPORT, &look) || errno == ENOENT) {
		found(GOOD, "clerk", "the name clerk answers");
	} else if (errno == EHOSTDOWN) {
		found(NOTE, "clerk", "this node has no name clerk: rm_export() and rm_import() fail");
		advise("If programs use remote memory (rmem(3)), as root: systemctl enable --now rmclerk");
	} else if (errno == ETIMEDOUT) {
		found(BAD, "clerk", "the name clerk does not answer: rm_export() and rm_import() fail");
		advise("See whether it is stopped (ps -o pid,stat -C rmclerk); as root: systemctl restart rmclerk");
	} else {
		found(NOTE, "clerk", "the name clerk: %s", strerror(errno));
	}
}

/* ---- memory and processors ---------------------------------------------- */

/* Whether the caller has CAP_IPC_LOCK in the initial user namespace. */
static bool is_exempt(void)
{
	unsigned long long caps = 0;
	char text[128] = "";
	FILE *f;

	if (readlink("/proc/self/ns/user", text, sizeof(text) - 1) < 0 ||
	    strcmp(text, INIT_USER_NS))
		return false;
	f = fopen("/proc/self/status", "re");
	if (!f)
		return false;
	while (fgets(text, sizeof(text), f) && sscanf(text, "CapEff: %llx", &caps) != 1)
		;
	fclose(f);
	return caps & 1ull << CAP_IPC_LOCK;
}

static void check_memlock(int fd)
{
	struct dd_info info = { .size = sizeof(info) };
	uint64_t used = 0, limit;
	struct rlimit lim;
	bool low = true;

	if (fd >= 0 && !ioctl(fd, DD_IOC_INFO, &info))
		used = info.memlock_used;	/* bytes charged to this user */
	getrlimit(RLIMIT_MEMLOCK, &lim);
	limit = lim.rlim_cur;
	if (memlock_full) {
		found(BAD, "memlock", "the limit of %" PRIu64 " KiB for %s is reached: "
		      DEVICE " cannot be opened", limit >> 10, user_name());
	} else if (is_exempt() || lim.rlim_cur == RLIM_INFINITY) {
		found(GOOD, "memlock", "%" PRIu64 " KiB in use, no limit for %s", used >> 10,
		      user_name());
		low = false;
	} else {
		low = limit < used + LEAST_MEMLOCK;
		found(low ? BAD : GOOD, "memlock", "%" PRIu64 " KiB of %" PRIu64
		      " KiB in use by %s", used >> 10, limit >> 10, user_name());
	}
	if (low)
		advise("Raise it: 'ulimit -l' for this shell, a line '@" GROUP
		       " - memlock 1048576' (KiB) in /etc/security/limits.d/dd.conf for logins, LimitMEMLOCK= for a systemd service.");
}

static void check_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set)) {
		found(NOTE, "cpus", "more than %d processors", CPU_SETSIZE);
	} else if (CPU_COUNT(&set) > 1) {
		found(GOOD, "cpus", "%d processors may be used here", CPU_COUNT(&set));
	} else {
		found(NOTE, "cpus", "one processor may be used here");
		advise("Receivers that spin (RECV_SPIN) yield sooner here; with two processors they answer faster.");
	}
}

/* ------------------------------------------------------------------------- */

static int doctor_run(const struct verb *verb, int argc, char **argv)
{
	struct utsname uts;
	int fd = -1;

	uname(&uts);
	report = json_object_new_array();
	check_kernel(&uts);
	if (check_module(&uts)) {
		check_node();
		fd = check_device();
		if (fd >= 0)
			check_clerk(fd);
	}
	check_memlock(fd);
	check_cpus();
	if (fd >= 0)
		close(fd);
	if (options.json)
		print_json(json_object_get(report));
	json_object_put(report);
	return bad ? EXIT_FINDINGS : EXIT_OK;
}

COMMAND(doctor, "check whether dd can be used here, and give advice",
	NULL, "check kernel, module, peers, device, name clerk, memory, processors");
