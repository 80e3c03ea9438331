"""The commands that run the pipeline: their options as a request, the run, what is printed about it, and its exit code.

The options of a step (`--tokens-max`, `--dense`) and its time limit can be set for it alone, with
`--set chunk.timeout_s=60` or in its own table of `inorder.toml` (`[stage.chunk]`). All other options are those of the
run; `[stage.run]` can set them. What a step is set to is recorded in the manifests, so that `retry` and `plan` repeat
the run, and `inorder chunk` leaves the settings of other steps alone.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from inorder.cli.exit_codes import Exit, exit_code_of
from inorder.cli.extras import require_extra
from inorder.cli.keys import TIMEOUT
from inorder.cli.options import ALL, SHARED
from inorder.cli.output import claim_stdout, fit_lines, info, print_json, to_printable
from inorder.cli.parameters import Given
from inorder.cli.settings import Settings, SettingsReader, StageSettings, Value, replace_fields
from inorder.cli.stage_runner import EXPORT, prepare_export
from inorder.cli.step_options import OWN
from inorder.errors import OperatorError, require
from inorder.extensions.consent import require_consent
from inorder.extensions.trust import require_trusted, trust_recorded
from inorder.host.blas import limit_blas_threads
from inorder.host.memory import limit_free_memory
from inorder.models.answers import NAME as ANSWERS
from inorder.stage.data_layout import require_current_data, require_directory
from inorder.stage.options import StageOptions
from inorder.stage.sources import is_address

if TYPE_CHECKING:
    from inorder.pipeline.outcome import RunOutcome
    from inorder.pipeline.passes import KeptBetweenRuns
    from inorder.pipeline.run import RunRequest
    from inorder.pipeline.steps import PipelineSettings

RUN = "run"
STEPS = ("doctags", "chunk", "embed", "index")
"""The steps of a run, in the order in which they build on each other. Each has a command."""
EXTRACT = "extract"
"""The step that runs alone."""
ALL_STEPS = (*STEPS, EXTRACT)
NOT_OF_RUN = ("fingerprinting", "i_know_what_im_doing")
"""Options of users' own stages that have no meaning here: whether a file is unchanged is decided in one way, and a
model on a GPU has a pass of its own."""
RUN_OPTIONS = tuple(name for name in SHARED if name not in NOT_OF_RUN)
BASE = StageOptions(policy="cpu", memory_bytes_max=4 * 2**30, on_budget="drain")
"""The defaults of a run, but for time limits, which steps have."""
_SETTINGS = "settings"
"""What `origin` of a run has: the settings of its steps."""
SOURCE = "source"
"""What the address of a remote source is called where it needs trust."""
_IN_DATA = "none"
"""The setting `answers` of a run that keeps answers in DATA."""
_MANIFESTS = ("doctags", "chunk", "index")
"""Manifests that every run begins with a row about itself."""


# ---- Options


def read_request(
    reader: SettingsReader,
    steps: Sequence[str] = STEPS,
    sources: Sequence[str | Path] = (),
    *,
    name: str | None = None,
) -> "RunRequest":
    """Return what these steps over these sources mean with all options that are set. The other steps keep the settings
    of the last run. Without sources, DATA must have a library."""
    options = read_options(reader)
    data = os.fspath(options.data)
    _require_usable(data)
    recorded = {} if set(steps) >= set(STEPS) else _read_recorded(data)
    given = {step: reader.for_stage(step).own_fields(step) if step in steps else {} for step in ALL_STEPS}
    own = {step: given[step] if step in steps else recorded.get(step, {}) for step in ALL_STEPS}
    _require_trusted(data, own, given)
    if not sources:
        _require_trusted_sources(data)
    return _make_request(reader, own, options, steps, sources, name=name)


def read_recorded_request(
    reader: SettingsReader, sources: Sequence[str | Path] | None = None, *, retries: bool = False
) -> "RunRequest":
    """Return the request that repeats the last run of DATA, with all steps. Options that are set replace recorded ones.
    `sources`: None for all sources that the library knows; none: nothing is walked."""
    options = read_options(reader)
    data = os.fspath(options.data)
    _require_usable(data)
    recorded = _read_recorded(data)
    given = {step: reader.for_stage(step).own_fields(step) for step in STEPS}
    own = {step: {**_without_limits(recorded.get(step, {})), **given[step]} for step in STEPS}
    _require_trusted(data, own, given)
    _require_trusted_sources(data)
    found = list_known_sources(data) if sources is None else sources
    return _make_request(reader, own, options, STEPS, found, retries=retries)


def _without_limits(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """What is recorded of a step, without what was meant for that run alone."""
    return {name: value for name, value in recorded.items() if name != "pages_max"}


def read_options(reader: SettingsReader) -> StageOptions:
    """Return the options of a run."""
    return read_run_settings(reader).to_options()


def read_run_settings(reader: SettingsReader) -> Settings:
    """Return the options of a run, with where each was set."""
    reader.require_only(ALL_STEPS, [TIMEOUT, *(name for step in ALL_STEPS for name in OWN[step])])
    return reader.for_stage(RUN).with_defaults(BASE, BASE)


def list_known_sources(data: str) -> list[str]:
    """Return the sources that the library knows."""
    from contextlib import closing

    from inorder.library.reader import LibraryReader

    with closing(LibraryReader(data)) as library:
        return [source.path for source in library.list_sources()]


def list_trust(data: str) -> list[tuple[str, str]]:
    """Return what DATA records of runs that needs trust: keys and values."""
    from inorder.library.opening import read_vectors_provider

    found = [(key, value) for own in _read_recorded(data).values() for key, value in _list_needing_trust(own)]
    provider = read_vectors_provider(data)  # that of the index, which may be another one
    found += [("dense", provider)] if provider and ALL["dense"].needs_trust(provider) else []
    return found + [(SOURCE, source) for source in _list_remote(list_known_sources(data))]


def find_answers_file(data: str) -> str:
    """Return the path of the file with the answers of models that the last run of DATA has used."""
    recorded = _read_recorded(data).get("doctags", {}).get("answers", _IN_DATA)
    return os.path.join(data, ANSWERS) if recorded == _IN_DATA else os.path.abspath(recorded)


def _require_trusted(data: str, own: Mapping[str, Mapping[str, Any]], given: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise OperatorError if a value that was not given needs trust, and agree to those that were given."""
    for step, values in own.items():
        for key, value in _list_needing_trust(values):
            (trust_recorded if key in given[step] else require_trusted)(data, key, value)


