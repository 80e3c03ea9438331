"""Damage DATA, ask, run again, and count what noticed it.

    python bench/damage.py [--count N] [--seed N] [--only LIBRARY|VECTORS|...] [--show]

A small library is made once. Each case copies it, changes one place of one of its files (a bit, some bytes, a block, or
the end), and then does what a user does: questions (search by words, by vectors, by both and by names, `show`,
`export`), `verify`, the next run, and the questions again. Each case is one of:

* `harmless`: every answer is right, and `verify` finds nothing
* `question`: a question said so, and no question gave another answer
* `run`: the answers are right, and the next run said so, or made again what was damaged
* `verify`: the answers are right, the run did not notice it, and `verify` says so
* `late`: a question gave another answer, and the next run or `verify` noticed it
* `nobody`: a question gave another answer, and nothing noticed it
* `crash`: a command ended with another exit code than 0, 3 or 6, or with a traceback

The last three are printed with what was done, and a seed repeats them.
"""

import argparse
import importlib
import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from inorder.cli.app import run_command
from inorder.index import block_sums

QUESTIONS = {
    "words": ("search", "--json", "--mode", "lexical", "the lamp of the harbour"),
    "words of code": ("search", "--json", "--mode", "lexical", "count lamps"),
    "vectors": ("search", "--json", "--mode", "dense", "light for ships"),
    "both": ("search", "--json", "--mode", "hybrid", "storm lamp"),
    "names": ("search", "--json", "def:count_lamps"),
    "calls": ("search", "--json", "ref:count_lamps"),
    "show": ("show", "docs/note7.md"),
    "export": ("export", "--format", "jsonl", "--to", "exported"),
}
"""A question is answered with the same bytes as long as DATA is as it was written."""
WORDS = "lamp harbour storm ship light keeper stone wave north tower signal night rope oil glass stair".split()  # noqa: SIM905
EXPECTED = (0, 3, 6)
VOLATILE = ("warnings", "generation", "published_at")


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str
    told: bool = False
    """Whether a warning says that something is damaged."""


class Damage(NamedTuple):
    """One change of one file."""

    path: str
    kind: str
    offset: int
    size: int


def make_sources(folder: Path, count: int = 60) -> None:
    """Write notes and a few source files."""
    chance = random.Random(7)
    folder.mkdir()
    for number in range(count):
        words = [chance.choice(WORDS) for _ in range(60)]
        (folder / f"note{number}.md").write_text(f"# {words[0]} {words[1]} {number}\n\n{' '.join(words)}.\n")
    for number in range(8):
        (folder / f"lamps{number}.py").write_text(
            f"import os\n\n\ndef count_lamps{number or ''}(tower):\n    return helper_{number}(len(tower))\n\n\n"
            f"def use_{number}():\n    return count_lamps([{number}])\n"
        )


def call(folder: Path, *arguments: str, lists_modules: bool = False) -> Ended:
    """Run a command in a copy of this process."""
    out, err = folder / "out", folder / "err"
    child = os.fork()
    if not child:
        code = 99
        try:
            os.chdir(folder)
            for number, path in ((1, out), (2, err)):
                os.dup2(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC), number)
            code = run_command([*arguments, "--data", "data"])
            if lists_modules:
                Path("modules").write_text("\n".join(sys.modules))
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return Ended(code, out.read_text("utf-8", "replace"), err.read_text("utf-8", "replace"))


def ask(folder: Path) -> dict[str, Ended]:
    """Ask all questions."""
    found = {}
    for name, arguments in QUESTIONS.items():
        shutil.rmtree(folder / "exported", ignore_errors=True)
        ended = call(folder, *arguments)
        if name == "export" and ended.code == 0:
            files = sorted((folder / "exported").rglob("*.jsonl"))
            ended = ended._replace(out="".join(path.read_text() for path in files), err="")
        found[name] = ended._replace(out=settle(ended.out), told="hybrid search uses words only" in ended.out)
    return found


def load_modules(folder: Path) -> None:
    """Import what the commands import, once and not in every child."""
    listed = folder / "modules"
    for arguments in (*QUESTIONS.values(), ("verify",)):
        call(folder, *arguments, lists_modules=True)
        for name in listed.read_text().split():
            if name.startswith(("inorder", "numpy")):
                importlib.import_module(name)
    listed.unlink()


def settle(out: str) -> str:
    """Remove what differs between two equal answers."""
    try:
        found = json.loads(out)
    except ValueError:
        return out
    return json.dumps({name: value for name, value in found.items() if name not in VOLATILE}, sort_keys=True)


def run(folder: Path) -> Ended:
    """Run the pipeline on threads of the process."""
    return call(folder, "run", "docs", "--policy", "io", "--workers", "1", "--quiet", "--dense", "static")


