"""End models: classifiers of texts or features that learn from a label model's probabilities (extra `text`).

Flow: inputs and probabilities (n, k) of the items with votes -> end model -> probabilities of any item, voted on or
not. `Linear` and `MLP` take features, `Tfidf` and `Transformer` take texts, and `Search` picks the hyper-parameters
of any of them on items kept aside, with generated labels too: no true label is needed.
"""

from hyperlabel.errors import require

require("torch", extra="text")

from hyperlabel.endmodel.base import EndModel  # noqa: E402
from hyperlabel.endmodel.linear import Linear  # noqa: E402
from hyperlabel.endmodel.mlp import MLP  # noqa: E402
from hyperlabel.endmodel.search import GRIDS, Search  # noqa: E402
from hyperlabel.endmodel.tfidf import Tfidf  # noqa: E402
from hyperlabel.endmodel.transformer import Transformer  # noqa: E402

__all__ = ["GRIDS", "MLP", "EndModel", "Linear", "Search", "Tfidf", "Transformer"]
