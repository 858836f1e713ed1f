// SPDX-License-Identifier: GPL-2.0-only
/*
 * Failing allocations and copies between nodes and in netlink: connecting, sending
 * and receiving, the workers that accept a client or end a network namespace, peers,
 * dumps and new namespaces. Each run has a context, socket or namespace of its own. A
 * call that has failed leaves nothing, and succeeds when it is repeated. Run by
 * across.sh; needs a kernel with fault injection.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <arpa/inet.h>
#include <linux/dd_netlink.h>
#include <linux/genetlink.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "dd_mem.h"
#include "peer.h"
#include "mem.h"

#define SIZE	3000
#define LARGE	(4 * PAGE)	/* as much as a request pins, and keeps pinned */
#define SPARE	0		/* number of a peer that the cluster does not have */

/* The objects that a path works on. */
struct stage {
	struct raw r;
	struct mem m;
	struct dd_connect c;
	struct dd_import_make i;
	struct dd_region_pin pin;
	struct dd_list_make list;
};

#include "sweep.h"

static struct peer *server;

/* In the peer: send each message back. */
static long echo(long a, long b, long c)
{
	struct dd_serve_attr attr = {
		.size = sizeof(attr), .maxconn = 32, .window = 4,
		.recv_size = 32 * PAGE,
	};
	struct dd_export_attr seg = {
		.size = sizeof(seg), .len = LARGE, .key_class = DD_KEY_NAME,
		.rights = DD_CAN_PUT | DD_CAN_GET | DD_CAN_CAS,
		.notify = DD_NOTIFY_NEVER, .users = DD_FOR_ANY, .importers = 32,
	};
	struct dd_msg msg;
	uint64_t segment;
	struct dd *h;
	int list;

	if (dd_open(&h) || dd_alloc(h, attr.recv_size, &attr.recv) ||
	    dd_alloc(h, LARGE, &seg.addr) ||
	    dd_serve(h, peer_shm->name, &attr, &list) < 0)
		return -1;
	strncpy((char *)seg.key, (char *)peer_shm->name, sizeof(seg.key) - 1);
	if (dd_export(h, &seg, &segment))
		return -1;
	peer_shm->data[0] = 1;
	for (;;) {
		if (dd_recv(h, list, &msg, DD_RECV_SLEEP, DD_FOREVER))
			continue;
		dd_send(h, msg.conn, msg.addr, msg.len, 0, DD_SEND_UNWIRED,
			NULL, 0);
	}
}

/* --- paths of a context; each returns 0 or -1 --------------------------------*/

static int connect_far(struct stage *t)
{
	raw_connect_args(&t->c, server->shm->name, &t->m);
	t->c.node = far_node();
	t->c.flags = DD_CONNECT_TIMEOUT;
	t->c.timeout = dd_patience() * 1000000ull;
	return raw_connect(&t->r, &t->c);
}

static int send_wired(struct stage *t)
{
	return raw_send(&t->r, t->c.state_unit, t->c.conn, 0, 0, SIZE) == 1 ? 0 : -1;
}

static int send_unwired(struct stage *t)
{
	static char from[SIZE];
	struct dd_sqe sqe = { .opcode = DD_OP_PUT, .len = SIZE,
			      .flags = DD_SQE_NOTIFY | DD_SQE_UNWIRED,
			      .src = (uintptr_t)from };

	return raw_submit(&t->r, t->c.state_unit, t->c.conn, &sqe) == 1 ? 0 : -1;
}

static int wait_note(struct stage *t)
{
	return raw_list_wait(&t->r, t->c.list, dd_patience() * 1000000ull);
}

static int close_far(struct stage *t)
{
	return raw_op(&t->r, DD_IOC_CLOSE, t->c.conn);
}

static int import_named(struct stage *t, const char *name, __u32 flags)
{
	t->i = (struct dd_import_make){
		.size = sizeof(t->i), .node = far_node(), .flags = flags,
		.key_class = DD_SEGMENT_NAME, .rights = DD_RIGHTS,
		.list = flags & DD_IMPORT_NOWAIT ? t->list.list : 0,
	};
	strncpy((char *)t->i.key, name, sizeof(t->i.key) - 1);
	return raw_ioctl(&t->r, DD_IOC_IMPORT, &t->i);
}

static int import_far(struct stage *t)
{
	return import_named(t, (char *)server->shm->name, 0);
}

static int import_may(struct stage *t)
{
	return import_named(t, (char *)server->shm->name, DD_IMPORT_MAY);
}

static int make_list(struct stage *t)
{
	return mem_list(&t->r, &t->list);
}

