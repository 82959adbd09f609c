"""Reports: one self-contained HTML file with the scores, questions and costs of a learner on a stream."""

from ._lead import key_figures
from .data import ReportData as ReportData
from .html import render, write_report

__all__ = ["key_figures", "render", "write_report"]
