// SPDX-License-Identifier: GPL-2.0-only
/*
 * JSON: text that need not be UTF-8, and members of objects.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "ddctl.h"

/* Bytes of the UTF-8 character at @s, 0 if there is none. */
static int utf8_len(const uint8_t *s)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	int i, len = *s < 0x80 ? 1 : *s >> 5 == 6 ? 2 : *s >> 4 == 14 ? 3 :
		     *s >> 3 == 30 ? 4 : 0;
	uint32_t c = len > 1 ? *s & 0x7f >> len : *s;

	for (i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	/* Neither overlong, nor too large, nor half of a surrogate pair. */
	return len > 1 && (c < least[len] || c > 0x10ffff || c >> 11 == 0x1b) ? 0 : len;
}

json_object *text_to_json(const char *s)
{
	char *clean = NULL;
	json_object *str;
	size_t size;
	FILE *out = must(open_memstream(&clean, &size));
	int len;

	for (; *s; s += len ? len : 1) {
		len = utf8_len((const uint8_t *)s);
		fwrite(len ? s : "\xef\xbf\xbd", 1, len ? len : 3, out);
	}
	fclose(out);
	str = json_object_new_string_len(must(clean), size);
	free(clean);
	return str;
}

int64_t json_number(json_object *obj, const char *key)
{
	return json_object_get_int64(json_object_object_get(obj, key));
}

const char *json_text(json_object *obj, const char *key)
{
	const char *text = json_object_get_string(json_object_object_get(obj, key));

	return text ? text : "";
}
