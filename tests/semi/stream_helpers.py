"""What the tests of `StreamS3VM` share."""

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from everlearn import StreamS3VM, SubmodS3VM
from semi.semi_helpers import THESIS, clouds

PLAIN = {"kernel": "linear", "scaling": "none", "positive_fraction": 0.5, **THESIS}


def linear(A, B):
    return A @ B.T


def stream_of(s3vm=None, **options):
    """A learner that does what the plain version does, without a rule for new rows."""
    s3vm = SubmodS3VM(**PLAIN) if s3vm is None else s3vm
    return StreamS3VM(s3vm, random_state=0, **{"estimator": None, **options})


def missing(y):
    """Labels of −1 and +1 with 0 for none, as a learner takes them."""
    return np.where(np.asarray(y) == 0, np.nan, y)


@st.composite
def streams(draw, most=10):
    """Batches of rows no two of which are the same, with few labels; some batches are empty."""
    sizes = draw(st.lists(st.integers(0, most), min_size=1, max_size=5))
    X, y = clouds(sum(sizes), draw(st.integers(0, 10**6)), features=3)
    given_ = np.array(draw(st.lists(st.sampled_from([0, 0, 0, 1]), min_size=len(y), max_size=len(y))))
    ends = np.cumsum([0, *sizes])
    return [(X[a:b], (y * given_)[a:b]) for a, b in pairwise(ends)]


MODES = st.sampled_from(["incremental", "online"])
OPTIONS = st.fixed_dictionaries(
    {
        "mode": MODES,
        "max_disagreement": st.sampled_from([0.0, 0.05, 0.3, 1.0]),
        "max_exemplars": st.sampled_from([None, 0, 1, 3]),
        "max_labeled_per_class": st.sampled_from([None, 1, 2]),
        "use_next_batch": st.booleans(),
    }
)
SOLVERS = st.sampled_from(["greedy", "two-sided", "fast"])


def same_state(model, other):
    assert repr(model) == repr(other)
    assert hasattr(model, "_held") == hasattr(other, "_held")
    if not hasattr(model, "_held"):
        return
    for name in ("classes_", "transduction_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(other, name))
    for first, second in zip(model._held, other._held, strict=True):
        np.testing.assert_array_equal(first.X, second.X)
        np.testing.assert_array_equal(first.numbers, second.numbers)
    assert model.history_ == other.history_
    assert (model.positive_fraction_, model.one_class_) == (other.positive_fraction_, other.one_class_)
