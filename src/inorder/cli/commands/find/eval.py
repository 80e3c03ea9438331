"""`inorder eval`: how well the index answers questions whose answers are known."""

from pathlib import Path
from typing import Annotated

from inorder.cli.option_spec import Section
from inorder.cli.parameters import DataOption, JsonOption, make_argument, make_option
from inorder.cli.settings import resolve_data
from inorder.errors import OperatorError, require
from inorder.host.credentials import hide_credentials

from .query_options import JUDGEMENTS, QUERIES, SETTINGS, ModeOption, OnlyOption, RerankOption


def eval(
    queries: Annotated[Path | None, make_argument("[QUERIES]", "Questions: JSON lines with id and text.")] = None,
    judgements: Annotated[
        Path | None,
        make_argument(
            "[QRELS]",
            "Answers: question, document and grade, separated by tabs. A document is an item id, a path below the "
            "source, or a file name.",
        ),
    ] = None,
    make: Annotated[
        str | None,
        make_option(
            Section.OUTPUT,
            "DIR",
            "Make questions from links, titles, headings and docstrings in DATA, write them to a folder as "
            f"{QUERIES} and {JUDGEMENTS}, and ask them.",
        ),
    ] = None,
    mode: ModeOption = "auto",
    only: OnlyOption = "",
    rerank: RerankOption = "",
    against: Annotated[
        str,
        make_option(
            Section.QUERY,
            "NAME=VALUE,...",
            f"Compare with other settings, as in mode=lexical or data=other-data. Names: {', '.join(SETTINGS)}.",
        ),
    ] = "",
    part: Annotated[
        str,
        make_option(
            Section.QUERY,
            "N/M",
            "Only every Mth question, beginning with the Nth: 1/2 to develop, 2/2 to report. Default: all.",
        ),
    ] = "",
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how well the index answers questions whose answers are known.

    Every file counts once, at the rank of its best chunk. With --against, two settings are compared question by
    question: p is the probability that chance alone gives a difference at least as large (paired randomisation test).
    """
    from inorder.index.search import SearchOptions

    from .measurement import Setting, make_set, measure

    rerank = hide_credentials(rerank)
    options = SearchOptions(mode=mode, only=only, rerank=rerank)
    name = ",".join(f"{name}={value}" for name in SETTINGS[1:] if (value := getattr(options, name)))
    first = Setting(name, resolve_data(data), options)
    if make is not None:
        require(queries is None, "--make and QUERIES exclude each other")
        queries, judgements = make_set(first.data, make)
    if queries is None or judgements is None:
        raise OperatorError("give QUERIES and QRELS, or make them with --make DIR")
    measure(queries, judgements, first, against=against, part=part, as_json=as_json)
