/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * fake.h - enough of dd.ko, in user memory, to run the library against
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_TESTS_FAKE_H
#define _DD_TESTS_FAKE_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct fake - what a test can set and see
 * @absent: errno of open(), 0 to succeed
 * @calls: system calls that the library made
 * @interrupts: the next so many calls give EINTR
 * @refuse: request whose next call fails
 * @refusal: with this errno
 * @unmapped: which of the next windows cannot be mapped, from 1; 0 for none
 * @hang_up: connection whose other end closes when the kernel has put the next
 *	message's bytes in place, or 0
 * @noted: it closes when the message's note is there as well
 * @cut: the next DD_IOC_SUBMIT is ended by a signal after so many, 0 for none
 * @id_again: the next serving end's id, as if all others had been used; or 0
 * @other: what another thread does at the next call of @other_at
 * @other_at: request
 */
struct fake {
	int absent;
	int calls;
	int interrupts;
	unsigned long refuse;
	int refusal;
	int unmapped;
	uint32_t hang_up;
	bool noted;
	uint32_t cut;
	uint32_t id_again;
	void (*other)(void);
	unsigned long other_at;
};

extern struct fake fake;

void fake_reset(void);
/* As if an end had sent so many messages, which the other one has read. */
void fake_counted(uint32_t conn, uint64_t n);
/* Whether a sender sleeps until the direct ring of a list has been read. */
void fake_ring_need_kick(uint32_t list, bool need);
/* Posts to the direct ring of a list, as its sender might. */
struct dd_ring_note;
void fake_ring_post(uint32_t list, const struct dd_ring_note *note);
/* As if a thread had taken a position and not filled it; then it does. */
void fake_ring_hole(uint32_t list, uint64_t pos);
void fake_ring_fill(uint32_t list, uint64_t pos, const struct dd_ring_note *note);

#endif /* _DD_TESTS_FAKE_H */
