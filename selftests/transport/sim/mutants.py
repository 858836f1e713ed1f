#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Change the transport, or kernel/cluster, and see whether the simulator finds it.

usage: mutants.py OBJECTS [COUNT [SEED]]

Without COUNT, the changes are the planted faults of mutations.txt, each of which must be
found: "@NAME: SCENARIO...", those that are to find it; "# WHAT"; and for each change "=FILE"
and lines, as in a patch, whose old text is in the file once. Prints TAP.

Otherwise COUNT mutants are chosen by SEED: one operator, constant or statement of the
transport is changed, but none of EQUIVALENT. Each runs until a scenario fails, crashes or
does not end; one that passes all scenarios has survived and is printed.

OBJECTS has the objects of the unchanged simulator, CPPFLAGS its include path, LDLIBS what
else it is linked with.
"""
import glob
import os
import random
import re
import subprocess
import sys

FAULTS = "selftests/transport/sim/mutations.txt"
DIR = "build/mutants"
CC = os.environ.get("CC", "gcc").split()
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


def read(name):
    with open(name, encoding="utf-8") as file:
        return file.read()


def build(objects, texts, errors=None):
    """Return the simulator with other texts of some files, or None if these do not compile."""
    for name, text in texts.items():
        source = f"{DIR}/{os.path.basename(name)}"
        changed = source.replace(".c", ".o")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        if subprocess.run([*CC, *FLAGS, "-c", "-o", changed, source],
                          stderr=errors).returncode:
            return None
        objects = [o for o in objects if not o.endswith("/" + name.replace(".c", ".o"))]
        objects.append(changed)
    subprocess.run([*CC, "-o", f"{DIR}/sim", *objects, *os.environ["LDLIBS"].split()],
                   check=True)
    return f"{DIR}/sim"


def found(program, *args):
    """Return the scenario that fails and what it says, or None."""
    why = ""
    with subprocess.Popen(["timeout", "600", program, "--seed", "1", *args], text=True,
                          stdout=subprocess.PIPE) as run:
        for line in run.stdout:
            if re.match(r"# .*(at [0-9.]+ s:|signal)", line):
                why = line
            if line.startswith("not ok"):
                run.terminate()
                return line.split()[4].rstrip(":"), why
    return ("time limit", "") if run.returncode else None


def plant(name, changes):
    """Return the texts of the files of a planted fault."""
    texts = {}
    for change in re.split("^=", changes, flags=re.M)[1:]:
        file, *lines = change.splitlines()
        old, new = ("".join(line[1:] + "\n" for line in lines if line[0] in " " + sign)
                    for sign in "-+")
        text = "\n" + texts.get(file, read(file))
        if text.count("\n" + old) != 1:
            sys.exit(f"{name}: the old text is not once in {file}")
        texts[file] = text.replace("\n" + old, "\n" + new)[1:]
    return texts


def planted(objects):
    faults = re.findall(r"^@(.*): (.*)\n#.*\n((?:[= +-].*\n)+)", read(FAULTS), re.M)
    bad = 0
    for number, (name, scenarios, changes) in enumerate(faults, 1):
        program = build(objects, plant(name, changes))
        args = [f"--scenario={scenario}" for scenario in scenarios.split()]
        by, why = program and found(program, "--runs", "4", *args) or (None, "")
        # One that does not end says nothing.
        bad += not why
        print(f"{why}{'ok' if why else 'not ok'} {number} - planted fault is found: {name}",
              flush=True)
    print(f"1..{len(faults)}")
    return bad != 0


def sites():
    """All (file, line number, new line). Each of EQUIVALENT must be one of them."""
    equivalent = set(EQUIVALENT)
    for name in sorted(glob.glob("kernel/transport/*.c")):
        before = line = ""
        for number, text in enumerate(read(name).splitlines()):
            before, line = line, text
            # Neither comments, nor declarations and preprocessor lines.
            if not line.startswith("\t") or re.match(r"\s*(/?\*|static |case )", line):
                continue
            for old, new in CHANGES:
                for match in re.finditer(old, line):
                    mutant = line[:match.start()] + new + line[match.end():]
                    key = (os.path.basename(name), before.strip(), mutant.strip())
                    equivalent.discard(key)
                    if key not in EQUIVALENT:
                        yield name, number, mutant
    if equivalent:
        sys.exit(f"mutants.py: no such change: {equivalent}")


def mutants(objects, count, seed):
    chosen = list(sites())
    random.Random(seed).shuffle(chosen)
    tried = killed = 0
    for name, number, line in chosen:
        if tried == count:
            break
        lines = read(name).split("\n")
        lines[number] = line
        program = build(objects, {name: "\n".join(lines)}, subprocess.DEVNULL)
        if not program:
            continue
        tried += 1
        by = found(program, "--runs", "2")
        killed += by is not None
        print(f"# {'found by ' + by[0] if by else 'SURVIVED'}: {name}:{number + 1}: {line.strip()}",
              flush=True)
    print(f"# {killed} of {tried} mutants were found")
    return 0


def main(directory, count=0, seed=1):
    objects = [o for part in ("kernel/*", "sim") for o in glob.glob(f"{directory}/{part}/*.o")]
    os.makedirs(DIR, exist_ok=True)
    return mutants(objects, int(count), int(seed)) if count else planted(objects)


sys.exit(main(*sys.argv[1:]))
