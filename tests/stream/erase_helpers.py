"""What the tests of erasure share: a stream with one row whose values, id and label must leave no trace."""

import struct

from scipy import sparse

from stream.stream_helpers import answer, xor

AMOUNT, PERSON, ILLNESS = 1234567.8901234, "person-4711", "an illness of nobody else"
N = 200
X, Y = xor(N)
X[57] = [AMOUNT, -AMOUNT]


def name(number):
    return PERSON if number == 57 else f"row-{number}"


def run(learner, n=N, sparse_rows=False, batch=20):
    """A stream with labels, late ones, replaced ones, and one that is withdrawn."""
    truth = {name(i): ["no", "yes"][Y[i]] for i in range(N)} | {PERSON: ILLNESS}
    for start in range(0, n, batch):
        names = [name(i) for i in range(start, start + batch)]
        rows = X[start : start + batch]
        labels = [truth[row] if i % 5 == 0 else None for i, row in enumerate(names)]
        learner.step(sparse.csr_matrix(rows) if sparse_rows else rows, labels, ids=names, time=float(start))
        answer(learner, truth)
        if start == 60:
            learner.label([PERSON, name(3)], [ILLNESS, "yes"], by="a nurse", time=60.0)
            learner.withdraw([name(20)], time=60.0)
    return learner


def in_files(folder, *secrets):
    """Which secrets are in the bytes of which files."""
    return [
        (path.name, secret)
        for path in sorted(folder.iterdir())
        for secret in secrets
        if (secret if isinstance(secret, bytes) else secret.encode()) in path.read_bytes()
    ]


SECRETS = (PERSON, ILLNESS, struct.pack("<d", AMOUNT), struct.pack("<d", -AMOUNT), str(AMOUNT))
