// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests about peers.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/dd_netlink.h>

#include "ddctl.h"
#include "peers.h"

/* Who has the port can be told here, not by the kernel. */
static void say_port(struct ddnl *nl)
{
	json_object *rows, *port;
	int64_t n;

	if (ddnl_get(nl, &object_node, &rows))
		return;
	if (json_object_object_get_ex(json_object_array_get_idx(rows, 0),
				      "port", &port)) {
		n = json_object_get_int64(port);
		say("'ss -lunp sport = :%" PRId64 "' tells who has UDP port %" PRId64 "; as root 'sysctl -w net.ipv4.ip_local_reserved_ports=%" PRId64 "' keeps it from being given to programs that want any",
		    n, n, n);
	}
	json_object_put(rows);
}

static int fill(struct nl_msg *msg, uint32_t number, const union addr *addr,
		const struct setting *list)
{
	int err = nla_put_u32(msg, DD_A_PEER_NUMBER, number);

	if (!err && addr)
		err = nla_put(msg, DD_A_PEER_ADDRESS, addr_len(addr), addr);
	if (!err && list)
		err = put_settings(msg, list);
	return err;
}

int peers_send(struct ddnl *nl, uint8_t cmd, uint32_t number,
	       const union addr *addr, const struct setting *list)
{
	struct nl_msg *msg = ddnl_request(nl, cmd, NLM_F_ACK);
	int status;

	status = ddnl_submit(nl, &object_peer, msg,
			     msg ? fill(msg, number, addr, list) : -1);
	if (status == EXIT_REFUSED && nl->refused == EADDRINUSE)
		say_port(nl);
	return status;
}
