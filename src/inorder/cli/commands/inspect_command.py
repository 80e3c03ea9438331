"""`inorder inspect`: DATA at a glance."""

from inorder.cli.options import DataOption, JsonOption, StageOption


def inspect(stage: StageOption = None, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Show what there is in DATA: stages, how their items stand, their latest runs, sizes, and what wants attention."""
    from inorder.cli.commands.inspect_glance import described, in_words
    from inorder.cli.data_dir import open_data
    from inorder.cli.output import show, show_json

    description = described(open_data(data), stage)
    if as_json:
        show_json(description)
    else:
        show(*in_words(description))
