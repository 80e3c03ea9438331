"""How fast source code is indexed, beside a bare parse and other tools, on the same files in one run.

    python bench/code.py [--quick] [--folder DIR] [--rounds N]

The files are the standard library of the running Python, or a folder of yours.

* `bare`: every file read, parsed and queried with tree-sitter in two processes, and the results thrown away: what is
  there to be had (target: `inorder index` with two workers at least 0.5 of it)
* `inorder index`: discovery to published database, two workers. Both are run in turn, several times, and the best of
  each counts: on a shared machine the same program takes up to 1.5 times as long as a minute before
* `again`: nothing has changed
* `1 %`: one file in a hundred was touched (target: at most 5 % of the full build plus 1 s)
* `one`: one file was touched, and what was written to the disk for it

Times are wall seconds and, for a machine that does other work too, seconds of processor time of all processes.
* `ctags`: universal-ctags, symbols only, one process, where it is installed

Then the peak memory of the program and its workers, for the files and for a tenth of them, and the time of a search.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

WORKERS = 2
QUESTIONS = ("where are retries counted", "parse a date", "open a socket with a timeout", "sort in place", "read a zip")


def files_of(folder: Path) -> list[Path]:
    """Everything that has a grammar."""
    from inorder.documents.convert.settings import ConvertSettings
    from inorder.files.heads import read_head
    from inorder.pipeline.sources.classify import CODE, HEAD_BYTES, classify_file
    from inorder.pipeline.sources.names import SourcePart
    from inorder.pipeline.sources.walk import ListedFile, walk_part

    def has_grammar(file: ListedFile) -> bool:
        head = read_head(file.path, HEAD_BYTES)
        kind = classify_file(file.path, head, file.size, ConvertSettings(), not_code=file.not_code)
        return kind.role == CODE and bool(kind.kind)

    files = [each for each in walk_part(SourcePart(folder.name, str(folder)), ()) if isinstance(each, ListedFile)]
    return [Path(each.path) for each in files if has_grammar(each)]


def bare(paths: list[str]) -> int:
    """Read, parse, query; how many captures there were."""
    from inorder.code.grammars import Grammar, load_grammar
    from inorder.code.languages import language_of

    count = 0
    for path in paths:
        data = Path(path).read_bytes()
        found = load_grammar(language_of(path, data[:8192]) or "")
        if isinstance(found, Grammar):
            count += len(found.new_cursor(found.query).matches(found.parser.parse(data).root_node))
    return count


class Cost(NamedTuple):
    """What a program has used."""

    wall_s: float
    processor_s: float
    peak_mb: float
    """Of the program or any of its workers."""
    written_mb: float


def timed_bare(paths: list[str]) -> tuple[int, float]:
    """As `bare`, and the seconds of processor time."""
    began_s = time.process_time()
    return bare(paths), time.process_time() - began_s


def measure_bare(paths: list[Path]) -> Cost:
    """Two processes, started beforehand."""
    names = [str(path) for path in paths]
    size = max(1, len(names) // 40)
    pieces = [names[start : start + size] for start in range(0, len(names), size)]
    with ProcessPoolExecutor(WORKERS) as pool:
        list(pool.map(bare, [names[:2], names[2:4]]))
        began_s = time.perf_counter()
        found = list(pool.map(timed_bare, pieces))
        return Cost(time.perf_counter() - began_s, sum(each for _, each in found), 0, 0)


def run_index(folder: Path, data: Path) -> Cost:
    """One run of `inorder index`, from the start of the program to its end. Modules are compiled by the first run, as
    in a program that is installed."""
    command = [sys.executable, "-m", "inorder", "index", str(folder), "--data", str(data), "--workers", str(WORKERS)]
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(data.parent / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began_s = time.perf_counter()
    process = subprocess.Popen([*command, "--quiet"], env=environment, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 3):
        raise SystemExit(f"inorder index failed: {os.waitstatus_to_exitcode(status)}")
    wall_s, processor_s = time.perf_counter() - began_s, usage.ru_utime + usage.ru_stime
    return Cost(wall_s, processor_s, usage.ru_maxrss / 1024, usage.ru_oublock * 512 / 1e6)


def copy_of(paths: list[Path], folder: Path, target: Path) -> None:
    """These files, elsewhere."""
    for path in paths:
        place = target / path.relative_to(folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)


def measure_search(data: Path) -> dict[str, float]:
    """Milliseconds of a question, without starting a program."""
    from inorder.index.search import SearchOptions, search
    from inorder.library.opening import find_index

    options = SearchOptions(mode="lexical")
    search(find_index(str(data)), QUESTIONS[0], options)
    took = []
    for question in QUESTIONS * 3:
        began_s = time.perf_counter()
        search(find_index(str(data)), question, options)
        took.append((time.perf_counter() - began_s) * 1000)
    return {"median_ms": statistics.median(took), "worst_ms": max(took)}


def measure_ctags(paths: list[Path]) -> float | None:
    """Seconds of universal-ctags, None where it is not installed."""
    if shutil.which("ctags") is None:
        return None
    began_s = time.perf_counter()
    names = "\n".join(map(str, paths)).encode()
    subprocess.run(["ctags", "-f", os.devnull, "-L", "-"], input=names, check=False, capture_output=True)
    return time.perf_counter() - began_s


def find_best(costs: Sequence[Cost]) -> Cost:
    """The least time of each kind, and the most memory."""
    wall_s, processor_s = (min(getattr(cost, name) for cost in costs) for name in ("wall_s", "processor_s"))
    return Cost(wall_s, processor_s, max(cost.peak_mb for cost in costs), costs[-1].written_mb)


def measure(folder: Path, *, quick: bool, rounds_count: int) -> dict[str, Any]:
    """Everything."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        found = files_of(folder)
        copy_of(found[:: 10 if quick else 1], folder, scratch / "src")
        copy_of(found[::10], folder, scratch / "tenth")
        paths = files_of(scratch / "src")
        size = sum(path.stat().st_size for path in paths)
        costs = {"tenth": run_index(scratch / "tenth", scratch / "tenth-data")}
        rounds = []
        for _ in range(rounds_count):
            shutil.rmtree(scratch / "data", ignore_errors=True)
            rounds.append((measure_bare(paths), run_index(scratch / "src", scratch / "data")))
        costs |= dict(zip(("bare", "index"), map(find_best, zip(*rounds, strict=True)), strict=True))
        costs["again"] = run_index(scratch / "src", scratch / "data")
        for name, touched in (("hundredth", paths[::100]), ("one", paths[:1])):
            for path in touched:
                path.write_bytes(path.read_bytes() + b"\n")
            costs[name] = run_index(scratch / "src", scratch / "data")
        return {
            "files": len(paths),
            "megabytes": size / 1e6,
            "costs": {name: cost._asdict() for name, cost in costs.items()},
            "ctags_s": measure_ctags(paths),
            "database_mb": (scratch / "data" / "library.sqlite").stat().st_size / 1e6,
            "search": measure_search(scratch / "data"),
        }


