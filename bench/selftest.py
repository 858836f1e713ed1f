#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-only
"""Tests the scripts that make figures, tables and charts of reports; prints TAP."""
import json
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
from pathlib import Path

import chart
import cost as limits
import report as maker
import rmfs
import table

BENCH = Path(__file__).resolve().parent
results = []


def check(name, good, more=""):
    results.append(good)
    print("%s %d - %s" % ("ok" if good else "not ok", len(results), name))
    for line in [] if good else str(more).splitlines():
        print("# " + line)


# ---- instructions --------------------------------------------------------


def spread(median):
    return {"min": median, "median": median, "max": median}


def report(test, **more):
    return dict({"test": test, "command": "ddperf " + test,
                 "environment": {"kernel": "1.2"}}, **more)


def flow(test, name, median, **more):
    return report(test, parameters={"unit": "instructions"}, results=[
        {"size": 64, "methods": [{"name": name, "rounds": spread(median)}]}], **more)


REPORTS = [
    report("insn", size=64, unit="instructions", results=[
        {"name": "dd-send", "cost": spread(900)},
        {"name": "getppid", "cost": spread(339)}]),
    flow("lat", "dd", 12.5),
    flow("net trip", "dd", 18000.4, path={"mtu": 1500}),
    report("get", size=64, unit="instructions", results=[
        {"name": "dd", "rounds": spread(30000)}]),
    report("rmem", method="by-read", results={"lookup 7": 33000}),
]

FIGURES = {
    "here insn 64 dd-send": 900,
    "here insn 64 getppid": 339,
    "here trip 64 dd": 6250,
    "net-1500 trip 64 dd": 18000,
    "net get 64 dd": 30000,
    "rmem lookup 7 by-read": 33000,
}


def cost(*args):
    return subprocess.run([BENCH / "cost.py", *args], capture_output=True, text=True)


def write(path, value):
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def taken(tmp, reports):
    lines = "guest: hello\n" + "".join(json.dumps(r) + "\n" for r in reports)
    return cost("take", write(tmp / "raw", lines))


def take(tmp):
    run = taken(tmp, REPORTS)
    check("instructions: figures out of reports",
          run.returncode == 0 and json.loads(run.stdout)["instructions"] == FIGURES,
          run.stdout + run.stderr)
    timed = [dict(REPORTS[0], unit="ns")]
    check("instructions: a clock that counts time is refused",
          taken(tmp, timed).returncode != 0)


# Figures in place of the committed ones, the kernel that these were counted on,
# figures in place of the new ones, exit status and text.
DOCTORED = [
    ("the same", {}, "1.2", {}, 0, "dd-send: 900 by 900, 1.000"),
    ("4.7 % more", {"here insn 64 dd-send": 860}, "1.2", {}, 0, "dd-send: 900 by 860, 1.047"),
    ("5.3 % more", {"here insn 64 dd-send": 855}, "1.2", {}, 1, "1.053: rose by more than 5 %"),
    ("a third of it", {"here trip 64 dd": 18750}, "1.2", {}, 0, "0.333"),
    ("a control that rose", {"here insn 64 getppid": 100}, "1.2", {}, 0,
     "# here insn 64 getppid"),
    ("a figure that is not taken any more", {"here insn 64 memcpy": 20},
     "1.2", {}, 1, "not measured any more"),
    ("a figure that was not there", {"net-1500 trip 64 dd": None}, "1.2", {}, 0,
     "to keep it: make cost"),
    ("another kernel: nearly twice as many", {"here insn 64 dd-send": 455}, "1.1", {}, 0,
     "# bench/instructions.json was counted on Linux 1.1, this guest runs 1.2"),
    ("another kernel: more than that", {"here insn 64 dd-send": 445}, "1.1", {}, 1,
     "2.022: rose by more than 100 %"),
    ("another kernel: the library's limit holds", {}, "1.1", {"here insn 64 ddsend": 141}, 1,
     "not ok 1 - limit: here insn 64 ddsend: 141, at most 140"),
    ("at the kernel's limit", {}, "1.2", {"here insn 64 dd-send-kernel": 1153}, 0,
     "ok 3 - limit"),
    ("above the kernel's limit", {}, "1.2", {"here insn 64 dd-send-kernel": 1154}, 1,
     "not ok 3 - limit"),
    ("above a ratio", {}, "1.2", {"net get 64 dd": 39601}, 1,
     "not ok 8 - ratio: net get 64 dd: 39601"),
    ("a ratio's other figure is missing", {}, "1.2", {"net put 1048576 dd": None}, 1,
     "not ok 11 - ratio"),
    ("no NFS server", {}, "1.2", {"rmfs client-read 8192 nfs": None}, 0,
     "rmfs client-read 8192 rmfs # SKIP no NFS server"),
    ("a limit's figure is missing", {}, "1.2", {"here insn 64 ddrecv": None}, 1,
     "not ok 2 - limit: here insn 64 ddrecv: None"),
]
LIMITED = {"here insn 64 ddsend": 95, "here insn 64 ddrecv": 76,
           "here insn 64 dd-send-kernel": 1050, "here insn 64 dd-put": 100,
           "here insn 64 dd-get": 70, "here insn 64 dd-cas": 80,
           "here insn 64 dd-put-kernel": 1000,
           "net cas 8 dd": 25000, "net get 1048576 dd": 900, "net put 1048576 dd": 1000,
           "net-1500 insn 1048576 dd": 1000}
