// SPDX-License-Identifier: GPL-2.0-only
/*
 * member.c - a process of a session, for sessions.sh
 *
 *   member info                    its arguments, directory, environment, user and parent
 *   member wait                    until it is killed
 *   member first                   one call, then as "wait"
 *   member spawn HOST PROGRAM ...  spawn a process, and print its node and pid
 *   member meet HOST FILE          spawn "member late FILE" there, and send it a word
 *   member late FILE               first call when FILE is there; wait for the word
 *   member import HOST PID         the result of an import
 *   member many HOST NUMBER PROGRAM ...  spawn a process so often; print the pids
 *   member fork HOST               spawn in a child of fork()
 *   member sbl                     spawn by libsbl
 *   member hosts                   the nodes of its session
 *   member async HOST PID FILE     when FILE is there, begin an import, and wait for its result
 *   member zombie                  print the pid of a child that has ended, and keep it
 *   member stale FILE              as "first", but the process that has connected to the server
 *                                  ends, and its child goes on when FILE is there
 *   member seed                    let getrandom() return: User-Mode Linux gathers no entropy
 *
 * Copyright (C) 2026 The dd authors
 */
#include <err.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/random.h>
#include <sbl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vmmc.h>

static int32 words[1024] __attribute__((aligned(4096)));

static void print_env(const char *name)
{
	const char *value = getenv(name);

	printf("%s=%s\n", name, value ? value : "(none)");
}

static void parent(void)
{
	vmmc_node_t node;
	vmmc_pid_t pid;
	vmmc_result_t code = vmmc_Parent(&node, &pid);

	if (code)
		printf("parent %d\n", code);
	else
		printf("parent %s %d\n", vmmc_NodeToName(node), pid);
}

static int info(int argc, char **argv)
{
	static const char *const names[] = {
		"VMMCSESSION", "VMMCHOSTS", "HOME", "USER", "PATH", "LEFTOVER",
	};
	gid_t group[32];
	int n = getgroups(32, group);

	for (int i = 0; i < argc; i++)
		printf("argument %d [%s]\n", i, argv[i]);
	printf("directory %s\n", getcwd(NULL, 0));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		print_env(names[i]);
	printf("user %d %d", getuid(), getgid());
	for (int i = 0; i < n; i++)
		printf(" %d", group[i]);
	printf("\nleader %d\n", getsid(0) == getpid() && getpgrp() == getpid());
	parent();
	fprintf(stderr, "error output\n");
	return 0;
}

static void file_await(const char *name)
{
	const struct timespec pause = { .tv_nsec = 10000000 };

	while (access(name, F_OK))
		nanosleep(&pause, NULL);
}

/* In the place of the C library's, for "member stale". */
static const char *stale;

int connect(int fd, const struct sockaddr *address, socklen_t len)
{
	int ret = syscall(SYS_connect, fd, address, len);

	if (!stale || address->sa_family != AF_UNIX)
		return ret;
	printf("connected %d\n", getpid());
	fflush(stdout);
	if (fork())
		_exit(0);
	file_await(stale);
	stale = NULL;
	return ret;
}

static int spawn(char **argv)
{
	vmmc_pid_t pid;
	vmmc_result_t code = vmmc_Spawn(argv[1], argv + 1, vmmc_NameToNode(argv[0]), &pid);

	if (code) {
		printf("spawn %d %s\n", code, vmmc_ErrorStr(code));
		return 1;
	}
	printf("spawned %s %d\n", argv[0], pid);
	fflush(stdout);
	return 0;
}

static int import(const char *host, vmmc_pid_t pid, int32 **proxy)
{
	vmmc_imphandle_t handle;
	uint32 nwords;

	return vmmc_ImportRecvBuf(vmmc_NameToNode(host), pid, 1, &handle, proxy, &nwords);
}

static int async(const char *host, vmmc_pid_t pid, const char *file)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	vmmc_imphandle_t handle;
	vmmc_result_t code;
	int32 *proxy;
	uint32 nwords;

	printf("first %d\n", vmmc_MyPid());
	fflush(stdout);
	file_await(file);
	code = vmmc_ImportRecvBufAsync(vmmc_NameToNode(host), pid, 1, &handle);
	if (!code)
		code = vmmc_ImportRecvBufStatus(&handle, &proxy, &nwords);
	printf("begun %d\n", code);
	fflush(stdout);
	while (code == vmmcErr_InProgress) {
		nanosleep(&pause, NULL);
		code = vmmc_ImportRecvBufStatus(&handle, &proxy, &nwords);
	}
	printf("result %d\n", code);
	return 0;
}

