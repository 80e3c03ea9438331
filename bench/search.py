"""How well and how fast questions are answered, beside other search libraries on the same chunks.

    python bench/search.py [--corpus DIR] [--part N/M] [--chunks 100000] [--only inorder tantivy] [--json]

Quality: every folder below DIR with `docs.jsonl` (id, title, text), `queries.jsonl` and `qrels.tsv` is a set. The
documents are written as Markdown, go through `inorder run`, and are asked with `inorder eval`. The other libraries get
the same texts. nDCG@10, mean over the questions. `BEFORE` has what was measured on the sets in the same way, before
words of every script were indexed, scores were fused and word vectors were the default.

Speed: generated documents go through the steps; the other libraries index the chunks that come out. Times are
processor time, because other programs may run on the machine. `inorder index` also plans, detects languages, writes
manifests and makes everything durable. Every library answers in a process of its own: the median and the 95th
percentile of 300 questions, and the memory of that process. Size is that of the files; those of LanceDB contain the
texts, and the library of inorder the documents and their texts.

A library that is not installed is left out. `make bench-peers` installs them.
"""

import argparse
import json
import multiprocessing
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

COUNT = 100
QUESTIONS = 300
SECTIONS = 20
WORDS = 140
TOKENS_MAX = 256
"""A section is a chunk."""
VOCABULARY = 50_000


BEFORE = {
    "cranfield": (0.3661, 0.3624),
    "ar": (0.8911, 0.8695),
    "de": (0.9358, 0.9066),
    "en": (0.9712, 0.9373),
    "hi": (0.7620, 0.8129),
    "ru": (0.8655, 0.8573),
    "th": (0.8442, 0.8567),
    "zh": (0.1226, 0.7172),
}
"""By set, nDCG@10 of words alone and of the default, on the second half of the questions (`--part 2/2`)."""


class Library(Protocol):
    """A search library."""

    def __init__(self, folder: Path) -> None: ...

    def build(self, ids: Sequence[str], texts: Sequence[str]) -> None: ...

    def ask(self, question: str, count: int) -> list[str]: ...


