"""Every test writes its own files; none needs a real data folder."""

import dataclasses
import doctest

import numpy as np
import pytest
from scipy import sparse

from everlearn.datasets import available, load, loaders

DENSE = np.arange(12).reshape(4, 3)
LABELS = np.array([1, -1, -1, 1], dtype=np.int8)
CSR = sparse.csr_matrix(np.array([[0, 2, 0], [1, 0, 0], [0, 0, 0], [0, 3, 4]]))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("EVERLEARN_DATA", str(tmp_path))
    return tmp_path


def csr_parts(**changes):
    parts = {
        "data": CSR.data.astype(np.int8),
        "indices": CSR.indices.astype(np.uint16),
        "indptr": CSR.indptr.astype(np.int32),
        "shape": np.array(CSR.shape, dtype=np.int32),
    }
    return parts | changes


def write(folder, name="tiny", **arrays):
    np.savez_compressed(folder / f"{name}.npz", **arrays)


# --- what comes back ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64])
def test_dense_rows_become_float32(folder, dtype):
    write(folder, X=DENSE.astype(dtype), y=LABELS)
    tiny = load("tiny")
    assert tiny.name == "tiny"
    assert type(tiny.X) is np.ndarray
    assert tiny.X.dtype == np.float32
    np.testing.assert_array_equal(tiny.X, DENSE)
    assert tiny.y.dtype == np.int64
    np.testing.assert_array_equal(tiny.y, LABELS)
    assert (tiny.train_idx, tiny.test_idx, tiny.extras) == (None, None, {})


def test_csr_parts_become_a_float32_csr_matrix(folder):
    write(folder, y=LABELS, **csr_parts())
    tiny = load("tiny")
    assert sparse.issparse(tiny.X)
    assert tiny.X.format == "csr"
    assert tiny.X.dtype == np.float32
    assert tiny.X.indices.dtype == np.int32
    np.testing.assert_array_equal(tiny.X.toarray(), CSR.toarray())
    assert tiny.extras == {}


def test_csr_indices_above_the_range_of_signed_16_bit(folder):
    indices = np.array([40_000], dtype=np.uint16)
    write(
        folder,
        y=[1],
        **csr_parts(data=np.ones(1), indices=indices, indptr=np.array([0, 1]), shape=[1, 50_000]),
    )
    assert load("tiny").X[0, 40_000] == 1


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_parts_of_the_standard_split(folder, layout):
    rows = {"X": DENSE} if layout == "dense" else csr_parts()
    write(folder, y=LABELS, train_idx=np.array([3, 0, 2]), test_idx=np.array([1]), **rows)
    tiny = load("tiny")
    full = DENSE if layout == "dense" else CSR.toarray()
    X_train, X_test = (part if layout == "dense" else part.toarray() for part in (tiny.X_train, tiny.X_test))
    np.testing.assert_array_equal(X_train, full[[3, 0, 2]])
    np.testing.assert_array_equal(X_test, full[[1]])
    np.testing.assert_array_equal(tiny.y_train, [1, 1, -1])
    np.testing.assert_array_equal(tiny.y_test, [-1])
    assert tiny.extras == {}


@pytest.mark.parametrize("part", ["X_train", "y_train", "X_test", "y_test"])
def test_a_set_without_split_says_how_to_go_on(folder, part):
    write(folder, X=DENSE, y=LABELS)
    expected = (
        "'tiny' has no standard split and no (train|test) set; split X and y yourself.*train_test_split$"
    )
    with pytest.raises(ValueError, match=expected):
        getattr(load("tiny"), part)


def test_a_set_with_folds_instead_of_a_split_names_them(folder):
    write(folder, X=DENSE, y=LABELS, fold_cv=np.array([1, 2, 1, 2]))
    with pytest.raises(ValueError, match="train_test_split, or with an array in extras: fold_cv"):
        _ = load("tiny").X_train


def test_other_arrays_are_extras(folder):
    names, lab10 = np.array(["ham", "spam"]), np.array([[0, 1], [2, 3]], dtype=np.int16)
    write(folder, X=DENSE, y=LABELS, label_names=names, lab10=lab10)
    extras = load("tiny").extras
    assert sorted(extras) == ["lab10", "label_names"]
    np.testing.assert_array_equal(extras["label_names"], names)
    np.testing.assert_array_equal(extras["lab10"], lab10)


