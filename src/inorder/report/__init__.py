"""The report of runs: aggregated from the files of DATA, as data, as a page and as a trace."""

from .build import build_report, build_run_report
from .model import PipelineReport, RunReport
from .page.render import render_html
from .trace import encode_trace

__all__ = ["PipelineReport", "RunReport", "build_report", "build_run_report", "encode_trace", "render_html"]
