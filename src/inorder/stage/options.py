"""The options of a run of a stage: frozen, validated once, the same names as on the command line."""

import os
from pathlib import Path
from typing import Any, Literal

from inorder.core.options import ON_BUDGET
from inorder.engines.base import WORKERS_MAX
from inorder.errors import require
from inorder.runtime.run_options import RunOptions, require_flag, require_seconds, require_whole, require_word

ENGINES = ("local", "ray")
POLICIES = ("io", "cpu", "gpu")
PROGRESSES = ("auto", "bar", "lines", "none")
_WHOLE = (("workers", 1, WORKERS_MAX), ("retries", 0, 1000), ("error_budget", 0, 2**62), ("max_queue", 1, 2**20))
_OPTIONAL = ("workers", "error_budget")
_SECONDS = ("timeout_s", "diagnostics_interval_s")
_FLAGS = (
    "fingerprinting",
    "resume",
    "force",
    "commit_thread",
    "adaptive",
    "attempts_log",
    "telemetry",
    "verbose",
    "i_know_what_im_doing",
)


class StageOptions(RunOptions, frozen=True, kw_only=True):
    """How a stage is run: these options, and those of `RunOptions`. Results do not depend on any of them, except for
    time limits.

    >>> options = StageOptions(data="out", policy="cpu", workers=4, timeout_s=60, retries=2)
    >>> options.timeout_s
    60

    Raises:
        OperatorError: A value is out of range. The message names the option.
    """

    data: str | Path = ".inorder"
    """The folder DATA, which receives outputs, manifests, journals and telemetry."""
    engine: Literal["local", "ray"] = "local"
    """Where workers run: on this machine or on a Ray cluster."""
    policy: Literal["io", "cpu", "gpu"] = "io"
    """`io` and `gpu` run threads, `cpu` runs spawned processes. On a cluster every worker is a process."""
    workers: int | None = None
    """Number of workers. None: one per CPU for `cpu` and `gpu`, two per CPU for `io`; on a cluster as many as fit."""
    timeout_s: float = 0.0
    """An item that takes longer fails; 0: no limit."""
    retries: int = 0
    """Further attempts after a failure that may be transient."""
    error_budget: int | None = None
    """Number of failures that is tolerated; 0: stop at the first; None: no limit."""
    on_budget: Literal["stop", "drain"] = "stop"
    """What happens to running items when the error budget is exceeded: `stop` gives them `cancel_grace_s`, `drain` lets
    them end. Their results are not committed in either case."""
    max_queue: int = 1024
    """Items read from the plan ahead of the workers."""
    diagnostics_interval_s: float = 5.0
    """Interval between progress lines, and between snapshots in the telemetry."""
    stall_warning_s: float = 30.0
    """After this time without a commit, progress, telemetry and `inorder inspect` name the item that the run waits for;
    0: never."""
    fingerprinting: bool = True
    """Skip an item only if its outputs were made from the same inputs and configuration."""
    resume: bool = True
    """Resume an interrupted run, and skip items that are up to date."""
    force: bool = False
    """Process every item again."""
    commit_thread: bool = True
    """Commit on a thread of its own, so that waiting for the disk delays no worker. False: on the thread that runs the
    stage, which also calls `after_item` and sinks then."""
    adaptive: bool = False
    """Adapt the number of workers between 1 and `workers` to the measured throughput: more only while that makes it
    rise."""
    attempts_log: bool = False
    """Log the start and end of every attempt to `DATA/attempts`."""
    telemetry: bool = True
    """Write events and metrics."""
    telemetry_dir: str | Path | None = None
    """The folder that receives them; None: `DATA/telemetry`."""
    metrics_file: str | Path | None = None
    """A file that receives the metrics of all stages of DATA at the end of a run, in the text format of Prometheus."""
    progress: Literal["auto", "bar", "lines", "none"] = "auto"
    """`auto`: a bar on a terminal, lines elsewhere."""
    verbose: bool = False
    """Show the slowest items and the most frequent error categories."""
    i_know_what_im_doing: bool = False
    """Allow a stage made for `gpu` to run with `cpu`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, words in (
            ("engine", ENGINES),
            ("policy", POLICIES),
            ("on_budget", ON_BUDGET),
            ("progress", PROGRESSES),
        ):
            require_word(name, getattr(self, name), words)
        for name, low, high in _WHOLE:
            require_whole(name, getattr(self, name), low, high, is_optional=name in _OPTIONAL)
        for name in _SECONDS:
            require_seconds(name, getattr(self, name))
        for name in _FLAGS:
            require_flag(name, getattr(self, name))
        for name in ("data", "telemetry_dir", "metrics_file"):
            path: Any = getattr(self, name)
            is_path = isinstance(path, str | os.PathLike) and str(path) != ""
            require(is_path or (path is None and name != "data"), f"{name} must be a path, got {path!r}")
        require(self.metrics_file is None or self.telemetry, "metrics_file needs telemetry")
        require(
            not (self.adaptive and self.engine == "ray" and self.workers is None),
            "adaptive needs workers=N on a cluster: without it, the number of workers follows the cluster",
        )
        require(self.diagnostics_interval_s > 0, "diagnostics_interval_s must be greater than 0")


def suggest_wait(reason: str | None) -> str:
    """Return what else helps a run that was stopped because a server was down for too long; empty: it was not."""
    is_outage = reason is not None and "outage_s_max" in reason
    return ", perhaps with a longer wait for the server: --set outage_s_max=SECONDS" if is_outage else ""
