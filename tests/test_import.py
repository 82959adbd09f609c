"""Importing the package: quick, without optional dependencies, and with every public name in its place."""

import subprocess
import sys
import textwrap

import pytest

import everlearn


def run_python(code, *arguments):
    """Run code in a new interpreter and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def without(*modules):
    """Code that makes modules impossible to import."""
    return f"import sys\nfor name in {modules!r}:\n    sys.modules[name] = None\n"


@pytest.mark.parametrize("name", everlearn.__all__)
def test_every_public_name_is_there(name):
    assert getattr(everlearn, name) is not None
    assert name in dir(everlearn)


def test_a_name_that_does_not_exist():
    with pytest.raises(AttributeError, match="no_such_name"):
        everlearn.no_such_name  # noqa: B018


def test_importing_the_package_imports_no_learner():
    loaded = run_python("import sys, everlearn; print(*sys.modules)").split()
    rooms = {name.split(".")[1] for name in loaded if name.startswith("everlearn.")}
    assert rooms <= {"_base", "_core", "_atomic", "_startup", "_visible", "errors"}


def test_a_learner_needs_no_optional_dependency(tmp_path):
    code = without("sqlalchemy", "filelock", "typer", "river", "pyarrow", "matplotlib", "onnx", "pandas")
    code += "from everlearn import LASVM, save, load, datasets\n"
    code += "X, y = datasets.make_banana(100, random_state=0)\n"
    code += (
        "save(LASVM(random_state=0).fit(X, y), sys.argv[1])\nprint(load(sys.argv[1]).predict(X)[0] == y[0])"
    )
    assert run_python(code, tmp_path / "model") == "True\n"


@pytest.mark.parametrize(
    ("module", "code", "extra"),
    [
        ("sqlalchemy", "everlearn.NeverEndingLearner", "everlearn[stream]"),
        ("filelock", "everlearn.store", "everlearn[stream]"),
        ("typer", "import everlearn.cli", "everlearn[cli]"),
    ],
)
def test_a_missing_dependency_names_the_extra(module, code, extra):
    report = run_python(
        without(module)
        + f"import everlearn\ntry:\n    {code}\nexcept ModuleNotFoundError as error:\n    print(error)"
    )
    assert module in report
    assert f'pip install "{extra}"' in report


def test_a_file_is_loaded_in_a_process_that_has_imported_no_learner(tmp_path):
    X, y = everlearn.datasets.make_banana(60, random_state=0)
    model = everlearn.CalibratedClassifier(everlearn.KernelPA()).fit(X, y)
    everlearn.save(model, tmp_path / "model")
    assert (
        run_python("import sys, everlearn; print(type(everlearn.load(sys.argv[1])))", tmp_path / "model")
        == f"{type(model)}\n"
    )
