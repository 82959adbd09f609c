"""The documentation is tested: an undocumented setting, a wrong default or a dead link fails the build."""

import contextlib
import dataclasses
import doctest
import importlib
import inspect
import io
import pkgutil
from types import ModuleType

import pytest
from sklearn.base import BaseEstimator

import everlearn
from docs_helpers import entries, faults_in_parameters, sections

# Set by scikit-learn's own validation on every estimator, and documented there.
SET_BY_SCIKIT_LEARN = {"n_features_in_", "feature_names_in_"}


def public_names():
    """Public objects by their dotted names: what everlearn exports, and what its public modules export."""
    found = {}
    for name in everlearn.__all__:
        value = found[name] = getattr(everlearn, name)
        if isinstance(value, ModuleType):
            # A module without __all__ makes public what it defines.
            members = getattr(value, "__all__", None) or [
                key
                for key, item in vars(value).items()
                if not key.startswith("_") and getattr(item, "__module__", None) == value.__name__
            ]
            found |= {f"{name}.{key}": getattr(value, key) for key in members}
    return found


PUBLIC = public_names()
ESTIMATORS = {n: v for n, v in PUBLIC.items() if isinstance(v, type) and issubclass(v, BaseEstimator)}


def documented_callables():
    """Functions, classes and the methods of classes, by dotted names, as far as they are everlearn's own."""
    found = {}
    for name, value in PUBLIC.items():
        if isinstance(value, ModuleType) or (isinstance(value, type) and issubclass(value, Exception)):
            continue
        found[name] = value
        if isinstance(value, type):
            found |= {
                f"{name}.{key}": method
                for key, method in inspect.getmembers(value, inspect.isfunction)
                if not key.startswith("_") and method.__module__.startswith("everlearn")
            }
    return found


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_name_has_a_docstring(name):
    docstring = inspect.getdoc(PUBLIC[name])
    assert docstring
    assert docstring.splitlines()[0].endswith((".", ":")), "the first line is a sentence"


CALLABLES = documented_callables()


@pytest.mark.parametrize("name", sorted(CALLABLES))
def test_parameters_are_documented(name):
    value = CALLABLES[name]
    if dataclasses.is_dataclass(value):  # its fields are its parameters, and documented as attributes
        documented = entries(sections(value.__doc__)["Attributes"])
        assert [field.name for field in dataclasses.fields(value) if field.name not in documented] == []
        return
    documented = entries(sections(value.__doc__).get("Parameters", []))
    assert faults_in_parameters(value, documented) == []


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_attributes_are_documented(name):
    cls = ESTIMATORS[name]
    X = [[0.0, 1.0], [1.0, 0.0], [0.0, 2.0], [2.0, 0.0]]
    fitted = cls().fit(X, [0, 1, 0, 1])
    present = {key for key in dir(fitted) if key.endswith("_") and not key.startswith("_")}
    present |= {"coef_"} & set(dir(cls))  # with the linear kernel
    documented = set(entries(sections(cls.__doc__).get("Attributes", [])))
    assert present - documented - SET_BY_SCIKIT_LEARN == set(), "not documented"
    assert documented - present - SET_BY_SCIKIT_LEARN == set(), "documented, but there is no such attribute"


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_estimator_has_an_example(name):
    assert ">>> " in "\n".join(sections(ESTIMATORS[name].__doc__).get("Examples", []))


def test_public_names_are_enumerated():
    assert {"LASVM", "save", "datasets.load", "metrics.g_means", "errors.CoreError"} <= set(PUBLIC)
    assert {"LASVM", "LASVM.partial_fit", "LASVM.predict", "datasets.make_banana"} <= set(CALLABLES)
    assert "LASVM" in ESTIMATORS


@pytest.mark.parametrize(
    ("documented", "fault"),
    [
        ({"a": "int"}, "b is not documented"),
        ({"a": "int", "b": "str"}, "the default of b, 'x', is not documented"),
        ({"a": "int", "b": 'str, default="y"'}, "the default of b is 'x', documented as \"y\""),
        ({"a": "int, default=1", "b": 'str, default="x"'}, "a has no default, but one is documented"),
        ({"a": "int", "b": 'str, default="x"', "c": "int"}, "c is documented but does not exist"),
    ],
)
def test_a_fault_in_parameters_is_caught(documented, fault):
    def function(a, *, b="x"):
        pass

    assert faults_in_parameters(function, documented) == [fault]


def test_a_docstring_is_read():
    found = sections(
        """Do something.

        Parameters
        ----------
        a : {"x", "y"} or callable, default="x"
            Text with a colon : in it.
        b, c : default=None, 0.5
            Two at once.

        Returns
        -------
        int
        """
    )
    assert entries(found["Parameters"]) == {
        "a": '{"x", "y"} or callable, default="x"',
        "b": "default=None",
        "c": "default=0.5",
    }
    assert found["Returns"] == ["int"]


# ----------------------------------------------------------------------------------------------- examples


def modules():
    yield everlearn.__name__
    for module in pkgutil.walk_packages(everlearn.__path__, "everlearn."):
        yield module.name


@pytest.mark.parametrize("name", sorted(modules()))
def test_doctests(name):
    report = io.StringIO()
    with contextlib.redirect_stdout(report):
        failed = doctest.testmod(importlib.import_module(name)).failed
    assert failed == 0, report.getvalue()
