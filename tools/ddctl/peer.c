// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl peer - the other nodes that this one knows.
 */
#include <stdio.h>
#include <linux/dd_netlink.h>

#include "ddctl.h"
#include "peers.h"
#include "table.h"

#define ADDRESSES_MAX	16	/* of a name */

/* What may follow number and address. */
#define SETTINGS { SETTING_DEAD_TIME, SETTING_PAYLOAD_CRC, { } }

static int parse_number(const char *command, const char *text, uint32_t *number)
{
	char what[64];

	snprintf(what, sizeof(what), "%s: the peer's number", command);
	return parse_u32(what, text, 0, NODES_TOTAL - 1, number);
}

static int show_one(const char *text)
{
	struct nl_msg *msg;
	json_object *rows;
	uint32_t number;
	struct ddnl nl;
	int status;

	status = parse_number("peer show", text, &number);
	if (!status)
		status = ddnl_open(&nl);
	if (status)
		return status;
	msg = ddnl_request(&nl, DD_CMD_PEER_GET, NLM_F_ACK);
	if (!msg || nla_put_u32(msg, DD_A_PEER_NUMBER, number)) {
		nlmsg_free(msg);
		say("out of memory");
		status = EXIT_RUNTIME;
	} else {
		status = ddnl_ask(&nl, &object_peer, msg, &rows);
	}
	ddnl_close(&nl);
	if (!status)
		table_print(&object_peer, rows);
	return status;
}

static int show(int argc, char **argv)
{
	if (argc > 1)
		return no_arguments(argc - 1, argv + 1);
	return argc ? show_one(argv[0]) : ddnl_show(&object_peers);
}

/* "HOST[:PORT]", where the host may be a name. */
static int parse_address(const char *text, union addr *addr)
{
	char host[ADDR_HOST_MAX];
	union addr list[ADDRESSES_MAX];
	uint16_t port = ADDR_PORT;
	const char *wrong;
	size_t n;

	wrong = addr_split(text, host, &port);
	if (wrong) {
		say("'%s': %s", text, wrong);
		return EXIT_USAGE;
	}
	wrong = addr_resolve(host, list, ADDRESSES_MAX, &n);
	if (!wrong)
		wrong = addr_choose(list, n, addr);
	if (wrong) {
		say("%s: %s", host, wrong);
		return EXIT_RUNTIME;
	}
	wrong = addr_fault(addr);
	if (wrong) {
		say("%s: %s", host, wrong);
		return EXIT_USAGE;
	}
	addr_set_port(addr, port);
	return EXIT_OK;
}

static int send_one(uint8_t cmd, uint32_t number, const union addr *addr,
		    const struct setting *list)
{
	struct ddnl nl;
	int status;

	status = ddnl_open(&nl);
	if (status)
		return status;
	status = peers_send(&nl, cmd, number, addr, list);
	ddnl_close(&nl);
	return status;
}

static int add(int argc, char **argv)
{
	struct setting list[] = SETTINGS;
	union addr addr;
	uint32_t number;
	int status;

	if (argc < 2) {
		say("peer add wants a number and an address");
		return EXIT_USAGE;
	}
	status = parse_number("peer add", argv[0], &number);
	if (!status)
		status = parse_settings("peer add", list, argc - 2, argv + 2);
	if (!status)
		status = parse_address(argv[1], &addr);
	return status ? status : send_one(DD_CMD_PEER_ADD, number, &addr, list);
}

static int set(int argc, char **argv)
{
	struct setting list[] = SETTINGS;
	union addr addr, *new_addr = NULL;
	uint32_t number;
	int status, words = 1;

	if (argc < 2) {
		say("peer set wants a number and what to change");
		return EXIT_USAGE;
	}
	status = parse_number("peer set", argv[0], &number);
	if (!setting_find(list, argv[1]))
		words = 2;
	if (!status)
		status = parse_settings("peer set", list, argc - words,
					argv + words);
	if (!status && words == 2) {
		status = parse_address(argv[1], &addr);
		new_addr = &addr;
	}
	return status ? status :
		send_one(DD_CMD_PEER_SET, number, new_addr, list);
}

static int del(int argc, char **argv)
{
	uint32_t number;
	int status;

	if (argc != 1) {
		say("peer del wants one number");
		return EXIT_USAGE;
	}
	status = parse_number("peer del", argv[0], &number);
	return status ? status : send_one(DD_CMD_PEER_DEL, number, NULL, NULL);
}

static const struct command peer = {
	.name = "peer",
	.brief = "the other nodes that this one knows",
	.verbs = (const struct verb[]) {
		{ "show", "[NUMBER]", "list them, or show all of one", show },
		{ "add", "NUMBER ADDRESS[:PORT] [dead-time MS] [payload-crc on|off]",
		  "add one, and seek a session with it", add },
		{ "set", "NUMBER [ADDRESS[:PORT]] [dead-time MS] [payload-crc on|off]",
		  "change one; with another address its connections end", set },
		{ "del", "NUMBER", "remove one; its connections end", del },
		{ }
	},
};

COMMAND(peer);
