-- SPDX-License-Identifier: GPL-2.0-only
--
-- Dissector for Wireshark and tshark: the protocol between nodes on UDP port
-- 56797, as Documentation/protocol.rst describes it.
--
--	tshark -X lua_script:tools/wireshark/dd.lua -i eth0 -f 'udp port 56797'
--
-- "make install" puts it where Wireshark looks for plugins.

local first, dd = pcall(Proto, "dd", "Direct Deposit")

-- An installed copy has been loaded before this one.
if not first then
	return
end

local PORT = 56797
local MAGIC = 0x4444
local HEADER = 32

local packet_types = {
	[1] = "INIT", [2] = "COOKIE", [3] = "INIT_ACK", [4] = "REFUSE",
	[5] = "RESET", [6] = "DATA",
}
local frame_types = {
	[1] = "ACK", [2] = "DONE", [3] = "CTL", [4] = "PUT", [5] = "PING",
	[6] = "BYE",
}
local refusals = {
	[1] = "no version in common", [2] = "different maxnodes",
	[3] = "not that node",
}
local reasons = {
	[1] = "dead", [2] = "reboot", [3] = "reset", [4] = "version",
	[5] = "config", [6] = "stopped", [7] = "bye", [8] = "maxnodes",
}

-- ---- fields ---------------------------------------------------------------

local fields = {}

-- field() - make the field "dd.<name>"; names: names of its values, or nil
local function field(kind, name, title, base, names, mask)
	local f = ProtoField[kind]("dd." .. name, title, base, names, mask)

	table.insert(fields, f)
	return f
end

local function number(bits, name, title, names)
	return field("uint" .. bits, name, title, base.DEC, names)
end

local function id(bits, name, title)
	return field("uint" .. bits, name, title, base.HEX)
end

-- Fields of bytes: added in any byte order.
local is_bytes = {}

local function bytes_of(name, title)
	local f = field("bytes", name, title)

	is_bytes[f] = true
	return f
end

local function reserved(name)
	return bytes_of(name .. ".reserved", "Reserved")
end

local function flags(name, title, bits)
	local set = { all = field("uint8", name, title, base.HEX) }

	for mask, bit in pairs(bits) do
		table.insert(set, field("bool", name .. "." .. bit[1], bit[2],
					8, nil, mask))
	end
	return set
end

-- Structures: lists of fields with their sizes in bytes. The flags of a field of
-- flags are shown below it.
local header = {
	{ id(16, "magic", "Magic"), 2 },
	{ number(8, "version", "Version"), 1 },
	{ number(8, "type", "Type", packet_types), 1 },
	{ flags("flags", "Flags", {
		[0x01] = { "payload_crc", "Checksum covers the payload" },
		[0x02] = { "unnumbered", "No packet number" },
	}), 1 },
	{ reserved("header"), 1 },
	{ number(16, "hlen", "Bytes before the payload"), 2 },
	{ id(64, "token", "Session token of the receiver"), 8 },
	{ number(32, "pn", "Packet number (low half)"), 4 },
	{ number(32, "ts", "Timestamp (us)"), 4 },
	{ number(16, "plen", "Bytes of payload"), 2 },
	{ reserved("header2"), 2 },
	{ id(32, "crc", "Checksum (CRC-32C)"), 4 },
}

local init = {
	{ number(32, "init.node", "Sender's node"), 4 },
	{ number(32, "init.peer", "Receiver's node"), 4 },
	{ number(32, "init.maxnodes", "Nodes in the cluster"), 4 },
	{ number(32, "init.packet_max", "Largest datagram taken"), 4 },
	{ number(16, "init.ctl_slots", "Control messages taken"), 2 },
	{ number(8, "init.version_min", "Lowest version"), 1 },
	{ number(8, "init.version_max", "Highest version"), 1 },
	{ flags("init.flags", "Flags", {
		[0x01] = { "want_crc", "Wants payloads checksummed" },
	}), 1 },
	{ reserved("init"), 3 },
	{ id(64, "init.incarnation", "Incarnation"), 8 },
	{ id(64, "init.token", "Session token of the sender"), 8 },
	{ id(64, "init.cookie", "Cookie"), 8 },
	{ number(32, "init.ts_echo", "Timestamp answered (us)"), 4 },
	{ reserved("init2"), 4 },
}

