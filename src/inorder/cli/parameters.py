"""Parameters of commands: the options of a run, and those that several commands share."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer

from inorder.cli.option_spec import OptionSpec, Section
from inorder.cli.option_types import ChoiceType, FlagType
from inorder.cli.options import PROFILE, SHARED
from inorder.cli.step_options import OWN

Given = Mapping[str, Any]
"""The options on the command line, by name."""


def make_argument(metavar: str, help_: str) -> Any:
    """Declare an argument of a command."""
    return typer.Argument(metavar=metavar, help=help_, rich_help_panel=Section.INPUT, show_default=False)


def make_option(section: Section, metavar: str, help_: str, *flags: str, **more: Any) -> Any:
    """Declare an option of a command. Without `flags` it is called as its parameter. Help names its default."""
    return typer.Option(
        *flags, metavar=metavar or None, help=help_, rich_help_panel=section, show_default=False, **more
    )


def make_choice(section: Section, flag: str, words: Iterable[str], help_: str) -> Any:
    """Declare an option of a command whose value is one of some words."""
    return make_option(section, "|".join(words), help_, flag, autocompletion=lambda: list(words))


SourcesArgument = Annotated[
    list[str],
    make_argument("SRC...", "Files, directories and addresses (s3://bucket/prefix), documents and code alike."),
]
DataOption = Annotated[
    str | None, make_option(Section.INPUT, "DIR", "Directory to read (DATA). Default: .inorder.", "--data")
]
StageOption = Annotated[
    str | None, make_option(Section.INPUT, "NAME", "Only this stage. Default: every stage in DATA.", "--stage")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
_PROFILE = inspect.Parameter(
    PROFILE,
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        str | None,
        make_option(Section.EXECUTION, "NAME", "Use [profile.NAME] of inorder.toml. Default: none.", "--profile"),
    ],
)


def run_options(
    describe_defaults: Callable[[], Mapping[str, str]], stages: Sequence[str] = (), shared_names: Iterable[str] = SHARED
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a run, or some of them, and those of some steps. The function receives
    the options that were given as `given`. `describe_defaults` returns the defaults to show in help, by option."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(function, eval_str=True)
        own = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in signature.parameters.values()
            if parameter.name != "given"
        ]
        options = list({name: option for stage in stages for name, option in OWN.get(stage, {}).items()}.values())
        options += [SHARED[name] for name in shared_names]
        shared = [*map(_to_parameter, options), _PROFILE]

        @functools.wraps(function)
        def command(**values: Any) -> None:
            found = {parameter.name: values.pop(parameter.name) for parameter in shared}
            function(**values, given={name: value for name, value in found.items() if value is not None})

        command.__signature__ = signature.replace(parameters=[*own, *shared])  # type: ignore[attr-defined]
        command.describe_defaults = describe_defaults  # type: ignore[attr-defined]
        return command

    return decorate


def _to_parameter(option: OptionSpec) -> inspect.Parameter:
    """The parameter for Typer. None means that the option was not given."""
    shared: dict[str, Any] = {"help": option.help, "rich_help_panel": option.section, "show_default": False}
    if isinstance(option.type, FlagType):
        annotation: Any = Annotated[bool | None, typer.Option(*option.spellings, **shared)]
    else:
        words = list(option.type.words) if isinstance(option.type, ChoiceType) else []
        shared |= {"metavar": option.value or option.type.metavar, "autocompletion": lambda: words}
        annotation = Annotated[str | None, typer.Option(*option.spellings, **shared)]
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
