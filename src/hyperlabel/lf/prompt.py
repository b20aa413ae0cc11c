"""LFs that ask a language model: a prompt made of columns, any callable as the client, a class parsed strictly."""

import string
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Any, ClassVar

from hyperlabel.errors import ParameterError
from hyperlabel.lf.define import LabelingFunction
from hyperlabel.lf.items import read_value
from hyperlabel.lf.ready import is_null
from hyperlabel.shown import show, show_some
from hyperlabel.votes.classes import Classes, state_classes

_AROUND = " \t\r\n\"'`*.!"  # what may surround the name of a class


class PromptFunction(LabelingFunction):
    """An LF that asks a language model: it keeps the model's answer and finds the vote in it; see `prompt_lf`."""

    UNSEEN: ClassVar[frozenset[str]] = LabelingFunction.UNSEEN | {"classes", "parse"}
    SAYS_VOTES: ClassVar[bool] = False

    def __init__(
        self,
        name: str,
        call: Callable[[str], Any],
        *,
        template: str,
        classes: Sequence[Hashable],
        parse: Callable[[str], Hashable] | None,
        **patience: Any,
    ) -> None:
        super().__init__(name, call, **patience)
        self.template, self.columns = template, _columns_of(template)
        self.classes = _check_classes(classes)
        self.parse = _exact(self.classes) if parse is None else _check_parse(name, parse)

    def row_function(self) -> Callable[[Any], Any]:
        """A function from a row to a vote."""
        say = self.saying_function()
        return lambda x: self.read(say(x))

    def saying_function(self) -> Callable[[Any], Any]:
        """A function from a row to the answer; None, without a call, if a column of the prompt is null."""
        ask, template, columns = self._asking(), self.template, self.columns

        def say(x: Any) -> str | None:
            values = {column: read_value(x, column) for column in columns}
            return None if any(map(is_null, values.values())) else _check_answer(ask(template.format_map(values)))

        return say

    def read(self, said: Any) -> Hashable:
        """The class that an answer names; None for any other answer."""
        try:
            found = None if said is None else self.parse(said)
            return None if found is None else self.classes[self.classes.index(found)]
        except (ValueError, LookupError, TypeError, AttributeError):  # from a parser that expected something else
            return None


def prompt_lf(
    template: str,
    call: Callable[[str], str | None] | Callable[[str], Awaitable[str | None]],
    classes: Sequence[Hashable],
    parse: Callable[[str], Hashable] | None = None,
    *,
    name: str = "prompt",
    timeout: float | None = None,
    rate: float | None = None,
    retry: type[Exception] | tuple[type[Exception], ...] = (),
    tries: int = 5,
) -> LabelingFunction:
    """An LF that asks a language model for the class of an item.

    If an item has no value in a column of the prompt, the model is not asked and the LF abstains. The cache of
    `apply_lfs(..., cache=folder)` keeps answers, not votes, so another `parse` or other classes cost no calls.

    Args:
        template: The prompt, with columns in braces: `"Is this spam? {text}"`. A brace itself is doubled.
        call: Takes a prompt and returns the answer: any function, sync or async.
        classes: The classes that may be voted for.
        parse: Takes an answer and returns one of the classes; None, another value and a ValueError abstain. If not
            given, an answer must be the name of a class, in upper or lower case, perhaps quoted or with a period.
        name: Name of the LF.
        timeout: Seconds that a call may take; a longer call fails with TimeoutError.
        rate: Calls that may start per second, over all threads.
        retry: The exceptions, one or several, after which a call is tried again, after a pause that doubles.
        tries: The maximum number of tries per call, if `retry` is given.

    Returns:
        The LF. `answers` of the votes that `apply_lfs` returns has the answers.

    >>> def model(prompt):
    ...     return "Spam." if "free" in prompt else "I cannot tell."
    >>> lf = prompt_lf("Spam or ham? {text}", model, ["ham", "spam"])
    >>> lf({"text": "free money"}), lf({"text": "hello"})
    ('spam', None)
    """
    return PromptFunction(
        name,
        call,
        template=template,
        classes=classes,
        parse=parse,
        timeout=timeout,
        rate=rate,
        retry=retry,
        tries=tries,
    )


def _check_classes(classes: Any) -> Classes:
    stated = state_classes(None, classes)
    if stated is None:
        raise ParameterError("classes is None; expected the classes that may be voted for")
    return stated


def _check_parse(name: str, parse: Any) -> Callable[[str], Hashable]:
    if not callable(parse):
        raise ParameterError(f"LF '{name}': parse is {show(parse)}; expected a function of an answer")
    return parse  # type: ignore[no-any-return]


def _columns_of(template: Any) -> tuple[str, ...]:
    """The columns of a template."""
    if not isinstance(template, str):
        raise ParameterError(f"template is {show(template)}; expected a string with columns in braces")
    try:
        parsed = [(field, spec or "") for _, field, spec, _ in string.Formatter().parse(template) if field is not None]
    except ValueError as error:
        raise ParameterError(f"template is {show(template)}, which cannot be read: {error}; double a brace") from error
    odd = next((field for field, spec in parsed if not _is_column(field) or "{" in spec), None)
    if odd is not None or not parsed:
        found = "no column" if odd is None else f"{{{odd}}}"
        raise ParameterError(f"template is {show(template)}, with {found}; expected names of columns in braces")
    return tuple(dict.fromkeys(field for field, _ in parsed))


def _is_column(field: str) -> bool:
    """Whether a field of a template is a plain name, which reads nothing inside the value."""
    return bool(field) and not field.isdigit() and not set(field) & set(".[")


def _exact(classes: Classes) -> Callable[[str], Hashable]:
    """A parser that accepts the name of a class and nothing else."""
    known = {_plain(str(name)): name for name in classes}
    if len(known) < len(classes) or "" in known:
        raise ParameterError(
            f"classes is {show_some(classes)}, whose names differ only in case or quotes; give parse as well"
        )
    return lambda answer: known.get(_plain(answer))


def _plain(text: str) -> str:
    return text.strip(_AROUND).casefold()


def _check_answer(answer: Any) -> str | None:
    if answer is None or isinstance(answer, str):
        return answer
    raise TypeError(f"call returned {show(answer)} ({type(answer).__name__}); expected a string")
