// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * request.c - what the server is asked for
 *
 * Copyright (C) 2026 The dd authors
 *
 * Whatever is wrong with a request ends the child, with a reply: see refuse().
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "fields.h"
#include "output.h"
#include "peer.h"
#include "process.h"
#include "request.h"
#include "wire.h"

#define SESSION_NAME_MAX	128
#define SESSIONS_USER		16	/* unless the file says otherwise */
#define FORWARD_S		50	/* less than the time of a child */

/* What is left of the request; it ends with NULL. */
static char **text;
static int count;

/* ---- what requests have in common ---------------------------------------------------------- */

static long long number(int i, long long min)
{
	long long n;

	if (i >= count || !fields_parse(text[i], min, INT_MAX, &n))
		refuse(EINVAL, "a number is missing or wrong");
	return n;
}

/* A list: its length, at *@i, and its texts. *@i is what follows. */
static char **list(int *i, int *n)
{
	char **all = text + *i + 1;

	*n = number(*i, 0);
	if (*n > count - *i - 1)
		refuse(EINVAL, "texts are missing");
	*i += *n + 1;
	return all;
}

/* A session of the user, locked as @lock says; root may end those of others. */
static struct session *session_get(bool root, int lock)
{
	static struct session s;

	if (!session_open(&s, text[0]))
		refuse(ENONET, "there is no session '%s' on node %s", text[0], node_name);
	if (s.uid != peer_uid && !(root && !peer_uid))
		refuse(EPERM, "session '%s' belongs to another user", text[0]);
	if (lock && (flock(s.dir, lock | LOCK_NB) || !session_read(&s) || s.state != SESSION_ACTIVE))
		refuse(EBUSY, "session '%s' is being added or deleted; if that was interrupted, delete it",
		       text[0]);
	return &s;
}

/* What request_watch() waits for. */
static const char *watched_session;
static struct process watched;

static void reply_process(const struct process *p)
{
	FILE *out = reply_begin(0, "");

	put_number(out, p->lpid);
	put_number(out, p->pid);
	put_number(out, p->group);
	reply_send();
}

/* ---- sessions ------------------------------------------------------------------------------- */

struct count {
	uid_t uid;
	int n;
};

static void count_session(struct session *s, void *arg)
{
	struct count *c = arg;

	c->n += s->uid == c->uid;
}

