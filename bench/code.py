"""How fast source code is indexed, beside a bare parse and other tools, on the same files in one run.

    python bench/code.py [--quick] [--folder DIR]

The files are the standard library of the running Python, or a folder of yours.

* `bare`: every file read, parsed and queried with tree-sitter in two processes, and the results thrown away: what is
  there to be had (target: `inorder index` with two workers at least 0.5 of it)
* `inorder index`: discovery to published database, two workers
* `again`: nothing has changed
* `1 %`: one file in a hundred was touched (target: at most 5 % of the full build plus 1 s)
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
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

WORKERS = 2
QUESTIONS = ("where are retries counted", "parse a date", "open a socket with a timeout", "sort in place", "read a zip")


def files_of(folder: Path) -> list[Path]:
    """Everything that has a grammar."""
    from inorder.code.discovery import discover
    from inorder.stage.sources import Roots

    return [Path(found.path) for found in discover(Roots([folder])) if not found.skip and found.language]


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


def measure_bare(paths: list[Path]) -> float:
    """Seconds of two processes, started beforehand."""
    names = [str(path) for path in paths]
    size = max(1, len(names) // 40)
    pieces = [names[start : start + size] for start in range(0, len(names), size)]
    with ProcessPoolExecutor(WORKERS) as pool:
        list(pool.map(bare, [names[:2], names[2:4]]))
        began_s = time.perf_counter()
        list(pool.map(bare, pieces))
        return time.perf_counter() - began_s


def run_index(folder: Path, data: Path) -> tuple[float, float]:
    """Wall seconds, and peak memory in MB of the program and any of its workers."""
    command = [sys.executable, "-m", "inorder", "index", str(folder), "--data", str(data), "--workers", str(WORKERS)]
    began_s = time.perf_counter()
    process = subprocess.Popen([*command, "--quiet"], stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 3):
        raise SystemExit(f"inorder index failed: {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - began_s, usage.ru_maxrss / 1024


def copy_of(paths: list[Path], folder: Path, target: Path) -> None:
    """These files, elsewhere."""
    for path in paths:
        place = target / path.relative_to(folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)


def measure_search(data: Path) -> dict[str, float]:
    """Milliseconds of a question, without starting a program."""
    from inorder.index.search import SearchOptions, search

    options = SearchOptions(mode="lexical")
    search(str(data), QUESTIONS[0], options)
    took = []
    for question in QUESTIONS * 3:
        began_s = time.perf_counter()
        search(str(data), question, options)
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


def measure(folder: Path, *, quick: bool) -> dict[str, Any]:
    """Everything."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        found = files_of(folder)
        copy_of(found[:: 10 if quick else 1], folder, scratch / "src")
        copy_of(found[::10], folder, scratch / "tenth")
        paths = files_of(scratch / "src")
        size = sum(path.stat().st_size for path in paths)
        bare_s = measure_bare(paths)
        full_s, peak_mb = run_index(scratch / "src", scratch / "data")
        again_s, _ = run_index(scratch / "src", scratch / "data")
        touched = paths[::100]
        for path in touched:
            path.write_bytes(path.read_bytes() + b"\n")
        touched_s, _ = run_index(scratch / "src", scratch / "data")
        _, tenth_mb = run_index(scratch / "tenth", scratch / "tenth-data")
        return {
            "files": len(paths),
            "megabytes": size / 1e6,
            "bare_s": bare_s,
            "index_s": full_s,
            "again_s": again_s,
            "touched_files": len(touched),
            "touched_s": touched_s,
            "ctags_s": measure_ctags(paths),
            "peak_mb": peak_mb,
            "peak_of_a_tenth_mb": tenth_mb,
            "database_mb": (scratch / "data" / "index.sqlite").stat().st_size / 1e6,
            "search": measure_search(scratch / "data"),
        }


def in_words(found: dict[str, Any]) -> list[str]:
    """For people."""
    files, megabytes = found["files"], found["megabytes"]
    lines = [f"{files} files, {megabytes:.1f} MB", "", "| what | s | files/s | MB/s |", "|---|---|---|---|"]
    for name, key in (("bare", "bare_s"), ("inorder index", "index_s"), ("ctags", "ctags_s")):
        if found[key]:
            lines.append(f"| {name} | {found[key]:.2f} | {files / found[key]:,.0f} | {megabytes / found[key]:.1f} |")
    allowed = 0.05 * found["index_s"] + 1
    search = found["search"]
    return [
        *lines,
        "",
        f"of bare: {found['bare_s'] / found['index_s']:.2f} (target: at least 0.5)",
        f"again: {found['again_s']:.2f} s",
        f"{found['touched_files']} files touched: {found['touched_s']:.2f} s (target: at most {allowed:.2f} s)",
        f"peak memory: {found['peak_mb']:.0f} MB, of a tenth of the files {found['peak_of_a_tenth_mb']:.0f} MB",
        f"database: {found['database_mb']:.1f} MB; a search: {search['median_ms']:.1f} ms, the worst "
        f"{search['worst_ms']:.1f} ms (target: 100 ms on 100,000 chunks)",
    ]


def main() -> None:
    """Measure, and show."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a tenth of the files")
    parser.add_argument("--folder", type=Path, default=Path(sysconfig.get_paths()["stdlib"]))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = measure(given.folder, quick=given.quick)
    print(json.dumps(found) if given.json else "\n".join(in_words(found)))


if __name__ == "__main__":
    main()
