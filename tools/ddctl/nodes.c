// SPDX-License-Identifier: GPL-2.0-only
/*
 * This node and its peers: read their state, and change it.
 */
#include <errno.h>
#include <string.h>
#include <linux/dd_netlink.h>

#include "ddctl.h"
#include "nodes.h"

/* ---- requests ----------------------------------------------------------- */

int nodes_set(struct ddnl *nl, const struct setting *list)
{
	struct nl_msg *msg = ddnl_request(nl, DD_CMD_NODE_SET, NLM_F_ACK);

	put_settings(msg, list);
	return ddnl_set(nl, &object_node, msg);
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

int nodes_set_peer(struct ddnl *nl, uint8_t cmd, uint32_t number,
		   const union addr *addr, const struct setting *list)
{
	struct nl_msg *msg = ddnl_request(nl, cmd, NLM_F_ACK);
	int status;

	nla_put_u32(msg, DD_A_PEER_NUMBER, number);
	if (addr)
		nla_put(msg, DD_A_PEER_ADDRESS, addr_len(addr), addr);
	if (list)
		put_settings(msg, list);
	status = ddnl_set(nl, &object_peer, msg);
	if (status == EXIT_REFUSED && nl->refused == EADDRINUSE)
		say_port(nl);
	return status;
}

/* ---- present state ------------------------------------------------------ */

/* The kernel's addresses are numeric: no name is looked up. */
static bool read_addr(json_object *row, union addr *addr)
{
	char host[ADDR_HOST_MAX];
	uint16_t port = 0;
	size_t n;

	if (addr_split(json_text(row, "address"), host, &port) ||
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
		uint32_t n = json_number(row, "number");

		if (n >= NODES_TOTAL || !read_addr(row, &now->peers[n].addr))
			return fail(EXIT_RUNTIME, "peer %u: the answer of the module is invalid", n);
		now->peers[n].present = true;
		now->peers[n].dead_time = json_number(row, "dead_time");
		now->peers[n].payload_crc = json_number(row, "payload_crc");
	}
	return EXIT_OK;
}

int nodes_get(struct ddnl *nl, struct nodes *now)
{
	json_object *rows, *node;
	int status;

	memset(now, 0, sizeof(*now));
	now->culprit = NODES_TOTAL;
	status = ddnl_get(nl, &object_node, &rows);
	if (status)
		return status;
	node = json_object_array_get_idx(rows, 0);
	now->id = json_number(node, "id");
	now->max = json_number(node, "maxnodes");
	now->port = json_number(node, "port");
	now->up = json_number(node, "up");
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

/* ---- changes ------------------------------------------------------------ */

static int put_peer(struct ddnl *nl, uint8_t cmd, struct nodes *now,
		    const struct nodes *want, uint32_t n)
{
	const struct nodes_peer *peer = &want->peers[n];
	struct setting list[] = { SETTING_DEAD_TIME, SETTING_PAYLOAD_CRC, { } };
	int status;

	setting_give(&list[0], true, peer->dead_time);
	setting_give(&list[1], true, peer->payload_crc);
	status = nodes_set_peer(nl, cmd, n, &peer->addr, list);
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

	for (i = 0; i < NODES_TOTAL; i++) {
		if (i != n && now->peers[i].present &&
		    addr_equal(&now->peers[i].addr, addr))
			return true;
	}
	return false;
}

/* Peers that exchange addresses are removed first and added again. */
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

	for (n = 0; n < NODES_TOTAL; n++) {
		if (!now->peers[n].present || !is_in_the_way(now, want, n))
			continue;
		status = nodes_set_peer(nl, DD_CMD_PEER_DEL, n, NULL, NULL);
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

	for (n = 0; n < NODES_TOTAL; n++) {
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

/* The number of nodes changes only while the node is down. */
static int put_node(struct ddnl *nl, struct nodes *now, const struct nodes *want)
{
	bool down = now->max != want->max;
	struct setting list[] = { SETTING_ID, SETTING_MAX, SETTING_PORT, SETTING_UP, { } };
	int status;

	setting_give(&list[0], now->id != want->id, want->id);
	setting_give(&list[1], down, want->max);
	setting_give(&list[2], now->port != want->port, want->port);
	setting_give(&list[3], down, false);
	if (!list[0].given && !list[2].given && !down)
		return EXIT_OK;
	status = nodes_set(nl, list);
	if (status)
		return status;
	now->id = want->id;
	now->max = want->max;
	now->port = want->port;
	now->up &= !down;
	return EXIT_OK;
}

static int put_up(struct ddnl *nl, struct nodes *now, bool up)
{
	struct setting list[] = { SETTING_UP, { } };
	int status;

	setting_give(&list[0], true, up);
	status = now->up == up ? EXIT_OK : nodes_set(nl, list);
	if (!status)
		now->up = up;
	return status;
}

int nodes_reach(struct ddnl *nl, struct nodes *now, const struct nodes *want)
{
	int status;

	status = remove_peers(nl, now, want);
	if (!status)
		status = put_node(nl, now, want);
	if (!status)
		status = put_up(nl, now, want->up);
	if (!status)
		status = put_peers(nl, now, want, true);
	if (!status)
		status = put_peers(nl, now, want, false);
	return status;
}
