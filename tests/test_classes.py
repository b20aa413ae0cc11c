import numpy as np
import pytest

from hyperlabel.data import (
    MOST_INFERRED,
    Column,
    complete_classes,
    decode,
    encode_column,
    infer_classes,
    missing_classes,
    smallest_type,
    state_classes,
)
from hyperlabel.errors import ParameterError, VotesError


def columns(**values):
    return [Column.from_values(name, column) for name, column in values.items()]


@pytest.mark.parametrize(
    ("n_classes", "classes", "expected"),
    [
        (None, None, None),
        (3, None, (0, 1, 2)),
        (np.int8(1), None, (0,)),
        (None, ["b", "a"], ("b", "a")),
        (2, ("b", "a"), ("b", "a")),
        (None, np.array(["x", "y"]), ("x", "y")),
        (None, np.array([5, 3]), (5, 3)),
    ],
)
def test_stated_classes_are_a_tuple_of_plain_values(n_classes, classes, expected):
    stated = state_classes(n_classes, classes)
    assert stated == expected
    assert not any(isinstance(name, np.generic) for name in stated or ())


@pytest.mark.parametrize(
    ("n_classes", "classes", "message"),
    [
        (0, None, "^n_classes is 0; expected a whole number from 1 to"),
        (1.5, None, r"^n_classes is 1\.5; expected a whole number"),
        ("3", None, "^n_classes is '3'; expected a whole number"),
        (1_048_577, None, "^n_classes is 1048577; expected a whole number from 1 to 1048576$"),
        (3, ["a", "b"], "^n_classes is 3 but classes names 2; give one of the two"),
        (None, [], r"^classes is \[\]; expected at least one, each once"),
        (None, [1, "a"], r"^classes is \[1, 'a'\]; expected .* all whole numbers, all strings or all booleans"),
        (None, ["a", None], r"^classes is \['a', None\]; expected .* all whole numbers, all strings or all booleans"),
        (None, [b"a", b"b"], r"^classes is \[b'a', b'b'\]; expected .* all whole numbers"),
        (None, [0.5, 1.5], r"^classes is \[0.5, 1.5\]; expected .* all whole numbers"),
        (None, [-1, 1], r"^classes is \[-1, 1\]; -1 means no vote and no label. Call that class something else"),
        (None, ["a", "b", "a"], r"^classes is \['a', 'b', 'a'\]; expected .* once"),
        (None, [True, 1], r"^classes is \[True, 1\]; expected .* once"),
        (None, [[0], [1]], r"^classes is \[\[0\], \[1\]\]; expected .* all whole numbers"),
        (None, "ham", "^classes is 'ham'; expected a list of classes"),
        (None, {"ham", "spam"}, "^classes is {.*}; expected a list of classes"),
    ],
)
def test_classes_stated_badly_are_refused(n_classes, classes, message):
    with pytest.raises(ParameterError, match=message):
        state_classes(n_classes, classes)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"a": [0, 1], "b": [3, None]}, (0, 1, 2, 3)),
        ({"a": [0, -1], "b": [0, 0]}, (0, 1)),  # one class ever voted, but a task has two at least
        ({"a": [1.0, float("nan")]}, (0, 1)),
        ({"a": ["spam", None], "b": ["ham", "spam"]}, ("ham", "spam")),
        ({"a": ["spam", -1], "b": [-1, "-1"]}, ("spam",)),
        ({"a": ["10", "9"], "b": ["-1", "2"]}, ("10", "2", "9")),
        ({"a": [True, None]}, (False, True)),
        ({"a": [True, -1]}, (False, True)),
        ({"a": [None, ""], "b": [-1, None]}, (0, 1)),
        ({"a": [MOST_INFERRED - 1]}, tuple(range(MOST_INFERRED))),
    ],
)
def test_inferred_classes_are_numbers_sorted_texts_or_booleans(values, expected):
    inferred = infer_classes(columns(**values))
    assert inferred == expected
    assert [type(c) for c in inferred] == [type(c) for c in expected]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"a": [0, 1], "b": [0, 0.5]}, r"^column 'b', row 1 is 0\.5; expected a whole number, 0 or more, or nothing"),
        ({"a": [0, 1], "b": [0, float("inf")]}, "^column 'b', row 1 is inf; expected a whole number"),
        ({"a": [0, 1j]}, "^column 'a', row 1 is 1j; expected a whole number"),
        ({"a": [0, 1], "b": [-2, 0]}, "^column 'b', row 0 is -2; expected a whole number, 0 or more"),
        ({"a": [0, 10**12]}, r"^column 'a', row 1 is 1000000000000; expected a class from 0 to 9999\. Are these ident"),
        (
            {"a": [0, 1], "b": ["0", "x"]},
            r"^column 'b', row 1 is 'x' \(text\) while column 'a' holds numbers; expected",
        ),
        ({"a": ["0", "x"], "b": [0, 1]}, r"^column 'a', row 1 is 'x' \(text\) while column 'b' holds numbers"),
        ({"a": [0, "x"]}, r"^column 'a', row 1 is 'x' \(text\) while column 'a' holds numbers"),
        ({"a": ["0", "1"], "b": [0, 1]}, r"^column 'a', row 0 is '0' \(text\) while column 'b' holds numbers"),
        ({"a": [True, False], "b": [0, 1]}, r"^column 'b', row 0 is 0 \(number\) while column 'a' holds booleans"),
        (
            {"a": [True, "x"]},
            r"^column 'a', row 1 is 'x' \(text\) while column 'a' holds booleans.* name the LFs with lfs",
        ),
        (
            {"a": ["0", "1"], "b": ["1", "x"]},
            "^column 'b', row 1 is 'x' while column 'a', row 0 is '0'; expected class",
        ),
        (
            {"a": ["x", "1"]},
            "^column 'a', row 0 is 'x' while column 'a', row 1 is '1'; .* state all classes with classes",
        ),
        ({"a": [b"x"]}, "^column 'a', row 0 is b'x' .bytes.; expected numbers, strings or booleans"),
    ],
)
def test_columns_without_one_kind_of_class_are_refused(values, message):
    with pytest.raises(VotesError, match=message):
        infer_classes(columns(**values))


