"""The label models that a panel may be decided by."""

from hyperlabel import models
from hyperlabel.errors import ParameterError
from hyperlabel.models import LabelModel, choose_model

BASELINES = {"median": "MedianVote", "mean": "MeanVote"}


def choose_panel_model(model: LabelModel | str | None, ordinal: bool) -> LabelModel:
    """The label model; with an order, one that knows of it."""
    if isinstance(model, str) and model in BASELINES:
        if not ordinal:
            raise ParameterError(f"model is {model!r}, which needs classes with an order; give ordinal=True")
        baseline: LabelModel = getattr(models, BASELINES[model])()
        return baseline
    chosen = choose_model(model)
    if not ordinal or chosen.is_fitted or type(chosen).__name__ in BASELINES.values():
        return chosen
    if "ordinal" not in chosen.get_params():
        raise ParameterError(
            f"ordinal is True, but {chosen!r} knows of no order; expected hlm3, hlm2, mv, ds, hds, median or mean"
        )
    return type(chosen)(**chosen.get_params() | {"ordinal": True})
