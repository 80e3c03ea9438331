"""Count terms with the compiled counter; see `terms`."""

from collections.abc import Sequence

from ._counter import TermCounter
from .analysis import analyze, open_term_cache
from .file_terms import FileTerms


class CompiledCounter:
    """Counts the terms of texts in one language. Its length is the number of words that it knows."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._counter = self._open()

    def _open(self) -> TermCounter:
        return TermCounter(open_term_cache(self._language).derive_part_terms)

    def __len__(self) -> int:
        return len(self._counter)

    def count(self, fields: Sequence[str]) -> FileTerms:
        """Count the terms of chunks, given by turns as the text of a chunk and its headings."""
        known = [field if field.isascii() else analyze(field, self._language) for field in fields]
        try:
            return FileTerms(*self._counter.count(known))
        except BaseException:  # such as a lack of memory, after which it may know words without their terms
            self._counter = self._open()
            raise
