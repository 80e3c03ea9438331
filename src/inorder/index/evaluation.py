"""Measure how well questions are answered, on questions whose answers are known.

Every file counts once, at the rank of its best chunk. A question without a relevant file is left out. Two settings are
compared on the same questions with a randomisation test: how often would chance alone, which swaps the two results of a
question or not, give a difference of the means at least as large?
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import msgspec
import numpy as np

from inorder.errors import OperatorError, require
from inorder.host.named_file import read_named

from .place import IndexPlace
from .search import SearchOptions, search, use_index

METRICS = ("nDCG@10", "MAP", "recall@100", "Acc@1", "Acc@5")
DEPTH = 1000
"""Chunks that are asked for: enough for 100 files, unless files have many chunks that match."""
_FILES_MAX = 100
_SHUFFLES = 10_000
_SHUFFLES_AT_ONCE = 500
_SEED = 16


_BYTES_MAX = 2**28
"""The largest file with questions or judgements."""


class JudgedQuestion(NamedTuple):
    """A question, and how relevant each file is: 0 is not relevant."""

    question_id: str
    text: str
    grades: dict[str, int]
    """By the name of the file, as the judgements have it."""


class Evaluation(NamedTuple):
    """The results of one setting, question by question."""

    questions: list[str]
    """The ids of the questions that count."""
    values: dict[str, list[float]]
    """By metric, one value per question."""

    def mean(self, metric: str) -> float:
        """The mean over all questions."""
        return math.fsum(self.values[metric]) / len(self.questions)


class Difference(NamedTuple):
    """The second setting compared with the first one."""

    mean: float
    """By how much the second one is better."""
    p_value: float
    """How likely chance alone gives a difference at least as large."""


def read_questions(queries: Path, judgements: Path) -> list[JudgedQuestion]:
    """Read questions from JSON lines (`id` or `_id`, and `text`), and judgements from a file with the columns question,
    document and grade; or the four of TREC, whose second one is ignored."""
    grades = _read_grades(judgements)
    found: list[JudgedQuestion] = []
    for number, line in _read_lines(queries):
        try:
            row = msgspec.json.decode(line)
            question_id, text = str(row["id"] if "id" in row else row["_id"]), str(row["text"])
        except (msgspec.DecodeError, KeyError, TypeError, RecursionError):
            raise OperatorError(f"{queries}, line {number}: expected a JSON object with id and text") from None
        found.append(JudgedQuestion(question_id, text, grades.get(question_id, {})))
    return found


def _read_grades(path: Path) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for number, line in _read_lines(path):
        fields = line.split("\t") if "\t" in line else line.split()
        if number == 1 and not _is_whole(fields[-1]):
            continue  # names of columns
        if len(fields) not in (3, 4) or not _is_whole(fields[-1]):
            raise OperatorError(f"{path}, line {number}: expected question, document and grade, separated by tabs")
        grades.setdefault(fields[0], {})[fields[-2]] = int(fields[-1])
    return grades


def _is_whole(text: str) -> bool:
    return re.fullmatch("-?[0-9]{1,9}", text) is not None


def _read_lines(path: Path) -> Iterable[tuple[int, str]]:
    try:
        text = read_named(path, _BYTES_MAX).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise OperatorError(f"cannot read {path}: {error}") from None
    return [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def evaluate(place: IndexPlace, questions: Sequence[JudgedQuestion], options: SearchOptions) -> Evaluation:
    """Ask every question that has a relevant file, and measure the answers."""
    options = msgspec.structs.replace(options, count=DEPTH)
    names = _resolve_names(place, {name for question in questions for name in question.grades})
    result = Evaluation([], {metric: [] for metric in METRICS})
    for question in questions:
        grades = {names.get(name, f"\0{name}"): grade for name, grade in question.grades.items()}
        if not any(grade > 0 for grade in grades.values()):
            continue
        hits = search(place, question.text, options).hits
        ranking = list(dict.fromkeys(item for hit in hits for item in (hit.item_id, *hit.copies)))[:_FILES_MAX]
        result.questions.append(question.question_id)
        for metric, value in measure_ranking(ranking, grades).items():
            result.values[metric].append(value)
    require(bool(result.questions), "none of the questions has a relevant document in the judgements")
    return result


def measure_ranking(ranking: Sequence[str], grades: Mapping[str, int]) -> dict[str, float]:
    """The metrics of one answer. At least one grade is above 0."""
    gains = [max(0, grades.get(name, 0)) for name in ranking]
    ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
    found = [position for position, gain in enumerate(gains, 1) if gain]
    precisions = [number / position for number, position in enumerate(found, 1)]
    return {
        "nDCG@10": _discount(gains[:10]) / _discount(ideal[:10]),
        "MAP": math.fsum(precisions) / len(ideal),
        "recall@100": len(found) / len(ideal),
        "Acc@1": float(any(gains[:1])),
        "Acc@5": float(any(gains[:5])),
    }


def _discount(gains: Sequence[int]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def _resolve_names(place: IndexPlace, names: Iterable[str]) -> dict[str, str]:
    """The item id of each file that the judgements name: by its item id, by its path below the source, or by its file
    name with or without the suffix."""
    with use_index(place) as index:
        items = [str(item) for (item,) in index.connection.execute("SELECT item_id FROM files ORDER BY item_id")]
    known: dict[str, list[str]] = {}
    for item in items:
        path = unquote(item)
        file_name = path.rpartition("/")[2]
        for name in {item, path, path.partition("/")[2], file_name, file_name.rpartition(".")[0]} - {""}:
            known.setdefault(name, []).append(item)
    found: dict[str, str] = {}
    for name in names:
        matching = [name] if name in known.get(name, ()) else known.get(name, [])
        if len(matching) > 1:
            raise OperatorError(f"the judgements name {name!r}, which may be {matching[0]} or {matching[1]}")
        if matching:
            found[name] = matching[0]
    require(bool(found), "no document that the judgements name is in the index")
    return found


def compare(first: Evaluation, second: Evaluation) -> dict[str, Difference]:
    """The difference in each metric. Both settings were asked the same questions."""
    return {metric: compare_values(first.values[metric], second.values[metric]) for metric in METRICS}


def compare_values(first: Sequence[float], second: Sequence[float]) -> Difference:
    """The difference of the means, and its probability under chance, by a two-sided paired randomisation test."""
    differences = np.asarray(second) - np.asarray(first)
    observed = float(differences.mean())
    changed = differences[differences != 0]
    random: Any = np.random.default_rng(_SEED)
    extreme = 0
    for _ in range(0, _SHUFFLES, _SHUFFLES_AT_ONCE):
        signs = random.integers(0, 2, (_SHUFFLES_AT_ONCE, len(changed))) * 2 - 1
        means = np.abs(signs @ changed) / len(differences)
        extreme += int((means >= abs(observed) - 1e-12).sum())
    return Difference(observed, (extreme + 1) / (_SHUFFLES + 1))
