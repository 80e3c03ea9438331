"""The context that a worker and the hooks of a stage are called with."""

import contextlib
import math
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from inorder.engines.attempt import escape_surrogates
from inorder.engines.progress import find_reporter
from inorder.stage.options import StageOptions

from .contracts import WorkItem
from .data_layout import NameTooLongError, resolve_output
from .files.file_stat import FileStat
from .fingerprints import list_published
from .partial_results import encode_partial

_ENDING_MAX = 40
"""Characters of a file's name that its staged name keeps: some libraries look at the ending. A character has up to four
bytes, and a name at most 255."""
_WARNINGS_MAX = 100


class StageContext:
    """The second argument of a worker: where to write outputs, and what the workers of a stage share.

    >>> def upper(item: WorkItem, ctx: StageContext) -> dict[str, int]:
    ...     text = Path(item.inputs["text"]).read_text().upper()
    ...     ctx.output("upper").write_text(text)
    ...     return {"characters": len(text)}

    There is one context per attempt, and one for the hooks around the stage.

    Attributes:
        stage: Name of the stage.
        options: The options of this run.
        data: The folder DATA.
        item: The item of this attempt; None in hooks around the stage.
        resources: Objects that are opened once and used by many items. Threads share one dict, filled by
            `before_stage`; each worker process has its own, filled by `worker_setup`.
        warnings: What `warn` was called with.
        delivery: What the worker passed to `deliver`. In `after_item`, what sinks got for the item: that, or what was
            handed over if the item failed. None: nothing.
        partial: What an earlier attempt at this item passed to `hand_over`, in this run or in one that was interrupted;
            None: nothing. A worker may go on from there.
    """

    def __init__(
        self,
        stage: str,
        options: StageOptions,
        resources: dict[str, Any],
        staging: str = "",
    ) -> None:
        self.stage = stage
        self.options = options
        self.data = Path(options.data)
        self.resources = resources
        self.warnings: list[str] = []
        self._reporter = find_reporter()
        self.item: WorkItem | None = None
        self.partial: Any = None
        self.check_inputs: Callable[[], list[tuple[FileStat, str]]] = list
        """Raises if an input has changed since the attempt began. Returns stat and hash of every input."""
        self.stats: dict[str, FileStat] = {}
        """The stat of each input that is a file, as the driver sees it, from before it was read."""
        self._staging = staging
        self._token = ""
        self.delivery: Any = None
        self.measures: dict[str, float | str] = {}
        """What `measure` was called with."""
        self.fields: dict[str, Any] = {}
        """What `annotate` was called with."""
        self.removals: list[str] = []
        """Files in DATA to remove when the item is committed."""
        self.files: dict[str, str] = {}
        """Staged files of this attempt, by the path at which they will be published."""

    def warn(self, message: str) -> None:
        """Record a warning in the manifest without failing the item. At most 100 are kept."""
        if len(self.warnings) < _WARNINGS_MAX:
            self.warnings.append(escape_surrogates(str(message)))
        elif len(self.warnings) == _WARNINGS_MAX:
            self.warnings.append("further warnings were dropped")

    def measure(self, **values: float | str) -> None:
        """Report values of this item to telemetry. Numbers are summed up over all items, and per `batch_key`; `lines`
        and `pages` are shown as rates, too. Text and numbers become attributes of the item's span. Values may differ
        from run to run: they are not in the manifest, and an attempt that fails reports nothing.

        Raises TypeError or ValueError for a value that is neither text nor a finite number of at least 0."""
        measures = self.measures
        for name, value in values.items():
            if isinstance(value, str):
                measures[name] = value
                continue
            if not isinstance(value, (int, float)):
                raise TypeError(f"{name} must be a number or text, got {type(value).__name__}")
            if not 0 <= value < math.inf:
                raise ValueError(f"{name} must be a finite number of at least 0, got {value}")
            known = measures.get(name)
            measures[name] = value if known is None or isinstance(known, str) else known + value

    def progress(self, done: float, total: float | None = None, note: str = "") -> None:
        """Report the progress of this item, for the live display, telemetry and stall warnings. Counts as a heartbeat.

        A call takes about 10 microseconds, so it can be made for every page or batch.

        Args:
            done: Pages, batches or bytes that are done.
            total: How many there are; None: not known.
            note: What is counted, or what the item is doing: `"page"` shows as `page 31 of 900`.
        """
        if self._reporter is not None:
            self._reporter.report(float(done), None if total is None else float(total), str(note))

    def begin_step(self, name: str, timeout_s: float | None = None) -> None:
        """Say which step of its work the item is in. Counts as a heartbeat. If the item fails from now on, by whatever
        cause, its failure has this name (`Failure.step`, and `error.step` in the manifest).

        It restarts the time limit of the item, with that of the step.

        Args:
            name: Name of the step. At most 100 bytes of it are kept.
            timeout_s: Time limit of the step in seconds; None: `timeout_s` of the options; 0: none.

        Raises:
            ValueError: The name is empty, or the time limit is not a finite number of at least 0.
        """
        if not name:
            raise ValueError("the name of a step must not be empty")
        if timeout_s is not None and not 0 <= timeout_s < math.inf:
            raise ValueError(f"timeout_s of a step must be a finite number of at least 0, got {timeout_s}")
        if self._reporter is not None:
            self._reporter.begin_step(str(name), timeout_s)

    def hand_over(self, value: Any) -> None:
        """Hand over what has been made of this item so far, in place of what was handed over before. It survives the
        death of the worker and of the driver.

        If the item fails in the end, the sinks get the value with the failure, as `entry.payload`. If the item is
        tried again, in this run or after an interruption, the next attempt has the value as `ctx.partial`; what that
        attempt hands over replaces it. A success or a skip drops it.

        Args:
            value: Plain data: numbers, text, bytes, and lists and dicts of these with text as keys.

        Raises:
            TypeError: The value is None or not plain data.
            StageError: An input has changed since the attempt began; the item is tried again.
        """
        if self._reporter is not None:
            self._reporter.hand_over(encode_partial(value, self.check_inputs()))

    def annotate(self, **fields: Any) -> None:
        """Add fields to the row of this item in the manifest or, in `before_stage`, to the `__config__` row. A field of
        the same name that the worker returns replaces it. An attempt that fails adds nothing.

        Raises TypeError for a value that cannot be encoded as JSON."""
        self.fields |= msgspec.json.decode(msgspec.json.encode(fields, order="deterministic"))

    def output(self, name: str) -> Path:
        """The path to write this output to. It is published when the item is committed. Raises KeyError for a name that
        the item does not declare."""
        outputs = {} if self.item is None else self.item.outputs
        if name not in outputs:
            declared = ", ".join(outputs) or "none"
            raise KeyError(f"the item declares no output {name!r}; declared outputs: {declared}")
        return Path(stage_file(self, resolve_output(os.fspath(self.data), outputs[name])))

    def deliver(self, value: Any) -> None:
        """Pass a value to the stage's own sinks when the item is committed."""
        self.delivery = value

    def remove(self, path: str | Path) -> None:
        """Remove a file from DATA when the item is committed; a missing file is ignored. The item may run again after
        that, so it must not depend on the file."""
        with contextlib.suppress(NameTooLongError):  # no file has such a path
            self.removals.append(resolve_output(os.fspath(self.data), path))

    def remove_outputs(self) -> None:
        """Remove the outputs of this item that earlier runs published, when the item is committed."""
        if self.item is not None:
            self.removals += list_published(os.fspath(self.data), self.item.outputs)


def stage_file(context: StageContext, relative: str) -> str:
    """Return the staged path of a file of an attempt: unique per attempt, with the same suffix."""
    files = context.files
    if relative not in files:
        context._token = context._token or os.urandom(8).hex()
        ending = relative.rpartition("/")[2][-_ENDING_MAX:]
        files[relative] = f"{context._staging}/{context._token}-{len(files)}-{ending}"
    return files[relative]


def call_hook(hook: Callable[..., Any] | None, warn: Callable[[str], None], name: str, *arguments: Any) -> Any:
    """Call a hook, if the stage has it, and return what it returned. Whatever it raises becomes a warning, except for
    Ctrl-C."""
    try:
        return None if hook is None else hook(*arguments)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and may_be_interrupted():
            raise
        warn(f"{name}: {describe_error(error)}")
        return None


def may_be_interrupted() -> bool:
    """Whether Ctrl-C can interrupt this thread: only the main thread, and not that of a worker process."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


def describe_error(error: BaseException) -> str:
    """Return type and message of an exception, whose message may itself raise one."""
    try:
        return f"{type(error).__name__}: {error}"
    except BaseException:
        return type(error).__name__
