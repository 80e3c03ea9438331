"""One visit per document: a worker that has made the result of an item goes on with the items of later stages.

In a run of several stages, the worker of an early stage has in memory what the worker of the next one would have to
read. So it calls that worker, too, and sends all results back at once. The result of the early stage is committed as
always. The others are *prepared*: they are kept in memory, or in a database if they are many, until their own stage
plans the same item, with the same configuration and the same inputs. Then the driver takes the prepared result, and no
worker is called. Manifests, fingerprints, order and resume of each stage stay as they are.

Prepared results are a cache. They may be lost at any moment; their items are then processed as in a run of one stage.
An item whose worker fails has no prepared result: it fails in its own stage, with its attempts and its row.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from inorder.engines.attempt import Skip
from inorder.engines.base import count_cpus
from inorder.engines.process.idle import IdleProcesses
from inorder.errors import OperatorError
from inorder.host.blas import has_one_blas_thread
from inorder.host.memory import keep_loaded, pause_collector
from inorder.host.zstd import load_zstd
from inorder.stage.context import StageLookahead
from inorder.stage.contracts import MakeItems, Stage, WorkItem
from inorder.stage.data_layout import DataLayout
from inorder.stage.options import StageOptions
from inorder.stage.staged_results import encode_result
from inorder.stage.worker import PreparedItem, StageResult, StageTask, StageWork

from .ahead import BackgroundImports, LoadedAhead, import_all
from .codec import decompress
from .inputs import StoredInput
from .prepared import PreparedResults, combine_inputs

if TYPE_CHECKING:
    from inorder.engines.process.worker_process import ProcessLimits

_CONTENT_BYTES_MAX = 2**20
"""A longer document is visited by each stage on its own: with the time limit of that stage, and in parallel."""
_SECOND_AFTER = 10
"""A stage whose work is announced this often, once per file or folder that has changed, gets a second process."""


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
                digest = combine_inputs(following)
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


class StageGroup:
    """The stages of one run, in order, and what they prepare for each other. To be closed at the end of the run."""

    def __init__(self, data: str | os.PathLike[str], stages: Sequence[tuple[Stage, StageOptions]]) -> None:
        self._data = Path(os.path.abspath(data))
        self._stages = self._uncopied = stages
        self.prepared = PreparedResults(data)
        self.idle = IdleProcesses()
        """Worker processes of stages that have ended, and those that were started early."""
        self._started: dict[str, _StartedAhead] = {}
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
        `is_certain` tells whether there will be items to process. If it is called often, there is a second process."""
        if (started := self._started.get(name)) is not None:
            self._start_second(started)
            return
        found = next((each for each in self._stages if each[0].name == name), None)
        if found is None or not _has_processes(found[1]):
            return
        stage, options = found
        self._started[name] = started = _StartedAhead(options)
        self._copy_once(is_certain)
        work, followers = self._make_work(stage, options), self.find_followers(name)
        imports = [*stage.imports, *self._list_follow_imports([each.work.stage for each in followers])]
        if has_few_items and stage.update_imports is not None:
            imports = [*stage.update_imports]
        function = LoadedAhead(VisitWork(work, followers) if followers else work, imports)
        from inorder.engines.process.engine import pickle_function

        with contextlib.suppress(OperatorError):  # the engine of the stage reports it
            started.function_pickle = pickle_function(function)
            self.idle.start(started.function_pickle, _get_limits(options))
            started.count = 1

    def _start_second(self, started: "_StartedAhead") -> None:
        """Start a second process for a stage if there seems to be work for it, and this process can be copied."""
        started.announced += 1
        options = started.options
        if started.announced != _SECOND_AFTER or started.count != 1 or (options.workers or count_cpus()) < 2:
            return
        if self.idle.copy(_get_limits(options)):
            self.idle.start(started.function_pickle, _get_limits(options))
            started.count = 2

    def count_ready(self, name: str) -> int:
        """How many processes were started for a stage before its items were known."""
        return self._started[name].count if name in self._started else 0

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
            with pause_collector():
                import_all(self._list_finish_imports())
                load_zstd()
                keep_loaded()
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

    def end_items(self, name: str) -> None:
        """Every item of a stage is committed. After the last stage, no process is needed: they end while the stage
        finishes."""
        if name == self._stages[-1][0].name:
            self.idle.kill()

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


class _StartedAhead:
    """A stage for which processes were started early."""

    def __init__(self, options: StageOptions) -> None:
        self.options = options
        self.function_pickle = b""
        self.count = 0
        """Its processes."""
        self.announced = 1
        """How often its work was announced."""


def _has_processes(options: StageOptions) -> bool:
    """Whether the workers of a stage are processes of this machine."""
    return options.policy == "cpu" and options.engine == "local"


def _get_limits(options: StageOptions) -> "ProcessLimits":
    from inorder.engines.process.worker_process import ProcessLimits

    return ProcessLimits(options.memory_bytes_max, options.recycle_resident_bytes)
