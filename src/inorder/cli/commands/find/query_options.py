"""Options of commands that ask questions."""

from typing import Annotated

from inorder.cli.option_spec import Section
from inorder.cli.parameters import make_argument, make_choice, make_option
from inorder.index.hits import CONTEXT_MAX, MODES

SETTINGS = ("data", "mode", "only", "rerank")
"""What `inorder eval` compares."""

QUERIES, JUDGEMENTS = "queries.jsonl", "qrels.tsv"
"""The names of the files with questions that are made from DATA, and with their answers."""

QuestionArgument = Annotated[
    list[str],
    make_argument(
        "QUERY...",
        "Words, '\"a phrase\"', -word to leave out, key* for beginnings; or a name: sym:Kernel.step, def:step, "
        "ref:step, imports:msgspec.",
    ),
]
ModeOption = Annotated[
    str,
    make_choice(
        Section.QUERY,
        "--mode",
        MODES,
        "By words, by vectors, or by both, fused by score; auto: both, or words for a name. Default: auto.",
    ),
]
OnlyOption = Annotated[
    str, make_choice(Section.QUERY, "--only", ["code", "document"], "Only source code, or only documents.")
]
RerankOption = Annotated[
    str,
    make_option(
        Section.QUERY,
        "MODEL",
        "Order the first 50 results again: cross-encoder:NAME, a plug-in, or a dense provider such as minilm.",
        "--rerank",
    ),
]
PathOption = Annotated[
    list[str] | None,
    make_option(
        Section.QUERY,
        "GLOB",
        "Only files whose path matches, as in 'src/*.py'; '!GLOB' leaves them out. Repeatable, as the next four are.",
        "--path",
    ),
]
LanguageOption = Annotated[
    list[str] | None,
    make_option(Section.QUERY, "NAME", "Only code in this language, or documents in it (en, de...).", "--language"),
]
KindOption = Annotated[
    list[str] | None,
    make_option(
        Section.QUERY, "KIND", "Only chunks of this kind: function, method, class, section, lines...", "--kind"
    ),
]
TypeOption = Annotated[
    list[str] | None, make_option(Section.QUERY, "TYPE", "Only files whose name ends so: pdf, docx, py...", "--type")
]
SourceOption = Annotated[
    list[str] | None, make_option(Section.QUERY, "NAME", "Only files of this source, by its name.", "--source")
]
NeighboursOption = Annotated[
    int,
    make_option(
        Section.DISPLAY,
        "N",
        "Print whole chunks: that of each result, and N before and after it in the file.",
        "--neighbours",
        min=0,
        max=CONTEXT_MAX,
    ),
]
IndexOption = Annotated[
    str | None,
    make_option(
        Section.INPUT,
        "ADDRESS",
        "Search what was exported to this database (postgresql://user@host/database), not DATA.",
        "--index",
    ),
]
CollectionOption = Annotated[
    str | None,
    make_option(
        Section.INPUT,
        "NAME",
        "With --index: the schema, collection or table to search. Default: inorder.",
        "--collection",
    ),
]
