#!/usr/bin/env python3
"""Fills the numbers of the documentation in, or checks them.

    scripts/docs.py check [--tier quick|slow|hours] [--only TEXT] [PAGE...]
    scripts/docs.py fill  [--tier quick|slow|hours] [--only TEXT] [PAGE...]

Pages mark what a command printed in two ways:

    <!-- run: files=houses.csv,churn.csv tier=quick -->

before an indented block, a transcript: every line that starts with `$` is a command, the lines below it are what it
printed. `...` stands for lines that are left out. Blocks of one page share a scratch folder, which has the files.
`stderr=drop` leaves out the standard error, where a run says how far it is.

    <!-- from: bench/real_data.py tier=slow -->
    ...
    <!-- end -->

around Markdown that the command, run in the project's folder, prints.

    <!-- by hand: the paper's values -->

before a table says why no command prints it; with `<!-- end -->` behind, it says so of all tables between the two.

`check` runs the commands again. Words must be the same; numbers may differ by 10 % (`within=0.2` after `tier` changes
that), since another instruction set rounds differently and training carries roundings on. In `.222 ± .021` the mean may
also differ by the deviation, and the deviation by a factor of five. Times and speeds are not compared.

A block above the tier asked for is left out, and so is one whose data sets are not there, or whose command ends with
the status 77 because the machine lacks what it needs; all of them are said. `--only` takes
the blocks with that text in a command.

It also fails where a table has decimals in its cells, or a transcript in its output, and no mark says where they come
from. Whole numbers pass: most of them are options and sizes. And it fails where a link leads to a file or a heading of
the project that does not exist.
"""

import argparse
import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIERS = ["quick", "slow", "hours"]
MARK = re.compile(r"^<!-- (run|from):(.*)-->$")
BY_HAND = re.compile(r"^<!-- by hand: \S.*-->$")
END = "<!-- end -->"
UNAVAILABLE = 77
SETTING = re.compile(r"(files|tier|within|stderr)=")
NUMBER = re.compile(
    r"(?<![\w.])[-+−]?(?:\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?(?!\w)"
)
DECIMAL = re.compile(r"(?<![\w.])\d*\.\d+(?![\w.]*\.\d)")
MEASURED_CELL = re.compile(r"[-+−~*]*" + DECIMAL.pattern)
# What a time or a speed is followed by, and the JSON keys of times.
TIME_AFTER = re.compile(
    r"\s?(?:s|ms|us|minutes|seconds|(?:million )?(?:samples|examples|tokens)/s|examples a second|MB/s)\b"
)
TIME_BEFORE = re.compile(r'(?:"seconds":|"samples_per_second":|s \()$')
LINK = re.compile(r"\]\(([^()\s]+)\)")
INLINE_CODE = re.compile(r"`[^`]*`")


class Block:
    """A marked part of a page: lines [first, last) are what its commands printed."""

    def __init__(self, kind, options, first, last):
        self.kind, self.first, self.last = kind, first, last
        words = shlex.split(options)
        settings = dict(word.split("=", 1) for word in words if SETTING.match(word))
        self.command = shlex.join(word for word in words if not SETTING.match(word))
        self.files = [name for name in settings.get("files", "").split(",") if name]
        self.tier = settings.get("tier", "quick")
        self.within = float(settings.get("within", "0.1"))
        self.drops_stderr = settings.get("stderr") == "drop"
        if self.tier not in TIERS:
            raise SystemExit(f"unknown tier '{self.tier}'")


def blocks_of(lines):
    """The marked blocks of a page, in order."""
    found = []
    for i, line in enumerate(lines):
        mark = MARK.match(line)
        if not mark:
            continue
        first = last = i + 1
        if mark[1] == "from":
            while lines[last] != END:
                last += 1
        else:
            while lines[first] == "":
                first += 1
            last = first
            while last < len(lines) and (lines[last].startswith("    ") or lines[last] == ""):
                last += 1
            while lines[last - 1] == "":
                last -= 1
        found.append(Block(mark[1], mark[2], first, last))
    return found


