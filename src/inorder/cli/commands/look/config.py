"""`inorder config`: every option, its value and where that comes from, its default and its meaning."""

import os
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import typer

from inorder.cli.command_group import ExampleGroup, SectionedCommand
from inorder.cli.data_dir import DataDirectory, open_data
from inorder.cli.former_flags import warn
from inorder.cli.keys import TIMEOUT, list_step_keys, suggest
from inorder.cli.option_spec import OptionSpec, Section
from inorder.cli.options import ALL, EVERYDAY
from inorder.cli.output import format_table, info, print_json, print_out
from inorder.cli.parameters import Given, JsonOption, make_argument, make_option, run_options
from inorder.cli.pipeline import (
    ALL_STEPS,
    RUN,
    RUN_OPTIONS,
    STEPS,
    describe_defaults,
    list_trust,
    read_run_settings,
    read_step_values,
)
from inorder.cli.settings import FILE, Settings, SettingsReader, Value, describe_stage_defaults, read_content, resolve
from inorder.cli.stage_loader import ENTRY, load_job, load_recorded_job
from inorder.cli.stage_runner import EXPORT
from inorder.cli.step_options import OWN
from inorder.errors import OperatorError
from inorder.extensions.trust import trust_file, trust_recorded

_PASSES = (*ALL_STEPS, EXPORT)
_WIDTH = 80
_Of = Annotated[
    str | None,
    make_argument(
        "[STEP]",
        f"{RUN}, {', '.join(_PASSES)}; or a stage of your own: MODULE:NAME, or its name in DATA. Default: {RUN}.",
    ),
]

config = typer.Typer(cls=ExampleGroup, add_completion=False, no_args_is_help=True, rich_markup_mode=None)


@config.callback()
def settings() -> None:
    """Show settings, where they come from, and what can be set."""


@config.command("show", cls=SectionedCommand)
@run_options(partial(describe_defaults, _PASSES), _PASSES)
def show(
    step: _Of = None,
    stage: Annotated[str | None, typer.Option("--stage", hidden=True)] = None,
    as_json: JsonOption = False,
    *,
    given: Given,
) -> None:
    """Show settings, and where each value comes from.

    They are those of a run, of one step of it, or of a stage of your own.

    The first of these counts: the command line; an environment variable (INORDER_WORKERS); in inorder.toml of the
    current directory [profile.NAME], then [stage.STEP], then [default]; your stage; the default.
    """
    if stage is not None:
        warn("--stage", f"inorder config show {stage}")
    found, values = _resolve(given, step or stage or RUN)
    if as_json:
        print_json(_describe(found, values, ("value", "origin")))
        return
    print_out(
        *format_table([(name, _format(name, value.value), _describe_origin(value)) for name, value in values.items()])
    )
    if found.file is None:
        info(f"no {FILE} in the current directory")


@config.command("diff", cls=SectionedCommand)
@run_options(partial(describe_defaults, _PASSES), _PASSES)
def diff(step: _Of = None, as_json: JsonOption = False, *, given: Given) -> None:
    """Show what differs from its default, and where it was set."""
    found, values = _resolve(given, step or RUN)
    changed = {name: value for name, value in values.items() if value.value != value.default}
    if as_json:
        print_json(_describe(found, changed, ("value", "origin", "default")))
        return
    for name, value in changed.items():
        default = _format(name, value.default)
        print_out(f"{name} = {_format(name, value.value)}  ({_describe_origin(value)}; default {default})")
    if not changed:
        info("every setting has its default")


