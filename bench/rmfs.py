#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-only
"""Figures 2 and 3 of the paper on remote memory made anew: latency of the operations of
the file service, and what they cost its server.

rmfs.py INSTRUCTIONS DIRECTORY

Writes tables and charts into the directory.
"""
import json
import sys
from pathlib import Path

import chart
import cost

OPERATIONS = [op for op in cost.MIX if op != "Null"] + ["Null", "mix"]
COLOURS = {"transfer": "#377eb8", "reception": "#377eb8", "control transfer": "#ff7f00",
           "procedure": "#4daf4a", "reply": "#984ea3"}


def latency(f, op, scheme):
    """Parts of an operation: all but control transfer and procedure is transfer."""
    control, procedure = (f["rmfs %s %s %s" % (op, part, scheme)]
                          for part in ("control", "procedure"))
    return {"transfer": f["rmfs %s latency %s" % (op, scheme)] - control - procedure,
            "control transfer": control, "procedure": procedure}


def server(f, op, scheme):
    return {"control transfer" if part == "control" else part:
            f["rmfs %s %s %s" % (op, part, scheme)] for part in cost.CLASSES}


def script(f, parts, title):
    """Two bars for each operation, of what it takes with requests and with reads."""
    names = list(parts(f, "mix", "hy"))
    rows = []
    for op in OPERATIONS:
        for scheme in "hy", "dx":
            values = parts(f, op, scheme).values()
            rows.append('"%s %s" %s' % (op, scheme.upper(), " ".join(map(str, values))))
        rows.append('"" ' + "0 " * len(names))
    return "\n".join([
        'set terminal svg size 900,460 dynamic background rgb "white" font "sans,13"',
        'set title "%s"' % title, "set key outside right", "set grid ytics",
        "set style data histogram", "set style histogram rowstacked",
        "set style fill solid", "set boxwidth 0.9", "set xtics rotate by -60 nomirror",
        'set ylabel "guest instructions"', "set yrange [0:]",
        "$d << E"] + rows + ["E", "plot " + ", ".join(
            '$d using %d:xtic(1) title "%s" lc rgb "%s"' % (i + 2, name, COLOURS[name])
            for i, name in enumerate(names))]) + "\n"


def totals(f):
    """Latency, and what the server does of it."""
    yield ["operation", "HY", "DX", "DX / HY", "server, HY", "DX", "DX / HY"]
    for op in OPERATIONS:
        row = [op]
        for part in "latency", "server":
            hy, dx = (f["rmfs %s %s %s" % (op, part, s)] for s in ("hy", "dx"))
            row += ["{:,}".format(hy), "{:,}".format(dx), "%.2f" % (dx / hy)]
        yield row


def classes(f, scheme):
    """The server by class."""
    yield ["operation, " + scheme.upper()] + list(cost.CLASSES)
    for op in OPERATIONS:
        yield [op] + ["{:,}".format(f["rmfs %s %s %s" % (op, c, scheme)]) for c in cost.CLASSES]


def table(rows):
    """In reStructuredText."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows)]
    rule = "  ".join("=" * w for w in widths)
    lines = ["  ".join(v.ljust(w) for v, w in zip(r, widths)).rstrip() for r in rows]
    return "\n".join([rule, lines[0], rule] + lines[1:] + [rule]) + "\n"


def main(argv):
    if len(argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    with open(argv[1]) as file:
        f = json.load(file)["instructions"]
    out = Path(argv[2])
    (out / "rmfs.rst").write_text("\n".join(
        table(rows) for rows in (totals(f), classes(f, "hy"), classes(f, "dx"))))
    chart.draw(script(f, latency, "Latency of an operation, requests (HY) and reads (DX)"),
               out / "rmfs-latency.svg")
    chart.draw(script(f, server, "Cost of an operation at the server"),
               out / "rmfs-server.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
