"""How fast documents are read, chunked and embedded, compared with other tools on the same files.

    python bench/documents.py [--quick] [--only inorder raw] [--json]

The files are generated with fixed content: PDFs of prose with headings, two columns and tables, and pages of HTML and
Markdown. Each tool reads them in one process of its own, after one file to warm up. Wall time and CPU time for all
files are measured. The tools take turns, and the best round counts.

* `raw`: PDFium's text and nothing else, as an upper bound
* `inorder`: the reader and both outputs, in memory
* `inorder doctags`: the command with one worker: discovery, hashing, publishing and journal included
* `kreuzberg`, `unstructured` (fast), `docling-parse`, `markitdown`: as their documentation shows

Then: megabytes of text per second of `chunk`, chunks per second of the `hash` provider, and the peak memory of `inorder
run` on the files and on ten times as many.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from corpus import make_corpus

ROUNDS = 3
PDF_TOOLS = ("raw", "inorder", "inorder doctags", "kreuzberg", "unstructured", "docling-parse", "markitdown")
TEXT_TOOLS = ("inorder", "inorder doctags", "kreuzberg", "markitdown")
SECONDS_MAX = 600


def _raw(path: str) -> None:
    import pypdfium2

    document = pypdfium2.PdfDocument(path)
    for page in document:
        page.get_textpage().get_text_range()
    document.close()


def _inorder(path: str) -> None:
    from inorder.documents.doctags.docling_json import write_json
    from inorder.documents.doctags.outline import group_lists
    from inorder.documents.doctags.tags import write_doctags
    from inorder.documents.inputs import read_file
    from inorder.documents.readers.registry import load_reader
    from inorder.documents.readers.sniff import sniff

    data = read_file(path)
    document = load_reader(sniff(path, data[:4096]))(data, "document")
    outline = group_lists(document.blocks)
    write_json(document, outline=outline)
    write_doctags(document, outline)


def _kreuzberg(path: str) -> None:
    import kreuzberg

    kreuzberg.extract_file_sync(path)


def _unstructured(path: str) -> None:
    from unstructured.partition.pdf import partition_pdf

    partition_pdf(path, strategy="fast")


def _docling_parse(path: str) -> None:
    from docling_parse.pdf_parser import DoclingPdfParser

    document = DoclingPdfParser().load(path)
    for _ in document.iterate_pages():
        pass
    document.unload()


def _markitdown(path: str) -> None:
    global _converter
    if _converter is None:
        from markitdown import MarkItDown

        _converter = MarkItDown()
    _converter.convert(path)


_converter: Any = None
READ: dict[str, Callable[[str], None]] = {
    "raw": _raw,
    "inorder": _inorder,
    "kreuzberg": _kreuzberg,
    "unstructured": _unstructured,
    "docling-parse": _docling_parse,
    "markitdown": _markitdown,
}


def read_all(tool: str, folder: str) -> None:
    """In the process of one tool: read all files, and print the seconds."""
    paths = sorted(str(path) for path in Path(folder).rglob("*") if path.is_file())
    READ[tool](paths[0])
    began_s, began_cpu_s = time.perf_counter(), time.process_time()
    for path in paths:
        READ[tool](path)
    print(json.dumps([time.perf_counter() - began_s, time.process_time() - began_cpu_s]))


def seconds_of(tool: str, folder: Path) -> list[float] | str:
    """Wall and CPU seconds for all files of a folder; or the reason why they could not be measured."""
    if tool == "inorder doctags":
        return _command_seconds(folder)
    arguments = [sys.executable, __file__, "--read", tool, str(folder)]
    try:
        ended = subprocess.run(arguments, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    except subprocess.TimeoutExpired:
        return f"more than {SECONDS_MAX} s"
    if ended.returncode:
        lines = ended.stderr.strip().splitlines()
        return lines[-1][:80] if lines else "failed"
    found: list[float] = json.loads(ended.stdout.splitlines()[-1])
    return found


def _command_seconds(folder: Path) -> list[float]:
    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, "-m", "inorder", "doctags", str(folder), "--data", data, "--workers", "1", "--quiet"]
        began_s, before = time.perf_counter(), os.times()
        subprocess.run(command, check=True, capture_output=True)
        after = os.times()
        cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
        return [time.perf_counter() - began_s, cpu_s]


def compare(tools: tuple[str, ...], folder: Path, units: int, rounds: int) -> dict[str, Any]:
    """Units per second of each tool in its best round. The tools take turns."""
    found: dict[str, list[list[float]]] = {}
    problems: dict[str, str] = {}
    for _ in range(rounds):
        for tool in tools:
            if tool in problems:
                continue
            seconds = seconds_of(tool, folder)
            if isinstance(seconds, str):
                problems[tool] = seconds
            else:
                found.setdefault(tool, []).append(seconds)
    rates: dict[str, Any] = {
        tool: {
            "per_s": units / min(wall for wall, _ in times),
            "per_cpu_s": units / min(cpu for _, cpu in times),
        }
        for tool, times in found.items()
    }
    return rates | {tool: {"problem": why} for tool, why in problems.items()}


def measure_chunks(folder: Path) -> dict[str, float]:
    """Megabytes of text chunked, and chunks embedded, per CPU second."""
    from inorder.documents.chunk.chunks import build_chunks
    from inorder.documents.chunk.pieces import read_pieces
    from inorder.documents.chunk.tokens import count_words
    from inorder.documents.doctags.docling_json import write_json
    from inorder.documents.embed.providers.hashing import HashProvider
    from inorder.documents.readers.registry import load_reader

    records = [
        write_json(load_reader("markdown")(path.read_bytes(), path.stem)) for path in sorted(folder.glob("*.md"))
    ]
    began_s = time.process_time()
    chunked = [build_chunks(str(n), read_pieces(record), count_words, 256, 512) for n, record in enumerate(records)]
    cut_s = time.process_time() - began_s
    texts = [chunk.text for chunks in chunked for chunk in chunks]
    provider = HashProvider()
    provider.embed(texts[:50])
    began_s = time.process_time()
    for start in range(0, len(texts), 100):
        provider.embed(texts[start : start + 100])
    embed_s = time.process_time() - began_s
    return {
        "chunk_mb_per_s": sum(len(text.encode()) for text in texts) / 1e6 / cut_s,
        "hash_chunks_per_s": len(texts) / embed_s,
        "tokens_a_chunk": sum(map(count_words, texts)) / len(texts),
    }


def peak_mb(sources: list[Path]) -> float:
    """The peak memory of `inorder run`: the maximum of its processes."""
    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, "-m", "inorder", "run", *map(str, sources), "--data", data, "--quiet"]
        process = subprocess.Popen([*command, "--workers", "2"], stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"inorder run failed: {os.waitstatus_to_exitcode(status)}")
        return usage.ru_maxrss / 1024


def measure_memory(folder: Path, scratch: Path) -> dict[str, float]:
    """Peak memory for the files, and for ten times as many."""
    copies = []
    for number in range(10):
        copies.append(scratch / f"copy-{number}")
        shutil.copytree(folder, copies[-1])
    return {"once_mb": peak_mb(copies[:1]), "ten_times_mb": peak_mb(copies)}


def measure(*, quick: bool, only: list[str] | None) -> dict[str, Any]:
    """Run all measurements."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus = make_corpus(folder, pages=40 if quick else 250, files=60 if quick else 500)
        rounds = 1 if quick else ROUNDS
        found: dict[str, Any] = {}
        for kind, tools, units in (
            ("pdf", PDF_TOOLS, corpus.pages),
            ("html", TEXT_TOOLS, corpus.files),
            ("markdown", TEXT_TOOLS, corpus.files),
        ):
            wanted = tuple(tool for tool in tools if only is None or tool in only)
            found[kind] = compare(wanted, folder / kind, units, rounds)
        found["rates"] = measure_chunks(folder / "markdown")
        if only is None or "inorder" in only:
            found["memory"] = measure_memory(folder / "markdown", folder)
    return found


