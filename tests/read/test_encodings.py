"""Encodings, compressions and line ends."""

import bz2
import gzip
import lzma

import pyarrow as pa
import pytest

from everlearn.read import open_source

TEXT = "größe,name,label\n1,Zoë,a\n2,Ünal,b\n3,Ada,a\n"
TEXT_CR = TEXT.replace("\n", "\r")


def zstd(data):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as out:
        out.write(data)
    return sink.getvalue().to_pybytes()


def names(path, **options):
    with open_source(path, kinds={"name": "categorical"}, **options) as source:
        assert sum(map(len, source)) == 3
        return sorted(source.schema.fields[1].categories), source


@pytest.mark.parametrize(
    ("encoding", "layout"),
    [
        ("utf-8", ""),
        ("utf-8-sig", ""),
        ("cp1252", ", cp1252"),
        ("latin-1", ", cp1252"),  # the same bytes here
        ("utf-16", ", utf-16-le"),
        ("utf-16-le", ", utf-16-le"),
        ("utf-16-be", ", utf-16-be"),
        ("utf-32", ", utf-32-le"),
    ],
)
@pytest.mark.parametrize("text", [TEXT, TEXT_CR])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress, zstd])
def test_encodings_are_detected_in_any_compression(tmp_path, encoding, layout, text, pack):
    path = tmp_path / "s.csv"
    path.write_bytes(pack(text.encode(encoding)))
    found, source = names(path)
    assert found == ["Ada", "Zoë", "Ünal"]
    assert source.schema.fields[0].name == "größe"
    assert source.layout == f"delimiter comma{layout}{', lines end in CR' if text is TEXT_CR else ''}"


def test_a_given_encoding_wins(tmp_path):
    path = tmp_path / "s.csv"
    path.write_bytes(TEXT.replace("Zoë", "Жук").replace("größe", "g").replace("Ü", "U").encode("cp1251"))
    assert names(path, encoding="windows-1251")[0] == ["Ada", "Unal", "Жук"]
    with pytest.raises(ValueError, match="encoding='klingon' is not known"):
        names(path, encoding="klingon")


def test_a_damaged_file_in_utf8_stays_utf8(tmp_path):
    path = tmp_path / "s.csv"
    path.write_bytes(TEXT.encode() + b"4,b\xffd,a\n")
    with open_source(path) as source:
        assert sum(map(len, source)) == 3
    assert source.reasons == {"invalid UTF-8": 1}


def test_what_another_encoding_cannot_hold_is_a_bad_row(tmp_path):
    path = tmp_path / "s.csv"
    path.write_bytes(TEXT.encode("utf-16-le") + b"\x00\xd8" + "4,x,a\n5,y,b\n".encode("utf-16-le"))
    with open_source(path, encoding="utf-16-le") as source:
        assert sum(map(len, source)) == 4
    assert source.reasons == {"invalid utf-16-le": 1}


def test_a_later_file_of_the_stream_is_read_in_the_encoding_of_the_schema(tmp_path):
    path, ascii_only, unicode = tmp_path / "s.csv", tmp_path / "t.csv", tmp_path / "u.csv"
    path.write_bytes(TEXT.encode("cp1252"))
    with open_source(path, kinds={"name": "categorical"}, encoding="cp1250") as source:
        schema = source.schema
    assert schema.encoding == "cp1250"
    ascii_only.write_bytes(TEXT.encode("cp1250"))
    unicode.write_bytes(TEXT.encode("utf-8"))
    for later in (ascii_only, unicode):
        with open_source(later, schema=schema) as source:
            assert next(source).X[:, 1:4].sum() == 3  # all names are known


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zstd])
def test_a_compressed_file_that_is_cut_off(tmp_path, pack):
    path = tmp_path / "s.csv"
    path.write_bytes(
        pack(("a,b\n" + "".join(f"{i},{i * i % 997}\n" for i in range(300_000))).encode())[:-2000]
    )
    with pytest.raises(OSError, match=r"is damaged after line \d+"), open_source(path) as source:
        list(source)


def test_compressed_twice(tmp_path):
    path = tmp_path / "s.csv.gz"
    path.write_bytes(gzip.compress(bz2.compress(TEXT.encode())))
    with pytest.raises(ValueError, match="compressed twice, the second time with bzip2"):
        open_source(path)


def test_text_that_starts_like_bzip2(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("BZh,b\n1,2\n")
    with open_source(path) as source:
        assert source.schema.feature_names == ["BZh", "b"]
