// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl node, peer and apply - this node and the other nodes that it knows.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/dd_netlink.h>
#include <netlink/msg.h>

#include "cluster.h"
#include "nl.h"
#include "nodes.h"
#include "output.h"
#include "say.h"
#include "table.h"

/**
 * struct nodes_peer - a peer
 * @present: there is a peer with this number
 * @addr: address and port
 * @dead_time: in milliseconds
 * @payload_crc: payloads are checksummed
 */
struct nodes_peer {
	bool present;
	union addr addr;
	uint32_t dead_time;
	bool payload_crc;
};

/**
 * struct nodes - this node and its peers
 * @id: its number
 * @max: number of nodes
 * @port: its UDP port
 * @up: it serves
 * @culprit: the peer that could not be changed; NODES_TOTAL for none
 * @peers: by number
 */
struct nodes {
	uint32_t id;
	uint32_t max;
	uint32_t port;
	bool up;
	uint32_t culprit;
	struct nodes_peer peers[NODES_TOTAL];
};

/* ---- requests ----------------------------------------------------------- */

static void put_values(struct nl_msg *msg, const struct values *v)
{
	int i;

	for (i = 0; i < SETTINGS; i++) {
		if (!(v->given >> i & 1))
			continue;
		if (settings[i].on_off)
			nla_put_u8(msg, settings[i].attr, v->value[i]);
		else
			nla_put_u32(msg, settings[i].attr, v->value[i]);
	}
}

static int set_node(struct ddnl *nl, const struct values *v)
{
	struct nl_msg *msg = ddnl_request(nl, DD_CMD_NODE_SET, NLM_F_ACK);

	put_values(msg, v);
	return ddnl_ask(nl, &object_node, msg, NULL);
}

static int set_up(struct ddnl *nl, bool up)
{
	return set_node(nl, &(struct values) { 1u << SET_UP, { [SET_UP] = up } });
}

/* The kernel does not know which program has the port. */
static void say_port(struct ddnl *nl)
{
	json_object *rows;
	unsigned int n;

	if (ddnl_get(nl, &object_node, &rows))
		return;
	n = json_number(json_object_array_get_idx(rows, 0), "port");
	say("'ss -lunp sport = :%u' shows which program has UDP port %u; as root 'sysctl -w net.ipv4.ip_local_reserved_ports=%u' reserves it",
	    n, n, n);
	json_object_put(rows);
}

/* Add, change or remove a peer; @addr and @v may be NULL. */
static int set_peer(struct ddnl *nl, uint8_t cmd, uint32_t number,
		    const union addr *addr, const struct values *v)
{
	struct nl_msg *msg = ddnl_request(nl, cmd, NLM_F_ACK);
	int status;

	nla_put_u32(msg, DD_A_PEER_NUMBER, number);
	if (addr)
		nla_put(msg, DD_A_PEER_ADDRESS, addr_len(addr), addr);
	if (v)
		put_values(msg, v);
	status = ddnl_ask(nl, &object_peer, msg, NULL);
	if (status == EXIT_REFUSED && nl->refused == EADDRINUSE)
		say_port(nl);
	return status;
}

/* ---- ddctl node --------------------------------------------------------- */

static int change_node(const struct values *v)
{
	struct ddnl nl;
	int status = ddnl_open(&nl);

	if (status)
		return status;
	status = set_node(&nl, v);
	ddnl_close(&nl);
	return status;
}

static int node_up(const struct verb *verb, int argc, char **argv)
{
	return change_node(&(struct values) {
		1u << SET_UP, { [SET_UP] = !strcmp(verb->name, "up") } });
}

static int node_set(const struct verb *verb, int argc, char **argv)
{
	struct values v = { };
	int status;

	if (!argc)
		return fail(EXIT_USAGE,
			    "node set needs 'id NUMBER', 'max NUMBER' or 'port NUMBER'");
	status = parse_settings("node set", NODE_SETTINGS, &v, argc, argv);
	return status ? status : change_node(&v);
}

