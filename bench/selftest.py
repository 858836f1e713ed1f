#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-only
"""Tests the scripts that make figures, tables and charts of reports; prints TAP."""
import json
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
from pathlib import Path

import chart
import report as maker
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
]

FIGURES = {
    "here insn 64 dd-send": 900,
    "here insn 64 getppid": 339,
    "here trip 64 dd": 6250,
    "net-1500 trip 64 dd": 18000,
    "net get 64 dd": 30000,
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
    ("another kernel: not compared", {"here insn 64 dd-send": 100}, "1.1", {}, 0,
     "SKIP bench/instructions.json was counted on Linux 1.1, this guest runs 1.2"),
    ("another kernel: the library's limit holds", {}, "1.1", {"here insn 64 ddsend": 141}, 1,
     "not ok 1 - limit: here insn 64 ddsend: 141, at most 140"),
    ("at the kernel's limit", {}, "1.2", {"here insn 64 dd-send-kernel": 1105}, 0,
     "ok 3 - limit"),
    ("above the kernel's limit", {}, "1.2", {"here insn 64 dd-send-kernel": 1106}, 1,
     "not ok 3 - limit"),
    ("above a ratio", {}, "1.2", {"net get 64 dd": 39601}, 1,
     "not ok 8 - ratio: net get 64 dd: 39601"),
    ("a ratio's other figure is missing", {}, "1.2", {"net put 1048576 dd": None}, 1,
     "not ok 11 - ratio"),
    ("a limit's figure is missing", {}, "1.2", {"here insn 64 ddrecv": None}, 1,
     "not ok 2 - limit: here insn 64 ddrecv: None"),
]
LIMITED = {"here insn 64 ddsend": 95, "here insn 64 ddrecv": 76,
           "here insn 64 dd-send-kernel": 1050, "here insn 64 dd-put": 100,
           "here insn 64 dd-get": 100, "here insn 64 dd-cas": 80,
           "here insn 64 dd-put-kernel": 1000,
           "net cas 8 dd": 25000, "net get 1048576 dd": 900, "net put 1048576 dd": 1000,
           "net-1500 insn 1048576 dd": 1000}


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
    charts(chart.scripts(j), tmp)


def charts(scripts, tmp):
    check("charts: one for each workload with figures",
          sorted(scripts) == ["connections", "latency"], scripts.keys())
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


def main():
    with tempfile.TemporaryDirectory() as tmp:
        take(Path(tmp))
        compare(Path(tmp))
        scoreboard(Path(tmp))
    print("1..%d" % len(results))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
