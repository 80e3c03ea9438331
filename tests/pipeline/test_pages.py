"""Pages that a model reads: each is asked once, whatever happens, and its document is assembled from all of them."""

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

import inorder
from inorder.cli.exit_codes import exit_code_of
from inorder.documents.chunk.settings import ChunkSettings
from inorder.documents.convert.settings import ConvertSettings
from inorder.documents.convert.stored import unpack_document
from inorder.documents.model import Document, PageReading
from inorder.errors import OperatorError
from inorder.library.reader import LibraryReader
from inorder.models.budget import SpendingLimits
from inorder.models.limits import ServerLimits
from inorder.pipeline.outcome import FileCounts, format_outcome
from inorder.pipeline.questions.model_forecast import ModelForecast
from inorder.pipeline.questions.prediction import Prediction
from inorder.testing import ModelRequest, ModelServer
from tests.documents.embed.servers import Script, serving, status, well
from tests.documents.pdf_files import draw_lines, draw_pdf, draw_together
from tests.support.in_process import run_in_process

from .runs import Library, write
from .scans import answer, draw_scan, make_image, read_number, write_scans

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.req("MOD-1", "MOD-2")]
QUICK = ServerLimits(in_flight=8, attempts_max=2, backoff_s=0.01, deadline_s=20.0)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return tmp_path / "docs"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(answer=answer) as found:
        yield found


def make_library(tmp_path: Path, server: ModelServer, /, *, data: str = "data", **settings: Any) -> Library:
    convert = ConvertSettings(reader=f"vision:{server.url}#m", **settings.pop("convert", {}))
    return Library(tmp_path / data, convert=convert, **{"model": QUICK, "dense": "none"} | settings)


def list_asked(server: ModelServer) -> list[int]:
    """The numbers of the pages that were answered, each as often as it was."""
    numbers = {request.key: read_number(request) for request in server.requests if request.images}
    return sorted(numbers[key] for key in server.answered.elements() if key in numbers)


def list_read(library: Library) -> list[int]:
    """The numbers of the pages that can be searched, as they stand in the documents."""
    with inorder.open(library.data) as dataset:
        return [int(found) for chunk in dataset.chunks() for found in re.findall(r"number(\d+)", chunk.text)]


def read_document(library: Library, item_id: str) -> Document:
    with closing(LibraryReader(str(library.data))) as reader:
        found = reader.read_committed(item_id, "doctags")
    assert found is not None
    document = unpack_document(found.content).document
    assert document is not None
    return document


def read_measures(data: Path) -> list[dict[str, float]]:
    """The measures in the telemetry so far; its last line may still be written."""
    text = "".join(path.read_text().rpartition("\n")[0] + "\n" for path in (data / "telemetry").rglob("*.jsonl"))
    found = [json.loads(line) for line in text.splitlines() if line]
    return [each["measures"] for each in found if "measures" in each]


def test_scans_are_read_page_by_page_and_each_page_is_asked_once(
    tmp_path: Path, docs: Path, server: ModelServer
) -> None:
    numbers = write_scans(docs, 3, 1, 2)
    make_image(100).save(docs / "one.png")
    make_image(101).save(docs / "two.tiff", save_all=True, append_images=[make_image(102)])
    write(docs, **{"note.md": "# A note\n\nNothing to look at.\n"})
    library = make_library(tmp_path, server)
    outcome = library.run(docs)
    assert outcome.counts == FileCounts(new=6)
    assert sorted(list_read(library)) == [*numbers, 100, 101, 102]
    assert list_asked(server) == [*numbers, 100, 101, 102]
    assert outcome.pages_without_text == 0
    assert outcome.model.asked == 9
    assert any(line.startswith("pages: 9 read by the model; 9 requests, ") for line in format_outcome(outcome))
    again = library.run(docs)
    assert (again.counts, again.steps) == (FileCounts(unchanged=6), {})
    assert server.asked.total() == 9, "nothing has changed, so nothing is asked"


