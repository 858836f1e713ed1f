/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waking senders that sleep until a direct ring has been read so far as they
 * want: the reader's side of lib/dd/take.h (ddi_take_in()) and lib/dd/direct.h
 * (ddi_in_wanted()), two threads of it, and kernel/room.c.
 *
 * Stores wait in buffers, as in wake.pml. What the kernel stores under its lock
 * is seen by whoever takes that lock next, and by others when the buffer is
 * drained.
 *
 * What is checked: that everybody is woken. If one sleeps for ever, the end state
 * is invalid. NO_READER_BARRIER and NO_WAITER_BARRIER leave one out; LAST_WISH
 * tells the reader what the last one wants, and not the lowest; FORGET does not
 * tell it what is wanted next; LOOK_BEFORE looks at the head before asking.
 * A kick wakes a bounded number, here one: with NO_BATON a waiter that leaves does
 * not wake the next.
 */
#define WAITERS		2
#define READERS		2
#define MESSAGES	3
#define NOBODY		255

byte posted = MESSAGES - 1;	/* the last is waiter 0's, when he was woken */
byte head;			/* in memory, as all that is not said to be not */
bool moved[READERS];		/* in a reader's buffer: head + 1 */
byte want = NOBODY;
bool flag;
bool asked[WAITERS];		/* in a waiter's buffer: want, and the flag */
byte pos[WAITERS];
bool queued[WAITERS];		/* the tree, under the kernel's lock */
bool running[WAITERS] = true;
bool reading;			/* the list's lock */

#define lowest(to)							\
	to = NOBODY;							\
	if								\
	:: queued[0] -> to = pos[0]					\
	:: else								\
	fi;								\
	if								\
	:: queued[1] && pos[1] < to -> to = pos[1]			\
	:: else								\
	fi

/* The kernel's lock was passed on since, or was not: it is the same. */
#ifdef LAST_WISH
#define tell(i)		want = pos[i]
#else
#define tell(i)		lowest(want)
#endif

#define drain_ask(i)							\
	if								\
	:: asked[i] -> tell(i); flag = true; asked[i] = false		\
	:: else								\
	fi

#define drain_head(r)							\
	if								\
	:: moved[r] -> head++; moved[r] = false				\
	:: else								\
	fi

#define lock()		drain_ask(0); drain_ask(1)

/* Under the kernel's lock: waiter @i is not asked for any more. */
#define unasked(i)							\
	queued[i] = false;						\
	lowest(want);							\
	flag = queued[0] || queued[1]

active [WAITERS] proctype buffer_of_waiter()
{
	byte i = _pid;
end:
	do
	:: atomic { asked[i] -> drain_ask(i) }
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

#define reached(i)	(queued[i] && head >= pos[i])

#ifdef FORGET
#define wake(i)		running[i] = true; queued[i] = false; want = NOBODY
#else
#define wake(i)		running[i] = true; unasked(i)
#endif

proctype waiter(byte i)
{
	bool there, more;

	if
	:: pos[i] = 1
	:: pos[i] = 2
	:: i == 1 -> pos[i] = MESSAGES
	fi;
again:
#ifdef LOOK_BEFORE
	there = head >= pos[i];
#endif
	running[i] = false;
	atomic {
		lock();
		if
		:: !queued[i] -> queued[i] = true; asked[i] = true
		:: else
		fi
	}
#ifndef NO_WAITER_BARRIER
	atomic { drain_ask(i) }
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
	atomic {
		lock();
		if
		:: queued[i] -> unasked(i)
		:: else
		fi;
		more = reached(1 - i)
	}
#ifndef NO_BATON
	if
	:: more ->
		atomic {
			lock();
			if
			:: reached(1 - i) -> wake(1 - i)
			:: else
			fi
		}
	:: else
	fi;
#endif
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
		:: flag && want <= head ->
			/* The system call, which is a barrier. */
			atomic { drain_head(r) }
			if
			:: atomic { reached(0) -> lock(); wake(0) }
			:: atomic { reached(1) -> lock(); wake(1) }
			:: atomic { !reached(0) && !reached(1) -> skip }
			fi
		:: else
		fi
#ifdef NO_READER_BARRIER
		/* Who takes the lock next sees it. */
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
