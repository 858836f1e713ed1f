// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl apply - make this node and its peers what a cluster file says.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "ddctl.h"
#include "nodes.h"
#include "words.h"

static void on_error(const char *file, unsigned int line, const char *text)
{
	if (line)
		say("%s:%u: %s", file, line, text);
	else
		say("%s: %s", file, text);
}

static const struct cluster_env env = {
	.complain = on_error,
	.resolve = addr_resolve,
	.is_own = addr_is_own,
};

/**
 * struct request - the command line
 * @check: look at the file, and change nothing
 * @has_self: @self was given
 * @self: which node this is
 * @file: name of the file, "-" for standard input
 */
struct request {
	bool check;
	bool has_self;
	uint32_t self;
	const char *file;
};

static int parse_request(struct request *req, int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "--check")) {
			req->check = true;
		} else if (!strcmp(argv[i], "--node") && i + 1 < argc) {
			if (parse_u32("apply: --node", argv[++i], 0,
				      CLUSTER_MAX - 1, &req->self))
				return EXIT_USAGE;
			req->has_self = true;
		} else if ((*argv[i] == '-' && argv[i][1]) || req->file) {
			say("apply: there is nothing to do with '%s'; see: ddctl help apply",
			    argv[i]);
			return EXIT_USAGE;
		} else {
			req->file = argv[i];
		}
	}
	if (req->file)
		return EXIT_OK;
	say("apply wants the name of a file");
	return EXIT_USAGE;
}

/* ---- reports ------------------------------------------------------------ */

static json_object *address(const struct nodes_peer *peer)
{
	char text[ADDR_TEXT_MAX];

	addr_text(&peer->addr, text);
	return json_object_new_string(text);
}

static json_object *changes_json(const struct nodes *was,
				 const struct nodes *now)
{
	json_object *list = json_object_new_array();
	uint32_t n;

	for (n = 0; n < NODES_MAX; n++) {
		const struct nodes_peer *a = &was->peers[n], *b = &now->peers[n];
		json_object *change;

		if (nodes_peer_equal(a, b))
			continue;
		change = json_object_new_object();
		json_object_object_add(change, "peer", json_object_new_int64(n));
		json_object_object_add(change, "action", json_object_new_string(
				       !a->present ? "added" :
				       !b->present ? "removed" : "changed"));
		json_object_object_add(change, "address",
				       address(b->present ? b : a));
		json_object_array_add(list, change);
	}
	return list;
}

static void report_json(const struct nodes *was, const struct nodes *now)
{
	json_object *all = json_object_new_object();
	bool changed = was->id != now->id || was->max != now->max ||
		       was->port != now->port;

	json_object_object_add(all, "node", json_object_new_int64(now->id));
	json_object_object_add(all, "maxnodes", json_object_new_int64(now->max));
	json_object_object_add(all, "port", json_object_new_int64(now->port));
	json_object_object_add(all, "node_changed",
			       json_object_new_boolean(changed));
	json_object_object_add(all, "peers", changes_json(was, now));
	print_json(all);
}

static void print_peer(uint32_t n, const struct nodes_peer *was,
		       const struct nodes_peer *now)
{
	char old_text[ADDR_TEXT_MAX], text[ADDR_TEXT_MAX];

	addr_text(&was->addr, old_text);
	addr_text(&now->addr, text);
	if (!was->present)
		printf("peer %u: added, %s\n", n, text);
	else if (!now->present)
		printf("peer %u: removed, was %s\n", n, old_text);
	else if (strcmp(text, old_text))
		printf("peer %u: changed, %s, was %s\n", n, text, old_text);
	else
		printf("peer %u: changed, %s\n", n, text);
}

static void report_text(const struct nodes *was, const struct nodes *now)
{
	bool changed = false;
	uint32_t n;

	if (was->id != now->id || was->max != now->max ||
	    was->port != now->port) {
		printf("node %u of %u, port %u; was node %u of %u, port %u\n",
		       now->id, now->max, now->port, was->id, was->max,
		       was->port);
		changed = true;
	}
	for (n = 0; n < NODES_MAX; n++) {
		if (nodes_peer_equal(&was->peers[n], &now->peers[n]))
			continue;
		print_peer(n, &was->peers[n], &now->peers[n]);
		changed = true;
	}
	if (!changed)
		puts("nothing had to be changed");
}