def in_words(found: dict[str, Any]) -> list[str]:
    """For people."""
    files, megabytes = found["files"], found["megabytes"]
    costs = {name: Cost(**cost) for name, cost in found["costs"].items()}
    index, bare_cost = costs["index"], costs["bare"]
    lines = [
        f"{files} files, {megabytes:.1f} MB",
        "",
        "| what | s | processor s | files/s | MB/s |",
        "|---|---|---|---|---|",
    ]
    for name, cost in (("bare", bare_cost), ("inorder index", index)):
        rates = f"{files / cost.wall_s:,.0f} | {megabytes / cost.wall_s:.1f}"
        lines.append(f"| {name} | {cost.wall_s:.2f} | {cost.processor_s:.2f} | {rates} |")
    if found["ctags_s"]:
        lines.append(f"| ctags | {found['ctags_s']:.2f} | | {files / found['ctags_s']:,.0f} | |")
    allowed = 0.05 * index.wall_s + 1
    search = found["search"]
    return [
        *lines,
        "",
        f"of bare: {bare_cost.wall_s / index.wall_s:.2f} in wall time, "
        f"{bare_cost.processor_s / index.processor_s:.2f} in processor time (target: at least 0.5)",
        f"again: {costs['again'].wall_s:.2f} s",
        f"one file in a hundred touched: {costs['hundredth'].wall_s:.2f} s (target: at most {allowed:.2f} s)",
        f"one file touched: {costs['one'].wall_s:.2f} s, {costs['one'].processor_s:.2f} s of processor time, "
        f"{costs['one'].written_mb:.1f} MB written",
        f"peak memory: {index.peak_mb:.0f} MB, of a tenth of the files {costs['tenth'].peak_mb:.0f} MB",
        f"database: {found['database_mb']:.1f} MB; a search: {search['median_ms']:.1f} ms, the worst "
        f"{search['worst_ms']:.1f} ms (target: 100 ms on 100,000 chunks)",
    ]


def main() -> None:
    """Measure, and show."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a tenth of the files")
    parser.add_argument("--folder", type=Path, default=Path(sysconfig.get_paths()["stdlib"]))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = measure(given.folder, quick=given.quick, rounds_count=given.rounds)
    print(json.dumps(found) if given.json else "\n".join(in_words(found)))


if __name__ == "__main__":
    main()
