#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-only
"""The scoreboard: records of guest.sh to a report, a table and charts.

report.py RECORDS INSTRUCTIONS DIRECTORY

A record is a job of one round, with figures of [METHOD, WAITING, X, VALUE]; X is
a size in bytes, or a number of connections.
"""
import json
import sys
from pathlib import Path

import chart
import table

# These identify a workload; only figures of one workload are compared.
KEYS = ("where", "load", "touch")


def median(values):
    v = sorted(values)
    return (v[(len(v) - 1) // 2] + v[len(v) // 2]) / 2


def spread(values):
    return {"median": median(values), "min": min(values), "max": max(values)}


def records(path):
    with open(path) as f:
        return [json.loads(line) for line in f if line.startswith("{")]


def is_ours(method):
    return method.split()[0] == "dd"


# ---- workloads -----------------------------------------------------------


def collect(lines):
    """Workload -> (method, waiting) -> x -> round -> value, in order of appearance
    in the first round."""
    loads = {}
    for r in sorted(lines, key=lambda r: r["round"]):
        if "failed" in r:
            continue
        load = loads.setdefault(tuple(r[k] for k in KEYS), dict(
            {k: r[k] for k in KEYS}, unit=r["unit"],
            less_is_better=r["less_is_better"], rows={}))
        for method, waiting, x, value in r["figures"]:
            row = load["rows"].setdefault((method, waiting), {"tool": r["tool"], "x": {}})
            row["x"].setdefault(x, {})[r["round"]] = value
    return loads.values()


def ratios(ours, values):
    """Round by round, since a disturbance affects both."""
    return [ours[r] / v for r, v in values.items() if r in ours and v]


def points(row, ours):
    for x in sorted(row["x"]):
        values = row["x"][x]
        point = dict({"x": x, "rounds": len(values)}, **spread(values.values()))
        ratio = ratios(ours["x"].get(x, {}), values) if ours else []
        if ratio:
            point["ours_by_this"] = spread(ratio)
        yield point


def rows(load):
    """Each is compared with dd that waits in the same way, from as many processes."""
    for (method, waiting), row in load["rows"].items():
        name = " ".join(["dd"] + method.split()[1:])
        ours = None if is_ours(method) else load["rows"].get((name, waiting))
        yield {"method": method, "waiting": waiting, "tool": row["tool"],
               "points": list(points(row, ours))}


def first(lines, key):
    return next((r[key] for r in lines if r.get(key)), None)


def commands(lines):
    """The commands of the first round, in order."""
    seen = {}
    for r in lines:
        if r["round"] == 0 and "command" in r:
            seen[r["command"]] = None
    return list(seen)


def report(lines, instructions):
    what = {}
    for r in lines:
        what.update(r.get("what", {}))
    return {
        "environment": first(lines, "environment"),
        "path": first(lines, "path"),
        "rounds": 1 + max(r["round"] for r in lines),
        "commands": commands(lines),
        "methods": what,
        "failures": ["round %d: %s: %s" % (r["round"] + 1, r["failed"], r["why"])
                     for r in lines if "failed" in r],
        "workloads": [dict(load, rows=list(rows(load))) for load in collect(lines)],
        "instructions": instructions,
    }


# ---- files ---------------------------------------------------------------


def dump(j, depth=0):
    """JSON with each innermost value on one line."""
    if isinstance(j, dict) and depth < 4 and "x" not in j:
        lines = ["%s: %s" % (json.dumps(k), dump(v, depth + 1)) for k, v in j.items()]
    elif isinstance(j, list) and depth < 6 and any(isinstance(v, (dict, list)) for v in j):
        lines = [dump(v, depth + 1) for v in j]
    else:
        return json.dumps(j)
    ends = "{}" if isinstance(j, dict) else "[]"
    pad = "\n" + " " * (depth + 1)
    return ends[0] + pad + ("," + pad).join(lines) + "\n" + " " * depth + ends[1]


def main(argv):
    if len(argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    with open(argv[2]) as f:
        instructions = json.load(f)
    j = report(records(argv[1]), instructions)
    out = Path(argv[3])
    out.mkdir(parents=True, exist_ok=True)
    (out / "report.json").write_text(dump(j) + "\n")
    (out / "report.md").write_text(table.page(j))
    for name, script in chart.scripts(j).items():
        chart.draw(script, out / (name + ".svg"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
