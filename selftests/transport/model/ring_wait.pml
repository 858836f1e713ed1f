/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waking senders that sleep until a direct ring has been read up to a position: the
 * reader of the library, two threads of it, and kernel/core/ring_wait.c.
 *
 * Stores wait in buffers, as in wake.pml. The store of need_kick by a waiter may
 * leave its buffer late; the kernel stores it under the lock of the queue otherwise.
 *
 * What is checked: that every waiter is woken. If one sleeps forever, the end state
 * is invalid. NO_READER_BARRIER and NO_WAITER_BARRIER leave out a barrier;
 * LOOK_BEFORE looks at the head before it arms; ARM_BEFORE arms before it joins the
 * queue; FORGET clears need_kick although waiters remain.
 */
#define WAITERS		2
#define READERS		2
#define MESSAGES	3

byte posted = MESSAGES - 1;	/* waiter 0 posts the last when it has been woken */
byte head;			/* in memory, as everything that is not in a buffer */
bool moved[READERS];		/* in a reader's buffer: head + 1 */
bool need_kick;
bool arming[WAITERS];		/* in a waiter's buffer: need_kick = 1 */
byte pos[WAITERS];
bool queued[WAITERS];		/* under the lock of the queue */
bool running[WAITERS] = true;
bool reading;			/* the lock of the list */

#define drain_arm(i)							\
	if								\
	:: arming[i] -> need_kick = true; arming[i] = false		\
	:: else								\
	fi

#define drain_head(r)							\
	if								\
	:: moved[r] -> head++; moved[r] = false				\
	:: else								\
	fi

#ifdef FORGET
#define settle()	need_kick = false
#else
#define settle()	need_kick = queued[0] || queued[1]
#endif

#define wake(i)								\
	if								\
	:: queued[i] && head >= pos[i] ->				\
		running[i] = true; queued[i] = false			\
	:: else								\
	fi

active [WAITERS] proctype buffer_of_waiter()
{
	byte i = _pid;
end:
	do
	:: atomic { arming[i] -> drain_arm(i) }
	od
}

active [READERS] proctype buffer_of_reader()
{
	byte r = _pid - WAITERS;
end:
	do
	:: atomic { moved[r] -> drain_head(r) }
	od
}

proctype waiter(byte i)
{
	bool there;

	if
	:: pos[i] = 1
	:: pos[i] = 2
	:: i == 1 -> pos[i] = MESSAGES
	fi;
again:
#ifdef LOOK_BEFORE
	there = head >= pos[i];
#endif
#ifdef ARM_BEFORE
	atomic { arming[i] = true; drain_arm(i) }
#endif
	/* prepare_to_wait() has a barrier of its own. */
	atomic { queued[i] = true; running[i] = false }
#ifndef ARM_BEFORE
	atomic { arming[i] = true }
#endif
#ifndef NO_WAITER_BARRIER
	atomic { drain_arm(i) }
#endif
#ifndef LOOK_BEFORE
	there = head >= pos[i];
#endif
	if
	:: there
	:: else ->
		/* schedule(), and once more. */
		running[i];
		goto again
	fi;
	atomic { drain_arm(i); queued[i] = false; settle() }
	if
	:: i == 0 -> posted = MESSAGES
	:: else
	fi
}

proctype reader(byte r)
{
	do
	:: atomic { !reading && head < posted -> reading = true }
		atomic { moved[r] = true }
#ifndef NO_READER_BARRIER
		atomic { drain_head(r); reading = false }
#endif
		if
		:: need_kick ->
			/* The system call, which is a barrier. */
			atomic { drain_head(r) }
			atomic { wake(0); wake(1); settle() }
		:: else
		fi
#ifdef NO_READER_BARRIER
		/* The next thread that takes the lock sees the store. */
		atomic { drain_head(r); reading = false }
#endif
	:: atomic { !reading && head == MESSAGES -> break }
	od
}

init {
	atomic {
		run waiter(0);
		run waiter(1);
		run reader(0);
		run reader(1)
	}
}
