// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cluster file. Every error is reported, not only the first.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "say.h"

#define BLANKS		" \t\r\n\v\f"
#define WORDS_MAX	4	/* more than any line may have */
#define DEAD_TIME	5000	/* ms, by default */
#define FILE_SETTINGS	(1u << SET_MAX | PEER_SETTINGS)

static void report(const struct cluster *c, unsigned int line, const char *fmt, va_list ap)
{
	char text[512];

	vsnprintf(text, sizeof(text), fmt, ap);
	if (line)
		say("%s:%u: %s", c->file, line, text);
	else
		say("%s: %s", c->file, text);
}

static void __attribute__((format(printf, 3, 4)))
complain(struct cluster *c, unsigned int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report(c, line, fmt, ap);
	va_end(ap);
	c->errors++;
}

/* ---- lines -------------------------------------------------------------- */

/* Like parse_value(), for decimal numbers only. */
static bool parse_decimal(const struct setting *s, const char *text, uint32_t *value)
{
	return (s->on_off || text[strspn(text, "0123456789")] == '\0') &&
	       parse_value(s, text, value);
}

static void read_setting(struct cluster *c, int set, unsigned int line, char **words,
			 int n)
{
	const struct setting *s = &settings[set];
	unsigned int *seen = &c->set_line[set];
	char range[32] = "on or off";

	if (!s->on_off)
		snprintf(range, sizeof(range), "%u to %u%s", s->min, s->max,
			 set == SET_DEAD_TIME ? " ms" : "");
	if (*seen) {
		complain(c, line, "%s is there already, in line %u", s->word, *seen);
		return;
	}
	*seen = line;
	if (n != 2)
		complain(c, line, "%s needs one value: %s", s->word, range);
	else if (!parse_decimal(s, words[1], &c->set.value[set]))
		complain(c, line, "%s must be %s, not '%.100s'", s->word, range,
			 words[1]);
	else
		c->set.given |= 1u << set;
}

static const struct cluster_node *node_find(const struct cluster *c,
					    uint32_t number)
{
	size_t i;

	for (i = 0; i < c->count; i++) {
		if (c->nodes[i].number == number)
			return &c->nodes[i];
	}
	return NULL;
}

/* Host and port, in one word or in two. */
static void read_host(struct cluster *c, struct cluster_node *node,
		      char **words, int n)
{
	uint16_t port = 0;
	const char *wrong;

	wrong = addr_split(words[1], node->host, &port);
	if (wrong)
		complain(c, node->line, "'%.100s': %s", words[1], wrong);
	else if (port && n == 3)
		complain(c, node->line, "'%.100s' has a port, and '%.100s' follows",
			 words[1], words[2]);
	else if (n == 3 && !addr_parse_port(words[2], &port))
		complain(c, node->line, "the port must be 1 to 65535, not '%.100s'",
			 words[2]);
	node->port = port ? port : ADDR_PORT;
}

static void read_node(struct cluster *c, unsigned int line, char **words, int n)
{
	struct cluster_node node = { .line = line };
	const struct cluster_node *other;

	if (!parse_decimal(&settings[SET_ID], words[0], &node.number)) {
		complain(c, line, "a node's number is 0 to %u, not '%.100s'",
			 NODES_TOTAL - 1, words[0]);
		return;
	}
	other = node_find(c, node.number);
	if (other) {
		complain(c, line, "node %u is there already, in line %u",
			 node.number, other->line);
		return;
	}
	if (n < 2)
		complain(c, line, "node %u needs a host name or an address",
			 node.number);
	else if (n > 3)
		complain(c, line, "'%.100s': a line is NUMBER HOST [PORT]",
			 words[3]);
	else
		read_host(c, &node, words, n);
	/* Even with errors, so that these do not cause others. */
	c->nodes[c->count++] = node;
}

