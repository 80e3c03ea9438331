"""Loads stages by name (`package.module:name`) and makes their plans.

An error in code that is not ours becomes one line that names the stage; `--debug` shows the traceback.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from inorder.cli.data_dir import DataDirectory
from inorder.cli.output import claim_stdout
from inorder.cli.output import error as print_error
from inorder.engines.attempt import escape_surrogates
from inorder.errors import InfrastructureError, IntegrityError, OperatorError, require
from inorder.extensions.loading import describe_error, import_module
from inorder.extensions.trust import require_trusted
from inorder.sources.address import resolve_source
from inorder.stage.contracts import Barrier, Stage, StagePlan, WorkItem
from inorder.stage.data_layout import require_current_data

ENTRY = "stage"
"""What the stage of a user is called where it needs trust."""
_OURS = (OperatorError, InfrastructureError, IntegrityError)


class StageJob(NamedTuple):
    """A stage and its sources: everything that is needed to make its plan again."""

    entry: str
    """`package.module:name`."""
    sources: list[Path]
    """Absolute paths."""
    stage: Stage

    @property
    def origin(self) -> dict[str, Any]:
        """What the `__config__` row of the manifest records."""
        return {"entry": self.entry, "sources": [escape_surrogates(os.fspath(source)) for source in self.sources]}

    def make_plan(self, data: str) -> StagePlan:
        """The plan of the stage for this DATA directory. Raises OperatorError if an earlier version has written it."""
        require_current_data(data)
        place = Path(data).absolute()
        plan = _make_plan(self.stage, self.sources, place)
        if isinstance(plan.items, list | tuple):
            return plan
        items = _RepeatableItems(self.stage, plan, lambda: _make_plan(self.stage, self.sources, place))
        return msgspec.structs.replace(plan, items=items)


def load_job(entry: str, sources: Sequence[str | Path]) -> StageJob:
    """Load a stage. Sources are made absolute, so that the plan is the same from any current directory."""
    stage = load_stage(entry)
    found: list[Path] = []
    for source in map(resolve_source, sources):
        if isinstance(source, str):
            raise OperatorError(f"stage {stage.name} reads local files and directories, and cannot read {source}")
        require(source.exists(), f"no such file or directory: {source}")
        found.append(source)
    return StageJob(entry, found, stage)


def load_recorded_job(data: DataDirectory, stage: str) -> StageJob:
    """The job of the latest run of a stage, as its manifest has recorded it."""
    config = data.config(stage)
    if config is None:
        raise OperatorError(f"no run of stage {stage} is recorded in {data.root}; run the stage again")
    origin = config.origin
    entry, sources = origin.get("entry"), origin.get("sources")
    if not isinstance(entry, str) or not isinstance(sources, list):
        raise OperatorError(
            f"cannot make the plan of stage {stage} of {data.root}: it was run by a program; run that program instead"
        )
    try:
        require_trusted(data.root, ENTRY, entry)
        job = load_job(entry, [str(source) for source in sources])
    except OperatorError as error:
        raise OperatorError(f"cannot make the plan of stage {stage}: {error}") from error
    require(job.stage.name == stage, f"{entry} is now stage {job.stage.name}; the manifest records stage {stage}")
    return job


def load_recorded_jobs(data: DataDirectory, stages: list[str]) -> list[StageJob]:
    """The jobs of these stages. One that cannot be loaded is reported and left out, unless it would leave none."""
    found = []
    for number, stage in enumerate(stages, 1):
        try:
            found.append(load_recorded_job(data, stage))
        except OperatorError as error:
            if number == len(stages) and not found:
                raise
            print_error(str(error))
    return found


def load_stage(entry: str) -> Stage:
    """Import a stage, from the current directory or an installed package."""
    module_name, colon, name = entry.partition(":")
    require(bool(module_name and colon and name), f"invalid stage {entry!r}; write package.module:name")
    claim_stdout()
    module = import_module(module_name)
    stage = module
    for part in name.split("."):
        if not hasattr(stage, part):
            raise OperatorError(f"{module_name} has no attribute {name!r}; {_describe_stages(module)}")
        stage = getattr(stage, part)
    if not isinstance(stage, Stage):
        raise OperatorError(f"{entry} must be an inorder.Stage, got {type(stage).__name__}; {_describe_stages(module)}")
    return stage


def _describe_stages(module: Any) -> str:
    found = sorted(name for name, value in vars(module).items() if isinstance(value, Stage))
    return f"stages in it: {', '.join(found) or 'none'}"


def _make_plan(stage: Stage, sources: Sequence[Path], data: Path) -> StagePlan:
    try:
        plan = stage.plan(list(sources), data)
    except _OURS:
        raise
    except (Exception, SystemExit) as error:
        raise OperatorError(f"cannot make the plan of stage {stage.name}: {describe_error(error)}") from error
    require(
        isinstance(plan, StagePlan), f"the plan of stage {stage.name} must be a StagePlan, got {type(plan).__name__}"
    )
    require(
        plan.stage_name == stage.name,
        f"the plan of stage {stage.name} has the name {plan.stage_name!r}; both names must be equal",
    )
    return plan


class _RepeatableItems:
    """The items of a lazy plan. The plan is made again for every iteration after the first."""

    def __init__(self, stage: Stage, plan: StagePlan, make_again: Callable[[], StagePlan]) -> None:
        self._stage = stage
        self._plan: StagePlan | None = plan
        self._make_again = make_again

    def __iter__(self) -> Iterator[WorkItem | Barrier]:
        plan, self._plan = self._plan or self._make_again(), None
        number = 0
        try:
            for item in plan.items:
                yield item
                number += 1
        except _OURS:
            raise
        except Exception as error:
            raise OperatorError(
                f"the plan of stage {self._stage.name} failed at item {number}: {describe_error(error)}"
            ) from error
