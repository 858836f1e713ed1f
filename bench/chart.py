# SPDX-License-Identifier: GPL-2.0-only
"""Charts of a report, as SVG: both axes are logarithmic."""
import math
from xml.sax.saxutils import escape

import table

WIDTH, HEIGHT = 900, 560
LEFT, RIGHT, TOP, BOTTOM = 90, 660, 50, 470  # of the curves

# Direct deposit has colours of its own, the darker one by the kernel.
OURS, DARKER = "#e41a1c", "#8b0000"
COLOURS = ["#377eb8", "#4daf4a", "#984ea3", "#ff7f00", "#a65628",
           "#f781bf", "#666666", "#17becf", "#bcbd22", "#1b9e77", "#d95f02",
           "#7570b3", "#66a61e", "#e6ab02", "#000000"]


def is_ours(method):
    return method.startswith("dd")


def workload(j, where, load, touch=False):
    for w in j["workloads"]:
        if (w["where"], w["load"], w["touch"]) == (where, load, touch):
            return w
    return None


def label(row):
    return row["method"] + (", asleep" if row["waiting"] == "sleep" and
                            is_ours(row["method"]) else "")


def colours(j):
    """One colour for a method on all charts."""
    peers = [m for m in j["methods"] if not is_ours(m)]
    return {m: COLOURS[i % len(COLOURS)] for i, m in enumerate(sorted(peers))}


def colour_of(method, colour):
    if is_ours(method):
        return OURS if method in ("dd", "dd from 1") else DARKER
    return colour.get(method, "#000000")


def axis(values, low, high):
    """The function from a value to its place between @low and @high."""
    first, last = math.log(min(values)), math.log(max(values))
    return lambda v: low + (high - low) * (math.log(v) - first) / ((last - first) or 1)


def text(x, y, words, anchor="middle", more=""):
    return '<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>' % (
        x, y, anchor, more, escape(words))


def line(points, style):
    return '<polyline points="%s" %s/>' % (
        " ".join("%.1f,%.1f" % p for p in points), style)


def grid(xs, ys, x, y, names):
    """Lines at each @xs and at each power of ten in @ys, and their names."""
    style = 'stroke="#cccccc"'
    for v in xs:
        yield line([(x(v), TOP), (x(v), BOTTOM)], style)
        yield text(x(v), BOTTOM + 20, names(v))
    for v in ys:
        yield line([(LEFT, y(v)), (RIGHT, y(v))], style)
        yield text(LEFT - 8, y(v) + 4, "%g" % v, "end")


def curve(row, x, y, colour, place):
    """The points of a method, and its line in the legend."""
    ours = is_ours(row["method"])
    style = 'fill="none" stroke="%s" stroke-width="%g"%s' % (
        colour, 4 if ours else 1.5,
        ' stroke-dasharray="6,4"' if row["waiting"] == "sleep" else "")
    points = [(x(p["x"]), y(p["median"])) for p in row["points"]]
    yield line(points, style)
    # Lines of no length with round ends: dots.
    yield '<path d="%s" stroke="%s" stroke-width="%d" stroke-linecap="round"/>' % (
        " ".join("M%.1f,%.1fh0" % p for p in points), colour, 8 if ours else 6)
    yield line([(RIGHT + 20, place), (RIGHT + 60, place)], style)
    yield text(RIGHT + 70, place + 4, label(row), "start")


def lines(j, w, what):
    """A curve for each method."""
    rows, colour = w["rows"], colours(j)
    xs = sorted({p["x"] for row in rows for p in row["points"]})
    medians = [p["median"] for row in rows for p in row["points"]]
    ys = [10.0 ** n for n in range(math.floor(math.log10(min(medians))),
                                   math.ceil(math.log10(max(medians))) + 1)]
    x, y = axis(xs, LEFT + 20, RIGHT - 20), axis(ys, BOTTOM, TOP)
    yield '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d"' % (WIDTH, HEIGHT)
    yield ' font-family="sans-serif" font-size="13">'
    yield '<rect width="%d" height="%d" fill="white"/>' % (WIDTH, HEIGHT)
    yield text((LEFT + RIGHT) / 2, 30, "%s %s (%s)" % (
        table.LOADS[w["load"]], table.PLACES[w["where"]], w["unit"]))
    yield from grid(xs, ys, x, y, table.size if what == "message" else str)
    yield text((LEFT + RIGHT) / 2, BOTTOM + 42, what)
    for i, row in enumerate(rows):
        yield from curve(row, x, y, colour_of(row["method"], colour), TOP + 20 + 22 * i)
    yield text(10, HEIGHT - 26, "Median of %d rounds; dashed: receivers sleep" % j["rounds"],
               "start", ' font-size="9"')
    yield text(10, HEIGHT - 12, table.machine(j), "start", ' font-size="9"')
    yield "</svg>"


def charts(j):
    """Name of a chart -> its SVG."""
    wanted = {
        "latency": ("here", "lat", "message"),
        "latency-net": ("net", "lat", "message"),
        "bandwidth": ("here", "bw", "message"),
        "bandwidth-net": ("net", "bw", "message"),
        "connections": ("here", "conns", "connections"),
    }
    found = {name: (workload(j, where, load), x) for name, (where, load, x) in wanted.items()}
    return {name: "\n".join(lines(j, w, x)) + "\n" for name, (w, x) in found.items() if w}
