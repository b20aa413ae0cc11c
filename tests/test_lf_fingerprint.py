"""All the ways in which an LF can change: each is noticed, or the LF is refused."""

import functools
import importlib
import re
import reprlib
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hyperlabel.errors import ParameterError
from hyperlabel.lf import (
    LabelingFunction,
    apply_lfs,
    expression_lf,
    fingerprint_lf,
    keyword_lf,
    lookup_lf,
    read_items,
    regex_lf,
    threshold_lf,
)
from hyperlabel.lf._fingerprint import fingerprint_items

FRAME = pd.DataFrame({"id": range(4), "text": ["a", "b", "a b", None]})


def compile_lf(source, **names):
    """An LF of a function that a user wrote in a script."""
    scope = {"__name__": "script", "re": re, "np": np, "functools": functools, **names}
    exec(source, scope)
    return LabelingFunction("lf", scope["f"])


def compile_each(source, values):
    """LFs of sources that differ in the value that stands for VALUE."""
    return [compile_lf(source.replace("VALUE", value)) for value in values]


def has(word):
    return lambda x: "yes" if x.text and word in x.text else None


class Model:
    """A resource of the user's own class."""

    def __init__(self, size):
        self.size = size


CLASS = "class C:\n {}\n def g(self): return self.A\ndef f(x): return C().g()"
VARIANTS = {
    "code": compile_each("def f(x): return VALUE", "12"),
    "names": compile_each("def f(x): return x.VALUE", "ab"),
    "inner code": compile_each("def f(x): return (lambda: VALUE)()", "12"),
    "handler": compile_each("def f(x):\n try: return x.a\n except VALUE: return 1", ["KeyError", "TypeError"]),
    "default": compile_each("def f(x, most=VALUE): return most", "12"),
    "keyword default": compile_each("def f(x, *, most=VALUE): return most", "12"),
    "arguments": compile_each("def g(a, VALUEb=1): return b\ndef f(x): return g(x)", ["", "*, "]),
    "closure": [LabelingFunction("lf", has(word)) for word in "ab"],
    "global": [compile_lf("def f(x): return WORDS", WORDS=words) for words in (["a"], ["b"], ("a",), {"a"}, {"a": 1})],
    "global expression": [compile_lf("def f(x): return P.search(x)", P=re.compile("a", flags)) for flags in (0, re.I)],
    "nested global": [compile_lf("def f(x): return W", W={"a": [{"b": (1, {word})}]}) for word in "ab"],
    "called function": compile_each("def g(x): return VALUE\ndef f(x): return g(x)", "12"),
    "function called by it": compile_each("def h(): return VALUE\ndef g(): return h()\ndef f(x): return g()", "12"),
    "function in a table": compile_each("def g(x): return VALUE\nT = {'g': [g]}\ndef f(x): return T['g'][0](x)", "12"),
    "attribute of a function": compile_each("def f(x): return f.most\nf.most = VALUE", "12"),
    "used class": compile_each("class C:\n def g(self): return VALUE\ndef f(x): return C().g()", "12"),
    "class attribute": compile_each(CLASS.format("A = VALUE"), ["1", "2", "'1'", "None", "1.0", "True", "b'1'"]),
    "class attribute, list": compile_each(CLASS.format("A = ['VALUE']"), "ab"),
    "class attribute, tuple": compile_each(CLASS.format("A = ('VALUE', [1])"), "ab"),
    "class attribute, set": compile_each(CLASS.format("A = {'VALUE'}"), "ab"),
    "class attribute, dict": compile_each(CLASS.format("A = {1: 'VALUE'}"), "ab"),
    "class attribute, expression": compile_each(CLASS.format("A = re.compile('VALUE')"), "ab"),
    "class attribute, array": compile_each(CLASS.format("A = np.arange(VALUE)"), "12"),
    "class attribute, object": [compile_lf(CLASS.format("A = MODEL"), MODEL=Model(size)) for size in (1, 2)],
    "attribute of a base": compile_each("class B: A = [VALUE]\nclass C(B): pass\ndef f(x): return C().A", "12"),
    "attribute of a metaclass": compile_each(
        "class M(type): A = [VALUE]\nclass C(metaclass=M): pass\ndef f(x): return C.A", "12"
    ),
    "inner class": compile_each("class C:\n class D: A = [VALUE]\ndef f(x): return C.D.A", "12"),
    "method": compile_each("class C:\n def g(self, x): return VALUE\nf = C().g", "12"),
    "object of a method": compile_each(
        "class C:\n def __init__(self, a): self.a = a\n def g(self, x): return self.a\nf = C([VALUE]).g", "12"
    ),
    "class method": compile_each("class C:\n @classmethod\n def g(c): return VALUE\ndef f(x): return C.g()", "12"),
    "static method": compile_each("class C:\n @staticmethod\n def g(): return VALUE\ndef f(x): return C.g()", "12"),
    "property": compile_each("class C:\n @property\n def g(self): return VALUE\ndef f(x): return C().g", "12"),
    "cached property": compile_each(
        "class C:\n @functools.cached_property\n def g(self): return VALUE\ndef f(x): return C().g", "12"
    ),
    "partial method": compile_each(
        "class C:\n def g(self, a): return a\n h = functools.partialmethod(g, VALUE)\ndef f(x): return C().h()", "12"
    ),
    "callable object": compile_each(
        "class C:\n def __call__(self, x): return VALUE\nc = C()\ndef f(x): return c(x)", "12"
    ),
    "slots": compile_each(
        "class C:\n __slots__ = 'a', 'b'\n def __init__(self): self.a = VALUE\nc = C()\ndef f(x): return c.a", "12"
    ),
    "data class": compile_each(
        "import dataclasses\n@dataclasses.dataclass\nclass C:\n a: int = VALUE\ndef f(x): return C().a", "12"
    ),
    "factory of a data class": compile_each(
        "from dataclasses import *\n@dataclass\nclass C:\n a: list = field(default_factory=lambda: [VALUE])\n"
        "def f(x): return C().a", "12",
    ),
    "enumeration": compile_each("import enum\nclass E(enum.IntEnum):\n A = VALUE\ndef f(x): return E.A", "12"),
    "abstract class": compile_each(
        "import abc\nclass A(abc.ABC):\n B = [VALUE]\nclass C(A): pass\ndef f(x): return C().B", "12"
    ),
    "own list": compile_each(
        "class L(list):\n def first(self): return VALUE\nl = L('ab')\ndef f(x): return l.first()", "12"
    ),
    "own dict": compile_each(
        "class D(dict):\n def __missing__(self, k): return VALUE\nd = D()\ndef f(x): return d[x]", "12"
    ),
    "default of a dict": compile_each(
        "import collections\nd = collections.defaultdict(lambda: VALUE)\ndef f(x): return d[x]", "12"
    ),
    "decorator": compile_each(
        "def d(g):\n @functools.wraps(g)\n def h(x): return g(x) + VALUE\n return h\n@d\ndef f(x): return 1", "12"
    ),
    "decorated function": compile_each(
        "def d(g):\n @functools.wraps(g)\n def h(x): return g(x)\n return h\n@d\ndef f(x): return VALUE", "12"
    ),
    "function with a cache": compile_each("@functools.cache\ndef g(x): return VALUE\ndef f(x): return g(x)", "12"),
    "LF with a cache": compile_each("@functools.lru_cache(None)\ndef f(x): return VALUE", "12"),
    "function in an object of a package": compile_each(
        "import itertools\ndef g(x): return VALUE\nm = functools.partial(map, g)\ndef f(x): return m(x)", "12"
    ),
    "function that a package holds": [
        compile_lf("def g(x): return 1\ndef f(x): return H.func(x)"),
        compile_lf("def g(x): return VALUE\nH = np.vectorize(g)\ndef f(x): return H(x)".replace("VALUE", "1")),
        compile_lf("def g(x): return VALUE\nH = np.vectorize(g)\ndef f(x): return H(x)".replace("VALUE", "2")),
    ],
    "function that a package made": [
        compile_lf("def f(x): return MADE(x)", MADE=reprlib.recursive_repr(word)(has)) for word in "ab"
    ],
    "generator": compile_each("def f(x): return any(w == VALUE for w in x.text)", "12"),
    "async": compile_each("VALUEdef f(x): return 1", ["", "async "]),
    "resource": [LabelingFunction("lf", has, resources={"word": word}) for word in "ab"],
    "array": [LabelingFunction("lf", has, resources={"word": np.arange(n)}) for n in (2, 3)],
    "frame": [LabelingFunction("lf", has, resources={"word": frame}) for frame in (FRAME, FRAME[:3], FRAME.text)],
    "object": [LabelingFunction("lf", has, resources={"word": Model(size)}) for size in (1, 2)],
    "vote": [LabelingFunction("lf", has, vote=vote) for vote in (1, 2, "1", None)],
    "scores": [LabelingFunction("lf", has, scores=scores) for scores in ((0, 1), (0, 2), None)],
    "partial": [LabelingFunction("lf", functools.partial(has, word=word)) for word in "ab"],
    "keywords": [keyword_lf(["a"], 1), keyword_lf(["a", "b"], 1), keyword_lf(["a"], 1, ignore_case=False)],
    "bounds": [threshold_lf("x", 1, above=1), threshold_lf("x", 1, above=2), threshold_lf("x", 1, at_least=1)],
    "table": [lookup_lf({"a": 1}, column="x"), lookup_lf({"a": 2}, column="x"), lookup_lf({"a": 1}, column="y")],
    "expression": [expression_lf("lf", pl.col("x") > bound, vote=1) for bound in (1, 2)],
}  # fmt: skip


