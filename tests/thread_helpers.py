"""Running jobs in threads, for tests."""

import threading


def in_threads(*jobs):
    """Run each job in a thread of its own; fails if one of them raises an error."""
    failures = []

    def guarded(job):
        try:
            job()
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
