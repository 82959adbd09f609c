"""The service without HTTP: what programs and people see, and what the log has afterwards."""

from everlearn.serve.service import LearningService


def test_the_methods_of_the_service_are_documented():
    public = [name for name in vars(LearningService) if not name.startswith("_")]
    assert {"add_rows", "predict", "lease_questions", "answer", "undo", "status"} <= set(public)
