"""The endpoints of the JSON API."""

from typing import Any

from inorder.report.model import PipelineReport

from .code import GraphParams, GraphView, SourceView, answer_graph, answer_source
from .documents import DocumentList, DocumentParams, DocumentView, ListParams, answer_document, answer_documents
from .endpoint import DataParams, Endpoint, ItemParams
from .originals import OriginalText, PageParams, answer_download, answer_original, answer_page
from .overview import NoParams, Overview, answer_overview
from .runs import ReportParams, RunList, answer_report, answer_runs
from .search import Facets, SearchParams, SearchResult, answer_facets, answer_search

ENDPOINTS: tuple[Endpoint[Any], ...] = (
    Endpoint(
        path="/api/data",
        summary="List the DATA directories that are served.",
        params=NoParams,
        result=Overview,
        answer=answer_overview,
    ),
    Endpoint(
        path="/api/search",
        summary="Search documents and source code.",
        params=SearchParams,
        result=SearchResult,
        answer=answer_search,
    ),
    Endpoint(
        path="/api/facets",
        summary="Count what an index contains, for filters.",
        params=DataParams,
        result=Facets,
        answer=answer_facets,
    ),
    Endpoint(
        path="/api/documents",
        summary="List documents, also those that failed or were skipped.",
        params=ListParams,
        result=DocumentList,
        answer=answer_documents,
    ),
    Endpoint(
        path="/api/document",
        summary="Describe a document: blocks, chunks, and its way through the stages.",
        params=DocumentParams,
        result=DocumentView,
        answer=answer_document,
        is_slow=True,
    ),
    Endpoint(
        path="/api/page",
        summary="Draw a page of a PDF.",
        params=PageParams,
        result="image/png",
        answer=answer_page,
        is_slow=True,
    ),
    Endpoint(
        path="/api/original",
        summary="Read the source file of a document as text, and as sanitised HTML.",
        params=ItemParams,
        result=OriginalText,
        answer=answer_original,
        is_slow=True,
    ),
    Endpoint(
        path="/api/download",
        summary="Download a source file.",
        params=ItemParams,
        result="application/octet-stream",
        answer=answer_download,
        is_slow=True,
    ),
    Endpoint(
        path="/api/source",
        summary="Read a source file: lines, definitions, chunks.",
        params=ItemParams,
        result=SourceView,
        answer=answer_source,
        is_slow=True,
    ),
    Endpoint(
        path="/api/graph",
        summary="List the definitions of a name, its callers and what it calls.",
        params=GraphParams,
        result=GraphView,
        answer=answer_graph,
    ),
    Endpoint(
        path="/api/runs",
        summary="List the runs of DATA.",
        params=DataParams,
        result=RunList,
        answer=answer_runs,
    ),
    Endpoint(
        path="/api/report",
        summary="Describe runs: the data of `inorder report`.",
        params=ReportParams,
        result=PipelineReport,
        answer=answer_report,
        is_slow=True,
    ),
)
