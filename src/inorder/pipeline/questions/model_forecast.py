"""How many pages a run would ask a model about, and what that costs.

Pages of documents that the library has are known. The others are read here, in processes, as the run would read them:
that takes a hundredth of the time of a model, and nothing else says which pages the rules doubt.
"""

from collections import deque
from collections.abc import Callable, Iterable
from os.path import exists

import msgspec

from inorder.documents.convert.questions import PIXELS, count_kept, list_asked
from inorder.documents.convert.rendering import AskedDocument, find_asked_pages
from inorder.documents.convert.settings import MODEL_KINDS
from inorder.documents.convert.stored import unpack_document
from inorder.documents.readers.passwords import read_passwords
from inorder.engines.base import count_cpus
from inorder.errors import InorderError
from inorder.executor import Executor
from inorder.library.reader import LibraryReader
from inorder.models.ledger import Selection, list_questions
from inorder.pipeline.names import DOCTAGS
from inorder.pipeline.sources.classify import FileKind
from inorder.pipeline.steps import PipelineSettings
from inorder.pipeline.visit import FILE, decode_order
from inorder.stage.contracts import Barrier, PassItem

_TOKENS_IN, _TOKENS_OUT = 1800, 700
"""What a page is expected to use before a server has counted one."""
_AHEAD = 8
_READ_S = 300.0


class ModelForecast(msgspec.Struct, kw_only=True):
    """What a model would be asked."""

    pages: int = 0
    """Pages, or other parts of documents, without an answer."""
    kept: int = 0
    """Those whose answers are kept."""
    unknown: int = 0
    """Documents that could not be looked at: they cannot be read, or are not on this machine."""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None
    """At the prices of the user; None: there are none."""
    noun: str = "page"

    def describe(self) -> str:
        """Return the forecast in one line."""
        cost = "" if self.cost is None else f", {self.cost:,.2f} at the prices in inorder.toml"
        kept = f"; {self.kept:,} more have kept answers" if self.kept else ""
        unknown = f"; {self.unknown:,} documents could not be looked at" if self.unknown else ""
        tokens = (
            f", about {_round(self.tokens_in)} tokens in, {_round(self.tokens_out)} out{cost}" if self.pages else ""
        )
        most = "at most " if self.pages else ""  # a page that another document has, too, is asked once
        return f"{most}{self.pages:,} {self.noun}{'' if self.pages == 1 else 's'} to ask{tokens}{kept}{unknown}"


class ModelPages:
    """Counts pages for the model. To be closed."""

    def __init__(self, settings: PipelineSettings, data: str, library: LibraryReader | None) -> None:
        self._settings = settings
        self._path = settings.find_answers_file(data)
        self._library = library
        self._passwords = read_passwords(settings.password_file)
        self._readers = Executor(workers=count_cpus(), timeout_s=_READ_S)
        self._running: deque[Callable[[], tuple[bytes, list[int]]]] = deque()
        """What waits for the pages of each document that is being read."""
        self._found = ModelForecast()

    def close(self) -> None:
        """End the processes."""
        self._readers.shutdown(cancel_futures=True)

    def look_at(self, item: PassItem | Barrier) -> None:
        """Count the pages of a document that a run would read."""
        if not isinstance(item, PassItem):
            return
        order = decode_order(item)
        kind = FileKind.parse(order.facts.kind).kind
        if order.is_part or order.problem or order.steps[0].name != DOCTAGS or kind not in MODEL_KINDS:
            return
        settings = self._settings
        found = AskedDocument(item.inputs[FILE], kind, settings.convert, self._passwords, settings.limit_fetches())
        self._running.append(self._readers.submit(find_asked_pages, found).result)
        if len(self._running) >= _AHEAD:
            self._take()

    def forecast(self, asked: Iterable[PassItem | Barrier]) -> ModelForecast:
        """Return what a model would be asked about what was looked at, and about documents that lack answers."""
        found, settings = self._found, self._settings
        while self._running:
            self._take()
        for item in asked:
            self._look_up(item)
        if settings.pages_max is not None:
            found.pages = min(found.pages, settings.pages_max)
        found.tokens_in, found.tokens_out = (round(found.pages * each) for each in self._measure_usage())
        if settings.spending.has_prices:
            found.cost = settings.spending.cost(found.tokens_in, found.tokens_out)
        return found

    def _measure_usage(self) -> tuple[float, float]:
        """The tokens that a page takes, in and out: as the answers say that are kept."""
        known = list_questions(self._path, Selection(model=self._settings.convert.model)) if exists(self._path) else []
        pages = [each for each in known if PIXELS in each.parameters]
        count = sum(each.answers for each in pages)
        if not count:
            return _TOKENS_IN, _TOKENS_OUT
        return sum(each.tokens_in for each in pages) / count, sum(each.tokens_out for each in pages) / count

    def _look_up(self, item: PassItem | Barrier) -> None:
        """Count the pages of a document that the library has."""
        if not isinstance(item, PassItem) or self._library is None:
            return
        found = self._library.read_committed(item.item_id, DOCTAGS)
        document = None if found is None else unpack_document(found.content).document
        if document is not None:
            self._add(decode_order(item).facts.sha256, list(list_asked(document)))

    def _take(self) -> None:
        try:
            self._add(*self._running.popleft()())
        except (InorderError, OSError):
            self._found.unknown += 1

    def _add(self, sha256: bytes, pages: list[int]) -> None:
        kept = count_kept(self._settings.convert, sha256, pages, self._path)
        self._found.pages += len(pages) - kept
        self._found.kept += kept


def _round(count: int) -> str:
    """Return a number of tokens that is an estimate."""
    return f"{count / 1_000_000:.1f} M" if count >= 100_000 else f"{round(count, -2 if count >= 1000 else 0):,}"
