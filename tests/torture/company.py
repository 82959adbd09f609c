"""Other processes at the same store: a second writer, and readers who look all the time."""

import random
import time

from everlearn import NeverEndingLearner
from everlearn.errors import StoreError

from .checks import check_log, check_store, copy_store, demand, remove_store
from .script import calm_run, digest, open_store
from .workers import Acknowledged, Worker, write_on


def two_writers(kind, options, folder, shim, say):
    """While a process writes no other may; when it is killed, the next one is let in at once."""
    chance = random.Random(f"writers {options.seed} {kind}")
    truth = calm_run(kind, folder / "calm", options.length, shim, options.seed)
    place, acknowledged, refused, turns = folder / "store", Acknowledged(), 0, 0
    while acknowledged.count < len(truth.calls):
        turns += 1
        stop = min(len(truth.calls), acknowledged.count + 1 + chance.randrange(6))

        def work(stop=stop):
            write_on(truth, place, shim, acknowledged, stop)

        worker = Worker(work)
        worker.lets_pass(acknowledged, 1)
        seen = acknowledged.count
        try:
            learner = open_store(place, kind)
        except StoreError as error:
            demand("open in another process" in str(error), f"refused for another reason: {error}")
            refused += 1
        else:  # then the first has closed it
            learner.close()
            demand(acknowledged.count == stop, f"two writers at once: {seen} of {stop} calls were done")
        if chance.random() < 0.7:
            worker.kill()
        _, error = worker.wait()
        demand(not error, error)
        check_store(truth, place, acknowledged.count, shim)  # whoever comes next gets in
        say(f"{turns} writers, {refused} refused")
    racing = [Worker(lambda: open_store(place, kind).close()) for _ in range(4)]
    errors = [worker.wait()[1] for worker in racing]
    demand(all(not e or "open in another process" in e for e in errors), "\n".join(errors))
    demand(not all(errors), "of four that raced to open the store none got in")
    demand(refused > 0, "the second writer never met the first")
    return turns, f"{refused} refused"


def _unless_erased(look):
    """Look at a store; rows that are looked for may be erased meanwhile, which an error must say."""
    try:
        look()
    except StoreError as error:
        demand("Open it again" in str(error), str(error))


def readers_throughout(kind, options, folder, shim, say):
    """Readers look while a writer writes, is killed and starts again: they never fail nor see half a call."""
    chance = random.Random(f"readers {options.seed} {kind}")
    truth = calm_run(kind, folder / "calm", options.length, shim, options.seed)
    place, acknowledged, looks, over = folder / "store", Acknowledged(), Acknowledged(), Acknowledged()

    def read():
        last = 0
        while not over.count:
            sure = acknowledged.count
            if sure == 0:
                time.sleep(0.001)
                continue
            with NeverEndingLearner.open(place, read_only=True) as learner:
                count = learner.status()["events"]
                done = truth.done(count)
                demand(done is not None, f"half a call is visible: {count} events")
                demand(done >= sure, f"{done} calls are visible, {sure} were acknowledged")
                demand(count >= last, f"the log went back from {last} to {count} events")
                demand(digest(learner) == truth.digests[count], f"the state after {count} events differs")
                _unless_erased(learner.report_data)
            check_log(truth, place, sure)
            last = count
            looks.set(looks.count + 1)

    reader, kills = Worker(read), 0
    try:
        while acknowledged.count < len(truth.calls):
            worker = Worker(lambda: write_on(truth, place, shim, acknowledged))
            if worker.lets_pass(acknowledged, chance.randrange(4)):
                time.sleep(chance.uniform(0.0, 0.05))
                worker.kill()
            killed, error = worker.wait()
            demand(not error, error)
            kills += killed
            demand(reader.alive(), "the reader has died")
            say(f"{kills} kills, {looks.count} looks, {acknowledged.count} calls")
    finally:
        over.set(1)
        _, error = reader.wait()
    demand(not error, error)
    demand(looks.count > 0, "nobody has looked")
    copy_store(place, folder / "copy")
    check_store(truth, folder / "copy", len(truth.calls), shim)
    remove_store(folder / "copy")
    return looks.count, f"{kills} kills"
