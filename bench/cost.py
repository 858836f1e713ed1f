#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-only
"""The cost of an operation, in guest instructions.

cost.py take REPORTS      figures from ddperf's reports, one report a line
cost.py check OLD TAKEN   TAP: no figure of dd exceeds its limit or is more than
                          5 % above the old one, and a rise would be noticed
                          (on another kernel release: twice the limit, or the old one)

A figure's name is NODES TEST SIZE METHOD, for example "here insn 64 dd-send".
Tests are ddperf's: "insn" is one operation, or one message of a stream between
two nodes; "trip" is one message of a round trip. All receivers sleep. Figures of
"rmem" are those of rm_figures.c, figures of "rmfs" those of rmfs-guest.sh; these
have limits, and are not compared with the old ones.

The kernel's part of a figure differs by its release, which Debian's archive changes.
So on another release than the old one a figure may be twice as high, and a comment says
which releases these are; "make cost" counts again. The limits of calls that do not enter
the kernel hold on every release.
"""
import json
import sys

RISE = 1.05         # times the old figure
OTHER = 2           # the same, and times a limit, on another kernel release
REPEATS = 1.005     # what the same tree differs by from run to run, at most

# Name -> instructions, and whether the call enters the kernel.
LIMITS = {
    "here insn 64 ddsend": (140, False),
    "here insn 64 ddrecv": (130, False),
    "here insn 64 dd-send-kernel": (1148, True),
    "here insn 64 dd-put": (105, False),
    "here insn 64 dd-get": (75, False),
    "here insn 64 dd-cas": (85, False),
    "here insn 64 dd-put-kernel": (1136, True),
}

# Figure -> another one, and how many times that it may be: a get and a swap of another
# node beside a round trip of two messages, bulk gets beside bulk puts, and these beside
# messages. The exporter's node copies the bytes of a get, into pages that the kernel zeroes
# before: that is some 0.7 of a put.
RATIOS = {
    "net get 64 dd": ("net-1500 trip 64 dd", 2.2),
    "net cas 8 dd": ("net-1500 trip 64 dd", 2.2),
    "net put 1048576 dd": ("net-1500 insn 1048576 dd", 1.05),
    "net get 1048576 dd": ("net put 1048576 dd", 1.75),
}

# Remote memory: what the authors of the model have measured.
RATIOS.update({
    "rmem read 40 by-read": ("rmem write 40 by-read", 1.5),
    "rmem cas 4 by-read": ("rmem write 40 by-read", 1.27),
    "rmem notification 40 by-read": ("rmem write 40 by-read", 8.7),
    "rmem lookup 0 by-read": ("rmem read 40 by-read", 1.5),
    "rmem lookup 7 by-read": ("rmem lookup 7 by-write", 1),
    "rmfs client-read 8192 rmfs": ("rmfs client-read 8192 nfs", 1),
})

# NFS calls that they have counted, of 1000. "dx" reads the caches of the server, and writes
# without notification; "hy" sends requests.
MIX = {"Null": 120, "GetAttr": 310, "Lookup": 310, "Read": 160, "ReadLink": 60, "ReadDir": 31,
       "StatFS": 5, "Write": 4}
for op in list(MIX) + ["mix"]:
    RATIOS["rmfs %s latency dx" % op] = ("rmfs %s latency hy" % op, 1)
    RATIOS["rmfs %s server dx" % op] = ("rmfs %s server hy" % op, 0.5)
CLASSES = ("reception", "control", "procedure", "reply")


def ours(name):
    """Whether a figure is of direct deposit, and not of a control."""
    return name.split()[-1].startswith("dd")


# ---- reports -------------------------------------------------------------


def of_calls(report):
    """ddperf insn: calls of one process."""
    for row in report["results"]:
        yield "here insn %d %s" % (report["size"], row["name"]), row["cost"]["median"]


def of_flows(report):
    """ddperf lat, net trip, net insn: two processes."""
    where, test, scale = "here", "trip", 500    # us of both ways
    if report["test"].startswith("net "):
        where = "net-%d" % report["path"]["mtu"]
        test, scale = report["test"][4:], 1
    for size in report["results"]:
        for row in size["methods"]:
            name = "%s %s %d %s" % (where, test, size["size"], row["name"])
            yield name, row["rounds"]["median"] * scale


def of_access(report):
    """ddperf net put, get, cas: until the request is done."""
    for row in report["results"]:
        name = "net %s %d %s" % (report["test"], report["size"], row["name"])
        yield name, row["rounds"]["median"]


def of_rmem(report):
    """Operations of remote memory, and look-ups of names with collisions."""
    for name, cost in report["results"].items():
        yield "rmem %s %s" % (name, report["method"]), cost


