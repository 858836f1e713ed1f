// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes of the kernel's objects, and their conversion to JSON.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <linux/dd_ddp.h>
#include <linux/dd_mem.h>
#include <linux/dd_netlink.h>
#include <netlink/attr.h>

#include "addr.h"
#include "object.h"
#include "output.h"

/* Rows of an object's table: plain, settable, left out of lists, enumeration. */
#define ROW(id, key, head, kind)	{ id, key, head, kind, false, NULL, NULL }
#define GIVEN(id, key, head, kind, word) { id, key, head, kind, false, word, NULL }
#define MORE(id, key, head, kind, word)	{ id, key, head, kind, true, word, NULL }
#define ENUM(id, key, head, names)	{ id, key, head, ATTR_ENUM, false, NULL, names }
#define FLAGS(id, key, head, names)	{ id, key, head, ATTR_FLAGS, false, NULL, names }
#define END				{ 0, NULL, NULL, 0, false, NULL, NULL }

#define ATTRS_MAX	64	/* more than any object has */

static const char *const conn_types[] = {
	[DD_CONN_RPC] = "rpc", [DD_CONN_SPLIT] = "split",
	[DD_CONN_STREAM] = "stream", NULL
};

static const char *const conn_roles[] = {
	[DD_CONN_ROLE_CLIENT] = "client",
	[DD_CONN_ROLE_SERVER] = "server", NULL
};

static const char *const segment_classes[] = {
	[DD_SEGMENT_NAME - 1] = "", [DD_SEGMENT_NAME] = "name", [DD_SEGMENT_ID] = "id",
	[DD_SEGMENT_BUFFER] = "buffer", [DD_SEGMENT_WELL_KNOWN] = "well-known",
	[DD_SEGMENT_REGISTERED] = "registered", NULL
};

static const char *const rights[] = { "put", "get", "cas", NULL };

static const char *const policies[] = {
	[DD_POLICY_CONDITIONAL] = "conditional",
	[DD_POLICY_ALWAYS] = "always",
	[DD_POLICY_NEVER] = "never", NULL
};

static const char *const permissions[] = {
	[DD_PERMIT_USER] = "user", [DD_PERMIT_ANY] = "any",
	[DD_PERMIT_LISTED] = "listed", NULL
};

static const char *const peer_states[] = {
	[DD_PEER_STATE_IDLE] = "idle",
	[DD_PEER_STATE_CONNECTING] = "connecting",
	[DD_PEER_STATE_UP] = "up",
	[DD_PEER_STATE_UNREACHABLE] = "unreachable",
	[DD_PEER_STATE_REFUSED] = "refused",
	NULL
};

static const char *const peer_reasons[] = {
	[DD_PEER_REASON_DEAD] = "dead",
	[DD_PEER_REASON_REBOOT] = "reboot",
	[DD_PEER_REASON_RESET] = "reset",
	[DD_PEER_REASON_VERSION] = "version",
	[DD_PEER_REASON_MAXNODES] = "maxnodes",
	[DD_PEER_REASON_NODE] = "node",
	[DD_PEER_REASON_STOPPED] = "stopped",
	[DD_PEER_REASON_ADDRESS] = "address",
	NULL
};

const struct object object_node = {
	.name = "node",
	.get = DD_CMD_NODE_GET,
	.attrs = (const struct attr[]) {
		GIVEN(DD_A_NODE_ID, "id", "NODE", ATTR_U32, "id"),
		GIVEN(DD_A_NODE_MAXNODES, "maxnodes", "OF", ATTR_U32, "max"),
		ROW(DD_A_NODE_UP, "up", "UP", ATTR_BOOL),
		GIVEN(DD_A_NODE_PORT, "port", "PORT", ATTR_U32, "port"),
		ROW(DD_A_NODE_REGISTRAR, "registrar", "REGISTRAR", ATTR_BOOL),
		ROW(DD_A_NODE_PACKET_SIZE, "packet_size", "PACKET", ATTR_U32),
		ROW(DD_A_NODE_ABI, "abi", "ABI", ATTR_U32),
		ROW(DD_A_NODE_VERSION, "version", "VERSION", ATTR_STRING),
		END,
	},
};

