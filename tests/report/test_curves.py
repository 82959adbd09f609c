"""The charts: what is thinned keeps its extremes; whatever the numbers, the drawing stays in its frame."""

from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from everlearn.report import _text, render
from everlearn.report._axis import NOISE, Axis, amount_range, score_range, time_range
from everlearn.report._curves import POINTS, Band, Chart, Line, Mark, column, svg, thin
from property_helpers import property_test
from report.report_helpers import absolute_points, assert_inside

numbers = st.one_of(st.none(), st.floats(allow_subnormal=True), st.integers(-5, 5), st.floats(0, 1))


def brute_extremes(y, stretches):
    kept = np.concatenate(stretches)[:, 1]
    finite = y[np.isfinite(y)]
    return kept.min() == finite.min() and kept.max() == finite.max()


@property_test(300)
@given(st.lists(st.tuples(numbers, numbers, numbers), max_size=30), st.booleans(), numbers)
@example([(0, 0, 0)], False, None)
@example([(1, 1e308, -1e308), (2, -1e308, 1e308)], False, 1e308)
@example([(1, 5e-324, 0), (5e-324, 0, 5e-324)], True, 5e-324)
@example([(1e15, 1e15, 1e15 + 1), (1e15 + 1, 1e15, 1e15)], False, None)
def test_every_drawing_is_well_formed_and_inside_its_frame(points, scores, mark):
    x, y, z = (column([point[i] for point in points]) for i in range(3))
    marks = [Mark(float(mark), "here")] if mark is not None else []
    chart = Chart(
        "t",
        "s",
        "u",
        time_range(x),
        [Line("a", x, y, "c1")],
        [Band("b", x, y, z, "c3")],
        marks,
        scores=scores,
    )
    drawn = ElementTree.fromstring(svg(chart, "n"))
    assert_inside(drawn)
    assert "nan" not in svg(chart, "n").replace("<title", "")


@settings(derandomize=True, deadline=None)
@given(st.integers(601, 5000), st.integers(0, 2**32 - 1), st.floats(0, 0.99), st.sampled_from([600, 40]))
def test_thinning_keeps_the_extremes_the_ends_and_the_order(n, seed, gaps, limit):
    rng = np.random.default_rng(seed)
    x, y = np.arange(n, dtype=float), rng.standard_normal(n)
    y[rng.random(n) < gaps] = np.nan
    stretches = thin(x, y, limit)
    finite = np.flatnonzero(np.isfinite(y))
    if not len(finite):
        assert stretches == []
        return
    together = np.concatenate(stretches)
    assert len(together) <= limit
    assert brute_extremes(y, stretches)
    assert together[0, 0] == finite[0]
    assert together[-1, 0] == finite[-1]
    assert (np.diff(together[:, 0]) > 0).all()
    assert (y[together[:, 0].astype(int)] == together[:, 1]).all()


@pytest.mark.parametrize("spike", [1e6, -1e6])
@pytest.mark.parametrize("place", [0, 1, 4711, 50_000, 99_999])
def test_a_spike_of_one_step_in_a_hundred_thousand_is_drawn(spike, place):
    y = np.zeros(100_000)
    y[place] = spike
    stretches = thin(np.arange(100_000.0), y)
    assert [place, spike] in np.concatenate(stretches).tolist()
    assert sum(map(len, stretches)) <= POINTS


def test_a_short_curve_is_kept_and_broken_at_its_gaps():
    y = column([1.0, None, 2.0, 3.0, float("nan"), float("inf"), 4.0])
    assert not np.isinf(y).any()
    stretches = thin(np.arange(7.0), y)
    assert [s.tolist() for s in stretches] == [[[0, 1]], [[2, 2], [3, 3]], [[6, 4]]]


@pytest.mark.parametrize(("first", "last"), [(20_000, 30_000), (20_017, 20_700), (1, 99_999)])
def test_a_long_gap_breaks_a_long_curve(first, last):
    y = np.ones(100_000)
    y[first:last] = np.nan
    stretches = thin(np.arange(100_000.0), y)
    assert len(stretches) == 2
    assert stretches[0][-1, 0] < first
    assert stretches[1][0, 0] >= last


def test_a_band_closes_around_both_curves_in_every_stretch():
    x = np.arange(2000.0)
    lower, upper = np.sin(x / 50), np.sin(x / 50) + 1
    lower[500:700] = upper[900:1300] = np.nan
    chart = Chart("t", "s", "u", (0, 2000), [Line("a", x, lower, "c1")], [Band("b", x, lower, upper, "c3")])
    drawn = ElementTree.fromstring(svg(chart, "n"))
    (band,) = [e for e in drawn.iter() if e.attrib.get("class") == "band c3"]
    assert band.attrib["d"].count("M") == band.attrib["d"].count("Z") == 3


