"""A watch whose server of vectors is down goes on: words are searchable, and vectors follow when it is back."""

import pytest

from tests.documents.embed.servers import Script, serving, status, well
from tests.support.command_line import CommandLine
from tests.watch.processes import Watch

pytestmark = [pytest.mark.process, pytest.mark.req("RTY-5", "CLI-3")]


def test_a_watch_outlives_an_outage_and_makes_up_for_it(cli: CommandLine) -> None:
    cli.source("a.md", "# Lamp\n\nA lamp.\n")
    script = Script(otherwise=status(503))
    with serving(script) as address:
        limits = ("server_attempts_max=1", "outage_s_max=0.1")
        options = [word for each in limits for word in ("--set", each)]
        watch = Watch(cli, "--dense", f"tei:{address}", *options)
        first = watch.next("run_ended")
        assert (first["exit_code"], first["outcome"]["stop_kind"]) == (1, "infrastructure")
        assert f"{address} is down" in first["outcome"]["cancel_reason"]
        assert first["outcome"]["counts"]["failed"] == 0
        found = cli.run("search", "lamp", "--mode", "lexical", "--json").json
        assert [hit["path"].rpartition("/")[2] for hit in found["hits"]] == ["a.md"]
        script.otherwise = well
        while (ended := watch.next("run_ended"))["exit_code"] != 0:
            assert ended["outcome"]["counts"]["failed"] == 0
        assert cli.run("search", "lamp", "--mode", "dense").code == 0
        assert watch.end().code == 143
