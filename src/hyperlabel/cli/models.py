"""The label model that options ask for."""

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

from hyperlabel.cli.options import LearningOptions, ModelOptions, TableOptions
from hyperlabel.cli.tables import Selection
from hyperlabel.errors import ParameterError
from hyperlabel.files import is_file
from hyperlabel.metrics import Metric, check_metric
from hyperlabel.models import HyperLabelModel, LabelModel, label_model, label_models, load
from hyperlabel.tensors import kind_of
from hyperlabel.votes.stated import UNIFORM
from hyperlabel.weights import load_weights


def read_options(modeling: ModelOptions, reading: TableOptions) -> tuple[LabelModel, Selection, Metric]:
    """The label model, how a table is read for it, and what its labels should be good at."""
    metric, typed = check_metric(modeling.metric, "--metric"), Selection.parse(reading)
    model = state_model(modeling, typed.classes)
    return model, typed.of_model(model), metric


def make_model(name: str, **params: Any) -> LabelModel:
    """A label model by its short name or from a file, which holds a saved model or pre-trained weights.

    Parameters that are None keep the model's default.
    """
    stated = {param: value for param, value in params.items() if value is not None}
    if name in label_models():
        return label_model(name, **stated)
    path = Path(name)
    if not is_file(path):
        known = ", ".join(label_models())
        raise ParameterError(f"--model is '{name}'; expected one of {known}, or a file of a saved model or of weights")
    if kind_of(path) == "model":
        return load(path).set_params(**stated)
    load_weights(path)  # raises now if something is wrong with the file
    return HyperLabelModel(weights=name, **stated)


def state_model(options: ModelOptions, classes: Sequence[Hashable] | None, **params: Any) -> LabelModel:
    """The label model of a command's options, with everything that is known besides votes and gold.

    Refuses options that the model does not take: it is fitted, or of another kind.
    """
    model = make_model(options.model, **params)
    stated = {name: getattr(options, name) or None for name in ("class_balance", "lf_accuracies", "ordinal")}
    given = {"gold": options.gold, "classes": classes, **stated}
    option = next((name for name, value in given.items() if value is not None), None)
    if model.is_fitted and option is not None:
        shown = f"--{option.replace('_', '-')}"
        raise ParameterError(
            f"{shown} is given, but the model in '{options.model}' is already fitted and learns nothing more; "
            f"leave {shown} out, or fit again with a model such as --model hlm2"
        )
    tell_model(model, options, classes, options.model)
    return model


def tell_model(
    model: LabelModel, options: LearningOptions, classes: Sequence[Hashable] | None, name: str, *, every: bool = True
) -> None:
    """Tell a model the class balance and the accuracies of LFs that were typed.

    If `every`, a model that does not take one of them is refused, by the `name` that was typed; else it is left out.
    """
    read: dict[str, Any] = {"class_balance": read_balance(options.class_balance, classes)}
    read["ordinal"] = options.ordinal or None
    if options.ordinal and classes is None:
        raise ParameterError("--ordinal is given without --classes; expected the classes from low to high")
    read["lf_accuracies"] = read_shares(options.lf_accuracies, "--lf-accuracies", "LF")
    for param, value in read.items():
        if value is None:
            continue
        if param in model.get_params():
            model.set_params(**{param: value})
        elif every:
            option = f"--{param.replace('_', '-')}"
            raise ParameterError(f"{option} is given, but the label model '{name}' takes none; use --model hlm2")


def read_balance(texts: Sequence[str] | None, classes: Sequence[Hashable] | None) -> Any:
    """Shares of classes by name, or in the order of the classes that were typed.

    >>> read_balance(["spam=0.7,ham=0.3"], None), read_balance(["0.7,0.3"], ["spam", "ham"])
    ({'spam': 0.7, 'ham': 0.3}, [0.7, 0.3])
    """
    if texts == [UNIFORM]:
        return UNIFORM
    if not texts or any("=" in text for text in texts):
        return read_shares(texts, "--class-balance", "class")
    text = ",".join(texts)
    if classes is None:
        raise ParameterError(
            f"--class-balance is '{text}'; expected --classes too, to say whose shares these are, or class=share,..."
        )
    try:
        shares = [float(share) for share in text.split(",")]
    except ValueError:
        shares = []
    if len(shares) != len(classes):
        raise ParameterError(f"--class-balance is '{text}'; expected a share for each of the {len(classes)} classes")
    return shares


def read_shares(texts: Sequence[str] | None, option: str, what: str) -> dict[str, float] | None:
    """Shares by name. A name may have an equals sign; it may have a comma if the option is given once for each name.

    >>> read_shares(["links=0.9, a=b=0.5"], "--lf-accuracies", "LF")
    {'links': 0.9, 'a=b': 0.5}
    >>> read_shares(["a,b=0.9", "c=0.5"], "--lf-accuracies", "LF"), read_shares(["a,b=1"], "--lf-accuracies", "LF")
    ({'a,b': 0.9, 'c': 0.5}, {'a,b': 1.0})
    """
    if not texts:
        return None
    shares: dict[str, float] = {}
    parts = texts[0].split(",")
    for part in parts if len(texts) == 1 and all("=" in part for part in parts) else texts:
        name, _, share = (piece.strip() for piece in part.rpartition("="))
        try:
            value = float(share)
        except ValueError:
            value = -1.0
        if not name or name in shares or not 0 <= value <= 1:
            raise ParameterError(f"{option} has '{part}'; expected {what}=share once each, shares from 0 to 1")
        shares[name] = value
    return shares
