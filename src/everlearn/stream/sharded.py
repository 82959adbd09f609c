"""ShardedLearner: several never-ending learners, each for the rows of some keys."""

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from .._base.validate import Array
from ..errors import InputError, StoreError
from ..store.events import Ints
from . import _checks
from ._questions import Question
from ._sharded_reading import ShardedReading
from ._shared import SharedFolder, is_sharded, shard_of
from .learner import NeverEndingLearner
from .outcome import Outcome

__all__ = ["ShardedLearner", "is_sharded"]

_Result = TypeVar("_Result")


class ShardedLearner(ShardedReading):
    """Several never-ending learners in one folder, each for the rows of some keys.

    A row goes to the shard that its key selects, by a hash that is the same on every machine. Each shard is a
    store of its own, with its own model, questions and crash recovery. So rows of different shards can be
    learned at the same time: by the threads of this object, or by processes that open one shard each. There
    is one status, one report, one list of questions and, on request, one model of all rows.

    Create one with `open`.

    Parameters
    ----------
    folder : SharedFolder
        The folder.
    learners : dict of int to NeverEndingLearner
        The open shards.
    scaling : mapping
        Whether the first batch sets a feature scale for all shards, and which features are scaled.

    Examples
    --------
    >>> import tempfile
    >>> from everlearn import LASVM
    >>> from everlearn.datasets import make_banana
    >>> from everlearn.stream import ShardedLearner
    >>> X, y = make_banana(900, random_state=0)
    >>> customers = [f"customer {number % 50}" for number in range(900)]
    >>> folder = tempfile.mkdtemp()
    >>> with ShardedLearner.open(folder, LASVM(C=10, gamma=1.0), shards=3, random_state=0) as learner:
    ...     for start in range(0, 900, 300):
    ...         part = slice(start, start + 300)
    ...         outcomes = learner.step(X[part], y[part], keys=customers[part])
    ...     status, model = learner.status(), learner.merged()
    >>> status["shards"], status["rows"], [shard["rows"] for shard in status["stores"]]
    (3, 900, [324, 306, 270])
    >>> bool((model.predict(X) == y).mean() > 0.9)
    True
    """

    def __init__(
        self, folder: SharedFolder, learners: dict[int, NeverEndingLearner], scaling: Mapping[str, Any]
    ) -> None:
        self._folder, self._learners, self._scaling = folder, learners, scaling
        self._scale: dict[str, Any] | None = folder.agree("scale", None)
        self._threads = ThreadPoolExecutor(max_workers=min(len(learners), os.cpu_count() or 1))

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        learner: Any = None,
        *,
        shards: int | None = None,
        only: Iterable[int] | None = None,
        scaling: str = "standard",
        read_only: bool = False,
        create: bool = True,
        **settings: Any,
    ) -> "ShardedLearner":
        """Open the folder of a sharded learner, or create it.

        Parameters
        ----------
        folder : str or path-like
            The folder; its stores are "shard-0.everlearn" and so on.
        learner : classifier, default=None
            The learner of each shard; see `NeverEndingLearner.open`. Models can be merged if it is one that
            `merge` takes, with a number for ``gamma``.
        shards : int, default=None
            The number of shards of a new folder. It cannot be changed.
        only : iterable of int, default=None
            The shards to open, from 0: others may be open in other processes. None opens all.
        scaling : {"standard", "none"}, default="standard"
            Whether features are scaled to mean 0 and standard deviation 1. The scale is computed from the
            first batch and is the same for all shards, so that their models can be merged.
        read_only : bool, default=False
            Whether to open for reading only, also while other processes write.
        create : bool, default=True
            Whether to create a folder that does not exist.
        **settings
            Other parameters of `NeverEndingLearner.open`.

        Returns
        -------
        ShardedLearner
            The learner, a context manager that closes its stores.
        """
        if scaling not in ("standard", "none"):
            raise ValueError(f"scaling={scaling!r} must be one of ['standard', 'none'].")
        shared = SharedFolder(folder, shards, create and not read_only)
        numbers = list(range(shared.n_shards)) if only is None else sorted(set(only))
        if not numbers or not set(numbers) <= set(range(shared.n_shards)):
            raise ValueError(f"only={numbers} must be shards from 0 to {shared.n_shards - 1}.")
        columns = settings.get("scale_features")
        given = {"scaling": scaling, "features": None if columns is None else np.asarray(columns).tolist()}
        scaled = shared.agree("scaling", None if read_only else given) or given
        options: dict[str, Any] = {"read_only": read_only, "create": create, "scaling": "none", **settings}
        learners: dict[int, NeverEndingLearner] = {}
        try:
            for number in numbers:
                if not read_only or os.path.exists(
                    shared.store(number)
                ):  # another process may not have begun
                    learners[number] = NeverEndingLearner.open(shared.store(number), learner, **options)
            if not learners:
                raise StoreError(f"{shared.path} has no shard yet.", code="no_store")
            return cls(shared, learners, scaled)
        except BaseException:
            for found in learners.values():
                found.close()
            raise

    # --------------------------------------------------------------------------------------------- the stream

    def step(
        self,
        X: Any,
        y: Any = None,
        *,
        keys: Sequence[Any],
        ids: Any = None,
        time: float | None = None,
        notes: Mapping[str, Any] | None = None,
        shard_notes: Mapping[int, Mapping[str, Any]] | None = None,
        records: Sequence[Any] | None = None,
    ) -> dict[int, Outcome]:
        """Process a batch: each row in the shard of its key.

        Shards commit one by one. If one of them refuses its rows, the others keep theirs.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,), default=None
            The labels, None or NaN where unknown.
        keys : sequence of length n_rows
            The key of each row, such as a customer; compared as text.
        ids : array-like of int or str, default=None
            A unique id for each row. None makes "SHARD:NUMBER".
        time : float, default=None
            The time of the batch, in seconds since 1970; None for now.
        notes : mapping, default=None
            Values to store in the transaction of each shard that has rows; see `NeverEndingLearner.notes`.
        shard_notes : mapping, default=None
            By the number of a shard: values for this shard alone, such as offsets.
        records : sequence, default=None
            The rows as they were sent; see `NeverEndingLearner.step`.

        Returns
        -------
        dict of int to Outcome
            The outcome of each shard that had rows.
        """
        rows = _checks.rows(X, self._n_features())
        n = rows.shape[0]
        if len(keys) != n:
            raise InputError(f"keys has {len(keys)} entries, but X has {n} rows.")
        missing = [at for at, key in enumerate(keys) if key is None or key == ""]
        if missing:
            raise InputError(f"Row {missing[0]} of the batch has no key.", code="no_key")
        labels = None if y is None else np.asarray(y, dtype=object)
        names = None if ids is None else np.asarray(ids, dtype=object)
        places = self.shard_of(keys)
        if closed := sorted(set(places.tolist()) - self._learners.keys()):
            raise InputError(f"The batch has rows of shard {closed[0]}, which is not open here.")
        self._agree_on_scale(rows)

        def learn(shard: int) -> Outcome:
            at, learner = np.flatnonzero(places == shard), self._learners[shard]
            if names is None:
                given = [f"{shard}:{number}" for number in range(learner.n_rows, learner.n_rows + len(at))]
            else:
                given = names[at].tolist()
            return learner.step(
                rows[at],
                None if labels is None else labels[at],
                ids=given,
                time=time,
                notes={**(notes or {}), **(shard_notes or {}).get(shard, {})} or None,
                records=None if records is None else [records[int(row)] for row in at],
            )

        return self._each(learn, sorted(set(places.tolist())))

    def shard_of(self, keys: Sequence[Any]) -> Ints:
        """Find the shards of keys.

        Parameters
        ----------
        keys : sequence
            The keys, compared as text.

        Returns
        -------
        ndarray of int
            The shard of each.
        """
        return shard_of(list(keys), self._folder.n_shards)

    def predict(self, X: Any, *, keys: Sequence[Any]) -> Array:
        """Predict rows, each with the model of the shard of its key.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows.
        keys : sequence of length n_rows
            Their keys.

        Returns
        -------
        ndarray of shape (n_rows,)
            The predictions; None where a shard has not seen two classes.
        """
        rows, places = _checks.rows(X, self._n_features()), self.shard_of(keys)
        found: Array = np.full(len(places), None, dtype=object)
        for shard in sorted(set(places.tolist()) & self._learners.keys()):
            at = np.flatnonzero(places == shard)
            found[at] = self._learners[shard].predict(rows[at])
        return found

    # ------------------------------------------------------------------------------------- questions, answers

    def ask(self, n: int = 1) -> list[Question]:
        """Get open questions of all shards; if there are fewer than ``n``, ask about more rows.

        Parameters
        ----------
        n : int, default=1
            The maximum number of questions.

        Returns
        -------
        list of Question
            The questions, taken from the shards in turn.
        """
        count = _checks.count(n)
        share = -(-count // len(self._learners))
        each = [learner.ask(share) for learner in self._learners.values()]
        turns = [found[at] for at in range(share) for found in each if at < len(found)]
        return turns[:count]

    def label(self, ids: Any, y: Any, *, by: Any = "", weight: Any = 1.0, time: float | None = None) -> None:
        """Label rows of earlier batches, each in the shard that has it.

        All rows must be known. Shards commit one by one.

        Parameters
        ----------
        ids : array-like of int or str
            The ids of the rows.
        y : array-like
            Their labels.
        by : str, default=""
            The name of the annotator.
        weight : float, default=1.0
            The weight of the answers in a majority.
        time : float, default=None
            The time, in seconds since 1970; None for now.
        """
        names, labels = _checks.ids(ids, unique=False), list(y)
        if len(names) != len(labels):
            raise InputError(f"y has {len(labels)} entries, but ids has {len(names)}.")
        places: dict[Any, list[int]] = {name: [] for name in names}
        for shard, learner in self._learners.items():
            for name in learner.known_ids(list(places)):
                places[name].append(shard)
        for name, shards in places.items():
            if len(shards) != 1:
                where = f"is in the shards {shards}" if shards else "is in none of the open shards"
                raise InputError(f"The id {name!r} {where}.", code="unknown_id")
        for shard, learner in self._learners.items():
            at = [place for place, name in enumerate(names) if places[name] == [shard]]
            if at:
                learner.label(
                    [names[i] for i in at], [labels[i] for i in at], by=by, weight=weight, time=time
                )

    # ------------------------------------------------------------------------------------------------ closing

    def agree(self, name: str, value: Any) -> Any:
        """Decide something for all shards and processes: the first value that is given stays.

        Parameters
        ----------
        name : str
            The name of the decision, such as "schema".
        value : object
            A value that JSON can hold; None only looks.

        Returns
        -------
        object
            The value that stays; None if there is none.
        """
        return self._folder.agree(name, value)

    def note(
        self,
        notes: Mapping[str, Any] | None = None,
        *,
        shard_notes: Mapping[int, Mapping[str, Any]] | None = None,
    ) -> None:
        """Store values in every open shard, such as offsets in shards that had no rows.

        Parameters
        ----------
        notes : mapping, default=None
            The values; see `NeverEndingLearner.notes`.
        shard_notes : mapping, default=None
            By the number of a shard: values for this shard alone.
        """
        for shard, learner in self._learners.items():
            values = {**(notes or {}), **(shard_notes or {}).get(shard, {})}
            if any(learner.notes.get(name) != value for name, value in values.items()):
                learner.answer([], notes=values)

    def close(self) -> None:
        """Write snapshots and close the stores."""
        self._threads.shutdown()
        with contextlib.ExitStack() as closing:
            for learner in self._learners.values():
                closing.callback(learner.close)

    def __enter__(self) -> "ShardedLearner":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------------ private

    def _each(self, call: Callable[[int], _Result], shards: list[int]) -> dict[int, _Result]:
        """Call a function for each shard, in threads; if some fail, the first error once all have ended."""
        running = {shard: self._threads.submit(call, shard) for shard in shards}
        for future in running.values():
            future.exception()
        return {shard: future.result() for shard, future in running.items()}

    def _n_features(self) -> int | None:
        return None if self._scale is None else len(self._scale["mean"])

    def _agree_on_scale(self, rows: Any) -> None:
        """The first batch sets the scale of all shards, of other processes, too."""
        if self._scaling["scaling"] == "none" or rows.shape[0] == 0:
            return
        without = [learner for learner in self._learners.values() if learner.mean_ is None]
        if not without:
            return
        columns = self._scaling["features"]
        event = _checks.scale_of(rows, None if columns is None else np.array(columns), 0.0)
        found = {"mean": event.mean.tolist(), "scale": event.scale.tolist(), "rows": int(rows.shape[0])}
        scale = self._scale = self._folder.agree("scale", found)
        for learner in without:
            learner.set_scale(scale["mean"], scale["scale"])
