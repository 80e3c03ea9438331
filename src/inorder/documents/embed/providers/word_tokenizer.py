"""Tokenize texts word by word, and remember the tokens of words.

A text has few words that were not seen before, and to look a word up takes a fraction of the time that a tokenizer
takes to normalize and split it. This is done for tokenizers as those of BERT: they look at one character at a time
until the text is split at spaces, and then at one word at a time. So the tokens of a text are those of its words. Every
other tokenizer is used as it is.
"""

import re
from array import array
from collections.abc import Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from .base import replace_surrogates

TokenArray = npt.NDArray[np.int32]
_TOKEN_BYTES = 4
_WORD = re.compile(r"[^ \t\n\r]+")
"""What lies between characters that every such tokenizer treats as spaces. What else it treats so is part of a word
here, and is left to the tokenizer."""
_OTHER_SPACES = re.compile(r"[\x0b\x0c\x1c-\x1f]")
"""The ASCII characters at which `str.split` splits, and `_WORD` does not."""
_WORDS_MAX = 100_000
"""Words that are remembered. If there are more, all are forgotten."""
_WORD_CHARACTERS_MAX = 64
"""A text with a longer word is left to the tokenizer: such words hardly come twice."""
_NORMALIZERS = (None, "BertNormalizer")
_SAMPLE = (
    "",
    "Words, words (and 3.14 numbers): don't split WORDS\u00a0here\u2003or\x0bhere.",
    "[SEP] [CLS]word [MASK]. <s> \u00c5ngstr\u00f6m na\u00efve \u4e2d\u6587\u5b57 e\u0301 \u0301x \ufb01n \U0001f600",
    "\x00a\x7f \u200b \ufffd a\x85b a\x1cb \u0130 \u1e9e \u03a3\u03a3 \ud55c",
    "one \t two\r\n three " * 500,
)
"""Texts that show whether the tokens are right."""


class _Part(msgspec.Struct):
    type: str = ""
    lowercase: bool = False


class _Truncation(msgspec.Struct):
    max_length: int
    direction: str = "Right"
    strategy: str = "LongestFirst"


class _AddedToken(msgspec.Struct):
    content: str
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False


class _Definition(msgspec.Struct):
    """What decides whether words can be tokenized one by one."""

    truncation: _Truncation | None = None
    added_tokens: list[_AddedToken] = []
    normalizer: _Part | None = None
    pre_tokenizer: _Part | None = None
    model: _Part = msgspec.field(default_factory=_Part)

    @property
    def is_by_word(self) -> bool:
        """Whether the tokens of a text are those of its words."""
        return (
            (None if self.normalizer is None else self.normalizer.type) in _NORMALIZERS
            and self.pre_tokenizer is not None
            and self.pre_tokenizer.type == "BertPreTokenizer"
            and self.model.type == "WordPiece"
            and self.truncation is not None
            and (self.truncation.direction, self.truncation.strategy) == ("Right", "LongestFirst")
            and not any(token.single_word or token.lstrip or token.rstrip for token in self.added_tokens)
            and all(_WORD.fullmatch(token.content) for token in self.added_tokens)
            and not any(token.content.isalpha() for token in self.added_tokens)
        )


class WordTokenizer:
    """Returns the same tokens as its tokenizer. Used by one thread."""

    def __init__(
        self, tokenizer: Any, definition: _Definition, tokens_max: int, before: Sequence[int], after: Sequence[int]
    ) -> None:
        self._tokenizer = tokenizer
        self._vocabulary: dict[str, int] = tokenizer.get_vocab(with_added_tokens=False)
        self._is_lowercase = definition.normalizer is not None and definition.normalizer.lowercase
        self._before = _pack(before)
        self._after = _pack(after)
        self._bytes_max = _TOKEN_BYTES * (tokens_max - len(before) - len(after))
        self._known: dict[str, bytes] = {}
        """The tokens of words, as bytes: those of a text are joined several times as fast as numbers would be."""

    def tokenize(self, texts: Sequence[str]) -> list[TokenArray]:
        """The tokens of each text, special tokens included."""
        clean = [replace_surrogates(text) for text in texts]
        words = [_split_words(text) for text in clean]
        self._learn(words)
        return [self._join(*each) for each in zip(clean, words, strict=True)]

    def _join(self, text: str, words: Sequence[str]) -> TokenArray:
        try:
            tokens = b"".join(map(self._known.__getitem__, words))
        except KeyError:
            return np.array(self._tokenizer.encode_batch_fast([text])[0].ids, np.int32)
        return np.frombuffer(self._before + tokens[: self._bytes_max] + self._after, np.int32)

    def _learn(self, words: Sequence[Sequence[str]]) -> None:
        """Find the tokens of new words, except those that are too long."""
        known, wanted = self._known, set(chain.from_iterable(words))
        new = wanted.difference(known)
        if len(known) + len(new) > _WORDS_MAX:
            known.clear()
            new = wanted
        unknown = [word for word in new if len(word) <= _WORD_CHARACTERS_MAX and not self._look_up(word)]
        if unknown:
            found = self._tokenizer.encode_batch_fast(unknown, add_special_tokens=False)
            known.update((word, _pack(encoding.ids)) for word, encoding in zip(unknown, found, strict=True))

    def _look_up(self, word: str) -> bool:
        """Learn a word that is in the vocabulary: it is one token. Nothing but its case is ever normalized."""
        if not (word.isascii() and word.isalpha()):
            return False
        number = self._vocabulary.get(word.lower() if self._is_lowercase else word)
        if number is not None:
            self._known[word] = _pack([number])
        return number is not None


def _pack(tokens: Sequence[int]) -> bytes:
    return array("i", tokens).tobytes()


def _split_words(text: str) -> list[str]:
    """What `_WORD` finds; for most texts in a third of the time."""
    return text.split() if text.isascii() and not _OTHER_SPACES.search(text) else _WORD.findall(text)


def make_word_tokenizer(tokenizer: Any) -> WordTokenizer | None:
    """A tokenizer that remembers words; None: this one depends on more than single words."""
    try:
        definition = msgspec.json.decode(tokenizer.to_str(), type=_Definition)
    except msgspec.DecodeError:
        return None
    if not definition.is_by_word or definition.truncation is None:
        return None
    bare, full = tokenizer.encode("a", add_special_tokens=False).ids, tokenizer.encode("a").ids
    starts = [start for start in range(len(full)) if full[start : start + len(bare)] == bare]
    if not bare or len(starts) != 1:
        return None
    before, after = full[: starts[0]], full[starts[0] + len(bare) :]
    made = WordTokenizer(tokenizer, definition, definition.truncation.max_length, before, after)
    expected = [encoding.ids for encoding in tokenizer.encode_batch_fast(list(_SAMPLE))]
    return made if [tokens.tolist() for tokens in made.tokenize(_SAMPLE)] == expected else None
