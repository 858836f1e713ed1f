// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl peer - the other nodes that this one knows.
 */
#include <stdio.h>
#include <linux/dd_netlink.h>

#include "ddctl.h"
#include "nodes.h"
#include "table.h"

#define ADDRESSES_MAX	16	/* of a name */

/* Settings after number and address. */
#define SETTINGS { SETTING_DEAD_TIME, SETTING_PAYLOAD_CRC, { } }

static int parse_number(const char *command, const char *text, uint32_t *number)
{
	char what[64];

	snprintf(what, sizeof(what), "%s: the peer's number", command);
	return parse_u32(what, text, 0, NODES_TOTAL - 1, number);
}

static int show(int argc, char **argv)
{
	struct nl_msg *msg;
	json_object *rows;
	uint32_t number;
	struct ddnl nl;
	int status;

	if (!argc)
		return ddnl_show(&object_peers);
	if (argc > 1)
		return fail(EXIT_USAGE, "peer show takes one number, not '%s' too", argv[1]);
	status = parse_number("peer show", argv[0], &number);
	if (!status)
		status = ddnl_open(&nl);
	if (status)
		return status;
	msg = ddnl_request(&nl, DD_CMD_PEER_GET, NLM_F_ACK);
	nla_put_u32(msg, DD_A_PEER_NUMBER, number);
	status = ddnl_ask(&nl, &object_peer, msg, &rows);
	ddnl_close(&nl);
	if (!status)
		table_print(&object_peer, rows);
	return status;
}

/* "HOST[:PORT]", where HOST may be a name. */
static int parse_address(const char *text, union addr *addr)
{
	char host[ADDR_HOST_MAX];
	union addr list[ADDRESSES_MAX];
	uint16_t port = ADDR_PORT;
	const char *wrong;
	size_t n;

	wrong = addr_split(text, host, &port);
	if (wrong)
		return fail(EXIT_USAGE, "'%s': %s", text, wrong);
	wrong = addr_resolve(host, list, ADDRESSES_MAX, &n);
	if (!wrong)
		wrong = addr_choose(list, n, addr);
	if (wrong)
		return fail(EXIT_RUNTIME, "%s: %s", host, wrong);
	wrong = addr_fault(addr);
	if (wrong)
		return fail(EXIT_USAGE, "%s: %s", host, wrong);
	addr_set_port(addr, port);
	return EXIT_OK;
}

static int send_one(uint8_t cmd, uint32_t number, const union addr *addr,
		    const struct setting *list)
{
	struct ddnl nl;
	int status = ddnl_open(&nl);

	if (status)
		return status;
	status = nodes_set_peer(&nl, cmd, number, addr, list);
	ddnl_close(&nl);
	return status;
}

/* Add or change: only a change may leave out the address. */
static int put(uint8_t cmd, const char *command, int argc, char **argv)
{
	struct setting list[] = SETTINGS;
	union addr addr;
	bool has_addr;
	uint32_t number;
	int status;

	if (argc < 2)
		return fail(EXIT_USAGE, "%s needs a number and %s", command,
			    cmd == DD_CMD_PEER_ADD ? "an address" : "a setting to change");
	has_addr = cmd == DD_CMD_PEER_ADD || !setting_find(list, argv[1]);
	status = parse_number(command, argv[0], &number);
	if (!status)
		status = parse_settings(command, list, argc - 1 - has_addr,
					argv + 1 + has_addr);
	if (!status && has_addr)
		status = parse_address(argv[1], &addr);
	return status ? status : send_one(cmd, number, has_addr ? &addr : NULL, list);
}

static int add(int argc, char **argv)
{
	return put(DD_CMD_PEER_ADD, "peer add", argc, argv);
}

static int set(int argc, char **argv)
{
	return put(DD_CMD_PEER_SET, "peer set", argc, argv);
}

static int del(int argc, char **argv)
{
	uint32_t number;
	int status;

	if (argc != 1)
		return fail(EXIT_USAGE, "peer del takes one number");
	status = parse_number("peer del", argv[0], &number);
	return status ? status : send_one(DD_CMD_PEER_DEL, number, NULL, NULL);
}

static const struct command peer = {
	.name = "peer",
	.brief = "the other nodes that this one knows",
	.verbs = (const struct verb[]) {
		{ "show", "[NUMBER]", "list them, or show all about one", .run = show },
		{ "add", "NUMBER ADDRESS[:PORT] [dead-time MS] [payload-crc on|off]",
		  "add one, and connect to it", .run = add },
		{ "set", "NUMBER [ADDRESS[:PORT]] [dead-time MS] [payload-crc on|off]",
		  "change one; with a new address its connections end", .run = set },
		{ "del", "NUMBER", "remove one; its connections end", .run = del },
		{ }
	},
};

COMMAND(peer);
