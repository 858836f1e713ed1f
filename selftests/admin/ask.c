// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sends any request to the family dd, right or wrong, and prints how the
 * kernel answers: "ERRNO TEXT", TEXT being its extended acknowledgement.
 *
 *   dd_ask request|dump COMMAND [ATTRIBUTE:BYTES:VALUE | ATTRIBUTE:x:HEX]...
 *
 *   dd_ask join		errno of joining the group of events, or 0
 *
 * Command and attributes are numbers; VALUE is BYTES bytes in host order, HEX
 * any number of bytes, two digits each.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/dd_netlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

struct answer {
	int error;
	int done;
	char text[256];
};

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *err, void *arg)
{
	struct nlmsghdr *nlh = (struct nlmsghdr *)err - 1;
	struct answer *ans = arg;
	size_t skip = sizeof(*err);
	struct nlattr *text;

	ans->error = -err->error;
	ans->done = 1;
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		skip += NLMSG_ALIGN(err->msg.nlmsg_len) - sizeof(err->msg);
	text = !(nlh->nlmsg_flags & NLM_F_ACK_TLVS) ? NULL :
	       nla_find((void *)((char *)err + skip), nlh->nlmsg_len - NLMSG_LENGTH(skip),
			NLMSGERR_ATTR_MSG);
	if (text)
		nla_strlcpy(ans->text, text, sizeof(ans->text));
	return NL_STOP;
}

static int on_end(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *nlh = nlmsg_hdr(msg);
	struct answer *ans = arg;

	ans->done = 1;
	if (nlh->nlmsg_type == NLMSG_DONE)
		ans->error = -*(int *)nlmsg_data(nlh);
	return NL_STOP;
}

/* -1 if that is no such attribute. */
static int put_attribute(struct nl_msg *msg, const char *text)
{
	unsigned char bytes[64];
	unsigned long long value;
	int attr, size, skip = 0;

	if (sscanf(text, "%d:%d:%llu", &attr, &size, &value) == 3)
		return size < 0 || size > 8 ? -1 : nla_put(msg, attr, size, &value);
	if (sscanf(text, "%d:x:%n", &attr, &skip) != 1 || !skip)
		return -1;
	text += skip;
	for (size = 0; size < 64 && sscanf(text, "%2hhx", &bytes[size]) == 1; size++)
		text += 2;
	return *text ? -1 : nla_put(msg, attr, size, bytes);
}

static struct nl_msg *make_request(int family, int argc, char **argv)
{
	int i, dump = !strcmp(argv[1], "dump");
	struct nl_msg *msg = nlmsg_alloc();

	genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0,
		    NLM_F_REQUEST | (dump ? NLM_F_DUMP : NLM_F_ACK),
		    atoi(argv[2]), DD_FAMILY_VERSION);
	for (i = 3; i < argc; i++) {
		if (put_attribute(msg, argv[i])) {
			fprintf(stderr, "dd_ask: %s?\n", argv[i]);
			exit(2);
		}
	}
	return msg;
}

static int join(struct nl_sock *sk)
{
	int group = genl_ctrl_resolve_grp(sk, DD_FAMILY_NAME, DD_MCGRP_EVENTS);

	if (group < 0) {
		fprintf(stderr, "dd_ask: %s\n", nl_geterror(group));
		return 1;
	}
	if (setsockopt(nl_socket_get_fd(sk), SOL_NETLINK,
		       NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)))
		printf("%d\n", errno);
	else
		puts("0");
	return 0;
}

int main(int argc, char **argv)
{
	struct nl_sock *sk = nl_socket_alloc();
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	struct answer ans = { 0 };
	int family, err, on = 1;

	if (argc < 3 && (argc != 2 || strcmp(argv[1], "join")))
		return 2;
	err = genl_connect(sk);
	family = err ? err : genl_ctrl_resolve(sk, DD_FAMILY_NAME);
	if (family < 0) {
		fprintf(stderr, "dd_ask: %s\n", nl_geterror(family));
		return 1;
	}
	setsockopt(nl_socket_get_fd(sk), SOL_NETLINK, NETLINK_EXT_ACK, &on,
		   sizeof(on));
	if (argc == 2)
		return join(sk);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, &ans);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_end, &ans);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_end, &ans);
	err = nl_send_auto(sk, make_request(family, argc, argv));
	while (err >= 0 && !ans.done)
		err = nl_recvmsgs(sk, cb);
	if (!ans.done) {
		fprintf(stderr, "dd_ask: %s\n", nl_geterror(err));
		return 1;
	}
	printf("%d %s\n", ans.error, ans.text);
	return 0;
}
