/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Words of a command line that come in pairs: what, and its value.
 */
#ifndef DDCTL_WORDS_H
#define DDCTL_WORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <netlink/msg.h>

/**
 * enum setting_kind - values of a setting, and its type in a message
 * @SETTING_U32: a number
 * @SETTING_SWITCH: "on" or "off", and a u8
 */
enum setting_kind {
	SETTING_U32,
	SETTING_SWITCH,
};

/**
 * struct setting - a word and its value
 * @word: on the command line; NULL ends a list
 * @attr: DD_A_*
 * @kind: enum setting_kind
 * @given: whether it was
 * @min: least value of a %SETTING_U32
 * @max: greatest value of it
 * @value: what followed
 */
struct setting {
	const char *word;
	int attr;
	enum setting_kind kind;
	bool given;
	uint32_t min;
	uint32_t max;
	uint32_t value;
};

/* Settings of a node and of a peer, with the kernel's own limits. */
#define NODES_TOTAL	4096
#define SETTING_DEAD_TIME						\
	{ .word = "dead-time", .attr = DD_A_PEER_DEAD_TIME,		\
	  .min = 100, .max = 3600000 }
#define SETTING_PAYLOAD_CRC						\
	{ .word = "payload-crc", .attr = DD_A_PEER_PAYLOAD_CRC,		\
	  .kind = SETTING_SWITCH }

/*
 * A number of @min to @max; @what stands for it in messages. Returns enum
 * ddctl_exit.
 */
int parse_u32(const char *what, const char *text, uint32_t min, uint32_t max,
	      uint32_t *value);

struct setting *setting_find(struct setting *list, const char *word);

/* Read all words of a command, for which @command stands; enum ddctl_exit. */
int parse_settings(const char *command, struct setting *list, int argc,
		   char **argv);

/* Put those that were given into @msg; an error of libnl. */
int put_settings(struct nl_msg *msg, const struct setting *list);

#endif /* DDCTL_WORDS_H */