@pytest.mark.parametrize("variants", VARIANTS.values(), ids=VARIANTS)
def test_fingerprint_of_an_lf_changes_with_what_it_sees(variants):
    prints = [fingerprint_lf(lf) for lf in variants]
    assert len(set(prints)) == len(variants)
    assert [fingerprint_lf(lf) for lf in variants] == prints


def test_fingerprint_of_an_lf_stays_whatever_its_name_and_limits():
    assert fingerprint_lf(regex_lf("a", 1, name="x")) == fingerprint_lf(regex_lf("a", 1, name="y", timeout=3))


def test_fingerprint_of_an_lf_moved_to_other_lines_stays():
    source = "def g(x): return len(x)\nclass C:\n A = [1]\ndef f(x): return g(x) + (lambda y: y)(C.A[0])"
    assert fingerprint_lf(compile_lf(source)) == fingerprint_lf(compile_lf("\n\n# moved\n" + source))


def test_fingerprint_of_a_function_that_calls_itself_is_found():
    source = "def f(x): return f(x - {}) if x else 0"
    assert fingerprint_lf(compile_lf(source.format(1))) != fingerprint_lf(compile_lf(source.format(2)))


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Writes a module of the user's own, and forgets what was imported of it."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(**sources):
        for name, source in sources.items():
            path = tmp_path / (name.replace("__", "/") + ".py")
            path.parent.mkdir(exist_ok=True)
            path.write_text(source)
        for name in [name for name in sys.modules if name.startswith("own_")]:
            del sys.modules[name]
        importlib.invalidate_caches()

    yield write
    write()


