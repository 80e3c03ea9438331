"""Whether an answer is accepted: what models get wrong, found by rules.

Each check returns the reason why an answer is not accepted, in words that follow `it`, which the model is told and the
failure of the file has. What a page says is known in part where it has a text layer: an answer with far fewer words, or
with other words, is of another language, of another page, or made up.
"""

import json
import math
import re
from collections.abc import Callable
from typing import Any

from .answers import Answer
from .schema import Schema

Check = Callable[[Answer], str]

_REPEATS_MIN = 10
_REPEATED_CHARACTERS_MIN = 300
"""What is repeated less often, or is shorter altogether, may stand in the document."""
_PERIOD_MAX = 400
_END_CHARACTERS = 24
_TAIL_CHARACTERS = _PERIOD_MAX * _REPEATS_MIN + _END_CHARACTERS
_NATIVE_WORDS_MIN = 50
"""A shorter text layer says little of the page."""
_SHARE_OF_LENGTH_MIN = 0.3
_SHARE_OF_WORDS_MIN = 0.2
_REFUSAL_CHARACTERS_MAX = 400
_DIGITS_MAX = 400
"""Of a whole number in JSON: Python takes long for more, and refuses thousands."""
_WORD = re.compile(r"[^\W\d_]{4,}")
_REFUSAL = re.compile(
    r"\W*(i['\u2019]?m sorry|i am sorry|sorry, (but )?i|i (can(no|['\u2019])t|am unable|am not able|won['\u2019]t)"
    r"|as an ai\b|unfortunately, i (can|am))",
    re.IGNORECASE,
)
_FENCE = re.compile(r"\s*```[\w-]*[ \t]*\n(.*?)\n?```\s*", re.DOTALL)
_IMAGE = re.compile(r"!\[([^\]\n]{0,1000})\]\([^)\n]{0,4000}\)|!\[([^\]\n]{0,1000})\]\[[^\]\n]{0,1000}\]")
_LINK = re.compile(r"\[([^\]\n]{1,1000})\]\(\s*<?[^)\n]{0,4000}\)|<[A-Za-z][A-Za-z0-9+.-]{1,30}:[^>\s]{0,4000}>")
_DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]{1,1000}\]:.*$", re.MULTILINE)
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9-]{0,30})([^<>]{0,4000})>")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_DROPPED = re.compile(r"<(script|style|iframe|object|svg)\b.*?(</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_KEPT_TAGS = frozenset(
    (*("table", "thead", "tbody", "tfoot", "tr", "th", "td", "caption", "br", "sub", "sup", "p", "ul", "ol", "li"),)
)
_KEPT_ATTRIBUTES = re.compile(r"\b(colspan|rowspan)\s*=\s*[\"']?(\d{1,4})[\"']?", re.IGNORECASE)


def check_text(answer: Answer) -> str:
    """Return why a text is not accepted: it is empty, cut off, a refusal, or repeats itself."""
    text = answer.text.strip()
    if answer.finish_reason == "length":
        return f"it is cut off after {answer.tokens_out} tokens"
    if answer.finish_reason in ("refusal", "content_filter") or is_refusal(text):
        return f"it is a refusal: {_shorten(text)}" if text else "it is a refusal"
    if not text:
        return "it is empty"
    if (loop := find_loop(text)) is not None:
        return f"it repeats {_shorten(loop)!r}"
    return ""


def make_page_check(native: str = "") -> Check:
    """Return the check of the text of a page whose text layer is `native`."""
    words = _list_words(native)

    def check(answer: Answer) -> str:
        reason = check_text(answer)
        if reason or len(words) < _NATIVE_WORDS_MIN:
            return reason
        found = _list_words(answer.text)
        if len(found) < _SHARE_OF_LENGTH_MIN * len(words):
            return f"it has {len(found)} words, and the text layer of the page {len(words)}"
        known = set(words)
        share = len(known & set(found)) / len(known)
        if share < _SHARE_OF_WORDS_MIN:
            return (
                f"it has {share:.0%} of the words in the text layer of the page: it is in another language, or of "
                "another page"
            )
        return ""

    return check


def make_schema_check(schema: Schema) -> Check:
    """Return the check of an answer that must be JSON with a schema."""

    def check(answer: Answer) -> str:
        if answer.finish_reason == "length":
            return f"it is cut off after {answer.tokens_out} tokens"
        try:
            value = parse_json(answer.text)
        except ValueError as error:
            return check_text(answer) or f"it is no JSON: {error}"
        problem = schema.find_problem(value)
        return f"in it, {problem}" if problem else ""

    return check


def parse_json(text: str) -> Any:
    """Return the value in an answer, also between fences. Raises ValueError if there is none."""
    fenced = _FENCE.fullmatch(text)
    try:
        return json.loads(
            fenced[1] if fenced else text,
            parse_constant=_refuse_constant,
            parse_float=_parse_float,
            parse_int=_parse_int,
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def is_refusal(text: str) -> bool:
    """Whether a text is the excuse of a model and not what it was asked for."""
    return len(text) <= _REFUSAL_CHARACTERS_MAX and _REFUSAL.match(text) is not None


def find_loop(text: str) -> str | None:
    """Return what a text repeats at its end, again and again; None: it does not. A model that does not find the end of
    a page repeats a line, or a few, until it has no room."""
    text = text[-_TAIL_CHARACTERS:]
    end = text[-_END_CHARACTERS:]
    before = text.rfind(end, 0, len(text) - 1)
    period = len(text) - len(end) - before
    if before < 0 or period > _PERIOD_MAX:
        return None
    unit = text[-period:]
    repeats = max(_REPEATS_MIN, -(-_REPEATED_CHARACTERS_MIN // period))
    if not text.endswith(unit * repeats) or not any(character.isalpha() for character in unit):
        return None
    return " ".join(unit.split())


def sanitize(text: str) -> str:
    """Return a text of a model without what a page that shows it would load or run: images, addresses behind links,
    tags other than those of tables, control characters, and marks that change the direction of text."""
    text = _DROPPED.sub("", _CONTROLS.sub("", text))
    text = _IMAGE.sub(lambda found: found[1] or found[2] or "", text)
    text = _DEFINITION.sub("", text)
    text = _LINK.sub(lambda found: found[1] or "", text)
    return _TAG.sub(_keep_tag, text)


def _keep_tag(found: re.Match[str]) -> str:
    name = found[2].lower()
    if name not in _KEPT_TAGS:
        return ""
    spans = "".join(f' {each[1].lower()}="{each[2]}"' for each in _KEPT_ATTRIBUTES.finditer(found[3]))
    return f"<{found[1]}{name}{spans}>"


def _list_words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _shorten(text: str, size: int = 60) -> str:
    text = " ".join(text.split())
    return text if len(text) <= size else f"{text[:size]}..."


def _parse_float(text: str) -> float:
    found = float(text)
    if not math.isfinite(found):
        raise ValueError(f"the number {_shorten(text)} is too large")
    return found


def _parse_int(text: str) -> int:
    if len(text) > _DIGITS_MAX:
        raise ValueError(f"the number {_shorten(text)} is too large")
    return int(text)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no value of JSON")
