// SPDX-License-Identifier: GPL-2.0-only
/*
 * Failing allocations and copies in netlink, in new network namespaces, and in the workers
 * that end one. Each run has a socket or a namespace of its own. A request that has failed
 * leaves nothing, and succeeds when it is repeated. Run by across.sh; needs a kernel with
 * fault injection.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <arpa/inet.h>
#include <linux/dd_netlink.h>
#include <linux/genetlink.h>
#include <sys/socket.h>

#define SPARE	0		/* number of a peer that the cluster does not have */

struct stage {
};

#include "sweep.h"

/* --- paths of netlink ---------------------------------------------------------*/

struct request {
	struct nlmsghdr nlh;
	struct genlmsghdr genl;
	char attrs[64];
};

static int family;

static void put_attr(struct request *r, int type, const void *data, int len)
{
	struct nlattr *a = (void *)((char *)r + NLMSG_ALIGN(r->nlh.nlmsg_len));

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	memcpy(a + 1, data, len);
	r->nlh.nlmsg_len = NLMSG_ALIGN(r->nlh.nlmsg_len) + NLA_ALIGN(a->nla_len);
}

/* Reads answers up to the last one; the kernel has queued them when send() returns. */
static int read_answers(int fd)
{
	static char buf[1 << 16];
	struct nlmsghdr *h;
	int len, err;

	for (;;) {
		len = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (len < 0)
			return -1;
		for (h = (void *)buf; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
			if (h->nlmsg_type == GENL_ID_CTRL) {
				struct nlattr *a = NLMSG_DATA(h) + GENL_HDRLEN;

				/* After the name, in its aligned length. */
				a = (void *)a + NLA_ALIGN(a->nla_len);
				family = *(__u16 *)(a + 1);
			}
			if (h->nlmsg_type != NLMSG_ERROR &&
			    h->nlmsg_type != NLMSG_DONE)
				continue;
			err = *(int *)NLMSG_DATA(h);
			errno = -err;
			return err ? -1 : 0;
		}
	}
}

static int ask(struct request *r)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	int ret = -1, err;

	if (fd < 0)
		return -1;
	if (send(fd, r, r->nlh.nlmsg_len, 0) >= 0)
		ret = read_answers(fd);
	err = errno;
	close(fd);
	errno = err;
	return ret;
}

static struct request request(int cmd, int flags)
{
	return (struct request){
		.nlh = { .nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN),
			 .nlmsg_type = family,
			 .nlmsg_flags = NLM_F_REQUEST | flags },
		.genl = { .cmd = cmd, .version = DD_FAMILY_VERSION },
	};
}

static int find_family(void)
{
	struct request r = request(CTRL_CMD_GETFAMILY, NLM_F_ACK);

	r.nlh.nlmsg_type = GENL_ID_CTRL;
	put_attr(&r, CTRL_ATTR_FAMILY_NAME, DD_FAMILY_NAME,
		 sizeof(DD_FAMILY_NAME));
	return ask(&r) || !family ? -1 : 0;
}

/* A request about peer SPARE, with an address that ends in @last if that is not 0. */
static int ask_peer(int cmd, int last)
{
	struct request r = request(cmd, NLM_F_ACK);
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(56797) };
	__u32 number = SPARE;

	put_attr(&r, DD_A_PEER_NUMBER, &number, sizeof(number));
	addr.sin_addr.s_addr = htonl(0x0a090000 + last);
	if (last)
		put_attr(&r, DD_A_PEER_ADDRESS, &addr, sizeof(addr));
	return ask(&r);
}

static int add_peer(struct stage *t)
{
	return ask_peer(DD_CMD_PEER_ADD, 77);
}

static int move_peer(struct stage *t)
{
	return ask_peer(DD_CMD_PEER_SET, 78);
}

static int get_peer(struct stage *t)
{
	return ask_peer(DD_CMD_PEER_GET, 0);
}

static int del_peer(struct stage *t)
{
	return ask_peer(DD_CMD_PEER_DEL, 0);
}

static int expect_peer(struct stage *t)
{
	CHILD_CHECK(get_peer(t) == 0 && del_peer(t) == 0);
	return 0;
}

static int expect_no_peer(struct stage *t)
{
	CHILD_ERR(ENOENT, get_peer(t));
	return 0;
}

static int dump_all(struct stage *t)
{
	static const int cmds[] = {
		DD_CMD_PEER_GET, DD_CMD_SERVICE_GET, DD_CMD_CONN_GET,
		DD_CMD_REGION_GET,
	};
	struct request r;
	size_t i;

	for (i = 0; i < sizeof(cmds) / sizeof(cmds[0]); i++) {
		r = request(cmds[i], NLM_F_DUMP);
		if (ask(&r))
			return -1;
	}
	return 0;
}

