"""The answers of a model about the pages of a document: what is asked about a page, and what was answered.

A reader does not ask. It looks up what was answered, and says of each page that is one for the model how it was read.
So reading a document is a function of its bytes and of the answers that are there, whoever asks and whenever.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from inorder.documents.model import AnyBlock, PageReading

from .prompt import EMPTY, Pages

_BATCH = 100
"""Pages that are looked up at once."""


class PageDoubt(NamedTuple):
    """What is known of a page that may be one for the model."""

    number: int
    doubt: str
    """Why the native reader doubts what it has read; empty: it does not."""
    is_renderable: bool = True


class PageAnswer(NamedTuple):
    """A page that is one for the model."""

    reading: PageReading
    blocks: list[AnyBlock] | None
    """What the model has read; None: the page has those of the native reader."""
    warnings: list[str]


class PageSource(Protocol):
    """Knows what was answered about the pages of one document."""

    def read(self, page: PageDoubt) -> PageAnswer | None:
        """Return how a page was read; None: it is not one for the model."""
        ...


class PageAnswers:
    """The answers about the pages of one document, which are looked up some at a time."""

    def __init__(
        self,
        model: str,
        pages: Pages,
        find: Callable[[Sequence[int]], Mapping[int, str]],
        problems: Mapping[int, str] | None = None,
    ) -> None:
        """`find` returns the answers about pages, as far as there are any. `problems` says why there is none."""
        self._model = model
        self._pages = pages
        self._find = find
        self._problems = problems or {}
        self._found: dict[int, str] = {}
        self._looked_up: range = range(0)

    def read(self, page: PageDoubt) -> PageAnswer | None:
        """Return how a page was read; None: it is not one for the model."""
        if not page.is_renderable or not (page.doubt or self._pages == "all"):
            return None
        answer = self._look_up(page.number)
        if answer is None:
            problem = self._problems.get(page.number, "")
            warning = f"page {page.number} was not read by the model: {problem}"
            return PageAnswer(PageReading("", page.doubt, problem), None, [warning] if problem else [])
        from .blocks import read_page_text  # with the parser of Markdown

        warnings: list[str] = []
        is_empty = answer.strip().lower().rstrip(".") == EMPTY
        blocks = [] if is_empty else read_page_text(answer, page.number, warnings)
        return PageAnswer(PageReading(self._model, page.doubt), blocks, [f"page {page.number}: {w}" for w in warnings])

    def _look_up(self, number: int) -> str | None:
        if number not in self._looked_up:
            self._looked_up = range(number, number + _BATCH)
            self._found = dict(self._find(self._looked_up))
        return self._found.get(number)
