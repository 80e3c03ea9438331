"""The pass in which a model reads pages: what it is asked, and the files whose pages are answered.

    documents that lack answers ─▶ pages ─ rendered in processes ─▶ asked from threads ─▶ kept ─▶ file ─▶ visit

A page is asked, kept, repeated and given up by itself; `imap` runs the pages on threads of the driver, in order. An
answer is on disk before its thread asks for the next one. As soon as the last page of a file has come, the file is an
item of the pass: a worker reads the document again, now with its answers, and takes it through all further steps. The
state of a document says whether it lacks answers, so this pass remembers nothing.

A page is rendered when it is to be sent, in a process that is killed if it hangs: no PDF is opened in the driver.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from inorder.core.state import StopKind
from inorder.documents.convert.page_image import MEDIA_TYPE
from inorder.documents.convert.page_names import name_pages
from inorder.documents.convert.questions import list_asked, make_question
from inorder.documents.convert.rendering import PageImage, render_image
from inorder.documents.convert.stored import unpack_document
from inorder.documents.readers.passwords import read_passwords
from inorder.engines.base import count_cpus
from inorder.errors import InfrastructureError, ItemError, OperatorError, StageError
from inorder.executor import Executor
from inorder.iteration import imap
from inorder.library.reader import LibraryReader
from inorder.models.answers import AnswerStore
from inorder.models.budget import ModelBudget
from inorder.models.client import ModelClient
from inorder.models.question import Image, ModelInput, Question
from inorder.models.validation import make_page_check
from inorder.runtime.feed import Feed, NotYet
from inorder.runtime.identity import hash_strings
from inorder.runtime.run_options import RunOptions
from inorder.stage.contracts import Barrier, PassItem
from inorder.stage.monitor.measures import RETRIED_REQUESTS
from inorder.stage.options import StageOptions

from .names import DOCTAGS
from .outcome import ModelTotals
from .sources.classify import FileKind
from .steps import PipelineSettings
from .visit import FILE, decode_order, encode_order

_AHEAD_MAX = 256
"""Files that wait for a worker. With more, no further page is asked."""
_RENDER_S = 60.0
_RENDER_ATTEMPTS = 2
_SUMS = ("requests", "not_accepted", "tokens_in", "tokens_out", "cost")
"""Counts of the client in the metrics."""


def open_model(settings: PipelineSettings, store: AnswerStore) -> ModelClient:
    """Return the model that reads pages."""
    return ModelClient(
        settings.convert.model,
        store,
        limits=settings.model,
        budget=ModelBudget(settings.spending),
        key_file=settings.find_key_file(),
    )


class AskedFile:
    """A file some of whose pages lack an answer."""

    def __init__(self, item: PassItem, pages: dict[int, str]) -> None:
        """`pages` lack an answer; each has the text that the rules have read."""
        self.item = item
        self.pages = pages
        self.waiting = 0
        """Pages that were given out and have not come back."""
        self.is_listed = False
        """Whether all of its pages were given out, as far as they are to be asked."""
        self.has_answers = False
        self.problems: dict[int, str] = {}

    def make_item(self) -> PassItem:
        """Return the item whose worker reads the document with its answers."""
        order = msgspec.structs.replace(decode_order(self.item), page_problems=self.problems)
        said = (f"{page}={problem}" for page, problem in self.problems.items())
        identity = hash_strings(self.item.identity, name_pages(self.pages), *said)
        return msgspec.structs.replace(self.item, meta={"order": encode_order(order)}, identity=identity)


class AskedPage(NamedTuple):
    """A page that is asked about."""

    file: AskedFile
    number: int
    question: Question

    def __repr__(self) -> str:
        return f"{self.file.item.item_id}, page {self.number}"


class PageFeed:
    """The items of the pass: files, in the order of the plan, each when its pages have come."""

    def __init__(
        self,
        settings: PipelineSettings,
        items: Iterable[PassItem | Barrier | NotYet],
        library: LibraryReader,
        options: StageOptions,
        totals: ModelTotals,
        on_stop: Callable[[], None],
    ) -> None:
        """`items` are those of the plan. `totals` counts what is done. `on_stop` is called before the
        end if some pages were not asked for another reason than `pages_max`."""
        self._settings = settings
        self._convert = settings.convert
        self._items = items
        self._library = library
        self._options = options
        self._totals = totals
        self._on_stop = on_stop
        self._left = settings.pages_max
        self._feed = Feed(self._let_go_on)
        self._hungry = threading.Event()
        self._is_closed = False
        self.stop: tuple[str, str] | None = None
        """Why no further page was asked: the kind and the reason, as those of a run; None: all were."""
        self._open: deque[AskedFile] = deque()
        """Files that are no items yet, in the order of the plan."""
        self._wake: Callable[[], None] = lambda: None
        self._thread: threading.Thread | None = None
        self._store = AnswerStore(settings.find_answers_file(str(options.data)))
        self._client = open_model(settings, self._store)
        self._renderers = Executor(workers=count_cpus(), timeout_s=_RENDER_S, retries=_RENDER_ATTEMPTS - 1)
        self._passwords = read_passwords(settings.password_file)

    def __iter__(self) -> Feed:
        return self._feed

    def begin(self, wake: Callable[[], None]) -> None:
        """Begin to ask. `wake` is called whenever there is another item."""
        self._wake = wake
        self._thread = threading.Thread(target=self._run, name="inorder-pages", daemon=True)
        self._thread.start()

    def describe(self) -> tuple[str, Mapping[str, float]]:
        """Return what was asked so far: words for the progress, and sums for the metrics."""
        totals, statistics = self._totals, self._client.statistics()
        sums: dict[str, float] = {f"model_{name}": getattr(totals, name) for name in ("asked", "kept", "failed")}
        sums |= {f"model_{name}": getattr(statistics, name) for name in _SUMS}
        sums |= {f"model_waited_{reason}_s": round(s, 3) for reason, s in statistics.waited_s.items()}
        sums[RETRIED_REQUESTS] = statistics.retried
        words = f"{totals.asked:,} pages asked, {statistics.tokens_in + statistics.tokens_out:,} tokens"
        words += f", {statistics.cost:,.2f}" if statistics.cost else ""
        if statistics.outage:
            since = time.localtime(time.time() - statistics.down_s)
            words += f"; waiting since {time.strftime('%H:%M:%S', since)}, the server is down: {statistics.outage}"
        return words, sums

    def close(self) -> None:
        """Ask no further page, wait for those in flight, and close what is open."""
        self._is_closed = True
        self._hungry.set()
        if self._thread is not None:
            self._thread.join(self._options.cancel_grace_s)
            self._client.close()
            self._thread.join()
        self._renderers.shutdown(cancel_futures=True)
        self._client.close()
        self._store.close()

    # ---- On the thread of the feed

    def _run(self) -> None:
        problem: BaseException | None = None
        try:
            self._ask_all()
            self._put_rest()
        except InfrastructureError as error:  # the server is down: what was answered is read, and the run stops
            self.stop = StopKind.INFRASTRUCTURE.value, str(error)
            self._put_rest()
        except BaseException as error:
            problem = error
        if self.stop is not None:
            self._on_stop()
        self._feed.end(problem)
        self._wake()

    def _ask_all(self) -> None:
        asked: deque[AskedPage] = deque()
        threads = self._settings.model.in_flight + count_cpus()
        options = RunOptions(outage_s_max=self._options.outage_s_max, cancel_grace_s=self._options.cancel_grace_s)
        pages = self._list_pages(asked)
        with imap(self._ask, pages, workers=threads, where="threads", errors="yield", options=options) as answers:
            for answer in answers:
                self._settle(asked.popleft(), answer)
                if self._is_closed:
                    return

    def _list_pages(self, asked: deque[AskedPage]) -> Iterator[AskedPage]:
        """Yield the pages to ask about. Each is added to `asked` first."""
        for item in self._items:
            if not isinstance(item, PassItem):
                continue
            file = self._open_file(item)
            self._open.append(file)
            for number, question in self._list_questions(file):
                if self._is_over:
                    self._totals.waiting += 1
                    continue
                self._left = None if self._left is None else self._left - 1
                file.waiting += 1
                asked.append(AskedPage(file, number, question))
                yield asked[-1]
            file.is_listed = True
            self._put_ready()
            if self._is_closed:
                return

    @property
    def _is_over(self) -> bool:
        """Whether no further page is to be asked."""
        return self._is_closed or self.stop is not None or self._left == 0

    def _open_file(self, item: PassItem) -> AskedFile:
        found = self._library.read_committed(item.item_id, DOCTAGS)
        document = None if found is None else unpack_document(found.content).document
        return AskedFile(item, {} if document is None else list_asked(document))

    def _list_questions(self, file: AskedFile) -> Iterator[tuple[int, Question]]:
        """Yield the pages of a file that have no answer yet."""
        sha256 = decode_order(file.item).facts.sha256
        questions = {number: make_question(self._convert, sha256, number) for number in file.pages}
        kept = self._store.find([question.key for question in questions.values()])
        file.has_answers = bool(kept)
        self._totals.kept += len(kept)
        yield from ((number, each) for number, each in questions.items() if each.key not in kept)

    def _settle(self, page: AskedPage, answer: bool | ItemError) -> None:
        """Note that a page has come, or why it has not."""
        page.file.waiting -= 1
        self._count(answer)
        if not isinstance(answer, ItemError):
            page.file.has_answers |= answer
        elif isinstance(answer.__cause__, OperatorError):
            raise answer.__cause__
        else:
            page.file.problems[page.number] = answer.message
        self._put_ready()

    def _count(self, answer: bool | ItemError) -> None:
        totals, statistics = self._totals, self._client.statistics()
        totals.asked += answer is True
        totals.waiting += answer is False
        totals.failed += isinstance(answer, ItemError)
        totals.requests, totals.retried, totals.cost = statistics.requests, statistics.retried, statistics.cost
        totals.tokens_in, totals.tokens_out = statistics.tokens_in, statistics.tokens_out
        totals.waited_s = statistics.waited_s

    def _put_ready(self) -> None:
        """Make items of the first files, as far as all of their pages have come."""
        while self._open and self._open[0].is_listed and not self._open[0].waiting:
            self._put(self._open.popleft())
        while len(self._feed) > _AHEAD_MAX and not self._is_closed:
            self._hungry.clear()
            self._hungry.wait(1.0)

    def _put_rest(self) -> None:
        """Make items of files some of whose pages have come, when no further page is asked."""
        while self._open:
            self._put(self._open.popleft())

    def _put(self, file: AskedFile) -> None:
        if file.has_answers or file.problems:
            self._feed.put(file.make_item())
            self._wake()

    def _let_go_on(self) -> None:
        self._hungry.set()

    # ---- On threads that ask

    def _ask(self, page: AskedPage) -> bool:
        """Return whether a page was answered. It is not if a limit of the run is reached."""
        try:
            native = page.file.pages[page.number]
            self._client.ask(page.question, lambda: self._render(page), make_page_check(native))
        except StageError as error:
            if not error.budget:
                raise
            self.stop = StopKind.BUDGET.value, error.budget
            return False
        return True

    def _render(self, page: AskedPage) -> ModelInput:
        order = decode_order(page.file.item)
        image = PageImage(
            page.file.item.inputs[FILE],
            order.facts.sha256,
            FileKind.parse(order.facts.kind).kind,
            page.number,
            self._convert.page_pixels,
            self._passwords,
            self._settings.limit_fetches(),
        )
        return ModelInput(images=(Image(self._renderers.submit(render_image, image).result(), MEDIA_TYPE),))