static int zombie(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitid(P_PID, pid, NULL, WEXITED | WNOWAIT);
	printf("zombie %d\n", pid);
	fflush(stdout);
	return pause();
}

static int meet(const char *self, const char *host, const char *file)
{
	char *argv[] = { (char *)self, "late", (char *)file, NULL };
	int32 word = 42, *proxy;
	vmmc_pid_t pid;
	vmmc_result_t code = vmmc_Spawn(self, argv, vmmc_NameToNode(host), &pid);

	if (!code) {
		printf("spawned %s %d\n", host, pid);
		fflush(stdout);
		code = import(host, pid, &proxy);
	}
	if (!code)
		code = vmmc_SendData(&word, proxy, 1);
	printf("met %d\n", code);
	return !!code;
}

static int late(const char *file)
{
	vmmc_exphandle_t handle;

	file_await(file);
	if (vmmc_ExportRecvBuf(words, 1024, 1, NULL, BUF_READWRITE, VMMC_PERM_ANY, &handle))
		return 1;
	while (__atomic_load_n(words, __ATOMIC_ACQUIRE) != 42)
		sched_yield();
	printf("received %d\n", words[0]);
	return 0;
}

static int many(const char *host, int count, char **argv)
{
	vmmc_node_t node = vmmc_NameToNode(host);
	int failed = 0;
	vmmc_pid_t pid;

	for (int i = 0; i < count; i++) {
		if (!vmmc_Spawn(argv[0], argv, node, &pid))
			printf("%d\n", pid);
		else
			failed++;
	}
	return !!failed;
}

static int forked(const char *self, const char *host)
{
	char *argv[] = { (char *)host, (char *)self, "info", NULL };
	pid_t pid;
	int status;

	printf("first %d\n", vmmc_MyPid() == getpid());
	fflush(stdout);
	pid = fork();
	if (!pid) {
		parent();
		exit(spawn(argv));
	}
	waitpid(pid, &status, 0);
	return !!status;
}

static int sbl(const char *self)
{
	char *argv[] = { (char *)self, "info", NULL };
	SBL_Squid squid;
	int code = SBL_Spawn((char *)self, argv, SBL_MyNode(), &squid);

	printf("sbl %d %d\n", code, squid);
	return code;
}

static int hosts(void)
{
	vmmc_node_t *node;
	uint32 n;
	vmmc_result_t code = vmmc_SessionHosts(&n, &node);

	for (uint32 i = 0; !code && i < n; i++)
		printf("%s ", vmmc_NodeToName(node[i]));
	printf("%d\n", code);
	return !!code;
}

static int seed(void)
{
	struct {
		struct rand_pool_info head;
		char data[64];
	} pool = { { .entropy_count = 8 * sizeof(pool.data), .buf_size = sizeof(pool.data) }, "" };
	int fd = open("/dev/random", O_RDWR);

	return fd < 0 || ioctl(fd, RNDADDENTROPY, &pool) < 0;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	int32 *proxy;

	if (!strcmp(verb, "info"))
		return info(argc, argv);
	if (!strcmp(verb, "stale") && argc == 3)
		stale = argv[2];
	if (!strcmp(verb, "first") || stale)
		printf("pid %d\n", vmmc_MyPid());
	fflush(stdout);
	if (!strcmp(verb, "wait") || !strcmp(verb, "first") || !strcmp(verb, "stale"))
		for (;;)
			pause();
	if (!strcmp(verb, "spawn") && argc > 3)
		return spawn(argv + 2);
	if (!strcmp(verb, "meet") && argc == 4)
		return meet(argv[0], argv[2], argv[3]);
	if (!strcmp(verb, "late") && argc == 3)
		return late(argv[2]);
	if (!strcmp(verb, "import") && argc == 4)
		return printf("import %d\n", import(argv[2], atoi(argv[3]), &proxy)) < 0;
	if (!strcmp(verb, "many") && argc > 4)
		return many(argv[2], atoi(argv[3]), argv + 4);
	if (!strcmp(verb, "fork") && argc == 3)
		return forked(argv[0], argv[2]);
	if (!strcmp(verb, "sbl"))
		return sbl(argv[0]);
	if (!strcmp(verb, "async") && argc == 5)
		return async(argv[2], atoi(argv[3]), argv[4]);
	if (!strcmp(verb, "zombie"))
		return zombie();
	if (!strcmp(verb, "hosts"))
		return hosts();
	if (!strcmp(verb, "seed"))
		return seed();
	errx(2, "unknown command '%s'", verb);
}