def test_inferred_numbers_beyond_a_stated_number_of_classes_are_refused():
    with pytest.raises(VotesError, match=r"^column 'a', row 1 is 3; expected a class from 0 to 2\. Raise n_classes\?"):
        infer_classes(columns(a=[0, 3]), 3)


def test_inferred_numbers_may_be_as_many_as_are_stated():
    assert len(infer_classes(columns(a=[0, 2 * MOST_INFERRED]), 3 * MOST_INFERRED)) == 2 * MOST_INFERRED + 1


@pytest.mark.parametrize(
    ("inferred", "n_classes", "expected"),
    [
        ((0, 1), None, (0, 1)),
        ((0, 1), 4, (0, 1, 2, 3)),
        ((0, 1), 1, (0,)),
        (("ham", "spam"), 2, ("ham", "spam")),
        ((False, True), 2, (False, True)),
    ],
)
def test_inferred_classes_are_completed_to_their_stated_number(inferred, n_classes, expected):
    completed = complete_classes(inferred, n_classes)
    assert completed == expected
    assert type(completed[0]) is type(expected[0])


def test_inferred_names_that_are_not_as_many_as_stated_are_refused():
    with pytest.raises(
        ParameterError, match="^n_classes is 3 but votes names 2 classes: 'ham', 'spam'; state all of them"
    ):
        complete_classes(("ham", "spam"), 3)


@pytest.mark.parametrize(
    ("values", "classes", "expected"),
    [
        (["b", None, "a", -1, "-1", ""], ("a", "b"), [1, -1, 0, -1, -1, -1]),
        ([5, 3, None, -1], (3, 5), [1, 0, -1, -1]),
        ([-1, 1, None], (-1, 1), [0, 1, -1]),  # -1 is a class if it is stated as one
        (["-1", "1"], ("-1", "1"), [0, 1]),
        ([True, False, None], (False, True), [1, 0, -1]),
        ([True, False], (0, 1), [1, 0]),  # True is 1, in tables as in arrays
        ([1, 0, -1], (False, True), [1, 0, -1]),
        ([2.0, float("nan")], (0, 1, 2), [2, -1]),
    ],
)
def test_encoded_column_holds_class_numbers(values, classes, expected):
    assert encode_column(Column.from_values("a", values), classes).tolist() == expected


def test_encoded_column_with_an_unknown_class_is_refused():
    message = r"^column 'a', row 2 is 'c'; expected one of the classes 'a', 'b'\. Correct it, or state it in classes"
    with pytest.raises(VotesError, match=message):
        encode_column(Column.from_values("a", ["a", "b", "c"]), ("a", "b"))


def test_error_with_many_classes_shows_some():
    with pytest.raises(VotesError, match=r"expected one of the classes 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, \.\.\.\. Correct"):
        encode_column(Column.from_values("a", [300]), tuple(range(300)))


@pytest.mark.parametrize(
    ("k", "kind"), [(1, np.int8), (128, np.int8), (129, np.int16), (300, np.int16), (40_000, np.int32)]
)
def test_smallest_type_holds_all_class_numbers(k, kind):
    assert smallest_type(k) == kind
    assert np.iinfo(smallest_type(k)).max >= k - 1


@pytest.mark.parametrize(
    ("values", "classes", "expected"),
    [
        ([4, 0, -1], (0, 1), (2, 3, 4)),
        ([0, None], (0, 1), ()),
        (["d", "c", "a"], ("a", "b"), ("c", "d")),
        ([True, False], (0, 1), ()),
        (["c", 1], ("a", "b"), ()),  # two kinds: left to the error of encoding
        (["c"], (0, 1), ()),
        ([True], ("a", "b"), ()),
        ([2], (False, True), ()),
    ],
)
def test_missing_classes_are_those_of_labels_of_the_same_kind(values, classes, expected):
    assert missing_classes(Column.from_values("gold", values), classes) == expected


@pytest.mark.parametrize("classes", [(2**63, 0), (2**63, -5), (2**62 + 1, 2**62), (2**70, 1)])
def test_large_numbers_are_classes_to_the_last_digit(classes):
    labels = decode(np.array([0, 1, -1]), classes).tolist()
    assert labels == [*classes, -1]
    assert set(map(type, labels)) == {int}


def test_blank_string_is_no_class():
    """It abstains in every table, so votes for it would be lost."""
    with pytest.raises(ParameterError, match=r"^classes is \[' ', 'a'\]; a blank string means no vote"):
        state_classes(None, [" ", "a"])
