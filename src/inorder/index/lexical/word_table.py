"""Number the words of texts, so that their terms can be counted as numbers.

Most words are known and short. Those of a text in ASCII are looked up all at once: the bytes of a word are compared as
two integers with those of the words in a hash table of arrays, which takes a fifth of the time of a dictionary. Words
that it does not have, and long ones, are looked up one by one.
"""

from array import array
from collections.abc import Sequence
from itertools import compress, count, filterfalse

import numpy as np
import numpy.typing as npt

from .analysis import (
    ASCII_WORD_CHARACTERS,
    NAME_PART_OR_SPACE,
    TERM_CHARACTERS_MAX,
    open_term_cache,
)

Numbers = npt.NDArray[np.int64]

_KEY_BYTES = 8
_SHORT_BYTES_MAX = 2 * _KEY_BYTES
_SLOT_BITS = 17
"""Twice as many slots as words."""
_NINE = ord("9")
_IS_WORD = bytes(chr(code) in ASCII_WORD_CHARACTERS for code in range(256))
_MULTIPLIERS = tuple(
    (np.uint64(first), np.uint64(second))
    for first, second in (
        (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F),
        (0xD6E8FEB86659FD93, 0xA0761D6478BD642F),
    )
)
"""A word has one slot for each of these. It is in the first one that was free."""
_SHIFT = np.uint64(64 - _SLOT_BITS)


def _make_masks(start: int) -> npt.NDArray[np.uint64]:
    """For each length of a word, which of the eight bytes from `start` on belong to it. A word that is too long has
    none: no word in the table is empty."""
    sizes = [min(max(length - start, 0), _KEY_BYTES) for length in range(_SHORT_BYTES_MAX + 1)]
    return np.array([(1 << 8 * size) - 1 for size in [*sizes, 0]], np.uint64)


_MASKS = _make_masks(0), _make_masks(_KEY_BYTES)


