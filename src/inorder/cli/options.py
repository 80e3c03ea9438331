"""Every option that can be set in more than one place, described once.

An option has one name: `timeout_s` is `--timeout-s` on the command line, `INORDER_TIMEOUT_S` in the environment and
`timeout_s` in `inorder.toml`. `parameters.py` makes parameters of commands from these descriptions; `settings.py` reads
the other places. Help texts name no defaults: those depend on the stage, and are computed when help is shown.
"""

from functools import partial

from inorder.cli.option_spec import OptionSpec, Section, index_by_name, make_part_option
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
from inorder.cli.step_options import OWN
from inorder.cli.tuning_options import TUNING
from inorder.engines.base import WORKERS_MAX

PROFILE = "profile"
"""Names a profile; can be given on the command line and in the environment only."""

_output, _execution, _failures, _display = (
    partial(OptionSpec, section) for section in (Section.OUTPUT, Section.EXECUTION, Section.FAILURES, Section.DISPLAY)
)
_ray = partial(make_part_option, Section.RAY, "ray")

SHARED = index_by_name(
    _output("data", TextType(), "Directory for all results (DATA).", "DIR"),
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
    _output("telemetry_dir", TextType("none"), "Directory for telemetry.", "DIR", meanings={"none": "DATA/telemetry"}),
    _output("metrics_file", TextType("none"), "Write metrics for Prometheus to this file at the end.", "PATH"),
    _execution(
        "workers",
        IntegerType(1, WORKERS_MAX, "auto"),
        "Number of items processed at the same time.",
        meanings={"auto": "one per CPU, two per CPU for policy io; on Ray, as many as the cluster has room for"},
    ),
    _execution("adaptive", FlagType(), "Adapt the number of workers to their throughput, between 1 and --workers."),
    _execution(
        "policy",
        ChoiceType("io", "cpu", "gpu"),
        "Worker type: io and gpu use threads, cpu uses processes, which can be killed and survive crashes.",
    ),
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
        IntegerType(1, 2**20),
        "Items read from the plan ahead of the workers; on Ray, at least eight per worker.",
    ),
    _execution(
        "memory_bytes_max",
        SizeType("none"),
        "Address space of a worker process (policy cpu). An item that needs more fails.",
    ),
    _execution(
        "recycle_tasks",
        IntegerType(1, 10**12, "none"),
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
    _execution("force", FlagType(), "Process all items, including those that are up to date."),
    _execution(
        "fingerprinting",
        FlagType(),
        "An item is up to date if its inputs and settings are unchanged; without this, if its outputs exist.",
    ),
    _failures(
        "timeout_s", SecondsType(), "Time limit per item. An item that takes longer fails.", meanings={"0": "no limit"}
    ),
    _failures("retries", IntegerType(0, 1000), "Further attempts per item after an error that may be temporary."),
    _failures("retry_backoff_s", SecondsType(), "Delay before the first retry. It doubles with each further one."),
    _failures(
        "error_budget",
        IntegerType(0, 10**12, "none"),
        "Stop when more items than this have failed. 0 stops at the first failure.",
        meanings={"none": "failures never stop a run"},
    ),
    _failures(
        "on_budget",
        ChoiceType("stop", "drain"),
        "Running items when the error budget is exceeded: end them after --cancel-grace-s, or let them end.",
    ),
    _failures(
        "infrastructure_budget",
        IntegerType(0, 2**30),
        "Stop when more workers than this are lost before a window of items is committed. The run can be resumed.",
    ),
    _failures(
        "cancel_grace_s",
        SecondsType(),
        "How long running items may continue when a run is stopped. Then their processes are killed.",
    ),
    _failures(
        "lease_s",
        SecondsType(),
        "Replace a worker process without heartbeat after this time, and run its item again. Items with a time limit "
        "are left to it.",
    ),
    OptionSpec(Section.RAY, "engine", ChoiceType("local", "ray"), "Run workers on this machine or on a Ray cluster."),
    _ray(
        "address",
        TextType("none"),
        "Cluster address: HOST:PORT, or auto for the cluster that this machine belongs to.",
        "ADDR",
        meanings={"none": "RAY_ADDRESS if it is set, otherwise a cluster of this machine alone"},
    ),
    _ray("cpus", NumberType(), "CPUs per worker."),
    _ray("gpus", NumberType(), "GPUs per worker; a fraction is allowed.", meanings={"0": "1 for policy gpu"}),
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
    _display(
        "quiet",
        FlagType(),
        "Show no progress, and a summary only if something failed.",
        path="progress",
        flags=("--quiet/--no-quiet", "-q"),
    ),
    _display(
        "verbose",
        FlagType(),
        "Show the slowest items and the most frequent errors too.",
        flags=("--verbose/--no-verbose", "-v"),
    ),
    *TUNING,
)
"""Options of every run, by name."""

ALL = SHARED | {name: option for options in OWN.values() for name, option in options.items()}
