"""Where the value of an option comes from. The first of these places that sets it counts:

    the command line  >  INORDER_* variables  >  inorder.toml: [profile.NAME], [stage.NAME], [default]
    >  inorder.toml of the user's configuration folder, in the same order  >  the stage  >  the default

The first `inorder.toml` is that of the current directory. It may come with a repository of somebody else: what it sets
that needs trust (`OptionSpec.needs_trust`) counts only if the user has agreed to its content. A profile is chosen with
`--profile` or `INORDER_PROFILE`. A stage cannot set DATA: every command must find it without knowing any stage.

The places are read once per command (`SettingsReader`), and merged once per stage. What is given for one step alone
(`--set STEP.KEY=VALUE`) counts more than what is given for all.
"""

import operator
import os
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from inorder.cli.keys import suggest
from inorder.cli.option_spec import PREFIX, OptionSpec
from inorder.cli.option_types import InvalidValue
from inorder.cli.options import ALL, PROFILE, SHARED
from inorder.cli.step_options import OWN
from inorder.errors import OperatorError
from inorder.extensions.trust import describe_untrusted, find_config_folder, is_file_trusted
from inorder.host.regular_file import open_regular
from inorder.stage.contracts import Stage
from inorder.stage.options import StageOptions

FILE = "inorder.toml"
_TABLES = ("default", "profile", "stage")
_OTHER_VARIABLES = ("INORDER_PROFILE", "INORDER_DEBUG", "INORDER_API_KEY")


class Value(NamedTuple):
    """The value of an option, and the place that sets it."""

    value: Any
    origin: str
    default: Any = None
    is_trusted: bool = True


StructT = TypeVar("StructT", bound=msgspec.Struct)
_Layer = dict[str, Value]
"""The options that one place sets."""


class Settings(NamedTuple):
    """All options of a run of one stage."""

    values: dict[str, Value]
    base: StageOptions
    """The options of the stage, for everything that is not an option of the command line."""
    file: str | None
    """None: there is no settings file."""
    profile: str | None

    @property
    def data(self) -> str:
        """The DATA directory."""
        return str(self.values["data"].value)

    @property
    def is_quiet(self) -> bool:
        """Whether progress and summaries are unwanted."""
        return bool(self.values["quiet"].value)

    def to_options(self) -> StageOptions:
        """The options for the stage runner."""
        fields = {SHARED[name].field: found.value for name, found in self.values.items() if name != "quiet"}
        if self.is_quiet != (self.base.progress == "none"):
            fields["progress"] = "none" if self.is_quiet else "auto"
        return replace_fields(self.base, fields)

    @property
    def data_option(self) -> str:
        """` --data DIR` for commands in hints; empty if they find DATA without it."""
        return f" --data {shlex.quote(self.data)}" if self.values["data"].origin == "command line" else ""


class StageSettings(NamedTuple):
    """The options that are set for one stage, before the defaults of the stage are known."""

    values: _Layer
    file: str | None
    profile: str | None

    def own_values(self, stage: str) -> dict[str, Value]:
        """Options of this step alone, by name."""
        return {name: self.values[name] for name in OWN.get(stage, {}) if name in self.values}

    def own_fields(self, stage: str) -> dict[str, Any]:
        """The values of the same options."""
        return {name: found.value for name, found in self.own_values(stage).items()}

    def with_defaults(self, base: StageOptions, plain: StageOptions | None = None) -> Settings:
        """Complete the settings with the options of the stage. They are its own where they differ from `plain`."""
        plain = plain or StageOptions()
        values = {}
        for name, option in SHARED.items():
            found = _get_base_value(option, base, plain)
            values[name] = self.values.get(name, found)._replace(default=found.default)
        return Settings(values, base, self.file, self.profile)


