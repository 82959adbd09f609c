"""Crash states: what a disk may hold after a power cut, from a trace of what a process did to its files.

The rules of a disk: what was written before a `fsync` of its file is there. Of what was written since,
anything may be there: all of it, nothing, some of it, later writes without earlier ones, the last one in
part, or another content where bytes were being written. A file that was made is there once it was synced;
one that was removed may be back until its folder was synced.
"""

from dataclasses import dataclass

from .shim import CREATE, FOLDER, MARK, SYNC, TRUNCATE, UNLINK, WRITE

SECTOR = 512


class Disk:
    """Files as they are on the disk for sure, and operations that may or may not have reached it."""

    def __init__(self):
        self.durable = {}  # file -> bytearray
        self.pending = {}  # file -> operations since its last sync
        self.acknowledged = 0

    def do(self, record):
        """Take in an operation of the process."""
        if record.op == MARK:
            self.acknowledged = record.offset
        elif record.op == SYNC and record.file == FOLDER:
            for file, operations in self.pending.items():
                last = max((i for i, o in enumerate(operations) if o.op == UNLINK), default=-1)
                self._settle(file, operations[: last + 1])
                self.pending[file] = operations[last + 1 :]
        elif record.op == SYNC:
            self._settle(record.file, self.pending.pop(record.file, []))
        else:
            self.pending.setdefault(record.file, []).append(record)

    def _settle(self, file, operations):
        content = applied(self.durable.get(file), operations)
        if content is None:
            self.durable.pop(file, None)
        else:
            self.durable[file] = content

    def image(self, chosen):
        """The files, with the operations that have reached the disk, by file."""
        found = {}
        for file in {*self.durable, *chosen}:
            content = applied(self.durable.get(file), chosen.get(file, ()))
            if content is not None:
                found[file] = content
        return found


def applied(content, operations):
    """A file after some operations; None is no file."""
    content = None if content is None else bytearray(content)
    for operation in operations:
        if operation.op == UNLINK:
            content = None
            continue
        content = bytearray() if content is None else content
        if operation.op == TRUNCATE:
            size = operation.offset
            del content[size:]
            content.extend(bytes(size - len(content)))
        elif operation.op == WRITE:
            end = operation.offset + len(operation.content)
            content.extend(bytes(max(0, operation.offset - len(content))))
            content[operation.offset : end] = operation.content
    return content


@dataclass(frozen=True)
class State:
    """Files after a crash: before which operation of the trace, in which way, and what was acknowledged."""

    point: int
    way: str
    acknowledged: int
    files: dict


def crash_states(records, random, draws=2, tears=2):
    """Crash states at every operation of a trace; ``draws`` and ``tears`` of them are random."""
    disk = Disk()
    for point, record in enumerate(records):
        disk.do(record)
        if record.op in (MARK, CREATE):
            continue
        pending = {file: list(operations) for file, operations in disk.pending.items() if operations}

        def state(way, chosen, point=point):
            return State(point, way, disk.acknowledged, disk.image(chosen))

        yield state("killed", pending)
        if not pending:
            continue
        if record.op != WRITE or len(pending[record.file]) == 1:  # otherwise as at the point before
            yield state("power cut, nothing unsynced is there", {})
        for _ in range(draws if sum(map(len, pending.values())) > 1 else 0):
            yield state("power cut, reordered", {f: _some(o, random) for f, o in pending.items()})
        if record.op == WRITE:
            before = {**pending, record.file: pending[record.file][:-1]}
            for torn in _torn(record, random, tears):
                yield state("power cut, torn", {**before, record.file: [*before[record.file], *torn]})


def _some(operations, random):
    """Some of the operations, in any order; a removal stays behind what was done to the file before it."""
    kept = [o for o in operations if random.random() < random.choice([0.2, 0.5, 0.9])]
    if all(o.op == WRITE for o in kept):
        random.shuffle(kept)
    return kept


def _torn(record, random, tears):
    """Parts of a write: up to a sector, up to any byte, and sectors with another content."""
    length = len(record.content)
    sectors = range(SECTOR, length, SECTOR)
    for turn in range(tears):
        way = (turn + random.randrange(3)) % 3
        cut = random.choice(sectors) if way == 0 and len(sectors) else random.randrange(1, max(2, length))
        part = record.content[:cut]
        if way == 2:
            part += random.randbytes(length - cut)
        yield [type(record)(WRITE, record.file, record.offset, part)]