def marked_lines(lines):
    """The numbers of the lines that a mark says the origin of."""
    marked = {i for block in blocks_of(lines) for i in range(block.first, block.last)}
    for i, line in enumerate(lines):
        if not BY_HAND.match(line):
            continue
        next_mark = next((k for k in range(i + 1, len(lines)) if lines[k].startswith("<!-- ")), None)
        if next_mark is not None and lines[next_mark] == END:
            marked.update(range(i, next_mark))
            continue
        first = next((k for k in range(i + 1, len(lines)) if lines[k] != ""), len(lines))
        while first < len(lines) and lines[first].lstrip().startswith("|"):
            marked.add(first)
            first += 1
    return marked


def is_measured_row(line):
    """Whether a cell of a table's row begins with a decimal."""
    return any(MEASURED_CELL.match(cell.strip()) for cell in line.strip().strip("|").split("|"))


def unmarked_numbers(lines):
    """The first lines of tables and transcripts that have decimals and no mark."""
    marked, found = marked_lines(lines), []
    fenced, table, transcript = False, None, None
    for i, line in enumerate(lines):
        fenced ^= line.startswith("```")
        is_row, indented = line.lstrip().startswith("|"), line.startswith("    ")
        table = (i if table is None else table) if is_row else None
        if line != "" and not indented:
            transcript = None
        elif line.startswith("    $ "):
            transcript = i
        if fenced or i in marked:
            continue
        if is_row and is_measured_row(line):
            start = table
        elif transcript not in (None, i) and DECIMAL.search(line):
            start = transcript
        else:
            continue
        if start not in found:
            found.append(start)
    return found


def prose(lines):
    """The numbers and texts of the lines that are neither fenced nor indented code."""
    fenced = False
    for i, line in enumerate(lines):
        fenced ^= line.startswith("```")
        if not fenced and not line.startswith(("    ", "```")):
            yield i, line


def anchors(page):
    """What a link can name behind `#`: the headings of a page, as GitHub and its relatives spell them."""
    found = []
    for _, line in prose(page.read_text().split("\n")):
        if line.startswith("#"):
            words = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()).replace(" ", "-")
            found.append(f"{words}-{found.count(words)}" if words in found else words)
    return found


def broken_links(page):
    """(line, target) of each link to a file or a heading that does not exist; addresses of the web are not visited."""
    broken = []
    for i, line in prose(page.read_text().split("\n")):
        for target in LINK.findall(INLINE_CODE.sub("", line)):
            if "://" in target:
                continue
            name, _, anchor = target.partition("#")
            path = page.parent / name if name else page
            if not path.exists() or (anchor and anchor not in anchors(path)):
                broken.append((i, target))
    return broken


def check_links(pages):
    """Returns the number of broken links."""
    wrong = 0
    for page in pages:
        for i, target in broken_links(page):
            print(f"{page.relative_to(ROOT)}:{i + 1}: BROKEN LINK {target}")
            wrong += 1
    return wrong


def numbers_and_words(line):
    """The numbers of a line, None for times, and the words between them, spaces squeezed: columns move."""
    numbers, words, end = [], [], 0
    for match in NUMBER.finditer(line):
        is_time = TIME_AFTER.match(line, match.end()) or TIME_BEFORE.search(line[: match.start()])
        text = match[0].replace(",", "").replace("−", "-")
        numbers.append(None if is_time else float(text))
        words.append(line[end : match.start()])
        end = match.end()
    words.append(line[end:])
    return numbers, [" ".join(word.split()) for word in words]


def close(a, b, within):
    if a is None or b is None or a == b:
        return True
    # Counts of epochs and the like: one more or less is another rounding's doing.
    both_small_counts = a == int(a) and b == int(b) and max(abs(a), abs(b)) < 100
    return abs(a - b) <= within * max(abs(a), abs(b)) or (both_small_counts and abs(a - b) <= 2)


