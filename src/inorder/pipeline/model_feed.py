"""A pass in which a model is asked: what it is asked, and the files whose questions are answered.

    files that lack answers ─▶ units ─ asked from threads ─▶ kept ─▶ file ─▶ visit

A unit, such as a page, is asked, kept, repeated and given up by itself; `imap` runs the units on threads of the driver,
in order. An answer is on disk before its thread asks for the next one. As soon as the last unit of a file has come, the
file is an item of the pass: a worker runs the step of the pass, now with the answers, and takes the file through all
further steps. The state of that step says whether it lacks answers, so this pass remembers nothing.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from inorder.core.state import StopKind
from inorder.documents.convert.page_names import name_pages
from inorder.documents.convert.page_units import PageUnits
from inorder.documents.extract.units import ExtractUnits
from inorder.documents.model_units import ModelUnit, ModelUnits, UnitFile
from inorder.documents.readers.passwords import read_passwords
from inorder.engines.base import count_cpus
from inorder.errors import InfrastructureError, ItemError, OperatorError, StageError
from inorder.executor import Executor
from inorder.iteration import imap
from inorder.library.reader import LibraryReader
from inorder.library.values import unpack_chunk_rows
from inorder.models.answers import AnswerStore
from inorder.models.budget import ModelBudget
from inorder.models.client import ModelClient
from inorder.runtime.feed import Feed, NotYet
from inorder.runtime.identity import hash_strings
from inorder.runtime.run_options import RunOptions
from inorder.stage.contracts import Barrier, PassItem
from inorder.stage.monitor.measures import RETRIED_REQUESTS
from inorder.stage.options import StageOptions

from .outcome import ModelTotals
from .sources.classify import FileKind
from .steps import PipelineSettings
from .visit import FILE, decode_order, encode_order

_AHEAD_MAX = 256
"""Files that wait for a worker. With more, nothing further is asked."""
_RENDER_S = 60.0
_RENDER_ATTEMPTS = 2
_SUMS = ("requests", "not_accepted", "tokens_in", "tokens_out", "cost")
"""Counts of the client in the metrics."""


def open_units(settings: PipelineSettings) -> ModelUnits:
    """Return what the model of a pass is asked about: parts of texts, or pages with the processes that render them."""
    if settings.asks == settings.extract.step:
        return ExtractUnits(settings.extract, unpack_chunk_rows)
    renderers = Executor(workers=count_cpus(), timeout_s=_RENDER_S, retries=_RENDER_ATTEMPTS - 1)
    passwords = read_passwords(settings.password_file)
    return PageUnits(settings.convert, passwords, settings.limit_fetches(), renderers, settings.pages_max)


class AskedFile:
    """A file some of whose units lack an answer."""

    def __init__(self, item: PassItem, units: Sequence[ModelUnit]) -> None:
        self.item = item
        self.units = [unit.number for unit in units]
        self.waiting = 0
        """ModelUnits that were given out and have not come back."""
        self.is_listed = False
        """Whether all of its units were given out, as far as they are to be asked."""
        self.has_answers = False
        self.problems: dict[int, str] = {}

    def make_item(self) -> PassItem:
        """Return the item whose worker runs the step with its answers."""
        order = msgspec.structs.replace(decode_order(self.item), problems=self.problems)
        said = (f"{number}={problem}" for number, problem in self.problems.items())
        identity = hash_strings(self.item.identity, name_pages(self.units), *said)
        return msgspec.structs.replace(self.item, meta={"order": encode_order(order)}, identity=identity)


class AskedUnit(NamedTuple):
    """A unit that is asked about."""

    file: AskedFile
    unit: ModelUnit
    noun: str

    def __repr__(self) -> str:
        return f"{self.file.item.item_id}, {self.noun} {self.unit.number}"


class ModelFeed:
    """The items of the pass: files, in the order of the plan, each when its units have come."""

    def __init__(
        self,
        settings: PipelineSettings,
        units: ModelUnits,
        items: Iterable[PassItem | Barrier | NotYet],
        library: LibraryReader,
        options: StageOptions,
        totals: ModelTotals,
        budget: ModelBudget,
        on_stop: Callable[[], None],
    ) -> None:
        """`items` are those of the plan. `totals` counts what is done, and `budget` what is spent. `on_stop` is called
        before the end if some units were not asked for another reason than the most that a run asks about."""
        self._settings = settings
        self._units = units
        self._items = items
        self._library = library
        self._options = options
        self._totals = totals
        self._on_stop = on_stop
        self._left = units.units_max
        self._feed = Feed(self._let_go_on)
        self._hungry = threading.Event()
        self._is_closed = False
        self.stop: tuple[str, str] | None = None
        """Why nothing further was asked: the kind and the reason, as those of a run; None: all were."""
        self._open: deque[AskedFile] = deque()
        """Files that are no items yet, in the order of the plan."""
        self._wake: Callable[[], None] = lambda: None
        self._thread: threading.Thread | None = None
        self._store = AnswerStore(settings.find_answers_file(str(options.data)))
        self._client = ModelClient(
            units.model, self._store, limits=settings.model, budget=budget, key_file=settings.find_key_file()
        )

    def __iter__(self) -> Feed:
        return self._feed

    def begin(self, wake: Callable[[], None]) -> None:
        """Begin to ask. `wake` is called whenever there is another item."""
        self._wake = wake
        self._thread = threading.Thread(target=self._run, name="inorder-model", daemon=True)
        self._thread.start()

    def describe(self) -> tuple[str, Mapping[str, float]]:
        """Return what was asked so far: words for the progress, and sums for the metrics."""
        totals, statistics = self._totals, self._client.statistics()
        sums: dict[str, float] = {f"model_{name}": getattr(totals, name) for name in ("asked", "kept", "failed")}
        sums |= {f"model_{name}": getattr(statistics, name) for name in _SUMS}
        sums |= {f"model_waited_{reason}_s": round(s, 3) for reason, s in statistics.waited_s.items()}
        sums[RETRIED_REQUESTS] = statistics.retried
        words = f"{totals.asked:,} {self._units.noun}s asked, {statistics.tokens_in + statistics.tokens_out:,} tokens"
        words += f", {statistics.cost:,.2f}" if statistics.cost else ""
        if statistics.outage:
            since = time.localtime(time.time() - statistics.down_s)
            words += f"; waiting since {time.strftime('%H:%M:%S', since)}, the server is down: {statistics.outage}"
        return words, sums

    def close(self) -> None:
        """Ask nothing further, wait for what is in flight, and close what is open."""
        self._is_closed = True
        self._hungry.set()
        if self._thread is not None:
            self._thread.join(self._options.cancel_grace_s)
            self._client.close()
            self._thread.join()
        self._units.close()
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
        asked: deque[AskedUnit] = deque()
        threads = self._settings.model.in_flight + count_cpus()
        options = RunOptions(outage_s_max=self._options.outage_s_max, cancel_grace_s=self._options.cancel_grace_s)
        units = self._list_asked(asked)
        with imap(self._ask, units, workers=threads, where="threads", errors="yield", options=options) as answers:
            for answer in answers:
                self._settle(asked.popleft(), answer)
                if self._is_closed:
                    return

    def _list_asked(self, asked: deque[AskedUnit]) -> Iterator[AskedUnit]:
        """Yield what to ask. Each unit is added to `asked` first."""
        for item in self._items:
            if not isinstance(item, PassItem):
                continue
            units = self._units.list_units(self._describe_file(item))
            file = AskedFile(item, units)
            self._open.append(file)
            for unit in self._select(file, units):
                if self._is_over:
                    self._totals.waiting += 1
                    continue
                self._left = None if self._left is None else self._left - 1
                file.waiting += 1
                asked.append(AskedUnit(file, unit, self._units.noun))
                yield asked[-1]
            file.is_listed = True
            self._put_ready()
            if self._is_closed:
                return

    @property
    def _is_over(self) -> bool:
        """Whether nothing further is to be asked."""
        return self._is_closed or self.stop is not None or self._left == 0

    def _describe_file(self, item: PassItem) -> UnitFile:
        facts = decode_order(item).facts
        read = partial(self._read_result, item.item_id)
        return UnitFile(item.item_id, FileKind.parse(facts.kind).kind, facts.sha256, item.inputs.get(FILE), read)

    def _read_result(self, item_id: str, step: str) -> tuple[bytes, Sequence[str]] | None:
        found = self._library.read_committed(item_id, step)
        return None if found is None else (found.content, found.texts)

    def _select(self, file: AskedFile, units: Sequence[ModelUnit]) -> Iterator[ModelUnit]:
        """Yield the units of a file that have no answer yet."""
        keys = [unit.question.key for unit in units]
        kept = self._store.find(keys)
        file.has_answers = bool(kept)
        self._totals.kept += sum(key in kept for key in keys)
        yield from (unit for unit, key in zip(units, keys, strict=True) if key not in kept)

    def _settle(self, asked: AskedUnit, answer: bool | ItemError) -> None:
        """Note that a unit has come, or why it has not."""
        asked.file.waiting -= 1
        self._count(answer)
        if not isinstance(answer, ItemError):
            asked.file.has_answers |= answer
        elif isinstance(answer.__cause__, OperatorError):
            raise answer.__cause__
        else:
            asked.file.problems[asked.unit.number] = answer.message
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
        """Make items of the first files, as far as all of their units have come."""
        while self._open and self._open[0].is_listed and not self._open[0].waiting:
            self._put(self._open.popleft())
        while len(self._feed) > _AHEAD_MAX and not self._is_closed:
            self._hungry.clear()
            self._hungry.wait(1.0)

    def _put_rest(self) -> None:
        """Make items of files some of whose units have come, when nothing further is asked."""
        while self._open:
            self._put(self._open.popleft())

    def _put(self, file: AskedFile) -> None:
        if file.has_answers or file.problems:
            self._feed.put(file.make_item())
            self._wake()

    def _let_go_on(self) -> None:
        self._hungry.set()

    # ---- On threads that ask

    def _ask(self, asked: AskedUnit) -> bool:
        """Return whether a unit was answered. It is not if a limit of the run is reached."""
        unit = asked.unit
        try:
            self._client.ask(unit.question, unit.make_input, unit.check)
        except StageError as error:
            if not error.budget:
                raise
            self.stop = StopKind.BUDGET.value, error.budget
            return False
        return True
