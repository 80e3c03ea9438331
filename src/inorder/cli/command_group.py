"""The lazy group of commands, and help that begins with an example and has options in titled sections."""

import importlib
import os
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from inorder.cli.commands import COMMANDS, EXAMPLES, GROUPS, find_module
from inorder.cli.option_spec import SECTIONS, Section
from inorder.cli.output import DEBUG
from inorder.errors import OperatorError
from inorder.host.system import require_posix
from inorder.version import __version__

_SETTINGS: dict[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


_COMPILED = "inorder.index.lexical._counter"
_UsageError: Any = typer.BadParameter.__base__
"""The exception for a mistake on the command line. Typer does not export it."""


def write_example(ctx: Any, formatter: Any) -> None:
    """Write the example that help begins with."""
    path = ctx.command_path.partition(" ")[2]
    formatter.write(f"Example: {EXAMPLES[path]}\n\n")


class SectionedCommand(TyperCommand):
    """A command whose help shows options in titled sections, with the defaults that hold for it."""

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """Write the example and the usage."""
        write_example(ctx, formatter)
        super().format_usage(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the sections."""
        defaults = self.describe_defaults()
        for title, parameters in self.list_sections(ctx).items():
            rows = []
            for parameter in parameters:
                spelling, text = parameter.get_help_record(ctx) or ("", "")
                default = defaults.get(parameter.name or "")
                rows.append((spelling.partition(" / ")[0], f"{text} Default: {default}." if default else text))
            with formatter.section(title):
                formatter.write_dl(rows)

    def list_sections(self, ctx: Any) -> dict[str, list[Any]]:
        """The visible parameters by section, in the order of the sections."""
        found: dict[str, list[Any]] = {title: [] for title in SECTIONS}
        for parameter in self.get_params(ctx):
            if parameter.get_help_record(ctx) is not None:
                found[getattr(parameter, "rich_help_panel", None) or Section.DISPLAY].append(parameter)
        return {title: parameters for title, parameters in found.items() if parameters}

    def describe_defaults(self) -> Mapping[str, str]:
        """The defaults that are computed, in words, by parameter."""
        describe: Callable[[], Mapping[str, str]] = getattr(self.callback, "describe_defaults", dict)
        return describe()


def load_command(name: str) -> Any:
    """Import a command and make it one of Typer's. Raises OperatorError on a system that has none of them."""
    require_posix("commands")
    found = getattr(importlib.import_module(find_module(name)), name)
    if not isinstance(found, typer.Typer):
        function, found = found, typer.Typer(**_SETTINGS)
        found.command(name, cls=SectionedCommand)(function)
    command = typer.main.get_command(found)
    command.name = name
    return command


class ExampleGroup(TyperGroup):
    """A group of commands whose help begins with an example."""

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """Write the example and the usage."""
        write_example(ctx, formatter)
        super().format_usage(ctx, formatter)


class CommandGroup(ExampleGroup):
    """All commands. Each is imported when it is run; help and completion of their names import none of them."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: TyperCommand(name, short_help=text) for name, text in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command of a command line, and import it."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and load_command(command.name or ""), rest

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands in their groups, and then the options."""
        width = max(map(len, COMMANDS))
        for title, members in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), COMMANDS[name]) for name in members])
        with formatter.section("Options"):
            formatter.write_dl([parameter.get_help_record(ctx) for parameter in self.get_params(ctx)])


app = typer.Typer(
    name="inorder",
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog="Next: `inorder run --help`; each command explains itself with --help.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def invoke(arguments: list[str]) -> int:
    """Run a command line. Returns the exit code. A mistake on the command line is an `OperatorError`."""
    try:
        code = app(args=arguments, prog_name="inorder", standalone_mode=False)
    except _UsageError as error:
        message = error.format_message()
        if "\n" in message:  # the help, for a group without a command
            error.show()
            return int(error.exit_code)
        message = f"{message[0].lower()}{message[1:]}".rstrip(".").replace(". Did you", "; did you")
        see = " See" if message.endswith("?") else "; see"
        command = "inorder" if error.ctx is None else error.ctx.command_path
        raise OperatorError(f"{message}{see} `{command} --help`") from error
    return code or 0


def _can_import(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        note = "" if _can_import(_COMPILED) else " (without its compiled module: indexing is slower)"
        typer.echo(f"inorder {__version__}{note}")
        raise typer.Exit


@app.callback()
def inorder(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Make folders of documents and source code searchable, and keep them so: only what has changed is read again."""
    if debug:
        os.environ[DEBUG] = "1"
