/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints: rings of direct senders. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM dd
#undef TRACE_SYSTEM_VAR
#define TRACE_SYSTEM_VAR dd_direct

#if !defined(_DD_DIRECT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _DD_DIRECT_TRACE_H

#include <linux/tracepoint.h>

#include "core/channel.h"
#include "core/import.h"

/* At the sending end; @ring is the number in the states of the receiver. */
DECLARE_EVENT_CLASS(dd_direct,
		    TP_PROTO(const struct dd_import *imp, u32 ring, u64 sent),
	TP_ARGS(imp, ring, sent),
	TP_STRUCT__entry(
		__field(pid_t, pid)
		__field(u32, conn)
		__field(pid_t, peer_pid)
		__field(u32, peer_conn)
		__field(u32, ring)
		__field(u64, sent)
	),
	TP_fast_assign(
		__entry->pid = pid_nr(imp->obj.ctx->pid);
		__entry->conn = imp->obj.id;
		__entry->peer_pid = pid_nr(imp->chan->seg->mem.region->obj.ctx->pid);
		__entry->peer_conn = lower_32_bits(imp->chan->seg->owner);
		__entry->ring = ring;
		__entry->sent = sent;
	),
	TP_printk("pid=%d conn=%u peer_pid=%d peer_conn=%u ring=%u sent=%llu",
		  __entry->pid, __entry->conn, __entry->peer_pid,
		  __entry->peer_conn, __entry->ring, __entry->sent)
);

DEFINE_EVENT(dd_direct, dd_direct_grant,
	     TP_PROTO(const struct dd_import *imp, u32 ring, u64 sent),
	TP_ARGS(imp, ring, sent)
);

DEFINE_EVENT(dd_direct, dd_direct_revoke,
	     TP_PROTO(const struct dd_import *imp, u32 ring, u64 sent),
	TP_ARGS(imp, ring, sent)
);

#endif /* _DD_DIRECT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH direct
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
