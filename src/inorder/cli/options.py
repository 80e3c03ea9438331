"""The options that every command which runs a stage shares, and the one place where they are described.

Each has one name: `timeout_s` is `--timeout-s` on the command line, `INORDER_TIMEOUT_S` in the environment and
`timeout_s` in `inorder.toml`. A command takes all of them with `@runner_options` and is handed those that were given;
`settings.py` adds what the other places say.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple

import typer

from inorder.cli.option_types import Amount, Amounts, Choice, Flag, Kind, Seconds, Size, Text, Whole
from inorder.engines.base import WORKERS_MAX

PREFIX = "INORDER_"
Given = Mapping[str, Any]
"""What stood on the command line, by the name of the option."""


class Option(NamedTuple):
    """One shared option."""

    name: str
    field: str
    """Of `StageOptions`; with a dot, of a part of them."""
    kind: Kind
    help: str
    default: str
    """In words."""
    flags: tuple[str, ...] = ()
    """Where they are not simply the name."""
    metavar: str = ""

    @property
    def variable(self) -> str:
        """In the environment."""
        return PREFIX + self.name.upper()

    @property
    def flag(self) -> str:
        """On the command line."""
        return self.flags[0].split("/")[0] if self.flags else "--" + self.name.replace("_", "-")

    def parameter(self) -> inspect.Parameter:
        """As Typer wants it. None: not given."""
        text = f"{self.help} Default: {self.default}."
        flags = self.flags or (self.flag,)
        if isinstance(self.kind, Flag):
            annotation: Any = Annotated[bool | None, typer.Option(*flags, help=text, show_default=False)]
        else:
            words = list(self.kind.words) if isinstance(self.kind, Choice) else []
            shown = typer.Option(*flags, help=text, metavar=self.metavar, autocompletion=lambda: words)
            annotation = Annotated[str | None, shown]
        return inspect.Parameter(self.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


SHARED = {
    option.name: option
    for option in (
        Option("data", "data", Text(), "DATA: the folder that everything goes to.", ".inorder", metavar="DIR"),
        Option(
            "workers",
            "workers",
            Whole(1, WORKERS_MAX, "auto"),
            "How many items are worked on at once.",
            "auto, one a processor and two for the policy io; on Ray as many as the cluster has room for",
            metavar="N",
        ),
        Option(
            "engine",
            "engine",
            Choice("local", "ray"),
            "Where workers are: on this machine, or on a Ray cluster.",
            "local",
            metavar="local|ray",
        ),
        Option(
            "ray_address",
            "ray.address",
            Text("none"),
            "The Ray cluster: HOST:PORT, or auto for the one this machine belongs to.",
            "none, what RAY_ADDRESS says, or else this machine alone",
            metavar="ADDR",
        ),
        Option("ray_cpus", "ray.cpus", Amount(), "Processors of one worker on Ray.", "1", metavar="N"),
        Option(
            "ray_gpus",
            "ray.gpus",
            Amount(),
            "GPUs of one worker on Ray; may be a part of one.",
            "0, and 1 for the policy gpu",
            metavar="N",
        ),
        Option(
            "ray_resources",
            "ray.resources",
            Amounts(),
            "Further resources of one worker on Ray, as the nodes announce them.",
            "none",
            metavar="NAME=N,...",
        ),
        Option(
            "ray_files",
            "ray.files",
            Choice("auto", "shared", "send"),
            "How nodes come to files: shared, they see them at the same paths; send, files travel with items and "
            "results; auto, to the nodes that do not see DATA.",
            "auto",
            metavar="auto|shared|send",
        ),
        Option(
            "ray_send_max",
            "ray.send_bytes_max",
            Size(),
            "The most that is sent along with an item; what is larger is done on this machine.",
            "64M",
            metavar="SIZE",
        ),
        Option(
            "policy",
            "policy",
            Choice("io", "cpu", "gpu"),
            "Where items run: io and gpu in threads, cpu in processes, which survive crashes and can be killed.",
            "io",
            metavar="io|cpu|gpu",
        ),
        Option(
            "schedule",
            "schedule",
            Choice("fifo", "sjf"),
            "Which items begin first: fifo in the order of the plan, sjf the cheapest. Results are in order anyway.",
            "fifo",
            metavar="fifo|sjf",
        ),
        Option(
            "timeout_s",
            "timeout_s",
            Seconds(),
            "Fail an item that takes longer than this.",
            "0, no limit",
            metavar="SECONDS",
        ),
        Option(
            "retries",
            "retries",
            Whole(0, 1000),
            "Try an item again this often if it failed for a reason that may pass.",
            "0",
            metavar="N",
        ),
        Option(
            "retry_backoff_s",
            "retry_backoff_s",
            Seconds(),
            "Wait this long before the first retry, and twice as long before each further one.",
            "0.1",
            metavar="SECONDS",
        ),
        Option(
            "error_budget",
            "error_budget",
            Whole(0, 10**12, "none"),
            "Stop once more items than this have failed; 0 stops at the first.",
            "none, never stop for failures",
            metavar="N",
        ),
        Option(
            "max_queue",
            "max_queue",
            Whole(1, 2**20),
            "Read at most this many items of the plan ahead of the workers; on Ray at least eight for each of them.",
            "1024",
            metavar="N",
        ),
        Option(
            "resume",
            "resume",
            Flag(),
            "Go on with an interrupted run, and skip what is done.",
            "resume",
            flags=("--resume/--no-resume",),
        ),
        Option(
            "force", "force", Flag(), "Do everything again, also what is done.", "no", flags=("--force/--no-force",)
        ),
        Option(
            "fingerprinting",
            "fingerprinting",
            Flag(),
            "Skip an item only if its inputs and configuration are those that its outputs were made of; without it, if "
            "its outputs are there.",
            "fingerprinting",
            flags=("--fingerprinting/--no-fingerprinting",),
        ),
        Option(
            "fsync",
            "fsync",
            Choice("always", "batch", "interval", "off"),
            "When to wait for the disk. Nothing is lost when a program dies; this is about the loss of power.",
            "batch",
            metavar="always|batch|interval|off",
        ),
        Option(
            "memory_limit",
            "memory_bytes_max",
            Size("none"),
            "Address space of a worker process (policy cpu): an item that wants more fails.",
            "none",
            metavar="SIZE",
        ),
        Option(
            "adaptive",
            "adaptive",
            Flag(),
            "Let the number of workers follow what they achieve, between 1 and --workers.",
            "no",
            flags=("--adaptive/--no-adaptive",),
        ),
        Option(
            "attempts_log",
            "attempts_log",
            Flag(),
            "Write the beginning and end of every attempt to DATA/attempts, for watching from outside.",
            "no",
            flags=("--attempts-log/--no-attempts-log",),
        ),
        Option(
            "quiet",
            "progress",
            Flag(),
            "Show no progress, and a summary only if something went wrong.",
            "no",
            flags=("--quiet/--no-quiet", "-q"),
        ),
        Option(
            "verbose",
            "verbose",
            Flag(),
            "Show the slowest items and the most frequent kinds of errors too.",
            "no",
            flags=("--verbose/--no-verbose", "-v"),
        ),
        Option(
            "i_know_what_im_doing",
            "i_know_what_im_doing",
            Flag(),
            "Run a stage made for the policy gpu in processes all the same.",
            "no",
            flags=("--i-know-what-im-doing",),
        ),
    )
}

OWN = {
    "doctags": (
        Option(
            "split_pages",
            "split_pages",
            Whole(0, 10**6),
            "Read a PDF with more pages than this in parts of as many, all workers at once; 0: never.",
            "100",
            metavar="N",
        ),
        Option(
            "reader",
            "reader",
            Choice("native", "docling"),
            "Who reads documents: native, or docling for all kinds that it reads without models.",
            "native",
            metavar="native|docling",
        ),
        Option(
            "ocr",
            "ocr",
            Flag(),
            "Recognise text in the pictures of PDF pages that have no other.",
            "no",
            flags=("--ocr/--no-ocr",),
        ),
    ),
    "chunk": (
        Option(
            "tokens_max",
            "tokens_max",
            Whole(1, 10**6),
            "The most tokens that a chunk has.",
            "512",
            metavar="N",
        ),
        Option(
            "tokens_min",
            "tokens_min",
            Whole(0, 10**6, "auto"),
            "Join a chunk with fewer tokens to a neighbour where both fit together.",
            "auto, half of --tokens-max",
            metavar="N",
        ),
        Option(
            "tokenizer",
            "tokenizer",
            Text(),
            "How tokens are counted: words, or hf:PATH for a tokenizer.json.",
            "words",
            metavar="words|hf:PATH",
        ),
        Option(
            "format",
            "format",
            Choice("parquet", "jsonl"),
            "The files that chunks are written to.",
            "parquet",
            metavar="parquet|jsonl",
        ),
    ),
    "embed": (
        Option(
            "dense",
            "dense",
            Text(),
            "Who makes dense vectors: hash, hash:DIMENSIONS, minilm, onnx:DIR, sentence-transformers:NAME, tei:URL, "
            "openai:URL#MODEL, or none.",
            "hash",
            metavar="PROVIDER",
        ),
        Option(
            "sparse", "sparse", Text(), "Who makes sparse vectors: splade:NAME, or none.", "none", metavar="PROVIDER"
        ),
        Option(
            "lexical",
            "lexical",
            Flag(),
            "Count the terms of chunks, for BM25.",
            "yes",
            flags=("--lexical/--no-lexical",),
        ),
    ),
}
"""Settings of our own stages, by stage; `field` is one of the stage's settings."""
ALL = SHARED | {option.name: option for options in OWN.values() for option in options}

