#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""dissector.py SIM: tshark, with the dissector, over what the simulator sent.

Every byte of every packet must belong to a named field, all types of packets
and frames must have been there, and what the fields say must be what a parser
of a few lines finds.
"""
import collections
import os
import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as xml

SCRIPT = "tools/wireshark/dd.lua"
DIR = "build/selftests"
SCENARIOS = ("config", "reboot", "trouble", "park")
PACKETS = 800
HEADER = 28     # IPv4 and UDP

results = []


def check(name, bad):
    results.append(not bad)
    print("%s %d - dissector: %s" % ("not ok" if bad else "ok", len(results), name))
    for line in list(bad)[:5]:
        print("#", line)


def packets_of(path):
    """Of a capture as the simulator writes it."""
    with open(path, "rb") as f:
        data = f.read()
    offset = 24
    while offset < len(data):
        length = struct.unpack_from("<I", data, offset + 8)[0]
        yield data[offset + 16:offset + 16 + length]
        offset += 16 + length


def rare(packet):
    """Not DATA, or with the last word of a session."""
    data = packet[HEADER:]
    return data[3] != 6 or data[32] == 6


def capture(sim, scenario):
    """The first packets of a scenario, and those of which there are few."""
    path = "%s/%s.pcap" % (DIR, scenario)
    subprocess.run([sim, "--seed", "1", "--scenario", scenario, "--pcap", path],
                   check=True, stdout=subprocess.DEVNULL)
    return [p for n, p in enumerate(packets_of(path)) if n < PACKETS or rare(p)]


def ip(datagram):
    """The datagram from one node to another."""
    return (struct.pack("!BBHHHBBHII", 0x45, 0, HEADER + len(datagram), 0, 0x4000, 64, 17, 0,
                        0x0a000001, 0x0a000002) +
            struct.pack("!HHHH", 56797, 56797, 8 + len(datagram), 0) + datagram)


def controls():
    """A packet with each kind of control message, which the simulator does not know."""
    end = struct.pack("<QIIHB5x", 4096, 17, 1000, 1, 3)
    for message in (
            struct.pack("<BBHI64sQ", 1, 1, len(end), 7, b"echo", 0xaaaa) + end,
            struct.pack("<BBHIIQ", 2, 0, len(end), 7, 0, 0xbbbb) + end,
            struct.pack("<BBHIIQ", 2, 0, 0, 8, 1, 0),
            struct.pack("<BBHIQQQQ", 3, 2, 0, 0, 1, 7, 2, 9),
            struct.pack("<BBHIQ", 4, 0, 0, 0, 0xaaaa)):
        frame = struct.pack("<BBHI", 3, 0, len(message), 5) + message + bytes(-len(message) % 8)
        yield ip(struct.pack("<HBBBBHQIIHHI", 0x4444, 1, 6, 0, 0, 32 + len(frame), 99, 1, 2, 0,
                             0, 0) + frame)


def dissect(name, packets):
    """What is to be shown of packets: their trees and their bytes."""
    path = "%s/%s.pcap" % (DIR, name)
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHIIII", 0xa1b23c4d, 2, 4, 0, 0, 65535, 101))
        for packet in packets:
            f.write(struct.pack("<IIII", 0, 0, len(packet), len(packet)) + packet)
    pdml = subprocess.run(["tshark", "-X", "lua_script:" + SCRIPT, "-r", path, "-T", "pdml"],
                          check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    trees = xml.fromstring(pdml.stdout).findall("packet")
    if len(trees) != len(packets):
        raise SystemExit("# tshark shows %d packets of %d" % (len(trees), len(packets)))
    return zip(trees, packets)


def named(proto):
    """Bytes that lie in a field without parts, or with flags as parts."""
    seen = set()
    for field in proto.iter("field"):
        name = field.get("name")
        if name and name.startswith("dd.") and name != "dd.frame":
            start = int(field.get("pos"))
            seen.update(range(start, start + int(field.get("size"))))
    return seen


def parse(data):
    """Types of a packet, and of its frames."""
    kind, hlen = data[3], struct.unpack_from("<H", data, 6)[0]
    frames, offset = [], 32
    while kind == 6 and offset < hlen:
        frame = data[offset]
        frames.append(frame)
        if frame == 1:
            offset += 16 + 8 * data[offset + 1]
        elif frame == 3:
            offset += 8 + (struct.unpack_from("<H", data, offset + 2)[0] + 7) // 8 * 8
        elif frame == 4:
            offset += 40 if any(data[offset + 36:offset + 40]) else 64
        else:
            offset += 24 if frame == 2 else 8
    return [[kind], frames]


def values(proto, name):
    return [int(f.get("show"), 0) for f in proto.iter("field") if f.get("name") == "dd." + name]


def main(sim):
    bad, seen = collections.defaultdict(list), collections.defaultdict(list)
    os.makedirs(DIR, exist_ok=True)
    captures = {scenario: capture(sim, scenario) for scenario in SCENARIOS}
    captures["controls"] = list(controls())
    for name, packets in captures.items():
        for number, (packet, data) in enumerate(dissect(name, packets), 1):
            proto = packet.find("proto[@name='dd']")
            where = "%s, packet %d" % (name, number)
            if proto is None:
                bad["all"].append(where)
                continue
            if set(range(HEADER, len(data))) - named(proto):
                bad["bytes"].append(where)
            if re.search(b"malformed|lua error", xml.tostring(packet).lower()):
                bad["malformed"].append(where)
            if [values(proto, "type"), values(proto, "frame.type")] != parse(data[HEADER:]):
                bad["types"].append(where)
            for field in ("type", "frame.type", "put.op"):
                seen[field] += values(proto, field)
            if name == "controls":
                for field in ("ctl.kind", "ctl.notified", "ctl.data"):
                    seen[field] += values(proto, field)
    print("# %d packets" % sum(map(len, captures.values())))
    check("all packets are known", bad["all"])
    check("none is malformed", bad["malformed"])
    check("every byte has a name", bad["bytes"])
    check("types of packets and frames are right", bad["types"])
    check("all types of packets were there", {1, 2, 3, 4, 5, 6} - set(seen["type"]))
    check("all types of frames were there", {1, 2, 3, 4, 5, 6} - set(seen["frame.type"]))
    check("requests of segments were there", {0, 1, 2, 3} - set(seen["put.op"]))
    want = [[1, 2, 2, 3, 4], [7, 9], []]
    check("control messages have names", [] if [seen["ctl.kind"], seen["ctl.notified"],
                                                seen["ctl.data"]] == want else seen.items())
    print("1..%d" % len(results))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
