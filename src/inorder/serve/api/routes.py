"""The endpoints of the JSON API."""

from typing import Any

from inorder.report.model import PipelineReport

from .code import GraphParams, GraphView, SourceView, answer_graph, answer_source
from .documents import DocumentParams, DocumentView, answer_document
from .endpoint import DataParams, Endpoint, ItemParams
from .files import FileFacets, FileList, ListParams, answer_file_facets, answer_files
from .originals import (
    NativePage,
    OriginalText,
    PageParams,
    answer_download,
    answer_native,
    answer_original,
    answer_page,
)
from .overview import NoParams, Overview, answer_overview
from .runs import ReportParams, RunList, answer_report, answer_runs
from .search import Facets, SearchParams, SearchResult, answer_facets, answer_search

ENDPOINTS: tuple[Endpoint[Any], ...] = (
    Endpoint("/api/data", "List the DATA directories that are served.", NoParams, Overview, answer_overview),
    Endpoint("/api/search", "Search documents and source code.", SearchParams, SearchResult, answer_search),
    Endpoint("/api/facets", "Count what an index contains, for filters.", DataParams, Facets, answer_facets),
    Endpoint("/api/files", "List files, also those that failed or are not read.", ListParams, FileList, answer_files),
    Endpoint(
        "/api/file-facets",
        "Count files by what became of them, by type and by source.",
        DataParams,
        FileFacets,
        answer_file_facets,
        is_slow=True,
    ),
    Endpoint(
        "/api/document",
        "Describe a document: blocks, chunks, what each step made of it, what was lost, and what would help.",
        DocumentParams,
        DocumentView,
        answer_document,
        is_slow=True,
    ),
    Endpoint("/api/page", "Draw a page of a PDF or an image.", PageParams, "image/png", answer_page, is_slow=True),
    Endpoint("/api/native", "Read a page of a PDF by the rules.", PageParams, NativePage, answer_native, is_slow=True),
    Endpoint(
        "/api/original",
        "Read the source file of a document as text, and as sanitised HTML.",
        ItemParams,
        OriginalText,
        answer_original,
        is_slow=True,
    ),
    Endpoint(
        "/api/download",
        "Download a source file.",
        ItemParams,
        "application/octet-stream",
        answer_download,
        is_slow=True,
    ),
    Endpoint(
        "/api/source",
        "Read a source file: lines, definitions, chunks.",
        ItemParams,
        SourceView,
        answer_source,
        is_slow=True,
    ),
    Endpoint(
        "/api/graph",
        "List the definitions of a name, its callers and what it calls.",
        GraphParams,
        GraphView,
        answer_graph,
    ),
    Endpoint("/api/runs", "List the runs of DATA.", DataParams, RunList, answer_runs),
    Endpoint(
        "/api/report",
        "Describe runs: the data of `inorder report`.",
        ReportParams,
        PipelineReport,
        answer_report,
        is_slow=True,
    ),
)