/* --- the sweep ---------------------------------------------------------------*/

static void stage_open(struct stage *t)
{
}

static void stage_close(struct stage *t)
{
}

/* Of socket(), too; or no answer. */
static bool expected(const struct path *path, int err)
{
	return err == ENOMEM || err == EFAULT || err == ENOSPC || err == ENOBUFS ||
	       err == ENFILE || err == EAGAIN;
}

static bool repeat(const struct path *path, struct stage *t)
{
	return WAIT_FOR(!path->run(t) || errno == path->repeated);
}

static void check_path(struct __test_metadata *_metadata, const struct path *path)
{
	if (!inject_ready())
		DD_SKIP("no fault injection in this kernel");
	ASSERT_EQ(0, find_family());
	sweep(_metadata, path, path->least, false);
}

PATH(in_peer_add, NULL, add_peer, expect_peer, 10, .repeated = EEXIST)
PATH(in_peer_move, add_peer, move_peer, expect_peer, 10)
PATH(in_peer_get, add_peer, get_peer, expect_peer, 5)
PATH(in_peer_del, add_peer, del_peer, expect_no_peer, 5, .repeated = ENOENT)
PATH(in_dumps, NULL, dump_all, NULL, 20)

/* --- network namespaces --------------------------------------------------------*/

#define NEWEST	32	/* of the allocations of a namespace, those of dd are among these */

/* In a child: a namespace whose @n-th allocation fails; 0 for none. */
static int make_namespace(int n)
{
	int ret, err;
	bool hit;

	CHILD_CHECK(inject_ready());
	inject_arm(INJECT_NTH, n ? n : INJECT_LIMIT);
	ret = unshare(CLONE_NEWNET);
	err = errno;
	if (!n)
		return inject_count(INJECT_LIMIT);
	hit = inject_disarm(INJECT_NTH);
	if (ret) {
		/* Other subsystems also say ENOBUFS. */
		CHILD_CHECK(hit && (err == ENOMEM || err == ENOSPC ||
				    err == ENOBUFS));
		CHILD_CHECK(unshare(CLONE_NEWNET) == 0);
	}
	/* It has a node. */
	CHILD_CHECK(dump_all(NULL) == 0);
	return hit;
}

TEST(failures_in_a_new_namespace)
{
	int *all = shared_memory(sizeof(*all)), n;

	if (!inject_ready())
		DD_SKIP("no fault injection in this kernel");
	ASSERT_EQ(0, find_family());
	IN_CHILD
		*all = make_namespace(0);
	TH_LOG("%d failures", *all);
	ASSERT_LE(NEWEST, *all);
	for (n = *all; n > *all - NEWEST; n--)
		IN_CHILD
			make_namespace(n);
}

/* A namespace with a node, a peer, and one end of a link to this namespace. */
static pid_t namespace_with_peer(void)
{
	char command[300];
	int ready;
	pid_t pid = fork_until_report(&ready);

	if (pid)
		return pid;
	CHILD_CHECK(unshare(CLONE_NEWNET) == 0);
	snprintf(command, sizeof(command),
		 "bash -c 'ip link set lo up; ip link add v1 type veth peer name v0 netns %d &&"
		 " ip addr add 10.8.0.1/24 dev v1 && ip link set v1 up && ddctl node down &&"
		 " ddctl node set id 1 max 3 && ddctl node up && ddctl peer add 2 10.8.0.2'",
		 getppid());
	CHILD_CHECK(system(command) == 0);
	child_report_and_stay(ready);
}

/*
 * The other end of the link ends with the namespace. The first exit meets no failure. It
 * leaves spare workers: a worker that has to create another one tries until it succeeds,
 * and the exit waits for it.
 */
TEST(failures_in_the_exit_of_a_namespace)
{
	int n, runs = 0;
	bool hit = true;
	pid_t pid;

	if (!inject_ready())
		DD_SKIP("no fault injection in this kernel");
	for (n = 0; hit && n < INJECT_LIMIT; n = !n ? 1 : n < 256 ? 256 : 2 * n) {
		pid = namespace_with_peer();
		ASSERT_LT(0, pid);
		ASSERT_EQ(0, access("/sys/class/net/v0", F_OK));
		if (n)
			inject_arm(INJECT_WORKER, n);
		kill_child(pid);
		EXPECT_TRUE(WAIT_FOR(access("/sys/class/net/v0", F_OK)));
		if (n)
			hit = inject_disarm(INJECT_WORKER);
		runs += n && hit;
	}
	TH_LOG("%d failures", runs);
	EXPECT_LE(1, runs);
}

DD_TEST_MAIN