local bodies = {
	[1] = init,
	[2] = { { id(64, "cookie.cookie", "Cookie"), 8 } },
	[3] = init,
	[4] = {
		{ number(8, "refuse.reason", "Reason", refusals), 1 },
		{ number(8, "refuse.version_min", "Lowest version"), 1 },
		{ number(8, "refuse.version_max", "Highest version"), 1 },
		{ reserved("refuse"), 1 },
		{ number(32, "refuse.node", "Sender's node"), 4 },
		{ number(32, "refuse.maxnodes", "Nodes in the cluster"), 4 },
		{ reserved("refuse2"), 4 },
	},
	[5] = { { id(64, "reset.token", "Session token answered"), 8 } },
}

local frame = field("none", "frame", "Frame")
local frame_type = number(8, "frame.type", "Type", frame_types)
local payload = bytes_of("payload", "Payload")

local ack = {
	{ frame_type, 1 },
	{ number(8, "ack.count", "Further ranges"), 1 },
	{ number(16, "ack.delay", "Delay (us)"), 2 },
	{ number(32, "ack.largest", "Highest packet (low half)"), 4 },
	{ number(32, "ack.first", "Packets just below it"), 4 },
	{ number(32, "ack.ts_echo", "Its timestamp (us)"), 4 },
}
local range = {
	{ number(32, "ack.gap", "Packets missing"), 4 },
	{ number(32, "ack.len", "Packets below those"), 4 },
}
local done = {
	{ frame_type, 1 },
	{ reserved("done"), 1 },
	{ number(16, "done.credit", "Messages that may follow"), 2 },
	{ reserved("done2"), 4 },
	{ id(64, "done.chan", "Channel"), 8 },
	{ number(64, "done.count", "Messages done"), 8 },
}
local ctl = {
	{ frame_type, 1 },
	{ reserved("ctl"), 1 },
	{ number(16, "ctl.len", "Bytes"), 2 },
	{ number(32, "ctl.seq", "Number (low half)"), 4 },
}
local ctl_data = bytes_of("ctl.data", "Control message")
local ctl_fill = bytes_of("ctl.fill", "Filling")
local ctl_kinds = { [1] = "QUERY", [2] = "ANSWER", [3] = "CLOSE", [4] = "WAKE" }
local ctl_classes = { [0] = "none", [1] = "service" }
local ctl_statuses = {
	[0] = "granted", [1] = "none", [2] = "full", [3] = "no memory",
	[4] = "busy", [5] = "bad", [6] = "denied", [7] = "parked",
}
local ctl_kind = number(8, "ctl.kind", "Kind", ctl_kinds)
local ctl_class = number(8, "ctl.class", "Class", ctl_classes)
local ctl_ends = number(8, "ctl.ends", "Channels")
local ctl_body_len = number(16, "ctl.body_len", "Bytes in the body")
local ctl_req = number(32, "ctl.req", "Query")
local ctl_key = field("string", "ctl.key", "Key")
local ctl_chan = id(64, "ctl.chan", "Channel")
local ctl_notified = number(64, "ctl.notified", "Messages with a note")
local ctl_status = number(32, "ctl.status", "Status", ctl_statuses)
local service = {
	{ number(64, "service.size", "Bytes in the block"), 8 },
	{ number(32, "service.pid", "Process"), 4 },
	{ number(32, "service.uid", "User"), 4 },
	{ number(16, "service.window", "Window"), 2 },
	{ number(8, "service.type", "Type of connection"), 1 },
	{ reserved("service"), 1 },
	{ number(16, "service.taken", "Taken at first"), 2 },
	{ reserved("service.end"), 2 },
}
local controls = {
	[1] = {
		{ ctl_kind, 1 }, { ctl_class, 1 }, { ctl_body_len, 2 },
		{ ctl_req, 4 }, { ctl_key, 64 }, { ctl_chan, 8 },
	},
	[2] = {
		{ ctl_kind, 1 }, { ctl_class, 1 }, { ctl_body_len, 2 },
		{ ctl_req, 4 }, { ctl_status, 4 }, { ctl_chan, 8 },
	},
	[3] = {
		{ ctl_kind, 1 }, { ctl_ends, 1 }, { ctl_body_len, 2 },
		{ ctl_req, 4 },
	},
	[4] = {
		{ ctl_kind, 1 }, { ctl_class, 1 }, { ctl_body_len, 2 },
		{ ctl_req, 4 }, { ctl_chan, 8 },
	},
}
local put = {
	{ frame_type, 1 },
	{ flags("put.flags", "Flags", {
		[0x01] = { "notify", "Tell when all is there" },
		[0x02] = { "prompt", "The sender waits for DONE" },
		[0x04] = { "reply", "Answers a message" },
	}), 1 },
	{ number(8, "put.meta_count", "Words of metadata"), 1 },
	{ number(8, "put.op", "Operation", {
		[0] = "PUT", [1] = "GET", [2] = "CAS4", [3] = "CAS8", [4] = "NOTE",
	}), 1 },
	{ id(32, "put.generation", "Generation"), 4 },
	{ id(64, "put.chan", "Channel"), 8 },
	{ number(64, "put.msgid", "Message"), 8 },
	{ number(64, "put.dst", "Offset in the block"), 8 },
	{ number(32, "put.len", "Bytes in the message"), 4 },
	{ number(32, "put.off", "Offset in the message"), 4 },
}
local head = {
	{ id(32, "put.tag", "Tag"), 4 },
	{ id(32, "put.meta0", "Metadata 0"), 4 },
	{ id(32, "put.meta1", "Metadata 1"), 4 },
	{ id(32, "put.meta2", "Metadata 2"), 4 },
	{ id(32, "put.meta3", "Metadata 3"), 4 },
	{ reserved("head"), 4 },
}
local ping = {
	{ frame_type, 1 },
	{ reserved("ping"), 7 },
}
local bye = {
	{ frame_type, 1 },
	{ number(8, "bye.reason", "Reason", reasons), 1 },
	{ reserved("bye"), 6 },
}