class SettingsReader:
    """Reads the command line, the environment and the settings file, once."""

    def __init__(self, given: Mapping[str, Any], *, shows_untrusted: bool = False) -> None:
        """`shows_untrusted`: values that are not trusted are returned, to be shown; otherwise they are an error."""
        command_line: dict[str, dict[str, Any]] = {}
        for key, value in given.items():
            step, _, name = key.rpartition(".")
            if name != PROFILE:
                command_line.setdefault(step, {})[name] = value
        self._command_line = {
            step: _parse(values, lambda option: option.flag, lambda option: "command line")
            for step, values in command_line.items()
        }
        self._environment = _parse(
            _read_environment(), lambda option: option.variable, lambda option: f"environment {option.variable}"
        )
        self._profile: str | None = given.get(PROFILE) or os.environ.get("INORDER_PROFILE")
        own = _read_file(str(find_config_folder() / FILE))
        found = _read_file(FILE)
        self._file = None if found is None else FILE
        files = [each for each in (own, found) if each is not None]
        _require_profile(self._profile, files)
        self._tables = [_parse_tables(each) for each in files]
        self._shows_untrusted = shows_untrusted

    def for_stage(self, name: str | None) -> StageSettings:
        """Merge the places for the stage of this name; None: for no stage in particular."""
        values: _Layer = {}
        for tables in self._tables:
            for table in ("default", f"stage.{name}", f"profile.{self._profile}"):
                values |= tables.get(table, {})
        values |= self._environment
        for step in ("", name):
            values |= self._command_line.get(step or "", {})
        untrusted = [key for key, value in values.items() if not value.is_trusted]
        if untrusted and not self._shows_untrusted:
            raise OperatorError(describe_untrusted(FILE, untrusted))
        return StageSettings(values, self._file, self._profile)

    def list_untrusted(self) -> dict[str, Any]:
        """The values in all tables that are not trusted, by table and key."""
        return {
            f"[{table}] {key}": value.value
            for tables in self._tables
            for table, values in tables.items()
            for key, value in values.items()
            if not value.is_trusted
        }

    def require_only(self, stages: Iterable[str], names: Collection[str]) -> None:
        """Raise OperatorError if the table of one of these stages sets another option."""
        for stage in stages:
            for name in [name for tables in self._tables for name in tables.get(f"stage.{stage}", {})]:
                if name not in names:
                    raise OperatorError(
                        f"{FILE}: [stage.{stage}] cannot set {name}, which all steps of a run share; "
                        "set it in [stage.run] or [default]"
                    )


def replace_fields(base: StructT, fields: Mapping[str, Any]) -> StructT:
    """Return a struct with other values. A field of a part of it is named with a dot: `part.field`."""
    own: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {}
    for name, value in fields.items():
        part, _, field = name.rpartition(".")
        (parts.setdefault(part, {}) if part else own)[field] = value
    for part, values in parts.items():
        own[part] = msgspec.structs.replace(getattr(base, part), **values)
    return msgspec.structs.replace(base, **own)


def resolve(given: Mapping[str, Any], stage: Stage | None = None, *, shows_untrusted: bool = False) -> Settings:
    """Read all places, for one stage or for none."""
    found = SettingsReader(given, shows_untrusted=shows_untrusted).for_stage(None if stage is None else stage.name)
    return found.with_defaults(StageOptions() if stage is None else stage.options)


def resolve_data(data: str | None) -> str:
    """Return the directory that the option names, or else the settings."""
    return resolve({} if data is None else {"data": data}).data


def _get_base_value(option: OptionSpec, base: StageOptions, plain: StageOptions) -> Value:
    """The value of an option in the options of the stage, `base`. `plain` has the defaults."""
    if option.name == "data":
        return Value(plain.data, "default", plain.data)
    value, default = map(operator.attrgetter(option.field), (base, plain))
    origin = "default" if value == default else "the stage"
    if option.name == "quiet":
        value, default = value == "none", default == "none"
    return Value(value, origin, default)


def _parse(
    found: Mapping[str, Any], spell: Callable[[OptionSpec], str], name_origin: Callable[[OptionSpec], str]
) -> _Layer:
    values = {}
    for name, value in found.items():
        option = ALL[name]
        try:
            values[name] = Value(option.type.parse(value), name_origin(option))
        except InvalidValue:
            raise OperatorError(f"{spell(option)} must be {option.type.allowed}; got {value!r}") from None
    return values