def test_the_first_curve_is_drawn_last_and_a_lone_point_is_a_dot():
    x = np.arange(3.0)
    lines = [Line("own", x, x, "own"), Line("other", x, column([1, None, None]), "c2")]
    drawn = ElementTree.fromstring(svg(Chart("t", "s", "u", (0, 2), lines), "n"))
    assert [e.attrib["class"] for e in drawn.iter() if "data-line" in e.attrib] == [
        "line c2 dots",
        "line own",
    ]


def test_points_lie_where_the_axes_say():
    x, y = np.array([0.0, 50.0, 100.0]), np.array([0.0, 1.0, 0.25])
    drawn = ElementTree.fromstring(
        svg(Chart("t", "s", "u", (0, 100), [Line("a", x, y, "c1")], scores=True), "n")
    )
    (path,) = [e.attrib["d"] for e in drawn.iter() if "data-line" in e.attrib]
    across, up = (list(map(float, drawn.attrib[key].split())) for key in ("data-x", "data-y"))
    for (left, down), value, row in zip(absolute_points(path), y, x, strict=False):
        assert across[0] + (left - across[2]) / (across[3] - across[2]) * (
            across[1] - across[0]
        ) == pytest.approx(row)
        assert up[0] + (down - up[2]) / (up[3] - up[2]) * (up[1] - up[0]) == pytest.approx(value, abs=1e-4)


def test_marks_at_one_place_are_one_and_tell_of_all():
    marks = [Mark(10.0, "first"), Mark(10.01, "second"), Mark(90.0, "third"), Mark(float("nan"), "nowhere")]
    x = np.arange(100.0)
    drawn = svg(Chart("t", "s", "u", (0, 100), [Line("a", x, x, "c1")], (), marks), "n")
    assert drawn.count('<g class="drift">') == 2
    assert "first; second" in drawn
    assert "nowhere" not in drawn


def test_however_many_marks_there_are_each_is_drawn():
    x = np.arange(1000.0)
    marks = [Mark(float(row), "here") for row in range(0, 1000, 10)]
    drawn = ElementTree.fromstring(
        svg(Chart("t", "s", "u", (0, 999), [Line("a", x, x, "c1")], (), marks), "n")
    )
    (lines,) = [e.attrib["d"] for e in drawn.findall("./g[@class='drift']/path")]
    assert lines.count("V") == 100
    assert_inside(drawn)


@property_test(300)
@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_ranges_hold_their_values_and_ticks_lie_within(a, b):
    low, high = min(a, b), max(a, b)
    for ranged, noise in (
        (amount_range(low, high), 0.0),
        (score_range(low, high), NOISE),
        (time_range(np.array([low, high])), 0.0),
    ):
        slack = 1e-8 * (ranged[1] / 2 - ranged[0] / 2) + noise
        assert ranged[0] <= low + slack
        assert ranged[1] >= high - slack
        assert ranged[0] < ranged[1]
        ticks = Axis(*ranged, 0.0, 1.0).ticks(5)
        assert 1 <= len(ticks) <= 12
        assert len(set(_text.tick_labels(ticks))) == len(ticks) or abs(ranged[1]) > 1e3


@pytest.mark.parametrize(
    ("low", "high", "ranged"),
    [
        (0.93, 0.99, (0.0, 1.0)),
        (0.5, 1.0, (0.0, 1.0)),
        (0.0, 0.99, (0.0, 1.0)),
        (0.6, 1.0000000002, (0.0, 1.0)),
        (-0.3, 0.8, (-0.5, 1.0)),
        (0.6, 1.3, (0.0, 1.5)),
    ],
)
def test_an_axis_of_scores_runs_from_zero_to_one(low, high, ranged):
    assert score_range(low, high) == ranged


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 100_000, ["0", "20k", "40k", "60k", "80k", "100k"]),
        (0, 1, ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (0.9, 1, ["0.90", "0.92", "0.94", "0.96", "0.98", "1.00"]),
        (0, 5000, ["0", "1,000", "2,000", "3,000", "4,000", "5,000"]),
        (-1, 1, ["-1.0", "-0.5", "0", "0.5", "1.0"]),
        (0, 3e6, ["0", "1M", "2M", "3M"]),
    ],
)
def test_ticks_are_round_and_alike(low, high, ticks):
    assert _text.tick_labels(Axis(low, high, 0, 1).ticks(5)) == ticks


def test_a_single_point_is_a_number_and_not_a_chart():
    data = {"title": "t", "curves": {"rows": [100, 200], "accuracy": [None, 0.75]}}
    page = render(data)
    assert '<b data-of="0">0.750</b>' in page
    assert "A curve appears as more rows arrive." in page
    assert 'class="chart' not in page
    data["curves"]["accuracy"][0] = 0.5
    assert 'class="chart' in render(data)
