"""`inorder export --to s3://...` against moto's S3 server: canonical, incremental, and complete after every kill."""

import hashlib
import json
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.dataset import ExportOutcome
from tests.connectors.drivers import Drivers, open_drivers
from tests.connectors.s3_server import BUCKET, CREDENTIALS, S3Server, serve_s3
from tests.dataset.chunk_store import ChunkStore, make_store, name_of, text_of
from tests.dataset.test_export import read_tree
from tests.support.in_process import run_in_process

pytest.importorskip("s3fs", reason="make test-connectors installs it")
pytest.importorskip("moto", reason="make test-connectors installs it")
pytestmark = [pytest.mark.process, pytest.mark.slow]

SMALL = 2048
KILLS, TESTS = 10, 20
TO = f"s3://{BUCKET}"


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with serve_s3() as server:
        yield server


@pytest.fixture
def environment(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return server.environment


@pytest.fixture
def client(environment: dict[str, str]) -> Any:
    import s3fs

    return s3fs.S3FileSystem(skip_instance_cache=True, use_listings_cache=False)


@pytest.fixture
def store(tmp_path: Path) -> ChunkStore:
    return make_store(tmp_path)


@pytest.fixture
def prefix(request: pytest.FixtureRequest) -> str:
    return hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:16]


def export(store: ChunkStore, prefix: str) -> ExportOutcome:
    return inorder.open(store.data).export(f"{TO}/{prefix}", "chunks", shard_bytes=SMALL)


def read_objects(client: Any, prefix: str) -> dict[str, bytes]:
    """Every object of the export but those that are hidden."""
    start = len(f"{BUCKET}/{prefix}/")
    paths = [path for path in client.find(f"{BUCKET}/{prefix}") if "/.inorder/" not in path]
    return {path[start:]: client.cat_file(path) for path in paths}


def read_exported(client: Any, prefix: str) -> list[bytes]:
    """The shards as a reader finds them who follows the manifest; none if there is no export yet."""
    try:
        manifest = json.loads(client.cat_file(f"{BUCKET}/{prefix}/_inorder.json"))
    except FileNotFoundError:
        return []
    shards = manifest["tables"]["chunks"]["shards"]
    contents = [client.cat_file(f"{BUCKET}/{prefix}/{shard['path']}") for shard in shards]
    assert [hashlib.sha256(content).hexdigest() for content in contents] == [shard["sha256"] for shard in shards]
    return contents


def test_shards_have_the_bytes_of_a_local_export(store: ChunkStore, client: Any, prefix: str, tmp_path: Path) -> None:
    outcome = export(store, prefix)
    inorder.open(store.data).export(tmp_path / "out", "chunks", shard_bytes=SMALL)
    local = [content for name, content in sorted(read_tree(tmp_path / "out").items()) if "part-" in name]
    assert read_exported(client, prefix) == local
    assert outcome.tables["chunks"].written == len(local) > 5
    again = export(store, prefix)
    assert (again.tables["chunks"].written, again.removed) == (0, 0)


def test_after_updates_and_deletes_the_objects_are_those_of_a_first_export(
    store: ChunkStore, client: Any, prefix: str
) -> None:
    before = export(store, prefix).tables["chunks"].written
    store.put(docs_029="The lamp 29 is out. " * 6)
    changed = export(store, prefix)
    assert (changed.tables["chunks"].written, changed.tables["chunks"].kept) == (1, before - 1)
    store.put(**{f"docs_000_{number}": "new " * 90 for number in range(9)})
    store.remove(*map(name_of, range(40, 60)))
    assert export(store, prefix).removed > 0
    export(store, f"{prefix}-fresh")
    assert read_objects(client, prefix) == read_objects(client, f"{prefix}-fresh")


def test_duckdb_reads_the_shards_that_the_manifest_names(store: ChunkStore, client: Any, prefix: str) -> None:
    import pyarrow.parquet as pq

    export(store, prefix)
    manifest = json.loads(client.cat_file(f"{BUCKET}/{prefix}/_inorder.json"))
    paths = [f"{BUCKET}/{prefix}/{shard['path']}" for shard in manifest["tables"]["chunks"]["shards"]]
    texts = [text for path in paths for text in pq.read_table(path, filesystem=client)["text"].to_pylist()]
    assert texts == [row.text for row in inorder.open(store.data).chunks()]


