"""`inorder extract`: fields of a JSON Schema from documents, by a model."""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from inorder.cli.extras import require_extra
from inorder.cli.option_spec import Section
from inorder.cli.output import print_json, print_out
from inorder.cli.parameters import Given, JsonOption, make_choice, make_option, run_options
from inorder.cli.pipeline import EXTRACT, RUN_OPTIONS, describe_defaults, read_request, require_library, run_request
from inorder.cli.settings import SettingsReader, replace_fields
from inorder.documents.extract.settings import INSTRUCTION, ExtractSettings, Over, read_schema
from inorder.errors import OperatorError
from inorder.host.credentials import hide_credentials
from inorder.host.named_file import read_named
from inorder.models.address import parse_address

if TYPE_CHECKING:
    from inorder.pipeline.run import RunRequest

_PREFIX = "openai:"
_SCHEMA_BYTES_MAX = 2**20


@run_options(partial(describe_defaults, [EXTRACT]), [EXTRACT], RUN_OPTIONS)
def extract(
    schema: Annotated[str, make_option(Section.CONTENT, "FILE", "JSON Schema of what to extract.", "--schema")],
    model: Annotated[
        str,
        make_option(
            Section.CONTENT, "openai:URL#MODEL", "Model behind a server with the chat protocol of OpenAI.", "--model"
        ),
    ],
    name: Annotated[
        str | None,
        make_option(Section.CONTENT, "NAME", "Name of the table. Default: that of the schema's file.", "--as"),
    ] = None,
    over: Annotated[
        str, make_choice(Section.CONTENT, "--over", get_args(Over), "What one row is about. Default: document.")
    ] = "document",
    where: Annotated[
        list[str] | None,
        make_option(
            Section.INPUT,
            "CONDITION",
            "Only documents with path:GLOB, source:NAME or type:SUFFIX; repeatable. Default: all.",
            "--where",
        ),
    ] = None,
    instruction: Annotated[
        str, make_option(Section.CONTENT, "TEXT", f"What the model is told. Default: {INSTRUCTION}", "--instruction")
    ] = INSTRUCTION,
    answer_tokens_max: Annotated[
        int,
        make_option(Section.CONTENT, "TOKENS", "Longest answer. Default: 4096.", "--answer-tokens-max", min=1),
    ] = 4096,
    plan: Annotated[
        bool,
        make_option(Section.EXECUTION, "", "Only say what the model would be asked, and what that costs.", "--plan"),
    ] = False,
    as_json: JsonOption = False,
    *,
    given: Given,
) -> None:
    """Extract fields from the documents in DATA with a model, as rows with the types of a JSON Schema.

    The model gets the text of a document, of each of its sections, or of each of its chunks. An answer that does not
    have the schema is asked for again with the reason. Answers are kept: what was answered is never paid for twice.
    `inorder export extract:NAME --to DIR` writes the rows as Parquet.

    Exit codes: 0 done, 1 the machine or the server failed, 2 wrong usage, 3 documents failed, 4 a limit is reached, 5
    DATA is in use, 6 DATA is damaged.
    """
    require_extra("ingest")
    settings = ExtractSettings(
        name=Path(schema).stem.lower() if name is None else name,
        schema=_read_schema(schema),
        model=_find_model(model),
        instruction=instruction,
        over=_choose_over(over),
        where=tuple(where or ()),
        tokens_max=answer_tokens_max,
    )
    reader = SettingsReader(given)
    request = _add(read_request(reader, [EXTRACT]), settings)
    data = os.fspath(request.options.data)
    require_library(data)
    from inorder.pipeline.questions.extract_forecast import forecast_extraction, require_possible

    require_possible(data, request.settings)
    if plan:
        forecast = forecast_extraction(data, request.settings)
        print_out(forecast.describe()) if not as_json else print_json(forecast)
        return
    outcome, code = run_request(request, reader)
    if as_json:
        print_json(outcome)
    raise typer.Exit(code)


def _add(request: "RunRequest", settings: ExtractSettings) -> "RunRequest":
    return replace_fields(request, {"settings": replace_fields(request.settings, {"extract": settings})})


def _read_schema(path: str) -> str:
    try:
        content = read_named(path, _SCHEMA_BYTES_MAX + 1)
    except OSError as error:
        raise OperatorError(f"the schema {path} cannot be read: {error.strerror or error}") from None
    if len(content) > _SCHEMA_BYTES_MAX:
        raise OperatorError(f"the schema {path} is larger than 1 MiB")
    return read_schema(content, path)


def _find_model(address: str) -> str:
    """Return `URL#MODEL`, without credentials."""
    model = hide_credentials(address).removeprefix(_PREFIX)
    parse_address(model)
    return model


def _choose_over(word: str) -> Over:
    for each in get_args(Over):
        if word == each:
            found: Over = each
            return found
    raise OperatorError(f"--over must be one of {', '.join(get_args(Over))}; got {word!r}")
