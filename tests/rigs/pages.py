"""The commands of README and docs, as a reader copies them from there."""

import re
import shlex
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page, language):
    """Return the text of a page's fenced blocks in that language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def lines(page):
    """Return the command lines of a page: continued ones joined, without comments and here-documents."""
    found = []
    for block in blocks(page, "sh"):
        text = re.sub(r"(<<(\w+)\n).*?^\2$", r"\1", block.replace("\\\n", " "), flags=re.MULTILINE | re.DOTALL)
        found += [re.sub(r"\s+# .*", "", line).strip() for line in text.splitlines() if line.strip()]
    return found


def commands(page, program):
    """Return the arguments of each call of a program in a page's blocks; pipes and redirections end them."""
    found = []
    for line in lines(page):
        words = shlex.shlex(line, posix=True, punctuation_chars="|;<>&")
        words.whitespace_split, words.commenters = True, ""
        for is_end, part in groupby(words, lambda word: set(word) <= set("|;<>&")):
            part = list(part)
            if not is_end and part[0] == program:
                found.append(part[1:])
    return found


def mentions(page, program):
    """Return the arguments of each call of a program that a page's sentences name."""
    prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [shlex.split(found) for found in re.findall(rf"`{program} ([^`]*)`", " ".join(prose.split()))]
