// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl apply - configure this node and its peers by a cluster file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "ddctl.h"
#include "nodes.h"
#include "words.h"

/* ---- reports ------------------------------------------------------------ */

static const char *address(const struct nodes_peer *peer)
{
	static char text[ADDR_TEXT_MAX];

	addr_text(&peer->addr, text);
	return text;
}

static bool node_equal(const struct nodes *a, const struct nodes *b)
{
	return a->id == b->id && a->max == b->max && a->port == b->port;
}

static json_object *change_json(uint32_t n, const struct nodes_peer *was,
				const struct nodes_peer *now)
{
	json_object *change = json_object_new_object();

	json_add(change, "peer", json_int(n));
	json_add(change, "action", json_str(!was->present ? "added" :
					    !now->present ? "removed" : "changed"));
	json_add(change, "address", json_str(address(now->present ? now : was)));
	return change;
}

static void print_change(uint32_t n, const struct nodes_peer *was,
			 const struct nodes_peer *now)
{
	bool moved = was->present && now->present && !addr_equal(&was->addr, &now->addr);

	printf("peer %u: %s", n, !was->present ? "added" :
	       !now->present ? "removed" : "changed");
	if (now->present)
		printf(", %s", address(now));
	if (!now->present || moved)
		printf(", was %s", address(was));
	putchar('\n');
}

static void report(const struct nodes *was, const struct nodes *now)
{
	json_object *all = json_object_new_object(), *peers = json_object_new_array();
	bool changed = !node_equal(was, now);
	uint32_t n;

	json_add(all, "node", json_int(now->id));
	json_add(all, "maxnodes", json_int(now->max));
	json_add(all, "port", json_int(now->port));
	json_add(all, "node_changed", json_object_new_boolean(changed));
	json_add(all, "peers", peers);
	if (changed && !options.json)
		printf("node %u of %u, port %u; was node %u of %u, port %u\n", now->id,
		       now->max, now->port, was->id, was->max, was->port);
	for (n = 0; n < NODES_TOTAL; n++) {
		if (nodes_peer_equal(&was->peers[n], &now->peers[n]))
			continue;
		changed = true;
		json_object_array_add(peers, change_json(n, &was->peers[n], &now->peers[n]));
		if (!options.json)
			print_change(n, &was->peers[n], &now->peers[n]);
	}
	if (options.json) {
		print_json(all);
		return;
	}
	json_object_put(all);
	if (!changed)
		puts("nothing to change");
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
	json_add(all, "node", json_int(c->self->number));
	json_add(all, "maxnodes", json_int(c->max));
	json_add(all, "nodes", json_int(c->count));
	print_json(all);
}

/* ---- changes ------------------------------------------------------------ */

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
 * struct steps - states of the node and its peers
 * @was: before
 * @now: at present
 * @want: to be reached
 */
struct steps {
	struct nodes was;
	struct nodes now;
	struct nodes want;
};

/* Name the line of the peer that the kernel refused. */
static void say_culprit(const struct cluster *c, uint32_t number)
{
	size_t i;

	for (i = 0; i < c->count; i++) {
		if (c->nodes[i].number == number)
			say("%s:%u: this node cannot be a peer", c->file,
			    c->nodes[i].line);
	}
}

/* Make all changes, or undo them. */
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
		report(&s->was, &s->now);
		return EXIT_OK;
	}
	say_culprit(c, s->now.culprit);
	if (nodes_reach(nl, &s->now, &s->was))
		say("%s: could not restore the previous state; see: ddctl peer",
		    c->file);
	else
		say("%s: nothing has been changed", c->file);
	return status;
}

static int apply(const struct cluster *c)
{
	struct steps *steps = must(malloc(sizeof(*steps)));
	struct ddnl nl;
	int status;

	status = ddnl_open(&nl);
	if (!status) {
		status = walk(&nl, steps, c);
		ddnl_close(&nl);
	}
	free(steps);
	return status;
}

static int use_file(FILE *in, const char *name, const uint32_t *self)
{
	struct cluster c;
	int status = EXIT_CLUSTER;

	if (cluster_read(&c, in, name) && cluster_resolve(&c, self)) {
		status = EXIT_OK;
		if (options.check)
			report_check(&c);
		else
			status = apply(&c);
	}
	cluster_free(&c);
	return status;
}

static int apply_run(int argc, char **argv)
{
	uint32_t self, *given = options.node ? &self : NULL;
	int status;
	FILE *in;

	if (argc != 1)
		return fail(EXIT_USAGE, "apply needs the name of one file; see: ddctl help apply");
	if (given && parse_u32("apply: --node", options.node, 0, NODES_TOTAL - 1, given))
		return EXIT_USAGE;
	if (!strcmp(argv[0], "-"))
		return use_file(stdin, "standard input", given);
	in = fopen(argv[0], "re");
	if (!in)
		return fail(EXIT_RUNTIME, "%s: %s", argv[0], strerror(errno));
	status = use_file(in, argv[0], given);
	fclose(in);
	return status;
}

static const struct command apply_command = {
	.name = "apply",
	.brief = "configure node and peers by a cluster file",
	.verbs = (const struct verb[]) {
		{ "", "[--check] [--node NUMBER] FILE",
		  "apply dd-cluster.conf(5), the same on all nodes, or only check it",
		  .run = apply_run },
		{ }
	},
};

COMMAND(apply_command);
