"""Encoding of columns by a schema."""


def encode(schema, columns):
    X, bad = schema.encode(columns, len(next(iter(columns.values()))))
    return X, bad