def draw(data: Path, chance: random.Random, only: str) -> Damage:
    """Choose a change."""
    groups: dict[str, list[Path]] = {}
    for path in sorted(each for each in data.rglob("*") if each.is_file() and each.stat().st_size):
        name = path.relative_to(data).parts[0]
        groups.setdefault("vectors" if name.startswith("library.vectors.") else name.partition(".")[0], []).append(path)
    weights = {"library": 30, "vectors": 10, "journal": 5, "manifests": 5}
    names = [name for name in sorted(groups) if not only or name == only]
    path = chance.choice(groups[chance.choices(names, [weights.get(name, 1) for name in names])[0]])
    size = path.stat().st_size
    kind = chance.choices(["bit", "bytes", "zeros", "end"], [12, 4, 2, 1])[0]
    length = {"bit": 1, "bytes": chance.randint(2, 400), "zeros": 4096, "end": chance.randint(1, size)}[kind]
    offset = chance.randrange(size) if kind != "zeros" else chance.randrange(size) // 4096 * 4096
    return Damage(str(path.relative_to(data)), kind, offset, length)


def apply(damage: Damage, data: Path, chance: random.Random) -> None:
    """Change the file, and not its times."""
    path = data / damage.path
    content, times = bytearray(path.read_bytes()), path.stat()
    end = min(len(content), damage.offset + damage.size)
    if damage.kind == "bit":
        content[damage.offset] ^= 1 << chance.randrange(8)
    elif damage.kind == "bytes":
        content[damage.offset : end] = chance.randbytes(end - damage.offset)
    elif damage.kind == "zeros":
        content[damage.offset : end] = bytes(end - damage.offset)
    else:
        del content[len(content) - damage.size :]
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def find_crash(found: dict[str, Ended]) -> str:
    """The first command that ended as no command may end; empty if none did."""
    for name, ended in found.items():
        if ended.code not in EXPECTED or "Traceback" in ended.err or (ended.code == 6 and ended.err.count("\n") > 2):
            return f"{name}: exit {ended.code}: {ended.err.strip()[-600:]}"
    return ""


def judge(folder: Path, expected: dict[str, Ended]) -> tuple[str, str]:
    """Do everything in a damaged copy. Returns what it shows, and the details."""
    asked = ask(folder)
    verified = call(folder, "verify")
    rerun = run(folder)
    again = ask(folder)
    after = call(folder, "verify")
    everything = asked | {"verify": verified, "run": rerun, "verify after the run": after}
    everything |= {f"{name} after the run": ended for name, ended in again.items()}
    if crash := find_crash(everything):
        return "crash", crash
    wrong, wrong_later = (
        [
            name
            for name, ended in found.items()
            if ended.code == 0 and not ended.told and ended.out != expected[name].out
        ]
        for found in (asked, again)
    )
    is_told = any(ended.code == 6 or ended.told for ended in asked.values())
    is_found = verified.code == 6
    has_run_noticed = rerun.code == 6 or (is_found and after.code == 0)
    details = f"wrong: {wrong}; after the run: {wrong_later}; verify: {verified.out.strip()[:300]}; run: {rerun.code}"
    details += f" {rerun.err.strip()[-200:]}; verify after the run: {after.code} {after.out.strip()[:200]}"
    if wrong or wrong_later:
        return ("late" if is_found or has_run_noticed else "nobody"), details
    if is_told:
        return "question", details
    if has_run_noticed:
        return "run", details
    return ("verify" if is_found or after.code == 6 else "harmless"), details


def main() -> None:
    """Damage, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--large", action="store_true", help="as if the library were too large to be checked first")
    parser.add_argument("--show", action="store_true", help="print every case")
    arguments = parser.parse_args()
    if arguments.large:
        block_sums.READ_BYTES_MAX = 0
    with tempfile.TemporaryDirectory(prefix="inorder-damage-") as name:
        print(json.dumps(drive(Path(name), arguments.count, arguments.seed, arguments.only, show=arguments.show)))


def drive(
    folder: Path, count: int, seed: int, only: str = "", *, show: bool = False, say: Callable[[str], Any] = print
) -> dict[str, int]:
    """Try damages, and return how many there were of each kind."""
    whole, copy = folder / "whole", folder / "copy"
    copy.mkdir()
    make_sources(copy / "docs")
    for _ in range(2):
        ended = run(copy)
        if ended.code:
            raise SystemExit(f"the library cannot be made: {ended.err}")
    expected = ask(copy)
    load_modules(copy)
    shutil.rmtree(copy / "exported", ignore_errors=True)
    copy.rename(whole)
    counts: Counter[str] = Counter()
    for number in range(seed, seed + count):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(whole, copy)
        chance = random.Random(number)
        damage = draw(copy / "data", chance, only)
        apply(damage, copy / "data", chance)
        kind, details = judge(copy, expected)
        counts[kind] += 1
        if show or kind in ("late", "nobody", "crash"):
            say(f"{kind}: seed {number}: {damage}: {details}")
    return dict(+counts)


if __name__ == "__main__":
    main()