IMPORTS = {
    "module": "import own_rules\ndef f(x): return own_rules.WORD",
    "function of a module": "from own_rules import g\ndef f(x): return g()",
    "constant of a module": "from own_rules import WORD\ndef f(x): return WORD",
    "module of a package": "import own_package.rules\ndef f(x): return own_package.rules.WORD",
    "module imported inside": "def f(x):\n import own_rules\n return own_rules.WORD",
    "constant imported inside": "def f(x):\n from own_rules import WORD\n return WORD",
    "package imported inside": "def f(x):\n from own_package import rules\n return rules.WORD",
    "module in a closure": "def make():\n import own_rules\n return lambda x: own_rules.WORD\nf = make()",
}


@pytest.mark.parametrize("source", IMPORTS.values(), ids=IMPORTS)
def test_fingerprint_of_what_own_modules_hold_changes_with_their_files(own, source):
    prints = []
    for word in "aba":
        rules = f"WORD = ['{word}']\ndef g(): return '{word}'\n"
        own(own_rules=rules, own_package__rules=rules, own_package____init__="")
        lf = compile_lf(source)
        prints += [fingerprint_lf(lf), fingerprint_lf(lf)]
    assert prints[0] == prints[1] == prints[4] != prints[2] == prints[3]


def test_fingerprint_of_an_own_module_changes_with_what_is_set_in_it(own):
    own(own_rules="WORD = 'a'\nLOCK = __import__('threading').Lock()\n")
    lf = compile_lf("import own_rules\ndef f(x): return own_rules.WORD")
    before = fingerprint_lf(lf)  # not of the lock, which the LF does not read
    sys.modules["own_rules"].WORD = "b"
    assert fingerprint_lf(lf) != before


