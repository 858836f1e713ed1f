/* SPDX-License-Identifier: GPL-2.0-only */
/* Settings of the node and of peers. */
#ifndef DDCTL_WORDS_H
#define DDCTL_WORDS_H

#include <stdbool.h>
#include <stdint.h>

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

#endif /* DDCTL_WORDS_H */