static int import_notified(struct stage *t)
{
	return import_far(t) ?: mem_import_list_or_end(&t->r, &t->i, t->list.list);
}

static int park_far(struct stage *t)
{
	return import_named(t, "never", DD_IMPORT_NOWAIT | DD_IMPORT_PARK) ?:
	       mem_import_list_or_end(&t->r, &t->i, t->list.list);
}

static int end_far(struct stage *t)
{
	return mem_end(&t->r, t->i.import);
}

/* Imports of earlier contexts may not have ended yet. */
static int prepare_import(struct stage *t)
{
	return WAIT_FOR(!import_far(t)) ? 0 : -1;
}

static char fetched[PAGE] __attribute__((aligned(PAGE)));

/* The memory for the bytes is pinned meanwhile. */
static int get_far(struct stage *t)
{
	return mem_get(&t->r, &t->i, fetched, 0, sizeof(fetched)) == 1 ? 0 : -1;
}

/* Memory that is pinned; whether it still is what is mapped there is not known. */
static int prepare_pinned(struct stage *t)
{
	t->pin = (struct dd_region_pin){ .size = sizeof(t->pin), .length = sizeof(fetched),
					 .address = (uintptr_t)fetched };
	return prepare_import(t) ?: raw_ioctl(&t->r, DD_IOC_REGION_PIN, &t->pin) ?:
	       mprotect(fetched, PAGE, PROT_READ) ?:
	       mprotect(fetched, PAGE, PROT_READ | PROT_WRITE);
}

static int put_by_address(struct stage *t)
{
	const struct dd_sqe put = { .opcode = DD_OP_PUT, .len = PAGE,
				    .flags = DD_SQE_UNWIRED | DD_SQE_REGION,
				    .region = t->pin.region, .src = (uintptr_t)fetched };

	return mem_op(&t->r, &t->i, &put) == 1 ? 0 : -1;
}

/* User-Mode Linux does not survive a copy from memory without page table, if that has none left. */
static int prepare_touched(struct stage *t)
{
	memset(t->m.at, 1, PAGE);
	return prepare_import(t);
}

/* The kernel copies memory that is wired. */
static int put_copied(struct stage *t)
{
	return mem_put(&t->r, &t->i, t->m.at, 0, PAGE, 0) == 1 ? 0 : -1;
}

static char large[LARGE] __attribute__((aligned(PAGE)));

/* The kernel copies it if it cannot pin it. */
static int put_large(struct stage *t)
{
	const struct dd_sqe put = { .opcode = DD_OP_PUT, .len = LARGE,
				    .flags = DD_SQE_UNWIRED | DD_SQE_REGION,
				    .src = (uintptr_t)large };

	return mem_op(&t->r, &t->i, &put) == 1 ? 0 : -1;
}

static int get_large(struct stage *t)
{
	return mem_get(&t->r, &t->i, large, 0, LARGE) == 1 ? 0 : -1;
}

/* Other pages at the address of memory that is kept pinned. */
static int prepare_other_pages(struct stage *t)
{
	if (prepare_import(t) || put_large(t) ||
	    raw_conn_wait(&t->r, t->i.import, DD_WAIT_DONE, 1, dd_patience() * 1000000ull))
		return -1;
	return madvise(large, LARGE, MADV_DONTNEED);
}

static int expect_both_done(struct stage *t)
{
	CHILD_CHECK(raw_conn_wait(&t->r, t->i.import, DD_WAIT_DONE, 2,
				  dd_patience() * 1000000ull) == 0);
	return 0;
}

static int swap_far(struct stage *t)
{
	const struct dd_sqe cas = { .opcode = DD_OP_CAS, .flags = DD_SQE_UNWIRED, .len = 8,
				    .src = (uintptr_t)fetched, .meta_count = DD_META_WORDS };

	return mem_op(&t->r, &t->i, &cas) == 1 ? 0 : -1;
}

static int note_far(struct stage *t)
{
	return mem_note(&t->r, &t->i, fetched, 8) == 1 ? 0 : -1;
}

static int expect_done(struct stage *t)
{
	CHILD_CHECK(raw_conn_wait(&t->r, t->i.import, DD_WAIT_DONE, 1,
				  dd_patience() * 1000000ull) == 0);
	return 0;
}

/* Blocks of earlier connections may not be free yet. */
static int prepare_connection(struct stage *t)
{
	return WAIT_FOR(!connect_far(t)) ? 0 : -1;
}

static int prepare_note(struct stage *t)
{
	return prepare_connection(t) ?: send_wired(t);
}

