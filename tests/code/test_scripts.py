"""Scripts in components."""

from pathlib import Path

import pytest

from inorder.code.grammars import grammar_version
from inorder.code.parse import parse
from inorder.code.scripts import find_script
from tests.index.project import Project

TYPED = b"""<template>
  <div @click="measure">{{ depth }}</div>
</template>

<script setup lang="ts">
import { sound } from './lead'
export function measureTide(level: number): number {
  return sound(level)
}
</script>
<style scoped>
.depth { color: red }
</style>
"""
TWO = (
    b"<script>\nexport const first = () => 1\n</script>\n<SCRIPT context='module'>\nfunction second() {}\n</SCRIPT >\n"
)


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
def test_the_symbols_of_a_component_have_the_lines_of_the_file(ending: bytes) -> None:
    found = parse("Tide.vue", TYPED.replace(b"\n", ending))
    assert found.language == "vue"
    assert [(each.name, each.start_line, each.end_line) for each in found.symbols] == [("measureTide", 7, 9)]
    assert [(each.module, each.line) for each in found.imports] == [("./lead", 6)]
    assert [(each.caller, each.callee, each.line) for each in found.calls] == [("measureTide", "sound", 8)]
    assert "".join(chunk.text for chunk in found.chunks).encode() == TYPED.replace(b"\n", ending)


def test_all_scripts_of_a_component_are_parsed() -> None:
    assert [each.name for each in parse("two.svelte", TWO).symbols] == ["first", "second"]


@pytest.mark.parametrize(
    "data", [b"", b"<template>\n</template>\n", b"<script>\nfunction open() {}\n", b"<scripts>x</scripts>"]
)
def test_a_component_without_a_whole_script_is_split_by_lines(data: bytes) -> None:
    assert find_script(data) is None
    assert parse("x.vue", data).symbols == ()


def test_the_version_of_a_component_is_that_of_the_languages_of_its_scripts() -> None:
    assert grammar_version("typescript") in grammar_version("vue")
    assert grammar_version("javascript") in grammar_version("svelte")


def test_a_definition_in_a_component_is_found_by_name(tmp_path: Path) -> None:
    project = Project(tmp_path)
    (tmp_path / "src" / "Tide.vue").write_bytes(TYPED)
    project.build()
    [place] = project.ask("search", "def:measureTide")["places"]
    assert (place["item_id"], place["line"], place["what"]) == ("src/Tide.vue", 7, "function")
    assert project.ask("search", "imports:./lead")["places"][0]["line"] == 6
