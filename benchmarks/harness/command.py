"""The command line of a table: `python -m benchmarks.NAME [PART ...] [options]`.

A table is a package with a `BENCHMARK`. A part is a module of it with `run_part(run)`, which measures, and
`report(data)`, which makes Markdown of what was measured. A part that takes `--only` also has `NAMES`,
its data sets (or streams), and one with figures `draw_figures(data, stem)`. Modules of parts are imported
after the number of threads is set: NumPy reads it only once.
"""

from __future__ import annotations

import argparse
import os
import pkgutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from .machine import describe, limit_threads, say
from .run import Run, load

NOT_TABLES = ("harness", "laboratory")  # packages without a BENCHMARK


def names(text: str) -> list[str]:
    """A comma-separated list."""
    return [name.strip() for name in text.split(",") if name.strip()]


def without_places(argv: Sequence[str]) -> str:
    """The command line without the files and folders of one machine."""
    places = ("--out", "--resume")
    kept = [
        word
        for before, word in zip(["", *argv], argv, strict=False)
        if before not in places and word.partition("=")[0] not in places
    ]
    return " ".join(kept)


def numbers(text: str) -> list[float]:
    """A comma-separated list of numbers."""
    return [float(value) for value in text.split(",")]


@dataclass(frozen=True)
class Option:
    """An option of a table. `quick` is its default in a quick run; `least` the smallest valid value."""

    flag: str
    default: Any
    help: str
    quick: Any = None
    parse: Callable[[str], Any] | None = None
    least: float | None = None
    choices: Sequence[str] | None = None

    @property
    def key(self) -> str:
        """Its name among the settings."""
        return self.flag.removeprefix("--").replace("-", "_")

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Declare it."""
        if isinstance(self.default, bool):
            parser.add_argument(self.flag, action="store_true", default=None, help=self.help)
            return
        kinds = {"choices": self.choices} if self.choices else {"metavar": self.key.split("_")[-1].upper()}
        default = "" if self.default is None else f" (default: {self.default})"
        parse = self.parse or (str if self.default is None else type(self.default))
        parser.add_argument(self.flag, type=parse, help=self.help + default, **kinds)

    def value(self, given: Any, quick: bool) -> Any:
        """What was given, or the default."""
        if given is not None:
            return given
        return self.quick if quick and self.quick is not None else self.default


@dataclass(frozen=True)
class Part:
    """A part of a table. `files`: whether it reads EVERLEARN_DATA, but for the `generated` data sets."""

    name: str
    help: str
    files: bool = True
    generated: tuple[str, ...] = ()


@dataclass(frozen=True)
class Benchmark:
    """A table: the package, its description, its parts, its options, and the packages it compares with.

    `develop`: whether it can also run on the data sets on which defaults were chosen.
    """

    package: str
    text: str
    parts: tuple[Part, ...]
    options: tuple[Option, ...] = ()
    packages: tuple[str, ...] = ()
    develop: bool = False

    @property
    def name(self) -> str:
        """The name of the table."""
        return self.package.rpartition(".")[2]

    @property
    def title(self) -> str:
        """The first line of the description."""
        return self.text.splitlines()[0]

    def parser(self) -> argparse.ArgumentParser:
        """All options, those of every table first."""
        width = max(len(part.name) for part in self.parts)
        listing = "\n".join(f"  {part.name:<{width}}  {part.help}" for part in self.parts)
        parser = argparse.ArgumentParser(
            prog=f"python -m {self.package}",
            description=self.text,
            epilog=f"parts:\n{listing}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        add = parser.add_argument
        add("parts", nargs="*", metavar="PART", help="what to run, see below (default: all parts)")
        add("--only", type=names, metavar="NAMES", help="comma-separated data sets or streams")
        add("--quick", action="store_true", help="a trial on few rows: does everything run?")
        add("--out", type=Path, default=Path("out/bench"), help="folder for results (default: out/bench)")
        add("--resume", type=Path, metavar="FILE", help="JSON file of an interrupted run of one part")
        add(
            "--report",
            type=Path,
            metavar="FILE",
            help="JSON file of a run of one part: only print its report",
        )
        if self.develop:
            add("--develop", action="store_true", help="the data sets on which the defaults were chosen")
        for option in self.options:
            option.add_to(parser)
        return parser

    def main(self, argv: list[str] | None = None) -> int:
        """Run what the command line asks for."""
        parser = self.parser()
        args = parser.parse_args(argv)
        parts = self._parts(parser, args)
        settings = self._settings(parser, args, sys.argv[1:] if argv is None else argv)
        threads = settings["threads"]
        limit_threads(threads)
        modules = {part.name: import_module(f"{self.package}.{part.name}") for part in parts}
        if args.report:
            print(modules[parts[0].name].report(load(args.report)))
            return 0
        self._check_data(parser, parts, modules, args.only)

        from threadpoolctl import threadpool_limits

        threadpool_limits(threads)
        machine = describe(threads, self.packages)
        earlier = load(args.resume) if args.resume else None
        for part in parts:
            module = modules[part.name]
            name = f"{self.name}-{part.name}" + "-develop" * settings.get("develop", False)
            run = Run(name, args.out, machine, dict(settings), earlier)
            if args.only and not run.chosen(getattr(module, "NAMES", ())):
                say(f"{part.name}: none of --only")
                continue
            module.run_part(run)
            if hasattr(module, "draw_figures"):
                module.draw_figures(run.data, run.stem)
            run.finish(module.report(run.data))
        return 0

    def _parts(self, parser: argparse.ArgumentParser, args: argparse.Namespace) -> list[Part]:
        known = {part.name: part for part in self.parts}
        if unknown := [name for name in args.parts if name not in known]:
            parser.error(f"unknown part {', '.join(unknown)}; choose from {', '.join(known)}")
        parts = [part for part in self.parts if not args.parts or part.name in args.parts]
        for flag, path in (("--resume", args.resume), ("--report", args.report)):
            if path is None:
                continue
            if len(parts) > 1:
                parser.error(f"{flag} takes the file of one part: name it, one of {', '.join(known)}")
            if not path.is_file():
                parser.error(f"{flag}: there is no file {path}")
        return parts

    def _settings(
        self, parser: argparse.ArgumentParser, args: argparse.Namespace, argv: list[str]
    ) -> dict[str, Any]:
        settings = {
            option.key: option.value(getattr(args, option.key), args.quick) for option in self.options
        }
        for option in self.options:
            value = settings[option.key]
            if option.least is not None and value is not None and value < option.least:
                parser.error(f"{option.flag} must be at least {option.least:g}, got {value:g}")
        common = {"threads": 1, "quick": args.quick, "only": args.only, "command": without_places(argv)}
        return common | ({"develop": args.develop} if self.develop else {}) | settings

    def _check_data(
        self,
        parser: argparse.ArgumentParser,
        parts: Iterable[Part],
        modules: dict[str, ModuleType],
        only: list[str] | None,
    ) -> None:
        """Unknown names, or a missing folder, end the program before anything is measured."""
        known = {part.name: list(getattr(modules[part.name], "NAMES", ())) for part in parts}
        everything = list(dict.fromkeys(name for found in known.values() for name in found))
        if only and (unknown := [name for name in only if name not in everything]):
            parser.error(f"--only: unknown {', '.join(unknown)}; choose from {', '.join(everything)}")
        for part in parts:
            wanted = [name for name in known[part.name] if not only or name in only]
            if not part.files or (wanted and set(wanted) <= set(part.generated)):
                continue
            if only and not wanted:
                continue
            folder = os.environ.get("EVERLEARN_DATA")
            if not folder or not Path(folder).is_dir():
                parser.error(
                    f"{part.name} needs data sets: EVERLEARN_DATA is {folder or ''!r}, not a folder. "
                    "Set it to the folder that holds usps.npz, letter.npz, a9a.npz, ..."
                )


def tables() -> dict[str, Benchmark]:
    """All tables by name: the packages beside the harness that have a BENCHMARK."""
    root = import_module("benchmarks")
    packages = sorted(
        m.name for m in pkgutil.iter_modules(root.__path__) if m.ispkg and m.name not in NOT_TABLES
    )
    return {name: import_module(f"benchmarks.{name}").BENCHMARK for name in packages}