static void read_line(struct cluster *c, unsigned int line, char *text)
{
	char *words[WORDS_MAX], *save = NULL, *word;
	int n = 0, set;

	text[strcspn(text, "#")] = '\0';
	for (word = strtok_r(text, BLANKS, &save); word && n < WORDS_MAX;
	     word = strtok_r(NULL, BLANKS, &save))
		words[n++] = word;
	if (!n)
		return;
	set = setting_find(FILE_SETTINGS, words[0]);
	if (set >= 0)
		read_setting(c, set, line, words, n);
	else if (words[0][0] < '0' || words[0][0] > '9')
		complain(c, line,
			 "'%.100s' is neither a node's number nor 'max', 'dead-time' or 'payload-crc'",
			 words[0]);
	else
		read_node(c, line, words, n);
}

static void read_lines(struct cluster *c, FILE *in)
{
	unsigned int line = 0;
	char *text = NULL;
	size_t size = 0;
	ssize_t len;

	while ((len = getline(&text, &size, in)) >= 0) {
		line++;
		if (strlen(text) != (size_t)len)
			complain(c, line, "a zero byte; is this a text file?");
		else
			read_line(c, line, text);
	}
	if (ferror(in))
		complain(c, 0, "%s", strerror(errno));
	free(text);
}

/* ---- the file as a whole ------------------------------------------------ */

/* Without "max" it is one more than the greatest number. */
static void check_max(struct cluster *c)
{
	unsigned int max_line = c->set_line[SET_MAX];
	size_t i;

	/* A wrong value was reported. */
	if (max_line && !(c->set.given & 1u << SET_MAX))
		return;
	c->max = max_line ? c->set.value[SET_MAX] : 0;
	for (i = 0; i < c->count; i++) {
		const struct cluster_node *node = &c->nodes[i];

		if (node->number < c->max)
			continue;
		if (max_line)
			complain(c, node->line,
				 "node %u is not below max %u of line %u",
				 node->number, c->max, max_line);
		else
			c->max = node->number + 1;
	}
}

bool cluster_read(struct cluster *c, FILE *in, const char *file)
{
	*c = (struct cluster) {
		.file = file,
		/* Enough, since each number is there at most once. */
		.nodes = must(calloc(NODES_TOTAL, sizeof(*c->nodes))),
	};
	read_lines(c, in);
	if (!c->count && !c->errors)
		complain(c, 0, "there is no node in it");
	check_max(c);
	c->dead_time = c->set.given & 1u << SET_DEAD_TIME ? c->set.value[SET_DEAD_TIME] :
		       DEAD_TIME;
	c->payload_crc = c->set.value[SET_PAYLOAD_CRC];
	return !c->errors;
}

void cluster_free(struct cluster *c)
{
	free(c->nodes);
	c->nodes = NULL;
}

/* ---- addresses ---------------------------------------------------------- */

static bool is_numeric(const char *host)
{
	unsigned char bytes[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, host, bytes) == 1 ||
	       inet_pton(AF_INET6, host, bytes) == 1;
}

/*
 * Report what is wrong with the address of @node. An address in the file, and that of
 * this machine, are errors. What the name of another node resolves to changes without the
 * file, and must not keep this machine from the other nodes: @node is left out.
 */
static void __attribute__((format(printf, 3, 4)))
reject(struct cluster *c, struct cluster_node *node, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report(c, node->line, fmt, ap);
	va_end(ap);
	if (node == c->self || is_numeric(node->host)) {
		c->errors++;
	} else {
		node->skipped = true;
		c->skipped++;
	}
}

/**
 * struct lookup - addresses of a node
 * @list: addresses of its host
 * @n: number of addresses
 * @own: one of them is an address of this machine
 */
struct lookup {
	union addr list[ADDR_LIST_MAX];
	size_t n;
	bool own;
};