for name, (base, factor) in limits.RATIOS.items():
    if name.startswith("rm"):
        LIMITED.setdefault(name, LIMITED.setdefault(base, 1000) * factor)


def changed(figures, changes):
    return {n: v for n, v in dict(figures, **changes).items() if v is not None}


def compare(tmp):
    base = dict(FIGURES, **LIMITED)
    for name, changes, kernel, doctored, status, text in DOCTORED:
        old = write(tmp / "old", {"kernel": kernel, "instructions": changed(
            FIGURES, changes)})
        new = write(tmp / "new", {"kernel": "1.2", "instructions": changed(base, doctored)})
        run = cost("check", old, new)
        check("instructions: " + name,
              run.returncode == status and text in run.stdout, run.stdout + run.stderr)


# ---- the file service ----------------------------------------------------

# One series of one operation by requests, and one by reads; then the same with events that
# add 10 each. The server is process 7. Another series was disturbed.
MARKS = """\
 a-1 [000] ..... 1000: tracing_mark_write: hy Read
 a-1 [000] ..... 2000: tracing_mark_write: hy end
 a-1 [000] ..... 2010: tracing_mark_write: hy Read
 a-1 [000] ..... 2450: tracing_mark_write: hy end
 a-1 [000] ..... 3000: tracing_mark_write: dx Read
 a-1 [000] ..... 3240: tracing_mark_write: dx end
"""
EVENTS = """\
 a-1 [000] ..... 990: sched_switch: next_comm=a next_pid=7 next_prio=1
 a-1 [000] ..... 1000: tracing_mark_write: hy Read
 a-1 [000] ..... 1110: dd_packet_sent: peer=2 pn=1 bytes=9
 a-1 [000] ..... 1120: softirq_entry: vec=3 [action=NET_RX]
 a-1 [000] ..... 1130: netif_receive_skb: dev=port1
 a-1 [000] ..... 1140: netif_receive_skb: dev=eth0
 a-1 [000] ..... 1170: dd_packet_received: peer=1 pn=1 bytes=9
 a-1 [000] ..... 1200: dd_note: pid=7 list=1
 a-1 [000] ..... 1220: softirq_exit: vec=3 [action=NET_RX]
 a-1 [000] ..... 1230: sched_switch: next_comm=a next_pid=7 next_prio=1
 a-7 [000] ..... 1270: sys_exit: NR 0 = 32
 a-7 [000] ..... 1330: sys_enter: NR 16 (4, 1)
 a-7 [000] ..... 1400: softirq_entry: vec=3 [action=NET_RX]
 a-7 [000] ..... 1410: netif_receive_skb: dev=eth0
 a-7 [000] ..... 1500: dd_packet_received: peer=2 pn=1 bytes=9
 a-7 [000] ..... 1510: softirq_exit: vec=3 [action=NET_RX]
 a-7 [000] ..... 1530: sys_exit: NR 16 = 1
 a-7 [000] ..... 1590: sched_switch: next_comm=a next_pid=1 next_prio=1
 a-1 [000] ..... 1620: tracing_mark_write: hy end
 a-1 [000] ..... 3000: tracing_mark_write: dx Read
 a-1 [000] ..... 3110: softirq_entry: vec=3 [action=NET_RX]
 a-1 [000] ..... 3120: netif_receive_skb: dev=eth0
 a-1 [000] ..... 3170: dd_packet_received: peer=1 pn=1 bytes=9
 a-1 [000] ..... 3180: dd_packet_sent: peer=1 pn=1 bytes=9
 a-1 [000] ..... 3220: netif_receive_skb: dev=eth0
 a-1 [000] ..... 3280: dd_packet_received: peer=2 pn=1 bytes=9
 a-1 [000] ..... 3300: softirq_exit: vec=3 [action=NET_RX]
 a-1 [000] ..... 3320: tracing_mark_write: dx end
"""
SHARES = {
    "hy Read": {"latency": 44, "reception": 4, "control": 9, "procedure": 5, "reply": 7,
                "rest": 19},
    "dx Read": {"latency": 24, "reception": 4, "control": 0, "procedure": 0, "reply": 3,
                "rest": 17},
}


