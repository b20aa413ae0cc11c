"""The label model that options ask for."""

from pathlib import Path
from typing import Any

from hyperlabel.errors import ParameterError
from hyperlabel.models import HyperLabelModel, LabelModel, label_model, label_models, load
from hyperlabel.tensors import kind_of
from hyperlabel.weights import load_weights


def make_model(name: str, **params: Any) -> LabelModel:
    """A label model by its short name or from a file, which holds a saved model or pre-trained weights.

    Args:
        name: The short name or the path.
        params: Parameters of the model; those that are None stay as the model has them.
    """
    stated = {param: value for param, value in params.items() if value is not None}
    if name in label_models():
        return label_model(name, **stated)
    path = Path(name)
    if not path.is_file():
        known = ", ".join(label_models())
        raise ParameterError(f"--model is '{name}'; expected one of {known}, or a file of a saved model or of weights")
    if kind_of(path) == "model":
        return load(path).set_params(**stated)
    load_weights(path)  # whatever is wrong with the file is said now
    return HyperLabelModel(weights=name, **stated)


def refuse_for_fitted(model: LabelModel, name: str, **options: str | None) -> None:
    """Refuse options that a model would have to learn from, if it is fitted already."""
    given = [option for option, value in options.items() if value is not None]
    if model.is_fitted and given:
        option = f"--{given[0].replace('_', '-')}"
        raise ParameterError(
            f"{option} is given, but the model in '{name}' is fitted already and learns nothing more; "
            f"leave {option} out, or fit anew with a model such as --model hlm2"
        )


def set_balance(model: LabelModel, balance: str, classes: object, name: str) -> None:
    """Tell a model the class balance that was typed.

    Args:
        model: The model.
        balance: The shares, with commas.
        classes: The classes that were typed, in the same order; None if there were none.
        name: What the model was called.
    """
    if "class_balance" not in model.get_params():
        raise ParameterError(f"--class-balance is given, but the label model '{name}' takes none; use --model hlm2")
    if not isinstance(classes, list):
        raise ParameterError(f"--class-balance is '{balance}'; expected --classes beside it, which says whose shares")
    try:
        shares = [float(share) for share in balance.split(",")]
    except ValueError:
        shares = []
    if len(shares) != len(classes):
        raise ParameterError(f"--class-balance is '{balance}'; expected a share for each of the {len(classes)} classes")
    model.set_params(class_balance=shares)
