// SPDX-License-Identifier: LGPL-2.1-only
/*
 * lib_notes.c - notes of segments and imports, read from the ring of their list
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "../../lib/core/notes.h"
#include "faulty.h"
#include "segment.h"

#define WINDOW	4
#define MANY	2000

static struct ddi_list *list;

static void begin_notes(void)
{
	begin(1, DD_NOTIFY_ALWAYS);
	list = ddi_note_list(ex, attr.list);
	check(list != NULL);
}

TEST(a_note_has_word_tag_and_payload)
{
	struct dd_note note = { 0 };
	char bytes[DD_PAYLOAD_MAX], id[DD_KEY_SIZE];
	uint64_t word = 0x0123456789abcdef;

	begin_notes();
	check(!ddi_note_get(ex, list, &note));
	check(!ddi_note_any(ex, list, segment));
	check_eq(dd_put(mem, &word, sizeof(word), 8, 0), 0);
	memset(bytes, 'p', sizeof(bytes));
	check_eq(dd_note(mem, bytes, sizeof(bytes)), 0);
	check(ddi_note_any(ex, list, segment));
	check(!ddi_note_any(ex, list, segment + 1));
	faulty.calls = 0;
	check(ddi_note_get(ex, list, &note));
	check_eq(note.seq, 1);
	check_eq(note.conn, segment);
	check_eq(note.cookie, attr.cookie);
	check_eq(note.type, DD_NOTE_DATA);
	check_eq(note.op, DD_OP_PUT);
	check_eq(note.node, dd_node(im));
	check_eq(note.offset, 8);
	check_eq(note.len, sizeof(word));
	check_eq(note.word, word);
	dd_mem_key(mem, id);
	check(!memcmp(&note.generation, id, sizeof(note.generation)));
	check_eq(note.tag, 0);
	check(ddi_note_get(ex, list, &note));
	check_eq(note.op, DD_OP_NOTE);
	check_eq(note.len, sizeof(bytes));
	check(!memcmp(note.payload, bytes, sizeof(bytes)));
	check(!ddi_note_get(ex, list, &note));
	check(!ddi_note_any(ex, list, segment));
	check_eq(faulty.calls, 0);
	end();
}

TEST(notes_move_while_a_list_grows)
{
	struct dd_mem *more[7];
	struct dd_note note;
	int i;

	begin_notes();
	check_eq(dd_put(mem, "a", 1, 1, 0), 0);
	check_eq(dd_put(mem, "b", 1, 2, 0), 0);
	for (i = 0; i < 7; i++)
		check_eq(dd_import(im, owner(), attr.key_class, key, ALL, &more[i]), 0);
	for (i = 0; i < 7; i++)
		check_eq(dd_put(more[i], "c", 1, 3 + i, 0), 0);
	for (i = 0; i < 9; i++) {
		check(ddi_note_get(ex, list, &note));
		check_eq(note.offset, 1 + i);
	}
	check(!ddi_note_get(ex, list, &note));
	for (i = 0; i < 7; i++)
		check_eq(dd_unimport(more[i]), 0);
	end();
}

static int count[MANY + 1];

static void *read_notes(void *end)
{
	struct dd_note note;

	while (!__atomic_load_n((int *)end, __ATOMIC_ACQUIRE))
		while (ddi_note_get(ex, list, &note))
			__atomic_add_fetch(&count[note.offset], 1, __ATOMIC_RELAXED);
	return NULL;
}

TEST(each_note_is_returned_once)
{
	pthread_t reader[2];
	int i, end_of = 0;

	begin_notes();
	for (i = 0; i < 2; i++)
		check_eq(pthread_create(&reader[i], NULL, read_notes, &end_of), 0);
	for (i = 0; i < MANY; i++)
		while (dd_put(mem, "a", 1, i, 0) == -EBUSY)
			sched_yield();
	while (ddi_note_any(ex, list, segment))
		sched_yield();
	__atomic_store_n(&end_of, 1, __ATOMIC_RELEASE);
	for (i = 0; i < 2; i++)
		check_eq(pthread_join(reader[i], NULL), 0);
	for (i = 0; i < MANY && count[i] == 1;)
		i++;
	check_eq(i, MANY);
	end();
}
