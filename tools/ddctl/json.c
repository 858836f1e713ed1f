// SPDX-License-Identifier: GPL-2.0-only
/*
 * JSON: text that need not be UTF-8, and members of objects.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "ddctl.h"
#include "../common/tool.h"

json_object *text_to_json(const char *s)
{
	char *clean = NULL;
	json_object *str;
	size_t size;
	FILE *out = must(open_memstream(&clean, &size));
	unsigned int len;

	for (; *s; s += len ? len : 1) {
		len = tool_utf8_length((const unsigned char *)s);
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
