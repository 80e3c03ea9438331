"""`inorder serve`: runs, documents and search in a browser, and metrics for Prometheus."""

import os
from collections.abc import Sequence
from typing import Annotated

import typer

from inorder.cli.option_spec import Section
from inorder.cli.output import info, print_out
from inorder.cli.parameters import make_option
from inorder.cli.settings import resolve_data
from inorder.errors import OperatorError, require
from inorder.serve.options import LOOPBACK, PORT, ServeOptions


def serve(
    data: Annotated[
        list[str] | None,
        make_option(
            Section.INPUT, "DIR", "Directory to serve (DATA); may be given several times. Default: .inorder.", "--data"
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="ADDR", help=f"Address to listen on. Default: {LOOPBACK}.", show_default=False)
    ] = LOOPBACK,
    port: Annotated[
        int,
        make_option(Section.DISPLAY, "N", f"Port; 0 for any free one. Default: {PORT}.", "--port", min=0, max=65535),
    ] = PORT,
    token_file: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="File with the token that clients must present. Default: a new token."),
    ] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Let every user of this machine read; refused with another --host.")
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A further name under which browsers may address the server."),
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Show runs, documents and search of DATA in a browser, and metrics for Prometheus at /metrics.

    The server reads files only. It listens on loopback and prints an address with a token; the first visit turns the
    token into a cookie. Needs the extras ingest and serve.
    """
    from inorder.serve.server import make_token, read_token, run_server

    require(not (no_token and token_file), "give either --no-token or --token-file")
    folders = data or [resolve_data(None)]
    for folder in folders:
        if not os.path.isdir(folder):
            raise OperatorError(f"no DATA directory at {folder}; run `inorder run SRC --data {folder}` first")
    options = ServeOptions(
        data=tuple(folders),
        host=host,
        port=port,
        token="" if no_token else read_token(token_file) if token_file else make_token(),
        allowed_hosts=tuple(allow_host or ()),
    )
    run_server(options, _announce, opens_browser=open_browser)


def _announce(urls: Sequence[str]) -> None:
    print_out(*urls)
    info("serving at the address above; press Ctrl-C to stop")