local malformed = ProtoExpert.new("dd.malformed", "Malformed",
				  expert.group.MALFORMED,
				  expert.severity.ERROR)

dd.fields = fields
dd.experts = { malformed }

-- ---- dissection -----------------------------------------------------------

local function size(structure)
	local n = 0

	for _, part in ipairs(structure) do
		n = n + part[2]
	end
	return n
end

local function add(tree, structure, tvb, offset)
	for _, part in ipairs(structure) do
		local what, bytes = part[1], tvb(offset, part[2])

		if type(what) == "table" then
			local sub = tree:add_le(what.all, bytes)

			for _, bit in ipairs(what) do
				sub:add_le(bit, bytes)
			end
		elseif is_bytes[what] then
			tree:add(what, bytes)
		else
			tree:add_le(what, bytes)
		end
		offset = offset + part[2]
	end
	return offset
end

local function bad(tree, tvb, offset, text)
	tree:add_proto_expert_info(malformed, text)
	if offset < tvb:len() then
		tree:add(payload, tvb(offset))
	end
	return nil
end

local frames = {}

frames[1] = function(tree, tvb, offset)
	local count = tvb(offset + 1, 1):uint()

	tree:append_text(" of " .. tvb(offset + 4, 4):le_uint())
	offset = add(tree, ack, tvb, offset)
	for _ = 1, count do
		offset = add(tree, range, tvb, offset)
	end
	return offset
end

frames[2] = function(tree, tvb, offset)
	tree:append_text(" through " .. tvb(offset + 16, 8):le_uint64())
	return add(tree, done, tvb, offset)
end