def test_fingerprint_of_modules_that_hold_each_other_is_found(own):
    own(own_a="import own_b\nown_b.own_a = __import__('own_a')\nW = 1", own_b="W = 2")
    assert fingerprint_lf(compile_lf("import own_a, own_b\ndef f(x): return own_a.own_b.own_a.W"))


def test_fingerprint_with_a_module_that_is_not_there_is_found():
    assert fingerprint_lf(compile_lf("def f(x):\n try: import own_missing\n except ImportError: return 1"))


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("def f(x): return eval('1')", "'eval'"),
        ("def f(x): exec('1')", "'exec'"),
        ("def f(x): return globals()['X']", "'globals'"),
        ("def f(x): return (lambda: __import__('own'))()", "'__import__'"),
        ("import importlib\ndef f(x): return importlib.import_module('own')", "'import_module'"),
        ("import threading\nL = threading.Lock()\ndef f(x): return L", "<unlocked"),
        ("@functools.singledispatch\ndef g(x): return 1\ndef f(x): return g(x)", ""),
        ("I = (i for i in 'ab')\ndef f(x): return next(I)", "<generator"),
        ("import threading\nclass C:\n A = [threading.Lock()]\ndef f(x): return C.A", "<unlocked"),
    ],
)
def test_lf_whose_change_cannot_be_seen_is_refused_by_the_cache(source, shown, tmp_path):
    message = f"LF 'lf' uses {shown}.*and the cache cannot tell whether that changed; make it inside a function"
    with pytest.raises(ParameterError, match=message):
        apply_lfs([compile_lf(source)], ["a"], cache=tmp_path)


@pytest.mark.parametrize("made", ["np.array([1, 2])", "pd.DataFrame({'a': [1, 2]})", "pd.Series([1, 2])"])
def test_globals_that_are_no_single_truth_are_compared_all_the_same(made, tmp_path):
    source = f"import numpy as np\nimport pandas as pd\nA = {made}\ndef f(x): return len(A) - 2"
    assert apply_lfs([compile_lf(source)], ["a"], cache=tmp_path).to_numpy().tolist() == [[0]]


def test_client_made_inside_a_function_is_no_hindrance():
    source = "import threading\n@functools.cache\ndef client(): return threading.Lock()\ndef f(x): return client()"
    lf = compile_lf(source)
    before = fingerprint_lf(lf)
    assert lf("a")
    assert fingerprint_lf(lf) == before


def test_own_functions_named_like_untraceable_ones_are_no_hindrance():
    assert fingerprint_lf(compile_lf("def eval(x): return 1\ndef f(x): return eval(x) + x.exec(x.globals)"))


