/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * member.h - processes that know each other by ADDRESS:NUMBER
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef MEMBER_H
#define MEMBER_H

#include <sbl.h>

#define WORDS	1024	/* of a page */

struct member {
	NodeID node;
	SBL_Squid squid;
};

/* End the process with a message if a call has failed. */
void check(int code, const char *what);

struct member member_self(void);

/* From and to the form ADDRESS:NUMBER. */
struct member member_parse(const char *text);
void member_print(struct member m);

/* Import a buffer of a process: its address. */
Int32 *member_import(struct member m, unsigned int id);

/* Wait until a word of an exported buffer has a value, or another one. */
void wait_until(const Int32 *word, Int32 value);
void wait_while(const Int32 *word, Int32 value);

/* Store a word after all that was stored before. */
void store_last(Int32 *word, Int32 value);

#endif /* MEMBER_H */
