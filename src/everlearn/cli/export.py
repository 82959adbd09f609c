"""`everlearn export`: the current model as ONNX."""

from pathlib import Path
from typing import Annotated

import typer

from ..export import OnnxReport, export_onnx
from ..stream import NeverEndingLearner, ShardedLearner
from ..stream.sharded import is_sharded
from . import _options as option
from ._app import command
from ._console import console
from ._outputs import check_outputs
from ._source_spec import schema_or_none
from .predict import fitted_learner


@command("everlearn export fraud.everlearn fraud.onnx")
def export(
    store: option.StoreOrShards,
    model: Annotated[Path, typer.Argument(help="The ONNX file to write.", metavar="MODEL.onnx")],
    traceback: option.Traceback = False,
) -> None:
    """Export the current model, including its scaling, as ONNX.

    The input is the encoded row. The names of its columns are in the metadata of the file. The models of a
    folder of shards are merged into one.
    """
    if is_sharded(store):
        check_outputs({"MODEL.onnx": model})
        with ShardedLearner.open(store, read_only=True) as shards:
            schema = schema_or_none(shards.status()["schema"])
            names = None if schema is None else schema.feature_names
            return _say(model, export_onnx(shards.merged(), model, feature_names=names))
    check_outputs({"MODEL.onnx": model}, store=store)
    with NeverEndingLearner.open(store, read_only=True) as learner:
        schema = schema_or_none(learner.status()["schema"])
        found = export_onnx(
            fitted_learner(learner),
            model,
            mean=learner.mean_,
            scale=learner.scale_,
            feature_names=None if schema is None else schema.feature_names,
        )
    _say(model, found)


def _say(model: Path, found: OnnxReport) -> None:
    console().print(
        f"Wrote {model} ({model.stat().st_size:,} bytes, {found.n_support:,} support vectors, "
        f"{found.compute_dtype}; maximum relative difference {found.max_relative_difference:.2g})"
    )
