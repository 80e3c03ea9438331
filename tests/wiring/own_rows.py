"""Options of the built-in stages."""

from collections.abc import Callable
from typing import Any

from inorder.errors import OperatorError
from tests.targets.file_target import FileTarget
from tests.wiring.doors import WiredRun
from tests.wiring.row import OptionRow, index_rows

TEXT = (
    "# Lamps\n\n"
    + "\n\n".join(f"The keeper lights lamp {number} at dusk." for number in range(6))
    + "\n\n# Oil\n\nIt burns.\n"
)
TOKENIZER = (
    '{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":null,'
    '"post_processor":null,"decoder":null,"model":{"type":"WordLevel","vocab":{"?":0},"unk_token":"?"}}'
)
"""Takes any text for one token."""


def read_manifest(run: WiredRun, stage: str) -> list[dict[str, Any]]:
    found = [line for line in run.lines("manifests") if line["stage"] == stage]
    return [row for row in found if row["doc_id"] not in ("__config__", "__run__")]


def make_source(run: WiredRun, name: str, content: bytes) -> None:
    (run.folder / "docs").mkdir()
    (run.folder / "docs" / name).write_bytes(content)


def run_stages(run: WiredRun, *stages: str, arguments: tuple[str, ...] = (), is_set: bool = True) -> None:
    """Run these stages on a small text, the last one with the option and the arguments."""
    make_source(run, "a.md", TEXT.encode())
    for stage in stages:
        is_last = stage == stages[-1]
        sources = ["docs"] if stage == "doctags" else []
        further = arguments if is_last else ()
        run.command(stage, *sources, "--quiet", "--workers", "1", *further, is_set=is_set and is_last)


def count_parts(run: WiredRun) -> int:
    """In how many attempts a PDF of four pages is read."""
    from inorder.documents.convert import parts
    from tests.documents.pdf_files import draw_lines, draw_pdf

    run.patch.setattr(parts, "LARGE_BYTES", 1)
    make_source(run, "a.pdf", draw_pdf(*(draw_lines(f"page {number}") for number in range(4))))
    run.command("doctags", "docs", "--quiet", "--workers", "1", "--set", "attempts_log=true")
    return len({line["item_id"] for line in run.lines("attempts") if "item_id" in line})


def read_page(run: WiredRun) -> int:
    """How many blocks a page with a menu and comments has."""
    page = "<nav><a href='/'>Home</a></nav><h1>Lamps</h1><p>Lit at dusk.</p><div id='comments'>First!</div>"
    make_source(run, "a.html", page.encode())
    run.command("doctags", "docs", "--quiet", "--workers", "1")
    [row] = read_manifest(run, "doctags")
    return int(row["blocks"])


def read_with_step(run: WiredRun) -> bool:
    """Whether a step of a plug-in has been asked for: there is no such module."""
    run_stages(run, "doctags")
    return "no module named wired_step" in run.stderr


def needs_packages(run: WiredRun) -> bool:
    """Whether the packages of an extra are asked for."""
    from inorder.documents.readers import registry

    def refuse(packages: Any, *, by: str, extra: str) -> None:
        raise OperatorError(f"{by} needs packages")

    run.patch.setattr(registry, "require_packages", refuse)
    run_stages(run, "doctags")
    return "needs packages" in run.stderr


def read_encrypted(run: WiredRun) -> str:
    """What becomes of an encrypted PDF whose password is in `passwords.txt`."""
    from tests.documents.pdf_files import draw_lines, draw_pdf

    (run.folder / "passwords.txt").write_text("wrong\npuffin\n")
    make_source(run, "a.pdf", draw_pdf(draw_lines("the sealed letter"), encrypt="puffin"))
    run.command("doctags", "docs", "--quiet", "--workers", "1")
    [row] = read_manifest(run, "doctags")
    assert "puffin" not in "".join(path.read_text() for path in (run.data / "manifests").iterdir())
    return str(row["status"])


def count_chunks(run: WiredRun) -> int:
    run_stages(run, "doctags", "chunk")
    return _count_stored(run)


def _count_stored(run: WiredRun) -> int:
    [row] = read_manifest(run, "chunk")
    return int(row["chunks"])


def count_chunks_by_tokenizer(run: WiredRun) -> int:
    """How many chunks there are, with at most ten tokens each."""
    (run.folder / "tokenizer.json").write_text(TOKENIZER)
    run_stages(run, "doctags", "chunk", arguments=("--tokens-max", "10"))
    return _count_stored(run)


def describe_embedded(field: str) -> Callable[[WiredRun], Any]:
    def probe(run: WiredRun) -> Any:
        run_stages(run, "doctags", "chunk", "embed")
        return sorted({row[field] for row in read_manifest(run, "embed") if field in row})

    return probe


def list_families(run: WiredRun) -> list[str]:
    run_stages(run, "doctags", "chunk", "embed")
    return sorted({row["family"] for row in read_manifest(run, "embed") if "family" in row})


