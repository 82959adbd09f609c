"""One run of a part of a table: its settings, its results, and its files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from .machine import say

Data = dict[str, Any]  # what a run leaves on disk: machine, settings, results, and more
Result = dict[str, Any]


class Run:
    """What a part is given and what it fills: settings, and a list of results that is saved at each addition.

    The files are `<table>-<part>-<time>.json` and `.md` in the folder `--out`.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        machine: dict[str, Any],
        settings: dict[str, Any],
        earlier: Data | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.stem = folder / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
        results = [] if earlier is None else earlier["results"]
        self.data: Data = {"name": self.stem.name, "machine": machine, "settings": settings}
        self.data["results"] = results

    @property
    def settings(self) -> dict[str, Any]:
        """The options, and what the part has noted."""
        return self.data["settings"]

    @property
    def results(self) -> list[Result]:
        """Everything measured so far."""
        return self.data["results"]

    @property
    def quick(self) -> bool:
        """Whether this is a trial."""
        return bool(self.settings["quick"])

    def chosen(self, names: Iterable[str], quick: Iterable[str] | None = None) -> list[str]:
        """Those of `names` that `--only` leaves; without `--only`, a quick run takes those of `quick`."""
        only = self.settings["only"]
        if only is None and self.quick and quick is not None:
            only = list(quick)
        return [name for name in names if only is None or name in only]

    def note(self, **facts: Any) -> None:
        """Add facts to the settings."""
        self.settings.update(facts)

    def find(self, **fields: Any) -> Result | None:
        """The result with these fields, from this run or from the one that `--resume` names."""
        matching = (r for r in self.results if all(r.get(k) == v for k, v in fields.items()))
        return next(matching, None)

    def missing(self, names: Iterable[str], field: str = "set") -> list[str]:
        """The names for which there is no result yet."""
        return [name for name in names if self.find(**{field: name}) is None]

    def add(self, result: Result) -> None:
        """Keep a result, on disk as well."""
        self.results.append(result)
        self.save()

    def save(self) -> None:
        """Write the JSON file; a crash leaves the old one whole."""
        temporary = self.stem.with_suffix(".json.part")
        temporary.write_text(json.dumps(self.data, indent=1, default=_to_json) + "\n")
        temporary.replace(self.stem.with_suffix(".json"))

    def finish(self, report: str) -> None:
        """Save, write the report beside the JSON file, and print it."""
        self.save()
        self.stem.with_suffix(".md").write_text(report)
        print(report)
        say(f"saved {self.stem.with_suffix('.json')} and {self.stem.name}.md")


def load(path: Path) -> Data:
    """The data of an earlier run."""
    data: Data = json.loads(path.read_text())
    if isinstance(data["results"], dict):
        data["results"] = list(data["results"].values())
    return data | {"name": path.stem}


def _to_json(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"cannot be written as JSON: {type(value)}")