const struct object object_service = {
	.name = "service",
	.get = DD_CMD_SERVICE_GET,
	.many = true,
	.attrs = (const struct attr[]) {
		ROW(DD_A_SERVICE_NAME, "name", "NAME", ATTR_STRING),
		ROW(DD_A_SERVICE_PID, "pid", "PID", ATTR_U32),
		ROW(DD_A_SERVICE_UID, "uid", "UID", ATTR_U32),
		ROW(DD_A_SERVICE_CTX, "ctx", NULL, ATTR_U64),
		ROW(DD_A_SERVICE_ID, "id", "ID", ATTR_U32),
		ROW(DD_A_SERVICE_CONNS, "conns", "CONNS", ATTR_U32),
		ROW(DD_A_SERVICE_MAXCONN, "maxconn", "MAX", ATTR_U32),
		ROW(DD_A_SERVICE_TOTAL, "total", "EVER", ATTR_U64),
		ROW(DD_A_SERVICE_WINDOW, "window", "WINDOW", ATTR_U32),
		ROW(DD_A_SERVICE_ACCEPT, "accept", NULL, ATTR_BOOL),
		ROW(DD_A_SERVICE_LIST, "list", NULL, ATTR_U32),
		ROW(DD_A_SERVICE_RECV_BLOCK, "recv_block", "RECV", ATTR_U64),
		ROW(DD_A_SERVICE_SEND_BLOCK, "send_block", "SEND", ATTR_U64),
		ROW(DD_A_SERVICE_RECEIVED, "received", "RECEIVED", ATTR_U64),
		ROW(DD_A_SERVICE_SENT, "sent", "SENT", ATTR_U64),
		END,
	},
};

const struct object object_conn = {
	.name = "conn",
	.get = DD_CMD_CONN_GET,
	.many = true,
	.attrs = (const struct attr[]) {
		ROW(DD_A_CONN_SERVICE, "service", "SERVICE", ATTR_STRING),
		ENUM(DD_A_CONN_ROLE, "role", "ROLE", conn_roles),
		ENUM(DD_A_CONN_TYPE, "type", "TYPE", conn_types),
		ROW(DD_A_CONN_PID, "pid", "PID", ATTR_U32),
		ROW(DD_A_CONN_UID, "uid", NULL, ATTR_U32),
		ROW(DD_A_CONN_CTX, "ctx", NULL, ATTR_U64),
		ROW(DD_A_CONN_ID, "id", "ID", ATTR_U64),
		ROW(DD_A_CONN_BLOCK, "block", "BLOCK", ATTR_U32),
		ROW(DD_A_CONN_LIST, "list", NULL, ATTR_U32),
		ROW(DD_A_CONN_PEER_NODE, "peer_node", "NODE", ATTR_U32),
		ROW(DD_A_CONN_PEER_PID, "peer_pid", "PEER", ATTR_U32),
		ROW(DD_A_CONN_PEER_UID, "peer_uid", NULL, ATTR_U32),
		ROW(DD_A_CONN_PEER_CTX, "peer_ctx", NULL, ATTR_U64),
		ROW(DD_A_CONN_PEER_ID, "peer_id", NULL, ATTR_U64),
		ROW(DD_A_CONN_WINDOW, "window", NULL, ATTR_U32),
		ROW(DD_A_CONN_SEND_WINDOW, "send_window", NULL, ATTR_U32),
		ROW(DD_A_CONN_RECV_SIZE, "recv_size", NULL, ATTR_U64),
		ROW(DD_A_CONN_SEND_SIZE, "send_size", NULL, ATTR_U64),
		ROW(DD_A_CONN_PEER_SIZE, "peer_size", NULL, ATTR_U64),
		ROW(DD_A_CONN_SUBMITTED, "submitted", "SUBMITTED", ATTR_U64),
		ROW(DD_A_CONN_SENT, "sent", NULL, ATTR_U64),
		ROW(DD_A_CONN_DONE, "done", "DONE", ATTR_U64),
		ROW(DD_A_CONN_RECEIVED, "received", "RECEIVED", ATTR_U64),
		ROW(DD_A_CONN_DIRECT, "direct", "DIRECT", ATTR_BOOL),
		ROW(DD_A_CONN_ERROR, "error", "ERROR", ATTR_U32),
		END,
	},
};

const struct object object_region = {
	.name = "region",
	.get = DD_CMD_REGION_GET,
	.many = true,
	.attrs = (const struct attr[]) {
		ROW(DD_A_REGION_PID, "pid", "PID", ATTR_U32),
		ROW(DD_A_REGION_UID, "uid", "UID", ATTR_U32),
		ROW(DD_A_REGION_CTX, "ctx", NULL, ATTR_U64),
		ROW(DD_A_REGION_ID, "id", "ID", ATTR_U32),
		ROW(DD_A_REGION_LENGTH, "length", "BYTES", ATTR_U64),
		ROW(DD_A_REGION_BUSY, "busy", "BUSY", ATTR_BOOL),
		END,
	},
};

