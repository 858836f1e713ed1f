/* SPDX-License-Identifier: GPL-2.0-only */
/* Objects of the kernel. */
#ifndef DDCTL_OBJECT_H
#define DDCTL_OBJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <json-c/json.h>
#include <netlink/attr.h>

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

#endif /* DDCTL_OBJECT_H */
