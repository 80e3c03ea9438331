"""Where the value of an option comes from: the first of these that says something.

    the command line  >  INORDER_* variables  >  inorder.toml: [profile.NAME], [stage.NAME], [default]  >  the stage
    >  the default

`inorder.toml` is looked for in the current folder. A profile is chosen with `--profile` or `INORDER_PROFILE`. DATA is
the operator's and not the stage's: every command must find the same one without knowing any stage, so a stage has no
say in it.
"""

import operator
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from inorder.cli.option_types import Refused
from inorder.cli.options import ALL, OWN, PREFIX, PROFILE, SHARED, Given, Option
from inorder.errors import OperatorError
from inorder.stage.contracts import Stage, StageOptions

FILE = "inorder.toml"
_TABLES = ("default", "profile", "stage")
_OTHER_VARIABLES = ("INORDER_PROFILE", "INORDER_DEBUG", "INORDER_API_KEY")


class Value(NamedTuple):
    """What an option is, and who says so."""

    value: Any
    origin: str


class Settings(NamedTuple):
    """Every option."""

    values: dict[str, Value]
    base: StageOptions
    """Of the stage, for everything that is no shared option."""
    file: str | None
    profile: str | None
    own: dict[str, Value] = {}  # noqa: RUF012
    """Settings of the stage itself, as far as somebody says something."""

    @property
    def data(self) -> str:
        """DATA."""
        return str(self.values["data"].value)

    def options(self) -> StageOptions:
        """As a run takes them."""
        fields: dict[str, Any] = {}
        parts: dict[str, dict[str, Any]] = {}
        for name, found in self.values.items():
            part, _, field = SHARED[name].field.rpartition(".")
            if name != "quiet":
                (parts.setdefault(part, {}) if part else fields)[field] = found.value
        for part, values in parts.items():
            fields[part] = msgspec.structs.replace(getattr(self.base, part), **values)
        is_quiet = self.values["quiet"].value
        if is_quiet != (self.base.progress == "none"):
            fields["progress"] = "none" if is_quiet else "auto"
        return msgspec.structs.replace(self.base, **fields)


_Layer = dict[str, Value]
"""What one place says."""


def resolve(given: Given, stage: Stage | None = None, *, name: str | None = None) -> Settings:
    """Ask every place. Without a stage, or the name of one, nothing that is said of one alone."""
    name = stage.name if stage is not None else name
    said = {name: value for name, value in given.items() if name != PROFILE}
    file = _read_file()
    profile = given.get(PROFILE) or os.environ.get("INORDER_PROFILE")
    layers = [
        _layer(said, lambda option: option.flag, lambda option: "command line"),
        _layer(_environment(), lambda option: option.variable, lambda option: f"environment {option.variable}"),
        *_file_layers(file or {}, profile, name),
    ]
    base = StageOptions() if stage is None else stage.options
    values = {}
    for option in SHARED.values():
        values[option.name] = _first(option, layers) or _of_base(option, base)
    own = {option.name: _first(option, layers) for option in OWN.get(name or "", ())}
    said_of_it = {option: value for option, value in own.items() if value is not None}
    return Settings(values, base, FILE if file is not None else None, profile, said_of_it)


def own_settings(given: Given, stage: str) -> dict[str, Any]:
    """What is said of the settings of a stage of ours, by their fields."""
    found = resolve(given, name=stage).own
    return {option.field: found[option.name].value for option in OWN[stage] if option.name in found}


def _first(option: Option, layers: list[_Layer]) -> Value | None:
    return next((layer[option.name] for layer in layers if option.name in layer), None)


def _of_base(option: Option, base: StageOptions) -> Value:
    plain = StageOptions()
    if option.name == "data":
        return Value(plain.data, "default")
    find = operator.attrgetter(option.field)
    value = find(base)
    origin = "default" if value == find(plain) else "the stage"
    return Value(value == "none" if option.name == "quiet" else value, origin)


def _layer(found: Mapping[str, Any], spelled: Callable[[Option], str], origin: Callable[[Option], str]) -> _Layer:
    """Values of options, each read as its kind."""
    values = {}
    for name, value in found.items():
        option = ALL[name]
        try:
            values[name] = Value(option.kind.read(value), origin(option))
        except Refused:
            raise OperatorError(f"{spelled(option)} must be {option.kind.allowed}; got {value!r}") from None
    return values


# ---- the environment


def _environment() -> dict[str, str]:
    by_variable = {option.variable: option.name for option in ALL.values()}
    found = {}
    for variable, value in sorted(os.environ.items()):
        if variable in by_variable:
            found[by_variable[variable]] = value
        elif variable.startswith(PREFIX) and variable not in _OTHER_VARIABLES:
            allowed = ", ".join([*by_variable, "INORDER_PROFILE"])
            raise OperatorError(f"the variable {variable} is no setting of inorder; there are: {allowed}")
    return found


# ---- the file


def _read_file() -> dict[str, Any] | None:
    try:
        with open(FILE, "rb") as file:
            found = tomllib.load(file)
    except FileNotFoundError:
        return None
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OperatorError(f"{FILE} cannot be read: {error}") from None
    for table, value in found.items():
        if table not in _TABLES:
            raise OperatorError(
                f"{FILE}: {table} is no table of it; there are: [default], [profile.NAME], [stage.NAME]"
            )
        tables = [value] if table == "default" else value.values() if isinstance(value, dict) else [None]
        if not all(isinstance(each, dict) for each in tables):
            spelled = "[default]" if table == "default" else f"[{table}.NAME]"
            raise OperatorError(f"{FILE}: {table} must be written as a table: {spelled}")
    return found


def _file_layers(file: Mapping[str, Any], profile: str | None, stage: str | None) -> Iterator[_Layer]:
    """Every table is checked, also those that are not asked for: a mistake in one is told before it matters."""
    profiles, stages = file.get("profile", {}), file.get("stage", {})
    if profile is not None and profile not in profiles:
        known = ", ".join(profiles) or "none"
        raise OperatorError(f"there is no [profile.{profile}] in {FILE}; profiles there: {known}")
    layers = {f"profile.{name}": _table(f"profile.{name}", table) for name, table in profiles.items()}
    layers |= {f"stage.{name}": _table(f"stage.{name}", table) for name, table in stages.items()}
    layers["default"] = _table("default", file.get("default", {}))
    for name in (f"profile.{profile}", f"stage.{stage}", "default"):
        if name in layers:
            yield layers[name]


def _table(name: str, found: Mapping[str, Any]) -> _Layer:
    for key in found:
        if key not in ALL:
            raise OperatorError(f"{FILE}: {key} in [{name}] is no setting; there are: {', '.join(ALL)}")
        if key == "data" and name.startswith("stage."):
            raise OperatorError(f"{FILE}: data in [{name}] cannot be: all stages share one DATA; put it in [default]")
    return _layer(found, lambda option: f"{FILE}: {option.name} in [{name}]", lambda option: f"{FILE} [{name}]")
