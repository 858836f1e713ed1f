#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Check which room of kernel/ includes which, and where connections are named.

Prints TAP. A room uses those below it (Documentation/design.rst); upwards it calls
through the tables of kernel/core/hooks.h and kernel/udp/upper.h.
"""
import glob
import re
import sys

BELOW = {
    "core": "",
    "direct": "core",
    "transport": "",
    "udp": "core transport",
    "cluster": "core transport udp",
    "ddp": "core direct cluster",
    "admin": "core direct cluster ddp",
    "dev": "core direct cluster ddp",
}
NAMED = ("ddp", "admin", "dev")
LINES = 250  # of a header


def problems(path, room):
    """Yield what is wrong with a file."""
    allowed = set(BELOW[room].split()) | {room, "compat"}
    text = open(path, encoding="utf-8").read()
    for other, name in re.findall(r'#include "(\w+)/(\w+\.h)"', text):
        if other not in allowed:
            yield f"includes {other}/{name}"
    if room not in NAMED:
        for name in sorted(set(re.findall(r"\bdd_(?:conn|service|client)\b", text))):
            yield f"names {name}"
    lines = text.count("\n")
    if path.endswith(".h") and lines > LINES:
        yield f"has {lines} lines, more than {LINES}"


def main():
    """Check every room."""
    bad = 0
    for number, room in enumerate(BELOW, 1):
        found = [f"{path} {what}" for path in sorted(glob.glob(f"kernel/{room}/*.[ch]"))
                 for what in problems(path, room)]
        bad += bool(found)
        print(f"{'not ok' if found else 'ok'} {number} - kernel/{room} uses only the rooms below")
        for line in found:
            print(f"# {line}")
    print(f"1..{len(BELOW)}")
    return bad > 0


sys.exit(main())
