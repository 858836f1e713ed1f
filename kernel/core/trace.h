/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints: requests, deposits, notes, segments. Other folders have theirs. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM dd
#undef TRACE_SYSTEM_VAR
#define TRACE_SYSTEM_VAR dd_core

#if !defined(_DD_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _DD_TRACE_H

#include <linux/tracepoint.h>

#include "core/channel.h"
#include "core/exported.h"
#include "core/import.h"
#include "core/notelist.h"
#include "core/submit.h"

TRACE_EVENT(dd_op,
	    TP_PROTO(const struct dd_import *imp, const struct dd_sqe *sqe, int err),
	TP_ARGS(imp, sqe, err),
	TP_STRUCT__entry(
		__field(pid_t, pid)
		__field(u32, conn)
		__field(u64, seq)
		__field(u8, opcode)
		__field(u8, flags)
		__field(u64, dst)
		__field(u64, len)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->pid = pid_nr(imp->obj.ctx->pid);
		__entry->conn = imp->obj.id;
		__entry->seq = sqe->seq;
		__entry->opcode = sqe->opcode;
		__entry->flags = sqe->flags;
		__entry->dst = sqe->dst;
		__entry->len = sqe->len;
		__entry->err = err;
	),
	TP_printk("pid=%d conn=%u seq=%llu opcode=%u flags=%#x dst=%llu len=%llu err=%d",
		  __entry->pid, __entry->conn, __entry->seq, __entry->opcode,
		  __entry->flags, __entry->dst, __entry->len, __entry->err)
);

TRACE_EVENT(dd_deposit,
	    TP_PROTO(const struct dd_import *imp, const struct dd_op *op, u32 msgid),
	TP_ARGS(imp, op, msgid),
	TP_STRUCT__entry(
		__field(pid_t, pid)
		__field(u32, conn)
		__field(pid_t, peer_pid)
		__field(u32, peer_conn)
		__field(u64, offset)
		__field(u64, len)
		__field(u32, msgid)
	),
	TP_fast_assign(
		__entry->pid = pid_nr(imp->obj.ctx->pid);
		__entry->conn = imp->obj.id;
		__entry->peer_pid = pid_nr(imp->chan->seg->mem.region->obj.ctx->pid);
		__entry->peer_conn = imp->chan->seg->owner;
		__entry->offset = op->sqe.dst;
		__entry->len = op->sqe.len;
		__entry->msgid = msgid;
	),
	TP_printk("pid=%d conn=%u peer_pid=%d peer_conn=%u offset=%llu len=%llu msgid=%u",
		  __entry->pid, __entry->conn, __entry->peer_pid,
		  __entry->peer_conn, __entry->offset, __entry->len,
		  __entry->msgid)
);

TRACE_EVENT(dd_arrival,
	    TP_PROTO(const struct dd_channel *ch, u32 node, u64 offset, u32 len,
		     u64 msgid),
	TP_ARGS(ch, node, offset, len, msgid),
	TP_STRUCT__entry(
		__field(pid_t, pid)
		__field(u32, conn)
		__field(u32, node)
		__field(u64, offset)
		__field(u32, len)
		__field(u64, msgid)
	),
	TP_fast_assign(
		__entry->pid = pid_nr(ch->seg->mem.region->obj.ctx->pid);
		__entry->conn = ch->seg->owner;
		__entry->node = node;
		__entry->offset = offset;
		__entry->len = len;
		__entry->msgid = msgid;
	),
	TP_printk("pid=%d conn=%u node=%u offset=%llu len=%u msgid=%llu",
		  __entry->pid, __entry->conn, __entry->node, __entry->offset,
		  __entry->len, __entry->msgid)
);