def _list_needing_trust(own: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(key, str(value)) for key, value in own.items() if key in ALL and ALL[key].needs_trust(value)]


def _require_trusted_sources(data: str) -> None:
    """Raise OperatorError if DATA has a remote source that the user has not named."""
    from inorder.library.opening import has_library

    for source in _list_remote(list_known_sources(data)) if has_library(data) else ():
        require_trusted(data, SOURCE, source)


def _list_remote(sources: Iterable[str]) -> list[str]:
    from inorder.pipeline.sources.names import normalize_location

    return [normalize_location(source) for source in sources if is_address(source)]


def _require_usable(data: str) -> None:
    """Raise OperatorError if DATA cannot be a directory, or was written by an earlier version."""
    require_directory(data)
    require_current_data(data)


def _read_recorded(data: str) -> dict[str, dict[str, Any]]:
    """The settings of the last run, by step."""
    from inorder.cli.data_dir import DataDirectory

    rows = [row for name in _MANIFESTS if (row := DataDirectory(data).config(name)) is not None]
    latest = max(rows, key=lambda row: row.started_at, default=None)
    found = {} if latest is None else latest.origin.get(_SETTINGS)
    return found if isinstance(found, dict) else {}


def _make_request(
    reader: SettingsReader,
    own: Mapping[str, Mapping[str, Any]],
    options: StageOptions,
    steps: Sequence[str],
    sources: Sequence[str | Path],
    *,
    name: str | None = None,
    retries: bool = False,
) -> "RunRequest":
    require_extra("ingest")
    from inorder.pipeline.names import DOCTAGS
    from inorder.pipeline.run import RunRequest
    from inorder.sources.address import resolve_source

    settings = _make_settings(reader, own, steps)
    of_run = _make_settings(reader, {step: own[step] for step in STEPS}, steps)
    found = {os.fspath(source): os.fspath(resolve_source(source)) for source in sources}
    for source in _list_remote(found.values()):
        trust_recorded(os.fspath(options.data), SOURCE, source)
    recorded = {step: _list_own_values(of_run, step) for step in STEPS}
    return RunRequest(
        sources=_require_distinct(found),
        name=name,
        settings=settings,
        options=replace_fields(options, {TIMEOUT: settings.timeouts_s[DOCTAGS]}),
        retries=retries,
        origin={_SETTINGS: recorded},
    )


