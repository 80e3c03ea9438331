"""Attachments of mail and of PDFs are documents of their own."""

import random
from email.message import EmailMessage
from pathlib import Path

import pytest

import inorder
from inorder.documents.archives import limits
from inorder.pipeline.outcome import FileCounts
from tests.documents.archives.archive_files import make_zip
from tests.documents.archives.test_archives import require_same
from tests.documents.formats.samples import NAMES, SAMPLES
from tests.documents.pdf_files import pdf_with_attachments
from tests.documents.stage_runs import StageRuns

pytestmark = pytest.mark.req("DOC-1")
PIXEL = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def runs(tmp_path: Path) -> StageRuns:
    return StageRuns(tmp_path)


def make_mail(files: dict[str, bytes], subject: str = "Letters", text: str = "See below.") -> EmailMessage:
    mail = EmailMessage()
    mail["From"] = "ada@light.example"
    mail["Subject"] = subject
    mail.set_content(text)
    for name, content in files.items():
        mail.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    return mail


def make_mailbox(*mails: EmailMessage) -> bytes:
    return b"".join(b"From ada Mon May  6 08:00:00 2024\n" + mail.as_bytes() + b"\n" for mail in mails)


def test_the_attachments_of_a_message_are_documents_and_the_message_names_them(runs: StageRuns) -> None:
    mail = make_mail({"list.md": b"# Stores\n", "lamp.png": PIXEL, "tool.bin": b"\x00\x01"})
    (runs.docs / "inbox.eml").write_bytes(mail.as_bytes())
    (runs.docs / "plain.eml").write_bytes(make_mail({}).as_bytes())
    assert runs.doctags().counts.failed == 0
    assert runs.done("doctags") == {"docs/inbox.eml", "docs/inbox.eml/list.md", "docs/plain.eml"}
    written = inorder.open(runs.data).get("docs/inbox.eml").doctags
    assert "<text>Attachment: list.md</text>" in written
    assert "Stores" not in written
    assert runs.reasons() == {
        "docs/inbox.eml/lamp.png": "an image: --ocr reads its text",
        "docs/inbox.eml/tool.bin": "not a document: a binary file in an unknown format",
    }


@pytest.mark.slow
def test_an_attachment_reads_as_the_same_file_in_a_folder(runs: StageRuns) -> None:
    for kind, data in SAMPLES.items():
        (runs.docs / NAMES[kind]).write_bytes(data)
    files = {NAMES[kind]: data for kind, data in SAMPLES.items()}
    require_same(runs, "inbox.eml", make_mail(files).as_bytes())


@pytest.mark.slow
@pytest.mark.req("DOC-4")
def test_one_attachment_of_a_mailbox_changes(runs: StageRuns) -> None:
    box = runs.docs / "box.mbox"
    mails = [make_mail({"a.md": f"# Note {number}\n".encode()}, f"Letter {number}") for number in range(12)]
    box.write_bytes(make_mailbox(*mails))
    assert runs.doctags().counts == FileCounts(new=13)
    assert "docs/box.mbox/12/a.md" in runs.documents()
    assert runs.doctags().counts == FileCounts(unchanged=13)
    mails[3] = make_mail({"a.md": b"# Another note\n"}, "Letter 3")
    box.write_bytes(make_mailbox(*mails))
    runs.doctags()
    assert runs.done("doctags") == {"docs/box.mbox", "docs/box.mbox/4/a.md"}
    box.write_bytes(make_mailbox(*mails[:2]))
    runs.doctags()
    assert runs.documents() == ["docs/box.mbox", "docs/box.mbox/1/a.md", "docs/box.mbox/2/a.md"]