def test_pages_that_the_rules_read_well_are_not_asked(tmp_path: Path, docs: Path, server: ModelServer) -> None:
    well, scan = draw_lines("The lamp is lit at dusk."), draw_scan(7)
    write(docs, **{"mixed.pdf": draw_pdf(well, scan, well)})
    library = make_library(tmp_path, server)
    library.run(docs)
    assert list_asked(server) == [7]
    document = read_document(library, "docs/mixed.pdf")
    assert [block.page for block in document.blocks] == [1, 2, 2, 3], "in the order of the pages"
    native, read, _ = (page.reading for page in document.pages)
    assert read == PageReading(f"vision:{server.url}#m", "has no text layer (a scanned page?)")
    assert native != read


def test_all_pages_are_asked_if_that_is_wanted(tmp_path: Path, docs: Path, server: ModelServer) -> None:
    page = draw_together(draw_scan(5), draw_lines("The lamp is lit at dusk.", top=600))
    write(docs, **{"text.pdf": draw_pdf(page)})
    make_library(tmp_path, server).run(docs)
    assert list_asked(server) == []
    library = make_library(tmp_path, server, convert={"pages": "all"})
    library.run(docs)
    assert (list_asked(server), list_read(library)) == ([5], [5])


def test_a_page_that_fails_costs_its_document_no_other_page(tmp_path: Path, docs: Path) -> None:
    """The document is one failed file, is found by its other pages, and the next run asks for that page alone."""
    page = draw_together(draw_scan(2), draw_lines("printed words of the second page", top=600))
    write(docs, **{"report.pdf": draw_pdf(draw_scan(1), page, draw_scan(3))})
    is_bad = True

    def answer_well(request: ModelRequest) -> str:
        if is_bad and request.images and read_number(request) == 2:
            raise ConnectionError
        return answer(request)

    with ModelServer(answer=answer_well) as server:
        library = make_library(tmp_path, server, convert={"pages": "all"})
        outcome = library.run(docs)
        assert outcome.counts == FileCounts(failed=1)
        assert library.list_failures() == [("docs/report.pdf", "doctags", "provider")]
        [error] = outcome.errors
        assert error.message.startswith("not read by the model: page 2 (")
        assert list_read(library) == [1, 3]
        with inorder.open(library.data) as dataset:
            assert "printed words of the second page" in " ".join(chunk.text for chunk in dataset.chunks())
        assert [bool(page.reading.problem) for page in read_document(library, "docs/report.pdf").pages] == [
            False,
            True,
            False,
        ]
        is_bad = False
        again = library.run(docs)
        assert (again.counts, library.list_failures()) == (FileCounts(changed=1), [])
        assert list_read(library) == [1, 2, 3]
        assert list_asked(server) == [1, 2, 3]


@pytest.mark.req("MOD-4")
def test_an_answer_that_is_of_no_use_is_asked_again_and_then_fails_its_page(tmp_path: Path, docs: Path) -> None:
    write(docs, **{"report.pdf": draw_pdf(draw_scan(1), draw_scan(2))})
    asked: Counter[int] = Counter()

    def answer_badly(request: ModelRequest) -> str:
        number = read_number(request) if request.images else 0
        asked[number] += 1
        return "The same line.\n" * 100 if number == 2 or asked[number] == 1 else answer(request)

    with ModelServer(answer=answer_badly) as server:
        library = make_library(tmp_path, server)
        outcome = library.run(docs)
        assert list_read(library) == [1]
        assert (outcome.model.asked, outcome.model.failed) == (1, 1)
        [error] = outcome.errors
        assert "page 2 (" in error.message
        assert "it repeats 'The same line.'" in error.message
        before = dict(asked)
        assert library.run(docs).counts == FileCounts(failed=1)
        assert dict(asked) == before, "the answers that were not accepted are kept, too"


@pytest.mark.req("MOD-3")
def test_a_run_stops_at_its_limit_and_what_was_paid_for_is_read(
    tmp_path: Path, docs: Path, server: ModelServer
) -> None:
    numbers = write_scans(docs, 2, 2, 2)
    limits = SpendingLimits(tokens_max=12_500)
    library = make_library(tmp_path, server, spending=limits, model=ServerLimits(in_flight=1, attempts_max=2))
    outcome = library.run(docs)
    assert (outcome.stop_kind, outcome.counts.failed) == ("budget", 0)
    assert outcome.model.waiting > 0
    read = sorted(list_read(library))
    assert 0 < len(read) < len(numbers)
    assert read == list_asked(server)
    rest = make_library(tmp_path, server)
    assert rest.run(docs).stop_kind is None
    assert (sorted(list_read(rest)), list_asked(server)) == (numbers, numbers)


