"""Reports: one HTML file that tells how a learner has fared on its stream, complete without a network."""

from .data import ReportData as ReportData
from .html import render, write_report

__all__ = ["render", "write_report"]
