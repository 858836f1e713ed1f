/* SPDX-License-Identifier: GPL-2.0-only */
/* State of the congestion control. */
#ifndef _DD_TRANSPORT_CC_H
#define _DD_TRANSPORT_CC_H

#include <linux/types.h>

/**
 * struct dd_tp_cc - congestion control, round-trip times, loss detection (private,
 *	but exported by netlink)
 * @srtt: smoothed round-trip time, ns; 0 before the first sample
 * @rttvar: its variation, ns
 * @min_rtt: shortest sample, ns
 * @latest: last sample, ns
 * @cwnd: congestion window, bytes
 * @ssthresh: slow start threshold, bytes
 * @flight: bytes in flight
 * @w_max: window before the last reduction
 * @w_est: window that Reno would have now
 * @epoch: start of the current growth period, ns; 0 before it starts
 * @avoid_at: when the window last grew in congestion avoidance
 * @k: milliseconds from @epoch until the window reaches @w_max
 * @recovery: losses of packets sent before this time cause no further reduction
 * @undo_cwnd: @cwnd before the last reduction
 * @undo_ssthresh: @ssthresh before it
 * @undo_w_max: @w_max before it
 * @undo_lost: losses of that round that have not turned out spurious
 * @pace_at: earliest time of the next packet, ns
 * @reorder: reordering threshold, packets
 * @limited: the window, not the lack of data, stopped dd_tp_poll()
 * @paced: pacing stopped dd_tp_poll(); the next packet is due at @pace_at
 */
struct dd_tp_cc {
	u64 srtt;
	u64 rttvar;
	u64 min_rtt;
	u64 latest;
	u32 cwnd;
	u32 ssthresh;
	u32 flight;
	u32 w_max;
	u32 w_est;
	u64 epoch;
	u64 avoid_at;
	u64 k;
	u64 recovery;
	u32 undo_cwnd;
	u32 undo_ssthresh;
	u32 undo_w_max;
	u32 undo_lost;
	u64 pace_at;
	u32 reorder;
	bool limited;
	bool paced;
};

#endif /* _DD_TRANSPORT_CC_H */
