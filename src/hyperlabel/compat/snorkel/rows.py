"""Rows of a pandas frame that behave like the Series that `DataFrame.apply(axis=1)` gives, at a fraction of the cost.

Making a Series for each row is what makes row-by-row LFs slow. A `SeriesRow` answers `x.text` and `x["text"]` from a
dictionary; for everything else that a Series can do, it makes the Series.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

CHUNK = 10_000  # rows whose values are unpacked at a time


class SeriesRow:
    """One row of a frame, by its position, and the value of each column by name; the row may change it.

    >>> import pandas as pd
    >>> x = next(iter_rows(pd.DataFrame({"text": ["hello"], "num": [3]}, index=["first"])))
    >>> x.text, x["num"], x.name, x.get("date"), "text" in x, len(x)
    ('hello', 3, 'first', None, True, 2)
    """

    __slots__ = ("__dict__", "_position")
    _frame: ClassVar[Any]
    _dtype: ClassVar[Any]  # the dtype of a Series of the whole row

    def __init__(self, position: int, values: dict[Any, Any]) -> None:
        self.__dict__ = values
        self._position = position

    def to_series(self) -> Any:
        """The row as the Series that pandas would give, with the changes made to it."""
        import pandas as pd

        values = list(self.__dict__.values())
        dtype = object if len(values) > self._frame.shape[1] else self._dtype  # a preprocessor may have added values
        name = self._frame.index[self._position]
        return pd.Series(values, index=pd.Index(list(self.__dict__)), name=name, dtype=dtype)

    def __getitem__(self, key: Any) -> Any:
        try:
            return self.__dict__[key]
        except (KeyError, TypeError):  # a list of names, a slice or a position
            return self.to_series()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.__dict__[key] = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for by copy, pickle and the like
            raise AttributeError(name)
        return getattr(self.to_series(), name)

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a column, or a default where there is no such column."""
        return self.__dict__.get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self.__dict__

    def __iter__(self) -> Iterator[Any]:
        return iter(self.__dict__.values())

    def __len__(self) -> int:
        return len(self.__dict__)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self.to_series().__array__(*args, **kwargs)

    def __repr__(self) -> str:
        return repr(self.to_series())

    def __deepcopy__(self, memo: dict[int, Any]) -> "SeriesRow":
        return type(self)(self._position, copy.deepcopy(self.__dict__, memo))

    def __reduce__(self) -> tuple[Any, ...]:  # pickled as a Series
        return copy.copy, (self.to_series(),)


def iter_rows(frame: Any) -> Iterator[Any]:
    """The rows of a pandas frame, as `DataFrame.apply(axis=1)` gives them.

    Values have the types that a Series of the whole row would give them: columns of integers and floats are floats.
    If names are missing, duplicate, or have several levels, rows are real Series.
    """
    if not frame.columns.is_unique or frame.columns.nlevels > 1 or frame.columns.empty:
        yield from (row for _, row in frame.iterrows())
        return
    values = frame.to_numpy()
    if values.dtype.kind in "mM":  # pandas turns them into its own times
        values = frame.astype(object).to_numpy()
    names, kind = list(frame.columns), _row_class(frame, values.dtype)
    for start in range(0, len(values), CHUNK):
        chunk = values[start : start + CHUNK].T
        columns = [column.tolist() if values.dtype == object else list(column) for column in chunk]  # or NumPy scalars
        for position, row in enumerate(zip(*columns, strict=True), start):
            yield kind(position, dict(zip(names, row)))  # noqa: B905 - the hot line; lengths are equal


def _row_class(frame: Any, dtype: Any) -> type[SeriesRow]:
    """Rows of this frame: a column whose name is an attribute of every Series is read by `x["size"]` only."""
    import pandas as pd

    hidden = [name for name in frame.columns if isinstance(name, str) and (name == "name" or hasattr(pd.Series, name))]
    attributes = {name: property(_attribute(name)) for name in hidden}
    return type("SeriesRow", (SeriesRow,), {"__slots__": (), "_frame": frame, "_dtype": dtype} | attributes)


def _attribute(name: str) -> Callable[[SeriesRow], Any]:
    return lambda row: getattr(row.to_series(), name)


def _operator(name: str) -> Any:
    def operate(row: SeriesRow, *others: Any) -> Any:
        return getattr(row.to_series(), name)(*(o.to_series() if isinstance(o, SeriesRow) else o for o in others))

    return operate


for _name in ("eq", "ne", "lt", "le", "gt", "ge", "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "neg", "abs"):
    setattr(SeriesRow, f"__{_name}__", _operator(f"__{_name}__"))
