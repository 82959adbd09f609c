"""Files that cannot be loaded: truncated, damaged, foreign or forged."""

import io
import json
import zipfile

import numpy as np
import pytest

from base.persist_helpers import Toy, content_of, forge, refused, same, saved, small_state
from everlearn._base import archive as file_format
from everlearn._base.persist import load, save
from everlearn.errors import CoreError, EverlearnError, FileFormatError


def test_a_truncated_file_is_refused_at_every_length(tmp_path):
    whole = saved(tmp_path).read_bytes()
    path = tmp_path / "short"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        refused(path, "it is ")
    path.write_bytes(whole + b"\0")
    refused(path, "truncated or damaged")


@pytest.mark.parametrize("mask", [0x01, 0x20, 0xFF])
def test_a_flipped_byte_is_noticed_at_every_offset(tmp_path, mask):
    whole = bytearray(saved(tmp_path).read_bytes())
    path = tmp_path / "flipped"
    for offset in range(len(whole)):
        whole[offset] ^= mask
        path.write_bytes(whole)
        refused(path, "it is truncated or damaged")
        whole[offset] ^= mask


def test_a_flipped_byte_under_a_right_digest_never_changes_the_state(tmp_path):
    # What the checks behind the digest are worth: the checksums of the zip guard the content.
    whole = saved(tmp_path).read_bytes()
    path = tmp_path / "forged"
    refusals = 0
    for offset in range(len(whole) - file_format.DIGEST_CHARS - len(file_format.SEAL)):
        flipped = bytearray(whole)
        flipped[offset] ^= 0xFF
        with open(path, "w+b") as file:
            file.write(flipped)
            file_format.seal(file)
        try:
            assert same(load(path).state, small_state())
        except FileFormatError:
            refusals += 1
    assert refusals > len(whole) // 2


def test_foreign_files(tmp_path):
    path = tmp_path / "foreign"
    path.write_bytes(b"")
    refused(path, "it is empty")
    path.write_bytes(b"weight,height\n1,2\n" * 100)
    refused(path, "it is not a file of everlearn")
    np.savez(path.with_suffix(".npz"), a=np.arange(3))
    refused(path.with_suffix(".npz"), "a zip archive that everlearn did not write")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", "{}")
    refused(path, "a zip archive that everlearn did not write")
    with zipfile.ZipFile(path, "w"):
        pass
    refused(path, "a zip archive that everlearn did not write")


def test_a_missing_file_and_a_directory(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing"):
        load(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)
    with pytest.raises(IsADirectoryError):
        save(Toy({}), tmp_path)
    with pytest.raises(TypeError):
        load(3)


def test_headers_that_are_refused(tmp_path):
    path = saved(tmp_path)
    header, members = content_of(path)
    forge(path, header, members)
    assert same(load(path).state, small_state())  # so that what is refused below is refused for its reason
    forge(path, header | {"format_version": 2, "library_version": "9.9"}, members)
    refused(path, r"format version 2, .* up to 1\. Update everlearn: .* by everlearn 9\.9")
    forge(path, header | {"class": "Unheard"}, members)
    refused(path, "class 'Unheard' in it is unknown here. Import")
    forge(path, header | {"class": "Picky", "library_version": "0.0"}, members)
    refused(path, "does not fit the class Picky .* Load it with everlearn 0.0")
    changes = ({"magic": "other"}, {"format_version": 0}, {"format_version": "1"}, {"class": ["Toy"]})
    for other in (*(header | change for change in changes), [], {}, 3):
        forge(path, other, members)
        refused(path, "truncated or damaged")


def test_nodes_that_are_refused(tmp_path):
    path = saved(tmp_path)
    header, members = content_of(path)
    nodes = [{"array": "0"}, {"array": 0, "scalar": 0}, {"lambda": "0"}, {"dtype": "O,O"}, {"float": "00"}]
    nodes += [{"strings": [["a"], [2]]}, {"tuple": 3}, {"dict": []}, {"csr_matrix": [[0, 0, 0], [5, 5]]}]
    for node in nodes:
        forge(path, header | {"state": {"dict": {"a": node}}}, members)
        refused(path, "truncated or damaged")


def test_members_that_are_refused(tmp_path):
    path = saved(tmp_path)
    header, members = content_of(path)
    forge(path, header, {})
    refused(path, r"its member arrays/0\.npy is missing")
    forge(path, header, members, zipfile.ZIP_DEFLATED)
    refused(path, "is compressed")
    forge(path, json.dumps(header).replace('"scale"', "[" * 20_000 + "]" * 20_000), members)
    refused(path, "truncated or damaged")
    huge = io.BytesIO()
    np.lib.format.write_array_header_1_0(huge, {"descr": "<f8", "fortran_order": False, "shape": (2**40,)})
    for data in (huge.getvalue(), members["arrays/0.npy"] + b"\0", b"", b"\x93NUMPY\x03\x00"):
        forge(path, header, members | {"arrays/0.npy": data})
        refused(path, "truncated or damaged")


class Trap:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_an_array_of_objects_in_the_file_is_refused_and_nothing_runs(tmp_path):
    path, sprung = saved(tmp_path), tmp_path / "sprung"
    header, members = content_of(path)
    data = io.BytesIO()
    np.lib.format.write_array(data, np.array([Trap(str(sprung))], dtype=object), allow_pickle=True)
    np.lib.format.read_array(io.BytesIO(data.getvalue()), allow_pickle=True)[0].close()
    assert sprung.exists()  # the trap works where pickle is allowed
    sprung.unlink()
    forge(path, header, members | {"arrays/0.npy": data.getvalue()})
    refused(path, r"its member arrays/0\.npy has the dtype object")
    assert not sprung.exists()


def test_errors_are_also_the_ordinary_ones():
    for error, ordinary in ((CoreError, RuntimeError), (FileFormatError, ValueError)):
        assert issubclass(error, EverlearnError)
        assert issubclass(error, ordinary)
