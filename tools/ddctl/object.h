/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One table for each kind of object that the kernel reports: names, types and
 * headings of its attributes. Messages are converted to JSON by these tables, and
 * both kinds of output are printed from that JSON.
 */
#ifndef DDCTL_OBJECT_H
#define DDCTL_OBJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <json-c/json.h>
#include <netlink/attr.h>

/**
 * enum attr_kind - type of an attribute, on the wire and in JSON
 * @ATTR_BOOL: u8, and a boolean
 * @ATTR_U32: u32, and a number
 * @ATTR_U64: u64, and a number
 * @ATTR_STRING: string, and a string
 * @ATTR_ENUM: u32, and a string of attr.names; a number if it has no name
 * @ATTR_ADDRESS: a sockaddr of IPv4 or IPv6, and a string
 * @ATTR_COUNTERS: any number of nests of a name and a u64, and an object
 */
enum attr_kind {
	ATTR_BOOL,
	ATTR_U32,
	ATTR_U64,
	ATTR_STRING,
	ATTR_ENUM,
	ATTR_ADDRESS,
	ATTR_COUNTERS,
};

/**
 * struct attr - an attribute of an object
 * @id: DD_A_*
 * @key: name in JSON: the specification's, with '-' as '_'
 * @head: heading in tables, NULL to leave it out
 * @kind: enum attr_kind
 * @alone: shown of a single object only
 * @word: name on the command line, NULL if it cannot be set
 * @names: of the values of an %ATTR_ENUM, by number; ends with a NULL behind
 *	the last one
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

extern const struct object object_node;
extern const struct object object_service;
extern const struct object object_conn;
extern const struct object object_region;
extern const struct object object_stat;
extern const struct object object_peers;
extern const struct object object_peer;

/* The attribute of this number, or NULL. */
const struct attr *object_attr(const struct object *obj, int id);

/*
 * Parse @len bytes of attributes from @head; NULL if they do not match @obj.
 * Unknown attributes, of later kernels, are ignored.
 */
json_object *object_parse(const struct object *obj, struct nlattr *head,
			  int len);

#endif /* DDCTL_OBJECT_H */
