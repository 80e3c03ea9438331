"""Search through the JSON API."""

import shutil
from pathlib import Path

import msgspec
import pytest
from starlette.testclient import TestClient

from inorder.serve.api.routes import ENDPOINTS
from tests.pipeline.folders import FolderRuns
from tests.serve.conftest import make_client
from tests.serve.site import Site

pytestmark = pytest.mark.req("VIS-2")


def test_a_hit_says_where_it_is_and_why(client: TestClient) -> None:
    found = client.get("/api/search?q=high+water").json()
    hit = next(hit for hit in found["hits"] if hit["id"] == "docs/tides.pdf")
    assert hit["pages"] == [1, 2]
    assert hit["found_by"] in ("words", "both")
    words = [line["text"][start:end] for line in hit["snippet"] for start, end in line["marks"]]
    assert {word.lower() for word in words} == {"high", "water"}
    assert "text" not in hit, "a whole chunk is not sent for every hit"


def test_code_is_found_with_its_line(client: TestClient) -> None:
    found = client.get("/api/search?q=def:measure").json()
    assert found["mode"] == "names"
    [place] = found["places"]
    assert (place["item_id"], place["line"]) == ("docs/lamp.py", 9)


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        ("only=code", {"docs/lamp.py"}),
        ("language=python", {"docs/lamp.py"}),
        ("path=*note.md", {"docs/note.md"}),
        ("kind=section", {"docs/note.md"}),
    ],
)
def test_a_search_can_be_restricted(client: TestClient, condition: str, ids: set[str]) -> None:
    found = client.get(f"/api/search?q=lamp&{condition}").json()
    assert {hit["id"] for hit in found["hits"]} == ids


@pytest.mark.parametrize(
    ("conditions", "ids"),
    [
        ("path=*note.md&path=*.py", {"docs/note.md", "docs/lamp.py"}),
        ("type=md&type=py&path=!*note.md", {"docs/lamp.py"}),
        ("source=docs&type=!py&language=!de&kind=section&kind=function", {"docs/note.md"}),
        ("language=&kind=&type=py", {"docs/lamp.py"}),
    ],
)
def test_a_condition_takes_several_values(client: TestClient, conditions: str, ids: set[str]) -> None:
    found = client.get(f"/api/search?q=lamp&k=50&{conditions}").json()
    assert {hit["id"] for hit in found["hits"]} == ids


def test_a_hit_in_markdown_has_its_line(client: TestClient) -> None:
    [hit] = client.get("/api/search?q=lamp&path=*note.md&k=1").json()["hits"]
    assert hit["line"] > 0
    assert hit["location"] == f"{hit['path']}:{hit['line']}"


def test_examples_are_questions_that_the_index_answers(client: TestClient) -> None:
    examples = client.get("/api/facets").json()["examples"]
    assert {"def:measure", "ref:measure", "sym:Lamp", "imports:json"} <= set(examples)
    assert any(":" not in question for question in examples)
    for question in examples:
        found = client.get("/api/search", params={"q": question}).json()
        assert found["hits"] or found["places"], question


def test_without_code_no_names_are_examples(tmp_path: Path) -> None:
    runs = FolderRuns(tmp_path, dense="none")
    runs.write("docs/plain.txt", "A lamp.\n")
    runs.run("docs")
    assert make_client(runs.data).get("/api/facets").json()["examples"] == []


def test_facets_count_what_the_index_contains(client: TestClient) -> None:
    found = client.get("/api/facets").json()
    assert found["documents"] == 4
    assert found["files"] == 1
    assert {"value": "python", "count": 1} in found["languages"]
    assert client.get("/api/facets").json() == found


@pytest.mark.parametrize(
    ("query", "status", "word"),
    [
        ("q=", 400, "no word"),
        ("", 400, "`q`"),
        ("q=lamp&k=0", 400, "k"),
        ("q=lamp&k=many", 400, "k"),
        ("q=lamp&mode=magic", 400, "mode"),
        ("q=lamp&colour=red", 400, "colour"),
        ("q=lamp&data=other", 404, "no DATA is served as 'other'; served: data"),
        ("q=lamp%00", 400, "NUL"),
        ("q=lamp&language=klingon", 400, "klingon"),
    ],
)
def test_a_wrong_request_is_answered_with_one_line(client: TestClient, query: str, status: int, word: str) -> None:
    response = client.get(f"/api/search?{query}")
    assert response.status_code == status
    assert word in response.json()["error"]
    assert "\n" not in response.json()["error"]


def test_data_without_an_index_says_what_to_run(tmp_path: Path) -> None:
    response = make_client(tmp_path).get("/api/search?q=lamp")
    assert response.status_code == 404
    assert "inorder index" in response.json()["error"]


def test_several_data_are_served_by_name(site: Site, tmp_path: Path) -> None:
    other = tmp_path / "harbour" / ".inorder"
    shutil.copytree(site.data, other)
    (other / "library.sqlite").unlink()
    (other / "journal" / "run.journal").unlink()
    same_name = tmp_path / "data"
    same_name.mkdir()
    client = make_client(site.data, other, same_name, site.data)
    assert [each["name"] for each in client.get("/api/data").json()["data"]] == ["data", "harbour", "data~2"]
    assert client.get("/api/search?q=lamp&data=data").status_code == 200
    assert client.get("/api/search?q=lamp&data=harbour").status_code == 404


def test_the_api_document_lists_every_endpoint_and_its_results_conform(client: TestClient) -> None:
    document = client.get("/api/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert document["paths"].keys() == {endpoint.path for endpoint in ENDPOINTS}
    parameters = {each["name"]: each for each in document["paths"]["/api/search"]["get"]["parameters"]}
    assert parameters["q"]["required"]
    assert parameters["q"]["description"]
    assert not parameters["data"]["required"]
    assert parameters["type"]["schema"]["type"] == "array"
    [search] = [endpoint for endpoint in ENDPOINTS if endpoint.path == "/api/search"]
    msgspec.json.decode(client.get("/api/search?q=lamp").content, type=search.result)
