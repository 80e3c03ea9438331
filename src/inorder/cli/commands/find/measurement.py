"""Measures how well settings of search answer questions, and compares two of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from inorder.cli.output import info, pluralize, print_json, print_out
from inorder.errors import OperatorError, require
from inorder.index.evaluation import METRICS, Difference, Evaluation, compare, evaluate, read_questions
from inorder.index.search import SearchOptions
from inorder.library.opening import find_index

from .query_options import SETTINGS

_WIDTH = 11


class Setting(NamedTuple):
    """A way to search that is measured."""

    name: str
    data: str
    options: SearchOptions


def measure(queries: Path, judgements: Path, first: Setting, *, against: str, part: str, as_json: bool) -> None:
    """Ask the questions, and print how well they are answered. `against` and `part` as on the command line."""
    settings = [first, *([_parse_setting(against, first)] if against else [])]
    asked = read_questions(queries, judgements)
    start, step = _parse_part(part)
    asked = asked[start - 1 :: step]
    found = [evaluate(find_index(setting.data), asked, setting.options) for setting in settings]
    differences = compare(*found) if len(found) > 1 else {}
    if as_json:
        print_json(_describe(settings, found, differences, len(asked)))
        return
    names = [setting.name for setting in settings]
    print_out(*_format_table(names, found, differences))
    counted = len(found[0].questions)
    left_out = f", {len(asked) - counted} without an answer left out" if len(asked) > counted else ""
    info(f"{pluralize(counted, 'question')}{left_out}")


def _parse_part(text: str) -> tuple[int, int]:
    if not text:
        return 1, 1
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise OperatorError(f"--part must be N/M, as in 1/2; got {text!r}")
    return int(number), int(count)


def _parse_setting(text: str, first: Setting) -> Setting:
    values: dict[str, str] = {}
    for assignment in text.split(","):
        name, equals, value = assignment.partition("=")
        require(bool(equals), f"--against takes NAME=VALUE, as in mode=lexical; got {assignment!r}")
        require(name in SETTINGS, f"--against has no setting {name!r}; valid settings: {', '.join(SETTINGS)}")
        values[name] = value
    data = values.pop("data", first.data)
    return Setting(text, data, msgspec.structs.replace(first.options, **values))


def _format_table(
    names: Sequence[str], found: Sequence[Evaluation], differences: Mapping[str, Difference]
) -> list[str]:
    rows: list[tuple[str, Sequence[str]]] = [("", METRICS)]
    for name, each in zip(names, found, strict=True):
        rows.append((name, [f"{each.mean(metric):.4f}" for metric in METRICS]))
    if differences:
        rows.append(("difference", [f"{differences[metric].mean:+.4f}" for metric in METRICS]))
        rows.append(("p", [f"{differences[metric].p_value:.4f}" for metric in METRICS]))
    width = max(len(name) for name, _ in rows)
    return [f"{name:{width}}" + "".join(f"{value:>{_WIDTH}}" for value in values) for name, values in rows]


def _describe(
    settings: Sequence[Setting], found: Sequence[Evaluation], differences: Mapping[str, Difference], asked: int
) -> dict[str, Any]:
    return {
        "questions": len(found[0].questions),
        "left_out": asked - len(found[0].questions),
        "settings": [
            {"name": setting.name, "data": setting.data, "options": setting.options}
            | {"metrics": {metric: round(each.mean(metric), 6) for metric in METRICS}}
            for setting, each in zip(settings, found, strict=True)
        ],
        "differences": {
            metric: {"mean": round(each.mean, 6), "p_value": round(each.p_value, 6)}
            for metric, each in differences.items()
        },
        "by_question": {
            question: [round(each.values["nDCG@10"][at], 6) for each in found]
            for at, question in enumerate(found[0].questions)
        },
    }
