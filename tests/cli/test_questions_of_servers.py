"""Searches whose vectors come from a server that is down: one line says so, and what asks no server works."""

import pytest

from tests.documents.embed.servers import Script, serving, status, well
from tests.serve.conftest import make_client
from tests.support.command_line import CommandLine

pytestmark = [pytest.mark.process, pytest.mark.req("RTY-5")]


def test_a_search_whose_server_is_down_says_so_in_one_line(cli: CommandLine) -> None:
    cli.sources("The fog horn is sounded in mist.", "The lamp is lit at dusk.")
    script = Script()
    with serving(script) as address:
        assert cli.run("run", "sources", "--dense", f"openai:{address}/v1#m").code == 0
        script.otherwise = status(503)
        reason = f"openai:{address}/v1#m makes no vectors for the question: gave up after 3 attempts: "
        for arguments in (("--mode", "hybrid"), ("--mode", "lexical", "--rerank", f"openai:{address}/v1#m")):
            failed = cli.run("search", "fog", *arguments)
            assert (failed.code, failed.out, failed.err.count("\n")) == (1, "", 1), failed.err
            assert f"inorder: {reason}" in failed.err
        assert cli.run("search", "fog", "--mode", "lexical").code == 0

        pages = make_client(cli.data)
        answered = pages.get("/api/search?q=fog&mode=hybrid")
        assert answered.status_code == 503
        assert reason in answered.text
        count = len(script.paths)
        assert pages.get("/api/search?q=fog&mode=hybrid").status_code == 503
        assert len(script.paths) <= count + 1, "a server that is known to be down is asked once"
        assert pages.get("/api/search?q=fog&mode=lexical").status_code == 200
        script.otherwise = well
        assert cli.end_of(cli.start("search", "fog", "--mode", "hybrid")).code == 0
