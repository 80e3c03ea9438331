"""The part of a chunk that answers a question best, with the places of the words that match."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from inorder.index.hits import Hit
from inorder.index.lexical.analysis import analyze, compile_word, compile_word_or_number, join_digits, split_runs
from inorder.index.lexical.scoring import TermGroup
from inorder.index.rows import CODE

CONTEXT = 1
"""A snippet has this many lines or sentences before and after the one in its middle, unless another number is asked
for."""
_MATCHERS_MAX = 16
_WORDS_MAX = 1 << 16
_BLOCK_END = re.compile(r"\n[ \t]*\n")
_SIGNS = re.compile(r"[{}=;<>$\\`|&@\[\]]|\w\(|\w_\w|--\w|::|->|\w\.[a-z_]\w*\(")
_SIGNS_SHARE = 0.3
"""Of the number of words: a line with as many signs is taken for one of a program."""
_PROMPT = re.compile(r"(?:\$|>>>|\.\.\.|#!|%) ?\S")
_WORD_MAX = 40
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f\u0964\u104b\u17d4])\s*|\n+")


class SnippetLine(NamedTuple):
    """A line of source code, or a sentence of a document."""

    number: int
    """The number of the line in its file; of the sentence in its chunk, from 1."""
    text: str
    marks: list[tuple[int, int]]
    """Where words of the question are: start and end of each."""
    is_best: bool
    """Whether it has the most words of the question."""


def make_snippet(hit: Hit, groups: Sequence[TermGroup], context: int = CONTEXT) -> list[SnippetLine]:
    """The consecutive lines or sentences with the most words of the question."""
    first = hit.start if hit.file_kind == CODE else 1
    is_code = hit.file_kind == CODE
    blocks = [hit.text.splitlines()] if is_code else [_split_sentences(block) for block in _BLOCK_END.split(hit.text)]
    texts = [text for block in blocks for text in block]
    matcher = _get_matcher(tuple(groups), hit.language if hit.file_kind != CODE else "")
    found = [matcher.find(text) for text in texts]
    if not found:
        return []
    is_program = [is_like for block in blocks for is_like in [is_code or _is_program(block)] * len(block)]
    windows = list(_list_windows(is_program, 2 * context + 1))
    terms = [set().union(*(numbers for numbers, _ in found[start:end])) for start, end in windows]
    middles = [len(found[(start + end) // 2][0]) for start, end in windows]
    start, end = windows[max(range(len(windows)), key=lambda at: (len(terms[at]), middles[at], -at))]
    best = max(range(start, end), key=lambda at: (len(found[at][0]), -at))
    return [SnippetLine(first + at, texts[at].rstrip(), found[at][1], at == best) for at in range(start, end)]


def _list_windows(is_program: Sequence[bool], size: int) -> Iterator[tuple[int, int]]:
    """Begin and end of each run of lines of this size, or of all if there are fewer, that does not join lines of a
    program and prose."""
    begin = 0
    for _, group in groupby(is_program):
        end = begin + len(list(group))
        width = min(size, end - begin)
        yield from ((at, at + width) for at in range(begin, end - width + 1))
        begin = end


def _is_program(block: Sequence[str]) -> bool:
    return 2 * sum(map(looks_like_program, block)) >= len(block)


def looks_like_program(text: str) -> bool:
    """Whether a line of a document is one of a program or a command, judged by its signs."""
    signs = len(_SIGNS.findall(text))
    return bool(_PROMPT.match(text)) or (signs > 0 and signs >= _SIGNS_SHARE * len(text.split()))


def cut(text: str, width: int, start: int = 0) -> tuple[int, int]:
    """Begin and end of a part of a text, from about `start` on, that has at most this width and breaks no word. A text
    without spaces is cut anywhere."""
    end = min(len(text), start + width)
    if start:
        start = next((at + 1 for at in range(start, min(start + _WORD_MAX, end)) if text[at].isspace()), start)
    if end < len(text) and not text[end].isspace():
        end = next((at for at in range(end, max(end - _WORD_MAX, start), -1) if text[at - 1].isspace()), end)
    return start, end


class TermMatcher:
    """Finds words of a question in a text: in any form that the index takes for the same."""

    def __init__(self, groups: Sequence[TermGroup], language: str) -> None:
        self._number = {form: number for number, group in enumerate(groups) for form in group.forms}
        partial = [(number, group) for number, group in enumerate(groups) if group.is_prefix]
        self._beginnings = [(form, number) for number, group in partial for form in group.forms]
        self._language = language
        self._known: dict[str, list[tuple[int, int, int]]] = {}
        """What was found in words that came before: most words of a text come again and again."""

    def find(self, text: str) -> tuple[set[int], list[tuple[int, int]]]:
        """The numbers of the words that the text has, and where they are."""
        numbers: set[int] = set()
        marks: list[tuple[int, int]] = []
        for word in compile_word_or_number().finditer(text):
            found = self._known.get(word[0])
            if found is None:
                found = self._known[word[0]] = list(self._match_word(word[0]))
            for start, end, number in found:
                numbers.add(number)
                start, end = start + word.start(), end + word.start()
                if marks and start <= marks[-1][1]:
                    marks[-1] = (marks[-1][0], max(end, marks[-1][1]))
                else:
                    marks.append((start, end))
        return numbers, marks

    def _match_word(self, word: str) -> Iterator[tuple[int, int, int]]:
        if "," in word:
            whole = self._number.get(join_digits(word))
            if whole is not None:
                yield 0, len(word), whole
                return
            for part in compile_word().finditer(word):
                at = part.start()
                yield from ((at + start, at + end, number) for start, end, number in self._match_word(part[0]))
            return
        runs = split_runs(word)
        for at, run in enumerate(runs):
            if run in self._number:
                yield at, at + len(run), self._number[run]
        for form, number in self._beginnings:
            yield from ((found.start(), found.end(), number) for found in re.finditer(re.escape(form), word))
        if not runs:
            found = {self._number[term] for term in _analyze_word(word, self._language) if term in self._number}
            yield from ((0, len(word), number) for number in sorted(found))


@lru_cache(maxsize=_MATCHERS_MAX)
def _get_matcher(groups: tuple[TermGroup, ...], language: str) -> TermMatcher:
    """The same matcher for all hits of a question."""
    return TermMatcher(groups, language)


@lru_cache(maxsize=_WORDS_MAX)
def _analyze_word(word: str, language: str) -> tuple[str, ...]:
    return tuple(analyze(word, language))


def _split_sentences(text: str) -> list[str]:
    return [sentence for sentence in _SENTENCE_END.split(text) if sentence.strip()]
