"""Stages that others have written: `package.module:name`, and the plans they make.

What goes wrong in code that is not ours is told in one line that names the stage; `--debug` shows the rest.
"""

import importlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from inorder.cli.data_dir import Dataset
from inorder.cli.output import claim_stdout, complain, in_one_line
from inorder.errors import InfrastructureError, IntegrityError, OperatorError, require
from inorder.stage.contracts import Barrier, Configurable, Stage, StagePlan, WorkItem
from inorder.stage.manifest.rows import to_printable

_OURS = (OperatorError, InfrastructureError, IntegrityError)


class Job(NamedTuple):
    """A stage and what it is to be run on: everything that is needed to make its plan again."""

    entry: str
    """`package.module:name`."""
    sources: list[Path]
    stage: Stage
    settings: dict[str, Any] = {}  # noqa: RUF012
    """Of the stage, where it has any."""

    @property
    def origin(self) -> dict[str, Any]:
        """For the `__config__` row of the manifest."""
        origin: dict[str, Any] = {
            "entry": self.entry,
            "sources": [to_printable(os.fspath(source)) for source in self.sources],
        }
        return origin | ({"settings": self.settings} if self.settings else {})

    def plan(self, data: str) -> StagePlan:
        """What there is to do."""
        place = Path(data).absolute()
        plan = _plan_of(self.stage, self.sources, place)
        if isinstance(plan.items, list | tuple):
            return plan
        items = _Items(self.stage, plan, lambda: _plan_of(self.stage, self.sources, place))
        return msgspec.structs.replace(plan, items=items)


def job_of(entry: str, sources: Sequence[str | Path], settings: dict[str, Any] | None = None) -> Job:
    """Load a stage. Its plan is always made of absolute paths: so it is the same whoever makes it again, and where."""
    loaded = load(entry)
    found = [Path(source).absolute() for source in sources]
    for source in found:
        require(source.exists(), f"there is no {source}")
    if isinstance(loaded, Stage):
        return Job(entry, found, loaded)
    chosen = settled(loaded, settings or {})
    return Job(entry, found, loaded.make(chosen), msgspec.to_builtins(chosen))


def settled(loaded: Configurable, settings: dict[str, Any]) -> Any:
    """The settings of a stage, all of them."""
    known = {field.name for field in msgspec.structs.fields(loaded.settings)}
    for name in settings:
        require(name in known, f"the stage has no setting {name!r}; there are: {', '.join(sorted(known))}")
    try:
        return msgspec.convert(settings, loaded.settings)
    except msgspec.ValidationError as error:
        raise OperatorError(f"a setting of the stage cannot be what it is: {error}") from error


def recorded_job(dataset: Dataset, stage: str) -> Job:
    """The job of the latest run of a stage, as its manifest has recorded it."""
    config = dataset.config(stage)
    origin = {} if config is None else config.origin
    entry, sources = origin.get("entry"), origin.get("sources")
    if not isinstance(entry, str) or not isinstance(sources, list):
        raise OperatorError(
            f"stage {stage} of {dataset.root} was run by a program of its own: only that can make its plan again"
        )
    settings = origin.get("settings", {})
    try:
        job = job_of(entry, [str(source) for source in sources], settings if isinstance(settings, dict) else {})
    except OperatorError as error:
        raise OperatorError(f"the plan of stage {stage} cannot be made again: {error}") from error
    require(job.stage.name == stage, f"{entry} is stage {job.stage.name} by now, and was stage {stage}")
    return job


def recorded_jobs(dataset: Dataset, stages: list[str]) -> list[Job]:
    """The jobs of these stages, as far as they can be found. Those that cannot are told of; none at all is an error."""
    found = []
    for number, stage in enumerate(stages, 1):
        try:
            found.append(recorded_job(dataset, stage))
        except OperatorError as error:
            if number == len(stages) and not found:
                raise
            complain(str(error))
    return found


def load(entry: str) -> Stage | Configurable:
    """The stage of this name, from the current folder or among what is installed."""
    module_name, colon, name = entry.partition(":")
    require(bool(module_name and colon and name), f"{entry!r} is no stage; write it as package.module:name")
    claim_stdout()
    module = _module(module_name)
    stage = module
    for part in name.split("."):
        if not hasattr(stage, part):
            raise OperatorError(f"{module_name} has no {name!r}; {_stages_in(module)}")
        stage = getattr(stage, part)
    if not isinstance(stage, Stage | Configurable):
        raise OperatorError(f"{entry} is a {type(stage).__name__} and not an inorder.Stage; {_stages_in(module)}")
    return stage


def _module(name: str) -> Any:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise OperatorError(
                f"there is no module {name}, neither in the current folder nor among what is installed"
            ) from error
        raise OperatorError(f"{name} cannot be imported: {_said(error)}") from error
    except (Exception, SystemExit) as error:
        raise OperatorError(f"{name} cannot be imported: {_said(error)}") from error


def _stages_in(module: Any) -> str:
    found = sorted(name for name, value in vars(module).items() if isinstance(value, Stage | Configurable))
    return f"stages there: {', '.join(found)}" if found else "there is no stage in it"


def _plan_of(stage: Stage, sources: list[Path], data: Path) -> StagePlan:
    try:
        plan = stage.plan(list(sources), data)
    except _OURS:
        raise
    except (Exception, SystemExit) as error:
        raise OperatorError(f"the plan of stage {stage.name} cannot be made: {_said(error)}") from error
    require(isinstance(plan, StagePlan), f"the plan of stage {stage.name} is a {type(plan).__name__}, not a StagePlan")
    require(
        plan.stage_name == stage.name,
        f"the plan of stage {stage.name} calls itself {plan.stage_name!r}; both must have one name",
    )
    return plan


class _Items:
    """The items of a plan that is read as the run goes on. One that can be read only once is made anew for the second
    reading."""

    def __init__(self, stage: Stage, plan: StagePlan, again: Callable[[], StagePlan]) -> None:
        self._stage = stage
        self._plan: StagePlan | None = plan
        self._again = again

    def __iter__(self) -> Iterator[WorkItem | Barrier]:
        plan, self._plan = self._plan or self._again(), None
        number = 0
        try:
            for item in plan.items:
                yield item
                number += 1
        except _OURS:
            raise
        except Exception as error:
            raise OperatorError(
                f"the plan of stage {self._stage.name} broke off at its item {number}: {_said(error)}"
            ) from error


def _said(error: BaseException) -> str:
    return in_one_line(f"{type(error).__name__}: {error}")
