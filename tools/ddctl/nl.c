// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests by netlink, and the kernel's answers in words.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/dd_netlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>

#include "addr.h"
#include "nl.h"
#include "say.h"
#include "table.h"

#define DUMP_TRIES	5
#define EVENT_BUFFER	(4 << 20)

/**
 * struct answer - the kernel's answer to a request
 * @obj: kind of the objects
 * @rows: objects received; NULL if none are expected
 * @request: the request, for offsets in it
 * @done: the answer is complete
 * @error: errno of the refusal, 0 for none
 * @bad: objects that could not be parsed
 * @text: the kernel's message, may be empty
 * @attr: the refused attribute in words of the command line, may be empty
 * @range: the values that it may have, may be empty
 */
struct answer {
	const struct object *obj;
	json_object *rows;
	const struct nlmsghdr *request;
	bool done;
	int error;
	int bad;
	char text[256];
	char attr[ADDR_TEXT_MAX + 16];
	char range[64];
};

/* ---- refusals, in words ------------------------------------------------ */

static uint64_t any_uint(const struct nlattr *nla)
{
	return nla_len(nla) == 8 ? nla_get_u64(nla) : nla_get_u32(nla);
}

static void read_range(struct answer *ans, struct nlattr *policy)
{
	struct nlattr *tb[NL_POLICY_TYPE_ATTR_MAX + 1];

	if (nla_parse_nested(tb, NL_POLICY_TYPE_ATTR_MAX, policy, NULL) < 0 ||
	    !tb[NL_POLICY_TYPE_ATTR_MIN_VALUE_U] ||
	    !tb[NL_POLICY_TYPE_ATTR_MAX_VALUE_U])
		return;
	snprintf(ans->range, sizeof(ans->range), " (%" PRIu64 " to %" PRIu64 ")",
		 any_uint(tb[NL_POLICY_TYPE_ATTR_MIN_VALUE_U]),
		 any_uint(tb[NL_POLICY_TYPE_ATTR_MAX_VALUE_U]));
}

/* "max 8", "peer 3", "address 10.0.0.2:56797": as on the command line. */
static void describe(char *text, size_t size, const struct attr *a,
		     const struct nlattr *nla)
{
	char address[ADDR_TEXT_MAX];
	union addr addr;

	if (a->kind == ATTR_U32)
		snprintf(text, size, "%s %u: ", a->word, nla_get_u32(nla));
	else if (a->kind == ATTR_BOOL)
		snprintf(text, size, "%s %s: ", a->word,
			 nla_get_u8(nla) ? "on" : "off");
	else if (a->kind == ATTR_ADDRESS &&
		 addr_from(&addr, nla_data(nla), nla_len(nla))) {
		addr_text(&addr, address);
		snprintf(text, size, "%s %s: ", a->word, address);
	}
}

static void read_attr(struct answer *ans, uint32_t offset)
{
	const struct nlmsghdr *nlh = ans->request;
	const struct nlattr *nla;
	const struct attr *a;

	if (offset < NLMSG_HDRLEN || offset + NLA_HDRLEN > nlh->nlmsg_len)
		return;
	nla = (const void *)((const char *)nlh + offset);
	for (a = ans->obj->attrs; a->key; a++) {
		if (a->id == nla_type(nla) && a->word)
			describe(ans->attr, sizeof(ans->attr), a, nla);
	}
}

static void read_extack(struct answer *ans, struct nlattr *head, int len)
{
	struct nlattr *tb[NLMSGERR_ATTR_MAX + 1];

	if (nla_parse(tb, NLMSGERR_ATTR_MAX, head, len, NULL) < 0)
		return;
	if (tb[NLMSGERR_ATTR_MSG])
		nla_strlcpy(ans->text, tb[NLMSGERR_ATTR_MSG],
			    sizeof(ans->text));
	if (tb[NLMSGERR_ATTR_OFFS])
		read_attr(ans, nla_get_u32(tb[NLMSGERR_ATTR_OFFS]));
	if (tb[NLMSGERR_ATTR_POLICY])
		read_range(ans, tb[NLMSGERR_ATTR_POLICY]);
}

static int say_denied(void)
{
	return fail(EXIT_PERMISSION,
		    "not permitted: CAP_NET_ADMIN over this network namespace is needed; try it as root");
}

static int judge(const struct answer *ans)
{
	if (ans->error == EPERM || ans->error == EACCES)
		return say_denied();
	if (ans->error)
		return fail(EXIT_REFUSED, "refused by the kernel: %s%s%s", ans->attr,
			    *ans->text ? ans->text : strerror(ans->error), ans->range);
	if (ans->bad)
		return fail(EXIT_RUNTIME,
			    "the module has another version than ddctl; see: ddctl doctor");
	return EXIT_OK;
}

