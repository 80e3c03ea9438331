"""Every option that can be set in more than one place, described once.

An option has one name: `timeout_s` is `--set timeout_s=60` on the command line, `INORDER_TIMEOUT_S` in the environment
and `timeout_s` in `inorder.toml`. What people set every day (`EVERYDAY`) is a flag, too: `--timeout-s 60`.
`parameters.py` makes parameters of commands from these descriptions; `settings.py` reads the other places. Help texts
name no defaults: those depend on the stage, and are computed when help is shown.
"""

from collections.abc import Sequence
from functools import partial

from inorder.cli.option_spec import OptionSpec, Section, index_by_name, make_part_option, unless
from inorder.cli.option_types import (
    ChoiceType,
    FlagType,
    IntegerType,
    NamedNumbersType,
    NumberType,
    PathType,
    SecondsType,
    SizeType,
    TextType,
)
from inorder.cli.output import info
from inorder.cli.step_options import OWN
from inorder.cli.tuning_options import TUNING
from inorder.engines.base import WORKERS_MAX
from inorder.errors import OperatorError
from inorder.host.credentials import hide_credentials, redact, require_two_slashes

PROFILE = "profile"
"""Names a profile; can be given on the command line and in the environment only."""

_output, _execution, _display = (
    partial(OptionSpec, section) for section in (Section.OUTPUT, Section.EXECUTION, Section.DISPLAY)
)
_ray = partial(make_part_option, Section.EXECUTION, "ray")

SHARED = index_by_name(
    _output("data", PathType(), "Folder of all results (DATA).", "DIR"),
    _output(
        "fsync",
        ChoiceType("always", "batch", "interval", "off"),
        "When the journal is synced to disk. Matters for a power loss only; a killed process loses nothing.",
    ),
    _output("attempts_log", FlagType(), "Log the start and end of every attempt to DATA/attempts."),
    _output(
        "commit_thread", FlagType(), "Commit on a thread of its own, so that waiting for the disk delays no worker."
    ),
    _output("telemetry", FlagType(), "Write events and metrics of the run as JSON lines."),
    _output(
        "telemetry_dir",
        TextType("none"),
        "Directory for telemetry.",
        "DIR",
        meanings={"none": "DATA/telemetry"},
        needs_trust=unless(None),
    ),
    _output(
        "metrics_file",
        TextType("none"),
        "Write metrics for Prometheus to this file at the end.",
        "PATH",
        needs_trust=unless(None),
    ),
    _execution(
        "workers", IntegerType(1, WORKERS_MAX, "auto"), "Items at a time.", meanings={"auto": "one per CPU or more"}
    ),
    _execution("adaptive", FlagType(), "Adapt the number of workers to their throughput, between 1 and workers."),
    _execution("policy", ChoiceType("io", "cpu", "gpu"), "Processes (cpu) or threads (io, gpu)."),
    _execution(
        "i_know_what_im_doing",
        FlagType(),
        "Allow policy cpu for a stage made for policy gpu.",
        flags=("--i-know-what-im-doing",),
    ),
    _execution(
        "schedule",
        ChoiceType("fifo", "sjf"),
        "Start items in plan order (fifo) or the cheapest first (sjf). The order of results is the same.",
    ),
    _execution(
        "max_queue",
        IntegerType(1, 2**20, unit="items"),
        "Items read from the plan ahead of the workers; on Ray, at least eight per worker.",
    ),
    _execution(
        "memory_bytes_max",
        SizeType("none"),
        "Address space of a worker process (policy cpu). An item that needs more fails.",
    ),
    _execution(
        "recycle_tasks",
        IntegerType(1, 10**12, "none", unit="items"),
        "Replace a worker process after this many items (policy cpu).",
        meanings={"none": "never"},
    ),
    _execution(
        "recycle_resident_bytes",
        SizeType("none"),
        "Replace a worker process between two items when its resident memory is above this (policy cpu, Linux).",
        meanings={"none": "never"},
    ),
    _execution("resume", FlagType(), "Resume an interrupted run, and skip items that are up to date."),
    _execution("force", FlagType(), "Process unchanged items, too."),
    _execution(
        "fingerprinting",
        FlagType(),
        "An item is up to date if its inputs and settings are unchanged; without this, if its outputs exist.",
    ),
    _execution("timeout_s", SecondsType(), "Time limit per item.", meanings={"0": "no limit"}),
    _execution("retries", IntegerType(0, 1000), "More attempts after errors that may pass."),
    _execution("retry_backoff_s", SecondsType(), "Delay before the first retry. It doubles with each further one."),
    _execution("error_budget", IntegerType(0, 10**12, "none", unit="items"), "Stop when more items than this fail."),
    _execution(
        "on_budget",
        ChoiceType("stop", "drain"),
        "Running items when the error budget is exceeded: end them after cancel_grace_s, or let them end.",
    ),
    _execution(
        "infrastructure_budget",
        IntegerType(0, 2**30, unit="workers"),
        "Stop when more workers than this are lost before a window of items is committed. The run can be resumed.",
    ),
    _execution(
        "outage_s_max",
        SecondsType(),
        "How long a run waits for a server that is down or throttles. Then it stops, and can be resumed.",
    ),
    _execution(
        "cancel_grace_s",
        SecondsType(),
        "How long running items may continue when a run is stopped. Then their processes are killed.",
    ),
    _execution(
        "lease_s",
        SecondsType(),
        "Replace a worker process without heartbeat after this time, and run its item again. Items with a time limit "
        "are left to it.",
    ),
    _execution("engine", ChoiceType("local", "ray"), "Workers here or on a Ray cluster."),
    _ray(
        "address",
        TextType("none"),
        "Cluster address: HOST:PORT, or auto for the cluster that this machine belongs to.",
        "ADDR",
        needs_trust=unless(None),
        meanings={"none": "RAY_ADDRESS if it is set, otherwise a cluster of this machine alone"},
    ),
    _ray("cpus", NumberType(unit="cpus"), "CPUs per worker."),
    _ray(
        "gpus", NumberType(unit="gpus"), "GPUs per worker; a fraction is allowed.", meanings={"0": "1 for policy gpu"}
    ),
    _ray("resources", NamedNumbersType(), "Custom resources per worker, as the nodes declare them."),
    _ray(
        "files",
        ChoiceType("auto", "shared", "send"),
        "How nodes get files: shared (same paths on all nodes), send (with the items), or auto (send to nodes that "
        "cannot read DATA).",
    ),
    _ray("send_bytes_max", SizeType(), "Most bytes sent with one item. Larger items run on this machine."),
    _display(
        "diagnostics_interval_s",
        SecondsType(),
        "Interval between progress lines, and between snapshots in the telemetry.",
    ),
    _display(
        "stall_warning_s",
        SecondsType(),
        "Name the item that the run waits for after this time without a commit.",
        meanings={"0": "never"},
    ),
    _display("quiet", FlagType(), "Show only what failed.", path="progress", flags=("--quiet/--no-quiet", "-q")),
    _display(
        "verbose", FlagType(), "Show more: slowest items, frequent errors.", flags=("--verbose/--no-verbose", "-v")
    ),
    *TUNING,
)
"""Options of every run, by name."""