def agrees(old, new, within):
    old_numbers, words = numbers_and_words(old)
    new_numbers, new_words = numbers_and_words(new)
    if words != new_words or len(old_numbers) != len(new_numbers):
        return False
    for i, (a, b) in enumerate(zip(old_numbers, new_numbers)):
        if within > 0 and words[i + 1] == "±":
            # A mean: as far apart as either says that it may be.
            deviation = max(old_numbers[i + 1], new_numbers[i + 1])
            good = close(a, b, within) or abs(a - b) <= deviation
        elif within > 0 and words[i] == "±":
            good = max(a, b) <= 5 * min(a, b)  # few seeds tell little more
        else:
            good = close(a, b, within)
        if not good:
            return False
    return True


def same_shape(old, new):
    return numbers_and_words(old)[1] == numbers_and_words(new)[1]


def elided(old, new):
    """The lines of `new` that `old` shows: where `old` says `...`, lines are left out."""
    if not any(line.strip() == "..." for line in old):
        return new
    pieces, piece = [], []
    for line in old:
        if line.strip() == "...":
            pieces.append(piece)
            piece = []
        else:
            piece.append(line)
    shown, at = list(new[: len(pieces[0])]), len(pieces[0])
    for middle in pieces[1:]:
        shown.append("...")
        if middle:
            at = next((i for i in range(at, len(new)) if same_shape(middle[0], new[i])), len(new))
        shown += new[at : at + len(middle)]
        at += len(middle)
    if piece:
        shown += ["..."] + new[max(at, len(new) - len(piece)) :]
    else:
        shown.append("...")
    return shown


def merged(old, new):
    """`new`, but with the old line where only times differ: filling in changes what has changed."""
    kept = {i: line for i, line in enumerate(new)}
    shapes = [[str(numbers_and_words(line)[1]) for line in lines] for lines in (old, new)]
    for i, j, size in difflib.SequenceMatcher(None, *shapes, autojunk=False).get_matching_blocks():
        kept.update({j + k: old[i + k] for k in range(size) if agrees(old[i + k], new[j + k], 0)})
    return [kept[i] for i in range(len(new))]


class CommandFailed(Exception):
    pass


class CommandUnavailable(Exception):
    pass


