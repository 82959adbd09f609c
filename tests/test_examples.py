"""Every example runs, without a warning, and leaves a picture behind."""

import re
import subprocess
import sys
from pathlib import Path

import matplotlib.image
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
ENDLESS = "serve_demo.py"  # a service, which draws nothing
NAMES = sorted(path.name for path in EXAMPLES.glob("*.py") if path.name != ENDLESS)
FEWER_ROWS = {"fraud_stream.py": ("--rows", "4000")}


def run(name, folder):
    return subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / name, *FEWER_ROWS.get(name, ())],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def picture_in(printed, folder):
    """The path that an example prints in its line "Picture: ..."."""
    named = re.findall(r"^Picture: (.+\.png)$", printed, flags=re.MULTILINE)
    assert len(named) == 1, printed
    return folder / named[0]


def assert_is_a_picture(path):
    pixels = matplotlib.image.imread(path)
    height, width = pixels.shape[:2]
    assert width >= 1000, f"{path.name} is only {width} pixels wide"
    assert height >= 500, f"{path.name} is only {height} pixels high"
    inked = (pixels[..., :3] < 0.9).any(axis=-1).mean()
    assert 0.01 < inked < 0.9, f"{path.name} is blank or a blot: {inked:.1%} of it is not white"


@pytest.mark.parametrize("name", NAMES)
def test_example(name, tmp_path):
    done = run(name, tmp_path)
    assert done.returncode == 0, done.stderr
    assert_is_a_picture(picture_in(done.stdout, tmp_path))
    if name == "digits_stream.py":
        check_digits(done)


def check_digits(done):
    accuracies = re.findall(r"^(LASVM|SVC), .*?: +(\d+\.\d)%", done.stdout, flags=re.MULTILINE)
    assert [who for who, _ in accuracies] == ["LASVM", "SVC"], done.stdout
    ours, svc = (float(percent) for _, percent in accuracies)
    assert svc > 97
    assert abs(ours - svc) <= 1.5
    curve = re.findall(
        r"^ *([\d,]+) +(-|[\d.]+%) +([\d.]+)% +(\d+) +[\d,]+$", done.stdout, flags=re.MULTILINE
    )
    rows = [int(row[0].replace(",", "")) for row in curve]
    assert rows == [*range(100, 1300, 100), 1297]
    assert float(curve[-1][2]) > float(curve[0][2])
    assert int(curve[-1][3]) < rows[-1] / 2
    assert "one pass: 100%" in done.stderr  # the progress bar, and not on stdout
    assert "one pass: 100%" not in done.stdout


def test_the_service_of_the_demonstration(tmp_path):
    command = [sys.executable, "-W", "error", EXAMPLES / ENDLESS, "--port", "0", "--seconds", "5"]
    command += ["--rate", "20", "--colleagues", "2", "--folder", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    rows, labels = map(int, re.findall(r"^(\d+) rows, (\d+) labels\.$", done.stdout, flags=re.MULTILINE)[0])
    assert rows > 300
    assert labels > 0
    assert "/join?code=" in done.stdout
    assert done.stderr == ""


def test_digits_stream_can_be_told_where_to_draw(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.chdir(tmp_path)
    import digits_stream

    target = tmp_path / "new" / "curve.png"
    digits_stream.main(out=target)
    assert f"Picture: {target}" in capsys.readouterr().out
    assert_is_a_picture(target)
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_examples_are_enumerated_and_listed():
    assert "digits_stream.py" in NAMES
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert [name for name in (*NAMES, ENDLESS) if f"]({name})" not in listed] == []


def test_a_blank_picture_is_caught(tmp_path):
    blank = tmp_path / "blank.png"
    matplotlib.image.imsave(blank, [[[1.0, 1.0, 1.0]] * 1200] * 600)
    with pytest.raises(AssertionError, match="blank"):
        assert_is_a_picture(blank)
