#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Words that plain technical English does without, in all tracked text.

Usage: words.py [-a] FILE...

Prints "file:line: word: rule" for each hit and fails if there is one. Of C
sources it reads comments and strings only: "who" may be a variable.
words.allow lists the lines that are right, words.exempt the files and folders
that are not clean yet; -a reads these too.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
GAP = r"\s+(?:[*#]\s+)*"		# also across a line of a comment
RULES = [(re.compile(r"(?<![\w$-])(?:%s)(?!\w)" % words, re.I), rule)
	 for words, rule in (
	("who(?:m|ever|mever)?",
	 "name the subject: the sender, the caller, another CPU"),
	("nobody|somebody", "name the subject: no process, another user"),
	("he|him|his|himself", "a process or a function is 'it': name it"),
	("told", "say: notified, informed, reported to"),
	("likewise", "give the information itself"),
	("so" + GAP + "long", "say: goodbye, until then, as long as"),
	("for" + GAP + "ever", "write: forever"),
	("when" + GAP + "(?:it is|they are)(?=[.;])", "repeat the predicate"),
	("so" + GAP + "that" + GAP + "none", "name the subject: no other process"),
)]
C_TEXT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'",
		    re.S)


def lines_of(name):
	"""Lines of a file in this folder, without its comments."""
	with open(os.path.join(HERE, name), encoding="utf-8") as file:
		return [line for line in map(str.strip, file)
			if line and not line.startswith("#")]


def text_only(source):
	"""C source with blanks in place of code; line numbers stay."""
	out, end = [], 0
	for match in C_TEXT.finditer(source):
		out += [re.sub(r"\S", " ", source[end:match.start()]), match[0]]
		end = match.end()
	return "".join(out)


def main():
	paths = sys.argv[1:]
	exempt = tuple(lines_of("words.exempt"))
	if paths[:1] == ["-a"]:
		paths, exempt = paths[1:], ()
	allow = [line.split(None, 1) for line in lines_of("words.allow")]
	found = 0
	for path in paths:
		if path.startswith(exempt):
			continue
		with open(path, encoding="utf-8", errors="replace") as file:
			source = file.read()
		if "\0" in source:
			continue
		lines = source.split("\n")
		if path.endswith((".c", ".h")):
			source = text_only(source)
		hits = []
		for word, rule in RULES:
			for match in word.finditer(source):
				at = source.count("\n", 0, match.start())
				if any(path.startswith(prefix) and
				       re.search(pattern, lines[at])
				       for prefix, pattern in allow):
					continue
				hits.append((at + 1, match[0].split()[0], rule))
		for at, what, rule in sorted(hits):
			print(f"{path}:{at}: {what}: {rule}")
		found += len(hits)
	return found != 0


sys.exit(main())
