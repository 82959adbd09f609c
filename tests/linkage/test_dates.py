from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.linkage import PairFeatures, Records
from everlearn.linkage._dates import date_form, parse_date

FORMS = [
    *(
        "%Y-%m-%d",
        "%Y/%m/%d",
        "%Y%m%d",
        "%Y-%m-%dT%H:%M:%S",
        "%Y-%m-%d 10:30 Z",
        "%d.%m.%Y",
        "%d %B %Y",
        "%d-%b-%y",
    ),
    *("%B %d, %Y", "%b %d %Y", "%A, %d %b %Y", "%a %B %d, %Y", "%d of %B %Y", "%d. %b. %Y", "%d.%m.%y"),
]


@given(st.dates(date(1931, 1, 1), date(2030, 12, 31)), st.sampled_from(FORMS))
def test_a_date_is_the_same_in_all_forms(day, form):
    text = day.strftime(form)
    assert parse_date(text) == parse_date(text.upper()) == day.toordinal()
    assert date_form(text) == day.strftime("%Y%m%d")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3/25/1999", "19990325"),  # the month first, if that is the only way
        ("7/3/1999", "19990307"),
        ("3rd March '99", "19990303"),
        ("Sept. 4, 2001", "20010904"),
        ("٣ March 1999", "19990303"),
        *(
            (text, None)
            for text in ("31.02.1999", "1999-13-01", "3 Marchx 1999", "5 of clubs 1999", "may 5", "")
        ),
        *((text, None) for text in ("12-10-14", "10.4", "1999", "555-1234", "1/2.99")),
    ],
)
def test_other_forms_and_what_is_no_date(text, expected):
    assert date_form(text) == expected


def test_equal_dates_are_equal_in_any_form():
    days = Records(
        {"born": ["1999-03-07", "March 7, 1999", "1999-03-08", "unknown", "Unknown"]}, {"born": "date"}
    )
    features = PairFeatures(rivals=False).fit(days)
    at = [features.names.index(f"born: {name}") for name in ("equal", "edit", "closeness")]
    found = features.transform([0, 0, 3, 0], [1, 2, 4, 3])[:, at]
    assert found[0].tolist() == [1, 1, 1]
    assert found[1].tolist() == pytest.approx([0, 7 / 8, 1 / (1 + 1 / 365.25)])
    assert found[2].tolist() == [1, 1, 0]
    assert found[3, 0] == found[3, 2] == 0
