// SPDX-License-Identifier: GPL-2.0-only
/*
 * This node and its peers as a whole.
 */
#include <string.h>
#include <linux/dd_netlink.h>

#include "ddctl.h"
#include "nodes.h"
#include "peers.h"

/* ---- as they are -------------------------------------------------------- */

static uint32_t number(json_object *row, const char *key)
{
	json_object *value;

	return json_object_object_get_ex(row, key, &value) ?
		json_object_get_int64(value) : 0;
}

static bool truth(json_object *row, const char *key)
{
	json_object *value;

	return json_object_object_get_ex(row, key, &value) &&
	       json_object_get_boolean(value);
}

/* The kernel's addresses are numbers, which need nobody to be resolved. */
static bool read_addr(json_object *row, union addr *addr)
{
	char host[ADDR_HOST_MAX];
	json_object *value;
	uint16_t port = 0;
	size_t n;

	if (!json_object_object_get_ex(row, "address", &value) ||
	    addr_split(json_object_get_string(value), host, &port) ||
	    addr_resolve(host, addr, 1, &n))
		return false;
	addr_set_port(addr, port);
	return true;
}

static int read_peers(struct nodes *now, json_object *rows)
{
	size_t i;

	for (i = 0; i < json_object_array_length(rows); i++) {
		json_object *row = json_object_array_get_idx(rows, i);
		uint32_t n = number(row, "number");

		if (n >= NODES_MAX || !read_addr(row, &now->peers[n].addr)) {
			say("peer %u: an answer that makes no sense", n);
			return EXIT_RUNTIME;
		}
		now->peers[n].present = true;
		now->peers[n].dead_time = number(row, "dead_time");
		now->peers[n].payload_crc = truth(row, "payload_crc");
	}
	return EXIT_OK;
}

int nodes_get(struct ddnl *nl, struct nodes *now)
{
	json_object *rows, *node;
	int status;

	memset(now, 0, sizeof(*now));
	now->culprit = NODES_MAX;
	status = ddnl_get(nl, &object_node, &rows);
	if (status)
		return status;
	node = json_object_array_get_idx(rows, 0);
	now->id = number(node, "id");
	now->max = number(node, "maxnodes");
	now->port = number(node, "port");
	now->up = truth(node, "up");
	json_object_put(rows);
	status = ddnl_get(nl, &object_peers, &rows);
	if (status)
		return status;
	status = read_peers(now, rows);
	json_object_put(rows);
	return status;
}

bool nodes_peer_equal(const struct nodes_peer *a, const struct nodes_peer *b)
{
	return a->present == b->present &&
	       (!a->present || (addr_equal(&a->addr, &b->addr) &&
				a->dead_time == b->dead_time &&
				a->payload_crc == b->payload_crc));
}

/* ---- as they are to be -------------------------------------------------- */

static int put_peer(struct ddnl *nl, uint8_t cmd, struct nodes *now,
		    const struct nodes *want, uint32_t n)
{
	const struct nodes_peer *peer = &want->peers[n];
	struct setting list[] = {
		{ .attr = DD_A_PEER_DEAD_TIME, .word = "dead-time",
		  .given = true, .value = peer->dead_time },
		{ .attr = DD_A_PEER_PAYLOAD_CRC, .word = "payload-crc",
		  .kind = SETTING_SWITCH, .given = true,
		  .value = peer->payload_crc },
		{ }
	};
	int status;

	status = peers_send(nl, cmd, n, &peer->addr, list);
	if (status)
		now->culprit = n;
	else
		now->peers[n] = *peer;
	return status;
}

static bool addr_is_taken(const struct nodes *now, uint32_t n,
			  const union addr *addr)
{
	uint32_t i;

	for (i = 0; i < NODES_MAX; i++) {
		if (i != n && now->peers[i].present &&
		    addr_equal(&now->peers[i].addr, addr))
			return true;
	}
	return false;
}

/* Two may exchange their addresses, which has to go by way of neither. */
static bool is_in_the_way(const struct nodes *now, const struct nodes *want,
			  uint32_t n)
{
	return !want->peers[n].present || now->id != want->id ||
	       now->port != want->port ||
	       addr_is_taken(now, n, &want->peers[n].addr);
}

static int remove_peers(struct ddnl *nl, struct nodes *now,
			const struct nodes *want)
{
	uint32_t n;
	int status;

	for (n = 0; n < NODES_MAX; n++) {
		if (!now->peers[n].present || !is_in_the_way(now, want, n))
			continue;
		status = peers_send(nl, DD_CMD_PEER_DEL, n, NULL, NULL);
		if (status)
			return status;
		now->peers[n].present = false;
	}
	return EXIT_OK;
}

static int put_peers(struct ddnl *nl, struct nodes *now,
		     const struct nodes *want, bool present)
{
	uint32_t n;
	int status;

	for (n = 0; n < NODES_MAX; n++) {
		if (!want->peers[n].present || now->peers[n].present != present ||
		    nodes_peer_equal(&now->peers[n], &want->peers[n]))
			continue;
		status = put_peer(nl, present ? DD_CMD_PEER_SET :
				  DD_CMD_PEER_ADD, now, want, n);
		if (status)
			return status;
	}
	return EXIT_OK;
}

static int set_node(struct ddnl *nl, const struct setting *list)
{
	struct nl_msg *msg = ddnl_request(nl, DD_CMD_NODE_SET, NLM_F_ACK);

	return ddnl_submit(nl, &object_node, msg,
			   msg ? put_settings(msg, list) : -1);
}

static int set_up(struct ddnl *nl, struct nodes *now, bool up)
{
	const struct setting list[] = {
		{ .attr = DD_A_NODE_UP, .word = "up", .kind = SETTING_SWITCH,
		  .given = now->up != up, .value = up },
		{ }
	};
	int status;

	if (now->up == up)
		return EXIT_OK;
	status = set_node(nl, list);
	if (!status)
		now->up = up;
	return status;
}

/* The number of nodes changes only while the node is down. */
static int put_node(struct ddnl *nl, struct nodes *now,
		    const struct nodes *want)
{
	bool down = now->max != want->max;
	const struct setting list[] = {
		{ .attr = DD_A_NODE_ID, .word = "id",
		  .given = now->id != want->id, .value = want->id },
		{ .attr = DD_A_NODE_MAXNODES, .word = "max",
		  .given = down, .value = want->max },
		{ .attr = DD_A_NODE_PORT, .word = "port",
		  .given = now->port != want->port, .value = want->port },
		{ .attr = DD_A_NODE_UP, .word = "up", .kind = SETTING_SWITCH,
		  .given = down, .value = false },
		{ }
	};
	int status;

	if (now->id == want->id && now->port == want->port && !down)
		return EXIT_OK;
	status = set_node(nl, list);
	if (status)
		return status;
	now->id = want->id;
	now->max = want->max;
	now->port = want->port;
	if (down)
		now->up = false;
	return EXIT_OK;
}

int nodes_reach(struct ddnl *nl, struct nodes *now, const struct nodes *want)
{
	int status;

	status = remove_peers(nl, now, want);
	if (!status)
		status = put_node(nl, now, want);
	if (!status)
		status = set_up(nl, now, want->up);
	if (!status)
		status = put_peers(nl, now, want, true);
	if (!status)
		status = put_peers(nl, now, want, false);
	return status;
}
