"""`inorder embed`: chunks to vectors."""

from functools import partial

import typer

from inorder.cli.builtin import describe_defaults, run_builtin
from inorder.cli.output import print_json
from inorder.cli.parameters import Given, JsonOption, run_options


@run_options(partial(describe_defaults, ["embed"]), ["embed"])
def embed(as_json: JsonOption = False, *, given: Given) -> None:
    """Compute vectors for the chunks in DATA.

    Writes DATA/vectors/dense, sparse and lexical. The default provider needs no model and no network: it hashes words
    and character n-grams. Term counts for BM25 and the corpus statistics in DATA/vectors/__corpus__.parquet are kept up
    to date. The default of --policy depends on the provider.

    Exit codes are those of `inorder doctags`.
    """
    outcomes, code = run_builtin(["embed"], [], given)
    if as_json:
        print_json(outcomes[0])
    raise typer.Exit(code)
