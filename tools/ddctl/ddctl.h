/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ddctl - administration of dd: definitions shared by its files.
 */
#ifndef DDCTL_H
#define DDCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <netinet/in.h>
#include <json-c/json.h>
#include <netlink/netlink.h>

/* Exit status; part of the interface, see ddctl(8). */
enum ddctl_exit {
	EXIT_OK = 0,		/* done */
	EXIT_RUNTIME = 1,	/* a system call, a file or the network failed */
	EXIT_USAGE = 2,		/* wrong command line */
	EXIT_NO_MODULE = 3,	/* dd.ko is not loaded */
	EXIT_PERMISSION = 4,	/* the caller is not permitted to do this */
	EXIT_REFUSED = 5,	/* the kernel refused the request */
	EXIT_FINDINGS = 6,	/* doctor found something to fix */
	EXIT_CLUSTER = 7,	/* the cluster file has errors, or does not fit */
	EXIT_PARTLY = 8,	/* applied without nodes whose names have no usable address */
};

/* ---- the command line (main.c) -------------------------------------------- */

/**
 * struct options - options of the command line
 * @json: print JSON instead of tables
 * @pretty: indent that JSON
 * @timestamp: monitor prints times
 * @check: apply checks the file only
 * @node: number of this node for apply; NULL to find it by address
 * @columns: names of the attributes to show, separated by commas; NULL for the usual ones
 */
struct options {
	bool json;
	bool pretty;
	bool timestamp;
	bool check;
	const char *node;
	const char *columns;
};

extern struct options options;

struct object;

/**
 * struct verb - an action of a command
 * @name: word on the command line, "" if the command has one action
 * @args: arguments, for help; NULL if it takes none
 * @brief: one line for help
 * @run: execute it with the words after the verb; returns enum ddctl_exit; NULL to print
 *	all objects of @show
 * @show: kind of the objects that it prints
 * @cmd: for @run: DD_CMD_*
 */
struct verb {
	const char *name;
	const char *args;
	const char *brief;
	int (*run)(const struct verb *verb, int argc, char **argv);
	const struct object *show;
	uint8_t cmd;
};

/**
 * struct command - the first word of a command line
 * @name: that word
 * @brief: one line for help
 * @verbs: its actions, the default first; ends with a NULL name
 */
struct command {
	const char *name;
	const char *brief;
	const struct verb *verbs;
};

/* A command with one action. */
#define COMMAND(cmd, text, arguments, verb_text)			\
	const struct command command_##cmd = {				\
		.name = #cmd,						\
		.brief = text,						\
		.verbs = (const struct verb[]) {			\
			{ "", arguments, verb_text, .run = cmd##_run },	\
			{ }						\
		},							\
	}

extern const struct command command_apply, command_conn, command_doctor,
	command_help, command_import, command_monitor, command_node, command_peer,
	command_region, command_segment, command_service, command_stat, command_version;

/* Print a line on standard error. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Print an error and return @status. */
#define fail(status, ...)	(say(__VA_ARGS__), (status))

/* Return @p; if it is NULL, report that memory is exhausted and exit. */
void *must(void *p);

/* Version of the loaded module, in static memory; "" if there is none. */
const char *module_version(void);

/* A JSON string; U+FFFD replaces bytes that are not UTF-8. */
json_object *text_to_json(const char *s);

/* Add a value to a JSON object. */
#define json_add(obj, key, value)	json_object_object_add(obj, key, value)
#define json_str(s)			json_object_new_string(s)
#define json_int(n)			json_object_new_int64(n)

/* Members of a JSON object; 0, false or "" if absent. */
int64_t json_number(json_object *obj, const char *key);
const char *json_text(json_object *obj, const char *key);

/* Print a line of JSON, or several with options.pretty, and put @value. */
void print_json(json_object *value);

/* Return @status, or %EXIT_RUNTIME if standard output could not be written. */
int finish_output(int status);

/* ---- addresses of nodes (addr.c) ------------------------------------------ */

#define ADDR_PORT	56797	/* UDP, by default */
#define ADDR_TEXT_MAX	80	/* of addr_text(), with the NUL */
#define ADDR_HOST_MAX	256	/* of a name, with the NUL */
#define ADDR_LIST_MAX	16	/* addresses of a name, at most */

/* IPv4 or IPv6, with a port. */
union addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

socklen_t addr_len(const union addr *addr);
void addr_set_port(union addr *addr, uint16_t port);
bool addr_equal(const union addr *a, const union addr *b);

