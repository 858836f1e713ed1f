# SPDX-License-Identifier: GPL-2.0-only
"""Charts of a report, drawn by gnuplot."""
import subprocess

import table

HEAD = """\
set terminal svg size 900,560 dynamic background rgb "white" font "sans,13"
set key outside right center
set grid
set title {title}
set label 1 {foot} at screen 0.01,0.04 left font "sans,9"
set bmargin 5
set xlabel {x}
set ylabel {y}
"""

SIZES = """\
set logscale x 2
set logscale y
set xtics ({tics})
set xrange [{low}:{high}]
set format y "%g"
"""

# Direct deposit has colours of its own, the darker one by the kernel.
OURS, DARKER = "#e41a1c", "#8b0000"
COLOURS = ["#377eb8", "#4daf4a", "#984ea3", "#ff7f00", "#a65628",
           "#f781bf", "#666666", "#17becf", "#bcbd22", "#1b9e77", "#d95f02",
           "#7570b3", "#66a61e", "#e6ab02", "#000000"]


def is_ours(method):
    return method.startswith("dd")


def quote(text):
    return '"%s"' % text.replace('"', '\\"').replace("_", "\\\\_")


def workload(j, where, load, touch=False):
    for w in j["workloads"]:
        if (w["where"], w["load"], w["touch"]) == (where, load, touch):
            return w
    return None


def label(row):
    return row["method"] + (", asleep" if row["waiting"] == "sleep" and
                            is_ours(row["method"]) else "")


def data(rows):
    """gnuplot's data blocks."""
    for i, row in enumerate(rows):
        yield "$d%d << E\n" % i
        for p in row["points"]:
            yield "%g %g\n" % (p["x"], p["median"])
        yield "E\n"


def colours(j):
    """One colour for a method on all charts."""
    peers = [m for m in j["methods"] if not is_ours(m)]
    return {m: COLOURS[i % len(COLOURS)] for i, m in enumerate(sorted(peers))}


def colour_of(method, colour):
    if is_ours(method):
        return OURS if method in ("dd", "dd from 1") else DARKER
    return colour.get(method, "#000000")


def curves(rows, colour):
    parts = []
    for i, row in enumerate(rows):
        ours = is_ours(row["method"])
        parts.append("$d%d using 1:2 with linespoints lw %d pt %d lc rgb '%s' %s title %s"
                     % (i, 4 if ours else 1.5, 7 if ours else 6,
                        colour_of(row["method"], colour),
                        "dt 2" if row["waiting"] == "sleep" else "dt 1",
                        quote(label(row))))
    return "plot " + ", \\\n ".join(parts) + "\n"


def lines(j, w, x):
    """A curve for each method."""
    head = HEAD.format(title=quote("%s (%s)" % (
        table.LOADS[w["load"]] + " " + table.PLACES[w["where"]], w["unit"])),
        foot=quote("Median of %d rounds; dashed: receivers sleep\\n%s"
                   % (j["rounds"], table.machine(j))),
        x=quote(x), y=quote(w["unit"]))
    xs = sorted({p["x"] for row in w["rows"] for p in row["points"]})
    tics = ", ".join("'%s' %d" % (table.size(v) if x == "message" else v, v) for v in xs)
    return head + SIZES.format(
        tics=tics, low=xs[0] / 1.5, high=xs[-1] * 1.5) + "".join(data(w["rows"])) + curves(
        w["rows"], colours(j))


def scripts(j):
    """Name of a chart -> its gnuplot script."""
    wanted = {
        "latency": ("here", "lat", "message"),
        "latency-net": ("net", "lat", "message"),
        "bandwidth": ("here", "bw", "message"),
        "bandwidth-net": ("net", "bw", "message"),
        "connections": ("here", "conns", "connections"),
    }
    found = {name: (workload(j, where, load), x) for name, (where, load, x) in wanted.items()}
    return {name: lines(j, w, x) for name, (w, x) in found.items() if w}


def draw(script, path):
    run = subprocess.run(["gnuplot"], input=script, capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError("gnuplot: %s" % run.stderr)
    # gnuplot leaves blanks at the ends of lines.
    path.write_text("".join(line.rstrip() + "\n" for line in run.stdout.splitlines()))
