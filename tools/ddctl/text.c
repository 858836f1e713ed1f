// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of services are bytes that any user may choose.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "text.h"

#define REPLACEMENT	"\xef\xbf\xbd"

static bool is_tail(uint8_t c)
{
	return (c & 0xc0) == 0x80;
}

/* Bytes of the UTF-8 character at @s, 0 if there is none. */
static int utf8_len(const char *s)
{
	const uint8_t *b = (const uint8_t *)s;

	if (b[0] < 0x80)
		return 1;
	if (b[0] >= 0xc2 && b[0] < 0xe0)
		return is_tail(b[1]) ? 2 : 0;
	/* Neither overlong nor half of a surrogate pair. */
	if ((b[0] & 0xf0) == 0xe0) {
		if ((b[0] == 0xe0 && b[1] < 0xa0) || (b[0] == 0xed && b[1] > 0x9f))
			return 0;
		return is_tail(b[1]) && is_tail(b[2]) ? 3 : 0;
	}
	if (b[0] >= 0xf0 && b[0] < 0xf5) {
		if ((b[0] == 0xf0 && b[1] < 0x90) || (b[0] == 0xf4 && b[1] > 0x8f))
			return 0;
		return is_tail(b[1]) && is_tail(b[2]) && is_tail(b[3]) ? 4 : 0;
	}
	return 0;
}

json_object *text_to_json(const char *s)
{
	char *clean = NULL;
	json_object *str;
	size_t size;
	FILE *out;
	int len;

	out = open_memstream(&clean, &size);
	if (!out)
		return NULL;
	for (; *s; s += len ? len : 1) {
		len = utf8_len(s);
		if (len)
			fwrite(s, 1, len, out);
		else
			fputs(REPLACEMENT, out);
	}
	fclose(out);
	str = json_object_new_string_len(clean, size);
	free(clean);
	return str;
}

/* Control characters are those of ASCII, and U+0080 to U+009F. */
static bool is_control(const char *s)
{
	uint8_t c = s[0];

	return c < 0x20 || c == 0x7f || (c == 0xc2 && (uint8_t)s[1] < 0xa0);
}

int text_width(const char *s)
{
	int len, width = 0;

	for (; *s; s += len) {
		len = utf8_len(s);
		if (len && !is_control(s)) {
			width++;
		} else {
			len = len ? len : 1;
			width += 4 * len;
		}
	}
	return width;
}

void text_print(FILE *out, const char *s)
{
	int len;

	for (; *s; s += len) {
		len = utf8_len(s);
		if (len && !is_control(s)) {
			fwrite(s, 1, len, out);
			continue;
		}
		/* A character of two bytes has its second shown next time. */
		len = 1;
		fprintf(out, "\\x%02x", (uint8_t)*s);
	}
}