/* Copy a struct sockaddr of @len bytes; false if it is neither IPv4 nor IPv6. */
bool addr_from(union addr *addr, const void *bytes, size_t len);

/* "10.0.0.1:56797", "[fe80::1%eth0]:56797". */
void addr_text(const union addr *addr, char text[ADDR_TEXT_MAX]);

/*
 * Split "HOST", "HOST:PORT", "ADDRESS", "ADDRESS:PORT", "[ADDRESS]" or
 * "[ADDRESS]:PORT" into host and port; @port is not changed if there is none.
 * Returns NULL, or the error.
 */
const char *addr_split(const char *text, char host[ADDR_HOST_MAX], uint16_t *port);

/* Parse a decimal number from 1 to 65535. */
bool addr_parse_port(const char *text, uint16_t *port);

/* Find at most @max addresses of a host, with port 0. NULL, or the error. */
const char *addr_resolve(const char *host, union addr *list, size_t max, size_t *n);

/*
 * Choose the only IPv4 address, or else the only IPv6 address: all nodes of a
 * cluster choose the same, in whatever order they get them. NULL, or the error.
 */
const char *addr_choose(const union addr *list, size_t n, union addr *addr);

/* Why it cannot be the address of a peer, or NULL. */
const char *addr_fault(const union addr *addr);

bool addr_is_loopback(const union addr *addr);

/* Whether @addr, whatever its port, is an address of this network namespace. */
bool addr_is_own(const union addr *addr);

/* ---- settings of node and peers (words.c) --------------------------------- */

#define NODES_TOTAL	4096	/* largest number of nodes */

enum {
	SET_ID,
	SET_MAX,
	SET_PORT,
	SET_UP,
	SET_DEAD_TIME,
	SET_PAYLOAD_CRC,
	SETTINGS
};

#define NODE_SETTINGS	(1u << SET_ID | 1u << SET_MAX | 1u << SET_PORT)
#define PEER_SETTINGS	(1u << SET_DEAD_TIME | 1u << SET_PAYLOAD_CRC)

/**
 * struct setting - a word that a value follows
 * @word: on the command line and in the cluster file
 * @attr: DD_A_*
 * @on_off: the value is "on" or "off", and a u8; otherwise a u32
 * @min: least value of a number, as the kernel has it
 * @max: greatest value of a number
 */
struct setting {
	const char *word;
	int attr;
	bool on_off;
	uint32_t min;
	uint32_t max;
};

extern const struct setting settings[SETTINGS];

/* Values of settings; bit n of @given is set if there is a @value[n]. */
struct values {
	unsigned int given;
	uint32_t value[SETTINGS];
};

/* The setting of @allowed with this word, or -1. */
int setting_find(unsigned int allowed, const char *word);

/* Parse a value as @s describes; false if it is wrong. */
bool parse_value(const struct setting *s, const char *text, uint32_t *value);

/* Parse the number of a node, named @what in errors; enum ddctl_exit. */
int parse_node(const char *what, const char *text, uint32_t *number);

/* Parse all words after @command: settings of @allowed; enum ddctl_exit. */
int parse_settings(const char *command, unsigned int allowed, struct values *v,
		   int argc, char **argv);

/* ---- the cluster file, dd-cluster.conf(5) (cluster.c) --------------------- */

/**
 * struct cluster_node - a line with a node
 * @number: its number
 * @host: name or address
 * @port: UDP port
 * @line: number of the line
 * @addr: address and port; set by cluster_resolve(), not for this node itself
 * @skipped: its name has no address that can be used now
 */
struct cluster_node {
	uint32_t number;
	char host[ADDR_HOST_MAX];
	uint16_t port;
	unsigned int line;
	union addr addr;
	bool skipped;
};

/**
 * struct cluster - contents of a file
 * @file: its name
 * @errors: number of errors
 * @skipped: number of nodes that are left out
 * @nodes: in the order of the file
 * @count: number of nodes in the file
 * @self: this node, one of @nodes; set by cluster_resolve()
 * @max: number of nodes
 * @dead_time: of all peers, in milliseconds
 * @payload_crc: of all peers, 0 or 1
 * @set: settings in the file
 * @set_line: their lines, or 0
 */
struct cluster {
	const char *file;
	unsigned int errors;
	unsigned int skipped;
	struct cluster_node *nodes;
	size_t count;
	const struct cluster_node *self;
	uint32_t max;
	uint32_t dead_time;
	uint32_t payload_crc;
	struct values set;
	unsigned int set_line[SETTINGS];
};

/* Read a file named @file in errors; false if it has any. cluster_free() it. */
bool cluster_read(struct cluster *c, FILE *in, const char *file);