static void report_check(const struct cluster *c)
{
	json_object *all;

	if (!options.json) {
		printf("%s: %zu node%s of %u; this is node %u, %s\n", c->file,
		       c->count, c->count == 1 ? "" : "s", c->max,
		       c->self->number, c->self->host);
		return;
	}
	all = json_object_new_object();
	json_object_object_add(all, "node",
			       json_object_new_int64(c->self->number));
	json_object_object_add(all, "maxnodes", json_object_new_int64(c->max));
	json_object_object_add(all, "nodes", json_object_new_int64(c->count));
	print_json(all);
}

/* ---- doing it ----------------------------------------------------------- */

static void want_cluster(struct nodes *want, const struct cluster *c)
{
	size_t i;

	want->id = c->self->number;
	want->max = c->max;
	want->port = c->self->port;
	memset(want->peers, 0, sizeof(want->peers));
	for (i = 0; i < c->count; i++) {
		const struct cluster_node *node = &c->nodes[i];

		if (node == c->self)
			continue;
		want->peers[node->number] = (struct nodes_peer) {
			.present = true,
			.addr = node->addr,
			.dead_time = c->dead_time,
			.payload_crc = c->payload_crc,
		};
	}
}

/**
 * struct steps - from where to where
 * @was: what was there
 * @now: what is there
 * @want: what is to be there
 */
struct steps {
	struct nodes was;
	struct nodes now;
	struct nodes want;
};

/* The kernel has said what is wrong; this tells where. */
static void say_culprit(const struct cluster *c, uint32_t number)
{
	size_t i;

	for (i = 0; i < c->count; i++) {
		if (c->nodes[i].number == number)
			on_error(c->file, c->nodes[i].line,
				 "this node cannot be a peer");
	}
}

/* All of it or nothing. */
static int walk(struct ddnl *nl, struct steps *s, const struct cluster *c)
{
	int status;

	status = nodes_get(nl, &s->was);
	if (status)
		return status;
	s->now = s->was;
	s->want = s->was;
	want_cluster(&s->want, c);
	status = nodes_reach(nl, &s->now, &s->want);
	if (!status) {
		if (options.json)
			report_json(&s->was, &s->now);
		else
			report_text(&s->was, &s->now);
		return EXIT_OK;
	}
	say_culprit(c, s->now.culprit);
	if (nodes_reach(nl, &s->now, &s->was))
		say("%s: what was there before is not all back; see: ddctl peer",
		    c->file);
	else
		say("%s: nothing has been changed", c->file);
	return status;
}

static int apply(const struct cluster *c)
{
	struct steps *steps = malloc(sizeof(*steps));
	struct ddnl nl;
	int status;

	if (!steps) {
		say("out of memory");
		return EXIT_RUNTIME;
	}
	status = ddnl_open(&nl);
	if (!status) {
		status = walk(&nl, steps, c);
		ddnl_close(&nl);
	}
	free(steps);
	return status;
}

static int use_file(const struct request *req, FILE *in, const char *name)
{
	struct cluster c;
	int status = EXIT_CLUSTER;

	if (cluster_read(&c, &env, in, name) &&
	    cluster_resolve(&c, req->has_self ? &req->self : NULL)) {
		status = EXIT_OK;
		if (req->check)
			report_check(&c);
		else
			status = apply(&c);
	}
	cluster_free(&c);
	return status;
}

static int apply_run(int argc, char **argv)
{
	struct request req = { };
	int status;
	FILE *in;

	status = parse_request(&req, argc, argv);
	if (status)
		return status;
	if (!strcmp(req.file, "-"))
		return use_file(&req, stdin, "standard input");
	in = fopen(req.file, "re");
	if (!in) {
		say("%s: %s", req.file, strerror(errno));
		return EXIT_RUNTIME;
	}
	status = use_file(&req, in, req.file);
	fclose(in);
	return status;
}

static const struct command apply_command = {
	.name = "apply",
	.brief = "make node and peers what a cluster file says",
	.verbs = (const struct verb[]) {
		{ "", "[--check] [--node NUMBER] FILE",
		  "apply dd-cluster.conf(5), the same on all nodes, or only check it",
		  apply_run },
		{ }
	},
};

COMMAND(apply_command);