const struct object object_segment = {
	.name = "segment",
	.get = DD_CMD_SEGMENT_GET,
	.many = true,
	.attrs = (const struct attr[]) {
		ENUM(DD_A_SEGMENT_CLASS, "class", "CLASS", segment_classes),
		ROW(DD_A_SEGMENT_KEY, "key", "KEY", ATTR_KEY),
		ROW(DD_A_SEGMENT_PID, "pid", "PID", ATTR_U32),
		ROW(DD_A_SEGMENT_UID, "uid", "UID", ATTR_U32),
		ROW(DD_A_SEGMENT_CTX, "ctx", NULL, ATTR_U64),
		ROW(DD_A_SEGMENT_ID, "id", "ID", ATTR_U64),
		ROW(DD_A_SEGMENT_GENERATION, "generation", NULL, ATTR_U64),
		ROW(DD_A_SEGMENT_LENGTH, "length", "BYTES", ATTR_U64),
		FLAGS(DD_A_SEGMENT_RIGHTS, "rights", "RIGHTS", rights),
		ENUM(DD_A_SEGMENT_POLICY, "policy", "NOTIFY", policies),
		ENUM(DD_A_SEGMENT_PERMISSION, "permission", "USERS", permissions),
		ROW(DD_A_SEGMENT_INHIBIT, "inhibit", "INHIBIT", ATTR_BOOL),
		ROW(DD_A_SEGMENT_LIST, "list", NULL, ATTR_U32),
		ROW(DD_A_SEGMENT_WINDOW, "window", NULL, ATTR_U32),
		ROW(DD_A_SEGMENT_IMPORTERS, "importers", "IMPORTS", ATTR_U32),
		ROW(DD_A_SEGMENT_MAX_IMPORTERS, "max_importers", "MAX", ATTR_U32),
		ROW(DD_A_SEGMENT_REFUSED_RIGHTS, "refused_rights", "NO RIGHT", ATTR_U64),
		ROW(DD_A_SEGMENT_REFUSED_INHIBIT, "refused_inhibit", "INHIBITED", ATTR_U64),
		ROW(DD_A_SEGMENT_REFUSED_BOUNDS, "refused_bounds", "OUTSIDE", ATTR_U64),
		END,
	},
};

const struct object object_import = {
	.name = "import",
	.get = DD_CMD_IMPORT_GET,
	.many = true,
	.attrs = (const struct attr[]) {
		ROW(DD_A_IMPORT_PID, "pid", "PID", ATTR_U32),
		ROW(DD_A_IMPORT_UID, "uid", "UID", ATTR_U32),
		ROW(DD_A_IMPORT_CTX, "ctx", NULL, ATTR_U64),
		ROW(DD_A_IMPORT_ID, "id", "ID", ATTR_U64),
		ROW(DD_A_IMPORT_PEER_NODE, "peer_node", "NODE", ATTR_U32),
		ROW(DD_A_IMPORT_PEER_PID, "peer_pid", "OWNER", ATTR_U32),
		ROW(DD_A_IMPORT_PEER_UID, "peer_uid", NULL, ATTR_U32),
		ROW(DD_A_IMPORT_PEER_CTX, "peer_ctx", NULL, ATTR_U64),
		ROW(DD_A_IMPORT_PEER_ID, "peer_id", "SEGMENT", ATTR_U64),
		ROW(DD_A_IMPORT_GENERATION, "generation", NULL, ATTR_U64),
		ROW(DD_A_IMPORT_LENGTH, "length", "BYTES", ATTR_U64),
		FLAGS(DD_A_IMPORT_RIGHTS, "rights", "RIGHTS", rights),
		ROW(DD_A_IMPORT_SUBMITTED, "submitted", "SUBMITTED", ATTR_U64),
		ROW(DD_A_IMPORT_DONE, "done", "DONE", ATTR_U64),
		ROW(DD_A_IMPORT_ERROR, "error", "ERROR", ATTR_U32),
		END,
	},
};

