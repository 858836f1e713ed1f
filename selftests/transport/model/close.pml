/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A close while a message is being sent directly: post() of
 * lib/conn/send.c, dd_direct_revoke() of kernel/direct/direct.c, and the reader of
 * lib/conn/recv.c, which on the close note looks at the ring once more.
 *
 * Stores wait in a buffer of their CPU, as in wake.pml, and leave it in their
 * order. A sender that finds the dead word asks the kernel, which has looked at the
 * ring meanwhile. What is checked: a message that was accepted is read before the
 * close, and one that was read while the connection was alive is not refused.
 * NO_SENDER_BARRIER, NO_SECOND_LOOK, CLOSE_FIRST, NO_QUESTION and LOOK_FIRST get
 * something wrong.
 */
bool note, dead, found, closed;		/* in memory */
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
	if
	:: atomic { !dead -> accepted = true }
	:: dead ->
#ifndef NO_QUESTION
		closed;
		accepted = found
#endif
	fi;
	decided = true
}

active proctype kernel()
{
#ifdef CLOSE_FIRST
	closed = true;
	b_dead = true
#else
#ifdef LOOK_FIRST
	found = note;
#endif
	b_dead = true;
	!b_dead;
#ifndef LOOK_FIRST
	found = note;
#endif
	closed = true
#endif
}

active proctype reader()
{
	bool seen, alive;

	/* The ring first, then the list's own. */
	do
	:: atomic { note && !seen -> seen = true; alive = !dead }
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
	assert(!accepted || seen);
	assert(accepted || !alive)
}
