"""Every option that can be set in more than one place, described once.

An option has one name: `timeout_s` is `--timeout-s` on the command line, `INORDER_TIMEOUT_S` in the environment and
`timeout_s` in `inorder.toml`. `parameters.py` makes parameters of commands from these descriptions; `settings.py` reads
the other places. Help texts name no defaults: those depend on the stage, and are computed when help is shown.
"""

from inorder.cli.builtin_options import OWN
from inorder.cli.option_spec import OptionSpec, Section, index_by_name
from inorder.cli.option_types import (
    ChoiceType,
    FlagType,
    IntegerType,
    NamedNumbersType,
    NumberType,
    SecondsType,
    SizeType,
    TextType,
)
from inorder.cli.tuning_options import TUNING
from inorder.engines.base import WORKERS_MAX

PROFILE = "profile"
"""Names a profile; can be given on the command line and in the environment only."""
RENAMED = {"memory_limit": "memory_bytes_max", "ray_send_max": "ray_send_bytes_max"}
"""Old names of options, which still work, with a warning."""


_OUTPUT, _EXECUTION, _FAILURES, _RAY, _DISPLAY = (
    Section.OUTPUT,
    Section.EXECUTION,
    Section.FAILURES,
    Section.RAY,
    Section.DISPLAY,
)

