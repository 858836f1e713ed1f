// SPDX-License-Identifier: GPL-2.0-only
/*
 * Values of settings.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

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

struct setting *setting_find(struct setting *list, const char *word)
{
	for (; list->word; list++) {
		if (!strcmp(list->word, word))
			return list;
	}
	return NULL;
}
