/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waking a receiver that sleeps while others post to its direct rings: the
 * sender's side of lib/conn/send.c (post()), and kernel/direct/direct.c
 * (dd_rings_arm(), dd_direct_wake()).
 *
 * Stores wait in a buffer of their CPU until it is drained: at any time, and at
 * a full barrier. Loads read memory, not the buffers of other CPUs; no CPU
 * loads what it has just stored. So a store can be overtaken by a later load,
 * which is all that a machine with total store order does, and what the
 * barriers are against.
 *
 * What is checked: that the receiver gets all. If it sleeps forever, the end
 * state is invalid. NO_SENDER_BARRIER and NO_RECEIVER_BARRIER leave one out;
 * CLEAR_AFTER_WAKE clears the word too late.
 */
#define SENDERS		2
#define MESSAGES	2

byte note[SENDERS];		/* notes posted, in memory */
bool armed[SENDERS] = true;	/* need_wake of each ring, in memory */
bool posted[SENDERS];		/* in a sender's buffer: a note */
bool arming[SENDERS];		/* in the receiver's buffer: need_wake = 1 */
bool queued, running = true;	/* the receiver: on the wait queue, not asleep */

#define drain_note(i)							\
	if								\
	:: posted[i] -> note[i]++; posted[i] = false			\
	:: else								\
	fi

#define drain_arm(i)							\
	if								\
	:: arming[i] -> armed[i] = true; arming[i] = false		\
	:: else								\
	fi

active [SENDERS] proctype buffer_of_sender()
{
	byte i = _pid;
end:
	do
	:: atomic { posted[i] -> drain_note(i) }
	od
}

/* It drains in the order of the stores. */
active proctype buffer_of_receiver()
{
end:
	do
	:: atomic { arming[0] -> drain_arm(0) }
	:: atomic { !arming[0] && arming[1] -> drain_arm(1) }
	od
}

proctype sender(byte i)
{
	byte k;
	bool wake;

	do
	:: k < MESSAGES ->
		/* A buffer of one: an older store goes first. */
		atomic { drain_note(i); posted[i] = true }
#ifndef NO_SENDER_BARRIER
		atomic { drain_note(i) }
#endif
		wake = armed[i];
		if
		:: wake ->
			/* The system call; to be in the kernel takes a while. */
			atomic { drain_note(i) }
#ifdef CLEAR_AFTER_WAKE
			if
			:: queued -> running = true
			:: else
			fi;
#endif
			armed[0] = false;
			armed[1] = false;
#ifndef CLEAR_AFTER_WAKE
			if
			:: queued -> running = true
			:: else
			fi
#endif
		:: else
		fi;
		k++
	:: else -> break
	od
}

proctype receiver()
{
	byte got[SENDERS];

	do
	:: got[0] == MESSAGES && got[1] == MESSAGES -> break
	:: got[0] < note[0] -> got[0]++
	:: got[1] < note[1] -> got[1]++
	:: got[0] == note[0] && got[1] == note[1] &&
	   got[0] + got[1] < SENDERS * MESSAGES ->
		/* prepare_to_wait() has a barrier of its own. */
		atomic { queued = true; running = false }
again:
		atomic { drain_arm(0); arming[0] = true }
		atomic { drain_arm(1); arming[1] = true }
#ifndef NO_RECEIVER_BARRIER
		atomic { drain_arm(0); drain_arm(1) }
#endif
		if
		:: got[0] != note[0]
		:: else ->
			if
			:: got[1] != note[1]
			:: else ->
				/* schedule(), and once more. */
				running;
				running = false;
				goto again
			fi
		fi;
		atomic { queued = false; running = true }
	od
}

init {
	atomic {
		run sender(0);
		run sender(1);
		run receiver()
	}
}