-- A control message: its structure, if its length is the one in its header.
local function control(tvb)
	local what = controls[tvb(0, 1):uint()]
	local more

	if not what or tvb:len() < size(what) then
		return nil
	end
	more = tvb:len() - size(what)
	if what == controls[3] then
		return more == 16 * tvb(1, 1):uint() and what
	end
	return more == tvb(2, 2):le_uint() and what
end

local function add_control(tree, tvb)
	local what = control(tvb)
	local offset

	if not what then
		tree:add(ctl_data, tvb())
		return
	end
	tree:append_text(" " .. ctl_kinds[tvb(0, 1):uint()])
	offset = add(tree, what, tvb, 0)
	while what == controls[3] and offset < tvb:len() do
		offset = add(tree, { { ctl_chan, 8 }, { ctl_notified, 8 } }, tvb, offset)
	end
	if tvb:len() - offset == size(service) then
		add(tree, service, tvb, offset)
	elseif offset < tvb:len() then
		tree:add(ctl_data, tvb(offset))
	end
end

frames[3] = function(tree, tvb, offset)
	local len = tvb(offset + 2, 2):le_uint()
	local fill = -len % 8

	tree:append_text(" number " .. tvb(offset + 4, 4):le_uint())
	offset = add(tree, ctl, tvb, offset)
	add_control(tree, tvb(offset, len):tvb())
	offset = offset + len
	if fill > 0 then
		tree:add(ctl_fill, tvb(offset, fill))
	end
	return offset + fill
end

frames[4] = function(tree, tvb, offset)
	local off = tvb(offset + 36, 4):le_uint()

	tree:append_text(" message " .. tvb(offset + 16, 8):le_uint64() ..
			 " from " .. off)
	offset = add(tree, put, tvb, offset)
	if off == 0 then
		offset = add(tree, head, tvb, offset)
	end
	return offset
end

frames[5] = function(tree, tvb, offset)
	return add(tree, ping, tvb, offset)
end

frames[6] = function(tree, tvb, offset)
	return add(tree, bye, tvb, offset)
end

-- pcall(): a frame that ends too early makes tvb() raise an error.
local function add_frame(tree, tvb, offset, hlen)
	local kind = tvb(offset, 1):uint()
	local sub = tree:add(frame, tvb(offset, hlen - offset))
	local ok, next

	if not frames[kind] then
		return bad(sub, tvb, offset, "unknown frame")
	end
	sub:set_text("Frame: " .. frame_types[kind])
	ok, next = pcall(frames[kind], sub, tvb, offset)
	if not ok or next > hlen then
		return bad(sub, tvb, offset, "frame cut short")
	end
	sub:set_len(next - offset)
	return next, frame_types[kind]
end

local function add_frames(tree, tvb, hlen)
	local offset, names = HEADER, {}

	while offset and offset < hlen do
		local name

		offset, name = add_frame(tree, tvb, offset, hlen)
		table.insert(names, name)
	end
	return offset, table.concat(names, " ")
end

function dd.dissector(tvb, pinfo, root)
	local tree, kind, hlen, offset, info

	if tvb:len() < HEADER or tvb(0, 2):le_uint() ~= MAGIC then
		return 0
	end
	pinfo.cols.protocol = "DD"
	tree = root:add(dd, tvb())
	kind = tvb(3, 1):uint()
	hlen = tvb(6, 2):le_uint()
	info = packet_types[kind] or "?"
	offset = add(tree, header, tvb, 0)
	if hlen < HEADER or hlen + tvb(24, 2):le_uint() ~= tvb:len() then
		offset = bad(tree, tvb, offset, "wrong length")
	elseif kind == 6 then
		offset, info = add_frames(tree, tvb, hlen)
	elseif bodies[kind] and hlen == HEADER + size(bodies[kind]) then
		offset = add(tree, bodies[kind], tvb, offset)
	else
		offset = bad(tree, tvb, offset, "unknown packet")
	end
	if offset and offset < tvb:len() then
		tree:add(payload, tvb(offset))
	end
	pinfo.cols.info = info
	tree:append_text(", " .. info)
	return tvb:len()
end

DissectorTable.get("udp.port"):add(PORT, dd)