/* ---- callbacks of libnl ------------------------------------------------ */

static int on_valid(struct nl_msg *msg, void *arg)
{
	struct genlmsghdr *hdr = genlmsg_hdr(nlmsg_hdr(msg));
	struct answer *ans = arg;
	json_object *row;

	row = object_parse(ans->obj, genlmsg_attrdata(hdr, 0),
			   genlmsg_attrlen(hdr, 0));
	if (row && ans->rows)
		json_object_array_add(ans->rows, row);
	else
		ans->bad++;
	return NL_OK;
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *err, void *arg)
{
	struct nlmsghdr *nlh = (struct nlmsghdr *)err - 1;
	size_t skip = sizeof(*err);
	struct answer *ans = arg;

	ans->error = -err->error;
	ans->done = true;
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		skip += NLMSG_ALIGN(err->msg.nlmsg_len) - sizeof(err->msg);
	if ((nlh->nlmsg_flags & NLM_F_ACK_TLVS) &&
	    NLMSG_LENGTH(skip) < nlh->nlmsg_len)
		read_extack(ans, (void *)((char *)err + skip),
			    nlh->nlmsg_len - NLMSG_LENGTH(skip));
	return NL_STOP;
}

/* The end of a dump carries an errno. */
static int on_finish(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *nlh = nlmsg_hdr(msg);
	struct answer *ans = arg;
	int *error = nlmsg_data(nlh);

	ans->done = true;
	if (nlmsg_datalen(nlh) < (int)sizeof(*error) || *error >= 0)
		return NL_STOP;
	ans->error = -*error;
	if (nlh->nlmsg_flags & NLM_F_ACK_TLVS)
		read_extack(ans, (void *)(error + 1),
			    nlmsg_datalen(nlh) - sizeof(*error));
	return NL_STOP;
}

static int on_ack(struct nl_msg *msg, void *arg)
{
	struct answer *ans = arg;

	ans->done = true;
	return NL_STOP;
}

/* ---- requests ---------------------------------------------------------- */

static int say_nl(const char *what, int err)
{
	return fail(EXIT_RUNTIME, "%s: %s", what, nl_geterror(err));
}

int ddnl_open(struct ddnl *nl)
{
	int err, on = 1, status;

	nl->sk = must(nl_socket_alloc());
	err = genl_connect(nl->sk);
	if (err < 0) {
		status = say_nl("netlink", err);
		goto close;
	}
	/* Without it only the message of a refusal is missing. */
	setsockopt(nl_socket_get_fd(nl->sk), SOL_NETLINK, NETLINK_EXT_ACK,
		   &on, sizeof(on));
	nl->family = genl_ctrl_resolve(nl->sk, DD_FAMILY_NAME);
	if (nl->family >= 0)
		return EXIT_OK;
	status = nl->family != -NLE_OBJ_NOTFOUND ? say_nl("generic netlink", nl->family) :
		fail(EXIT_NO_MODULE,
		     "the module dd is not loaded; as root: modprobe dd; see also: ddctl doctor");
close:
	ddnl_close(nl);
	return status;
}

void ddnl_close(struct ddnl *nl)
{
	nl_socket_free(nl->sk);
	nl->sk = NULL;
}

struct nl_msg *ddnl_request(struct ddnl *nl, uint8_t cmd, int flags)
{
	struct nl_msg *msg = must(nlmsg_alloc());

	must(genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, nl->family, 0,
			 NLM_F_REQUEST | flags, cmd, DD_FAMILY_VERSION));
	return msg;
}

/*
 * Send @msg, fill @ans and free @msg; returns an error of libnl. -NLE_DUMP_INTR
 * means that an object came or went during a dump.
 */
static int transact(struct ddnl *nl, struct nl_msg *msg, struct answer *ans)
{
	struct nl_cb *cb = must(nl_cb_alloc(NL_CB_DEFAULT));
	int err;

	ans->request = nlmsg_hdr(msg);
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_valid, ans);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_finish, ans);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_ack, ans);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, ans);
	err = nl_send_auto(nl->sk, msg);
	while (err >= 0 && !ans->done)
		err = nl_recvmsgs(nl->sk, cb);
	nl_cb_put(cb);
	nlmsg_free(msg);
	nl->refused = ans->error;
	return ans->error ? 0 : err;
}

