"""Providers and rerankers of other packages."""

from pathlib import Path

import pytest

from tests.extensions.conftest import AddPackage
from tests.support.command_line import CommandLine, CommandResult

pytestmark = [pytest.mark.req("PLG-1"), pytest.mark.process, pytest.mark.slow]

PROVIDER = """
import numpy

class Provider:
    policy = "{policy}"
    name, dimensions = "mine", 2

    def __init__(self, detail):
        self.detail = detail

    def embed(self, texts):
        return numpy.array([[0.6, 0.8]] * len(texts), numpy.float32)

    def close(self):
        pass

class Reranker:
    def __init__(self, detail):
        self.detail = detail

    def score(self, question, texts):
        return numpy.array([self.detail in text for text in texts], float)

class Nothing:
    def __init__(self, detail):
        pass
"""


def run(cli: CommandLine, *arguments: str) -> CommandResult:
    return cli.run_in_process("run", "sources", "--workers", "1", "--json", *arguments)


def test_installed_providers_make_the_vectors_and_search_uses_them(cli: CommandLine, example: Path) -> None:
    ended = run(cli, "--dense", "letters:2", "--sparse", "lengths")
    assert ended.code == 0, ended.err
    assert {path.name for path in (cli.data / "manifests").glob("embed*")} == {
        "embed-dense.jsonl",
        "embed-sparse.jsonl",
    }
    assert cli.run_in_process("search", "mercury", "--mode", "dense", "--json").json["hits"]
    assert run(cli, "--dense", "letters:2", "--sparse", "lengths").json["counts"]["unchanged"] == 2
    assert run(cli, "--dense", "letters:3", "--sparse", "lengths").json["counts"]["changed"] == 2


@pytest.mark.parametrize("policy", ["cpu", "io"])
def test_a_provider_that_is_named_as_module_and_name_runs_where_its_policy_says(cli: CommandLine, policy: str) -> None:
    cli.write("mine.py", PROVIDER.format(policy=policy))
    for content, changed in ((PROVIDER, 0), (f"# changed\n{PROVIDER}", 1)):
        cli.write("mine.py", content.format(policy=policy))
        ended = cli.run("run", "sources", "--workers", "1", "--json", "--dense", "mine:Provider:x")
        assert ended.code == 0, ended.err
        assert ended.json["counts"]["changed"] == changed
    assert cli.run_in_process("search", "mercury", "--mode", "dense", "--json").json["hits"]


@pytest.mark.parametrize(
    ("option", "spec", "said"),
    [
        ("--dense", "mine:nobody", "mine has no attribute 'nobody'"),
        ("--dense", "nobody", "unknown provider 'nobody'"),
        ("--dense", "no_such_module:Provider", "no module named no_such_module"),
        ("--sparse", "hash:8", "'hash:8' computes dense vectors; give it as --dense hash:8"),
    ],
)
def test_a_provider_that_is_not_there_is_a_mistake_of_one_line(
    cli: CommandLine, option: str, spec: str, said: str
) -> None:
    cli.write("mine.py", PROVIDER.format(policy="cpu"))
    ended = run(cli, option, spec)
    assert (ended.code, len(ended.err.splitlines())) == (2, 1)
    assert said in ended.err


def test_what_a_provider_has_made_must_be_a_provider(cli: CommandLine) -> None:
    cli.write("mine.py", PROVIDER.format(policy="cpu"))
    ended = run(cli, "--dense", "mine:Nothing")
    assert ended.code != 0
    assert "it has no name, dimensions, embed, close" in ended.err + cli.run_in_process("failures").out


def test_a_reranker_orders_the_first_hits_again(cli: CommandLine, example: Path) -> None:
    run(cli)
    cli.write("mine.py", PROVIDER.format(policy="cpu"))
    for spec, first in (("overlap", "sources/a.lamp"), ("mine:Reranker:cellar", "sources/b.md"), ("letters", "")):
        ended = cli.run_in_process("search", "the keeper burns oil", "--rerank", spec, "--json")
        assert ended.code == 0, ended.err
        assert first in ("", ended.json["hits"][0]["path"])
        assert "rerank" in ended.json["hits"][0]["ranks"]


def test_two_providers_with_one_name_are_one_line(cli: CommandLine, add_package: AddPackage) -> None:
    for package in ("one", "two"):
        add_package(package, "1", {"inorder.providers": {"same": f"{package}:Provider"}}, {f"{package}.py": ""})
    ended = run(cli, "--dense", "same")
    assert (ended.code, len(ended.err.splitlines())) == (2, 1)
    assert "one 1 and two 1 have a plug-in with the same name same (providers)" in ended.err


def test_a_package_cannot_replace_what_is_built_in(cli: CommandLine, add_package: AddPackage) -> None:
    add_package("bad", "1", {"inorder.providers": {"static": "bad:Provider"}}, {"bad.py": "1 / 0"})
    assert run(cli, "--dense", "static").code == 0
    [listed] = cli.run_in_process("plugins", "--json").json["plugins"]
    assert "has the name of something built in; name it as bad:Provider" in listed["problem"]