/* One message was sent, and one comes back. */
static int expect_echo(struct stage *t)
{
	struct dd_conn_info info;
	struct dd_note n;

	CHILD_CHECK(WAIT_FOR(raw_take(&t->r, t->c.list_unit, &n)));
	CHILD_CHECK(n.len == SIZE && n.type == DD_NOTE_DATA);
	CHILD_CHECK(raw_conn_info(&t->r, t->c.conn, &info) == 0);
	CHILD_CHECK(info.submitted == 1 && info.received == 1);
	return 0;
}

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

static bool expected(const struct path *path, int err)
{
	if (err == ENOMEM || err == EFAULT || err == ENOSPC || err == ENOBUFS)
		return true;
	if (path->netlink)
		/* Of socket(); or no answer. */
		return err == ENFILE || err == EAGAIN;
	/* The other node lacks memory. */
	return path->first == INJECT_WORKER && (err == ECONNREFUSED || err == EUSERS);
}

static void stage_open(struct stage *t, const struct path *path)
{
	if (path->netlink)
		return;
	CHILD_CHECK(raw_open(&t->r) == 0);
	CHILD_CHECK(raw_alloc(&t->r, 2 * PAGE, &t->m) == 0);
}

static void stage_close(struct stage *t, const struct path *path)
{
	if (path->netlink)
		return;
	munmap(t->m.at, t->m.len);
	raw_close(&t->r);
}

static bool repeat(const struct path *path, struct stage *t)
{
	return WAIT_FOR(!path->run(t) || errno == path->repeated);
}

/* Connections of both nodes. */
static int connections(void)
{
	return printed_number("bash -c 'for i in 1 2; do ip netns exec dd$i ddctl -j conn; done' |"
			      " jq -s 'map(length) | add'");
}

static void check_path(struct __test_metadata *_metadata, const struct path *path)
{
	if (!inject_ready())
		DD_SKIP("no fault injection in this kernel");
	ASSERT_TRUE(across_nodes());
	ASSERT_EQ(0, find_family());
	server = peer_start();
	strcpy(server->shm->name, own_name("echo"));
	peer_begin(server, echo, 0, 0, 0);
	ASSERT_SOON(__atomic_load_n(&server->shm->data[0], __ATOMIC_ACQUIRE));
	sweep(_metadata, path);
	peer_kill(server);
	EXPECT_TRUE(WAIT_FOR(connections() == 0));
}

PATH(far_connect, NULL, connect_far, NULL, 10)
PATH(far_send, prepare_connection, send_wired, expect_echo, 2)
PATH(far_send_unwired, prepare_connection, send_unwired, expect_echo, 4)
PATH(far_wait, prepare_note, wait_note, expect_echo, 2)
PATH(far_close, prepare_connection, close_far, NULL, 0)
PATH(accepting_worker, NULL, connect_far, NULL, 2, .first = INJECT_WORKER,
     .last = INJECT_WORKER)
PATH(far_import, NULL, import_far, NULL, 6)
PATH(far_import_may, NULL, import_may, NULL, 6)
PATH(granting_worker, NULL, import_far, NULL, 3, .first = INJECT_WORKER,
     .last = INJECT_WORKER)
PATH(far_import_notified, make_list, import_notified, end_far, 6)
PATH(far_park, make_list, park_far, end_far, 6)
PATH(far_get, prepare_import, get_far, expect_done, 2)
PATH(far_put_by_address, prepare_pinned, put_by_address, expect_done, 1)
PATH(far_put_copied, prepare_touched, put_copied, expect_done, 2)
PATH(far_put_large, prepare_import, put_large, expect_done, 4)
PATH(far_get_large, prepare_import, get_large, expect_done, 4)
PATH(far_put_of_other_pages, prepare_other_pages, put_large, expect_both_done, 4)
PATH(far_cas, prepare_import, swap_far, expect_done, 2)
PATH(far_note, prepare_import, note_far, expect_done, 1)
PATH(far_end, prepare_import, end_far, NULL, 0, true)
PATH(peer_add, NULL, add_peer, expect_peer, 10, .netlink = true,
     .repeated = EEXIST)
PATH(peer_move, add_peer, move_peer, expect_peer, 10, .netlink = true)
PATH(peer_get, add_peer, get_peer, expect_peer, 5, .netlink = true)
PATH(peer_del, add_peer, del_peer, expect_no_peer, 5, .netlink = true,
     .repeated = ENOENT)
PATH(dumps, NULL, dump_all, NULL, 20, .netlink = true)

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
	child_report(ready);
	for (;;)
		pause();
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
