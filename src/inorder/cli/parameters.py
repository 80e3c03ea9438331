"""Parameters of commands: the options of a run, and those that several commands share."""

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer

from inorder.cli.former_flags import warn_of_flags
from inorder.cli.keys import list_step_keys, read_assignments
from inorder.cli.option_spec import OptionSpec, Section
from inorder.cli.option_types import ChoiceType, FlagType
from inorder.cli.options import EVERYDAY, PROFILE, SHARED
from inorder.cli.step_options import OWN
from inorder.errors import OperatorError

Given = Mapping[str, Any]
"""The options on the command line by key: the name, or `STEP.NAME`."""


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
    make_argument("SRC...", "Files, folders and addresses (s3://BUCKET/PREFIX)."),
]
DataOption = Annotated[
    str | None, make_option(Section.INPUT, "DIR", "Directory to read (DATA). Default: .inorder.", "--data")
]
StageOption = Annotated[
    str | None, make_option(Section.INPUT, "NAME", "Only this stage. Default: every stage in DATA.", "--stage")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]


_PROFILE = make_option(Section.EXECUTION, "NAME", "Use [profile.NAME] of inorder.toml. Default: none.", "--profile")
_SET = "assignments"


def run_options(
    describe_defaults: Callable[[], Mapping[str, str]],
    steps: Sequence[str] = (),
    names: Iterable[str] = SHARED,
    flags: Collection[str] = EVERYDAY,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a run with these names, and those of some steps. Options in `flags` are flags of
    the command, all can be given with `--set`. The function receives what was given as `given`. `describe_defaults`
    returns the defaults to show in help, by option."""
    options = {name: option for step in steps for name, option in OWN.get(step, {}).items()}
    options |= {name: SHARED[name] for name in names}
    keys = options | list_step_keys(steps)
    former = [option for name, option in options.items() if name not in flags]
    more = [
        _make_parameter(PROFILE, str | None, _PROFILE),
        _make_parameter(_SET, list[str] | None, _make_set_option([f"{key}=" for key in keys])),
    ]

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(function, eval_str=True)
        own = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in signature.parameters.values()
            if parameter.name != "given"
        ]
        shared = [*(_to_parameter(option, option not in former) for option in options.values()), *more]

        @functools.wraps(function)
        def command(**values: Any) -> None:
            found = {parameter.name: values.pop(parameter.name) for parameter in shared}
            given = {name: value for name, value in found.items() if value is not None}
            assignments = read_assignments(given.pop(_SET, ()), keys)
            for name in given.keys() & assignments.keys():
                raise OperatorError(f"{options[name].flag} and --set {name} set the same option; give one of them")
            warn_of_flags([option for option in former if option.name in given], given)
            function(**values, given=given | assignments)

        command.__signature__ = signature.replace(parameters=[*own, *shared])  # type: ignore[attr-defined]
        command.describe_defaults = describe_defaults  # type: ignore[attr-defined]
        return command

    return decorate


def _make_set_option(words: list[str]) -> Any:
    help_ = "Set a key of `inorder config keys`; repeatable."
    return make_option(Section.EXECUTION, "KEY=VALUE", help_, "--set", autocompletion=lambda: words)


def _make_parameter(name: str, type_: Any, option: Any) -> inspect.Parameter:
    """A parameter for Typer. None means that it was not given."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[type_, option])


def _to_parameter(option: OptionSpec, is_shown: bool) -> inspect.Parameter:
    shared: dict[str, Any] = {"help": option.help, "rich_help_panel": option.section, "show_default": False}
    shared |= {"hidden": not is_shown}
    if isinstance(option.type, FlagType):
        return _make_parameter(option.name, bool | None, typer.Option(*option.spellings, **shared))
    words = list(option.type.words) if isinstance(option.type, ChoiceType) else []
    shared |= {"metavar": option.value or option.type.metavar, "autocompletion": lambda: words}
    return _make_parameter(option.name, str | None, typer.Option(*option.spellings, **shared))
