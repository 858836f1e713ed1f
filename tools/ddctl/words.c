// SPDX-License-Identifier: GPL-2.0-only
/*
 * Settings of the node and of peers, and their values.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/dd_netlink.h>

#include "say.h"
#include "words.h"

const struct setting settings[SETTINGS] = {
	[SET_ID] = { "id", DD_A_NODE_ID, .max = NODES_TOTAL - 1 },
	[SET_MAX] = { "max", DD_A_NODE_MAXNODES, .min = 1, .max = NODES_TOTAL },
	[SET_PORT] = { "port", DD_A_NODE_PORT, .min = 1, .max = UINT16_MAX },
	[SET_UP] = { "up", DD_A_NODE_UP, .on_off = true },
	[SET_DEAD_TIME] = { "dead-time", DD_A_PEER_DEAD_TIME, .min = 100,
			    .max = 3600000 },
	[SET_PAYLOAD_CRC] = { "payload-crc", DD_A_PEER_PAYLOAD_CRC, .on_off = true },
};

int setting_find(unsigned int allowed, const char *word)
{
	int i;

	for (i = 0; i < SETTINGS; i++) {
		if ((allowed >> i & 1) && !strcmp(settings[i].word, word))
			return i;
	}
	return -1;
}

bool parse_value(const struct setting *s, const char *text, uint32_t *value)
{
	bool hex = !strncmp(text, "0x", 2);
	const char *digits = hex ? text + 2 : text;
	unsigned long long n;

	if (s->on_off) {
		*value = !strcmp(text, "on");
		return *value || !strcmp(text, "off");
	}
	/* strtoull() accepts blanks and signs; and "010" is ten, not eight. */
	if (!*digits ||
	    digits[strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789")])
		return false;
	errno = 0;
	n = strtoull(digits, NULL, hex ? 16 : 10);
	*value = n;
	return !errno && n >= s->min && n <= s->max;
}

static int say_range(const char *what, const struct setting *s, const char *text)
{
	return fail(EXIT_USAGE, "%s must be %u to %u, not %s%s%s", what, s->min, s->max,
		    *text ? "" : "'", text, *text ? "" : "'");
}

int parse_node(const char *what, const char *text, uint32_t *number)
{
	return parse_value(&settings[SET_ID], text, number) ? EXIT_OK :
		say_range(what, &settings[SET_ID], text);
}

static int say_unknown(const char *command, unsigned int allowed, const char *word)
{
	char known[128] = "";
	size_t len = 0;
	int i;

	for (i = 0; i < SETTINGS; i++) {
		if (allowed >> i & 1)
			len += snprintf(known + len, sizeof(known) - len, "%s'%s'",
					len ? ", " : "", settings[i].word);
	}
	return fail(EXIT_USAGE, "%s accepts %s, not '%s'", command, known, word);
}

int parse_settings(const char *command, unsigned int allowed, struct values *v,
		   int argc, char **argv)
{
	char what[64];
	int i;

	for (; argc > 0; argc -= 2, argv += 2) {
		const struct setting *s;

		i = setting_find(allowed, argv[0]);
		if (i < 0)
			return say_unknown(command, allowed, argv[0]);
		s = &settings[i];
		if (argc == 1)
			return fail(EXIT_USAGE, "%s: '%s' needs a value", command, argv[0]);
		if (v->given >> i & 1)
			return fail(EXIT_USAGE, "%s: '%s' is given twice", command, argv[0]);
		v->given |= 1u << i;
		if (parse_value(s, argv[1], &v->value[i]))
			continue;
		if (s->on_off)
			return fail(EXIT_USAGE, "%s: %s must be 'on' or 'off', not '%s'",
				    command, s->word, argv[1]);
		snprintf(what, sizeof(what), "%s: %s", command, s->word);
		return say_range(what, s, argv[1]);
	}
	return EXIT_OK;
}
