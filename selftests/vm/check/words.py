#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Words that plain technical English does without, in all tracked text.

Usage: words.py FILE...

Prints "file:line: word: rule" for each hit and fails if there is one. Of C
sources it reads comments and strings only: "who" may be a variable.
ALLOW has the lines that are right.
"""
import re
import sys

# Beginnings of paths, regular expressions of lines.
ALLOW = (
	("LICENSES/", "."),
	("selftests/vm/check/words.py", "."),
	("selftests/", r"(user|reuid=|\"|``)nobody\b"),
	("selftests/vm/image.sh", "nobody:x:"),
	("selftests/vm/um.patch", "for ever"),
)
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


def text_only(source):
	"""C source with blanks in place of code; line numbers stay."""
	out, end = [], 0
	for match in C_TEXT.finditer(source):
		out += [re.sub(r"\S", " ", source[end:match.start()]), match[0]]
		end = match.end()
	return "".join(out)


def main():
	found = 0
	for path in sys.argv[1:]:
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
				       for prefix, pattern in ALLOW):
					continue
				hits.append((at + 1, match[0].split()[0], rule))
		for at, what, rule in sorted(hits):
			print(f"{path}:{at}: {what}: {rule}")
		found += len(hits)
	return found != 0


sys.exit(main())