@config.command("keys", cls=SectionedCommand)
def keys(
    word: Annotated[str | None, make_argument("[FILTER]", "Only keys with this in their name or meaning.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List what can be set, with default, meaning, unit and bounds.

    A key is set with --set KEY=VALUE, as the variable INORDER_KEY, or in inorder.toml. STEP.KEY, as in
    chunk.tokens_max, is for one step alone; in inorder.toml that is the table [stage.STEP].
    """
    found = [each for each in list_keys() if word is None or word.lower() in f"{each['key']} {each['meaning']}".lower()]
    if word is not None and not found:
        raise OperatorError(f"no key has {word!r} in its name or meaning{suggest(word, ALL)}")
    if as_json:
        print_json({"keys": found})
        return
    for each in found:
        print_out(f"{each['key']} = {each['default']}", *_wrap(each["meaning"]), *_wrap(_describe_values(each)))


@config.command("trust", cls=SectionedCommand)
def trust(
    data: Annotated[
        str | None, make_option(Section.INPUT, "DIR", "Trust what this DATA records, instead. Default: none.", "--data")
    ] = None,
) -> None:
    """Trust inorder.toml of the current directory as it is now, or with --data what DATA records.

    Settings that run code, read secrets or send content elsewhere count on the command line, in the environment, and in
    inorder.toml of your own configuration folder. In a file that may come from others they count once you have read and
    trusted them. A file that has changed is not trusted any more.
    """
    if data is not None:
        _trust_data(data)
        return
    content = read_content(FILE)
    if content is None:
        raise OperatorError(f"no {FILE} in the current directory; --data DIR trusts what DATA records")
    found = SettingsReader({}, shows_untrusted=True).list_untrusted()
    print_out(*(f"{key} = {_format(key.rpartition(' ')[2], value)}" for key, value in found.items()))
    trust_file(FILE, content)
    info(f"trusted {os.path.abspath(FILE)}, until it changes")


def _trust_data(data: str) -> None:
    """Trust what DATA records, and print it."""
    directory = DataDirectory(data)
    found = [
        (ENTRY, str(config.origin["entry"]))
        for name in directory.stages()
        if (config := directory.config(name)) is not None and "entry" in config.origin
    ]
    if directory.has_library:
        found += list_trust(data)
    for key, value in dict.fromkeys(found):
        trust_recorded(data, key, value)
        print_out(f"{key} = {value}")
    info(f"trusted what {data} records" if found else f"nothing in {data} needs trust")


# ---- Keys


def list_keys() -> Iterator[dict[str, Any]]:
    """Yield each key with its default, meaning, unit and values."""
    defaults, of_stages = describe_defaults(_PASSES), describe_stage_defaults()
    for name, option in ALL.items():
        default, other = defaults.get(name, of_stages.get(name)), of_stages.get(name)
        is_same = other in (default, None)
        yield _describe_key(name, option, f"{default}" if is_same else f"{default}; {other} for a stage of your own")
        if name == TIMEOUT:
            for key, own in list_step_keys(_PASSES).items():
                if key.endswith(f".{TIMEOUT}"):
                    yield _describe_key(key, own, describe_defaults([key.partition(".")[0]])[TIMEOUT])


def _describe_key(key: str, option: OptionSpec, default: str) -> dict[str, Any]:
    return {
        "key": key,
        "default": default,
        "meaning": option.help,
        "unit": option.unit,
        "values": option.type.allowed,
        "flag": option.flag if key in EVERYDAY else None,
        "steps": [step for step in _PASSES if key in OWN[step]],
    }


def _describe_values(key: dict[str, Any]) -> str:
    unit = f"{key['unit']}: " if key["unit"] and key["unit"] not in key["values"] else ""
    flag = f"; also {key['flag']}" if key["flag"] else ""
    return f"{unit}{key['values']}{flag}"


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)


# ---- Values


def _resolve(given: Given, step: str) -> tuple[Settings, dict[str, Value]]:
    """The settings of a run or a stage, and the options to show."""
    if step in (RUN, *ALL_STEPS):
        return _resolve_run(SettingsReader(given, shows_untrusted=True), step)
    if step == EXPORT:
        return _resolve_export(SettingsReader(given, shows_untrusted=True))
    if ":" in step:
        found = resolve(given, load_job(step, []).stage, shows_untrusted=True)
    else:
        data = open_data(None, given)
        [name] = data.select_stages(step)
        found = resolve(given, load_recorded_job(data, name).stage, shows_untrusted=True)
    return found, found.values


def _resolve_run(reader: SettingsReader, step: str) -> tuple[Settings, dict[str, Value]]:
    """The same for a run of all steps, or of one. The time limit of one of several steps is shown as `step.timeout_s`,
    as `--set` would set it."""
    settings, values = read_run_settings(reader), {}
    for each in STEPS if step == RUN else (step,):
        own = read_step_values(reader, each)
        limit = own.pop(TIMEOUT)
        values[TIMEOUT if step == each else f"{each}.{TIMEOUT}"] = limit
        values |= own
    values |= _list_own(reader, EXPORT) if step == RUN else {}
    return settings, values | {name: settings.values[name] for name in RUN_OPTIONS if name != TIMEOUT}


def _resolve_export(reader: SettingsReader) -> tuple[Settings, dict[str, Value]]:
    from inorder.targets.export import OPTIONS

    found = reader.for_stage(EXPORT).with_defaults(OPTIONS, OPTIONS)
    return found, _list_own(reader, EXPORT) | found.values


def _list_own(reader: SettingsReader, step: str) -> dict[str, Value]:
    """The options of one step alone."""
    return {name: value for name, value in read_step_values(reader, step).items() if name in OWN[step]}


def _describe(found: Settings, values: Mapping[str, Value], fields: Sequence[str]) -> dict[str, Any]:
    options = {
        name: {field: getattr(value, field) for field in fields} | ({} if value.is_trusted else {"is_trusted": False})
        for name, value in values.items()
    }
    return {"file": found.file, "profile": found.profile, "options": options}


def _describe_origin(value: Value) -> str:
    return value.origin if value.is_trusted else f"{value.origin}, not trusted"


def _format(key: str, value: Any) -> str:
    return ALL[key.rpartition(".")[2]].type.format(value)