def _require_distinct(found: Mapping[str, str]) -> tuple[str, ...]:
    """Return the places of sources. Raises OperatorError if two addresses differ in credentials alone."""
    places = list(found.values())
    for given, place in found.items():
        require(
            given == place or not is_address(place) or places.count(place) == 1,
            f"two sources differ in credentials alone: {place}; run one after the other, in two DATA directories",
        )
    return tuple(places)


def _make_settings(
    reader: SettingsReader, own: Mapping[str, Mapping[str, Any]], steps: Sequence[str]
) -> "PipelineSettings":
    from inorder.documents.readers.passwords import NO_PASSWORDS
    from inorder.pipeline.steps import TIMEOUTS_S, PipelineSettings

    fields = {OWN[step][name].field: value for step, values in own.items() for name, value in values.items()}
    if fields.get("password_file", NO_PASSWORDS) != NO_PASSWORDS:
        fields["password_file"] = os.path.abspath(fields["password_file"])
    limits = {step: reader.for_stage(step).values.get(TIMEOUT) for step in ALL_STEPS}
    timeouts_s = {
        name: default if (limit := limits[name.partition(":")[0]]) is None else limit.value
        for name, default in TIMEOUTS_S.items()
    }
    try:
        return replace_fields(PipelineSettings(commands=tuple(steps), timeouts_s=timeouts_s), fields)
    except (TypeError, ValueError) as error:
        raise OperatorError(str(error)) from error


# ---- Defaults


def read_step_values(reader: SettingsReader, step: str) -> dict[str, Value]:
    """Return the options of a step with where each was set: its own, and its time limit."""
    found = reader.for_stage(step).values
    return {
        name: found.get(name, Value(default, "default"))._replace(default=default)
        for name, default in default_values(step).items()
    }


def default_values(step: str) -> dict[str, Any]:
    """Return the value of each option of a step if nothing sets it: its own, and its time limit. `export` is no step,
    and has options."""
    from inorder.pipeline.steps import TIMEOUTS_S, PipelineSettings

    if step == EXPORT:
        from inorder.targets.export import OPTIONS, ExportSettings

        settings = ExportSettings()
        return {**{name: getattr(settings, name) for name in OWN[EXPORT]}, TIMEOUT: OPTIONS.timeout_s}
    limit = next(limit for name, limit in TIMEOUTS_S.items() if name.partition(":")[0] == step)
    return {**_list_own_values(PipelineSettings(), step), TIMEOUT: limit}


def describe_defaults(steps: Sequence[str]) -> dict[str, str]:
    """Return the defaults of all options of a run with these steps, in words, by option."""
    shared = StageSettings({}, None, None).with_defaults(BASE).values
    found = {name: ALL[name].format_default(shared[name].value) for name in RUN_OPTIONS if name != TIMEOUT}
    by_text: dict[str, dict[str, list[str]]] = {}
    for step in steps:
        for name, value in default_values(step).items():
            by_text.setdefault(name, {}).setdefault(ALL[name].format_default(value), []).append(step)
    return found | {name: _join_defaults(texts) for name, texts in by_text.items()}