def test_rows_with_several_labels_keep_their_columns(folder):
    y = np.array([[1, 0], [0, 0], [1, 1], [0, 1]], dtype=np.int8)
    write(folder, X=DENSE, y=y, train_idx=np.array([0, 2]), test_idx=np.array([1, 3]))
    np.testing.assert_array_equal(load("tiny").y_test, y[[1, 3]])


def test_a_data_set_is_frozen_and_prints_in_one_line(folder):
    write(folder, y=LABELS, train_idx=np.array([0, 1, 2]), test_idx=np.array([3]), **csr_parts())
    tiny = load("tiny")
    assert repr(tiny) == "Dataset('tiny', 4 rows x 3 features, CSR, split 3+1)"
    assert tiny != load("tiny")  # by identity: comparing arrays would be neither cheap nor a bool
    with pytest.raises(dataclasses.FrozenInstanceError):
        tiny.y = LABELS


def test_available_is_the_sorted_list_of_names(folder):
    assert available() == []
    for name in ("usps", "a9a", "20newsgroups"):
        write(folder, name, X=DENSE, y=LABELS)
    (folder / "README.md").write_text("not a data set")
    (folder / "folder.npz").mkdir()
    assert available() == ["20newsgroups", "a9a", "usps"]


def test_a_home_folder_may_be_written_with_a_tilde(folder, monkeypatch):
    write(folder, X=DENSE, y=LABELS)
    monkeypatch.setenv("HOME", str(folder.parent))
    monkeypatch.setenv("EVERLEARN_DATA", f"~/{folder.name}")
    assert available() == ["tiny"]
    assert load("tiny").X.shape == (4, 3)


# --- what goes wrong ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", [available, lambda: load("tiny")])
def test_no_folder(call, tmp_path, monkeypatch):
    monkeypatch.delenv("EVERLEARN_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="EVERLEARN_DATA is not set; set it to the folder"):
        call()
    monkeypatch.setenv("EVERLEARN_DATA", "")
    with pytest.raises(FileNotFoundError, match="EVERLEARN_DATA is not set"):
        call()
    monkeypatch.setenv("EVERLEARN_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(
        FileNotFoundError, match=r"EVERLEARN_DATA is '.*nowhere', which is not a folder; set it"
    ):
        call()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EVERLEARN_DATA", str(tmp_path / "file"))
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        call()


def test_unknown_names_get_a_guess_and_a_list(folder):
    with pytest.raises(
        ValueError, match=r"unknown data set 'mnist'; .* has no \.npz files; set EVERLEARN_DATA"
    ):
        load("mnist")
    for name in ("mnist", "usps"):
        write(folder, name, X=DENSE, y=LABELS)
    available_names = r"2 available \(see datasets.available\(\)\): mnist, usps$"
    for wrong in ("mnits", "MNIST", "mnist1"):
        with pytest.raises(ValueError, match=f"'{wrong}'; did you mean 'mnist'\\? {available_names}"):
            load(wrong)
    with pytest.raises(ValueError, match=f"unknown data set 'zzzzzz'; {available_names}"):
        load("zzzzzz")
    for number in range(30):
        write(folder, f"set{number:02}", X=DENSE, y=LABELS)
    with pytest.raises(ValueError, match=r"32 available .*: mnist, set00, .*, set10, \.\.\.$"):
        load("zzzzzz")


def test_a_name_cannot_lead_out_of_the_folder(folder, monkeypatch):
    write(folder, X=DENSE, y=LABELS)
    inner = folder / "inner"
    inner.mkdir()
    write(inner, "other", X=DENSE, y=LABELS)
    monkeypatch.setenv("EVERLEARN_DATA", str(inner))
    for name in ("../tiny", "", ".", str(folder / "tiny")):
        with pytest.raises(ValueError, match="unknown data set"):
            load(name)
    with pytest.raises(TypeError, match="name must be a string, got 3 of type int"):
        load(3)


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"X": DENSE}, "it has no array 'y'"),
        ({"y": LABELS}, "neither 'X' nor all parts of a CSR matrix; missing: data, indices, indptr, shape"),
        ({"y": LABELS, "data": CSR.data, "indptr": CSR.indptr}, "missing: indices, shape"),
        ({"y": LABELS[:3], "X": DENSE}, r"'y' of shape \(3,\) does not match rows of shape \(4, 3\)"),
        ({"y": LABELS, "X": DENSE.ravel()}, r"does not match rows of shape \(12,\)"),
        ({"y": np.array(3), "X": DENSE}, r"'y' of shape \(\) does not match"),
        ({"y": LABELS + 0.5, "X": DENSE}, "'y' must contain integers, not float64"),
        ({"y": LABELS, "X": DENSE, "train_idx": np.array([0])}, "only one of 'train_idx' and 'test_idx'"),
        (
            {"y": LABELS, "X": DENSE, "train_idx": np.array([0]), "test_idx": np.array([4])},
            "'test_idx' has row numbers outside the 4 rows",
        ),
        (
            {"y": LABELS, "X": DENSE, "train_idx": np.array([-1]), "test_idx": np.array([0])},
            "'train_idx' has row numbers outside the 4 rows",
        ),
        (
            {"y": LABELS, "X": DENSE, "train_idx": np.array([0.0]), "test_idx": np.array([1])},
            "'train_idx' must be a 1d array of integers, not float64",
        ),
        ({"y": LABELS, "X": np.array([["a"]] * 4)}, "could not convert string to float"),
        ({"y": LABELS} | csr_parts(indices=np.array([1, 0, 1, 9])), "column index|indices"),
        ({"y": LABELS} | csr_parts(indptr=np.array([0, 1, 2, 2])), "index pointer"),
        ({"y": LABELS} | csr_parts(shape=np.array([4])), "not enough values to unpack"),
    ],
)
def test_files_whose_arrays_do_not_fit(folder, arrays, reason):
    write(folder, **arrays)
    expected = (
        rf"the file of data set 'tiny' is damaged \(.*({reason}).*\); replace .*tiny\.npz by an intact copy"
    )
    with pytest.raises(ValueError, match=expected):
        load("tiny")