def _read_environment() -> dict[str, str]:
    by_variable = {option.variable: option.name for option in ALL.values()}
    found = {}
    for variable, value in sorted(os.environ.items()):
        if variable in by_variable:
            found[by_variable[variable]] = value
        elif variable.startswith(PREFIX) and variable not in _OTHER_VARIABLES:
            key = variable.removeprefix(PREFIX).lower()
            raise OperatorError(f"unknown setting {variable} in the environment{suggest(key, ALL)}")
    return found


class SettingsFile(NamedTuple):
    """A settings file."""

    name: str
    """As messages call it."""
    tables: Mapping[str, Any]
    is_trusted: bool


def read_content(path: str) -> bytes | None:
    """Return the content of a settings file; None: there is none. Raises OperatorError if it cannot be read."""
    try:
        with open_regular(path) as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise OperatorError(f"cannot read {path}: {error.strerror or error}") from None


def _read_file(path: str) -> SettingsFile | None:
    """Read a settings file; None: there is none. That of the current directory is trusted by its content."""
    content = read_content(path)
    if content is None:
        return None
    is_trusted = path != FILE or is_file_trusted(path, content)
    return SettingsFile(path, _parse_file(path, content), is_trusted)


def _parse_file(path: str, content: bytes) -> dict[str, Any]:
    """The tables of a settings file."""
    import tomllib

    try:
        found = tomllib.loads(content.decode())
    except UnicodeDecodeError as error:
        raise OperatorError(f"cannot read {path}: the file is not UTF-8 text (byte {error.start})") from None
    except (ValueError, RecursionError) as error:  # not only TOMLDecodeError: for a number of 5,000 digits, too
        raise OperatorError(f"cannot read {path}: {error}") from None
    for table, value in found.items():
        if table not in _TABLES and not isinstance(value, dict):
            problem = f"{table} is" if table in ALL else f"unknown setting {table}"
            what = "it" if table in ALL else "settings"
            raise OperatorError(f"{path}: {problem} outside of any table; put {what} below [default]")
        if table not in _TABLES:
            raise OperatorError(
                f"{path}: unknown table [{table}]; valid tables: [default], [profile.NAME], [stage.NAME]"
            )
        tables = [value] if table == "default" else value.values() if isinstance(value, dict) else [None]
        if not all(isinstance(each, dict) for each in tables):
            spelled = "[default]" if table == "default" else f"[{table}.NAME]"
            raise OperatorError(f"{path}: {table} must be a table: {spelled}")
    return found


def _require_profile(profile: str | None, files: Sequence[SettingsFile]) -> None:
    profiles = [name for file in files for name in file.tables.get("profile", {})]
    if profile is not None and profile not in profiles:
        known = ", ".join(dict.fromkeys(profiles)) or "none"
        raise OperatorError(f"{FILE}: no table [profile.{profile}]; profiles: {known}")


def _parse_tables(file: SettingsFile) -> dict[str, _Layer]:
    """Every table by name. All are checked, also unused ones: a mistake is reported before it matters."""
    profiles, stages = file.tables.get("profile", {}), file.tables.get("stage", {})
    tables = {f"profile.{name}": table for name, table in profiles.items()}
    tables |= {f"stage.{name}": table for name, table in stages.items()}
    tables["default"] = file.tables.get("default", {})
    return {name: _parse_table(file, name, table) for name, table in tables.items()}


def _parse_table(file: SettingsFile, name: str, found: Mapping[str, Any]) -> _Layer:
    for key in found:
        if key not in ALL:
            raise OperatorError(f"{file.name}: unknown setting {key} in [{name}]{suggest(key, ALL)}")
        if key == "data" and name.startswith("stage."):
            raise OperatorError(f"{file.name}: [{name}] cannot set data, which all stages share; set it in [default]")
    values = _parse(
        found, lambda option: f"{file.name}: {option.name} in [{name}]", lambda option: f"{file.name} [{name}]"
    )
    return {
        key: value._replace(is_trusted=file.is_trusted or not ALL[key].needs_trust(value.value))
        for key, value in values.items()
    }


def describe_stage_defaults() -> dict[str, str]:
    """Return the defaults of all options in words, for a stage that is not known yet: it may set others."""
    values = StageSettings({}, None, None).with_defaults(StageOptions()).values
    return {name: option.format_default(values[name].value) for name, option in SHARED.items()}
