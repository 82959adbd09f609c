"""SIGKILL of a service at random moments, under load, on this machine only.

    python tests/serve/faults.py --kills 50 --annotators 200 --rows 2000

Starts `everlearn serve` on a new store, kills it again and again while people and a program go on with their
requests, and compares the log with what was acknowledged. The model must be that of a replay, bit for bit. It
stops after the last kill, or when the time is over.
"""

import argparse
import asyncio
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from serve.load import Load, Outcome, differences, same_as_a_replay, set_up, table
from serve.server_process import ServerProcess

TOKEN = "t" * 40  # the same at every start


async def kill_often(load: Load, kills: int, alive: float, generator: random.Random) -> int:
    """Kill the service at random moments and start it again; then the load ends. Returns how often."""
    done = 0
    while done < kills and time.monotonic() < load.end:
        await asyncio.sleep(generator.uniform(0.0, 2.0 * alive))
        await asyncio.to_thread(load.process.kill)
        await asyncio.to_thread(load.process.start)
        done += 1
    load.end = min(load.end, time.monotonic() + alive)
    return done


def torment(
    folder: Path, kills: int, annotators: int, rate: float, seconds: float, pause: float, alive: float = 2.0
) -> tuple[Outcome, int, list[str]]:
    """Run it; returns what happened, how often the service was killed, and what is wrong."""
    store = folder / "faults.everlearn"
    with ServerProcess(store, "--token", TOKEN) as process:
        set_up(process, random.Random(0))
        load = Load(process, annotators, rate, seconds, pause)
        begin = time.monotonic()

        async def run() -> tuple[Outcome, int]:
            counts: list[int] = []

            async def kill() -> None:
                counts.append(await kill_often(load, kills, alive, random.Random(1)))

            return await load.run(kill()), counts[0]

        outcome, done = asyncio.run(run())
        print(table(outcome, time.monotonic() - begin), flush=True)
        process.kill()
    wrong = differences(store, outcome, leases_last=False)
    if not same_as_a_replay(store):
        wrong.append("a replay of the log gives another model")
    return outcome, done, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--annotators", type=int, default=200)
    parser.add_argument("--rows", type=float, default=2000.0, help="rows a second")
    parser.add_argument("--seconds", type=float, default=900.0, help="when it stops at the latest")
    parser.add_argument("--pause", type=float, default=2.0, help="seconds that a person takes for an answer")
    arguments = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 65536), most))
    with tempfile.TemporaryDirectory() as folder:
        _, done, wrong = torment(
            Path(folder),
            arguments.kills,
            arguments.annotators,
            arguments.rows,
            arguments.seconds,
            arguments.pause,
        )
    print(f"Killed {done} times.")
    print("\n".join(wrong) or "Nothing acknowledged is lost or doubled; the model is that of a replay.")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
