"""`inorder verify`: is DATA what was written?"""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from inorder.cli.options import DataOption, JsonOption

if TYPE_CHECKING:
    from inorder.cli.commands.verify import Problem


def verify(data: DataOption = None, as_json: JsonOption = False) -> None:
    """Check DATA against its manifests, fingerprints and journals, and change nothing. Every output is read.

    Found, one line each: outputs and fingerprints that are missing or altered, files that no manifest names, what
    interrupted runs left in staging, torn or altered manifests and journals, runs that have not ended, and an index
    whose content hash is not that of what it holds.

    Exit code 0: all is well. 6: something is wrong. 5: a stage is being run just now.
    """
    from inorder.cli.commands.verify import StageCheck, of_index
    from inorder.cli.commands.verify_strays import Names, strays
    from inorder.cli.data_dir import open_data
    from inorder.cli.exit_codes import Exit
    from inorder.cli.output import as_bytes, counted, encode_json, stream_json, stream_lines, tell

    dataset = open_data(data)
    names = Names()
    checks = [StageCheck(dataset, stage, names.add) for stage in dataset.stages()]
    count = 0

    def found() -> "Iterator[Problem]":
        nonlocal count
        for check in checks:
            for problem in check.problems():
                count += 1
                yield problem
        for problem in (*strays(dataset.root, names), *of_index(dataset.root)):
            count += 1
            yield problem

    def counts() -> dict[str, int]:
        return {"count": count, "stages": len(checks), "items": sum(check.outputs_checked for check in checks)}

    with contextlib.ExitStack() as stack:
        for stage in dataset.stages():
            stack.callback(dataset.lock(stage).release)
        if as_json:
            stream_json("problems", (encode_json(problem._asdict()) for problem in found()), counts)
        else:
            stream_lines(as_bytes(_in_words(problem)) for problem in found())
    if count:
        tell(f"{counted(count, 'problem')} in {dataset.root}")
        raise typer.Exit(Exit.INTEGRITY)
    checked = counts()
    tell(f"all is well: {counted(checked['stages'], 'stage')}, outputs of {counted(checked['items'], 'item')} checked")


def _in_words(problem: "Problem") -> str:
    stage = f"{problem.stage}: " if problem.stage else ""
    return f"{problem.kind:10}  {problem.path}  {stage}{problem.message}"