static bool is_mount(const char *path)
{
	struct statx st;

	return !statx(AT_FDCWD, path, 0, 0, &st) && st.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

static void share_check(const struct session *s)
{
	if (!config_permits("share", s->share))
		refuse(EPERM, "NETSHARE '%s': no line 'share' of %s on node %s permits it", s->share,
		       VMMCSVR_CONF, node_name);
	if (strcmp(s->drive, "-") && !config_permits("drive", s->drive))
		refuse(EPERM, "DRIVE '%s': no line 'drive' of %s on node %s permits shares there",
		       s->drive, VMMCSVR_CONF, node_name);
}

static void add_check(const struct session *s)
{
	if (!*s->name)
		refuse(EINVAL, "SESSION is empty");
	if (strlen(s->name) > SESSION_NAME_MAX)
		refuse(EINVAL, "SESSION has more than %d bytes", SESSION_NAME_MAX);
	if (strcmp(s->drive, "-") && *s->drive != '/')
		refuse(EINVAL, "DRIVE '%s' is neither - nor an absolute path", s->drive);
	if (*s->outdir != '/')
		refuse(EINVAL, "OUTDIR '%s' is not an absolute path", s->outdir);
	if (!peer_uid && strcmp(config_text("root", "no"), "yes"))
		refuse(EPERM, "root: no line 'root yes' of %s on node %s permits it", VMMCSVR_CONF,
		       node_name);
	if (*s->share)
		share_check(s);
}

static char *share_type(const char *share)
{
	if (!strncmp(share, "//", 2))
		return "cifs";
	return *share == '/' ? "none" : "nfs";
}

static gid_t user_group(uid_t uid)
{
	const struct passwd *p = getpwuid(uid);

	return p ? p->pw_gid : (gid_t)-1;
}

/* In the session's control group: it ends mount(8), too, if that takes too long. */
static void share_mount(void *arg)
{
	const struct session *s = arg;
	const char *password = text[2];
	char *type = share_type(s->share), *options = NULL;
	char *argv[] = { "mount", "-t", type, "-o", NULL, "--", (char *)s->share, s->root, NULL };
	bool bind = !strcmp(type, "none"), smb = !strcmp(type, "cifs");
	int status;
	pid_t pid;

	if (!cgroup_write(s, "cgroup.procs", "0"))
		child_fail("control group of the session");
	errno = EINVAL;
	if (s->user[strcspn(s->user, ",=")] ||
	    asprintf(&options, "nosuid,nodev%s", bind ? ",bind" : "") < 0 ||
	    (smb && asprintf(&options, "nosuid,nodev,%s%s,uid=%u,forceuid,gid=%u,forcegid,"
			     "file_mode=0600,dir_mode=0700", *s->user ? "username=" : "guest", s->user,
			     s->uid, user_group(s->uid)) < 0))
		child_fail("USER '%s'", s->user);
	/* mount.cifs takes it from there, so that no other process sees it. */
	if (smb && (*password ? setenv("PASSWD", password, 1) : unsetenv("PASSWD")))
		child_fail("PASSWORD");
	argv[4] = options;
	errno = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
	if (errno || waitpid(pid, &status, 0) != pid)
		child_fail("mount");
	errno = ENODEV;
	if (status)
		child_fail("NETSHARE '%s': mount failed, see the server's log", s->share);
}

static void drive_check(void *arg)
{
	struct session *s = arg;

	child_become(s->uid);
	output_check(s);
}

static void add_failed(struct session *s, int err, const char *what)
{
	cgroup_write(s, "cgroup.kill", "1");
	cgroup_wait(s);
	session_remove(s);
	refuse(err, "%s: %s", what, strerror(err));
}

static void add_step(struct session *s, void (*run)(void *arg))
{
	const struct report *r = child_run(run, s);

	if (r->err)
		add_failed(s, r->err, r->what);
}

/*
 * The drive of a share, on which nothing is mounted: what is when the session ends is the share. One
 * session at a time, until the share is mounted: a lock, which close() ends.
 */
static int drive_lock(const struct session *s)
{
	int lock = open(DRIVES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *drive = s->drive;
	char *path;

	if (lock < 0 || flock(lock, LOCK_EX))
		refuse(errno, "%s: %s", DRIVES, strerror(errno));
	if (!strcmp(drive, "-"))
		return lock;
	path = realpath(drive, NULL);
	if (!path)
		refuse(errno, "drive '%s': %s", drive, strerror(errno));
	if (strcmp(path, drive))
		refuse(EINVAL, "drive '%s' is '%s'", drive, path);
	if (is_mount(drive))
		refuse(EBUSY, "drive '%s': something is mounted there", drive);
	return lock;
}

/* session user password drive netShare outDir */
static void add(void)
{
	struct session s = {
		.dir = -1, .state = SESSION_ADDING, .uid = peer_uid, .name = text[0], .user = text[1],
		.drive = text[3], .share = text[4], .outdir = text[5],
	};
	struct count c = { peer_uid, 0 };
	int counter, lock = -1;
	bool made;

	/* Shares of SMB have either. */
	for (char *at = text[4]; (at = strchr(at, '\\')); )
		*at = '/';
	add_check(&s);
	if (*s.share)
		lock = drive_lock(&s);
	counter = counter_lock();
	sessions_each(count_session, &c);
	if (c.n >= config_number("sessions", SESSIONS_USER))
		refuse(EDQUOT, "user %u has %d sessions on node %s", peer_uid, c.n, node_name);
	made = counter >= 0 && session_create(&s);
	if (!made && (errno == EEXIST || errno == ENOTEMPTY))
		refuse(EEXIST, "session '%s' exists on node %s", s.name, node_name);
	if (!made)
		refuse(errno, "session '%s': %s", s.name, strerror(errno));
	close(counter);
	if (mkdir(s.cgroup, 0755) && errno != EEXIST)
		add_failed(&s, errno, s.cgroup);
	if (*s.share && !strcmp(s.drive, "-") && mkdir(s.root, 0755) && errno != EEXIST)
		add_failed(&s, errno, s.root);
	if (*s.share)
		add_step(&s, share_mount);
	close(lock);
	add_step(&s, drive_check);
	s.state = SESSION_ACTIVE;
	if (!session_save(&s))
		add_failed(&s, errno, "record of the session");
	logs("session '%s' of user %u has begun", s.name, s.uid);
	done();
}

/*
 * The record first: no process is started after it. Those that are being started are killed, too,
 * which ends their children's locks.
 */
static void del(void)
{
	struct session *s = session_get(true, 0);

	s->state = SESSION_ENDING;
	session_save(s);
	processes_kill(s);
	if (flock(s->dir, LOCK_EX) || !session_read(s))
		refuse(ENONET, "there is no session '%s' on node %s", text[0], node_name);
	processes_kill(s);
	cgroup_wait(s);
	processes_wait(s);
	session_remove(s);
	logs("session '%s' has ended", s->name);
	done();
}

/* ---- processes ------------------------------------------------------------------------------- */

static void start(struct spec *spec)
{
	struct process p;
	const struct report *r = process_start(spec, &p);

	if (r->err)
		refuse(r->err, "%s: %s", r->what, strerror(r->err));
	reply_process(&p);
	watched_session = spec->session->name;
	watched = p;
}

/* session workingDir programPath hosts count args */
static void run(void)
{
	struct spec spec = { .parent_node = -1 };
	int i = 4;

	spec.args = list(&i, &spec.count);
	spec.dir = text[1];
	spec.program = spec.name = text[2];
	spec.hosts = text[3];
	if (*spec.dir != '/')
		refuse(EINVAL, "WORKINGDIR '%s' is not an absolute path", spec.dir);
	if (!*spec.program)
		refuse(EINVAL, "PROGRAMPATH is empty");
	spec.session = session_get(false, LOCK_SH);
	start(&spec);
}

/* session [pid], a logical or a real one that names one process */
static void kill_processes(void)
{
	const struct process *found = NULL;
	struct session *s;
	long long pid;
	int n;

	if (count == 2 && !fields_parse(text[1], 1, INT_MAX, &pid))
		refuse(EINVAL, "PID '%s' is not a positive number", text[1]);
	s = session_get(true, LOCK_SH);
	if (count == 1) {
		processes_kill(s);
		done();
	}
	for (struct process *p = processes_read(s, &n); n--; p++) {
		if (p->pid != pid && p->lpid != pid)
			continue;
		if (found)
			refuse(EINVAL,
			       "PID %lld is the logical pid of one process and the real one of another",
			       pid);
		found = p;
	}
	if (!found)
		refuse(ESRCH, "PID %lld: no process of session '%s' on node %s", pid, s->name,
		       node_name);
	process_kill(found);
	done();
}

/* ---- spawn -------------------------------------------------------------------------------------- */

/* A path of this node as one below the drive; NULL if it is not below. */
static const char *below_drive(const struct session *s, const char *path)
{
	size_t len = strcmp(s->root, "/") ? strlen(s->root) : 0;

	if (strncmp(path, s->root, len) || (path[len] && path[len] != '/'))
		return NULL;
	return path[len] ? path + len : "/";
}

/* The calling process; one that has not registered does so. */
static struct process caller(struct session *s, int group)
{
	struct process self = { .pid = peer_pid, .group = group };
	const struct report *r;
	int n;

	for (struct process *p = processes_read(s, &n); n--; p++)
		if (p->pid == peer_pid)
			return *p;
	r = process_register(s, &self);
	if (!self.lpid)
		refuse(r->err, "%s: %s", r->what, strerror(r->err));
	if (!fork())
		process_watch(s->name, &self, false);
	return self;
}

/* session group: the caller, which was started otherwise, becomes a process of the session */
static void enter(void)
{
	struct process p = caller(session_get(false, LOCK_SH), number(1, 0));

	reply_process(&p);
	_exit(0);
}

/* Ask the server of another node for the user; its reply is this one's. */
static FILE *forward_begin(const char *verb, char **data, size_t *len)
{
	FILE *f = open_memstream(data, len);

	if (!f)
		refuse(ENOMEM, "no memory");
	put(f, "as");
	put_number(f, peer_uid);
	put(f, verb);
	return f;
}

static void forward_end(int node, FILE *f, char **data, size_t *len)
{
	const char *host = config_host(node), *port = config_text("port", VMMCSVR_PORT);
	char why[512], **field;
	int n;

	if (!host)
		refuse(EHOSTUNREACH, "there is no node %d", node);
	if (fclose(f))
		refuse(ENOMEM, "no memory");
	field = server_ask(host, port, *data, *len, FORWARD_S, &n, why, sizeof(why));
	if (!field) {
		logs("request to node %d: %s", node, why);
		refuse(EHOSTUNREACH, "%s", why);
	}
	f = reply_begin(atoi(field[0]), field[1]);
	for (int i = 2; i < n; i++)
		put(f, field[i]);
	reply_send();
	_exit(0);
}

static void spawn_there(int node, const struct spec *spec, int envs)
{
	size_t len;
	char *data;
	FILE *f = forward_begin("child", &data, &len);

	put(f, spec->session->name);
	put_number(f, spec->group);
	put_number(f, spec->parent_node);
	put_number(f, spec->parent_pid);
	put(f, spec->dir);
	put(f, spec->program);
	put(f, spec->name);
	put_number(f, spec->count);
	for (int i = 0; i < spec->count; i++)
		put(f, spec->args[i]);
	put_number(f, envs);
	for (int i = 0; i < envs; i++)
		put(f, spec->env[i]);
	/* The session may be deleted while the other server works. */
	flock(spec->session->dir, LOCK_UN);
	forward_end(node, f, &data, &len);
}

/* The lists of a process to start, at @i; the number of its environment, which ends the request. */
static int lists(int i, struct spec *spec)
{
	int envs;

	spec->args = list(&i, &spec->count);
	spec->env = list(&i, &envs);
	return envs;
}

/* session group node directory program count args count env: by a process of this node */
static void spawn(void)
{
	struct session *s = session_get(false, LOCK_SH);
	struct spec spec = { .session = s, .parent_node = node_number, .parent_pid = peer_pid };
	int envs = lists(5, &spec), node = number(2, 0);

	spec.dir = below_drive(s, text[3]);
	spec.program = *text[4] == '/' ? below_drive(s, text[4]) : text[4];
	if (!spec.program)
		spec.program = text[4];
	spec.name = text[4];
	if (!spec.dir || !*spec.program)
		refuse(EINVAL, "'%s' is not on drive '%s'", text[3], s->root);
	spec.group = caller(s, number(1, 0)).group;
	if (node == node_number)
		start(&spec);
	else
		spawn_there(node, &spec, envs);
}

/* session group parent_node parent_pid directory program name count args count env: of another node */
static void child(void)
{
	struct spec spec = { .session = session_get(false, LOCK_SH) };

	lists(7, &spec);
	spec.group = number(1, 1);
	spec.parent_node = number(2, 0);
	spec.parent_pid = number(3, 1);
	spec.dir = text[4];
	spec.program = text[5];
	spec.name = text[6];
	if (*spec.dir != '/' || !*spec.program)
		refuse(EINVAL, "the path is wrong");
	start(&spec);
}

/* pid: whether there is such a process, which may not have made its first call. */
static void exists_here(void)
{
	int pid = number(0, 1), fd = syscall(SYS_pidfd_open, pid, 0);
	struct pollfd end = { .fd = fd, .events = POLLIN };

	if (fd < 0 || poll(&end, 1, 0))
		refuse(ESRCH, "there is no process %d on node %s", pid, node_name);
	done();
}

/* node pid */
static void exists(void)
{
	int node = number(0, 0);
	size_t len;
	char *data;
	FILE *f;

	text++;
	count--;
	if (node == node_number)
		exists_here();
	f = forward_begin("process", &data, &len);
	put(f, text[0]);
	forward_end(node, f, &data, &len);
}

/* ---- dispatch -------------------------------------------------------------------------------- */

enum { FROM_USER = 1, FROM_SERVER = 2, FROM_PROCESS = 4 };

static const struct verb {
	const char *name;
	int from, min, max;
	void (*run)(void);
} verbs[] = {
	{ "add", FROM_USER, 6, 6, add },
	{ "del", FROM_USER, 1, 1, del },
	{ "run", FROM_USER, 5, INT_MAX, run },
	{ "kill", FROM_USER, 1, 2, kill_processes },
	{ "enter", FROM_PROCESS, 2, 2, enter },
	{ "spawn", FROM_PROCESS, 7, INT_MAX, spawn },
	{ "exists", FROM_PROCESS, 2, 2, exists },
	{ "child", FROM_SERVER, 9, INT_MAX, child },
	{ "process", FROM_SERVER, 1, 1, exists_here },
};

/* Another server, which is root, speaks for a user. */
static bool speaks_for(void)
{
	long long uid;

	if (peer_uid || count < 3 || strcmp(text[0], "as") ||
	    !fields_parse(text[1], 0, UINT_MAX - 1, &uid))
		return false;
	peer_uid = uid;
	text += 2;
	count -= 2;
	return true;
}

void request_run(char **all, int n)
{
	int from = peer_pid ? FROM_PROCESS : FROM_USER;
	const char *name;

	text = all;
	count = n;
	if (from == FROM_USER && speaks_for())
		from = FROM_SERVER;
	name = *text++;
	count--;
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(verbs[i].name, name) && verbs[i].from & from &&
		    count >= verbs[i].min && count <= verbs[i].max) {
			verbs[i].run();
			return;
		}
	refuse(EINVAL, "this server does not know the request");
}

void request_watch(void)
{
	process_watch(watched_session, &watched, true);
}
