"""Files with a valid digest whose parts do not match each other: refused before anything is built on them."""

import copy
import json
import zipfile

import numpy as np
import pytest

from base.persist_helpers import Toy, content_of, forge, refused, saved
from everlearn import LASVM, load, save
from everlearn._base.archive import DIGEST_CHARS, SEAL, seal
from everlearn._base.persist import pack, unpack
from everlearn.errors import FileFormatError
from fuzz import models
from fuzz.worker import write

LEARNERS = [name for name, kind in models.registered().items() if hasattr(kind, "_solver")]


def forged(tmp_path, name, change, variant="two"):
    """A file of a fitted object whose state is changed in place."""
    state = copy.deepcopy(models.made(name)[variant]._get_state())
    change(state)
    path = tmp_path / "forged"
    write(state, name, path)
    return path


@pytest.mark.parametrize("name", [*LEARNERS, "OAM", "OPAUC"])
def test_more_labels_than_native_classes(tmp_path, name):
    def change(state):
        state["fitted"]["classes_"] = np.arange(5)

    refused(forged(tmp_path, name, change), "classes_ has 5 labels, and the model was built for 2 classes")


def change_native(key, value):
    def change(state):
        state["machine"]["native"][key] = value(state["machine"]["native"][key])

    return change


def change_fitted(key, value):
    return lambda state: state["fitted"].__setitem__(key, value)


def change_spec(key, value):
    return lambda state: state["machine"]["spec"].__setitem__(key, value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (change_native("labels", lambda old: old[:, None]), "labels is of the wrong type"),
        (change_native("labels", lambda old: old + 2), "label [23] is not"),
        (change_native("alpha", lambda old: old.T.copy()), "do not match each other"),
        (change_native("alpha", lambda old: old.astype("U3")), "alpha is of the wrong type"),
        (change_native("alpha", lambda old: old + 1e9), "outside of its box"),
        (change_native("g", lambda old: old * np.nan), "g is not finite"),
        (change_native("ids", lambda old: old * 0), "do not match each other"),
        (change_native("values", lambda old: old * np.inf), "a row is not finite"),
        (change_native("iterations", lambda old: -1), "iterations is not a count"),
        (change_native("iterations", lambda old: 2**70), "iterations is of the wrong type"),
        (change_native("generator", lambda old: old[:2]), "four words"),
        (change_fitted("n_features_in_", 7), "n_features_in_ is 7, and the model was built for 3"),
        (change_fitted("_rows_seen", 2**80), "_rows_seen must be an integer"),
        (change_fitted("_label_counts", np.zeros(9, dtype=np.int64)), "_label_counts must have the shape"),
        (change_fitted("_sparse_input", 3), "_sparse_input must be True or False"),
        (change_spec("classes", 2**40), "classes_ has 2 labels"),
        (change_spec("width", 2**31), "n_features_in_ is 3"),
        (change_spec("layout", "external"), "kernel is 'rbf'"),
        (change_spec("center", np.zeros(2)), "center must be empty"),
        (lambda state: state["params"].__setitem__("C", -1.0), "The parameter 'C' of LASVM"),
        (
            lambda state: state["machine"]["parameters"].__setitem__("tau", "x"),
            "parameter 'tau' of the solver",
        ),
        (lambda state: state["machine"].__setitem__("solver", "norma"), "solver must be one of 'lasvm'"),
        (lambda state: state.__setitem__("machine", 3), "machine must be a dict"),
    ],
)
def test_parts_that_do_not_fit(tmp_path, change, words):
    refused(forged(tmp_path, "LASVM", change), words)


def test_ids_of_a_precomputed_kernel_are_columns(tmp_path):
    change = change_native("ids", lambda old: old + 10**6)
    refused(forged(tmp_path, "LASVM", change, "precomputed"), "ids must contain integers from 0 to")


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    X, y = models.table(2)
    model = LASVM().fit(X, y).set_params(C=-1.0)
    path = tmp_path / "model"
    with pytest.raises(ValueError, match="parameter 'C' of LASVM"):
        save(model, path)
    assert not path.exists()
    with pytest.raises(ValueError, match="but this LASVM was fitted with another kind of kernel"):
        save(model.set_params(C=1.0, kernel="precomputed"), path)
    save(LASVM(C=-1.0), path)  # it will be refused when it learns
    assert load(path).C == -1.0


def test_an_array_is_read_once(tmp_path):
    path = saved(tmp_path, {"a": np.arange(1000.0)})
    header, members = content_of(path)
    header["state"]["dict"]["b"] = [{"array": 0}] * 1000
    forge(path, header, members)
    refused(path, "array 0 is used twice")


def test_members_do_not_share_bytes(tmp_path):
    # Two members of the directory that point to one: each alone is sound.
    path = saved(tmp_path, {"a": np.arange(1000.0)})
    header, members = content_of(path)
    header["state"]["dict"] |= {f"b{i}": {"array": i} for i in range(1, 9)}
    with open(path, "w+b") as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.comment = SEAL + b"0" * DIGEST_CHARS
            archive.writestr("header.json", json.dumps(header))
            archive.writestr("arrays/0.npy", members["arrays/0.npy"])
            first = archive.getinfo("arrays/0.npy")
            for i in range(1, 9):
                other = copy.copy(first)
                other.filename = other.orig_filename = f"arrays/{i}.npy"
                archive.filelist.append(other)
                archive.NameToInfo[other.filename] = other
        seal(file)
    refused(path, "its members overlap")


def test_items_without_bytes_are_counted(tmp_path):
    path = saved(tmp_path, {"a": np.zeros(3)})
    header, members = content_of(path)
    text = members["arrays/0.npy"][:-24]
    for old, new in ((b"<f8", b"<U0"), (b"(3,)", b"(9" + b"0" * 15 + b",)")):
        text = text.replace(old, new)
    text = text[: text.index(b"}") + 1].ljust(127) + b"\n"
    forge(path, header, members | {"arrays/0.npy": text})
    refused(path, "bytes instead of")


def test_any_error_of_a_class_becomes_one(tmp_path, monkeypatch):
    path = saved(tmp_path)
    for error in (
        MemoryError(),
        RecursionError("deep"),
        RuntimeError("std::bad_cast"),
        OverflowError("long"),
    ):

        def fails(cls, state, error=error):
            raise error

        monkeypatch.setattr(Toy, "_from_state", classmethod(fails))
        refused(path, type(error).__name__ if isinstance(error, MemoryError) else str(error))


def test_sealed_bytes_follow_the_same_rules():
    assert unpack(pack({"a": 1})) == {"a": 1}
    with pytest.raises(FileFormatError):
        unpack(b"")
