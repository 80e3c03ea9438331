"""One visit per document: a worker that has made the result of an item goes on with the items of later stages.

In a run of several stages, the worker of an early stage has in memory what the worker of the next one would have to
read. So it calls that worker, too, and sends all results back at once. The result of the early stage is committed as
always. The others are *prepared*: they wait in a database in the staging folder until their own stage plans the same
item, with the same configuration and the same inputs. Then the driver takes the prepared result, and no worker is
called. Manifests, fingerprints, order and resume of each stage stay as they are.

Prepared results are a cache. They may be lost at any moment; their items are then processed as in a run of one stage.
An item whose worker fails has no prepared result: it fails in its own stage, with its attempts and its row.
"""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from inorder.engines.attempt import Skip
from inorder.engines.base import count_cpus
from inorder.engines.process.idle import IdleProcesses
from inorder.errors import OperatorError
from inorder.host.blas import has_one_blas_thread
from inorder.stage.context import StageLookahead
from inorder.stage.contracts import MakeItems, Stage, WorkItem
from inorder.stage.data_layout import DataLayout
from inorder.stage.fingerprints import combine_sha256
from inorder.stage.options import StageOptions
from inorder.stage.staged_results import decode_result, encode_result
from inorder.stage.worker import PreparedItem, StageResult, StageTask, StageWork

from .ahead import BackgroundImports, LoadedAhead, import_all
from .codec import decompress
from .inputs import StoredInput
from .lookup import BlockLookup
from .rows import encode_id

if TYPE_CHECKING:
    from inorder.engines.process.worker_process import ProcessLimits

_CONTENT_BYTES_MAX = 2**20
"""A longer document is visited by each stage on its own: with the time limit of that stage, and in parallel."""
_RESULT_BYTES, _BYTES_PER_BYTE = 1000, 2
"""Memory that a result takes: for its objects, and per byte of its encoding."""
_SCHEMA = """
PRAGMA journal_mode=OFF;
PRAGMA synchronous=OFF;
CREATE TABLE results (
    stage TEXT, item_id TEXT, cfg_hash TEXT, input_sha256 TEXT, result BLOB, PRIMARY KEY (stage, item_id)
) WITHOUT ROWID;
BEGIN;
"""


class Follower(NamedTuple):
    """A later stage of the same run."""

    work: StageWork
    make_items: MakeItems


class VisitWork:
    """Does the work of a stage, and that of its followers for the same document."""

    def __init__(self, work: StageWork, followers: Sequence[Follower]) -> None:
        self._work = work
        self._followers = followers

    def __repr__(self) -> str:
        return repr(self._work)

    @property
    def classify(self) -> Any:
        """The user's mapping of exceptions."""
        return self._work.classify

    @property
    def lookahead(self) -> StageLookahead | None:
        """What a worker process calls before a group of items of the stage; None: it has no groups."""
        return self._work.lookahead

    def __call__(self, task: StageTask) -> Any:
        """Run one item, and prepare the items that follow from it."""
        result = self._work(task)
        if task.skip or not isinstance(result, StageResult) or result.stored is None:
            return result
        if result.stored.size > _CONTENT_BYTES_MAX:
            return result
        return result._replace(prepared=list(self._follow(task.item, result)))

    def _follow(self, item: WorkItem, result: StageResult) -> Iterator[PreparedItem]:
        known: dict[str, StoredInput] = {}
        doc_id = item.item_id
        _add_result(self._work, doc_id, item, result, known)
        for work, make_items in self._followers:
            for following in make_items(doc_id, known):
                try:
                    made = work(StageTask(following))
                except Exception:
                    return  # its own stage fails it
                encoded = None if isinstance(made, Skip) else encode_result(made)
                if encoded is None:
                    return
                digest = _combine_inputs(following)
                yield PreparedItem(work.stage, following.item_id, following.cfg_hash, digest, encoded)
                _add_result(work, doc_id, following, made, known)


def _add_result(
    work: StageWork, doc_id: str, item: WorkItem, result: StageResult, known: dict[str, StoredInput]
) -> None:
    """Make a result an input of the items that follow. It is known by the path of its output without the document."""
    stored = result.stored
    if stored is None:
        return
    [path] = (os.fspath(each) for each in item.outputs.values())
    content = decompress(stored.codec, stored.content, stored.size)
    known[path.removesuffix(doc_id).rstrip("/")] = StoredInput(
        work.data, work.stage, item.item_id, path, stored.size, stored.sha256, content
    )


