// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl monitor - the events of this node.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/dd_netlink.h>
#include <netlink/attr.h>

#include "monitor.h"
#include "nl.h"
#include "output.h"
#include "say.h"
#include "table.h"

/**
 * struct event - a kind of event
 * @name: its name
 * @attr: attribute of the event that contains the object
 * @obj: kind of that object
 */
struct event {
	const char *name;
	int attr;
	const struct object *obj;
};

#define EVENT(cmd, name, kind, obj)	[DD_CMD_##cmd] = { name, DD_A_EVENT_##kind, &obj }

static const struct event events[DD_CMD_MAX + 1] = {
	EVENT(NODE_UP, "node-up", NODE, object_node),
	EVENT(NODE_DOWN, "node-down", NODE, object_node),
	EVENT(NODE_SET_NTF, "node-set", NODE, object_node),
	EVENT(SERVICE_ADD, "service-add", SERVICE, object_service),
	EVENT(SERVICE_DEL, "service-del", SERVICE, object_service),
	EVENT(CONN_ADD, "conn-add", CONN, object_conn),
	EVENT(CONN_DEL, "conn-del", CONN, object_conn),
	EVENT(SEGMENT_ADD, "segment-add", SEGMENT, object_segment),
	EVENT(SEGMENT_DEL, "segment-del", SEGMENT, object_segment),
	EVENT(IMPORT_ADD, "import-add", IMPORT, object_import),
	EVENT(IMPORT_DEL, "import-del", IMPORT, object_import),
	EVENT(PEER_ADD_NTF, "peer-add", PEER, object_peer),
	EVENT(PEER_SET_NTF, "peer-set", PEER, object_peer),
	EVENT(PEER_DEL_NTF, "peer-del", PEER, object_peer),
	EVENT(PEER_UP, "peer-up", PEER, object_peer),
	EVENT(PEER_DOWN, "peer-down", PEER, object_peer),
};

static void timestamp(char *text, size_t size)
{
	struct timespec now;
	struct tm tm;
	size_t len;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	len = strftime(text, size, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + len, size - len, ".%06ldZ", now.tv_nsec / 1000);
}

/* Flush each line: another program may wait for it. Puts @object. */
static void print_event(const char *name, uint64_t seq,
			const struct object *obj, json_object *object)
{
	json_object *line;
	char when[64] = "";

	if (options.timestamp)
		timestamp(when, sizeof(when));
	if (options.json) {
		line = json_object_new_object();
		if (*when)
			json_add(line, "time", json_str(when));
		json_add(line, "event", json_str(name));
		if (seq)
			json_add(line, "seq", json_object_new_uint64(seq));
		json_add(line, obj->name, object);
		print_json(line);
	} else {
		printf("%s%s%s: ", when, *when ? " " : "", name);
		table_print_line(obj, object);
		json_object_put(object);
	}
	if (fflush(stdout) || ferror(stdout))
		exit(finish_output(EXIT_RUNTIME));
}

static void on_event(uint8_t cmd, struct nlattr *head, int len)
{
	const struct event *ev = cmd <= DD_CMD_MAX ? &events[cmd] : NULL;
	struct nlattr *tb[DD_A_EVENT_MAX + 1];
	json_object *object;

	/* Ignore events of later kernels. */
	if (!ev || !ev->name ||
	    nla_parse(tb, DD_A_EVENT_MAX, head, len, NULL) < 0 ||
	    !tb[DD_A_EVENT_SEQ] || !tb[ev->attr])
		return;
	object = object_parse(ev->obj, nla_data(tb[ev->attr]),
			      nla_len(tb[ev->attr]));
	if (object)
		print_event(ev->name, nla_get_u64(tb[DD_A_EVENT_SEQ]), ev->obj,
			    object);
}

/* Called after the events are joined, so that no change is missed. */
static int print_state(void)
{
	json_object *rows;
	struct ddnl nl;
	int status = ddnl_open(&nl);

	if (status)
		return status;
	status = ddnl_get(&nl, &object_node, &rows);
	ddnl_close(&nl);
	if (status)
		return status;
	print_event("node", 0, &object_node,
		    json_object_get(json_object_array_get_idx(rows, 0)));
	json_object_put(rows);
	return EXIT_OK;
}

static int monitor_run(const struct verb *verb, int argc, char **argv)
{
	struct ddnl nl;
	int status = ddnl_open(&nl);

	if (status)
		return status;
	status = ddnl_listen(&nl, print_state, on_event);
	ddnl_close(&nl);
	return status;
}

COMMAND(monitor, "events of this node, one in a line, until interrupted",
	NULL, "print this node, then its events");
