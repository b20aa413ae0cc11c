# %% [markdown]
# # Names in code
#
# Which names in a line of code stand for a class or a function? Ten rules mark spans, and their votes become labels.
# The lines are from NumPy's Python files. Python knows what each name stands for, so there is a truth; here it only
# shows how good the labels are.

# %%
import builtins
import importlib
import inspect
import io
import keyword
import tokenize
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import hyperlabel as hl

FILES = ["ma.core", "ma.extras", "lib._npyio_impl", "lib._format_impl", "lib._datasource", "lib._iotools"]
KINDS = {"CLASS": inspect.isclass, "FUNCTION": callable}


def lines_of(module):
    """Yield the lines of code of a module, each a list of tokens."""
    line = []
    for token in tokenize.generate_tokens(io.StringIO(inspect.getsource(module)).readline):
        if token.type in (tokenize.NAME, tokenize.OP, tokenize.NUMBER):
            line.append(token.string)
        elif token.type == tokenize.NEWLINE:
            yield line
            line = []


def find_names(tokens, module):
    """Return the spans of the names that stand for a class or a function."""
    known, spans, i = {**vars(builtins), **vars(module)}, [], 0
    while i < len(tokens):
        start, i = i, i + 1
        if tokens[start] in ("def", "class"):
            spans, i = [*spans, [i, i + 1, "FUNCTION" if tokens[start] == "def" else "CLASS"]], i + 1
            continue
        thing = known.get(tokens[start])
        if thing is None or tokens[start - 1 : start] == ["."] or tokens[i : i + 1] == ["="]:
            continue
        while tokens[i : i + 1] == ["."] and hasattr(thing, tokens[i + 1]):
            thing, i = getattr(thing, tokens[i + 1]), i + 2
        spans += [[start, i, kind] for kind, is_kind in KINDS.items() if is_kind(thing)][:1]
    return spans


documents = []
for module in (importlib.import_module(f"numpy.{name}") for name in FILES):
    for line in lines_of(module):
        if len(line) >= 5 and "import" not in line:
            documents.append({"tokens": line, "gold": find_names(line, module)})
print(len(documents), "lines, such as:", *documents[101]["tokens"])
print(documents[101]["gold"])

# %% [markdown]
# ## Rules that mark spans
#
# A span is `[start, end, type]`, in tokens, the end excluded. Regular expressions and word lists make rules without
# code; `@hl.span_lf` turns a function into a rule.


# %%
def is_name(token):
    return token.isidentifier() and not keyword.iskeyword(token)


@hl.span_lf
def called(x):
    """A name before a parenthesis is called: a class if it has a capital letter, else a function."""
    tokens = x["tokens"]
    calls = [i for i in range(len(tokens) - 1) if is_name(tokens[i]) and tokens[i + 1] == "(" and tokens[i - 1] != "."]
    return [(i, i + 1, "CLASS" if tokens[i][0].isupper() else "FUNCTION") for i in calls]


@hl.span_lf(type="FUNCTION")
def in_numpy(x):
    """What follows `np.` is most often a function."""
    tokens = x["tokens"]
    return [(i, i + 3) for i in range(len(tokens) - 2) if tokens[i : i + 2] == ["np", "."]]


@hl.span_lf(type="CLASS")
def after_words(x):
    """A name after `raise`, `except` or `class` is a class."""
    tokens = x["tokens"]
    places = [i + 1 for i in range(len(tokens) - 1) if tokens[i] in ("raise", "except", "class")]
    return [(i, i + 1) for i in places if is_name(tokens[i])]


@hl.span_lf(type="FUNCTION")
def after_def(x):
    """The name after `def` is a function."""
    return [(i + 1, i + 2) for i, token in enumerate(x["tokens"]) if token == "def"]


@hl.span_lf(type="CLASS")
def second_argument(x):
    """The name that ends `isinstance(x, name)` is a class."""
    tokens = x["tokens"]
    starts = [i for i, token in enumerate(tokens) if token in ("isinstance", "issubclass")]
    return [(i + 4, i + 5) for i in starts if tokens[i + 3 : i + 4] == [","] and is_name(tokens[i + 4])]


