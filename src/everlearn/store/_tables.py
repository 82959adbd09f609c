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
BESIDE = (RECORDS, ANSWERS, REQUESTS)  # written with the events; the state does not depend on them
_kept = ROWS.c.position >= 0
sa.Index("rows_kept", ROWS.c.seq, sqlite_where=_kept, postgresql_where=_kept)
NAMES = frozenset(TABLES.tables)
GONE = -1  # the position of a row whose values were dropped or erased