/* Report an error, or return the objects in @ans. */
static int finish_rows(const struct answer *ans, int err, json_object **rows)
{
	const struct object *obj = ans->obj;
	int status = err < 0 ? say_nl(obj->name, err) : judge(ans);

	if (!status && rows && !obj->many && !json_object_array_length(ans->rows))
		status = fail(EXIT_RUNTIME, "%s: an empty answer", obj->name);
	if (status || !rows)
		json_object_put(ans->rows);
	else
		*rows = ans->rows;
	return status;
}

int ddnl_get(struct ddnl *nl, const struct object *obj, json_object **rows)
{
	int err, tries = DUMP_TRIES;
	struct answer ans;

	do {
		ans = (struct answer) { .obj = obj, .rows = json_object_new_array() };
		err = transact(nl, ddnl_request(nl, obj->get, obj->many ? NLM_F_DUMP :
						NLM_F_ACK), &ans);
	} while (err == -NLE_DUMP_INTR && --tries && json_object_put(ans.rows));
	/* Objects that existed all the time are in the dump even so. */
	return finish_rows(&ans, err == -NLE_DUMP_INTR ? 0 : err, rows);
}

int ddnl_ask(struct ddnl *nl, const struct object *obj, struct nl_msg *msg,
	     json_object **rows)
{
	struct answer ans = { .obj = obj, .rows = rows ? json_object_new_array() : NULL };
	int err = transact(nl, msg, &ans);

	return finish_rows(&ans, err, rows);
}

int ddnl_show(const struct object *obj)
{
	json_object *rows;
	struct ddnl nl;
	int status;

	status = ddnl_open(&nl);
	if (status)
		return status;
	status = ddnl_get(&nl, obj, &rows);
	ddnl_close(&nl);
	if (!status)
		table_print(obj, rows);
	return status;
}

/* ---- events ------------------------------------------------------------ */

/**
 * struct listener - argument of on_event()
 * @family: number of the family
 * @gone: the family has been unregistered
 * @event: called for each event
 */
struct listener {
	int family;
	bool gone;
	void (*event)(uint8_t cmd, struct nlattr *head, int len);
};

static int on_event(struct nl_msg *msg, void *arg)
{
	struct genlmsghdr *hdr = genlmsg_hdr(nlmsg_hdr(msg));
	struct nlattr *head = genlmsg_attrdata(hdr, 0), *id;
	int len = genlmsg_attrlen(hdr, 0);
	struct listener *l = arg;

	if (nlmsg_hdr(msg)->nlmsg_type == l->family) {
		l->event(hdr->cmd, head, len);
	} else if (hdr->cmd == CTRL_CMD_DELFAMILY) {
		id = nla_find(head, len, CTRL_ATTR_FAMILY_ID);
		l->gone |= id && nla_get_u16(id) == l->family;
	}
	return NL_OK;
}

/*
 * The controller announces the unloading of the module, which no event of dd can.
 * Look up both groups before joining one: then no event arrives between an answer
 * and its end.
 */
static int join(struct ddnl *nl)
{
	int events, control, err;

	control = genl_ctrl_resolve_grp(nl->sk, "nlctrl", "notify");
	if (control < 0)
		return control;
	events = genl_ctrl_resolve_grp(nl->sk, DD_FAMILY_NAME, DD_MCGRP_EVENTS);
	if (events < 0)
		return events;
	nl_socket_disable_seq_check(nl->sk);
	err = nl_socket_set_buffer_size(nl->sk, EVENT_BUFFER, 0);
	if (err < 0)
		return err;
	return nl_socket_add_memberships(nl->sk, control, events, 0);
}

int ddnl_listen(struct ddnl *nl, int (*ready)(void),
		void (*event)(uint8_t cmd, struct nlattr *head, int len))
{
	struct listener listener = { .family = nl->family, .event = event };
	int err, status;

	err = join(nl);
	if (err == -NLE_PERM)
		return say_denied();
	if (err < 0)
		return say_nl("events", err);
	status = ready();
	if (status)
		return status;
	nl_socket_modify_cb(nl->sk, NL_CB_VALID, NL_CB_CUSTOM, on_event,
			    &listener);
	do {
		err = nl_recvmsgs_default(nl->sk);
		/* libnl's name for ENOBUFS. */
		if (err == -NLE_NOMEM)
			say("events were lost: they come faster than they are read");
	} while (!listener.gone && (err >= 0 || err == -NLE_NOMEM));
	if (!listener.gone)
		return say_nl("events", err);
	return fail(EXIT_NO_MODULE, "the module dd has been unloaded");
}