def shares(tmp):
    run = subprocess.run(
        ["awk", "-v", "SERVER=7", "-v", "COUNT=10", "-f", BENCH / "rmfs.awk",
         write(tmp / "marks", MARKS), write(tmp / "events", EVENTS)],
        capture_output=True, text=True)
    check("rmfs: instructions by class, out of traces",
          run.returncode == 0 and json.loads(run.stdout) == SHARES, run.stdout + run.stderr)
    one = {"hy": SHARES["hy Read"], "dx": SHARES["dx Read"]}
    f = dict(limits.of_rmfs({"reads": {"nfs": 9}, "operations": {
        "%s %s" % (s, op): dict(one[s]) for s in one for op in limits.MIX}}))
    check("rmfs: the mix, and the server's part",
          (f["rmfs mix latency hy"], f["rmfs mix server dx"], f["rmfs client-read 8192 nfs"]) ==
          (44, 7, 9), f)
    tables = rmfs.table(rmfs.totals(f)) + rmfs.table(rmfs.classes(f, "hy"))
    check("rmfs: lines of the tables",
          "Read       44    24    0.55     25          7    0.28\n" in tables and
          re.search(r"^Read +4 +9 +5 +7 *$", tables, re.M), tables)
    return {"rmfs": rmfs.script(f, rmfs.server, "server")}


# ---- the scoreboard ------------------------------------------------------


def record(number, load, figures, **more):
    return dict({"round": number, "where": "here", "load": load, "touch": False,
                 "unit": "us", "less_is_better": True, "tool": "ddperf",
                 "command": "ddperf " + load, "figures": figures}, **more)


ENVIRONMENT = {"kernel": "1.2", "architecture": "x86_64", "machine": "emulated",
               "cpu": "a CPU", "cpus_online": 2, "mitigations_off": True}

# Ours was disturbed in the second round, and so was the other one.
RECORDS = [
    record(0, "lat", [["dd", "spin", 64, 2], ["pipe", "sleep", 64, 100],
                      ["shm", "spin", 64, 1], ["shm", "spin", 4096, 5]],
           environment=ENVIRONMENT, what={"dd": "ours", "shm": "a limit"}),
    record(1, "lat", [["dd", "spin", 64, 20], ["shm", "spin", 64, 10]]),
    record(2, "lat", [["dd", "spin", 64, 3], ["shm", "spin", 64, 1]]),
    record(0, "conns", [["dd from 1", "spin", 10000, 1234.5]], unit="kmsg/s",
           less_is_better=False),
    {"round": 2, "failed": "peer x", "why": "no such file"},
]