def test_fingerprint_in_another_process_is_the_same(tmp_path):
    import subprocess

    script = (
        "from hyperlabel.lf import *; from hyperlabel.lf._fingerprint import fingerprint_lf\n"
        "import re, json, enum, numpy as np; WORDS = {'a', 'b', 'c'}\n"
        "class Kind(enum.Enum):\n A = frozenset({'x', 'y'})\n"
        "def f(x, most=2): return re.search('a', x.text) and x.text in WORDS and np.sum(json.loads(x.text)) < Kind.A\n"
        "print(fingerprint_lf(LabelingFunction('f', f)), fingerprint_lf(keyword_lf('a', 1)))"
    )
    run = [sys.executable, "-c", script]
    first, second = (subprocess.run(run, capture_output=True, text=True, check=True).stdout for _ in range(2))
    assert first == second != ""


@pytest.mark.parametrize(
    "other",
    [FRAME[:3], FRAME.rename(columns={"id": "key"}), FRAME.astype({"id": str}), FRAME[::-1], FRAME.assign(z=1)],
)
def test_fingerprint_of_data_changes_with_them(other):
    assert fingerprint_items(read_items(other)) != fingerprint_items(read_items(FRAME))
    assert fingerprint_items(read_items(FRAME.copy())) == fingerprint_items(read_items(FRAME))


def test_fingerprint_of_data_that_are_no_plain_values_changes_with_them():
    one, two = ([{"when": np.datetime64(day), "tags": ["a"]}] for day in ("2020-01-01", "2020-01-02"))
    assert fingerprint_items(read_items(one)) == fingerprint_items(read_items(one))
    assert fingerprint_items(read_items(one)) != fingerprint_items(read_items(two))


BUFFERS = [
    np.int64(1),
    np.array([1]),
    np.array([[1]]),
    np.array([1], "m8[s]"),
    np.array([5e-324]),  # the same bytes
    np.int64(1).tobytes(),
    bytearray(np.int64(1).tobytes()),
    memoryview(np.int64(1).tobytes()).tolist(),
]


def test_values_with_the_same_bytes_are_told_apart():
    """Marshal writes an array as its bytes, without its type and shape: one would get the vote of another."""
    assert len({fingerprint_items(read_items([{"x": value}])) for value in BUFFERS}) == len(BUFFERS)
    assert len({fingerprint_items(read_items([[value]])) for value in BUFFERS}) == len(BUFFERS)


def test_cache_knows_arrays_by_type_and_shape(tmp_path):
    lf = LabelingFunction("lf", lambda x: np.ndim(x.x))
    arrays = [{"x": np.array([[1, 2]])}, {"x": np.array([1, 2])}]
    votes = [apply_lfs([lf], [each], cache=tmp_path, n_classes=9).to_numpy().item() for each in arrays]
    assert votes == [2, 1]


def test_values_too_deep_for_marshal_have_a_fingerprint():
    deep: list = []
    for _ in range(300):
        deep = [deep]
    assert fingerprint_items(read_items([{"x": deep}])) != fingerprint_items(read_items([{"x": [deep]}]))


def test_fingerprint_of_an_lf_changes_with_the_index_of_a_table_it_holds():
    tables = [pd.DataFrame({"a": [1, 2]}, index=index) for index in (["x", "y"], ["y", "x"])]
    one, two = (LabelingFunction("lf", lambda x, table: table.loc[x, "a"], resources={"table": t}) for t in tables)
    assert fingerprint_lf(one) != fingerprint_lf(two)


def test_values_that_hold_themselves_have_a_fingerprint():
    prints = []
    for word in "aba":
        ring = {"word": word}
        ring["self"] = ring
        prints.append(fingerprint_lf(LabelingFunction("lf", has, resources={"word": ring})))
    assert prints[0] == prints[2] != prints[1]


def test_value_that_refuses_to_be_pickled_is_named():
    class Client:
        def __reduce__(self):
            raise ValueError("not by pickle")

    with pytest.raises(ParameterError, match=r"LF 'lf' uses .* \(Client\), and the cache cannot tell"):
        fingerprint_lf(LabelingFunction("lf", has, resources={"word": Client()}))
