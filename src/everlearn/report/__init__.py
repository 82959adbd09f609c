"""Reports: one self-contained HTML file with the scores, questions and costs of a learner on a stream."""

from .data import ReportData as ReportData
from .html import render, write_report

__all__ = ["render", "write_report"]
