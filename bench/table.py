# SPDX-License-Identifier: GPL-2.0-only
"""A report as a page of tables, in Markdown."""

LOADS = {
    "lat": "Round trip",
    "bw": "One-way bandwidth",
    "rate": "One-way message rate",
    "put": "Write to another process, until it is done",
    "get": "Read from another process",
    "cas": "Compare and swap a word of another process",
    "conns": "Message rate with many connections, 64 of them in use",
}
AXES = {"conns": "connections"}
PLACES = {"here": "within a node", "net": "between two nodes"}


def number(v):
    """Three digits."""
    if v >= 1000:
        return "%d" % float("%.3g" % v)
    return "%.3g" % v


def size(n):
    for shift, unit in (20, "MiB"), (10, "KiB"):
        if n >= 1 << shift and n % (1 << shift) == 0:
            return "%d %s" % (n >> shift, unit)
    return "%d B" % n


def column(load, x):
    return "%d %s" % (x, AXES[load]) if load in AXES else size(x)


def title(load):
    read = ""
    if load["load"] in ("lat", "bw", "rate"):
        read = ", the receiver reads " + ("every byte" if load["touch"] else "nothing")
    return "%s %s%s; %s, %s is better" % (
        LOADS[load["load"]], PLACES[load["where"]], read, load["unit"],
        "less" if load["less_is_better"] else "more")


def cell(point):
    if point is None:
        return ""
    text = "%s (%s..%s)" % tuple(number(point[k]) for k in ("median", "min", "max"))
    ratio = point.get("ours_by_this")
    return text + (" **%s**" % number(ratio["median"]) if ratio else "")


def lines(load):
    """The header, its rule, and a line for each method."""
    xs = sorted({p["x"] for row in load["rows"] for p in row["points"]})
    head = ["method", "waits", "timed by"] + [column(load["load"], x) for x in xs]
    yield head
    yield ["---"] * len(head)
    for row in load["rows"]:
        at = {p["x"]: p for p in row["points"]}
        yield [row["method"], {"spin": "spinning", "sleep": "asleep"}[row["waiting"]],
               row["tool"]] + [cell(at.get(x)) for x in xs]


def markdown(rows):
    return "".join("| %s |\n" % " | ".join(row) for row in rows)


def instructions(j):
    """One line a figure, ours and what is beside it."""
    yield ["nodes", "test", "bytes", "method", "guest instructions"]
    yield ["---"] * 5
    for name, value in j["instructions"].items():
        yield name.split() + ["{:,}".format(value)]


def machine(j):
    env = j["environment"]
    if not env:
        return "The machine is unknown: no job of ddperf ran"
    parts = ["Linux %s %s" % (env["kernel"], env["architecture"]),
             env["machine"], env["cpu"], "%d processors" % env["cpus_online"]]
    if env["mitigations_off"]:
        parts.append("mitigations=off")
    if j["path"]:
        parts.append("veth, MTU %d" % j["path"]["mtu"])
    return "; ".join(parts)


def page(j):
    out = ["<!-- SPDX-License-Identifier: GPL-2.0-only -->\n",
           "<!-- Made by \"make bench\"; do not edit. -->\n",
           "# Scoreboard\n\n", machine(j), ".\n\n",
           "%d interleaved rounds, processes pinned. Median of the rounds' figures\n"
           "(smallest..largest), and, **bold**, the median of ours by it, round by\n"
           "round, ours waiting in the same way.\n" % j["rounds"]]
    for load in j["workloads"]:
        out += ["\n## %s\n\n" % title(load), markdown(lines(load))]
    out += ["\n## Guest instructions for an operation\n\n"
            "With one processor that counts them (`make cost`); receivers sleep.\n"
            "\"insn\" is one operation, between nodes one message of a stream, both ends\n"
            "together; \"trip\" one message of a round trip, both ends together.\n\n",
            markdown(instructions(j["instructions"]))]
    out += ["\n## Methods\n\n"] + ["* `%s`: %s\n" % m for m in j["methods"].items()]
    out += ["\n## Commands\n\n"] + ["    %s\n" % c for c in j["commands"]]
    if j["failures"]:
        out += ["\n## What failed\n\n"] + ["* %s\n" % f for f in j["failures"]]
    return "".join(out)
