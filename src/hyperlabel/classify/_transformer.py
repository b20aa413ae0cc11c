"""A pre-trained transformer, fine-tuned on soft labels."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hyperlabel._core import check_number
from hyperlabel.classify._base import BaseClassifier
from hyperlabel.classify._inputs import Examples, Inputs, check_texts
from hyperlabel.classify._mlp import Plan, descend, find_device
from hyperlabel.errors import ParameterError, require

WARMUP = 0.1  # share of the steps in which the learning rate rises
WEIGHT_DECAY = 0.01


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the report that the head's weights are new, as they should be, and the progress bars."""
    logging: Any = import_module("transformers.utils.logging")
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


@dataclass
class Transformer(BaseClassifier):
    """A transformer with a classification head, all of it fine-tuned with AdamW.

    The `transformers` package loads it again for each `fit`: from a folder that `save_pretrained` wrote, or
    from the hub (or its local cache) by name.

    Args:
        source: The folder or name, for instance `bert-base-cased`.
        batch_size: Texts per step.
        lr: Learning rate, at its peak: it rises for a tenth of the steps and falls to zero.
        max_tokens: Tokens of a text that are read; never more than the model can take.
        epochs: At most this many passes over the texts.
        patience: With validation, stop after this many epochs without a lower loss on it.
        seed: For the head's first weights, dropout and the order of the texts.
        device: Where torch computes; by default a GPU if there is one.

    >>> Transformer("bert-base-cased", lr=2e-5).batch_size
    32
    """

    source: str | Path
    batch_size: int = 32
    lr: float = 3e-5
    max_tokens: int = 512
    epochs: int = 5
    patience: int = 2
    seed: int = 0
    device: str | None = None

    def __post_init__(self) -> None:
        check_number(self.max_tokens, "max_tokens", "at least 1", least=1, whole=True)
        self._plan()

    def _plan(self) -> Plan:
        return Plan(self.lr, WEIGHT_DECAY, self.batch_size, self.epochs, self.patience, WARMUP)

    def _fit(self, examples: Examples, validation: Examples | None) -> None:
        texts = check_texts(examples.inputs)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            self._tokenizer, self._net = self.load_source(examples.probabilities.shape[1])
            descend(
                self._net,
                lambda index: self._logits([texts[number] for number in index.tolist()]),
                examples.probabilities,
                self._plan(),
                None if validation is None else partial(self._loss, validation),
            )

    def load_source(self, n_classes: int) -> tuple[Any, Any]:
        """The tokenizer, and the network with a new head; refuses a `source` that `transformers` cannot load."""
        require("transformers", extra="text")
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        try:
            with _quiet():
                tokenizer = AutoTokenizer.from_pretrained(self.source)
                net = AutoModelForSequenceClassification.from_pretrained(self.source, num_labels=n_classes)
        except (OSError, ValueError) as error:
            raise ParameterError(
                f"source is '{self.source}', which transformers cannot load; expected a folder written by "
                "save_pretrained with model and tokenizer, or the name of a model on the hub "
                f"({str(error).strip().splitlines()[0]})"
            ) from error
        return tokenizer, net.to(find_device(self.device))

    def _logits(self, texts: list[str]) -> Tensor:
        """(b, k) logits of a batch."""
        limit = getattr(self._net.config, "max_position_embeddings", None) or self.max_tokens
        tokens = self._tokenizer(
            texts, truncation=True, max_length=min(self.max_tokens, limit), padding=True, return_tensors="pt"
        )
        logits: Tensor = self._net(**tokens.to(self._net.device)).logits
        return logits

    @torch.no_grad()
    def _probabilities(self, inputs: Inputs) -> NDArray[np.float64]:
        texts = check_texts(inputs)
        self._net.eval()
        starts = range(0, len(texts), self.batch_size)
        logits = [self._logits(texts[start : start + self.batch_size]) for start in starts]
        return torch.cat(logits).cpu().double().softmax(1).numpy()
