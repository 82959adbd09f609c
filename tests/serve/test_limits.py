"""The bounds of the service; refused requests are in test_app.py and test_connections.py."""

import dataclasses

import pytest

from everlearn.serve.limits import Limits


def test_every_bound_is_positive_and_documented():
    for field in dataclasses.fields(Limits):
        assert getattr(Limits(), field.name) > 0
        assert f"{field.name} : " in Limits.__doc__


def test_bounds_do_not_change_while_a_service_runs():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Limits().rows = 1
