/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A close while a message is being sent directly: ddi_out_post() of
 * lib/dd/direct.h, dd_direct_revoke() of kernel/direct.c, and the reader of
 * lib/dd/list.c, which on the close note looks at the ring once more.
 *
 * Stores wait in a buffer of their CPU, as in wake.pml, and leave it in their
 * order. What is checked: a message that was accepted is read before the close.
 * NO_SENDER_BARRIER, NO_SECOND_LOOK and CLOSE_FIRST get something wrong.
 */
bool note, dead, closed;		/* in memory */
bool b_note;				/* in the sender's buffer */
bool b_dead;				/* in the kernel's */
bool accepted, decided;			/* what the sender tells its caller */

active proctype buffers()
{
end:
	do
	:: atomic { b_note -> note = true; b_note = false }
	:: atomic { b_dead -> dead = true; b_dead = false }
	od
}

active proctype sender()
{
	b_note = true;
#ifndef NO_SENDER_BARRIER
	!b_note;
#endif
	atomic { accepted = !dead; decided = true }
}

active proctype kernel()
{
#ifdef CLOSE_FIRST
	closed = true;
	b_dead = true
#else
	b_dead = true;
	!b_dead;
	closed = true
#endif
}

active proctype reader()
{
	bool seen;

	/* The ring first, then the list's own. */
	do
	:: note && !seen -> seen = true
	:: !note || seen ->
		if
		:: closed -> break
		:: else
		fi
	od;
#ifndef NO_SECOND_LOOK
	seen = seen || note;
#endif
	/* From here on what comes is void. */
	decided;
	assert(!accepted || seen)
}