def format_report(found: dict[str, Any]) -> list[str]:
    """The results as Markdown."""
    lines = []
    for kind, unit in (("pdf", "pages"), ("html", "files"), ("markdown", "files")):
        rates = found[kind]
        base = rates.get("raw", {}).get("per_s") or max((each.get("per_s", 0) for each in rates.values()), default=1)
        lines += [f"| {kind} | {unit}/s | {unit} per CPU second | of the first |", "|---|---|---|---|"]
        for tool, each in rates.items():
            if "problem" in each:
                lines.append(f"| {tool} | {each['problem']} | | |")
            else:
                ratio = each["per_s"] / base
                lines.append(f"| {tool} | {each['per_s']:,.0f} | {each['per_cpu_s']:,.0f} | {ratio:.2f} |")
        lines.append("")
    rates = found["rates"]
    lines.append(f"chunk: {rates['chunk_mb_per_s']:.1f} MB of text per CPU second")
    lines.append(
        f"embed, hash: {rates['hash_chunks_per_s']:,.0f} chunks of {rates['tokens_a_chunk']:.0f} tokens per CPU "
        "second (target: at least 5,000)"
    )
    if "memory" in found:
        memory = found["memory"]
        ratio = memory["ten_times_mb"] / memory["once_mb"]
        lines.append(
            f"peak memory of inorder run: {memory['once_mb']:.0f} MB, ten times the files {memory['ten_times_mb']:.0f} "
            f"MB, {ratio:.2f} times (target: at most 1.10)"
        )
    return lines


def main() -> None:
    """Measure, and print the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="few files, one round")
    parser.add_argument("--only", nargs="+", help="these tools")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--read", nargs=2, metavar=("TOOL", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.read:
        read_all(*given.read)
        return
    found = measure(quick=given.quick, only=given.only)
    print(json.dumps(found) if given.json else "\n".join(format_report(found)))


if __name__ == "__main__":
    main()
