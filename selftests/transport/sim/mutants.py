#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Count the mutants of the transport that the simulator finds.

usage: mutants.py OBJECTS [COUNT [SEED]]

A mutant is the transport with one operator, constant or statement changed. COUNT of
them, but none of EQUIVALENT, are chosen by SEED. Each is compiled and runs in the
simulator until a scenario fails, crashes or does not end; one that passes all scenarios
has survived and is printed. OBJECTS has the objects of the unchanged simulator.
"""
import glob
import os
import random
import re
import subprocess
import sys

SEEDS = ["--seed", "1", "--seed", "2"]
DIR = "build/mutants-random"
FLAGS = ["-std=gnu11", "-O1", "-w", *os.environ["CPPFLAGS"].split()]
CHANGES = [
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "),
    (r" == ", " != "), (r" != ", " == "), (r" && ", " || "), (r" \|\| ", " && "),
    (r" \+ ", " - "), (r" - ", " + "), (r" \+= ", " -= "), (r"\+\+", "--"),
    (r"\bmin\(", "max("), (r"\bmax\(", "min("), (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"), (r"if \(!", "if ("), (r" 1;", " 2;"), (r" / 2", " / 4"),
    # A call whose result is not used.
    (r"^\t+[a-z_]+\([^;]*\);$", "\t;"),
]
# Survivors that behave like the transport, with the reason: file, line before, new line.
EQUIVALENT = {
    # Lost records are skipped one by one instead.
    ("tx.c", "tp->loss_at = 0;", ";"),
    # Not reached: dd_tp_ack_at() is then "never", which has been checked before.
    ("build.c", "if (!tp->ack_count)", "return true;"),
    # Both differences are 0 where the operators differ.
    ("cc.c", "rtt -= delay;", "diff = cc->srtt >= rtt ? cc->srtt - rtt : rtt - cc->srtt;"),
}


def sites():
    """All (file, line number, new line). Each of EQUIVALENT must be one of them."""
    equivalent = set(EQUIVALENT)
    for name in sorted(glob.glob("kernel/transport/*.c")):
        before = line = ""
        for number, text in enumerate(open(name, encoding="utf-8")):
            before, line = line, text
            # Neither comments, nor declarations and preprocessor lines.
            if not line.startswith("\t") or re.match(r"\s*(/?\*|static |case )", line):
                continue
            line = line.rstrip("\n")
            for old, new in CHANGES:
                for match in re.finditer(old, line):
                    mutant = line[:match.start()] + new + line[match.end():]
                    key = (os.path.basename(name), before.strip(), mutant.strip())
                    equivalent.discard(key)
                    if key not in EQUIVALENT:
                        yield name, number, mutant
    if equivalent:
        sys.exit(f"mutants.py: no such change: {equivalent}")


def build(objects, name, number, line):
    """Return the mutant's program, or None if it does not compile."""
    text = open(name, encoding="utf-8").read().split("\n")
    text[number] = line
    source = f"{DIR}/{os.path.basename(name)}"
    with open(source, "w", encoding="utf-8") as file:
        file.write("\n".join(text))
    mutant = f"{DIR}/mutant.o"
    if subprocess.run(["gcc", *FLAGS, "-c", "-o", mutant, source],
                      stderr=subprocess.DEVNULL).returncode:
        return None
    others = [o for o in objects if not o.endswith("/" + name.replace(".c", ".o"))]
    subprocess.run(["gcc", "-o", f"{DIR}/sim", mutant, *others,
                    *os.environ["LDLIBS"].split()], check=True)
    return f"{DIR}/sim"


def found(program):
    """Return the scenario that fails, or None."""
    with subprocess.Popen(["timeout", "300", program, *SEEDS], text=True,
                          stdout=subprocess.PIPE) as run:
        for line in run.stdout:
            if line.startswith("not ok"):
                run.kill()
                return line.split()[4].rstrip(":")
    return "time limit" if run.returncode else None


def main():
    objects = [o for part in ("kernel/*", "sim") for o in glob.glob(f"{sys.argv[1]}/{part}/*.o")]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    chosen = list(sites())
    random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1).shuffle(chosen)
    os.makedirs(DIR, exist_ok=True)
    tried = killed = 0
    for name, number, line in chosen:
        if tried == count:
            break
        program = build(objects, name, number, line)
        if not program:
            continue
        tried += 1
        by = found(program)
        killed += by is not None
        print(f"# {'found by ' + by if by else 'SURVIVED'}: {name}:{number + 1}: {line.strip()}",
              flush=True)
    print(f"# {killed} of {tried} mutants were found")


main()
