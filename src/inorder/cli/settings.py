"""Where the value of an option comes from: the first of these that says something.

    the command line  >  INORDER_* variables  >  inorder.toml: [profile.NAME], [stage.NAME], [default]  >  the stage
    >  the default

`inorder.toml` is looked for in the current folder. A profile is chosen with `--profile` or `INORDER_PROFILE`. DATA is
the operator's and not the stage's: every command must find the same one without knowing any stage, so a stage has no
say in it.
"""

import os
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from inorder.cli.kinds import Refused
from inorder.cli.options import PREFIX, PROFILE, SHARED, Given, Option
from inorder.core.options import OperatorError
from inorder.stage.contracts import Stage, StageOptions

FILE = "inorder.toml"
_TABLES = ("default", "profile", "stage")
_OTHER_VARIABLES = ("INORDER_PROFILE", "INORDER_DEBUG")


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

    @property
    def data(self) -> str:
        """DATA."""
        return str(self.values["data"].value)

    def options(self) -> StageOptions:
        """As a run takes them."""
        fields = {SHARED[name].field: found.value for name, found in self.values.items() if name != "quiet"}
        is_quiet = self.values["quiet"].value
        if is_quiet != (self.base.progress == "none"):
            fields["progress"] = "none" if is_quiet else "auto"
        return msgspec.structs.replace(self.base, **fields)


class _Layer(NamedTuple):
    """What one place says."""

    values: Mapping[str, Any]
    origin: str
    """`{}` is the name in that place."""


def resolve(given: Given, stage: Stage | None = None, *, name: str | None = None) -> Settings:
    """Ask every place. `name` is that of the stage, where the stage itself is not at hand."""
    said = {option: value for option, value in given.items() if option != PROFILE}
    file = _read_file()
    profile = given.get(PROFILE) or os.environ.get("INORDER_PROFILE")
    layers = [
        _checked({option: said[option] for option in said}, lambda option: option.flag, "command line {}"),
        _checked(_environment(), lambda option: option.variable, "environment {}"),
        *_file_layers(file or {}, profile, stage.name if stage is not None else name),
    ]
    base = stage.options if stage is not None else StageOptions()
    values = {}
    for option in SHARED.values():
        found = next((layer for layer in layers if option.name in layer.values), None)
        values[option.name] = _of_base(option, base) if found is None else _of(option, found)
    return Settings(values, base, FILE if file is not None else None, profile)


def _of(option: Option, layer: _Layer) -> Value:
    spelled = {"command line {}": option.flag, "environment {}": option.variable}.get(layer.origin, "")
    return Value(layer.values[option.name], layer.origin.format(spelled))


def _of_base(option: Option, base: StageOptions) -> Value:
    plain = StageOptions()
    if option.name == "data":
        return Value(plain.data, "default")
    value = getattr(base, option.field)
    origin = "default" if value == getattr(plain, option.field) else "the stage"
    return Value(value == "none" if option.name == "quiet" else value, origin)


def _checked(found: Mapping[str, Any], spelled: Any, origin: str) -> _Layer:
    """Values of shared options, each read as its kind."""
    values = {}
    for name, value in found.items():
        option = SHARED[name]
        try:
            values[name] = option.kind.read(value)
        except Refused:
            raise OperatorError(f"{spelled(option)} must be {option.kind.allowed}; got {value!r}") from None
    return _Layer(values, origin)


# ---- the environment


def _environment() -> dict[str, str]:
    by_variable = {option.variable: option.name for option in SHARED.values()}
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
            raise OperatorError(f"{FILE}: {table} is no table of it; there are: [default], [profile.NAME], [stage.NAME]")
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
    layers = {("profile", name): _table(f"profile.{name}", table) for name, table in profiles.items()}
    layers |= {("stage", name): _table(f"stage.{name}", table) for name, table in stages.items()}
    layers["default", ""] = _table("default", file.get("default", {}))
    for key in (("profile", profile), ("stage", stage), ("default", "")):
        if key in layers:
            yield layers[key]  # type: ignore[index]


def _table(name: str, found: Mapping[str, Any]) -> _Layer:
    for key in found:
        if key not in SHARED:
            raise OperatorError(f"{FILE}: {key} in [{name}] is no setting; there are: {', '.join(SHARED)}")
        if key == "data" and name.startswith("stage."):
            raise OperatorError(f"{FILE}: data in [{name}] cannot be: all stages share one DATA; put it in [default]")
    return _checked(found, lambda option: f"{FILE}: {option.name} in [{name}]", f"{FILE} [{name}]")