def _join_defaults(steps_by_text: Mapping[str, Sequence[str]]) -> str:
    if len(steps_by_text) == 1:
        return next(iter(steps_by_text))
    return "; ".join(f"{text} for {', '.join(steps)}" for text, steps in steps_by_text.items())


def _list_own_values(settings: "PipelineSettings", step: str) -> dict[str, Any]:
    return {name: attrgetter(option.field)(settings) for name, option in OWN[step].items()}


# ---- Runs


def run_steps(steps: Sequence[str], sources: Sequence[str | Path], given: Given, *, as_json: bool) -> Exit:
    """Run these steps over the sources, or over what the library knows, and print the outcome. Returns the exit
    code."""
    reader = SettingsReader(given)
    request = read_request(reader, steps, sources)
    if not sources:
        require_library(os.fspath(request.options.data))
    outcome, code = run_request(request, reader)
    if as_json:
        print_json(outcome)
    return code


def run_all(
    sources: Sequence[str | Path],
    given: Given,
    *,
    name: str | None = None,
    hints: Iterable[str] | None = None,
    kept: "KeptBetweenRuns | None" = None,
    report: "Callable[[RunOutcome], None] | None" = None,
) -> tuple["RunOutcome", Exit]:
    """Run all steps over the sources, then export to the target, if there is one. Returns the outcome of the run and
    the exit code, which is the worse of both. `hints` are the only paths that may have changed; `kept` and `report` as
    for `run_request`."""
    reader = SettingsReader(given)
    request = read_request(reader, STEPS, sources, name=name)
    export = prepare_export(reader)
    if hints is not None:
        request = msgspec.structs.replace(request, hints=tuple(sorted(hints)))
    outcome, code = run_request(request, reader, report, kept)
    if export is not None and code in (Exit.DONE, Exit.ITEMS_FAILED):
        code = max(code, export())
    return outcome, code


def require_library(data: str) -> None:
    """Raise OperatorError if DATA has no library."""
    from inorder.library.opening import has_library

    hint = "run `inorder doctags SRC` or `inorder run SRC` first, or choose another with --data"
    require(os.path.isdir(data), f"no DATA directory at {data}; {hint}")
    require(has_library(data), f"{data} is not a DATA directory: it has no library; {hint}")


def run_request(
    request: "RunRequest",
    reader: SettingsReader,
    report: "Callable[[RunOutcome], None] | None" = None,
    kept: "KeptBetweenRuns | None" = None,
) -> tuple["RunOutcome", Exit]:
    """Run the pipeline, and print what it did. Returns the outcome and the exit code. `report` prints in place of
    this. `kept` is what this program keeps between runs."""
    from inorder.pipeline.run import run_pipeline

    claim_stdout()
    limit_blas_threads()
    limit_free_memory()
    settings = request.settings
    if settings.convert.model:
        require_consent(settings.convert.model, "images of pages", info, is_agreed=settings.send)
    if settings.extract.step and EXTRACT in settings.commands:
        require_consent(settings.extract.model, "the text of documents", info, is_agreed=settings.send)
    outcome = run_pipeline(request, kept)
    if report is not None:
        report(outcome)
    else:
        report_run(outcome, read_run_settings(reader))
    return outcome, exit_code_of(outcome)


def report_run(outcome: "RunOutcome", settings: Settings) -> None:
    """Print what a run did, on stderr."""
    from inorder.pipeline.outcome import format_headline, format_outcome

    if not settings.is_quiet:
        warnings = (f"warning: {to_printable(warning)}" for warning in outcome.warnings)
        is_verbose = bool(settings.values["verbose"].value)
        lines = format_outcome(outcome, settings.data_option, is_verbose=is_verbose)
        info(*map(to_printable, outcome.notes), *fit_lines(map(to_printable, lines)), *warnings)
    elif exit_code_of(outcome) != Exit.DONE:
        info(to_printable(format_headline(outcome)))