class Tantivy:
    """The library behind Quickwit, from Rust."""

    def __init__(self, folder: Path) -> None:
        import tantivy

        builder = tantivy.SchemaBuilder()
        builder.add_text_field("id", stored=True, tokenizer_name="raw")
        builder.add_text_field("text", tokenizer_name="en_stem")
        self._tantivy, self._folder, self._schema = tantivy, folder, builder.build()
        folder.mkdir(exist_ok=True)
        self._index = tantivy.Index(self._schema, path=str(folder))
        self._searcher = self._index.searcher()

    def build(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        writer = self._index.writer(256_000_000, 1)
        for name, text in zip(ids, texts, strict=True):
            writer.add_document(self._tantivy.Document(id=[name], text=[text]))
        writer.commit()
        writer.wait_merging_threads()

    def ask(self, question: str, count: int) -> list[str]:
        words = "".join(character if character.isalnum() else " " for character in question)
        query, _ = self._index.parse_query_lenient(words, ["text"])
        hits = self._searcher.search(query, count).hits
        return [self._searcher.doc(address)["id"][0] for _, address in hits]


class Bm25s:
    """BM25 in numpy and scipy."""

    def __init__(self, folder: Path) -> None:
        import bm25s
        import Stemmer

        self._bm25s, self._folder = bm25s, folder
        self._stemmer = Stemmer.Stemmer("english")
        if folder.exists():
            self._model = bm25s.BM25.load(str(folder), load_corpus=False)
            self._ids = json.loads((folder / "ids.json").read_text())

    def build(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        tokens = self._bm25s.tokenize(list(texts), stopwords="en", stemmer=self._stemmer, show_progress=False)
        model = self._bm25s.BM25()
        model.index(tokens, show_progress=False)
        model.save(str(self._folder))
        (self._folder / "ids.json").write_text(json.dumps(list(ids)))

    def ask(self, question: str, count: int) -> list[str]:
        tokens = self._bm25s.tokenize([question], stopwords="en", stemmer=self._stemmer, show_progress=False)
        found, _ = self._model.retrieve(tokens, k=min(count, len(self._ids)), show_progress=False)
        return [self._ids[number] for number in found[0]]


class LanceDb:
    """The full-text index of LanceDB."""

    def __init__(self, folder: Path) -> None:
        import lancedb

        is_built = folder.exists()
        self._database = lancedb.connect(str(folder))
        self._table = self._database.open_table("chunks") if is_built else None

    def build(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        rows = [{"id": name, "text": text} for name, text in zip(ids, texts, strict=True)]
        table = self._database.create_table("chunks", rows)
        table.create_fts_index("text", language="English", stem=True, remove_stop_words=True, replace=True)

    def ask(self, question: str, count: int) -> list[str]:
        rows = self._table.search(question, query_type="fts").select(["id", "_score"]).limit(count).to_list()
        return [row["id"] for row in rows]


LIBRARIES: dict[str, Callable[[Path], Library]] = {"tantivy": Tantivy, "bm25s": Bm25s, "lancedb": LanceDb}


def is_installed(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None


def in_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a new process. Returns its result, the processor time, and the peak memory in MB."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(call, (function, arguments))


def call(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Any, float, float]:
    began_s = time.process_time()
    result = function(*arguments)
    return result, time.process_time() - began_s, read_peak_mb()


def read_peak_mb() -> float:
    """The peak memory of this process. What `getrusage` says includes that of its parent before the program started."""
    with open("/proc/self/status", encoding="ascii") as status:
        [peak] = [line.split()[1] for line in status if line.startswith("VmHWM:")]
    return int(peak) / 1024


def build(name: str, folder: Path, ids: Sequence[str], texts: Sequence[str]) -> None:
    LIBRARIES[name](folder).build(ids, texts)


def ask_library(name: str, folder: Path, questions: Sequence[str], count: int) -> tuple[list[list[str]], list[float]]:
    library = LIBRARIES[name](folder)
    return time_questions(lambda question: library.ask(question, count), questions)


def ask_inorder(data: str, mode: str, questions: Sequence[str], count: int) -> tuple[list[list[str]], list[float]]:
    from inorder.index.search import SearchOptions, search
    from inorder.library.opening import find_index

    options = SearchOptions(mode=mode, count=count)
    place = find_index(data)
    return time_questions(lambda question: [hit.item_id for hit in search(place, question, options).hits], questions)


def time_questions(ask: Callable[[str], list[str]], questions: Sequence[str]) -> tuple[list[list[str]], list[float]]:
    """The answers, and the milliseconds of processor time of each. The first question is asked twice: it opens the
    files."""
    ask(questions[0])
    answers, took = [], []
    for question in questions:
        began_s = time.process_time()
        answers.append(ask(question))
        took.append((time.process_time() - began_s) * 1000)
    return answers, took


def run_inorder(*arguments: str) -> float:
    """The processor time of a command and its workers."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "inorder", *arguments, "--quiet"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode not in (0, 3):
        raise SystemExit(f"inorder {arguments[0]} failed: {ended.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


# ---- quality


def find_sets(corpus: Path) -> list[Path]:
    return sorted(path.parent for path in corpus.rglob("qrels.tsv") if (path.parent / "docs.jsonl").exists())


def measure_quality(folder: Path, libraries: Sequence[str], part: str, scratch: Path) -> dict[str, float]:
    """nDCG@10 of each library and mode on one set."""
    from inorder.index.evaluation import measure_ranking, read_questions

    documents = [json.loads(line) for line in (folder / "docs.jsonl").read_text(encoding="utf-8").splitlines()]
    (scratch / "src").mkdir()
    for document in documents:
        text = f"# {document['title']}\n\n{document['text']}\n"
        (scratch / "src" / f"{document['id']}.md").write_text(text, encoding="utf-8")
    run_inorder("run", str(scratch / "src"), "--data", str(scratch / "data"))
    found: dict[str, float] = {}
    if part == "2/2" and folder.name in BEFORE:
        found["lexical, before"], found["default, before"] = BEFORE[folder.name]
    for mode in ("lexical", "dense", "auto"):
        command = [sys.executable, "-m", "inorder", "eval", str(folder / "queries.jsonl"), str(folder / "qrels.tsv")]
        command += ["--data", str(scratch / "data"), "--mode", mode, "--part", part, "--json"]
        ended = subprocess.run(command, capture_output=True, text=True, check=True)
        found[f"inorder {mode}"] = json.loads(ended.stdout)["settings"][0]["metrics"]["nDCG@10"]
    number, count = map(int, part.split("/"))
    asked = read_questions(folder / "queries.jsonl", folder / "qrels.tsv")[number - 1 :: count]
    asked = [question for question in asked if any(grade > 0 for grade in question.grades.values())]
    ids, texts = [document["id"] for document in documents], [f"{each['title']}\n{each['text']}" for each in documents]
    for name in libraries:
        build(name, scratch / name, ids, texts)
        answers, _ = ask_library(name, scratch / name, [question.text for question in asked], COUNT)
        scores = [
            measure_ranking(answer, question.grades)["nDCG@10"] for answer, question in zip(answers, asked, strict=True)
        ]
        found[name] = statistics.fmean(scores)
    return found


# ---- speed


def make_documents(folder: Path, chunks: int) -> list[str]:
    """Write documents of sections with words of a Zipf distribution. Returns questions of words that occur in them."""
    source = random.Random(16)
    syllables = [first + second for first in "bdfghklmnprstvz" for second in "aeiou"]
    vocabulary = sorted({"".join(source.choices(syllables, k=source.randint(2, 5))) for _ in range(VOCABULARY)})
    source.shuffle(vocabulary)
    weights = [1 / rank for rank in range(1, len(vocabulary) + 1)]
    folder.mkdir()
    questions: list[str] = []
    for number in range(max(1, chunks // SECTIONS)):
        parts = []
        for section in range(SECTIONS):
            words = source.choices(vocabulary, weights, k=WORDS)
            parts.append(f"## {words[0]} {words[1]} {section}\n\n{' '.join(words)}.\n")
            questions.append(" ".join(source.sample(words, source.randint(2, 6))))
        (folder / f"{number:06}.md").write_text("\n".join(parts), encoding="utf-8")
    return source.sample(questions, min(QUESTIONS, len(questions)))


def read_chunks(data: Path) -> tuple[list[str], list[str]]:
    import inorder

    with inorder.open(data) as opened:
        rows = [(chunk.chunk_id, chunk.text) for chunk in opened.chunks()]
    return [row[0] for row in rows], [row[1] for row in rows]


def measure_speed(chunks: int, libraries: Sequence[str], scratch: Path) -> dict[str, dict[str, float]]:
    """Building, answering and size of each library."""
    questions = make_documents(scratch / "src", chunks)
    data = scratch / "data"
    run_inorder("doctags", str(scratch / "src"), "--data", str(data))
    run_inorder("chunk", "--data", str(data), "--tokens-max", str(TOKENS_MAX))
    run_inorder("embed", "--data", str(data))
    build_s = run_inorder("index", str(scratch / "src"), "--data", str(data))
    ids, texts = read_chunks(data)
    print(f"{len(ids)} chunks, {sum(map(len, texts)) / 1e6:.0f} MB of text", file=sys.stderr)
    found: dict[str, dict[str, float]] = {}
    size = sum(path.stat().st_size for path in data.glob("library.*"))
    for mode in ("lexical", "auto"):
        found[f"inorder {mode}"] = describe(in_process(ask_inorder, str(data), mode, questions, 10), build_s, size)
    for name in libraries:
        folder = scratch / name
        _, build_s, _ = in_process(build, name, folder, ids, texts)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        found[name] = describe(in_process(ask_library, name, folder, questions, 10), build_s, size)
    return found


def describe(measured: tuple[Any, float, float], build_s: float, size: int) -> dict[str, float]:
    (_, took), _, memory_mb = measured
    took.sort()
    return {
        "build_cpu_s": round(build_s, 1),
        "size_mb": round(size / 1e6, 1),
        "median_cpu_ms": round(statistics.median(took), 2),
        "p95_cpu_ms": round(took[int(len(took) * 0.95)], 2),
        "memory_mb": round(memory_mb),
    }


def print_table(rows: dict[str, dict[str, float]], first: str) -> None:
    """A table in Markdown."""
    columns = list(dict.fromkeys(name for row in sorted(rows.values(), key=len, reverse=True) for name in row))
    print(f"| {first} | {' | '.join(columns)} |")
    print(f"| --- |{' --- |' * len(columns)}")
    for name, row in rows.items():
        cells = (format_cell(row[column]) if column in row else "" for column in columns)
        print(f"| {name} | {' | '.join(cells)} |")
    print()


def format_cell(value: float) -> str:
    return f"{value:.3f}".lstrip("0") if value <= 1 else f"{value:g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="folder with evaluation sets; without it quality is left out")
    parser.add_argument("--part", default="1/1", help="every Mth question, beginning with the Nth; default: all")
    parser.add_argument("--chunks", type=int, default=100_000, help="generated chunks; 0 leaves speed out")
    parser.add_argument("--only", nargs="*", default=["inorder", *LIBRARIES], help="libraries; default: all")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    libraries = [name for name in LIBRARIES if name in options.only and is_installed(name)]
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    quality: dict[str, dict[str, float]] = {}
    for folder in find_sets(options.corpus) if options.corpus else ():
        with tempfile.TemporaryDirectory() as name:
            scores = measure_quality(folder, libraries, options.part, Path(name))
        quality[str(folder.relative_to(options.corpus))] = {each: round(value, 4) for each, value in scores.items()}
        print(f"{folder.name}: {scores}", file=sys.stderr)
    speed: dict[str, dict[str, float]] = {}
    if options.chunks:
        scratch = Path(tempfile.mkdtemp())
        try:
            speed = measure_speed(options.chunks, libraries, scratch)
        finally:
            shutil.rmtree(scratch)
    for name, row in speed.items():
        scores = [each[name] for each in quality.values() if name in each]
        if scores:
            row["nDCG@10"] = round(statistics.fmean(scores), 4)
    if options.json:
        print(json.dumps({"quality": quality, "speed": speed}, indent=2))
        return
    if quality:
        print_table(quality, "set")
    if speed:
        print_table(speed, "library")


if __name__ == "__main__":
    main()
