"""What an extraction would ask a model, and what that costs."""

from contextlib import closing
from functools import partial
from os.path import exists

from inorder.documents.extract.units import ExtractUnits
from inorder.documents.model_units import UnitFile
from inorder.errors import require
from inorder.library.reader import LibraryReader
from inorder.library.values import unpack_chunk_rows
from inorder.models.answers import find_kept
from inorder.models.ledger import Selection, list_questions
from inorder.models.limits import estimate_tokens
from inorder.pipeline.names import EXTRACT
from inorder.pipeline.steps import PipelineSettings

from .model_forecast import ModelForecast

_EXTRACTIONS_MAX = 48
"""A library has room for 64 steps, its own among them."""
_TOKENS_OUT = 200
"""What an answer is expected to use before the model has given one."""


def require_possible(data: str, settings: PipelineSettings) -> None:
    """Raise OperatorError if no document is chosen, or if DATA has no room for another extraction."""
    chosen = settings.extract.is_chosen
    with closing(LibraryReader(data)) as library:
        found = any(chosen(item_id) for item_id in library.list_visible(settings.extract.reads))
        names = {name for name in library.list_step_names() if name.startswith(f"{EXTRACT}:")}
    require(
        settings.extract.step in names or len(names) < _EXTRACTIONS_MAX,
        f"{data} has {len(names)} extractions, the most that it can hold; use the name of one of them, or another DATA",
    )
    require(found, f"no document in {data} has {' and '.join(settings.extract.where) or 'text'}")


def forecast_extraction(data: str, settings: PipelineSettings) -> ModelForecast:
    """Return what a model would be asked for the fields of these settings."""
    extract, path = settings.extract, settings.find_answers_file(data)
    units = ExtractUnits(extract, unpack_chunk_rows)
    found = ModelForecast(noun=extract.over)
    with closing(LibraryReader(data)) as library:
        for item_id in library.list_visible(extract.reads):
            file = library.get_file(item_id)
            if file is None:
                continue
            listed = units.list_all(UnitFile(item_id, "", file.sha256, None, partial(_read, library, item_id)))
            kept = find_kept(path, [unit.question.key for unit in listed])
            asked = [unit for unit in listed if unit.question.key not in kept]
            found.kept += len(kept)
            found.pages += len(asked)
            found.tokens_in += sum(estimate_tokens([extract.prompt, unit.make_input().text]) for unit in asked)
    found.tokens_out = round(found.pages * _measure_answers(path, settings))
    if settings.spending.has_prices:
        found.cost = settings.spending.cost(found.tokens_in, found.tokens_out)
    return found


def _read(library: LibraryReader, item_id: str, step: str) -> tuple[bytes, list[str]] | None:
    result = library.read_committed(item_id, step)
    return None if result is None else (result.content, result.texts)


def _measure_answers(path: str, settings: PipelineSettings) -> float:
    """The tokens of an answer, as those say that are kept."""
    known = list_questions(path, Selection(model=settings.extract.model)) if exists(path) else []
    same = [each for each in known if each.prompt == settings.extract.prompt]
    count = sum(each.answers for each in same)
    expected = sum(each.tokens_out for each in same) / count if count else _TOKENS_OUT
    return min(expected, settings.extract.tokens_max)
