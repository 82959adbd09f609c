"""Memory of this process, on systems that tell less than Linux."""

import builtins
import math
import sys

from everlearn.stream import _process_memory


def test_linux_tells_it_now():
    assert 10 < _process_memory.resident_mb() < 100_000


def without_proc(monkeypatch):
    real = builtins.open

    def refuse(path, *args, **options):
        if str(path).startswith("/proc"):
            raise FileNotFoundError(path)
        return real(path, *args, **options)

    monkeypatch.setattr(builtins, "open", refuse)


def test_other_systems_tell_the_peak(monkeypatch):
    without_proc(monkeypatch)
    assert 10 < _process_memory.resident_mb() < 100_000


def test_a_system_that_tells_nothing(monkeypatch):
    without_proc(monkeypatch)
    monkeypatch.setitem(sys.modules, "resource", None)
    assert math.isnan(_process_memory.resident_mb())
