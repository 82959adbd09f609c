"""The tables of a store; see `everlearn.store.log`."""

import sqlalchemy as sa

TABLES = sa.MetaData()
_big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
META = sa.Table("meta", TABLES, sa.Column("key", sa.Text, primary_key=True), sa.Column("value", sa.Text))
EVENTS = sa.Table(
    "events",
    TABLES,
    sa.Column("seq", _big, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("time", sa.Float, nullable=False),
    sa.Column("rows", _big, nullable=False),
    sa.Column("seconds", sa.Float, nullable=False),
    sa.Column("memory", sa.Float, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
ROWS = sa.Table(
    "rows",
    TABLES,
    sa.Column("number", _big, primary_key=True, autoincrement=False),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("seq", _big, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
)
MARKS = sa.Table(
    "marks",
    TABLES,
    sa.Column("number", _big, nullable=False, index=True),
    sa.Column("seq", _big, nullable=False, index=True),
    sa.Column("given", sa.Boolean),  # null: an answer that did not change the label
)
SNAPSHOTS = sa.Table(
    "snapshots",
    TABLES,
    sa.Column("seq", _big, primary_key=True, autoincrement=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
NOTES = sa.Table("notes", TABLES, sa.Column("key", sa.Text, primary_key=True), sa.Column("value", sa.Text))
RECORDS = sa.Table(
    "records",
    TABLES,
    sa.Column("number", _big, primary_key=True, autoincrement=False),
    sa.Column("record", sa.Text, nullable=False),
)
ANSWERS = sa.Table(
    "answers",
    TABLES,
    sa.Column("place", _big, primary_key=True, autoincrement=False),
    sa.Column("number", _big, nullable=False, index=True),
    sa.Column("seq", _big, nullable=False),
    sa.Column("by", sa.Text),  # null: the answers of all people were withdrawn
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("label", sa.Text),
    sa.Column("time", sa.Float, nullable=False),
    sa.Column("weight", sa.Float, nullable=False),
    sa.Column("about", sa.Text),
)
REQUESTS = sa.Table(
    "requests",
    TABLES,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text),
    sa.Column("seq", _big, nullable=False),
    sa.Column("time", sa.Float, nullable=False, index=True),
)
LINKED = sa.Table(
    "linked",
    TABLES,
    sa.Column("number", _big, primary_key=True, autoincrement=False),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("record", sa.Text, nullable=False),
    sa.Column("cluster", _big, nullable=False, index=True),
    sa.Column("side", sa.SmallInteger, nullable=False),  # of two tables that are linked; 0 if there is one
)
LINK_KEYS = sa.Table(
    "link_keys",
    TABLES,
    sa.Column("key", _big, primary_key=True, autoincrement=False),
    sa.Column("number", _big, primary_key=True, autoincrement=False),
    sa.Column("side", sa.SmallInteger, nullable=False),
    sqlite_with_rowid=False,
)
LINK_PAIRS = sa.Table(
    "link_pairs",
    TABLES,
    sa.Column("left", _big, primary_key=True, autoincrement=False),
    sa.Column("right", _big, primary_key=True, autoincrement=False, index=True),
    sa.Column("features", sa.LargeBinary, nullable=False),
    sa.Column("row_id", sa.Text),  # the id of its row in the log; null: the pair is not in the log
    sa.Column("same", sa.Boolean),  # the label; null: none
    sa.Column("n_keys", sa.Integer, nullable=False),  # that both records share and that are not too frequent
    sqlite_with_rowid=False,
)
_labeled = LINK_PAIRS.c.same.is_not(None)
sa.Index("link_pairs_labeled", LINK_PAIRS.c.same, sqlite_where=_labeled, postgresql_where=_labeled)
LINK_JOURNAL = sa.Table(
    "link_journal",
    TABLES,
    sa.Column("place", _big, primary_key=True, autoincrement=False),
    sa.Column("time", sa.Float, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("before", sa.Text, nullable=False),
    sa.Column("after", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
)
LINK_STATE = sa.Table(
    "link_state",
    TABLES,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
BESIDE = (RECORDS, ANSWERS, REQUESTS)  # written with the events; the state does not depend on them
_kept = ROWS.c.position >= 0
sa.Index("rows_kept", ROWS.c.seq, sqlite_where=_kept, postgresql_where=_kept)
NAMES = frozenset(TABLES.tables)
GONE = -1  # the position of a row whose values were dropped or erased
