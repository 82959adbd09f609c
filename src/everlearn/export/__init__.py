"""Export of fitted learners to ONNX."""

from .onnx import OnnxReport, export_onnx

__all__ = ["OnnxReport", "export_onnx"]
