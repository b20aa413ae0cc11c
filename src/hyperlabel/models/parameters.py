"""Parameters by name, as scikit-learn reads and changes them."""

import inspect
from typing import Any, Self

from hyperlabel.errors import ParameterError
from hyperlabel.shown import html_table


class Parameters:
    """Reads and changes the arguments that an object was created with; each is an attribute of the same name."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments this model was created with."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Change arguments by name."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ParameterError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}")
            setattr(self, name, value)
        return self

    def changed_params(self) -> dict[str, Any]:
        """The arguments that differ from their defaults."""
        defaults = inspect.signature(type(self)).parameters
        return {n: v for n, v in self.get_params().items() if repr(v) != repr(defaults[n].default)}

    def __repr__(self) -> str:
        changed = ", ".join(f"{name}={value!r}" for name, value in self.changed_params().items())
        return f"{type(self).__name__}({changed})"

    def _repr_html_(self) -> str:
        """The parameters as an HTML table; those that were changed are marked."""
        changed = self.changed_params()
        marks = {name: "changed" for name in changed}
        rows = [[name, f"{value!r:.80}", marks.get(name, "")] for name, value in self.get_params().items()]
        return html_table(["parameter", "value", ""], rows, f"{type(self).__name__}, {self._describe_state()}")

    def _describe_state(self) -> str:
        return "not fitted"