@pytest.mark.parametrize(
    ("to", "variables", "code", "message"),
    [
        ("s3://no-such-bucket/out", {}, 2, "the bucket or container of s3://no-such-bucket/out does not exist"),
        (f"{TO}/out", {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, 1, "Could not connect to the endpoint"),
        (
            f"{TO}/out",
            {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SHARED_CREDENTIALS_FILE": "/none"},
            2,
            f"access to {TO}/out was denied: Unable to locate credentials; credentials come from the environment",
        ),
    ],
)
def test_a_bucket_that_cannot_be_used_is_one_line(
    store: ChunkStore,
    environment: dict[str, str],
    to: str,
    variables: dict[str, str],
    code: int,
    message: str,
) -> None:
    given = {name: value for name, value in {**environment, **variables}.items() if value}
    found, out, err = run_in_process(["export", "chunks", "--data", str(store.data), "--to", to], store.data, given)
    assert (found, out, err.count("\n")) == (code, "", 1)
    assert message in err


def test_credentials_are_in_no_object_and_no_output(
    store: ChunkStore, client: Any, prefix: str, environment: dict[str, str]
) -> None:
    arguments = ["export", "chunks", "--data", str(store.data), "--to", f"{TO}/{prefix}", "--json"]
    code, out, err = run_in_process(arguments, store.data, environment)
    assert code == 0, err
    contents = [client.cat_file(path) for path in client.find(f"{BUCKET}/{prefix}")]
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        secret = CREDENTIALS[name]
        assert secret not in out + err
        assert not any(secret.encode() in content for content in contents)


def test_of_two_exporters_at_once_one_ends_with_exit_code_5_and_the_export_is_complete(
    store: ChunkStore, server: S3Server, client: Any, prefix: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    """The server holds the first exporter, which has its lease, until the second has ended."""
    arguments = ("export", "chunks", "--data", str(store.data), "--to", f"{TO}/{prefix}", "--shard-bytes", str(SMALL))
    with open_drivers(tmp_path, environment, "s3fs", "inorder.dataset.export.export") as drivers:
        server.hold(14)
        drivers.start(*arguments)
        server.wait_until_held()
        code, _, err = run_in_process(list(arguments), store.data, environment)
        server.go_on()
        assert drivers.wait() == 0, drivers.log.read_text()
    assert code == 5
    assert "is in use by process" in err
    assert read_exported(client, prefix)


def change(store: ChunkStore, chance: random.Random) -> None:
    """Documents that change, come and go."""
    for number in chance.sample(range(60), 4):
        if chance.random() < 0.3:
            store.remove(name_of(number))
        else:
            store.put(**{name_of(number): text_of(number) * chance.randint(1, 4)})


@pytest.mark.parametrize("seed", range(TESTS))
def test_killed_at_random_requests_the_export_is_always_complete_and_in_the_end_equal_to_an_undisturbed_one(
    store: ChunkStore, server: S3Server, client: Any, prefix: str, tmp_path: Path, environment: Any, seed: int
) -> None:
    chance = random.Random(seed)
    arguments = ("export", "chunks", "--data", str(store.data), "--to", f"{TO}/{prefix}", "--shard-bytes", str(SMALL))
    kills = 0
    with open_drivers(tmp_path, environment, "s3fs", "inorder.dataset.export.export") as drivers:
        while kills < KILLS:
            code = run_until_killed(server, drivers, chance, arguments)
            assert code in (0, -signal.SIGKILL), drivers.log.read_text()
            kills += code != 0
            read_exported(client, prefix)
            if code == 0 or chance.random() < 0.3:
                change(store, chance)
        assert drivers.run(*arguments) == 0, drivers.log.read_text()
    export(store, f"{prefix}-fresh")
    assert read_objects(client, prefix) == read_objects(client, f"{prefix}-fresh")
    assert not [path for path in client.find(f"{BUCKET}/{prefix}/.inorder") if "/leases/" not in path]


def run_until_killed(server: S3Server, drivers: Drivers, chance: random.Random, arguments: tuple[str, ...]) -> int:
    server.arm(chance.randint(1, 40), is_applied=chance.random() < 0.5)
    server.set_victim(drivers.start(*arguments))
    code = drivers.wait()
    server.disarm()
    return code
