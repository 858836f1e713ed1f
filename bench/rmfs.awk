# SPDX-License-Identifier: GPL-2.0-only
#
# Where the instructions of the operations of "rmfs bench" go. Input are two traces of a guest
# with one processor whose clock counts instructions: the first one has only the marks of the
# benchmark, the second one events. SERVER is the process id of the server, at node 2, and
# COUNT the number of operations in a series. Of the series of an operation the fastest one
# counts, in which the server had nothing else to do.
#
#   reception   packets to the server, until a note or a reply is made of them
#   control     the note, the way to the server process, and its way to the next wait
#   procedure   what that does between a note and the answer, and without a note
#   reply       the answer, or what a read has asked for, until the network has it
#   rest        the client, its node, and the network
#
# What the events add to an operation is divided by their number, and subtracted from each
# class for its own.

# The class of the time since the last event.
function class() {
	if (side == "packet")
		return event == "dd_packet_received" ? node() : "rest"
	if (side)
		return side
	return runs ? server : "rest"
}

function node() {
	return $1 == "peer=1" ? "reception" : "rest"
}

function end_series() {
	if (NR == FNR) {
		if (!(row in plain))
			rows[++n] = row
		if (!(row in plain) || total < plain[row])
			plain[row] = total
	} else if (!(row in traced) || total < traced[row]) {
		traced[row] = total
		events[row] = 0
		for (k = 1; k in classes; k++) {
			spent[row, k] = time[classes[k]]
			events[row] += seen[row, k] = count[classes[k]]
		}
	}
	row = ""
}

BEGIN { split("reception control procedure reply rest", classes) }

!match($0, / [0-9]+: [a-z_]+: /) { next }

{
	split(substr($0, RSTART, RLENGTH), part, ":")
	now = part[1]
	event = substr(part[2], 2)
	$0 = substr($0, RSTART + RLENGTH)
}

event == "tracing_mark_write" && $2 != "end" {
	row = $0
	for (k in classes)
		time[classes[k]] = count[classes[k]] = 0
	total = 0
	last = now
	side = ""
	runs = 0
	server = "control"
	next
}

!row { next }

{
	time[class()] += now - last
	count[class()]++
	total += now - last
	last = now
}

event == "tracing_mark_write" { end_series() }
event == "softirq_entry" || event == "netif_receive_skb" { side = "packet" }
event == "softirq_exit" { side = "" }
event == "dd_packet_received" { side = node() }
event == "dd_packet_sent" && side == "reception" { side = "reply" }
event == "dd_note" && side == "reception" { side = "control" }
event == "sched_switch" { runs = $0 ~ "next_pid=" SERVER " " }
# read() of a note, and ioctl() of the answer
event == "sys_exit" && $2 == 0 { server = "procedure" }
# poll() without a note: to look at the mailboxes
event == "sys_exit" && $2 == 7 && $4 == 0 { server = "procedure" }
event == "sys_enter" && $2 == 7 { server = "control" }
event == "sys_enter" && $2 == 16 { server = "reply" }
event == "sys_exit" && $2 == 16 { server = "control" }

END {
	for (i = 1; i <= n; i++) {
		row = rows[i]
		cost = (traced[row] - plain[row]) / events[row]
		printf "%s\"%s\": {\"latency\": %.0f", (i == 1 ? "{" : ", "), row,
			plain[row] / COUNT
		for (k = 1; k in classes; k++)
			printf ", \"%s\": %.0f", classes[k],
				(spent[row, k] - cost * seen[row, k]) / COUNT
		printf "}"
	}
	print "}"
}
