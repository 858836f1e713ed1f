/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Settings: a word and its value, on the command line and in the cluster file.
 */
#ifndef DDCTL_WORDS_H
#define DDCTL_WORDS_H

#include <stdbool.h>
#include <stdint.h>

struct nl_msg;

#define NODES_TOTAL	4096	/* largest number of nodes */

/**
 * struct setting - a word and its value
 * @word: on the command line; NULL ends a list
 * @attr: DD_A_*
 * @on_off: the value is "on" or "off", and a u8; otherwise a u32
 * @given: it was set
 * @min: least value of a number
 * @max: greatest value of a number
 * @value: the value
 */
struct setting {
	const char *word;
	int attr;
	bool on_off;
	bool given;
	uint32_t min;
	uint32_t max;
	uint32_t value;
};

/* Settings of the node and of peers, with the limits of the kernel. */
#define SETTING_ID							\
	{ .word = "id", .attr = DD_A_NODE_ID, .max = NODES_TOTAL - 1 }
#define SETTING_MAX							\
	{ .word = "max", .attr = DD_A_NODE_MAXNODES, .min = 1, .max = NODES_TOTAL }
#define SETTING_PORT							\
	{ .word = "port", .attr = DD_A_NODE_PORT, .min = 1, .max = UINT16_MAX }
#define SETTING_UP							\
	{ .word = "up", .attr = DD_A_NODE_UP, .on_off = true }
#define SETTING_DEAD_TIME						\
	{ .word = "dead-time", .attr = DD_A_PEER_DEAD_TIME,		\
	  .min = 100, .max = 3600000 }
#define SETTING_PAYLOAD_CRC						\
	{ .word = "payload-crc", .attr = DD_A_PEER_PAYLOAD_CRC, .on_off = true }

/* Parse a value as @s describes; false if it is wrong. */
bool parse_value(const struct setting *s, const char *text, uint32_t *value);

/* Parse a number from @min to @max, named @what in errors; enum ddctl_exit. */
int parse_u32(const char *what, const char *text, uint32_t min, uint32_t max,
	      uint32_t *value);

static inline void setting_give(struct setting *s, bool given, uint32_t value)
{
	s->given = given;
	s->value = value;
}

struct setting *setting_find(struct setting *list, const char *word);

/* Parse all words after @command; enum ddctl_exit. */
int parse_settings(const char *command, struct setting *list, int argc,
		   char **argv);

/* Put the settings that were given into @msg. */
void put_settings(struct nl_msg *msg, const struct setting *list);

#endif /* DDCTL_WORDS_H */
