#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Check that files use only what is below them, and where connections are named.

Prints TAP. A folder of kernel/ uses those below it (Documentation/design.rst); upwards it
calls through the tables of kernel/core/hooks.h and kernel/udp/upper.h.

Within a folder no files call each other in a circle. A unit is x.c with x.h; it uses another
one if it mentions a function or variable that the other's x.c defines without "static", or an
inline function of its x.h.
--report prints the circles of all folders, and names used from above.
"""
import glob
import os
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
# The folders of libdd, and what each may call.
LIB = {
    "core": "",
    "conn": "core",
    "mem": "core",
    "ddp": "core conn",
    "vmmc": "core mem",
    "sbl": "core mem",
    "st": "core conn mem ddp",
}
FOLDERS = ("kernel/*", "lib/*", "tools/*")
# Circles of these are not refused yet.
CIRCLES = ("kernel/cluster", "kernel/ddp")

IGNORED = re.compile(r'/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\')', re.S)
ATTRIBUTE = re.compile(r"\b__\w+\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")
VARIABLE = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=|$)")
WORD = re.compile(r"(\.\s*|->\s*|\b(?:struct|union|enum|goto)\s+)?\b([A-Za-z_]\w*)")


def problems(path, folder):
    """Yield what is wrong with a file."""
    allowed = set(BELOW[folder].split()) | {folder, "compat"}
    text = open(path, encoding="utf-8").read()
    for other, name in re.findall(r'#include "(\w+)/(\w+\.h)"', text):
        if other not in allowed:
            yield f"includes {other}/{name}"
    if folder not in NAMED:
        for name in sorted(set(re.findall(r"\bdd_(?:conn|service|client)\b", text))):
            yield f"names {name}"
    lines = text.count("\n")
    if path.endswith(".h") and lines > LINES:
        yield f"has {lines} lines, more than {LINES}"


def statements(text):
    """Yield (head, body) of each declaration and definition outside functions."""
    depth = start = body = 0
    for at in re.finditer(r"[{};]", text):
        if at.group() == "{":
            body = body if depth else at.start()
            depth += 1
        elif at.group() == "}":
            depth -= 1
        if depth or at.group() == "{":
            continue
        head = text[start:body or at.start()].strip()
        if at.group() == "}" and not head.endswith(")"):
            continue  # a structure or a table ends with its semicolon
        yield head, text[body:at.start()] if body else ""
        start, body = at.end(), 0


def defined(head, body, source):
    """Return the name that a statement of x.c or x.h defines for other files, or None."""
    head = re.sub(r"\s+__\w+$", "", ATTRIBUTE.sub("", head).strip())
    if not source:
        inline = re.match(r"static\b([^=]*)$", head, re.S)
        head = inline.group(1).strip() if body and inline else "typedef"
    if re.match(r"(?:\w+\s+)*?(?:static|extern|typedef)\b|(?:struct|union|enum)(?:\s+\w+)?$", head):
        return None
    macro = re.match(r"(?:DEFINE|DECLARE|LIST|HLIST)_\w+\((\w+)", head)
    if macro:
        return macro.group(1)
    if "(" in head and "=" not in head.split("(")[0]:
        name = re.search(r"(\w+)\s*\(", head)
        return name.group(1) if body and name else None
    name = VARIABLE.search(head)
    return name.group(1) if name and " " in head else None


class Unit:
    """What a unit defines and mentions."""

    def __init__(self):
        self.defines = set()
        self.mentions = set()

    def add(self, text, source):
        """Add a file; source: its definitions count."""
        text = IGNORED.sub(lambda at: '""' if at.group(1) else " ", text).replace("\\\n", " ")
        macros = re.findall(r"^[ \t]*#[ \t]*define[ \t]+\w+(?:\([^)]*\))?(.*)$", text, re.M)
        text = re.sub(r"^[ \t]*#.*$", "", text, flags=re.M)
        used = macros
        for head, body in statements(text):
            name = defined(head, body, source)
            if name:
                self.defines.add(name)
            if body or "=" in head:
                used += [head, body]
        self.mentions |= {name for before, name in WORD.findall("\n".join(used)) if not before}


def units(folder):
    """Return the units of a folder by stem."""
    found = {}
    for path in sorted(glob.glob(f"{folder}/*.[ch]")):
        stem, ext = os.path.splitext(os.path.basename(path))
        with open(path, encoding="utf-8") as file:
            found.setdefault(stem, Unit()).add(file.read(), ext == ".c")
    return found


def used(all_units):
    """Return {unit: {other unit: names}}."""
    return {stem: {other: unit.mentions & one.defines - unit.defines
                   for other, one in all_units.items()
                   if other != stem and unit.mentions & one.defines - unit.defines}
            for stem, unit in all_units.items()}


def reach(graph, start):
    """Return the units that one uses, directly or not."""
    found, todo = set(), [start]
    while todo:
        for other in graph[todo.pop()]:
            if other not in found:
                found.add(other)
                todo.append(other)
    return found


def shortest(graph, start, members):
    """Return a shortest way from a unit back to itself."""
    ways = [[start]]
    for way in ways:
        for other in sorted(graph[way[-1]]):
            if other == start:
                return way + [start]
            if other in members and all(other not in one for one in ways):
                ways.append(way + [other])
    return []


def circles(graph):
    """Yield what describes each circle of units."""
    left = set(graph)
    while left:
        start = min(left)
        members = {other for other in reach(graph, start) if start in reach(graph, other)}
        left -= members | {start}
        if not members:
            continue
        yield "circle of " + " ".join(sorted(members))
        way = min((shortest(graph, one, members) for one in sorted(members)), key=len)
        for one, other in zip(way, way[1:]):
            names = sorted(graph[one][other])
            yield f"  {one} uses {other}: {' '.join(names[:8])}{' ...' * (len(names) > 8)}"


def planted():
    """Yield what circles() and units do not see of sources made for it."""
    sources = {
        "a.c": "/* b_two() */\nint a_one(struct x *x)\n{\n\treturn x->b_two + c_table[1].b_two;"
               "\n}\n"
               "static int c_three(void)\n{\n\treturn 0;\n}\n",
        "b.c": "struct b {\n\tint a_one;\n};\nint b_two(void)\n{\n\treturn a_one(NULL);\n}\n",
        "c.c": "int b_two(void);\nconst struct c c_table[] = {\n\t{ 1 },\n};\n"
               "int c_three(void)\n{\n\treturn 1;\n}\n",
    }
    inline = "static inline int d_one(void)\n{\n\treturn c_table[0].x;\n}\n"
    for more, want in (({}, []), ({"c.h": "#define C b_two()\n"}, ["circle of a b c"]),
                       ({"d.h": inline, "c.h": "#define C d_one()\n"}, ["circle of c d"])):
        found = {}
        for name, text in (sources | more).items():
            found.setdefault(name[0], Unit()).add(text, name.endswith(".c"))
        seen = [line for line in circles(used(found)) if not line.startswith(" ")]
        if seen != want:
            yield f"found {seen} instead of {want}"


def strangers(top):
    """Yield which folder uses a name that a folder above it defines."""
    below = {"kernel": BELOW, "lib": LIB}[top]
    allowed = {folder: set(others.split()) for folder, others in below.items()}
    found = {folder: units(f"{top}/{folder}") for folder in below}
    allowed[""], found[""] = set(below), units(top)
    for folder, others in found.items():
        for other in sorted(set(found) - {folder} - reach(allowed, folder)):
            names = {name for one in found[other].values() for name in one.defines}
            for stem, unit in others.items():
                for name in sorted(unit.mentions & names):
                    yield f"{top}/{folder}/{stem} uses {name} of {top}/{other}"


def folders():
    """Return the folders with sources."""
    return [folder for pattern in FOLDERS for folder in sorted(glob.glob(pattern))
            if glob.glob(f"{folder}/*.c")]


def report():
    """Print the circles of all folders."""
    for folder in folders():
        for line in circles(used(units(folder))):
            print(f"{folder}: {line}")
    for line in [*strangers("kernel"), *strangers("lib")]:
        print(line)


def main():
    """Check every folder."""
    checks = [(f"kernel/{folder} uses only the folders below it",
               [f"{path} {what}" for path in sorted(glob.glob(f"kernel/{folder}/*.[ch]"))
                for what in problems(path, folder)]) for folder in BELOW]
    checks.append(("a planted circle is found", list(planted())))
    checks += [(f"no files of {folder} call each other in a circle",
                list(circles(used(units(folder)))))
               for folder in folders() if folder not in CIRCLES]
    checks += [(f"no file of {top} uses a name of a folder above its own", list(strangers(top)))
               for top in ("kernel", "lib")]
    for number, (what, found) in enumerate(checks, 1):
        print(f"{'not ok' if found else 'ok'} {number} - {what}")
        for line in found:
            print(f"# {line}")
    print(f"1..{len(checks)}")
    return any(found for _, found in checks)


if "--report" in sys.argv:
    sys.exit(report())
sys.exit(main())