def record_target(run: WiredRun, *command: str) -> tuple[str, Any]:
    """The address that was exported to, and the options of the target."""
    from inorder.targets import export, registry

    made: list[tuple[str, Any]] = []

    def make_target(address: str, options: Any) -> FileTarget:
        made.append((address, options))
        return FileTarget(str(run.folder / "target.json"), options)

    run.patch.setitem(registry.KINDS, "file", registry.TargetKind("tests.targets.file_target", "a file"))
    run.patch.setattr(export, "make_target", make_target)
    make_source(run, "a.py", b"def light():\n    return 1\n")
    run.command("index", "docs", "--quiet", "--workers", "1", is_set=False)
    run.command(*command, "--quiet", "--workers", "1")
    return made[0] if made else ("", None)


def describe_target(field: str) -> Callable[[WiredRun], Any]:
    def probe(run: WiredRun) -> Any:
        return getattr(record_target(run, "run", "docs", "--to", "file://there")[1], field)

    return probe


def read_lane(field: str) -> Callable[[WiredRun], Any]:
    """A limit of the lane through which the objects of a bucket are read."""

    def probe(run: WiredRun) -> Any:
        from inorder.lanes import Lane
        from inorder.sources import fetching
        from tests.sources.bucket import Bucket, clear

        found = []

        class RecordedLane(Lane):
            def submit(self, function: Any, /, *args: Any, **options: Any) -> Any:
                found.append(getattr(self.config, field))
                return super().submit(function, *args, **options)

        run.patch.setattr(fetching, "Lane", RecordedLane)
        Bucket(run.folder).put({"a.md": TEXT.encode()})
        run.command("doctags", "memory://bucket", "--quiet", "--workers", "1")
        clear()
        [limit] = set(found)
        return limit

    return probe


def read_fetch_limit(field: str) -> Callable[[WiredRun], Any]:
    """A limit with which the store of a bucket is opened."""

    def probe(run: WiredRun) -> Any:
        from inorder.sources import listing
        from tests.sources.bucket import Bucket, clear

        found = []
        open_store = listing.open_store

        def record(address: Any, limits: Any) -> Any:
            found.append(getattr(limits, field))
            return open_store(address, limits)

        run.patch.setattr(listing, "open_store", record)
        Bucket(run.folder).put({"a.md": TEXT.encode()})
        run.command("doctags", "memory://bucket", "--quiet", "--workers", "1")
        clear()
        [limit] = set(found)
        return limit

    return probe


def ask_model(run: WiredRun, *pages: Any) -> tuple[list[Any], list[Any]]:
    """What a model that reads these pages is asked, and the limits of its client."""
    from inorder.pipeline import model_feed as page_pass
    from inorder.testing import ModelServer
    from tests.documents.pdf_files import draw_pdf

    limits: list[Any] = []

    class WatchedClient(page_pass.ModelClient):
        def __init__(self, *arguments: Any, **others: Any) -> None:
            limits.append(others["limits"])
            super().__init__(*arguments, **others)

    run.patch.setattr(page_pass, "ModelClient", WatchedClient)
    make_source(run, "a.pdf", draw_pdf(*pages))
    with ModelServer(answer="# Lamps") as server:
        run.command("doctags", "docs", "--reader", f"vision:{server.url}#m", "--quiet", "--workers", "1")
        return server.requests, limits


def describe_asked(describe: Callable[[Any], Any]) -> Callable[[WiredRun], Any]:
    def probe(run: WiredRun) -> Any:
        return describe(ask_model(run, draw_page(1))[0][0])

    return probe


def measure_image(request: Any) -> int:
    import base64
    import io

    from PIL import Image

    with Image.open(io.BytesIO(base64.b64decode(request.images[0].partition(",")[2]))) as image:
        return max(image.size)


def find_answers(run: WiredRun) -> list[str]:
    ask_model(run, draw_page(1))
    return sorted(path.name for path in run.folder.rglob("*.sqlite") if path.name != "library.sqlite")


def read_model_limit(field: str) -> Callable[[WiredRun], Any]:
    def probe(run: WiredRun) -> Any:
        [limit] = {getattr(limits, field) for limits in ask_model(run, draw_page(1))[1]}
        return limit

    return probe


def count_answered(*arguments: str, key: str = "", elsewhere: bool = False) -> Callable[[WiredRun], int]:
    """How many of two pages the model answers. `elsewhere`: its server counts as one of another machine."""

    def probe(run: WiredRun) -> int:
        from inorder.extensions import consent
        from inorder.testing import ModelServer
        from tests.documents.pdf_files import draw_pdf

        if elsewhere:
            run.patch.setattr(consent, "_is_loopback", lambda host: False)
        make_source(run, "a.pdf", draw_pdf(draw_page(1), draw_page(2)))
        (run.folder / "key.txt").write_text("right\n")
        with ModelServer(answer="# Lamps", key=key) as server:
            reader = ("--reader", f"vision:{server.url}#m")
            run.command("doctags", "docs", *reader, "--quiet", "--workers", "1", *arguments)
            return server.answered.total()

    return probe


