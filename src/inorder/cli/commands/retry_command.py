"""`inorder retry`: run what failed once more, and nothing else."""

import typer

from inorder.cli.options import Given, JsonOption, StageOption, runner_options


@runner_options
def retry(stage: StageOption = None, as_json: JsonOption = False, *, given: Given) -> None:
    """Run exactly the items that failed the last time they were tried; everything else is left alone.

    Their new rows are added to the manifest. Run it in the folder where the stage was run, so that the stage is found.
    Each option can also be set by a variable or in inorder.toml, as for `inorder stage`.

    Exit codes are those of `inorder stage`: 0 means that nothing is left that failed.
    """
    from inorder.cli.commands.retry import retry_stage
    from inorder.cli.data_dir import open_data
    from inorder.cli.exit_codes import Exit
    from inorder.cli.output import show_json, tell

    dataset = open_data(None, given)
    outcomes = []
    code = Exit.DONE
    for name in dataset.chosen(stage):
        outcome, code_here = retry_stage(dataset, name, given)
        if outcome is not None:
            outcomes.append(outcome)
        code = max(code, code_here)
        if code not in (Exit.DONE, Exit.ITEMS_FAILED):
            break
    if as_json:
        show_json({"stages": outcomes})
    elif not outcomes:
        tell("there is nothing to run again")
    raise typer.Exit(code)