def test_attachments_and_archives_lie_within_each_other(runs: StageRuns) -> None:
    inner = make_mail({"notes.zip": make_zip({"deep.md": b"# Deep\n"})})
    forwarded = make_mail({"first.md": b"# First\n", "first.md ": b"# Second\n"})
    forwarded.add_attachment(make_mail({"far.md": b"# Far\n"}, "Forwarded"))
    (runs.docs / "box.zip").write_bytes(make_zip({"inbox.eml": inner.as_bytes()}))
    (runs.docs / "two.eml").write_bytes(forwarded.as_bytes())
    assert runs.doctags().counts.failed == 0
    assert runs.documents() == [
        "docs/box.zip/inbox.eml",
        "docs/box.zip/inbox.eml/notes.zip/deep.md",
        "docs/two.eml",
        "docs/two.eml/far.md",
        "docs/two.eml/first.md",
        "docs/two.eml/first~2.md",
    ]


@pytest.mark.req("ROB-1")
def test_names_of_attachments_lead_nowhere_else(runs: StageRuns) -> None:
    mail = make_mail({"../../up.md": b"# Up\n", "/etc/motd.md": b"# Root\n", "%00.md": b"# X\n", "": b"# Nameless\n"})
    (runs.docs / "inbox.eml").write_bytes(mail.as_bytes())
    assert runs.doctags().counts.failed == 0
    found = ["%2E%2E/%2E%2E/up.md", "etc/motd.md", "%2500.md", "part-5"]
    assert runs.done("doctags") == {"docs/inbox.eml", *(f"docs/inbox.eml/{name}" for name in found)}


@pytest.mark.req("ROB-1")
def test_too_many_attachments_are_reported(runs: StageRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MEMBERS_MAX", 3)
    mail = make_mail({f"{number}.md": f"# {number}\n".encode() for number in range(5)})
    (runs.docs / "inbox.eml").write_bytes(mail.as_bytes())
    assert runs.doctags().counts == FileCounts(new=4, failed=1)
    assert runs.reasons() == {"docs/inbox.eml/%": "the archive has more than 3 members"}


@pytest.mark.slow
@pytest.mark.req("ROB-1")
def test_mail_with_flipped_bytes_never_ends_a_run(runs: StageRuns) -> None:
    data = make_mailbox(*[make_mail({"a.md": b"# Note\n", "b.zip": make_zip({"c.md": b"# C\n"})})] * 3)
    for seed in range(40):
        chosen = random.Random(seed)
        spoiled = bytearray(data)
        for _ in range(chosen.randint(1, 20)):
            spoiled[chosen.randrange(len(spoiled))] = chosen.randrange(256)
        (runs.docs / f"{seed:02}.{'mbox' if seed % 2 else 'eml'}").write_bytes(spoiled)
    outcome = runs.doctags()
    assert outcome.stop_kind is None
    assert outcome.counts.files >= 40


@pytest.mark.process
def test_the_attachments_of_a_pdf_are_documents(runs: StageRuns) -> None:
    files = {"list.md": b"# Stores\n", "lamp.png": PIXEL, "box.zip": make_zip({"deep.md": b"# Deep\n"})}
    (runs.docs / "letter.pdf").write_bytes(pdf_with_attachments(files))
    (runs.docs / "plain.pdf").write_bytes(pdf_with_attachments({}))
    assert runs.doctags().counts.failed == 0
    attached = {"docs/letter.pdf/box.zip/deep.md", "docs/letter.pdf/list.md"}
    assert runs.done("doctags") == {"docs/letter.pdf", "docs/plain.pdf", *attached}
    assert "Stores" in inorder.open(runs.data).get("docs/letter.pdf/list.md").doctags
    assert "See the files." in inorder.open(runs.data).get("docs/letter.pdf").doctags
    assert runs.reasons() == {"docs/letter.pdf/lamp.png": "an image: --ocr reads its text"}


@pytest.mark.process
def test_an_attachment_that_unpacks_to_half_a_gigabyte_costs_no_more_than_the_attachments(runs: StageRuns) -> None:
    (runs.docs / "letter.pdf").write_bytes(pdf_with_attachments({"bomb.txt": bytes(2**29), "list.md": b"# Stores\n"}))
    (runs.docs / "next.md").write_bytes(b"# Next\n")
    assert runs.doctags().counts.failed == 1
    assert runs.done("doctags") == {"docs/letter.pdf", "docs/next.md"}
