"""`inorder answers`: the answers of models that are kept."""

import os
import time
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime
from typing import Annotated, Any

from inorder.cli.data_dir import open_data
from inorder.cli.option_spec import Section
from inorder.cli.output import encode_json, format_table, info, print_json, print_out, stream_lines, to_one_line
from inorder.cli.parameters import DataOption, JsonOption, make_option
from inorder.cli.pipeline import find_answers_file
from inorder.errors import OperatorError, require
from inorder.host.named_file import read_named
from inorder.library.opening import has_library
from inorder.library.reader import LibraryReader
from inorder.models import ledger
from inorder.models.ledger import AskedQuestion, Selection

_DAY_S = 86_400
_PROMPT_CHARACTERS = 40
_PROMPT_BYTES = 2**20


def answers(
    file: Annotated[
        str | None, make_option(Section.INPUT, "FILE", "File with answers. Default: that of DATA.", "--answers")
    ] = None,
    model: Annotated[
        str, make_option(Section.INPUT, "TEXT", "Only of models whose address has this text. Default: all.", "--model")
    ] = "",
    refused: Annotated[
        bool, make_option(Section.INPUT, "", "Only answers that were not accepted.", "--refused")
    ] = False,
    older_days: Annotated[
        float | None, make_option(Section.INPUT, "DAYS", "Only answers that are older. Default: all.", "--older")
    ] = None,
    orphans: Annotated[
        bool,
        make_option(Section.INPUT, "", "Only answers about files that DATA does not have (any more).", "--orphans"),
    ] = False,
    prompt: Annotated[
        str | None,
        make_option(
            Section.INPUT, "FILE", "Say what would be asked again if the prompt were that in this file.", "--prompt"
        ),
    ] = None,
    remove: Annotated[
        bool, make_option(Section.OUTPUT, "", "Remove these answers, with their text.", "--remove")
    ] = False,
    as_jsonl: Annotated[
        bool, make_option(Section.OUTPUT, "", "Print all answers, one JSON object per line.", "--jsonl")
    ] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what models were asked: model, prompt, answers, those not accepted, tokens, and when they were last used.

    An answer is paid for once: a run looks it up by its model, prompt, parameters and input. `--jsonl` exports answers,
    `--prompt` says what another prompt would cost, `--remove` removes answers. Several DATA may share a file: answers
    that are removed there are asked for again by all of them.
    """
    require(not (remove and (as_jsonl or prompt)), "--remove cannot be combined with --jsonl or --prompt")
    require(
        not remove or bool(model) or refused or older_days is not None or orphans,
        "--remove needs to know which answers: --orphans, --refused, --older DAYS or --model TEXT",
    )
    require(not (orphans and (as_jsonl or prompt)), "--orphans counts or removes answers; omit --jsonl and --prompt")
    root = open_data(data).root if file is None or orphans else ""
    path = find_answers_file(root) if file is None else file
    require(file is None or os.path.exists(path), f"no such file: {path}")
    if not os.path.exists(path):
        _print_none(as_json=as_json)
        return
    before = None if older_days is None else time.time() - older_days * _DAY_S
    selection = Selection(model=model, refused=refused, before=before)
    if as_jsonl:
        stream_lines(encode_json(each) for each in ledger.list_answers(path, selection))
    elif prompt is not None:
        _print_again(path, selection, prompt, as_json=as_json)
    elif remove or orphans:
        _print_count(path, selection, list_orphans(root, path, selection) if orphans else None, remove, as_json)
    else:
        _print_questions(ledger.list_questions(path, selection), as_json=as_json)


def _print_none(*, as_json: bool) -> None:
    """Say that no model was asked."""
    if as_json:
        print_json({"questions": []})
    else:
        info("no model was asked")


def _print_questions(found: Sequence[AskedQuestion], *, as_json: bool) -> None:
    if as_json:
        print_json({"questions": found})
        return
    rows = [("model", "answers", "not accepted", "tokens in", "tokens out", "latest", "prompt")]
    for each in found:
        counts = (f"{each.answers:,}", f"{each.refused:,}", f"{each.tokens_in:,}", f"{each.tokens_out:,}")
        latest = datetime.fromtimestamp(each.last_at).astimezone().isoformat(timespec="seconds")
        rows.append((each.model, *counts, latest, to_one_line(each.prompt)[:_PROMPT_CHARACTERS]))
    print_out(*format_table(rows))


def _print_again(path: str, selection: Selection, prompt: str, *, as_json: bool) -> None:
    try:
        text = read_named(prompt, _PROMPT_BYTES).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise OperatorError(f"cannot read {prompt}: {getattr(error, 'strerror', None) or error}") from None
    again = ledger.count_again(path, selection, text)
    if as_json:
        print_json(again)
    else:
        print_out(
            f"{again.questions:,} questions would be asked again: about {again.tokens_in:,} tokens in, "
            f"{again.tokens_out:,} out"
        )


def _print_count(path: str, selection: Selection, files: Sequence[str] | None, remove: bool, as_json: bool) -> None:
    count = (ledger.remove_answers if remove else ledger.count_answers)(path, selection, files)
    left = ledger.count_answers(path, Selection())
    result: dict[str, Any] = {"removed" if remove else "answers": count, "left" if remove else "all": left}
    if as_json:
        print_json(result)
    elif remove:
        print_out(f"removed {count:,} answers; {left:,} stay")
    else:
        print_out(f"{count:,} answers of {left:,} are about files that DATA does not have; --remove removes them")


def list_orphans(root: str, path: str, selection: Selection) -> list[str]:
    """Return the hashes of files that answers are about and that DATA does not have."""
    require(has_library(root), f"no library in {root}; make one with `inorder run SRC`")
    files = ledger.list_files(path, selection)
    with closing(LibraryReader(root)) as library:
        known = library.find_by_sha256([bytes.fromhex(each) for each in files])
    return [each for each in files if bytes.fromhex(each) not in known]