ROW = "| shm | spinning | ddperf | 1 (1..10) **2** | 5 (5..5) |"


def scoreboard(tmp):
    j = maker.report(RECORDS, {"kernel": "1.2", "instructions": FIGURES})
    lat = j["workloads"][0]
    shm = [r for r in lat["rows"] if r["method"] == "shm"][0]["points"][0]
    alone = maker.report(RECORDS[1:2], {"kernel": "1.2", "instructions": FIGURES})
    page = table.page(alone)
    check("report: an unknown machine",
          "The machine is unknown" in page and "| shm | spinning |" in page, page)
    check("report: medians and spreads",
          (shm["median"], shm["min"], shm["max"], shm["rounds"]) == (1, 1, 10, 3), shm)
    check("report: ratios round by round",
          shm["ours_by_this"] == {"median": 2, "min": 2, "max": 3}, shm)
    check("report: sleeping and spinning methods are not compared",
          all("ours_by_this" not in p for r in lat["rows"] if r["method"] == "pipe"
              for p in r["points"]))
    check("report: read back, it is the same", json.loads(maker.dump(j)) == j)
    page = table.page(j)
    check("table: a line", ROW in page, page)
    check("table: failures", "round 3: peer x: no such file" in page, page)
    check("table: machine and commands",
          "Linux 1.2 x86_64; emulated; a CPU; 2 processors; mitigations=off" in page and
          "    ddperf lat\n" in page, page)
    check("table: instructions", "| net-1500 | trip | 64 | dd | 18,000 |" in page, page)
    scripts = chart.scripts(j)
    check("charts: one for each workload with figures",
          sorted(scripts) == ["connections", "latency"], scripts.keys())
    return scripts


def charts(scripts, tmp):
    if not shutil.which("gnuplot"):
        check("charts: drawn # SKIP no gnuplot; run: make deps", True)
        return
    bad = ""
    for name, script in scripts.items():
        chart.draw(script, tmp / name)
        text = (tmp / name).read_text()
        if xml.fromstring(text).tag != "{http://www.w3.org/2000/svg}svg":
            bad += name + ": no SVG\n"
        if name == "latency" and not all(m in text for m in ("shm", "Linux 1.2", "4 KiB")):
            bad += text
    check("charts: drawn", not bad, bad)


# What the documents say of 64 bytes: a pattern, and the figure of bench/instructions.json.
STATED = {
    "README.md": {r"cost ([\d,]+) instructions to send": "ddsend",
                  r"instructions to send and ([\d,]+) to": "ddrecv",
                  r"through the kernel costs ([\d,]+)": "dd-send-kernel"},
    "Documentation/performance.rst": {
        r"``ddsend.*directly +\d+ +([\d,]+)": "ddsend",
        r"``ddrecv.*message +\d+ +([\d,]+)": "ddrecv",
        r"``dd_send.*kernel +[\d,]+ +([\d,]+)": "dd-send-kernel",
        r"``dd_put.*window +\d+ +([\d,]+)": "dd-put",
        r"``dd_get.*window +\d+ +([\d,]+)": "dd-get",
        r"``dd_cas.*bytes +\d+ +([\d,]+)": "dd-cas",
        r"``dd_put.*kernel +[\d,]+ +([\d,]+)": "dd-put-kernel",
        r"\*missed\*: ([\d,]+), which": "dd-send-kernel"},
}


def stated():
    counts = json.loads((BENCH / "instructions.json").read_text())["instructions"]
    for name, figures in STATED.items():
        text = (BENCH.parent / name).read_text()
        bad = ""
        for pattern, figure in figures.items():
            found = re.findall(pattern.replace(" ", r"\s"), text)
            if found != [format(counts["here insn 64 " + figure], ",")]:
                bad += "%s: %s\n" % (figure, found)
        check("documents: counts in %s" % name, not bad, bad)


def main():
    stated()
    with tempfile.TemporaryDirectory() as tmp:
        take(Path(tmp))
        compare(Path(tmp))
        charts(dict(scoreboard(Path(tmp)), **shares(Path(tmp))), Path(tmp))
    print("1..%d" % len(results))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
