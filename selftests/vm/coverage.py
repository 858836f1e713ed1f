#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Report which lines and branches of dd.ko have run.

usage: coverage.py OBJECTS SOURCES

OBJECTS is the directory in which the module was built, with the counts of gcov (.gcda)
beside the objects; SOURCES is the same directory as the compiler named it. Prints a
table of files, the functions without any line that has run, and the lines that have not
run. Fails when fewer than FLOOR per cent of the module's lines have run, or fewer than
FILE_FLOOR per cent of a file's, where FILE_SOME that have not run count as run: some files
have only a few lines.
"""
import collections
import json
import pathlib
import subprocess
import sys

FLOOR = 95
FILE_FLOOR = 90
FILE_SOME = 5


class Source:
    """What is known of a source file: counts by line, by branch and by function."""

    def __init__(self):
        self.lines = collections.Counter()
        self.branches = collections.Counter()
        self.functions = {}


def gcov(objects, counts):
    """The report of gcov on one object."""
    out = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities",
                          "--object-directory", counts.parent, counts],
                         cwd=objects, check=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL).stdout
    return [json.loads(line) for line in out.splitlines() if line.strip()]


def read(objects, sources):
    """All sources of the module. A header's lines are those of all its users."""
    files = collections.defaultdict(Source)
    for counts in sorted(pathlib.Path(objects).glob("kernel/**/*.gcda")):
        for report in gcov(objects, counts):
            for entry in report["files"]:
                name = entry["file"].removeprefix(f"{sources}/")
                if name.startswith("kernel/") and not name.startswith("kernel/tests/"):
                    add(files[name], entry)
    return files


def add(source, entry):
    """Add the counts of one object for SOURCE."""
    for line in entry["lines"]:
        number = line["line_number"]
        source.lines[number] += line["count"]
        for index, branch in enumerate(line["branches"]):
            source.branches[number, index] += branch["count"]
    for function in entry["functions"]:
        name = function["demangled_name"]
        start, _, runs = source.functions.get(name, (0, 0, 0))
        source.functions[name] = (start or function["start_line"], function["end_line"],
                                  runs + function["execution_count"])


def share(counters):
    """How many counters there are, and how many are not 0."""
    return len(counters), sum(1 for count in counters.values() if count)


def percent(total, run):
    """RUN of TOTAL, in per cent."""
    return 100 * run / total if total else 100.0


def ranges(numbers):
    """12, 13, 14, 20 as "12-14 20"."""
    parts = []
    for number in sorted(numbers):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def table(files):
    """Print a line for each file, and return the shares of the module."""
    row = "# {:34} {:>6} {:>7} {:>8} {:>7}"
    print(row.format("file", "lines", "run %", "branches", "run %"))
    sums = [0, 0, 0, 0]
    for name, source in sorted(files.items()):
        both = [*share(source.lines), *share(source.branches)]
        sums = [a + b for a, b in zip(sums, both)]
        print(row.format(name, both[0], f"{percent(*both[:2]):.1f}", both[2],
                         f"{percent(*both[2:]):.1f}"))
    print(row.format("dd.ko", sums[0], f"{percent(*sums[:2]):.1f}", sums[2],
                     f"{percent(*sums[2:]):.1f}"))
    return sums


def not_run(files):
    """Print what has not run."""
    for name, source in sorted(files.items()):
        missing = {n for n, count in source.lines.items() if not count}
        idle = sorted(f for f, (_, _, runs) in source.functions.items() if not runs)
        if idle:
            print(f"# {name}: never called: {' '.join(idle)}")
        if missing:
            print(f"# {name}: not run: {ranges(missing)}")


def main():
    """Read, report and judge."""
    objects, sources = sys.argv[1:]
    files = read(objects, sources)
    if not files:
        sys.exit("coverage.py: the module has counted nothing")
    lines, run = table(files)[:2]
    not_run(files)
    few = [name for name, source in files.items()
           for total, good in [share(source.lines)]
           if percent(total, good + FILE_SOME) < FILE_FLOOR]
    print("1..2")
    good = percent(lines, run) >= FLOOR
    print(f"{'ok' if good else 'not ok'} 1 {FLOOR} % of the lines of dd.ko have run"
          f" ({percent(lines, run):.1f} % of {lines})")
    print(f"{'not ok' if few else 'ok'} 2 {FILE_FLOOR} % of each file's lines have run,"
          f" counting {FILE_SOME} that have not")
    for name in few:
        print(f"# fewer: {name}")
    sys.exit(not good or bool(few))


main()