def _combine_inputs(item: WorkItem) -> str:
    """The hash of all inputs; empty: not all of them are stored results."""
    hashes = {name: each.sha256 for name, each in item.inputs.items() if isinstance(each, StoredInput)}
    return combine_sha256(hashes) if len(hashes) == len(item.inputs) else ""


class PreparedResults:
    """The prepared results of a run. Errors of the disk and the database count as a miss. Thread-safe.

    The database is created with the first result: a run that cannot use DATA fails in its first stage, with a message.
    """

    def __init__(self, data: str | os.PathLike[str]) -> None:
        self._path = f"{os.path.abspath(data)}/.staging/prepared.sqlite"
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._lookups: dict[tuple[str, type], BlockLookup[tuple[str, str]]] = {}
        """By stage and kind of id. Valid until results are added."""

    def add(self, prepared: Sequence[PreparedItem]) -> None:
        """Keep results until their stages ask for them."""
        rows = [
            (each.stage, encode_id(each.item_id), each.cfg_hash, each.input_sha256, each.result) for each in prepared
        ]
        with self._lock, contextlib.suppress(sqlite3.Error, OSError):
            if self._connection is None:
                self._connection = self._create()
            self._lookups.clear()
            self._connection.executemany("INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?)", rows)

    def has(self, stage: str, item: WorkItem) -> bool:
        """Whether there is a result of an item with this configuration and these inputs."""
        digest = _combine_inputs(item)
        if not digest:
            return False
        item_id = encode_id(item.item_id)
        key = stage, type(item_id)
        with self._lock, contextlib.suppress(sqlite3.Error):
            if key not in self._lookups:
                self._lookups[key] = BlockLookup(partial(self._fetch_keys, stage), lambda row: (row[1], row[2]))
            return self._lookups[key].get(item_id) == (item.cfg_hash, digest)
        return False

    def take(self, stage: str, item: WorkItem) -> tuple[StageResult, int] | None:
        """The result of an item, and about how much memory it takes; None: it was lost."""
        found = self._fetch("SELECT result FROM results WHERE stage = ? AND item_id = ?", stage, item)
        result = None if found is None else decode_result(found[0])
        return None if result is None else (result, _RESULT_BYTES + _BYTES_PER_BYTE * len(found[0]))

    def close(self) -> None:
        """Remove the database, also that of an interrupted run. Idempotent."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._remove_file()

    def _create(self) -> sqlite3.Connection:
        self._remove_file()
        connection = sqlite3.connect(self._path, check_same_thread=False, isolation_level=None)
        try:
            connection.executescript(_SCHEMA)
        except BaseException:
            connection.close()
            raise
        return connection

    def _fetch_keys(self, stage: str, item_id: str | bytes, count: int) -> list[Any]:
        if self._connection is None:
            return []
        query = (
            "SELECT item_id, cfg_hash, input_sha256 FROM results "
            f"WHERE stage = ? AND item_id >= ? ORDER BY item_id LIMIT {count}"
        )
        return self._connection.execute(query, (stage, item_id)).fetchall()

    def _fetch(self, query: str, stage: str, item: WorkItem) -> Any:
        with self._lock, contextlib.suppress(sqlite3.Error):
            if self._connection is not None:
                return self._connection.execute(query, (stage, encode_id(item.item_id))).fetchone()
        return None

    def _remove_file(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._path)


class StageGroup:
    """The stages of one run, in order, and what they prepare for each other. To be closed at the end of the run."""

    def __init__(self, data: str | os.PathLike[str], stages: Sequence[tuple[Stage, StageOptions]]) -> None:
        self._data = Path(os.path.abspath(data))
        self._stages = self._uncopied = stages
        self.prepared = PreparedResults(data)
        self.idle = IdleProcesses()
        """Worker processes of stages that have ended, and those that were started early."""
        self._started: set[str] = set()
        self._imports = BackgroundImports()
        self._has_few_items = False

    def copy_workers(self) -> None:
        """Copy this process for the workers of the first stage, if that has never run, so that there is work for all of
        them. To be called before anything is open, and before any thread is started."""
        stage, options = self._stages[0]
        if _has_processes(options) and not self._has_run(stage):
            for _ in range(options.workers or count_cpus()):
                self.idle.copy(_get_limits(options))

    def start_ahead(self, name: str, is_certain: Callable[[], bool], *, has_few_items: bool = False) -> None:
        """Start a process for a stage whose items are not known yet, unless there is one. It loads what these need.
        `is_certain` tells whether there will be items to process."""
        found = next((each for each in self._stages if each[0].name == name), None)
        if found is None or name in self._started or not _has_processes(found[1]):
            return
        self._started.add(name)
        self._copy_once(is_certain)
        stage, options = found
        work, followers = self._make_work(stage, options), self.find_followers(name)
        imports = [*stage.imports, *self._list_follow_imports([each.work.stage for each in followers])]
        if has_few_items and stage.update_imports is not None:
            imports = [*stage.update_imports]
        function = LoadedAhead(VisitWork(work, followers) if followers else work, imports)
        from inorder.engines.process.engine import pickle_function

        with contextlib.suppress(OperatorError):  # the engine of the stage reports it
            self.idle.start(pickle_function(function), _get_limits(options))

    def _copy_once(self, is_certain: Callable[[], bool]) -> None:
        """Copy this process for the stages that start one early, if they have run before: there may be little to do,
        and then the start of a process takes longer than that. This happens with the first change that is found, when
        nothing is open that is written. If there is work for certain, what the end of the run needs is imported before:
        copies need most of it, too."""
        stages, self._uncopied = self._uncopied, ()
        limits = []
        for stage, options in stages:
            if stage.imports and self._has_run(stage) and _has_processes(options):
                limits.append(_get_limits(options))
        if limits and has_one_blas_thread() and is_certain():  # with more threads, there could be no copies
            import_all(self._list_finish_imports())
        for each in limits:
            self.idle.copy(each)

    def _list_finish_imports(self) -> list[str]:
        return [module for stage, _ in self._stages for module in stage.finish_imports]

    def _has_run(self, stage: Stage) -> bool:
        return os.path.exists(DataLayout(os.fspath(self._data), stage.name).receipt)

    def _list_follow_imports(self, names: Sequence[str]) -> list[str]:
        return [module for stage, _ in self._stages if stage.name in names for module in stage.follow_imports]

    def start_next(self, name: str, *, has_few_items: bool) -> None:
        """Start a process for the stage after this one, if it has items that no earlier stage goes on with. A run with
        few items starts it when something has changed."""
        self._has_few_items = has_few_items
        names = [stage.name for stage, _ in self._stages]
        if not has_few_items:
            self._start_for(self._stages[names.index(name) + 1 :][:1])

    def add_prepared(self, prepared: Sequence[PreparedItem]) -> None:
        """Keep results of later stages. If these will have few items, they begin soon: start the processes that they
        need, and import what their ends need, while workers are busy."""
        self.prepared.add(prepared)
        if self._has_few_items:
            self._has_few_items = False
            self._start_for(self._stages, has_few_items=True)
            self._imports.start(self._list_finish_imports())

    def _start_for(self, stages: Sequence[tuple[Stage, StageOptions]], *, has_few_items: bool = False) -> None:
        for stage, _ in stages:
            if stage.follow is not None and stage.imports:
                self.start_ahead(stage.name, lambda: True, has_few_items=has_few_items)

    def find_followers(self, name: str) -> list[Follower]:
        """The stages that a worker of this stage can go on with: those that follow in the run without a gap, and run
        in local processes."""
        names = [stage.name for stage, _ in self._stages]
        first = names.index(name)
        found: list[Follower] = []
        for stage, options in self._stages[first:]:
            if not _has_processes(options):
                break
            if stage.name == name:
                continue
            make_items = None if stage.follow is None else stage.follow(self._data)
            if make_items is None:
                break
            found.append(Follower(self._make_work(stage, options), make_items))
        return found

    def close(self) -> None:
        """End the worker processes, and remove the prepared results."""
        self.idle.close()
        self._imports.join()
        self.prepared.close()

    def _make_work(self, stage: Stage, options: StageOptions) -> StageWork:
        return StageWork(
            stage.worker,
            stage.name,
            msgspec.structs.replace(options, data=self._data),
            f"{self._data}/.staging/{stage.name}",
            before_item=stage.hooks.before_item,
            worker_setup=stage.hooks.worker_setup,
            is_stored=stage.sinks is None,
        )


def _has_processes(options: StageOptions) -> bool:
    """Whether the workers of a stage are processes of this machine."""
    return options.policy == "cpu" and options.engine == "local"


def _get_limits(options: StageOptions) -> "ProcessLimits":
    from inorder.engines.process.worker_process import ProcessLimits

    return ProcessLimits(options.memory_bytes_max, options.recycle_resident_bytes)