const struct object object_stat = {
	.name = "stat",
	.get = DD_CMD_STAT_GET,
	.attrs = (const struct attr[]) {
		ROW(DD_A_STAT_OPS, "ops", "requests executed", ATTR_U64),
		ROW(DD_A_STAT_DIRECT, "direct", "sent directly", ATTR_U64),
		ROW(DD_A_STAT_BYTES, "bytes", "bytes deposited", ATTR_U64),
		ROW(DD_A_STAT_NOTES, "notes", "notes posted", ATTR_U64),
		ROW(DD_A_STAT_WITHHELD, "withheld", "notes withheld", ATTR_U64),
		ROW(DD_A_STAT_WAKEUPS, "wakeups", "sleepers woken", ATTR_U64),
		ROW(DD_A_STAT_REFUSED, "refused", "requests refused", ATTR_U64),
		ROW(DD_A_STAT_CONNECTS, "connects", "connections made", ATTR_U64),
		ROW(DD_A_STAT_CLOSES, "closes", "connections ended", ATTR_U64),
		ROW(DD_A_STAT_STRANGERS, "strangers", "unknown senders", ATTR_U64),
		ROW(DD_A_STAT_BAD_SUMS, "bad_sums", "bad UDP sums", ATTR_U64),
		ROW(DD_A_STAT_NO_ROOM, "no_room", "socket full", ATTR_U64),
		END,
	},
};

static const struct attr peer_attrs[] = {
	GIVEN(DD_A_PEER_NUMBER, "number", "NODE", ATTR_U32, "peer"),
	GIVEN(DD_A_PEER_ADDRESS, "address", "ADDRESS", ATTR_ADDRESS, "address"),
	ENUM(DD_A_PEER_STATE, "state", "STATE", peer_states),
	ENUM(DD_A_PEER_REASON, "reason", "REASON", peer_reasons),
	MORE(DD_A_PEER_SESSIONS, "sessions", "SESSIONS", ATTR_U64, NULL),
	MORE(DD_A_PEER_DEAD_TIME, "dead_time", "DEAD TIME ms", ATTR_U32, "dead-time"),
	MORE(DD_A_PEER_PAYLOAD_CRC, "payload_crc", "PAYLOAD CRC", ATTR_BOOL, "payload-crc"),
	MORE(DD_A_PEER_PACKET_SIZE, "packet_size", "PACKET", ATTR_U32, NULL),
	ROW(DD_A_PEER_RTT, "rtt", "RTT us", ATTR_U32),
	MORE(DD_A_PEER_RTT_VAR, "rtt_var", "RTT VARIATION us", ATTR_U32, NULL),
	ROW(DD_A_PEER_CWND, "cwnd", "WINDOW", ATTR_U64),
	MORE(DD_A_PEER_IN_FLIGHT, "in_flight", "IN FLIGHT", ATTR_U64, NULL),
	MORE(DD_A_PEER_PACKETS_SENT, "packets_sent", "PACKETS SENT", ATTR_U64, NULL),
	MORE(DD_A_PEER_PACKETS_RECEIVED, "packets_received",
	     "PACKETS RECEIVED", ATTR_U64, NULL),
	ROW(DD_A_PEER_PACKETS_LOST, "packets_lost", "LOST", ATTR_U64),
	ROW(DD_A_PEER_BYTES_SENT, "bytes_sent", "SENT", ATTR_U64),
	ROW(DD_A_PEER_BYTES_RECEIVED, "bytes_received", "RECEIVED", ATTR_U64),
	ROW(DD_A_PEER_DROPPED, "dropped", "DROPPED", ATTR_U64),
	MORE(DD_A_PEER_COUNTERS, "counters", "COUNTERS", ATTR_COUNTERS, NULL),
	END,
};

const struct object object_peers = {
	.name = "peer",
	.get = DD_CMD_PEER_GET,
	.many = true,
	.attrs = peer_attrs,
};

/* One peer, requested by its number. */
const struct object object_peer = {
	.name = "peer",
	.get = DD_CMD_PEER_GET,
	.attrs = peer_attrs,
};

static const uint16_t wire_types[] = {
	[ATTR_BOOL] = NLA_U8,
	[ATTR_U32] = NLA_U32,
	[ATTR_U64] = NLA_U64,
	[ATTR_STRING] = NLA_NUL_STRING,
	[ATTR_ENUM] = NLA_U32,
	[ATTR_FLAGS] = NLA_U32,
	[ATTR_KEY] = NLA_UNSPEC,
	[ATTR_ADDRESS] = NLA_UNSPEC,
	[ATTR_COUNTERS] = NLA_NESTED,
};

static json_object *parse_enum(const struct attr *a, uint32_t value)
{
	uint32_t i;

	/* Entry 0 is never the end. */
	for (i = 0; !i || a->names[i]; i++) {
		if (i == value && a->names[i])
			return json_str(a->names[i]);
	}
	return json_int(value);
}

static json_object *parse_flags(const struct attr *a, uint32_t value)
{
	char text[64] = "";
	size_t len = 0;
	int i;

	for (i = 0; a->names[i]; i++) {
		if (value >> i & 1)
			len += snprintf(text + len, sizeof(text) - len, "%s%s",
					len ? "," : "", a->names[i]);
	}
	return json_str(text);
}