class TermNumbers(dict[str, int]):
    """Numbers terms in the order in which they are first looked up."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        """The terms in the order of their numbers."""

    def __missing__(self, term: str) -> int:
        self[term] = number = len(self.names)
        self.names.append(term)
        return number


class WordTable(dict[bytes | str, int]):
    """Numbers the words and the terms of a language in the order in which they are first looked up. A word takes about
    500 bytes."""

    def __init__(self, language: str) -> None:
        super().__init__()
        cache = open_term_cache(language)
        self._derive_terms = cache.derive_terms
        self.numbers = TermNumbers()
        self._derive_part_terms = cache.derive_part_terms
        self._part_numbers = {" ": -1}
        """The number of the term of each part of a name; -1 for a space."""
        self.starts = array("i", [0])
        """For each word, where its terms begin, and at last where those of the last word end."""
        self.terms = array("i")
        """The numbers of the terms of each word, word after word."""
        self._slots = _Slots()
        self._is_present = np.zeros(0, np.bool_)
        """Space for a mark and a number per term."""
        self._ranks = np.zeros(0, np.uint32)

    def __missing__(self, word: bytes | str) -> int:
        terms = self._derive_terms(word if isinstance(word, str) else word.decode("ascii"))
        self.terms.extend([self.numbers[term] for term in terms])
        self.starts.append(len(self.terms))
        self[word] = number = len(self)
        return number

    def number_words(self, text: bytes) -> tuple[Numbers, Numbers]:
        """Where the words of a text in ASCII begin, and their numbers, in the order of the text."""
        data = b"".join((b" ", text, b" " * (_SHORT_BYTES_MAX + 1)))
        is_word = np.frombuffer(data.translate(_IS_WORD), np.bool_)
        edges = np.flatnonzero(is_word[1:] != is_word[:-1]) + 1
        starts, ends = edges[0::2], edges[1::2]
        keys = _make_keys(data, starts, ends)
        numbers = self._slots.find(keys)
        missing = np.flatnonzero(numbers < 0)
        if len(missing):
            spans = zip(starts[missing].tolist(), ends[missing].tolist(), strict=True)
            words = [data[start:end] for start, end in spans]
            new = [*filterfalse(self.__contains__, dict.fromkeys(words))]
            if new:
                self._add([word for word in new if word[0] > _NINE and len(word) <= TERM_CHARACTERS_MAX])
            found = np.fromiter(map(self.__getitem__, words), np.int64, len(words))
            numbers[missing] = found
            self._slots.add((keys[0][missing], keys[1][missing]), found)
        return starts - 1, numbers

    def _add(self, names: Sequence[bytes]) -> None:
        """Add names in ASCII that are not in the table, are not too long, and begin with no digit: as looking up each,
        in a third of the time."""
        text = b" ".join(names).decode("ascii")
        parts = NAME_PART_OR_SPACE.findall(f"{text} " if names else "")
        new = [*filterfalse(self._part_numbers.__contains__, dict.fromkeys(parts))]
        self._part_numbers.update(zip(new, map(self.numbers.__getitem__, self._derive_part_terms(new)), strict=True))
        terms = np.fromiter(map(self._part_numbers.__getitem__, parts), np.int32, len(parts))
        ends = np.flatnonzero(terms < 0)
        counts = np.diff(ends, prepend=-1) - 1
        has_several = counts > 1
        wholes = [word.strip("_") for word in compress(text.lower().split(" "), has_several.tolist())]
        terms[ends[has_several]] = np.fromiter(map(self.numbers.__getitem__, wholes), np.int32, len(wholes))
        starts = np.cumsum(counts + has_several) + len(self.terms)
        self.terms.frombytes(terms[terms >= 0].tobytes())
        self.starts.frombytes(starts.astype(np.int32).tobytes())
        self.update(zip(names, count(len(self)), strict=False))

    def renumber(self, terms: Numbers) -> tuple[str, npt.NDArray[np.uint32]]:
        """The vocabulary of these terms, and the number of each in it."""
        names = self.numbers.names
        if len(self._ranks) < len(names):
            self._is_present = np.zeros(2 * len(names), np.bool_)
            self._ranks = np.zeros(2 * len(names), np.uint32)
        self._is_present[terms] = True
        present = np.flatnonzero(self._is_present[: len(names)])
        self._is_present[present] = False
        self._ranks[present] = np.arange(len(present), dtype=np.uint32)
        return " ".join(map(names.__getitem__, present.tolist())), self._ranks[terms]


_Keys = tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]


def _make_keys(data: bytes, starts: Numbers, ends: Numbers) -> _Keys:
    """The first and the next eight bytes of each word, filled up with zeros; zeros for a long one. `data` must have
    that many bytes after the last start."""
    from_byte = np.ndarray((len(data) - _KEY_BYTES + 1,), "<u8", data, 0, (1,))
    sizes = np.minimum(ends - starts, _SHORT_BYTES_MAX + 1)
    return from_byte[starts] & _MASKS[0][sizes], from_byte[starts + _KEY_BYTES] & _MASKS[1][sizes]


class _Slots:
    """A hash table of the numbers of short words."""

    def __init__(self) -> None:
        self._numbers = np.full(1 << _SLOT_BITS, -1, np.int64)
        """-1: the slot is free."""
        self._first = np.zeros(1 << _SLOT_BITS, np.uint64)
        self._second = np.zeros(1 << _SLOT_BITS, np.uint64)

    def find(self, keys: _Keys) -> Numbers:
        """The number of each word; -1 if it is not in the table."""
        found = self._find(keys, 0)
        missing = np.flatnonzero(found < 0)
        if len(missing):
            found[missing] = self._find((keys[0][missing], keys[1][missing]), 1)
        return found

    def _find(self, keys: _Keys, round_: int) -> Numbers:
        slots = _find_slots(keys, round_)
        is_here = (self._first[slots] == keys[0]) & (self._second[slots] == keys[1])
        found: Numbers = np.where(is_here, self._numbers[slots], -1)
        return found

    def add(self, keys: _Keys, numbers: Numbers) -> None:
        """Add words. Those that find no free slot are left out, and so are long ones."""
        waiting = np.flatnonzero(keys[0])
        for round_ in range(len(_MULTIPLIERS)):
            slots = _find_slots((keys[0][waiting], keys[1][waiting]), round_)
            is_free = self._numbers[slots] < 0
            self._numbers[slots[is_free]] = numbers[waiting[is_free]]
            is_here = self._numbers[slots] == numbers[waiting]  # of several words for one slot, one has it now
            self._first[slots[is_here]] = keys[0][waiting[is_here]]
            self._second[slots[is_here]] = keys[1][waiting[is_here]]
            waiting = waiting[~is_here]


def _find_slots(keys: _Keys, round_: int) -> Numbers:
    first, second = _MULTIPLIERS[round_]
    return ((keys[0] * first ^ keys[1] * second) >> _SHIFT).astype(np.int64)
