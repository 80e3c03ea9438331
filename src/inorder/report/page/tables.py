"""Tables of a page. The script adds pages and a filter; without it every row is shown."""

from collections.abc import Sequence

from .text import escape_text, format_count

PAGE_ROWS = 10


def make_table(
    caption: str,
    heads: Sequence[tuple[str, str]],
    rows: Sequence[Sequence[str]],
    total: int | None = None,
    *,
    is_paged: bool = True,
) -> str:
    """A table with a caption. `heads`: name and class (`number` or empty) of each column; `rows`: cells as markup;
    `total`: how many rows there are in truth, if some were cut; `is_paged`: whether the script may show it in pages."""
    head = "".join(f'<th scope="col" class="{css}">{escape_text(name)}</th>' for name, css in heads)
    body = "".join(f"<tr>{_make_cells(row, heads)}</tr>" for row in rows)
    return (
        f'<div class="table" data-rows="{PAGE_ROWS if is_paged else len(rows)}"><table><caption>{escape_text(caption)}'
        f"{describe_cut(len(rows), total)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _make_cells(row: Sequence[str], heads: Sequence[tuple[str, str]]) -> str:
    return "".join(f'<td class="{css}">{cell}</td>' for cell, (_, css) in zip(row, heads, strict=True))


def describe_cut(shown: int, total: int | None) -> str:
    """`200 of 48,112 shown`, if some rows were cut."""
    if total is None or total <= shown:
        return ""
    return f' <span class="cut">{format_count(shown)} of {format_count(total)} shown</span>'