SHARED = index_by_name(
    OptionSpec(_OUTPUT, "data", "data", TextType(), "Directory for all results (DATA).", "DIR"),
    OptionSpec(
        _OUTPUT,
        "fsync",
        "fsync",
        ChoiceType("always", "batch", "interval", "off"),
        "When the journal is synced to disk. Matters for a power loss only; a killed process loses nothing.",
    ),
    OptionSpec(
        _OUTPUT,
        "attempts_log",
        "attempts_log",
        FlagType(),
        "Log the start and end of every attempt to DATA/attempts.",
        flags=("--attempts-log/--no-attempts-log",),
    ),
    OptionSpec(
        _OUTPUT,
        "commit_thread",
        "commit_thread",
        FlagType(),
        "Commit on a thread of its own, so that waiting for the disk delays no worker.",
        flags=("--commit-thread/--no-commit-thread",),
    ),
    OptionSpec(
        _OUTPUT,
        "telemetry",
        "telemetry",
        FlagType(),
        "Write events and metrics of the run as JSON lines.",
        flags=("--telemetry/--no-telemetry",),
    ),
    OptionSpec(
        _OUTPUT,
        "telemetry_dir",
        "telemetry_dir",
        TextType("none"),
        "Directory for telemetry.",
        "DIR",
        meanings={"none": "DATA/telemetry"},
    ),
    OptionSpec(
        _EXECUTION,
        "workers",
        "workers",
        IntegerType(1, WORKERS_MAX, "auto"),
        "Number of items processed at the same time.",
        "N",
        meanings={"auto": "one per CPU, two per CPU for policy io; on Ray, as many as the cluster has room for"},
    ),
    OptionSpec(
        _EXECUTION,
        "adaptive",
        "adaptive",
        FlagType(),
        "Adapt the number of workers to their throughput, between 1 and --workers.",
        flags=("--adaptive/--no-adaptive",),
    ),
    OptionSpec(
        _EXECUTION,
        "policy",
        "policy",
        ChoiceType("io", "cpu", "gpu"),
        "Worker type: io and gpu use threads, cpu uses processes, which can be killed and survive crashes.",
    ),
    OptionSpec(
        _EXECUTION,
        "i_know_what_im_doing",
        "i_know_what_im_doing",
        FlagType(),
        "Allow policy cpu for a stage made for policy gpu.",
        flags=("--i-know-what-im-doing",),
    ),
    OptionSpec(
        _EXECUTION,
        "schedule",
        "schedule",
        ChoiceType("fifo", "sjf"),
        "Start items in plan order (fifo) or the cheapest first (sjf). The order of results is the same.",
    ),
    OptionSpec(
        _EXECUTION,
        "max_queue",
        "max_queue",
        IntegerType(1, 2**20),
        "Items read from the plan ahead of the workers; on Ray, at least eight per worker.",
        "N",
    ),
    OptionSpec(
        _EXECUTION,
        "memory_bytes_max",
        "memory_bytes_max",
        SizeType("none"),
        "Address space of a worker process (policy cpu). An item that needs more fails.",
        "SIZE",
    ),
    OptionSpec(
        _EXECUTION,
        "recycle_tasks",
        "recycle_tasks",
        IntegerType(1, 10**12, "none"),
        "Replace a worker process after this many items (policy cpu).",
        "N",
        meanings={"none": "never"},
    ),
    OptionSpec(
        _EXECUTION,
        "recycle_resident_bytes",
        "recycle_resident_bytes",
        SizeType("none"),
        "Replace a worker process between two items when its resident memory is above this (policy cpu, Linux).",
        "SIZE",
        meanings={"none": "never"},
    ),
    OptionSpec(
        _EXECUTION,
        "resume",
        "resume",
        FlagType(),
        "Resume an interrupted run, and skip items that are up to date.",
        flags=("--resume/--no-resume",),
    ),
    OptionSpec(
        _EXECUTION,
        "force",
        "force",
        FlagType(),
        "Process all items, including those that are up to date.",
        flags=("--force/--no-force",),
    ),
    OptionSpec(
        _EXECUTION,
        "fingerprinting",
        "fingerprinting",
        FlagType(),
        "An item is up to date if its inputs and settings are unchanged; without this, if its outputs exist.",
        flags=("--fingerprinting/--no-fingerprinting",),
    ),
    OptionSpec(
        _FAILURES,
        "timeout_s",
        "timeout_s",
        SecondsType(),
        "Time limit per item. An item that takes longer fails.",
        "SECONDS",
        meanings={"0": "no limit"},
    ),
    OptionSpec(
        _FAILURES,
        "retries",
        "retries",
        IntegerType(0, 1000),
        "Further attempts per item after an error that may be temporary.",
        "N",
    ),
    OptionSpec(
        _FAILURES,
        "retry_backoff_s",
        "retry_backoff_s",
        SecondsType(),
        "Delay before the first retry. It doubles with each further one.",
        "SECONDS",
    ),
    OptionSpec(
        _FAILURES,
        "error_budget",
        "error_budget",
        IntegerType(0, 10**12, "none"),
        "Stop when more items than this have failed. 0 stops at the first failure.",
        "N",
        meanings={"none": "failures never stop a run"},
    ),
    OptionSpec(
        _FAILURES,
        "on_budget",
        "on_budget",
        ChoiceType("stop", "drain"),
        "Running items when the error budget is exceeded: end them after --cancel-grace-s, or let them end.",
    ),
    OptionSpec(
        _FAILURES,
        "infrastructure_budget",
        "infrastructure_budget",
        IntegerType(0, 2**30),
        "Stop when more workers than this are lost before a window of items is committed. The run can be resumed.",
        "N",
    ),
    OptionSpec(
        _FAILURES,
        "cancel_grace_s",
        "cancel_grace_s",
        SecondsType(),
        "How long running items may continue when a run is stopped. Then their processes are killed.",
        "SECONDS",
    ),
    OptionSpec(
        _FAILURES,
        "lease_s",
        "lease_s",
        SecondsType(),
        "Replace a worker process without heartbeat after this time, and run its item again. Items with a time limit "
        "are left to it.",
        "SECONDS",
    ),
    OptionSpec(
        _RAY,
        "engine",
        "engine",
        ChoiceType("local", "ray"),
        "Run workers on this machine or on a Ray cluster.",
    ),
    OptionSpec(
        _RAY,
        "ray_address",
        "ray.address",
        TextType("none"),
        "Cluster address: HOST:PORT, or auto for the cluster that this machine belongs to.",
        "ADDR",
        meanings={"none": "RAY_ADDRESS if it is set, otherwise a cluster of this machine alone"},
    ),
    OptionSpec(_RAY, "ray_cpus", "ray.cpus", NumberType(), "CPUs per worker.", "N"),
    OptionSpec(
        _RAY,
        "ray_gpus",
        "ray.gpus",
        NumberType(),
        "GPUs per worker; a fraction is allowed.",
        "N",
        meanings={"0": "1 for policy gpu"},
    ),
    OptionSpec(
        _RAY,
        "ray_resources",
        "ray.resources",
        NamedNumbersType(),
        "Custom resources per worker, as the nodes declare them.",
        "NAME=N,...",
    ),
    OptionSpec(
        _RAY,
        "ray_files",
        "ray.files",
        ChoiceType("auto", "shared", "send"),
        "How nodes get files: shared (same paths on all nodes), send (with the items), or auto (send to nodes that "
        "cannot read DATA).",
    ),
    OptionSpec(
        _RAY,
        "ray_send_bytes_max",
        "ray.send_bytes_max",
        SizeType(),
        "Most bytes sent with one item. Larger items run on this machine.",
        "SIZE",
    ),
    OptionSpec(
        _DISPLAY,
        "diagnostics_interval_s",
        "diagnostics_interval_s",
        SecondsType(),
        "Interval between progress lines, and between snapshots in the telemetry.",
        "SECONDS",
    ),
    OptionSpec(
        _DISPLAY,
        "stall_warning_s",
        "stall_warning_s",
        SecondsType(),
        "Name the item that the run waits for after this time without a commit.",
        "SECONDS",
        meanings={"0": "never"},
    ),
    OptionSpec(
        _DISPLAY,
        "quiet",
        "progress",
        FlagType(),
        "Show no progress, and a summary only if something failed.",
        flags=("--quiet/--no-quiet", "-q"),
    ),
    OptionSpec(
        _DISPLAY,
        "verbose",
        "verbose",
        FlagType(),
        "Show the slowest items and the most frequent errors too.",
        flags=("--verbose/--no-verbose", "-v"),
    ),
    *TUNING,
)
"""Options of every run, by name."""

ALL = SHARED | {name: option for options in OWN.values() for name, option in options.items()}
