// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl node - this node.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/dd_netlink.h>
#include <netlink/msg.h>

#include "ddctl.h"
#include "nl.h"

static int show(int argc, char **argv)
{
	int status = no_arguments(argc, argv);

	return status ? status : ddnl_show(&object_node);
}

/* Send @msg, whose filling has returned @err. */
static int submit(struct ddnl *nl, struct nl_msg *msg, int err)
{
	if (err < 0) {
		say("out of memory");
		nlmsg_free(msg);
		return EXIT_RUNTIME;
	}
	return ddnl_set(nl, &object_node, msg);
}

static int set_up(bool value)
{
	struct nl_msg *msg;
	struct ddnl nl;
	int status;

	status = ddnl_open(&nl);
	if (status)
		return status;
	msg = ddnl_request(&nl, DD_CMD_NODE_SET, NLM_F_ACK);
	status = submit(&nl, msg,
			msg ? nla_put_u8(msg, DD_A_NODE_UP, value) : -1);
	ddnl_close(&nl);
	return status;
}

static int up(int argc, char **argv)
{
	int status = no_arguments(argc, argv);

	return status ? status : set_up(true);
}

static int down(int argc, char **argv)
{
	int status = no_arguments(argc, argv);

	return status ? status : set_up(false);
}

/* A number that fits 32 bits; whether it makes sense is for the kernel to say. */
static int parse_u32(const char *text, uint32_t *value)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-' || n > UINT32_MAX) {
		say("'%s' is not a number", text);
		return EXIT_USAGE;
	}
	*value = n;
	return EXIT_OK;
}

/**
 * struct setting - a word of "node set" and its value
 * @word: on the command line
 * @attr: DD_A_NODE_*
 * @given: whether it was
 * @value: the number that followed
 */
struct setting {
	const char *word;
	int attr;
	bool given;
	uint32_t value;
};

static struct setting *setting_find(struct setting *list, const char *word)
{
	for (; list->word; list++) {
		if (!strcmp(list->word, word))
			return list;
	}
	return NULL;
}

static int parse_settings(struct setting *list, int argc, char **argv)
{
	struct setting *s;
	int status;

	for (; argc; argc -= 2, argv += 2) {
		s = setting_find(list, argv[0]);
		if (!s) {
			say("node set knows 'id' and 'max', not '%s'", argv[0]);
			return EXIT_USAGE;
		}
		if (argc == 1 || s->given) {
			say("node set: '%s' wants one number", argv[0]);
			return EXIT_USAGE;
		}
		status = parse_u32(argv[1], &s->value);
		if (status)
			return status;
		s->given = true;
	}
	return EXIT_OK;
}

static int put_settings(struct nl_msg *msg, const struct setting *s)
{
	int err = 0;

	for (; s->word && !err; s++) {
		if (s->given)
			err = nla_put_u32(msg, s->attr, s->value);
	}
	return err;
}

static int set(int argc, char **argv)
{
	struct setting list[] = {
		{ .word = "id", .attr = DD_A_NODE_ID },
		{ .word = "max", .attr = DD_A_NODE_MAXNODES },
		{ }
	};
	struct nl_msg *msg;
	struct ddnl nl;
	int status;

	if (!argc) {
		say("node set wants 'id NUMBER', 'max NUMBER' or both");
		return EXIT_USAGE;
	}
	status = parse_settings(list, argc, argv);
	if (!status)
		status = ddnl_open(&nl);
	if (status)
		return status;
	msg = ddnl_request(&nl, DD_CMD_NODE_SET, NLM_F_ACK);
	status = submit(&nl, msg, msg ? put_settings(msg, list) : -1);
	ddnl_close(&nl);
	return status;
}

static const struct command node = {
	.name = "node",
	.brief = "this node: its number, whether it serves",
	.verbs = (const struct verb[]) {
		{ "show", NULL, "show it", show },
		{ "set", "[id NUMBER] [max NUMBER]",
		  "change its number, or the number of nodes (while it is down)",
		  set },
		{ "up", NULL, "serve", up },
		{ "down", NULL, "stop serving; what is connected stays so", down },
		{ }
	},
};

COMMAND(node);
