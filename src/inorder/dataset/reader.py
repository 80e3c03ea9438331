"""DATA, opened for as long as one reader needs it."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cached_property

from inorder.library.snapshots import GenerationReader

from .results import LibraryResults, ResultFormat
from .terms import TermReader


@contextmanager
def open_data(data: str) -> Iterator["DataReader"]:
    """Open DATA as it is now. Between two reads nothing is locked, so a run can write at any time. Raises as
    `connect_library` does."""
    with closing(DataReader(data)) as reader:
        yield reader


class DataReader:
    """DATA, for as long as one reader needs it: all results are of one generation."""

    def __init__(self, data: str) -> None:
        self.data = data
        """The absolute path of DATA."""
        self._generation = GenerationReader(data)
        self.list_copies = self._generation.list_copies
        self.find_original = self._generation.find_original

    @cached_property
    def terms(self) -> TermReader:
        """The terms of the index, of which there may be none."""
        return TermReader(self.data, self._generation)

    def open(self, format_: ResultFormat, results: type[LibraryResults] = LibraryResults) -> LibraryResults:
        """The results of one kind, of which there may be none."""
        return results(self._generation, format_)

    def close(self) -> None:
        """Close everything. Idempotent."""
        if "terms" in self.__dict__:
            self.terms.close()
        self._generation.close()
