"""Measures how well settings of search answer questions, and compares two of them."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from inorder.cli.output import info, pluralize, print_json, print_out
from inorder.dataset.questions import KINDS, LINK, make_questions, write_questions
from inorder.errors import OperatorError, require
from inorder.index.evaluation import METRICS, Difference, Evaluation, compare, evaluate, read_questions
from inorder.index.search import SearchOptions
from inorder.library.opening import find_index

from .query_options import JUDGEMENTS, QUERIES, SETTINGS

_WIDTH = 11
_FEW = 50


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
    print_out(*_format_kinds(found))
    counted = len(found[0].questions)
    left_out = f", {len(asked) - counted} without an answer left out" if len(asked) > counted else ""
    info(f"{pluralize(counted, 'question')}{left_out}")


def make_set(data: str, folder: str) -> tuple[Path, Path]:
    """Make questions from DATA, and say what they are worth. Returns the files with the questions and the answers."""
    made = make_questions(data)
    counts = {kind: sum(question.kind == kind for question in made) for kind in KINDS}
    require(bool(made), "DATA has no links between documents, titles, headings or docstrings of three words")
    place = os.path.abspath(folder)
    paths = os.path.join(place, QUERIES), os.path.join(place, JUDGEMENTS)
    write_questions(paths, made)
    listed = ", ".join(pluralize(count, kind) for kind, count in counts.items() if count)
    info(f"{pluralize(len(made), 'question')} in {folder}: {listed}")
    info("Texts of links are words of other authors. The others stand in the file that answers them, so words find")
    info("them easily: they compare settings, and do not tell how well questions of people are answered.")
    if counts[LINK] < _FEW:
        info(
            f"With {pluralize(counts[LINK], 'link')} these questions are worth little: add some that people have asked."
        )
    return Path(paths[0]), Path(paths[1])


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


def _format_kinds(found: Sequence[Evaluation]) -> list[str]:
    """nDCG@10 by kind of question, if the questions were made from DATA."""
    kinds = [name.partition("-")[0] for name in found[0].questions]
    if not set(kinds) <= set(KINDS):
        return []
    lines = []
    for kind in dict.fromkeys(kinds):
        places = [at for at, each in enumerate(kinds) if each == kind]
        means = (sum(each.values["nDCG@10"][at] for at in places) / len(places) for each in found)
        lines.append(
            f"{kind}: nDCG@10 {', '.join(f'{mean:.4f}' for mean in means)} ({pluralize(len(places), 'question')})"
        )
    return lines


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
