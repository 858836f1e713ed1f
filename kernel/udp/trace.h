/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints: packets. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM dd
#undef TRACE_SYSTEM_VAR
#define TRACE_SYSTEM_VAR dd_udp

#if !defined(_DD_UDP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _DD_UDP_TRACE_H

#include <linux/tracepoint.h>

DECLARE_EVENT_CLASS(dd_packet,
		    TP_PROTO(u32 peer, u64 pn, u32 bytes),
	TP_ARGS(peer, pn, bytes),
	TP_STRUCT__entry(
		__field(u32, peer)
		__field(u64, pn)
		__field(u32, bytes)
	),
	TP_fast_assign(
		__entry->peer = peer;
		__entry->pn = pn;
		__entry->bytes = bytes;
	),
	TP_printk("peer=%u pn=%llu bytes=%u", __entry->peer, __entry->pn,
		  __entry->bytes)
);

#define DD_PACKET_EVENT(name)						\
DEFINE_EVENT(dd_packet, name,						\
	     TP_PROTO(u32 peer, u64 pn, u32 bytes),			\
	TP_ARGS(peer, pn, bytes)					\
)
DD_PACKET_EVENT(dd_packet_sent);
DD_PACKET_EVENT(dd_packet_received);
DD_PACKET_EVENT(dd_packet_acked);
DD_PACKET_EVENT(dd_packet_lost);
DD_PACKET_EVENT(dd_packet_spurious);

#endif /* _DD_UDP_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH udp
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