/* "name", "generation", "pid:number" or "number", by @class. */
static json_object *parse_key(const struct nlattr *nla, const struct nlattr *class)
{
	unsigned char key[DD_SEGMENT_KEY + 1] = { 0 };
	uint64_t number = 0, id = 0;
	char text[64];
	int i;

	memcpy(key, nla_data(nla), nla_len(nla) < DD_SEGMENT_KEY ? nla_len(nla) :
	       DD_SEGMENT_KEY);
	for (i = 7; i >= 0; i--) {
		number = number << 8 | key[i];
		id = id << 8 | key[i + 4];
	}
	switch (class ? nla_get_u32(class) : 0) {
	case DD_SEGMENT_NAME:
	case DD_SEGMENT_REGISTERED:
		return text_to_json((const char *)key);
	case DD_SEGMENT_BUFFER:
		snprintf(text, sizeof(text), "%u:%" PRIu64, (uint32_t)number, id);
		break;
	default:
		snprintf(text, sizeof(text), "%" PRIu64, number);
	}
	return json_str(text);
}

static json_object *parse_address(const struct nlattr *nla)
{
	char text[ADDR_TEXT_MAX];
	union addr addr;

	if (!addr_from(&addr, nla_data(nla), nla_len(nla)))
		return NULL;
	addr_text(&addr, text);
	return json_object_new_string(text);
}

static void parse_counter(json_object *all, const struct nlattr *nest)
{
	struct nlattr *tb[DD_A_COUNTER_MAX + 1];
	struct nla_policy policy[DD_A_COUNTER_MAX + 1] = {
		[DD_A_COUNTER_NAME] = { .type = NLA_NUL_STRING },
		[DD_A_COUNTER_VALUE] = { .type = NLA_U64 },
	};
	char key[64], *at;

	if (nla_parse_nested(tb, DD_A_COUNTER_MAX, (struct nlattr *)nest,
			     policy) < 0 ||
	    !tb[DD_A_COUNTER_NAME] || !tb[DD_A_COUNTER_VALUE])
		return;
	/* All keys have '_' for '-'. */
	snprintf(key, sizeof(key), "%s", nla_get_string(tb[DD_A_COUNTER_NAME]));
	for (at = key; (at = strchr(at, '-')); )
		*at = '_';
	json_object_object_add(all, key,
			       json_object_new_uint64(nla_get_u64(tb[DD_A_COUNTER_VALUE])));
}

/* All attributes with the number of @a; nla_parse() finds only one. */
static json_object *parse_counters(const struct attr *a, struct nlattr *head,
				   int len)
{
	json_object *all = json_object_new_object();
	struct nlattr *nla;
	int rest;

	nla_for_each_attr(nla, head, len, rest) {
		if (nla_type(nla) == a->id)
			parse_counter(all, nla);
	}
	return all;
}

static json_object *parse_attr(const struct attr *a, struct nlattr **tb)
{
	const struct nlattr *nla = tb[a->id];

	switch (a->kind) {
	case ATTR_BOOL:
		return json_object_new_boolean(nla_get_u8(nla));
	case ATTR_U32:
		return json_object_new_int64(nla_get_u32(nla));
	case ATTR_U64:
		return json_object_new_uint64(nla_get_u64(nla));
	case ATTR_ENUM:
		return parse_enum(a, nla_get_u32(nla));
	case ATTR_FLAGS:
		return parse_flags(a, nla_get_u32(nla));
	case ATTR_KEY:
		return parse_key(nla, tb[DD_A_SEGMENT_CLASS]);
	case ATTR_STRING:
		return text_to_json(nla_get_string(nla));
	case ATTR_ADDRESS:
		return parse_address(nla);
	case ATTR_COUNTERS:
		break;
	}
	return NULL;
}

json_object *object_parse(const struct object *obj, struct nlattr *head,
			  int len)
{
	struct nla_policy policy[ATTRS_MAX] = { };
	struct nlattr *tb[ATTRS_MAX];
	const struct attr *a;
	json_object *row;

	for (a = obj->attrs; a->key; a++)
		policy[a->id].type = wire_types[a->kind];
	if (nla_parse(tb, ATTRS_MAX - 1, head, len, policy) < 0)
		return NULL;
	row = json_object_new_object();
	for (a = obj->attrs; a->key; a++) {
		if (!tb[a->id])
			continue;
		json_object_object_add(row, a->key, a->kind == ATTR_COUNTERS ?
				       parse_counters(a, head, len) :
				       parse_attr(a, tb));
	}
	return row;
}