types = ["int", "float", "str", "bytes", "list", "dict", "tuple", "set", "bool"]
functions = [name for name, thing in vars(builtins).items() if callable(thing) and not inspect.isclass(thing)]
rules = [
    called,
    in_numpy,
    after_words,
    after_def,
    second_argument,
    hl.regex_span_lf(r"\b[A-Z][a-z]+([A-Z][a-z]+)+\b", "CLASS", name="two_capitals"),
    hl.regex_span_lf(r"\b\w+(Error|Warning)\b", "CLASS", name="errors"),
    hl.regex_span_lf(r"(?<![.] )\b(is|get|make|as|_\w+)_?[a-z]+ (?=[(])", "FUNCTION", name="verbs"),
    hl.gazetteer_lf(types, "CLASS", name="types", case=True),
    hl.gazetteer_lf(functions, "FUNCTION", name="builtins", case=True),
]
documents = hl.apply_span_lfs(rules, documents)
documents[101]["votes"]

# %% [markdown]
# ## Spans from votes
#
# The label model needs no training on this set:

# %%
labels = hl.label_spans(documents)
labels

# %%
labels.to_pandas().head(5)

# %% [markdown]
# The documents have the truth in their key `gold`, which has not been used so far. A span is right if its start, end
# and type are:

# %%
labels.score("gold").to_pandas().round(3)

# %% [markdown]
# A majority vote on each token gives the same spans here, since these rules seldom disagree:

# %%
hl.label_spans(documents, model="mv").score("gold").to_pandas().round(3)

# %% [markdown]
# ## Which rules to trust
#
# Precision and recall against the result, without any truth; and how often a span of a rule touches a span of another
# rule, and differs from it:

# %%
labels.analysis.to_pandas().round(2)

# %% [markdown]
# The votes behind one span:

# %%
labels.explain(101, 0)

# %% [markdown]
# ## Probabilities
#
# Nobody votes for "no span". So a span that one rule marks has the probability 0.75, less if the rule usually agrees
# with others, and more if several rules agree. On average that fits:


# %%
def find_right(labels):
    """Return whether each span is right."""
    pairs = zip(labels.spans, documents, strict=True)
    return np.array([list(span[:3]) in row["gold"] for spans, row in pairs for span in spans])


right = find_right(labels)
print(f"mean probability {labels.probabilities.mean():.3f}, right {right.mean():.3f}")

# %% [markdown]
# Gold corrects the probabilities, and spans that are unlikely then are left out. Here the truth plays a person who
# marks the spans of 100 random lines. The spans of the other lines, in ten groups by probability, and the share of each
# that is right:

# %% alt="Share of right spans by their probability: with gold closer to the diagonal than by votes alone"
lines = np.random.default_rng(0).permutation(len(documents))[:100].tolist()
taught = hl.label_spans(documents, gold={i: documents[i]["gold"] for i in lines})
axes, results = plt.figure(figsize=(5, 5)).gca(), []
for name, each in (("votes alone", labels), ("100 lines of gold", taught)):
    by_hand = np.isin(each.to_pandas()["document"], lines)
    sure, hits = each.probabilities[~by_hand], find_right(each)[~by_hand]
    groups = np.array_split(np.argsort(sure, kind="stable"), 10)
    axes.plot([sure[group].mean() for group in groups], [hits[group].mean() for group in groups], "o-", label=name)
    results += [f"{name}: {len(sure)} spans, {hits.mean():.1%} right, Brier score {np.mean((sure - hits) ** 2):.3f}"]
diagonal = axes.plot([0, 1], [0, 1], "--", color="0.6")
names = axes.set(xlabel="probability of spans", ylabel="share that is right", xlim=(0, 1), ylim=(0, 1))
legend = axes.legend()
print("\n".join(results))

# %% [markdown]
# To use spans with a guarantee, check a random sample. Each span is an item whose class is its type, or `no span`:

# %%
spans = labels.to_labels()
truth = np.where(right, spans.labels, "no span")
sample = np.random.default_rng(0).permutation(len(spans))[:300]
checked = {spans.items[i]: truth[i] for i in sample}
certificate = hl.certify(spans, None, checked, error=0.15)
print(certificate)
print(f"really wrong among them: {np.mean(truth[certificate.accepted] == 'no span'):.1%}")

# %% [markdown]
# ## Files and pages
#
# `labels.save("train.conll")`, `.jsonl` or `.spacy` is training data for a tagger. `labels.report().save("page.html")`
# is a page for people: documents with their spans highlighted, the least certain first.

# %%
labels.save("train.conll")
print(Path("train.conll").read_text().split("\n\n")[101])
