"""`inorder run` as one run over a library. Behind a switch until it has everything that the stages have: the variable
`INORDER_ONE_RUN`, which is set to `1`."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from inorder.cli.builtin import load_builtin
from inorder.cli.exit_codes import Exit
from inorder.cli.output import info
from inorder.cli.parameters import Given
from inorder.cli.settings import Settings, SettingsReader
from inorder.documents.chunk.settings import ChunkSettings
from inorder.documents.convert.settings import ConvertSettings
from inorder.host.blas import limit_blas_threads
from inorder.host.memory import limit_free_memory
from inorder.pipeline.outcome import RunOutcome, format_outcome
from inorder.pipeline.run import RunRequest, run_pipeline
from inorder.pipeline.steps import EMBED, NONE, PipelineSettings
from inorder.sources.address import resolve_source
from inorder.stage.options import StageOptions

_BASE = StageOptions(policy="cpu", timeout_s=300.0, memory_bytes_max=4 * 2**30)


def run_one(commands: Sequence[str], sources: Sequence[str | Path], given: Given) -> tuple[RunOutcome, Exit]:
    """Run these steps over the sources. Returns the outcome and the exit code."""
    limit_blas_threads()
    limit_free_memory()
    reader = SettingsReader(given)
    settings = reader.for_stage("doctags").with_defaults(_BASE)
    request = RunRequest(
        sources=tuple(os.fspath(resolve_source(source)) for source in sources),
        settings=_read_settings(reader, commands),
        options=settings.to_options(),
    )
    outcome = run_pipeline(request)
    _report(outcome, settings)
    return outcome, find_exit_code(outcome)


def _read_settings(reader: SettingsReader, commands: Sequence[str]) -> PipelineSettings:
    """The settings of all steps."""
    own = {stage: load_builtin(stage, [], reader)[0].settings for stage in ("doctags", "chunk", EMBED)}
    doctags, embed = own["doctags"], own[EMBED]
    password_file = str(doctags.get("password_file", NONE))
    return PipelineSettings(
        convert=_choose(ConvertSettings, doctags),
        chunk=_choose(ChunkSettings, own["chunk"]),
        dense=embed["dense"],
        sparse=embed["sparse"],
        password_file=password_file if password_file == NONE else os.path.abspath(password_file),
        fetch_concurrency=doctags["fetch_concurrency"],
        fetch_rate=doctags["fetch_rate"],
        commands=tuple(commands),
    )


def _choose(kind: Any, values: dict[str, Any]) -> Any:
    names = [field.name for field in msgspec.structs.fields(kind)]
    return kind(**{name: values[name] for name in names if name in values})


def find_exit_code(outcome: RunOutcome) -> Exit:
    """Return the exit code for the outcome of a run."""
    if outcome.stop_kind == "cancelled":
        return Exit(128 + outcome.stop_signal) if outcome.stop_signal else Exit.FAILED
    if outcome.stop_kind == "error budget":
        return Exit.BUDGET_EXCEEDED
    if outcome.stop_kind is not None:
        return Exit.FAILED
    return Exit.ITEMS_FAILED if outcome.counts.failed else Exit.DONE


def _report(outcome: RunOutcome, settings: Settings) -> None:
    if settings.is_quiet:
        return
    info(*outcome.notes, *format_outcome(outcome), *(f"warning: {warning}" for warning in outcome.warnings))