TRACE_EVENT(dd_note,
	    TP_PROTO(const struct dd_list *list, const struct dd_note *note, u64 pos),
	TP_ARGS(list, note, pos),
	TP_STRUCT__entry(
		__field(pid_t, pid)
		__field(u32, list)
		__field(u64, pos)
		__field(u8, type)
		__field(u32, conn)
		__field(u64, len)
		__field(u32, msgid)
	),
	TP_fast_assign(
		__entry->pid = pid_nr(list->obj.ctx->pid);
		__entry->list = list->obj.id;
		__entry->pos = pos;
		__entry->type = note->type;
		__entry->conn = note->conn;
		__entry->len = note->len;
		__entry->msgid = note->msgid;
	),
	TP_printk("pid=%d list=%u pos=%llu type=%s conn=%u len=%llu msgid=%u",
		  __entry->pid, __entry->list, __entry->pos,
		  __print_symbolic(__entry->type, { DD_NOTE_DATA, "data" },
				   { DD_NOTE_CONN, "conn" },
				   { DD_NOTE_CLOSE, "close" },
				   { DD_NOTE_IMPORT, "import" },
				   { DD_NOTE_DONE, "done" }),
		  __entry->conn, __entry->len, __entry->msgid)
);

TRACE_EVENT(dd_export,
	    TP_PROTO(const struct dd_export *exp),
	TP_ARGS(exp),
	TP_STRUCT__entry(
		__field(pid_t, pid)
		__field(u32, segment)
		__field(u8, class)
		__field(u8, rights)
		__field(u64, len)
		__field(u64, generation)
	),
	TP_fast_assign(
		__entry->pid = pid_nr(exp->obj.ctx->pid);
		__entry->segment = exp->obj.id;
		__entry->class = exp->name.class;
		__entry->rights = exp->seg.rights;
		__entry->len = exp->seg.mem.length;
		__entry->generation = exp->seg.generation;
	),
	TP_printk("pid=%d segment=%u class=%u rights=%#x len=%llu generation=%llu",
		  __entry->pid, __entry->segment, __entry->class, __entry->rights,
		  __entry->len, __entry->generation)
);

TRACE_EVENT(dd_import,
	    TP_PROTO(const struct dd_import *imp, u32 node, u8 rights, u64 generation),
	TP_ARGS(imp, node, rights, generation),
	TP_STRUCT__entry(
		__field(pid_t, pid)
		__field(u32, conn)
		__field(u32, node)
		__field(u8, rights)
		__field(u64, len)
		__field(u64, generation)
	),
	TP_fast_assign(
		__entry->pid = pid_nr(imp->obj.ctx->pid);
		__entry->conn = imp->obj.id;
		__entry->node = node;
		__entry->rights = rights;
		__entry->len = imp->size;
		__entry->generation = generation;
	),
	TP_printk("pid=%d conn=%u node=%u rights=%#x len=%llu generation=%llu",
		  __entry->pid, __entry->conn, __entry->node, __entry->rights,
		  __entry->len, __entry->generation)
);

/* The access of an importer ends; @err is 0 if the importer has ended it. */
TRACE_EVENT(dd_revoke,
	    TP_PROTO(const struct dd_export *exp, u32 node, int err),
	TP_ARGS(exp, node, err),
	TP_STRUCT__entry(
		__field(pid_t, pid)
		__field(u32, segment)
		__field(u32, node)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->pid = pid_nr(exp->obj.ctx->pid);
		__entry->segment = lower_32_bits(exp->seg.owner);
		__entry->node = node;
		__entry->err = err;
	),
	TP_printk("pid=%d segment=%u node=%u err=%d", __entry->pid, __entry->segment,
		  __entry->node, __entry->err)
);

TRACE_EVENT(dd_refused,
	    TP_PROTO(const struct dd_channel *ch, u8 right, int err),
	TP_ARGS(ch, right, err),
	TP_STRUCT__entry(
		__field(pid_t, pid)
		__field(u32, segment)
		__field(u32, node)
		__field(u8, right)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->pid = pid_nr(ch->seg->mem.region->obj.ctx->pid);
		__entry->segment = lower_32_bits(ch->seg->owner);
		__entry->node = ch->node;
		__entry->right = right;
		__entry->err = err;
	),
	TP_printk("pid=%d segment=%u node=%u right=%#x err=%d", __entry->pid,
		  __entry->segment, __entry->node, __entry->right, __entry->err)
);
#endif /* _DD_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH core
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
