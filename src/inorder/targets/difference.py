"""The plan of an export: the difference between an index and what a target holds.

Both are listed in the order of the ids, a page at a time, and merged. So the memory that this takes does not depend on
their size. An interrupted export is not resumed: the next one finds in the target what the first one has written, and
its plan has the rest.
"""

from collections.abc import Callable, Iterator, Sequence

from .base import ListedDocument

PAGE = 2000
ListPage = Callable[[str, int], Sequence[ListedDocument]]
"""Returns the first documents after an id, at most as many as asked for."""


class DocumentChange(ListedDocument):
    """A document to write or to remove."""

    @property
    def is_removal(self) -> bool:
        """Whether the index no longer has it."""
        return not self.hash


def list_all(list_page: ListPage, count: int = PAGE) -> Iterator[ListedDocument]:
    """All documents, a page at a time."""
    after = ""
    while page := list_page(after, count):
        yield from page
        after = page[-1].doc_id


def compare(index: Iterator[ListedDocument], target: Iterator[ListedDocument]) -> Iterator[DocumentChange]:
    """What to do so that the target equals the index, in the order of the ids."""
    held = next(target, None)
    for document in index:
        while held is not None and held.doc_id < document.doc_id:
            yield DocumentChange(held.doc_id, "")
            held = next(target, None)
        if held is not None and held.doc_id == document.doc_id:
            is_same = held.hash == document.hash
            held = next(target, None)
            if is_same:
                continue
        yield DocumentChange(*document)
    while held is not None:
        yield DocumentChange(held.doc_id, "")
        held = next(target, None)
