"""Failures while saving: a full disk, a killed process, many savers, permissions, links."""

import functools
import os
import random
import signal
import stat
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from base.persist_helpers import Toy, same, saved, small_state
from everlearn._base.persist import load, save

CHILD = """
    import os, resource, sys
    import numpy as np
    from everlearn._base.persist import register, save

    @register
    class Toy:
        def __init__(self, state): self.state = state
        def _get_state(self): return self.state
        @classmethod
        def _from_state(cls, state): return cls(state)

    path = sys.argv[1]
"""


def child(body, path, **options):
    code = textwrap.dedent(CHILD) + textwrap.dedent(body)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen([sys.executable, "-c", code, path], env=environment, text=True, **options)


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path):
    path = saved(tmp_path)
    before = path.read_bytes()
    body = """
    for limit in (0, 10, 1_000, 8_192, 100_000, 160_200, 160_400):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            save(Toy({"C": 1.0, "rows": np.zeros(10_000), "more": np.zeros(10_000)}), path)
        except OSError as error:
            print(limit, error.errno, error.filename == path, os.listdir(os.path.dirname(path)))
    """
    process = child(body, path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    output, errors = process.communicate(timeout=60)
    assert errors == ""
    lines = output.splitlines()
    assert len(lines) == 7
    assert all(line.endswith(f" True ['{path.name}']") for line in lines)
    assert path.read_bytes() == before


def test_a_saver_that_is_killed_leaves_a_whole_file(tmp_path):
    path = tmp_path / "model.everlearn"
    body = """
    for i in range(1_000_000):
        save(Toy({"i": i, "rows": np.full(200_000, i)}), path)
        if i == 0:
            print("go", flush=True)
    """
    chance = random.Random(0)
    for _ in range(6):
        process = child(body, path, stdout=subprocess.PIPE)
        with process:
            assert process.stdout.readline() == "go\n"
            time.sleep(chance.uniform(0, 0.05))
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
        state = load(path).state
        assert np.all(state["rows"] == state["i"])
        assert len(os.listdir(tmp_path)) <= 2  # a dead saver's temporary file lasts until the next save
    save(Toy(small_state()), path)
    assert os.listdir(tmp_path) == [path.name]


def test_many_savers_of_one_file_do_not_disturb_each_other(tmp_path):
    path = saved(tmp_path, {"i": 0, "rows": np.zeros(1000)})

    def work(i):
        save(Toy({"i": i, "rows": np.full(1000, float(i))}), path)
        state = load(path).state
        assert np.all(state["rows"] == state["i"])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(80)))
    assert os.listdir(tmp_path) == [path.name]


def test_a_folder_that_is_missing_or_a_file(tmp_path):
    for parent, error in ((tmp_path / "missing", FileNotFoundError), (saved(tmp_path), NotADirectoryError)):
        with pytest.raises(error) as caught:
            save(Toy({}), parent / "model")
        assert caught.value.filename == str(parent / "model")
    assert os.listdir(tmp_path) == ["model.everlearn"]


@pytest.mark.parametrize(
    ("function", "rows"),
    [
        ("os.fsync", 3),
        ("os.replace", 3),
        ("_small_archive", 3),
        ("seal", 100_000),
        ("np.lib.format.write_array", 100_000),
    ],
)
def test_any_failing_step_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, function, rows):
    path = saved(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(f"everlearn._base.archive.{function}", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            save(Toy({"rows": np.zeros(rows)}), path)
    assert os.listdir(tmp_path) == [path.name]
    assert same(load(path).state, small_state())


def test_permission_bits(tmp_path):
    previous = os.umask(0o027)
    try:
        path = saved(tmp_path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        for mode in (0o604, 0o444, 0o666):
            path.chmod(mode)
            save(Toy({}), path)
            assert stat.S_IMODE(path.stat().st_mode) == mode
    finally:
        os.umask(previous)


def test_a_link_is_followed_and_a_device_is_not_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "link"
    link.symlink_to(Path("there", "model"))
    save(Toy({"a": 1}), link)
    assert link.is_symlink()
    assert load(tmp_path / "there" / "model").state == {"a": 1}
    os.mkfifo(tmp_path / "pipe")
    for act in (load, functools.partial(save, Toy({}))):
        with pytest.raises(OSError, match="Not a regular file"):
            act(tmp_path / "pipe")
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe", "there"]
