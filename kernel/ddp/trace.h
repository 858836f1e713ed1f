/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints: connections. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM dd
#undef TRACE_SYSTEM_VAR
#define TRACE_SYSTEM_VAR dd_ddp

#if !defined(_DD_DDP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _DD_DDP_TRACE_H

#include <linux/tracepoint.h>
#include <uapi/linux/dd_ddp.h>

#include "core/import.h"

DECLARE_EVENT_CLASS(dd_end,
		    TP_PROTO(const struct dd_import *imp, u8 type, bool server,
			     u32 peer_pid, u32 peer_conn),
	TP_ARGS(imp, type, server, peer_pid, peer_conn),
	TP_STRUCT__entry(
		__field(pid_t, pid)
		__field(u32, conn)
		__field(pid_t, peer_pid)
		__field(u32, peer_conn)
		__field(u8, type)
		__field(bool, server)
	),
	TP_fast_assign(
		__entry->pid = pid_nr(imp->obj.ctx->pid);
		__entry->conn = imp->obj.id;
		__entry->peer_pid = peer_pid;
		__entry->peer_conn = peer_conn;
		__entry->type = type;
		__entry->server = server;
	),
	TP_printk("pid=%d conn=%u peer_pid=%d peer_conn=%u type=%s end=%s",
		  __entry->pid, __entry->conn, __entry->peer_pid,
		  __entry->peer_conn,
		  __print_symbolic(__entry->type, { DD_CONN_RPC, "rpc" },
				   { DD_CONN_SPLIT, "split" },
				   { DD_CONN_STREAM, "sstream" }),
		  __entry->server ? "server" : "client")
);

#define DD_END_EVENT(name)						\
DEFINE_EVENT(dd_end, name,						\
	     TP_PROTO(const struct dd_import *imp, u8 type, bool server, \
		      u32 peer_pid, u32 peer_conn),			\
	TP_ARGS(imp, type, server, peer_pid, peer_conn)			\
)
DD_END_EVENT(dd_connect);
DD_END_EVENT(dd_close);

#endif /* _DD_DDP_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH ddp
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