def test_pickled_objects_are_refused(folder):
    write(folder, X=DENSE, y=LABELS, label_names=np.array([{"never": "run"}], dtype=object))
    with pytest.raises(ValueError, match=r"'tiny' is damaged \(Object arrays cannot be loaded"):
        load("tiny")


@pytest.mark.parametrize(
    "content", [b"", b"PK", b"no archive at all", b"\x80\x04N.", b"PK\x03\x04" + bytes(40)]
)
def test_files_that_are_no_archive(folder, content):
    (folder / "tiny.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"'tiny' is damaged .* replace .* by an intact copy"):
        load("tiny")


def test_a_single_array_is_not_an_archive(folder):
    with open(folder / "tiny.npz", "wb") as file:
        np.save(file, DENSE)
    with pytest.raises(ValueError, match="'tiny' is damaged"):
        load("tiny")


def test_any_cut_or_flipped_byte_is_harmless_or_reported(folder):
    write(folder, y=LABELS, **csr_parts())
    path = folder / "tiny.npz"
    intact = path.read_bytes()
    for length in range(0, len(intact), 37):
        path.write_bytes(intact[:length])
        with pytest.raises(ValueError, match="'tiny' is damaged"):
            load("tiny")
    compression = intact.index(b"PK\x01\x02") + 10  # in the directory: 8 is deflate, 12 bzip2, 14 lzma
    flips = [(place, 0x55) for place in range(0, len(intact), 5)] + [
        (compression, 8 ^ 12),
        (compression, 8 ^ 14),
    ]
    for place, mask in flips:
        path.write_bytes(intact[:place] + bytes([intact[place] ^ mask]) + intact[place + 1 :])
        try:
            tiny = load("tiny")
        except ValueError as error:
            assert "'tiny' is damaged" in str(error)  # noqa: PT017
        else:
            np.testing.assert_array_equal(tiny.X.toarray(), CSR.toarray())
            np.testing.assert_array_equal(tiny.y, LABELS)


def test_docstring_examples_run():
    outcome = doctest.testmod(loaders)
    assert outcome.attempted >= 10
    assert outcome.failed == 0