def draw_page(number: int) -> Any:
    from tests.pipeline.scans import draw_scan

    return draw_scan(number)


def draw_words() -> Any:
    from tests.documents.pdf_files import draw_lines

    return draw_lines("The keeper lights the lamp at dusk.")


OWN_ROWS = index_rows(
    OptionRow(
        "to",
        lambda run: record_target(run, "run", "docs")[0],
        [("file://here", "file://here"), ("file://me:secret@there", "file://me@there")],
    ),
    OptionRow("collection", describe_target("collection"), [("inorder", "inorder"), ("other", "other")]),
    OptionRow("hnsw", describe_target("hnsw"), [(False, False), (True, True)]),
    OptionRow("recreate", describe_target("recreate"), [(False, False), (True, True)]),
    OptionRow("split_pages", count_parts, [(0, 1), (2, 4)]),
    OptionRow("reader", needs_packages, [("native", False), ("docling", True)]),
    OptionRow("ocr", needs_packages, [(False, False), (True, True)]),
    OptionRow("pages", lambda run: len(ask_model(run, draw_words())[0]), [("auto", 0), ("all", 1)]),
    OptionRow("pages_max", lambda run: len(ask_model(run, draw_page(1), draw_page(2))[0]), [(1, 1), (5, 2)]),
    OptionRow(
        "page_prompt",
        describe_asked(lambda request: request.text),
        [("Read it aloud.", "Read it aloud."), ("Sing it.", "Sing it.")],
    ),
    OptionRow("page_pixels", describe_asked(measure_image), [(400, 400), (800, 800)]),
    OptionRow("page_tokens_max", describe_asked(lambda request: request.output_tokens_max), [(100, 100), (200, 200)]),
    OptionRow("answers", find_answers, [("none", ["answers.sqlite"]), ("mine.sqlite", ["mine.sqlite"])]),
    OptionRow("model_in_flight", read_model_limit("in_flight"), [(3, 3), (5, 5)]),
    OptionRow("model_rate_per_s", read_model_limit("rate_per_s"), [(50.0, 50.0), (60.0, 60.0)]),
    OptionRow("model_tokens_per_minute", read_model_limit("tokens_per_minute"), [(10**6, 10**6), (10**7, 10**7)]),
    OptionRow("model_attempts_max", read_model_limit("attempts_max"), [(3, 3), (4, 4)]),
    OptionRow("model_deadline_s", read_model_limit("deadline_s"), [(30.0, 30.0), (40.0, 40.0)]),
    OptionRow("model_tokens_charged", read_model_limit("tokens_charged"), [("declared", "declared"), ("used", "used")]),
    OptionRow("model_tokens_max", count_answered(), [(10, 0), (10**6, 2)]),
    OptionRow("cost_max", count_answered("--set", "model_price_in=100"), [(0.01, 0), (100.0, 2)]),
    OptionRow("model_price_in", count_answered("--set", "cost_max=1"), [(0.01, 2), (1e6, 0)]),
    OptionRow("model_price_out", count_answered("--set", "cost_max=1"), [(0.01, 2), (1e6, 0)]),
    OptionRow("model_key_file", count_answered(key="right"), [("none", 0), ("key.txt", 2)]),
    OptionRow("send", count_answered(elsewhere=True), [(False, 0), (True, 2)]),
    OptionRow("steps", read_with_step, [("none", False), ("wired_step:step", True)]),
    OptionRow("html", read_page, [("article", 2), ("full", 4)]),
    OptionRow("password_file", read_encrypted, [("none", "failure"), ("passwords.txt", "success")]),
    OptionRow("fetch_concurrency", read_lane("max_concurrency"), [(3, 3), (5, 5)]),
    OptionRow("fetch_rate", read_lane("rate_per_s"), [(1000.0, 1000.0), (2000.0, 2000.0)]),
    OptionRow("fetch_bytes_per_s_min", read_fetch_limit("bytes_per_s_min"), [(1000, 1000), (5, 5)]),
    OptionRow("fetch_private", read_fetch_limit("reaches_private"), [(False, False), (True, True)]),
    OptionRow("tokens_max", count_chunks, [(512, 1), (20, 3)]),
    OptionRow("tokens_min", count_chunks, [(0, 2), (512, 1)]),
    OptionRow("tokenizer", count_chunks_by_tokenizer, [("words", 7), ("hf:tokenizer.json", 1)]),
    OptionRow("dense", describe_embedded("dimensions"), [("hash:8", [8]), ("hash:16", [16])]),
    OptionRow(
        "sparse",
        list_families,
        [("none", ["dense"]), ("splade:x", ["dense", "sparse"])],
    ),
)
"""Every option of one built-in stage."""