class Runner:
    """Runs the commands of one page."""

    def __init__(self, program, folder):
        self.folder = Path(folder)
        bin_folder = self.folder / ".bin"
        bin_folder.mkdir()
        (bin_folder / "ignd").symlink_to(program)
        run = self.folder / "run"
        run.write_text(f'#!/bin/sh\nexec {shlex.quote(str(program))} "$@"\n')
        run.chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}

    def prepare(self, names):
        """Puts the files into the scratch folder; returns what is missing, or ''."""
        for name in names:
            target = self.folder / name
            if target.exists():
                continue
            shared = Path(os.environ.get("IGND_DATA", "")) / name
            if os.environ.get("IGND_DATA") and shared.exists():
                target.symlink_to(shared.resolve())
                continue
            made = subprocess.run(
                [sys.executable, ROOT / "scripts/example_data.py", name], cwd=self.folder, capture_output=True, text=True
            )
            if made.returncode != 0:
                return made.stderr.strip()
        return ""

    def output(self, command, folder=None, drops_stderr=False):
        """What a command prints; in a folder of ours it must not fail."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder or self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if drops_stderr else subprocess.STDOUT,
            text=True,
        )
        if folder and done.returncode == UNAVAILABLE:
            raise CommandUnavailable(done.stdout.strip())
        if folder and done.returncode != 0:
            raise CommandFailed(f"{command} failed:\n{done.stdout.strip()}")
        return done.stdout.rstrip("\n").split("\n") if done.stdout.strip() else []


def transcript(lines, runner, drops_stderr):
    """A transcript as it would be printed now."""
    out, at = [], 0
    body = [line[4:] for line in lines]
    while at < len(body):
        if not body[at].startswith("$ "):
            out.append(body[at])
            at += 1
            continue
        command = body[at][2:]
        out.append(body[at])
        at += 1
        old = []
        while at < len(body) and not body[at].startswith("$ "):
            old.append(body[at])
            at += 1
        blank = 0
        while old and old[-1] == "":
            old.pop()
            blank += 1
        out += elided(old, runner.output(command, drops_stderr=drops_stderr)) + [""] * blank
    return ["    " + line if line else "" for line in out]


def differences(old, new, within):
    """Lines of a diff, empty if both say the same."""
    if len(old) == len(new) and all(agrees(a, b, within) for a, b in zip(old, new)):
        return []
    return [line for line in difflib.unified_diff(old, new, "page", "program", lineterm="", n=0)]


def work_on(page, arguments, program):
    """Returns the number of blocks that disagree or could not be made."""
    lines = page.read_text().split("\n")
    blocks = blocks_of(lines)
    wrong = 0
    if arguments.action == "check":
        for i in unmarked_numbers(lines):
            print(f"{page.relative_to(ROOT)}:{i + 1}: UNMARKED NUMBERS, no command or reason is given for them")
            wrong += 1
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(program, folder)
        results = []
        for block in blocks:
            name = f"{page.relative_to(ROOT)}:{block.first + 1}"
            old = lines[block.first : block.last]
            commands = [block.command, *(line for line in old if line.startswith("    $ "))]
            if not any(arguments.only in command for command in commands):
                continue
            if TIERS.index(block.tier) > TIERS.index(arguments.tier):
                print(f"{name}: left out, tier {block.tier}")
                continue
            missing = runner.prepare(block.files)
            if missing:
                print(f"{name}: left out, {missing}")
                continue
            try:
                if block.kind == "run":
                    new = transcript(old, runner, block.drops_stderr)
                else:
                    new = runner.output(block.command, ROOT)
            except CommandUnavailable as reason:
                print(f"{name}: left out, {reason}")
                continue
            except CommandFailed as failure:
                wrong += 1
                print(f"{name}: FAILED, {failure}")
                continue
            found = differences(old, new, block.within)
            if arguments.action == "check":
                wrong += bool(found)
                print(f"{name}: {'DISAGREES' if found else 'agrees'}")
                print("\n".join(found), end="\n" if found else "")
            else:
                results.append((block, merged(old, new)))
                print(f"{name}: filled in")
        for block, new in reversed(results):
            lines[block.first : block.last] = new
    if arguments.action == "fill":
        page.write_text("\n".join(lines))
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["check", "fill"])
    parser.add_argument("--tier", choices=TIERS, default="quick")
    parser.add_argument("--only", default="")
    parser.add_argument("--program", type=Path, default=ROOT / "build/release/bin/ignd")
    parser.add_argument("pages", nargs="*", type=Path)
    arguments = parser.parse_intermixed_args()  # pages may stand behind options
    if not arguments.program.exists():
        raise SystemExit(f"there is no {arguments.program}; ./run builds it")
    pages = arguments.pages or [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    broken = 0
    if arguments.action == "check":
        others = [] if arguments.pages else [ROOT / "CHANGELOG.md", *sorted((ROOT / "docs/log").glob("*.md"))]
        broken = check_links([page.resolve() for page in [*pages, *others]])
    wrong = sum(work_on(page.resolve(), arguments, arguments.program.resolve()) for page in pages)
    if wrong:
        raise SystemExit(f"{wrong} blocks failed, are unmarked, or disagree, which scripts/docs.py fill mends")
    if broken:
        raise SystemExit(f"broken links: {broken}")


if __name__ == "__main__":
    main()
