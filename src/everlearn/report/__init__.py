"""Reports: one HTML file that tells how a learner has fared on its stream, complete without a network."""

from .html import render, write_report
from .story import Story as Story

__all__ = ["render", "write_report"]
