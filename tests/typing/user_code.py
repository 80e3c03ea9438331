"""Code as a user writes it, for `mypy --strict` in `test_user_code.py`; `assert_type` states what is promised."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, assert_type

import inorder
from inorder.dataset import Chunk, DatasetDocument, DenseVector, LexicalTerms, Rows, SearchAnswer, SparseTerms
from inorder.lanes import Lane, LaneConfig, Outcome
from inorder.plugins import DenseProvider, Document, Paragraph, Reader, StepPlugin
from inorder.sinks import Entry, MemorySink, Position
from inorder.testing import READER_RULES, STEP_RULES


def parse(text: str) -> int:
    return int(text)


def classify(error: BaseException) -> tuple[str, bool] | None:
    return ("provider", True) if isinstance(error, LookupError) else None


async def parse_async(text: str) -> int:
    return int(text)


async def read_lines() -> AsyncIterator[str]:
    yield "1"


async def iterate_async(lines: Sequence[str]) -> None:
    async with inorder.imap(parse_async, lines, workers=100) as results:
        assert_type(results, inorder.Imap[int])
        async for number in results:
            assert_type(number, int)
    async for result in inorder.imap(parse, read_lines(), errors="yield"):
        assert_type(result, int | inorder.ItemError)


def iterate(lines: Sequence[str]) -> None:
    raising = inorder.imap(parse, lines, workers=2, timeout_s=30, retries=2)
    assert_type(raising, inorder.Imap[int])
    for number in raising:
        assert_type(number, int)

    yielding = inorder.imap(parse, lines, errors="yield", where="threads")
    assert_type(yielding, inorder.Imap[int | inorder.ItemError])
    for result in yielding:
        if isinstance(result, inorder.ItemError):
            assert_type(result.category, inorder.Category)
            assert_type(result.attempts, int)
        else:
            assert_type(result, int)

    unordered = inorder.imap(parse, lines, order="none")
    assert_type(next(unordered), int)
    inorder.imap(parse, lines, order="key", key=len)
    with inorder.Executor(workers=2, timeout_s=5) as executor:
        assert_type(executor.submit(parse, "1").result(), int)

    with inorder.imap(
        parse,
        lines,
        journal=Path("numbers.journal"),
        key=str.strip,
        where="threads",
        options=inorder.RunOptions(fsync="off"),
    ) as results:
        assert_type(results.position, int)
        assert_type(next(results), int)
        results.close()

    inorder.imap(
        parse,
        lines,
        cost=len,
        where="threads",
        options=inorder.RunOptions(schedule="sjf", buffered_bytes_max=2**20, memory_bytes_max=2**30),
    )
    inorder.imap(parse, lines, retries=3, where="threads", options=inorder.RunOptions(classify=classify))
    inorder.StageOptions(retries=3, classify=classify)
    inorder.imap(
        parse,
        lines,
        where="ray",
        options=inorder.RunOptions(ray=inorder.RayOptions(cpus=2, resources={"ssd": 1}), recycle_tasks=100),
    )


def upper(item: inorder.WorkItem, ctx: inorder.StageContext) -> dict[str, int] | inorder.Skip:
    text = Path(item.inputs["text"]).read_text()
    if not text:
        return inorder.Skip("empty")
    if "\0" in text:
        raise inorder.StageError("not a text file", category="input")
    ctx.output("upper").write_text(text.upper())
    ctx.warn("a warning")
    assert_type(ctx.data, Path)
    assert_type(ctx.resources, dict[str, Any])
    return {"characters": len(text)}


def count(item: inorder.WorkItem) -> None:
    assert_type(item.cost_hint, float)


def open_model(ctx: inorder.StageContext) -> None:
    ctx.resources["model"] = object()


def announce(item: inorder.WorkItem, ctx: inorder.StageContext) -> None:
    print(ctx.stage, item.item_id)


def record(
    item: inorder.WorkItem, result: dict[str, Any] | inorder.Skip | inorder.Failure | None, ctx: inorder.StageContext
) -> dict[str, object] | None:
    if isinstance(result, inorder.Failure):
        print(item.item_id, result.message)
    elif isinstance(result, inorder.Skip):
        print(item.item_id, result.reason)
    elif result is not None:
        return {"characters": result["characters"], "delivered": ctx.delivery}
    return None


class WordSink(MemorySink):
    def apply(self, entries: Sequence[Entry]) -> Position:
        for entry in entries:
            assert_type(entry.seq, int)
            assert_type(entry.failure, inorder.Failure | None)
            print(entry.item.item_id, entry.payload)
        return super().apply(entries)


def open_sinks(data: Path) -> list[WordSink]:
    return [WordSink()]


def summarise(outcome: inorder.StageOutcome) -> None:
    print(outcome.succeeded, outcome.failed, [error.count for error in outcome.errors])


def make_plan(sources: list[Path], data: Path) -> inorder.StagePlan:
    items = [
        inorder.WorkItem(item_id=path.name, inputs={"text": path}, outputs={"upper": f"upper/{path.name}"})
        for path in sources
    ]
    return inorder.StagePlan("upper", [*items, inorder.Barrier()], total_items=len(items))


HOOKS = inorder.StageHooks(
    before_stage=open_model, worker_setup=open_model, before_item=announce, after_item=record, after_stage=summarise
)
STAGE = inorder.Stage(name="upper", plan=make_plan, worker=upper, hooks=HOOKS, sinks=open_sinks)


def run(data: Path) -> inorder.StageOutcome:
    options = inorder.StageOptions(data=data, policy="cpu", workers=2, timeout_s=60, memory_bytes_max=2**30)
    try:
        outcome = inorder.run_stage(make_plan([], data), upper, options, HOOKS, sinks=open_sinks(data))
        assert_type(outcome, inorder.StageOutcome)
        return inorder.run_stage(make_plan([], data), count, options)
    except inorder.BusyError as error:
        assert_type(error.exit_code, int)
        raise
    except ValueError:  # an OperatorError is one
        raise
    except inorder.InorderError:
        raise


def use_lane(urls: Sequence[str]) -> None:
    with Lane(LaneConfig(name="api", max_concurrency=4, rate_per_s=50.0, burst=10)) as lane:
        tickets = [lane.submit(parse, url, priority=1, deadline_s=5) for url in urls]
        accepted = [ticket for ticket in tickets if ticket.outcome is Outcome.ACCEPTED]
        print(len(accepted), lane.statistics())


def read_data(folder: Path) -> None:
    with inorder.open(folder) as data:
        assert_type(data, inorder.Dataset)
        for document in data.documents():
            assert_type(document, DatasetDocument)
            assert_type(document.markdown, str)
            assert_type(document.chunks, list[Chunk])
        for chunk in data.chunks():
            assert_type(chunk.section_path, list[str])
        for batch in data.chunks().batches():
            assert_type(batch, Any)
        assert_type(data.vectors(), Rows[DenseVector])
        assert_type(data.vectors("sparse"), Rows[SparseTerms])
        assert_type(data.vectors("lexical"), Rows[LexicalTerms])
        assert_type(data.search("tide", k=3, where={"path": "docs/*"}).hits, Sequence[inorder.Hit])


async def ask(data: inorder.Dataset) -> None:
    assert_type(await data.search_async("tide"), SearchAnswer)


class NoteReader:
    extensions = ("note",)

    def read(self, data: bytes, name: str) -> Document:
        return Document(name=name, mimetype="text/plain", blocks=[Paragraph(text=data.decode())])


class Zeros:
    name = "zeros"
    dimensions = 1

    def __init__(self, detail: str) -> None:
        self.detail = detail

    def embed(self, texts: Sequence[str]) -> Any:
        return [[1.0] for _ in texts]

    def close(self) -> None:
        pass


def drop(document: Document, name: str) -> Document:
    document.blocks.clear()
    return document


reader: Reader = NoteReader()
provider: DenseProvider = Zeros("")
step: StepPlugin = drop
for rule in READER_RULES:
    rule(NoteReader, b"a note")
for step_rule in STEP_RULES:
    step_rule(step, Document(name="note", mimetype="text/plain", blocks=[]))
