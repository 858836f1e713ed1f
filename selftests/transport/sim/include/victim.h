/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One end of a session whose peer is this program, and sends arbitrary packets. In every case
 * bytes are stored only in bounds, once, and before their notification. The last channel leads
 * to a segment, and its owner answers requests.
 */
#ifndef _DD_VICTIM_H
#define _DD_VICTIM_H

#include "packet.h"
#include "transport/batch.h"

#define CHANS	4
#define SEGMENT	(CHANS - 1)	/* the channel that is one-sided */
#define GENERATION	5	/* of its segment */
/* Of the first channel. Taken for a frame, it is an ACK with too many ranges. */
#define CHAN_ID	0xff01
#define RX_TOKEN	1111	/* of packets to the victim */
#define BLOCK	4096
#define OPS	3

struct victim_chan {
	struct dd_tp_chan c;	/* the channel under test */
	bool open;		/* find() returns it */
	u64 withheld;		/* message whose note is withheld; 0 for none */
	bool late;		/* because there is no op for its reply */
	u32 unread;		/* number of unread notes */
	u8 seen[BLOCK];		/* bytes of the message in progress that were stored */
	struct dd_tp_op ops[OPS];	/* messages being sent */
};

struct victim {
	struct dd_tp tp;	/* the transport under test */
	void *arena;		/* memory of @tp */
	struct victim_chan chans[CHANS];
	u64 random;		/* the last random number */
	u8 again;		/* deposits fail now, and how */
	bool stale;		/* the PUT received has another generation than its channel */
	u32 stored;		/* bytes deposited */
	u32 completed;		/* messages completed */
};

#define BURST	6

/* Packets received at once, as the payload of a batch. */
struct burst {
	u32 n;			/* number of packets */
	struct dd_wire_piece piece[BURST];	/* their headers */
	const u8 *bytes;	/* payload of each of them */
};

/* Messages that all victims have completed: requests and replies, by operation. */
extern u64 victim_completed[2][DD_WIRE_OPS];
extern const struct dd_tp_cfg victim_cfg;

/* Whether a message has what the rest of the module relies on. */
bool op_valid(u8 version, const struct dd_tp_msg *msg);
/* The session is up, and has no channel. */
void victim_init(struct victim *v, u64 now);
void victim_exit(struct victim *v);
/* Make a channel, unless there is one or the session cannot have it. */
void victim_open(struct victim *v, int i);
void victim_close(struct victim *v, int i);
/* Read a note, which may free a slot for one that is withheld. */
void victim_read(struct victim *v, int i);
/* Take all packets that can be sent now, which must be valid; their number. */
u32 victim_drain(struct victim *v, u64 now);
/* The op of the next message of a channel; NULL if all are in use. */
struct dd_tp_op *victim_op(struct victim_chan *ch);

#endif /* _DD_VICTIM_H */