EVERYDAY = frozenset(
    (
        *("data", "workers", "policy", "engine", "force", "timeout_s", "retries", "error_budget", "quiet", "verbose"),
        *(
            "ocr",
            "password_file",
            "reader",
            "pages",
            "pages_max",
            "tokens_max",
            "dense",
            "sparse",
            "to",
            "collection",
        ),
    )
)
"""Options that are flags of commands. All others are set with `--set`."""

ALL = SHARED | {name: option for options in OWN.values() for name, option in options.items()}

_INSTEAD = {
    "http": "set FSSPEC_HTTP, which fsspec reads",
    "https": "set FSSPEC_HTTPS, which fsspec reads",
    "postgresql": "set PGPASSWORD, or use ~/.pgpass",
    "qdrant": "set QDRANT_API_KEY",
}
"""What keeps credentials out of the process list, by the scheme of an address that no variable of ours takes."""


def warn_of_credentials(arguments: Sequence[str]) -> None:
    """Print a warning for each argument that is an address with credentials. They work. Raises OperatorError for one
    whose slashes are wrong: it is no address, and would be shown as it is."""
    variables = {each: option.variable for option in ALL.values() for each in option.spellings}
    for before, argument in zip(["", *arguments], arguments, strict=False):
        name, equals, value = argument.partition("=") if argument.startswith("--") else (before, "", argument)
        require_two_slashes(value)
        if not _has_credentials(value):
            continue
        variable = variables.get(name)
        instead = _INSTEAD.get(value.partition("://")[0].rpartition(":")[2])
        if instead is not None:  # other addresses with credentials are refused
            instead = f"set {variable} to the address" if variable else instead
            shown = f"{name}{equals}{redact(value)}" if equals else redact(value)
            info(f"warning: {shown}: the process list shows credentials in a command line; instead, {instead}")


def _has_credentials(text: str) -> bool:
    try:
        return hide_credentials(text) != text
    except OperatorError:  # the command refuses it
        return False
