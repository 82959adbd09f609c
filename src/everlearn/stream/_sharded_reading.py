"""What is read of all shards: one status, one report, one model."""

import contextlib
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from .._base.merging import merge
from ..errors import StoreError
from ._sharded_report import joint_report, joint_status
from ._shared import SharedFolder
from .learner import NeverEndingLearner


class ShardedReading:
    """The part of a `ShardedLearner` that only reads."""

    _folder: SharedFolder
    _learners: dict[int, NeverEndingLearner]

    @property
    def learners(self) -> dict[int, NeverEndingLearner]:
        """The open shards, by number."""
        return dict(self._learners)

    @property
    def n_shards(self) -> int:
        """The number of shards, open ones and others."""
        return self._folder.n_shards

    @property
    def n_rows(self) -> int:
        """The number of rows in the open shards."""
        return sum(learner.n_rows for learner in self._learners.values())

    def status(self) -> dict[str, Any]:
        """Summarize the state of all open shards.

        Returns
        -------
        dict
            Sums over the shards: "rows", "labels", "asked", "open_questions", "support_vectors" and so on;
            "scores" with the accuracy over the last labels of all shards; "stores", the status of each.
        """
        stores = [learner.status() for learner in self._learners.values()]
        return joint_status(str(self._folder.path), self._folder.n_shards, list(self._learners), stores)

    def report_data(self, /, **about: Any) -> dict[str, Any]:
        """Collect the data of one report about all open shards.

        Parameters
        ----------
        about : object
            Further entries of `everlearn.report.ReportData`, such as "title".

        Returns
        -------
        dict
            The data, for `everlearn.report.write_report`.
        """
        parts = {shard: learner.report_data() for shard, learner in self._learners.items()}
        return joint_report(str(self._folder.path), parts) | about

    def merged(self) -> Pipeline:
        """Merge the models of the open shards into one: the exact SVM of all rows that they hold in memory.

        See `everlearn.merge`. Shards that have not seen two classes yet are left out. The shards are not
        changed.

        Returns
        -------
        Pipeline
            The feature scale, if there is one, and the merged learner.
        """
        found = [learner for learner in self._learners.values() if learner.learner_ is not None]
        if not found:
            raise StoreError(f"{self._folder.path}: no shard has seen two classes yet.", code="no_model")
        with contextlib.ExitStack() as still:
            for learner in found:
                still.enter_context(learner.reading())
            model = merge([learner.learner_ for learner in found])
        scale = self._folder.agree("scale", None)
        if scale is None:
            return make_pipeline(model)
        scaler = StandardScaler(with_mean=bool(np.any(scale["mean"])))
        scaler.mean_, scaler.scale_ = np.array(scale["mean"]), np.array(scale["scale"])
        scaler.var_, scaler.n_features_in_ = scaler.scale_**2, len(scaler.scale_)
        scaler.n_samples_seen_ = int(scale["rows"])
        return make_pipeline(scaler, model)