_PROFILE = inspect.Parameter(
    "profile",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        str | None, typer.Option("--profile", metavar="NAME", help="Use [profile.NAME] of inorder.toml.")
    ],
)
PROFILE = _PROFILE.name

DataOption = Annotated[
    str | None, typer.Option("--data", metavar="DIR", help="DATA: the folder to look at. Default: .inorder.")
]
StageOption = Annotated[
    str | None, typer.Option("--stage", metavar="NAME", help="Only this stage. Default: every stage in DATA.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout, for programs.")]


def options_of(*stages: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command all shared options and those of some stages of ours; what was given reaches it as `given`."""
    return functools.partial(_with_options, [option for stage in stages for option in OWN[stage]])


def runner_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command all shared options; those that were given reach it as `given`."""
    return _with_options([], function)


def _with_options(more: list[Option], function: Callable[..., None]) -> Callable[..., None]:
    signature = inspect.signature(function, eval_str=True)
    own = [parameter for parameter in signature.parameters.values() if parameter.name != "given"]
    shared = [*(option.parameter() for option in (*more, *SHARED.values())), _PROFILE]

    @functools.wraps(function)
    def command(**values: Any) -> None:
        said = {parameter.name: values.pop(parameter.name) for parameter in shared}
        function(**values, given={name: value for name, value in said.items() if value is not None})

    own = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
    command.__signature__ = signature.replace(parameters=[*own, *shared])  # type: ignore[attr-defined]
    return command
