"""The description of one option: its group in help, its names, its type and its text."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from inorder.cli.option_types import FlagType, OptionType

PREFIX = "INORDER_"


class Section(StrEnum):
    """Titles of the groups of options in help."""

    INPUT = "Input"
    CONTENT = "Documents"
    QUERY = "Query"
    OUTPUT = "Output"
    EXECUTION = "Execution"
    DISPLAY = "Display"


SECTIONS = tuple(section.value for section in Section)


class OptionSpec(NamedTuple):
    """One option of a run."""

    section: Section
    name: str
    type: OptionType
    help: str
    value: str = ""
    """What help calls the value, where that is not what its type is called."""
    path: str = ""
    """The field, where it has another name: `part.field` for a nested one."""
    flags: tuple[str, ...] = ()
    """Spellings on the command line, where they differ from the name."""
    meanings: Mapping[str, str] = {}
    """What a default means that does not speak for itself."""
    needs_trust: Callable[[Any], bool] = lambda value: False
    """Whether a value runs code, reads secrets or sends content elsewhere: see `extensions.trust`."""

    @property
    def field(self) -> str:
        """The field of `StageOptions` or, for an option of a step, of `PipelineSettings`."""
        return self.path or self.name

    @property
    def variable(self) -> str:
        """The environment variable."""
        return PREFIX + self.name.upper()

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return self.spellings[0].split("/")[0]

    @property
    def spellings(self) -> tuple[str, ...]:
        """All spellings on the command line, those that set and clear a flag with a slash between them."""
        flag = "--" + self.name.replace("_", "-")
        is_flag = isinstance(self.type, FlagType)
        return self.flags or (f"{flag}/--no-{flag.removeprefix('--')}" if is_flag else flag,)

    @property
    def unit(self) -> str:
        """What a number counts or is measured in; empty for what is no number."""
        return "" if self.type.unit is None else self.type.unit or self.name

    def format_default(self, value: Any) -> str:
        """A default value for help."""
        text = self.type.format(value)
        meaning = self.meanings.get(text)
        return f"{text} ({meaning})" if text and meaning else text or meaning or ""


def unless(*values: Any) -> Callable[[Any], bool]:
    """Return that all values but these need trust."""
    return lambda value: value not in values


def make_part_option(
    section: Section, part: str, name: str, type_: OptionType, help_: str, value: str = "", **more: Any
) -> OptionSpec:
    """Declare an option of a part of the options: its field is `part.name`."""
    return OptionSpec(section, f"{part}_{name}", type_, help_, value, f"{part}.{name}", **more)


def index_by_name(*options: OptionSpec) -> dict[str, OptionSpec]:
    """The options by name."""
    return {option.name: option for option in options}
