// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the user wants to see, and JSON.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "say.h"
#include "../common/tool.h"

struct options options;

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

void print_json(json_object *value)
{
	int flags = JSON_C_TO_STRING_NOSLASHESCAPE;

	flags |= options.pretty ? JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED
				: JSON_C_TO_STRING_PLAIN;
	puts(json_object_to_json_string_ext(value, flags));
	json_object_put(value);
}

int finish_output(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	return fail(EXIT_RUNTIME, "standard output: %s", strerror(errno));
}