/*
 * Look up all names of a file without errors, and find this node: by its number
 * @self, or by its addresses if that is NULL. False if there were errors. A node whose
 * name has no usable address is reported and skipped, which is no error.
 */
bool cluster_resolve(struct cluster *c, const uint32_t *self);

void cluster_free(struct cluster *c);

/* ---- objects of the kernel (object.c, table.c) ---------------------------- */

/* Type of an attribute, on the wire and in JSON. */
enum attr_kind {
	ATTR_BOOL,		/* u8, and a boolean */
	ATTR_U32,		/* u32, and a number */
	ATTR_U64,		/* u64, and a number */
	ATTR_STRING,		/* string, and a string */
	ATTR_ENUM,		/* u32, and a string of attr.names */
	ATTR_FLAGS,		/* u32, and strings of attr.names, separated by commas */
	ATTR_KEY,		/* key of a segment, and a string as its class says */
	ATTR_ADDRESS,		/* a sockaddr of IPv4 or IPv6, and a string */
	ATTR_COUNTERS,		/* nests of a name and a u64, and an object */
};

/**
 * struct attr - an attribute of an object
 * @id: DD_A_*
 * @key: name in JSON: the specification's, with '-' as '_'
 * @head: heading in tables, NULL to leave it out
 * @kind: its type
 * @alone: shown of a single object only
 * @word: name on the command line, NULL if it cannot be set
 * @names: of the values of an %ATTR_ENUM, or of the bits of %ATTR_FLAGS, by number; NULL
 *	behind the last one, and also first if numbers start with 1
 */
struct attr {
	uint16_t id;
	const char *key;
	const char *head;
	enum attr_kind kind;
	bool alone;
	const char *word;
	const char *const *names;
};

/**
 * struct object - a kind of object
 * @name: key in JSON
 * @get: netlink command that requests it
 * @many: requested by a dump
 * @attrs: its attributes, in the order of columns; ends with a NULL key
 */
struct object {
	const char *name;
	uint8_t get;
	bool many;
	const struct attr *attrs;
};

/* object_peer is one peer, requested by its number; object_peers are all. */
extern const struct object object_node, object_service, object_conn, object_region,
	object_segment, object_import, object_stat, object_peers, object_peer;

/*
 * Parse @len bytes of attributes from @head; NULL if they do not match @obj.
 * Unknown attributes, of later kernels, are ignored.
 */
json_object *object_parse(const struct object *obj, struct nlattr *head, int len);

/*
 * Print @rows, an array of objects made by object_parse(), as options ask: JSON, a
 * table, or a line for each attribute of a single object. Puts @rows.
 */
void table_print(const struct object *obj, json_object *rows);

/* All names that -o may have, separated by commas, to be freed. */
char *table_columns(const struct object *obj);

/* Report a name of -o that @obj does not have; enum ddctl_exit. */
int table_check(const struct object *obj);

/* Print one object in one line: "key value key value". */
void table_print_line(const struct object *obj, json_object *row);

/* ---- generic netlink (nl.c) ------------------------------------------------ */

/**
 * struct ddnl - a netlink socket
 * @sk: the socket
 * @family: number of the family
 * @refused: errno of the last answer, 0 if it was no refusal
 */
struct ddnl {
	struct nl_sock *sk;
	int family;
	int refused;
};

/* These report their errors and return enum ddctl_exit. */
int ddnl_open(struct ddnl *nl);
void ddnl_close(struct ddnl *nl);

/* Request the objects of a kind; @rows is an array of them, to be put. */
int ddnl_get(struct ddnl *nl, const struct object *obj, json_object **rows);

/* A request for ddnl_ask(), which frees it. */
struct nl_msg *ddnl_request(struct ddnl *nl, uint8_t cmd, int flags);

/* Send @msg with attributes of @obj; @rows as for ddnl_get(), or NULL. */
int ddnl_ask(struct ddnl *nl, const struct object *obj, struct nl_msg *msg,
	     json_object **rows);

/**
 * ddnl_listen() - receive events until an error or the end of the module
 * @nl: an open socket, not used otherwise
 * @ready: called once, when no further event can be missed; a status other than
 *	%EXIT_OK ends this function
 * @event: called for each event
 *
 * Lost events are reported on standard error.
 */
int ddnl_listen(struct ddnl *nl, int (*ready)(void),
		void (*event)(uint8_t cmd, struct nlattr *head, int len));

/* Print the objects of a kind as table or JSON. */
int ddnl_show(const struct object *obj);

#endif /* DDCTL_H */
