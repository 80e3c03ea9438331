# ruff: noqa: RUF001
"""Documents in many languages, indexed and searched through the command line."""

from pathlib import Path

import pytest

from tests.index.project import Project

pytestmark = [pytest.mark.process, pytest.mark.req("SEA-1")]

DOCUMENTS = {
    "ar": "المنارات القديمة تقف على الساحل، وتضيء كل ليلة للسفن التي تمر في المضيق",
    "de": "An der Küste stehen zwei alte Leuchttürme, die nicht mehr von Wärtern bewohnt werden",
    "en": "The keepers of the lighthouse were trimming the wicks when the fog came in from the sea",
    "hi": "प्रकाशस्तंभ तट पर है और हर रात जहाजों के लिए जलता है",
    "ja": "灯台は海岸に立っていて、毎晩船のために点灯されます",
    "ko": "등대는 해안에 서 있고 매일 밤 배를 위해 켜진다",
    "ru": "Старые маяки стоят на берегу, и каждую ночь они светят для кораблей, которые проходят через пролив",
    "th": "ประภาคารตั้งอยู่บนชายฝั่งและส่องสว่างทุกคืนสำหรับเรือที่แล่นผ่าน",
    "tr": "Kıyıdaki fenerler ve AIS'leri olan gemiler için bu ışık çok önemlidir, ama bir gemi daha sonra geldi",
    "zh": "灯塔位于海岸上，每天晚上为过往的船只点亮",
}
QUESTIONS = [
    ("ar", "منارة الساحل"),
    ("de", "leuchtturm"),
    ("en", "who trims a wick"),
    ("hi", "जहाज तट"),
    ("ja", "海岸に船"),
    ("ja", "ﾃﾝﾄｳ 点灯"),
    ("ko", "해안"),
    ("ru", "маяк на проливе"),
    ("th", "ชายฝั่ง"),
    ("tr", "fenerler'leri"),
    ("zh", "船只"),
    ("zh", "塔"),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("languages"))
    for language, text in DOCUMENTS.items():
        project.write(f"{language}.md", f"{text}\n")
    ended = project.call("run", "src", "--quiet")
    assert ended.returncode == 0, ended.stderr
    return project


@pytest.mark.parametrize(("language", "question"), QUESTIONS)
def test_words_of_every_script_are_found(project: Project, language: str, question: str) -> None:
    found = project.ask("search", question, "--mode", "lexical")
    assert found["hits"][0]["item_id"] == f"src/{language}.md"
    assert found["hits"][0]["language"] == language
    assert project.ask("search", question)["hits"][0]["item_id"] == f"src/{language}.md"


def test_a_document_can_be_filtered_by_its_language(project: Project) -> None:
    [hit] = project.ask("search", "leuchtturm wick", "--language", "en", "--mode", "lexical")["hits"]
    assert hit["item_id"] == "src/en.md"


def test_a_snippet_shows_the_words_of_a_script_without_spaces(project: Project) -> None:
    [hit, *_] = project.ask("search", "船只", "--mode", "lexical")["hits"]
    assert any("船只" in line for line in hit["snippet"])


@pytest.mark.parametrize(
    "question", ["?!", "\x00", "。", "()*^\"' AND OR NEAR", "'; DROP TABLE chunks; --", "word " * 10_000]
)
def test_nothing_in_a_question_is_syntax(project: Project, tmp_path: Path, question: str) -> None:
    ended = project.call("search", "--", question)
    assert ended.returncode in (0, 2, 3), ended.stderr
    assert len(ended.stderr.splitlines()) <= 1