const struct command command_node = {
	.name = "node",
	.brief = "this node: its number, whether it serves",
	.verbs = (const struct verb[]) {
		{ "show", NULL, "show it", .show = &object_node },
		{ "set", "[id NUMBER] [max NUMBER] [port NUMBER]",
		  "change its number, the number of nodes (while it is down), its UDP port",
		  .run = node_set },
		{ "up", NULL, "serve", .run = node_up },
		{ "down", NULL, "stop serving; connections stay", .run = node_up },
		{ }
	},
};

/* ---- ddctl peer --------------------------------------------------------- */

/* "HOST[:PORT]", where HOST may be a name. */
static int parse_address(const char *text, union addr *addr)
{
	union addr list[ADDR_LIST_MAX];
	char host[ADDR_HOST_MAX];
	uint16_t port = ADDR_PORT;
	const char *wrong;
	size_t n;

	wrong = addr_split(text, host, &port);
	if (wrong)
		return fail(EXIT_USAGE, "'%s': %s", text, wrong);
	wrong = addr_resolve(host, list, ADDR_LIST_MAX, &n);
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

/*
 * All verbs of "peer": a number, which only "peer show" may leave out, for "peer add"
 * and "peer set" an address, which only a change may leave out, and settings.
 */
static int peer_run(const struct verb *verb, int argc, char **argv)
{
	uint8_t cmd = verb->cmd;
	bool has_addr = cmd == DD_CMD_PEER_ADD, settable = has_addr;
	struct values v = { };
	json_object *rows;
	struct nl_msg *msg;
	char command[16], what[64];
	union addr addr;
	uint32_t number;
	struct ddnl nl;
	int status;

	if (cmd == DD_CMD_PEER_GET && !argc)
		return ddnl_show(&object_peers);
	snprintf(command, sizeof(command), "peer %s", verb->name);
	if (cmd == DD_CMD_PEER_SET) {
		settable = true;
		has_addr = argc > 1 && setting_find(PEER_SETTINGS, argv[1]) < 0;
	}
	if (settable && argc < 2)
		return fail(EXIT_USAGE, "%s needs a number and %s", command,
			    has_addr ? "an address" : "a setting to change");
	if (!settable && argc != 1)
		return fail(EXIT_USAGE, "%s takes one number", command);
	snprintf(what, sizeof(what), "%s: the peer's number", command);
	status = parse_node(what, argv[0], &number);
	if (!status)
		status = parse_settings(command, PEER_SETTINGS, &v, argc - 1 - has_addr,
					argv + 1 + has_addr);
	if (!status && has_addr)
		status = parse_address(argv[1], &addr);
	if (!status)
		status = ddnl_open(&nl);
	if (status)
		return status;
	if (cmd == DD_CMD_PEER_GET) {
		msg = ddnl_request(&nl, cmd, NLM_F_ACK);
		nla_put_u32(msg, DD_A_PEER_NUMBER, number);
		status = ddnl_ask(&nl, &object_peer, msg, &rows);
		if (!status)
			table_print(&object_peer, rows);
	} else {
		status = set_peer(&nl, cmd, number, has_addr ? &addr : NULL, &v);
	}
	ddnl_close(&nl);
	return status;
}

const struct command command_peer = {
	.name = "peer",
	.brief = "the other nodes that this one knows",
	.verbs = (const struct verb[]) {
		{ "show", "[NUMBER]", "list them, or show all about one",
		  .run = peer_run, .show = &object_peers, .cmd = DD_CMD_PEER_GET },
		{ "add", "NUMBER ADDRESS[:PORT] [dead-time MS] [payload-crc on|off]",
		  "add one, and connect to it",
		  .run = peer_run, .cmd = DD_CMD_PEER_ADD },
		{ "set", "NUMBER [ADDRESS[:PORT]] [dead-time MS] [payload-crc on|off]",
		  "change one; with a new address its connections end",
		  .run = peer_run, .cmd = DD_CMD_PEER_SET },
		{ "del", "NUMBER", "remove one; its connections end",
		  .run = peer_run, .cmd = DD_CMD_PEER_DEL },
		{ }
	},
};

/* ---- ddctl apply: the present state ------------------------------------- */

/* The kernel's addresses are numeric: no name is looked up. */
static bool read_peer(struct nodes *now, json_object *row, uint32_t n)
{
	struct nodes_peer *peer = &now->peers[n];
	char host[ADDR_HOST_MAX];
	uint16_t port = 0;
	size_t count;

	if (n >= NODES_TOTAL || addr_split(json_text(row, "address"), host, &port) ||
	    addr_resolve(host, &peer->addr, 1, &count))
		return false;
	addr_set_port(&peer->addr, port);
	peer->present = true;
	peer->dead_time = json_number(row, "dead_time");
	peer->payload_crc = json_number(row, "payload_crc");
	return true;
}

static int read_nodes(struct ddnl *nl, struct nodes *now)
{
	json_object *rows, *row;
	int status;
	size_t i;

	memset(now, 0, sizeof(*now));
	now->culprit = NODES_TOTAL;
	status = ddnl_get(nl, &object_node, &rows);
	if (status)
		return status;
	row = json_object_array_get_idx(rows, 0);
	now->id = json_number(row, "id");
	now->max = json_number(row, "maxnodes");
	now->port = json_number(row, "port");
	now->up = json_number(row, "up");
	json_object_put(rows);
	status = ddnl_get(nl, &object_peers, &rows);
	if (status)
		return status;
	for (i = 0; !status && i < json_object_array_length(rows); i++) {
		uint32_t n;

		row = json_object_array_get_idx(rows, i);
		n = json_number(row, "number");
		if (!read_peer(now, row, n))
			status = fail(EXIT_RUNTIME,
				      "peer %u: the answer of the module is invalid", n);
	}
	json_object_put(rows);
	return status;
}

static bool peer_equal(const struct nodes_peer *a, const struct nodes_peer *b)
{
	return a->present == b->present &&
	       (!a->present || (addr_equal(&a->addr, &b->addr) &&
				a->dead_time == b->dead_time &&
				a->payload_crc == b->payload_crc));
}

static bool node_equal(const struct nodes *a, const struct nodes *b)
{
	return a->id == b->id && a->max == b->max && a->port == b->port;
}

/* ---- ddctl apply: changes, each entered in the present state ------------- */

/* Peers that exchange addresses are removed first and added again. */
static bool is_in_the_way(const struct nodes *now, const struct nodes *want,
			  uint32_t n)
{
	uint32_t i;

	if (!want->peers[n].present || now->id != want->id || now->port != want->port)
		return true;
	for (i = 0; i < NODES_TOTAL; i++) {
		if (i != n && now->peers[i].present &&
		    addr_equal(&now->peers[i].addr, &want->peers[n].addr))
			return true;
	}
	return false;
}

static int remove_peers(struct ddnl *nl, struct nodes *now, const struct nodes *want)
{
	uint32_t n;
	int status;

	for (n = 0; n < NODES_TOTAL; n++) {
		if (!now->peers[n].present || !is_in_the_way(now, want, n))
			continue;
		status = set_peer(nl, DD_CMD_PEER_DEL, n, NULL, NULL);
		if (status)
			return status;
		now->peers[n].present = false;
	}
	return EXIT_OK;
}

static int put_peers(struct ddnl *nl, struct nodes *now, const struct nodes *want,
		     bool present)
{
	uint8_t cmd = present ? DD_CMD_PEER_SET : DD_CMD_PEER_ADD;
	uint32_t n;
	int status;

	for (n = 0; n < NODES_TOTAL; n++) {
		const struct nodes_peer *peer = &want->peers[n];
		struct values v = { PEER_SETTINGS, {
			[SET_DEAD_TIME] = peer->dead_time,
			[SET_PAYLOAD_CRC] = peer->payload_crc,
		} };

		if (!peer->present || now->peers[n].present != present ||
		    peer_equal(&now->peers[n], peer))
			continue;
		status = set_peer(nl, cmd, n, &peer->addr, &v);
		if (status) {
			now->culprit = n;
			return status;
		}
		now->peers[n] = *peer;
	}
	return EXIT_OK;
}

/* The number of nodes changes only while the node is down. */
static int put_node(struct ddnl *nl, struct nodes *now, const struct nodes *want)
{
	bool down = now->max != want->max;
	struct values v = {
		(now->id != want->id) << SET_ID | (now->port != want->port) << SET_PORT |
		down << SET_MAX | down << SET_UP,
		{ [SET_ID] = want->id, [SET_PORT] = want->port, [SET_MAX] = want->max },
	};
	int status = v.given ? set_node(nl, &v) : EXIT_OK;

	if (status)
		return status;
	now->id = want->id;
	now->max = want->max;
	now->port = want->port;
	now->up &= !down;
	status = now->up == want->up ? EXIT_OK : set_up(nl, want->up);
	if (!status)
		now->up = want->up;
	return status;
}

/*
 * Unchanged peers keep their sessions, unless number or port of this node change. If
 * the number of nodes changes, the node is down for a moment.
 */
static int reach(struct ddnl *nl, struct nodes *now, const struct nodes *want)
{
	int status;

	status = remove_peers(nl, now, want);
	if (!status)
		status = put_node(nl, now, want);
	if (!status)
		status = put_peers(nl, now, want, true);
	return status ? status : put_peers(nl, now, want, false);
}

/* ---- ddctl apply: reports ------------------------------------------------ */

static void report_peer(json_object *peers, uint32_t n, const struct nodes_peer *was,
			const struct nodes_peer *now)
{
	const char *action = !was->present ? "added" : !now->present ? "removed" : "changed";
	char old[ADDR_TEXT_MAX], new[ADDR_TEXT_MAX];
	json_object *change;

	addr_text(was->present ? &was->addr : &now->addr, old);
	addr_text(now->present ? &now->addr : &was->addr, new);
	if (!options.json) {
		printf("peer %u: %s%s%s", n, action, now->present ? ", " : "",
		       now->present ? new : "");
		if (!now->present || strcmp(old, new))
			printf(", was %s", old);
		putchar('\n');
		return;
	}
	change = json_object_new_object();
	json_add(change, "peer", json_int(n));
	json_add(change, "action", json_str(action));
	json_add(change, "address", json_str(new));
	json_object_array_add(peers, change);
}

/* The numbers of the nodes that are left out. */
static json_object *skipped_json(const struct cluster *c)
{
	json_object *all = json_object_new_array();
	size_t i;

	for (i = 0; i < c->count; i++) {
		if (c->nodes[i].skipped)
			json_object_array_add(all, json_int(c->nodes[i].number));
	}
	return all;
}

static void report(const struct cluster *c, const struct nodes *was, const struct nodes *now)
{
	json_object *all = json_object_new_object(), *peers = json_object_new_array();
	bool changed = !node_equal(was, now);
	uint32_t n;

	json_add(all, "node", json_int(now->id));
	json_add(all, "maxnodes", json_int(now->max));
	json_add(all, "port", json_int(now->port));
	json_add(all, "node_changed", json_object_new_boolean(changed));
	json_add(all, "peers", peers);
	json_add(all, "skipped", skipped_json(c));
	if (changed && !options.json)
		printf("node %u of %u, port %u; was node %u of %u, port %u\n", now->id,
		       now->max, now->port, was->id, was->max, was->port);
	for (n = 0; n < NODES_TOTAL; n++) {
		if (peer_equal(&was->peers[n], &now->peers[n]))
			continue;
		changed = true;
		report_peer(peers, n, &was->peers[n], &now->peers[n]);
	}
	if (options.json)
		print_json(json_object_get(all));
	else if (!changed)
		puts("nothing to change");
	json_object_put(all);
}

static void say_skipped(const struct cluster *c)
{
	if (c->skipped)
		say("%s: %u node%s left out; when %s resolved, apply the file again", c->file,
		    c->skipped, c->skipped == 1 ? " is" : "s are",
		    c->skipped == 1 ? "its name is" : "their names are");
}

static int report_check(const struct cluster *c)
{
	json_object *all;

	say_skipped(c);

	if (!options.json) {
		printf("%s: %zu node%s of %u; this is node %u, %s\n", c->file,
		       c->count, c->count == 1 ? "" : "s", c->max,
		       c->self->number, c->self->host);
		return EXIT_OK;
	}
	all = json_object_new_object();
	json_add(all, "node", json_int(c->self->number));
	json_add(all, "maxnodes", json_int(c->max));
	json_add(all, "nodes", json_int(c->count));
	json_add(all, "skipped", skipped_json(c));
	print_json(all);
	return EXIT_OK;
}

/* ---- ddctl apply --------------------------------------------------------- */

static bool is_wanted(const struct nodes *want, const union addr *addr)
{
	uint32_t n;

	for (n = 0; n < NODES_TOTAL; n++) {
		if (want->peers[n].present && addr_equal(&want->peers[n].addr, addr))
			return true;
	}
	return false;
}

/* A node that is left out keeps the address it has, unless another node got that one. */
static void want_cluster(struct nodes *want, const struct nodes *now, const struct cluster *c)
{
	const struct cluster_node *node, *end = c->nodes + c->count;
	struct nodes_peer peer = {
		.present = true,
		.dead_time = c->dead_time,
		.payload_crc = c->payload_crc,
	};

	*want = (struct nodes) {
		.id = c->self->number,
		.max = c->max,
		.port = c->self->port,
		.up = now->up,
		.culprit = now->culprit,
	};
	for (node = c->nodes; node < end; node++) {
		peer.addr = node->addr;
		if (node != c->self && !node->skipped)
			want->peers[node->number] = peer;
	}
	for (node = c->nodes; node < end; node++) {
		peer.addr = now->peers[node->number].addr;
		if (node->skipped && now->peers[node->number].present &&
		    !is_wanted(want, &peer.addr))
			want->peers[node->number] = peer;
	}
}

/* Make all changes, or undo them. */
static int apply(struct ddnl *nl, const struct cluster *c)
{
	static struct nodes was, now, want;
	size_t i;
	int status;

	status = read_nodes(nl, &was);
	if (status)
		return status;
	now = was;
	want_cluster(&want, &was, c);
	status = reach(nl, &now, &want);
	if (!status) {
		report(c, &was, &now);
		say_skipped(c);
		return c->skipped ? EXIT_PARTLY : EXIT_OK;
	}
	for (i = 0; i < c->count; i++) {
		if (c->nodes[i].number == now.culprit)
			say("%s:%u: this node cannot be a peer", c->file,
			    c->nodes[i].line);
	}
	if (reach(nl, &now, &was))
		say("%s: could not restore the previous state; see: ddctl peer",
		    c->file);
	else
		say("%s: nothing has been changed", c->file);
	return status;
}

static int apply_run(const struct verb *verb, int argc, char **argv)
{
	uint32_t self, *given = options.node ? &self : NULL;
	int status = EXIT_CLUSTER;
	FILE *in = stdin;
	struct cluster c;
	struct ddnl nl;
	bool std;

	if (argc != 1)
		return fail(EXIT_USAGE, "apply needs the name of one file; see: ddctl help apply");
	if (given && parse_node("apply: --node", options.node, given))
		return EXIT_USAGE;
	std = !strcmp(argv[0], "-");
	if (!std)
		in = fopen(argv[0], "re");
	if (!in)
		return fail(EXIT_RUNTIME, "%s: %s", argv[0], strerror(errno));
	if (cluster_read(&c, in, std ? "standard input" : argv[0]) &&
	    cluster_resolve(&c, given)) {
		status = options.check ? report_check(&c) : ddnl_open(&nl);
		if (!status && !options.check) {
			status = apply(&nl, &c);
			ddnl_close(&nl);
		}
	}
	cluster_free(&c);
	if (!std)
		fclose(in);
	return status;
}

COMMAND(apply, "configure node and peers by a cluster file",
	"[--check] [--node NUMBER] FILE",
	"apply dd-cluster.conf(5), the same on all nodes, or only check it");
