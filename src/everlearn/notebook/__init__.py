"""Notebooks: questions answered with buttons."""

try:
    import ipywidgets  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f'The widget needs {error.name}: pip install "everlearn[notebook]".', name=error.name
    ) from error

from .question_widget import QuestionWidget

__all__ = ["QuestionWidget"]
