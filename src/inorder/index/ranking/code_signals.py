"""What names and paths say about a chunk of source code, beyond its words.

Words alone rank a test above the function that it tests, because it repeats the names. So the scores of code are
adjusted, each time by something that can be said in a few words:

* The question names what the chunk defines: `ClientSession`, or a sentence with such a name in it.
* Words of the question are in the name of the file, or of its folders.
* Other chunks of the same file match, too. The best chunk of the file gains, and each further one is worth half of the
  one before it, so that an answer shows several files.
* Tests, examples, old code and lists of exports are worth less, unless the question asks for them.

The order among chunks of code changes, not their place among documents: after the adjustment the best chunk of code has
the score that the best one had before. Only a definition that was asked for may rise.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from inorder.index.lexical.analysis import analyze, split_words
from inorder.index.query import is_stop_word

Scores = npt.NDArray[np.float64]

DEFINED = 3.0
"""Factor of a definition whose name is the whole question."""
DEFINED_IN_SENTENCE = 2.0
FILE_NAME = 1.0
"""Gain if all words of the question are in the name of the file."""
FOLDER_NAMES = 0.5
FILE_SHARE = 0.4
"""Gain of the best chunk of the file that matches best."""
FURTHER_CHUNK = 0.5
TEST = 0.3
LEGACY = 0.5
EXPORTS = 0.7
GENERATED = 0.4
_PREFIX = 4
"""Words with this many equal letters at the beginning are taken for the same: `resolution` and `resolver`."""
_LENGTH_DIFFERENCE_MAX = 6

_TEST = re.compile(
    r"(?:^|/)(?:tests?|testing|specs?|__tests__|examples?|samples?|demos?|tutorials?|benchmarks?|fixtures|mocks?)/"
    r"|(?:^|/)test_[^/]*$|(?:_tests?|_spec|_benchmark|\.test|\.spec|[a-z]Tests?|[a-z]Spec)\.\w+$"
)
_ASKS_FOR_TEST = re.compile(
    r"\b(?:tests?|testing|specs?|examples?|samples?|demos?|benchmarks?|fixtures?|mocks?)\b", re.I
)
_LEGACY = re.compile(r"(?:^|/)(?:_?compat|legacy|deprecated)(?:/|\.\w+$)")
_ASKS_FOR_LEGACY = re.compile(r"\b(?:compat\w*|legacy|deprecated|old)\b", re.IGNORECASE)
_EXPORTS = re.compile(r"(?:^|/)(?:__init__\.pyi?|index\.[jt]sx?|(?:mod|lib)\.rs|package-info\.java)$")
_GENERATED = re.compile(
    r"(?:^|/)(?:vendor(?:ed)?|third_party|node_modules|dist|generated)/|(?:_pb2(?:_grpc)?\.pyi?|\.pb\.go|\.min\.(?:js|css)"
    r"|[._-]lock\.(?:json|yaml)|\.g\.dart|\.generated\.\w+)$"
)
_SEPARATOR = re.compile(r"\.|::|->|#")
_NAME = re.compile(r"[^\W\d]\w*")
_QUALIFIED = re.compile(rf"{_NAME.pattern}(?:(?:{_SEPARATOR.pattern}){_NAME.pattern})*")
_LOOKS_LIKE_CODE = re.compile(r"\w_\w|[a-z][A-Z]|[A-Z]{2}[a-z]")


class RankedCode(NamedTuple):
    """A chunk of source code among the candidates."""

    item_id: str
    name: str
    """Qualified name of the definition; empty if it defines nothing."""
    is_source: bool = False
    """Whether the file defines something, though it has the name of a list of exports."""


class Adjustment(NamedTuple):
    """The new scores, and for each chunk why it has it."""

    scores: Scores
    reasons: list[list[str]]


def adjust(question: str, chunks: Sequence[RankedCode], scores: Scores) -> Adjustment:
    """Adjust the scores of chunks of code. Scores are 0 or more."""
    if not len(scores) or scores.max() <= 0:
        return Adjustment(scores, [[] for _ in chunks])
    adjusted = scores.copy()
    reasons: list[list[str]] = [[] for _ in chunks]
    _raise_definitions(question, chunks, adjusted, reasons)
    is_defined = [bool(each) for each in reasons]
    below = [chunk.item_id.partition("/")[2] for chunk in chunks]
    _raise_paths(question, below, adjusted, reasons)
    _raise_files(chunks, adjusted, reasons)
    _lower_side_files(question, below, [chunk.is_source for chunk in chunks], adjusted, reasons)
    top = int(np.argmax(adjusted))
    gain = max(1.0, adjusted[top] / scores.max()) if is_defined[top] else 1.0
    adjusted *= min(gain, DEFINED) * scores.max() / adjusted[top]
    _lower_further_chunks(chunks, adjusted, reasons)
    return Adjustment(adjusted, reasons)


def is_name(question: str) -> bool:
    """Whether the question is a name of program code, such as `open_index` or `Kernel.step`, and not a word."""
    text = question.strip()
    return bool(_QUALIFIED.fullmatch(text)) and bool(_LOOKS_LIKE_CODE.search(text) or _SEPARATOR.search(text))


def _find_names(question: str) -> tuple[set[str], float]:
    """The names that the question has, in lower case, and the factor of their definitions."""
    if _QUALIFIED.fullmatch(question.strip()):
        return {_SEPARATOR.split(question.strip())[-1].lower()}, DEFINED
    return {name.lower() for name in _NAME.findall(question) if _LOOKS_LIKE_CODE.search(name)}, DEFINED_IN_SENTENCE


def _raise_definitions(
    question: str, chunks: Sequence[RankedCode], scores: Scores, reasons: Sequence[list[str]]
) -> None:
    names, factor = _find_names(question)
    for at, chunk in enumerate(chunks):
        name = _SEPARATOR.split(chunk.name)[-1]
        if name.lower() in names:
            scores[at] *= factor
            reasons[at].append(f"defines {name}: x{factor:g}")


def _raise_paths(question: str, paths: Sequence[str], scores: Scores, reasons: Sequence[list[str]]) -> None:
    words = split_words(question)
    relevant = [word for word in words if not is_stop_word(word)] or words
    terms = set(analyze(" ".join(relevant)))
    beginnings = {term[:_PREFIX] for term in terms}
    known: dict[str, tuple[float, str]] = {}
    for at, path in enumerate(paths):
        if path not in known:
            is_similar = not beginnings.isdisjoint(_find_beginnings(path))
            known[path] = _match_path(terms, path) if is_similar else (0.0, "")
        gain, matching = known[path]
        if matching:
            scores[at] *= 1 + gain
            reasons[at].append(f"path has {matching}: x{1 + gain:.2g}")


@lru_cache(maxsize=1 << 16)
def _find_beginnings(path: str) -> frozenset[str]:
    """The first letters of the terms of a path. A path that has none of those of the question is not looked at."""
    folders, _, file_name = path.rpartition("/")
    return frozenset(term[:_PREFIX] for part in (folders, file_name) for term in _analyze_path(part))


def _match_path(terms: set[str], path: str) -> tuple[float, str]:
    """The gain of a file by its path, and the terms that are in it."""
    folders, _, file_name = path.rpartition("/")
    name_terms = _analyze_path(file_name.partition(".")[0] or file_name)
    folder_terms = _analyze_path(folders)
    in_name = {term for term in terms if _has_similar(term, name_terms)}
    in_folders = {term for term in terms - in_name if _has_similar(term, folder_terms)}
    gain = (FILE_NAME * len(in_name) + FOLDER_NAMES * len(in_folders)) / max(1, len(terms))
    return gain, ", ".join(sorted(in_name | in_folders))


@lru_cache(maxsize=1 << 14)
def _analyze_path(part: str) -> tuple[str, ...]:
    """The terms of a part of a path. Questions are asked about the same files again and again."""
    return tuple(analyze(part))


def _has_similar(term: str, words: Sequence[str]) -> bool:
    return term in words or (
        len(term) >= _PREFIX
        and any(
            word[:_PREFIX] == term[:_PREFIX] and abs(len(word) - len(term)) <= _LENGTH_DIFFERENCE_MAX for word in words
        )
    )


def _raise_files(chunks: Sequence[RankedCode], scores: Scores, reasons: Sequence[list[str]]) -> None:
    """Give the best chunk of each file a share of the sum of its file."""
    sums: dict[str, float] = {}
    best: dict[str, int] = {}
    for at, chunk in enumerate(chunks):
        sums[chunk.item_id] = sums.get(chunk.item_id, 0.0) + float(scores[at])
        if chunk.item_id not in best or scores[at] > scores[best[chunk.item_id]]:
            best[chunk.item_id] = at
    unit = FILE_SHARE * float(scores.max()) / max(sums.values())
    for item_id, at in best.items():
        scores[at] += unit * sums[item_id]
        reasons[at].append(f"all chunks of the file: +{unit * sums[item_id]:.2g}")


def may_only_export(item_id: str) -> bool:
    """Whether a file has the name of a list of exports. What it has inside decides."""
    return "exports" in _find_kinds(item_id.partition("/")[2])


@lru_cache(maxsize=1 << 14)
def _find_kinds(path: str) -> frozenset[str]:
    """What a file is beside source, by its path. Questions are asked about the same files again and again."""
    patterns = {"exports": _EXPORTS, "generated": _GENERATED, "test": _TEST, "legacy": _LEGACY}
    return frozenset(name for name, pattern in patterns.items() if pattern.search(path))


def _lower_side_files(
    question: str, paths: Sequence[str], is_source: Sequence[bool], scores: Scores, reasons: Sequence[list[str]]
) -> None:
    rules = [("exports", EXPORTS, "list of exports"), ("generated", GENERATED, "generated or of others")]
    if not _ASKS_FOR_TEST.search(question):
        rules.append(("test", TEST, "test or example"))
    if not _ASKS_FOR_LEGACY.search(question):
        rules.append(("legacy", LEGACY, "old code"))
    for at, path in enumerate(paths):
        kinds = _find_kinds(path)
        for name, factor, reason in rules if kinds else ():
            if name in kinds and not (name == "exports" and is_source[at]):
                scores[at] *= factor
                reasons[at].append(f"{reason}: x{factor:g}")


def _lower_further_chunks(chunks: Sequence[RankedCode], scores: Scores, reasons: Sequence[list[str]]) -> None:
    seen: dict[str, int] = {}
    for at in sorted(range(len(chunks)), key=lambda at: (-scores[at], at)):
        before = seen.get(chunks[at].item_id, 0)
        seen[chunks[at].item_id] = before + 1
        if before:
            scores[at] *= FURTHER_CHUNK**before
            reasons[at].append(f"further chunk of the file: x{FURTHER_CHUNK**before:.2g}")