def of_rmfs(report):
    """Operations of the file service: all of one, at the server, and there by class."""
    rows = {tuple(name.split()): row for name, row in report["operations"].items()}
    for scheme in "hy", "dx":
        parts = ("latency",) + CLASSES
        rows[scheme, "mix"] = {
            part: sum(MIX[op] * rows[scheme, op][part] for op in MIX) / 1000 for part in parts}
        for op in list(MIX) + ["mix"]:
            row = rows[scheme, op]
            row["server"] = sum(row[c] for c in CLASSES)
            for part in parts + ("server",):
                yield "rmfs %s %s %s" % (op, part, scheme), row[part]
    for name, cost in report["reads"].items():
        yield "rmfs client-read 8192 " + name, cost


def unit(report):
    return report.get("unit") or report["parameters"]["unit"]


KINDS = {"insn": of_calls, "put": of_access, "get": of_access, "cas": of_access}
NO_UNIT = {"lat": of_flows, "rmem": of_rmem, "rmfs": of_rmfs}


def take(reports):
    """The file of figures, or ValueError if the clock counted time."""
    figures = {}
    for report in reports:
        if report["test"] in NO_UNIT:
            figures.update(NO_UNIT[report["test"]](report))
            continue
        if unit(report) != "instructions":
            raise ValueError("%s: unit is '%s'" % (report["command"], unit(report)))
        figures.update(KINDS.get(report["test"], of_flows)(report))
    return {
        "kernel": reports[0]["environment"]["kernel"],
        "commands": [r["command"] for r in reports],
        "instructions": {name: round(value) for name, value in figures.items()},
    }


# ---- comparison ----------------------------------------------------------


def compare(old, new, rise=RISE):
    """(name, old, new, verdict) of each figure; only a figure of dd that has an old
    one gets a verdict."""
    for name in list(old) + [n for n in new if n not in old]:
        a, b = old.get(name), new.get(name)
        if b is None:
            verdict = "not measured any more"
        elif a and ours(name):
            verdict = "rose by more than %d %%" % (100 * rise - 99.5) if b > a * rise else "good"
        else:
            verdict = None
        yield name, a, b, verdict


def dearer(figures, factor):
    """The same figures with those of dd multiplied by @factor."""
    return {n: v * factor if ours(n) else v for n, v in figures.items()}


def reds(old, new, rise=RISE):
    return [r for r in compare(old, new, rise) if r[3] not in (None, "good")]


class Tap:
    def __init__(self):
        self.ran = self.bad = 0

    def result(self, good, text):
        self.ran += 1
        self.bad += not good
        print("%s %d - %s" % ("ok" if good else "not ok", self.ran, text))

    def finish(self):
        print("1..%d" % self.ran)
        return 1 if self.bad else 0


def check(old, new):
    tap = Tap()
    rise = RISE
    if old["kernel"] != new["kernel"]:
        rise = OTHER
        print("# bench/instructions.json was counted on Linux %s, this guest runs %s; count again: "
              "make cost" % (old["kernel"], new["kernel"]))
    for name, (limit, kernel) in LIMITS.items():
        count = new["instructions"].get(name)
        if kernel and rise == OTHER:
            limit *= OTHER
        tap.result(count is not None and count <= limit * REPEATS,
                   "limit: %s: %s, at most %d" % (name, count, limit))
    for name, (base, factor) in RATIOS.items():
        count, limit = (new["instructions"].get(n) for n in (name, base))
        if count and base.endswith("nfs") and not limit:
            tap.result(True, "ratio: %s # SKIP no NFS server; run: selftests/vm/deps.sh bench" %
                       name)
            continue
        tap.result(count and limit and count <= factor * limit,
                   "ratio: %s: %s, at most %.2f times %s: %s" %
                   (name, count, factor, base, limit))
    old, new = old["instructions"], new["instructions"]
    for name, a, b, verdict in compare(old, new, rise):
        ratio = "%.3f" % (b / a) if a and b else "-"
        line = "%s: %s by %s, %s" % (name, b, a, ratio)
        if verdict is None:
            print("# " + line + ("" if a else "; to keep it: make cost"))
            continue
        tap.result(verdict == "good", line if verdict == "good" else
                   "%s: %s" % (line, verdict))
    mine = sum(map(ours, old))
    tap.result(mine and len(reds(dearer(old, 1 / (rise + 0.01)), old, rise)) == mine,
               "%d %% more would have been noticed in each figure of dd" % (100 * rise - 98.5))
    return tap.finish()


def reports(path):
    """Guests mix messages with reports."""
    with open(path) as f:
        for line in f:
            if line.startswith("{"):
                yield json.loads(line)
            else:
                print(line, end="", file=sys.stderr)


def load(path):
    with open(path) as f:
        return json.load(f)


def main(argv):
    if len(argv) == 3 and argv[1] == "take":
        json.dump(take(list(reports(argv[2]))), sys.stdout, indent=1)
        print()
        return 0
    if len(argv) == 4 and argv[1] == "check":
        return check(load(argv[2]), load(argv[3]))
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv))
