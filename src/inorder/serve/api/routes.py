"""The endpoints of the JSON API."""

from typing import Any

from inorder.report.model import PipelineReport

from .endpoint import DataParams, Endpoint
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
    ),
)