def test_some_pages_can_be_looked_at_before_the_rest_is_paid_for(
    tmp_path: Path, docs: Path, server: ModelServer
) -> None:
    numbers = write_scans(docs, 4, 4)
    library = make_library(tmp_path, server, pages_max=2)
    assert library.run(docs).counts == FileCounts(new=2)
    assert list_read(library) == [1, 2]
    assert library.run(docs).counts == FileCounts(changed=1, unchanged=1)
    assert list_read(library) == [1, 2, 3, 4]
    rest = make_library(tmp_path, server)
    rest.run(docs)
    assert (list_read(rest), list_asked(server)) == (numbers, numbers)


def test_nothing_but_a_question_decides_whether_a_page_is_asked_again(
    tmp_path: Path, docs: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = write_scans(docs, 2, 2)
    library = make_library(tmp_path, server)
    library.run(docs)
    smaller = make_library(tmp_path, server, chunk=ChunkSettings(tokens_max=8))
    assert smaller.run(docs).counts == FileCounts(changed=2)
    assert library.run(docs, force=True).counts == FileCounts(changed=2)
    (docs / "scan-000.pdf").rename(docs / "other.pdf")
    library.run(docs)
    fresh = make_library(tmp_path, server, data="fresh", answers=str(library.data / "answers.sqlite"))
    monkeypatch.setattr("inorder.documents.convert.page_image._QUALITY", 50)
    assert fresh.run(docs).counts == FileCounts(new=2)
    assert sorted(list_read(fresh)) == numbers
    assert list_asked(server) == numbers, "each page was asked once"
    prompt = make_library(tmp_path, server, convert={"page_prompt": "Read it aloud."})
    prompt.run(docs)
    assert list_asked(server) == sorted(numbers * 2), "another prompt is another question"


def test_the_same_page_in_another_document_is_not_paid_for_again(
    tmp_path: Path, docs: Path, server: ModelServer
) -> None:
    write(docs, **{"report.pdf": draw_pdf(*map(draw_scan, (1, 2, 3)))})
    library = make_library(tmp_path, server)
    library.run(docs)
    write(docs, **{"report.pdf": draw_pdf(*map(draw_scan, (1, 2, 3, 4)))})  # a page more: another file
    outcome = library.run(docs)
    assert (outcome.counts, list_read(library), list_asked(server)) == (
        FileCounts(changed=1),
        [1, 2, 3, 4],
        [1, 2, 3, 4],
    )
    assert outcome.model.requests == 1
    write(docs, **{"other.pdf": draw_pdf(*map(draw_scan, (5, 2))), "third.pdf": draw_pdf(*map(draw_scan, (3, 5)))})
    library.run(docs)
    assert sorted(list_read(library)) == [1, 2, 2, 3, 3, 4, 5, 5]
    assert list_asked(server) == [1, 2, 3, 4, 5]


@pytest.mark.req("MOD-3")
def test_a_server_that_is_down_fails_no_document(tmp_path: Path, docs: Path, server: ModelServer) -> None:
    numbers = write_scans(docs, 2, 2)
    write(docs, **{"note.md": "# A note\n\nThe oil is in the cellar.\n"})
    library = make_library(tmp_path, server)
    server.is_down = True
    outcome = library.run(docs, outage_s_max=0.5)
    assert (outcome.stop_kind, outcome.counts.failed) == ("infrastructure", 0)
    assert format_outcome(outcome)[-1].endswith("a longer wait for the server: --set outage_s_max=SECONDS")
    assert library.list_failures() == []
    assert library.list_searchable() == ["docs/note.md", "docs/scan-000.pdf", "docs/scan-001.pdf"]
    server.is_down = False
    assert library.run(docs).counts == FileCounts(changed=2, unchanged=1)
    assert (sorted(list_read(library)), list_asked(server)) == (numbers, numbers)


@pytest.mark.req("RTY-5")
def test_a_server_of_vectors_that_is_down_keeps_no_page_from_being_read(
    tmp_path: Path, docs: Path, server: ModelServer
) -> None:
    """Each server has a breaker of its own."""
    numbers = write_scans(docs, 2, 1)
    script = Script(otherwise=status(503))
    with serving(script) as url:
        settings = {"dense": f"tei:{url}", "server": ServerLimits(attempts_max=1, backoff_s=0.01)}
        library = make_library(tmp_path, server, **settings)
        outcome = library.run(docs, outage_s_max=0.5)
        assert outcome.stop_kind == "infrastructure"
        assert (outcome.cancel_reason or "").startswith(f"{url} is down")
        assert sorted(list_read(library)) == numbers
        assert library.list_failures() == []
        script.otherwise = well
        again = library.run(docs)
    assert (again.stop_kind, list(again.steps), again.steps["embed:dense"].files) == (None, ["embed:dense"], 2)
    assert list_asked(server) == numbers, "what was answered is not asked again"


@pytest.mark.req("MOD-3")
def test_a_run_says_since_when_and_why_it_waits_and_afterwards_how_long_and_for_what(
    tmp_path: Path, docs: Path, server: ModelServer
) -> None:
    write_scans(docs, 2)
    server.is_down = True
    prices = ["--set", "model_price_in=1000", "--set", "model_price_out=1000", "--set", "model_attempts_max=1"]
    often = ["--set", "diagnostics_interval_s=0.1", "--set", "metrics_file=metrics"]
    command = [sys.executable, "-m", "inorder", "run", "docs", "--data", "data", "--dense", "none"]
    with subprocess.Popen(
        [*command, "--reader", f"vision:{server.url}#m", *prices, *often],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        is_said = False
        for line in process.stderr:
            is_said |= bool(re.search(r"waiting since \d\d:\d\d:\d\d, the server is down: .* returned 503", line))
            waited = [found.get("model_waited_down_s", 0.0) for found in read_measures(tmp_path / "data")]
            if is_said and max(waited, default=0.0) >= 1:  # afterwards, a shorter wait is not worth a word
                server.is_down = False
                break
        last = process.stderr.read()
    assert process.returncode == 0
    [pages] = [line for line in last.splitlines() if "pages: " in line]
    assert "pages: 2 read by the model; " in pages
    assert re.search(r"tokens in, .* at your prices; waited .* for a server that was down", pages)
    _, said, _ = run_in_process(["inspect", "--data", "data"], tmp_path, {"PATH": ""})
    assert pages.partition("pages: ")[2].strip() in said
    run_in_process(["report", "--data", "data", "--output", "report.html"], tmp_path, {"PATH": ""})
    assert "pages: 2 read by the model" in (tmp_path / "report.html").read_text()
    metrics = (tmp_path / "metrics").read_text()
    for name in ("asked", "kept", "tokens_in", "tokens_out", "cost", "waited_down_s"):
        assert f'name="model_{name}"' in metrics


def test_a_run_that_asks_nothing_leaves_no_file_with_answers(tmp_path: Path, docs: Path, server: ModelServer) -> None:
    write(docs, **{"note.md": "# A note\n\nThe oil is in the cellar.\n"})
    library = make_library(tmp_path, server)
    assert library.run(docs).counts == FileCounts(new=1)
    assert not (library.data / "answers.sqlite").exists()


def test_a_wrong_key_is_said_before_anything_is_read(
    tmp_path: Path, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_scans(docs, 1)
    monkeypatch.setenv("INORDER_API_KEY", "wrong")
    with ModelServer(answer=answer, key="right") as server:
        library = make_library(tmp_path, server)
        with pytest.raises(OperatorError, match="401"):
            library.run(docs)
        assert library.list_searchable() == []


def test_exports_are_equal_byte_for_byte_given_the_same_answers(
    tmp_path: Path, docs: Path, server: ModelServer
) -> None:
    write_scans(docs, 3, 2, 1)
    first = make_library(tmp_path, server)
    first.run(docs)
    second = make_library(tmp_path, server, data="second", answers=str(first.data / "answers.sqlite"), pages_max=2)
    while second.run(docs, workers=1).counts.unchanged < 3:
        pass
    third = make_library(tmp_path, server, data="third")
    third.run(docs, workers=3)
    assert first.read_content_hash() == second.read_content_hash() == third.read_content_hash()


@pytest.mark.req("MOD-3", "CLI-3")
def test_at_a_limit_on_money_a_run_stops_with_what_it_has_and_a_later_one_goes_on(
    tmp_path: Path, docs: Path, server: ModelServer
) -> None:
    """A page is declared with 1,500 tokens and 500 of its answer, and uses about 1,050."""
    numbers = write_scans(docs, 6)
    spending = SpendingLimits(cost_max=5000, price_in=1_000_000, price_out=1_000_000)
    library = make_library(tmp_path, server, spending=spending, convert={"page_tokens_max": 500})
    outcome = library.run(docs)
    assert outcome.stop_kind == "budget"
    assert "cost_max=5000 is reached" in str(outcome.cancel_reason)
    assert exit_code_of(outcome) == 4
    assert 0 < server.answered.total() < 6
    assert server.tokens_in + server.tokens_out <= 5000
    runs = 1
    while library.run(docs).stop_kind is not None:
        runs += 1
        assert runs < 6
    assert list_read(library) == list_asked(server) == numbers


@pytest.mark.req("MOD-3")
def test_the_plan_says_what_pages_cost_before_anything_is_asked(
    tmp_path: Path, docs: Path, server: ModelServer
) -> None:
    write_scans(docs, 3, 2)
    write(docs, **{"text.pdf": draw_pdf(draw_lines("The lamp is lit at dusk."))})
    prices = SpendingLimits(price_in=1000.0, price_out=2000.0)
    library = make_library(tmp_path, server, pages_max=2, spending=prices)

    def predict(**changes: Any) -> ModelForecast:
        settings = msgspec.structs.replace(library.settings, pages_max=None, **changes)
        prediction = Prediction((str(docs),), settings, data=str(library.data))
        assert list(prediction) is not None
        assert prediction.model is not None
        return prediction.model

    before = predict()
    assert (before.pages, before.kept) == (5, 0)
    assert before.cost == pytest.approx((before.tokens_in * 1000 + before.tokens_out * 2000) / 1e6)
    assert server.asked.total() == 0, "a plan asks nothing"
    library.run(docs)
    after = predict()
    assert (after.pages, after.kept) == (3, 0), "two are read"
    assert after.describe().startswith("at most 3 pages to ask, about "), "some may be in other documents, too"
    assert after.tokens_in == round(3 * server.tokens_in / 2), "as the pages before them"
    prompt = msgspec.structs.replace(library.settings.convert, page_prompt="Read it aloud.")
    assert predict(convert=prompt).pages == 5, "another prompt asks every page again"
    assert server.asked.total() == 2


@pytest.mark.req("PIP-7")
def test_another_prompt_that_is_stopped_leaves_what_was_read_before(
    tmp_path: Path, docs: Path, server: ModelServer
) -> None:
    numbers = write_scans(docs, 2, 2)
    library = make_library(tmp_path, server)
    library.run(docs)
    other = {"page_prompt": "Read it aloud.", "page_tokens_max": 500}
    limits = SpendingLimits(tokens_max=3000)
    stopped = make_library(tmp_path, server, convert=other, spending=limits)
    assert stopped.run(docs).stop_kind == "budget"
    assert sorted(list_read(library)) == numbers
    rest = make_library(tmp_path, server, convert=other)
    assert rest.run(docs).stop_kind is None
    assert sorted(list_read(library)) == numbers
    assert list_asked(server) == sorted(numbers * 2)


def test_what_was_asked_is_in_the_telemetry(tmp_path: Path, docs: Path, server: ModelServer) -> None:
    write_scans(docs, 2)
    library = make_library(tmp_path, server)
    library.run(docs, telemetry=True)
    asked = [found for found in read_measures(library.data) if "model_asked" in found][-1]
    assert (asked["model_asked"], asked["model_requests"], asked["model_tokens_in"]) == (2, 2, server.tokens_in)


@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        ("nonsense", "vision:URL must be an http address such as vision:http://localhost:8080, got 'nonsense'"),
        ("http://localhost:9/v1", "vision:URL#MODEL needs the name of a model: vision:http://localhost:9/v1#NAME"),
    ],
)
@pytest.mark.parametrize("command", ["run", "plan"])
def test_an_address_that_is_none_is_refused_in_one_line(
    tmp_path: Path, command: str, address: str, complaint: str
) -> None:
    write_scans(tmp_path / "scans", 1)
    code, out, err = run_in_process([command, "scans", "--reader", f"vision:{address}"], tmp_path, {"PATH": ""})
    assert (code, out, err) == (2, "", f"inorder: {complaint}\n")