static void look_up(struct cluster *c, struct cluster_node *node, struct lookup *found)
{
	const char *wrong;
	size_t i;

	wrong = addr_resolve(node->host, found->list, ADDR_LIST_MAX, &found->n);
	if (wrong) {
		found->n = 0;
		/* --node says which line this machine is; its address is not needed. */
		if (node != c->self)
			reject(c, node, "%s: %s", node->host, wrong);
	}
	for (i = 0; i < found->n; i++)
		found->own |= addr_is_own(&found->list[i]);
}

static void find_self(struct cluster *c, const struct lookup *found)
{
	size_t i;

	for (i = 0; i < c->count; i++) {
		const struct cluster_node *node = &c->nodes[i];

		if (!found[i].own)
			continue;
		if (c->self)
			complain(c, node->line,
				 "%s is this machine, and so is %s in line %u; which node is it? --node NUMBER",
				 node->host, c->self->host, c->self->line);
		else
			c->self = node;
	}
	if (!c->self && !c->errors)
		complain(c, 0,
			 "no line has an address of this machine; which node is it? --node NUMBER");
}

static void choose(struct cluster *c, struct cluster_node *node,
		   const struct lookup *found)
{
	const char *wrong = NULL;

	if (!found->n)
		return;
	/* Other nodes choose the address of this node themselves. */
	if (node == c->self)
		node->addr = found->list[0];
	else
		wrong = addr_choose(found->list, found->n, &node->addr);
	if (!wrong)
		wrong = addr_fault(&node->addr);
	/* The name of this machine often has one: Debian uses 127.0.1.1. */
	if (!wrong && addr_is_loopback(&node->addr) &&
	    (node != c->self || is_numeric(node->host)))
		wrong = "a loopback address, which every machine has";
	if (wrong)
		reject(c, node, "%s: %s", node->host, wrong);
	addr_set_port(&node->addr, node->port);
}

/* Whether @node is this one, and one of its addresses is @addr. */
static bool is_self_at(const struct cluster *c, const struct cluster_node *node,
		       const struct lookup *found, const union addr *addr)
{
	union addr own;
	size_t i;

	for (i = 0; node == c->self && i < found->n; i++) {
		own = found->list[i];
		addr_set_port(&own, node->port);
		if (addr_equal(&own, addr))
			return true;
	}
	return false;
}

/* Report another node with the address of node @at. */
static void check_shared(struct cluster *c, size_t at, const struct lookup *found)
{
	struct cluster_node *node = &c->nodes[at];
	char text[ADDR_TEXT_MAX];
	size_t i;

	if (node == c->self || node->skipped)
		return;
	if (found[at].own && node->port == c->self->port) {
		reject(c, node,
		       "%s is this machine, which is node %u; give the other node another port",
		       node->host, c->self->number);
		return;
	}
	for (i = 0; i < c->count; i++) {
		const struct cluster_node *other = &c->nodes[i];

		if (!is_self_at(c, other, &found[i], &node->addr) &&
		    (i >= at || other == c->self || other->skipped ||
		     !addr_equal(&other->addr, &node->addr)))
			continue;
		addr_text(&node->addr, text);
		reject(c, node, "node %u of line %u has the address %s too",
		       other->number, other->line, text);
		return;
	}
}

static void resolve_all(struct cluster *c, struct lookup *found)
{
	size_t i;

	for (i = 0; i < c->count; i++)
		look_up(c, &c->nodes[i], &found[i]);
	if (!c->self)
		find_self(c, found);
	if (c->errors)
		return;
	for (i = 0; i < c->count; i++)
		choose(c, &c->nodes[i], &found[i]);
	for (i = 0; i < c->count; i++)
		check_shared(c, i, found);
}

bool cluster_resolve(struct cluster *c, const uint32_t *self)
{
	struct lookup *found;

	if (self) {
		c->self = node_find(c, *self);
		if (!c->self) {
			complain(c, 0, "there is no node %u in it", *self);
			return false;
		}
	}
	found = must(calloc(c->count, sizeof(*found)));
	resolve_all(c, found);
	free(found);
	return !c->errors;
}
