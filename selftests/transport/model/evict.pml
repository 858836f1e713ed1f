/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A ring is taken back while two threads of its sender are sending, each on a
 * connection of its own: ddi_out_post() and ddi_out_after() of lib/dd, and
 * dd_ring_evict() of kernel/ring.c.
 *
 * Stores wait in a buffer of their CPU, as in wake.pml. Who stores to a page that
 * is not mapped waits while the window is held. What is checked: each message is
 * read once, and those of a connection in order. NO_FLUSH, DEAD_FIRST, NO_QUESTION
 * and HEAD_ONLY get something wrong.
 */
#define THREADS		2
#define EACH		2	/* messages of a thread */
#define SLOTS		4	/* as many as there are messages */

mtype = { LIVE, HELD, DEAD };

mtype window = LIVE;
byte slot[SLOTS];		/* in memory: 0, or number of the message */
byte b_slot[THREADS];		/* in a sender's buffer */
byte b_at[THREADS];
byte tail, head, end;
bool left, b_left;
byte own[SLOTS], posted;	/* what the kernel brings */
byte finished;

#define message(who, m)	(1 + (who) * EACH + (m))

active proctype buffers()
{
stop:
	do
	:: atomic { b_slot[0] -> slot[b_at[0]] = b_slot[0]; b_slot[0] = 0 }
	:: atomic { b_slot[1] -> slot[b_at[1]] = b_slot[1]; b_slot[1] = 0 }
	:: atomic { b_left -> left = true; b_left = false }
	:: finished == THREADS + 1 && !b_slot[0] && !b_slot[1] && !b_left -> break
	od
}

inline by_kernel()
{
	atomic { own[posted] = message(_pid - 1, m); posted++ }
}

active [THREADS] proctype sender()
{
	bool direct = true;
	byte m, pos;

	do
	:: m == EACH -> break
	:: else ->
		if
		:: direct && left -> direct = false
		:: else
		fi;
		if
		:: direct ->
			atomic { pos = tail; tail++ };
			if
			:: atomic { window == LIVE ->
				b_slot[_pid - 1] = message(_pid - 1, m);
				b_at[_pid - 1] = pos }
			:: window == DEAD
			fi;
			!b_slot[_pid - 1];
			if
			:: left ->
				direct = false;
#ifdef NO_QUESTION
				by_kernel()
#else
				if
				:: pos < end
				:: else -> by_kernel()
				fi
#endif
			:: else
			fi
		:: else -> by_kernel()
		fi;
		m++
	od;
	finished++
}

active proctype kernel()
{
	byte at, i;
	bool drained = true;

	window = HELD;
#ifndef NO_FLUSH
	!b_slot[0] && !b_slot[1];
#endif
	at = head;
	i = at;
	do
	:: i == SLOTS || !drained -> break
	:: else ->
		drained = !slot[i];
#ifdef HEAD_ONLY
		i = SLOTS
#else
		i++
#endif
	od;
	if
	:: drained ->
		end = at;
#ifdef DEAD_FIRST
		window = DEAD;
		b_left = true
#else
		b_left = true;
		!b_left;
		window = DEAD
#endif
	:: else -> window = LIVE
	fi;
	finished++
}

active proctype reader()
{
	byte seen[THREADS], had, what;

	do
	:: head < SLOTS && slot[head] ->
		what = slot[head] - 1;
		assert(seen[what / EACH] == what % EACH);
		seen[what / EACH]++;
		head++
	:: had < posted ->
		what = own[had] - 1;
		assert(seen[what / EACH] == what % EACH);
		seen[what / EACH]++;
		had++
	:: finished == THREADS + 1 && !b_slot[0] && !b_slot[1] &&
	   had == posted && !(head < SLOTS && slot[head]) -> break
	od;
	assert(seen[0] == EACH && seen[1] == EACH)
}
