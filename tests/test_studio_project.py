"""`Project` without any web: every accepted change is in the folder, and the labels follow."""

import subprocess
import sys
from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

import hyperlabel as hl
from hyperlabel.errors import ParameterError, ProjectError, VotesError
from hyperlabel.studio import Filter, Project, Settings, load_lfs, run_here
from hyperlabel.studio._snapshot import add_column

SPAM = [
    "Check out my channel",
    "subscribe to my channel NOW!!",
    "free money at www.x.biz",
    "everyone subscribed",
    "win 100",
]
HAM = ["great song", "i love this song", "who is here in 2015?", "best video ever", "love it so much \u00e9"]
TEXTS = [text for pair in zip(SPAM, HAM, strict=True) for text in pair] * 6
TRUTH = ["spam", "ham"] * 30


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "texts.parquet"
    likes = [i % 7 for i in range(60)]
    pl.DataFrame(
        {
            "id": [f"c{i}" for i in range(60)],
            "text": TEXTS,
            "truth": TRUTH,
            "likes": likes,
            "author": ["a", "b", "c"] * 20,
        }
    ).write_parquet(path)
    return path


@pytest.fixture
def project(table):
    with Project(table) as project:
        yield project


def add_rules(project):
    project.add("channel = keyword_lf('channel', 'spam', name='channel')")
    project.add("song = keyword_lf('song', 'ham', name='song')")
    project.add("love = keyword_lf('love', 'ham', name='love')")


def test_a_new_project_takes_identifiers_truth_and_classes_from_the_table(project):
    assert project.classes == ("ham", "spam")
    assert project.state.settings.id == "id"
    assert project.stats.truth.whole == 60
    assert project.stats.coverage == 0
    assert set(project.labels.labels) == {None}


def test_a_project_shows_how_it_stands(project):
    add_rules(project)
    assert "60 items, 3 LFs, 0 gold" in repr(project)
    page = project._repr_html_()
    assert "<td>channel, song, love</td>" in page
    assert f"<td>{project.stats.coverage:.0%}</td>" in page


def test_labels_follow_each_change_and_equal_those_of_the_lfs_alone(project):
    add_rules(project)
    lfs = load_lfs(project.folder.path / "lfs.py")
    votes = hl.apply_lfs(lfs, pl.DataFrame({"text": TEXTS}), classes=["ham", "spam"])
    expected = hl.HyperLabelModel().fit(votes)
    assert project.labels.labels.tolist() == expected.predict(votes).tolist()
    np.testing.assert_allclose(project.labels.probabilities, expected.predict_proba(votes), atol=1e-9)
    assert [stats.n_lfs for stats in project.history] == [0, 1, 2, 3]


def test_gold_is_a_label_at_once_and_none_takes_it_back(project):
    project.give_gold("c4", "spam", picked="random")
    assert project.labels.labels[4] == "spam"
    assert (project.folder.path / "gold.csv").read_text() == (
        "id,gold,picked,text\nc4,spam,random,free money at www.x.biz\n"
    )
    assert project.labels.labels.tolist() == ["spam"] * 60  # all that is known
    assert set(project.labels.source) == {"gold", "text"}
    project.give_gold("c4", None)
    assert set(project.labels.labels) == {None}


def test_gold_changes_labels_as_fit_with_gold_does(project):
    add_rules(project)
    project.give_gold("c0", "spam")
    project.give_gold("c1", "ham")
    votes = project.snapshot.votes
    gold = ["spam", "ham"] + [None] * 58
    expected = hl.HyperLabelModel(classes=["ham", "spam"]).fit(votes, gold).predict_proba(votes)
    found = project.snapshot.vote_labels.probabilities[project.snapshot.inverse]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_accuracy_on_gold_is_judged_without_the_gold_of_the_item(project):
    project.add("wrong = keyword_lf('channel', 'ham', name='wrong')")
    for item in ("c0", "c2", "c10", "c12"):
        project.give_gold(item, "spam")
    assert project.labels.labels[0] == "spam"
    right = project.find(Filter(gold="right"))
    assert project.stats.gold.part == len(right)
    project.give_gold("c9", "ham")  # judged without its gold, all that is known is spam
    assert 9 in project.find(Filter(gold="wrong"))


def test_reopening_gives_the_same_state(table):
    with Project(table) as project:
        add_rules(project)
        project.give_gold("c4", "spam")
        project.set_balance({"ham": 0.5, "spam": 0.5})
        before = project.labels
        folder = project.folder.path
    with Project(folder=folder) as again:
        assert again.state == project.state
        np.testing.assert_array_equal(again.labels.probabilities, before.probabilities)
        assert again.snapshot.balance == (0.5, 0.5)


def test_folder_of_a_project_of_any_name_can_be_given_as_the_table(table, tmp_path):
    with Project(table, folder=tmp_path / "rules") as project:
        add_rules(project)
    with Project(str(tmp_path / "rules")) as again:
        assert again.state == project.state
    assert not list(tmp_path.glob("*.studio"))


def test_only_the_changed_lf_is_run(table):
    ran = []

    def run(lf, items, advance):
        ran.append(lf.name)
        return run_here(lf, items, advance)

    with Project(table, run=run) as project:
        add_rules(project)
        project.edit("song", "song = keyword_lf(['song', 'video'], 'ham', name='song')")
        project.remove("love")
        project.undo()
        project.give_gold("c0", "spam")
    assert ran == ["channel", "song", "love", "song"]


def test_lfs_py_runs_once_per_change_of_its_text(project, tmp_path):
    log = tmp_path / "runs.txt"
    head = f"with open({str(log)!r}, 'a') as log:\n    log.write('run ')\n"
    (project.folder.path / "lfs.py").write_text(head + "from hyperlabel import keyword_lf\n")
    changes = [
        project.refresh,
        lambda: project.add("channel = keyword_lf('channel', 'spam', name='channel')"),
        lambda: project.edit("channel", "channel = keyword_lf('my channel', 'spam', name='channel')"),
        lambda: project.remove("channel"),
    ]
    for change in changes:
        change()
    assert log.read_text() == "run " * len(changes)
    project.give_gold("c4", "spam")
    project.undo()
    project.undo()
    (project.folder.path / "gold.csv").write_text("id,gold\nc0,spam\n")
    assert project.refresh()
    assert log.read_text() == "run " * len(changes)


def test_undo_reverts_every_kind_of_change(project):
    states = [project.state]
    changes = [
        lambda: project.add("channel = keyword_lf('channel', 'spam', name='channel')"),
        lambda: project.give_gold("c4", "spam"),
        lambda: project.edit("channel", "channel = keyword_lf('my channel', 'spam', name='channel')"),
        lambda: project.set_balance([0.5, 0.5]),
        lambda: project.set_classes(["ham", "spam", "other"]),
        lambda: project.remove("channel"),
    ]
    for change in changes:
        change()
        states.append(project.state)
    for state in reversed(states[:-1]):
        project.undo()
        assert project.state == state
        assert project.folder.changed() == []
    with pytest.raises(ProjectError, match="there is nothing to undo"):
        project.undo()


def test_undo_returns_the_change(project):
    project.give_gold("c4", "spam")
    assert project.undo() == "gold c4: spam"


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("@labeling_function\ndef bad(x):\n    return x.nothing", hl.LFError, "LF 'bad' failed on row 0 with Attr"),
        ("a = 3", ProjectError, "the source does not define a new LF; expected a function with @labeling_function"),
        (
            "a = keyword_lf('a', 'sapm', name='a')",
            VotesError,
            "the vote of LF 'a' on row .* is 'sapm'; expected one of",
        ),
        ("def f(:", ProjectError, "lfs.py, line 3: invalid syntax|lfs.py, line"),
        ("likes = keyword_lf('a', 'spam', name='likes')", ProjectError, "'likes', like a column of the table"),
    ],
)
def test_an_lf_that_fails_changes_nothing(project, source, error, message):
    before = (project.folder.path / "lfs.py").read_bytes(), project.state
    with pytest.raises(error, match=message):
        project.add(source)
    assert ((project.folder.path / "lfs.py").read_bytes(), project.state) == before


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda p: p.give_gold("c4", "sapm"), "label is 'sapm'; expected one of the classes, 'ham', 'spam'"),
        (lambda p: p.give_gold("zz", "spam"), "item is 'zz'; expected the identifier of a row"),
        (lambda p: p.give_gold(4, "spam"), "item is 4; expected the identifier of a row that is explored, as a string"),
        (lambda p: p.explain("zz"), "item is 'zz'; expected the identifier of a row"),
        (lambda p: p.explain("c0"), "there is no LF, so no label can be explained"),
        (lambda p: p.remove("nothing"), "name is 'nothing', which is not in lfs.py"),
        (lambda p: p.candidates("c0"), "item 'c0' has no label; state the class to vote for"),
        (lambda p: p.candidates("c0", vote="sapm"), "vote is 'sapm'; expected one of the classes: ham, spam"),
        (lambda p: p.save_labels("x.csv"), "there is no gold and no LF, so there are no labels"),
        (lambda p: p.save_report("x.html"), "there is no LF, so there is nothing to report"),
        (lambda p: p.what_if("a = 1", replacing="nothing"), "name is 'nothing', which is not in lfs.py"),
        (lambda p: p.what_if("a = 1"), "the source does not define a new LF; give it another name"),
    ],
)
def test_a_mistake_is_refused_with_the_remedy(project, act, message):
    with pytest.raises((ProjectError, ParameterError), match=message):
        act(project)


def test_a_vote_column_of_the_table_cannot_be_removed(tmp_path):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"text": ["a", "b"], "lf_x": ["no", "yes"]}).write_parquet(path)
    with Project(path) as project:
        assert project.classes == ("no", "yes")
        assert project.labels.labels.tolist() == ["no", "yes"]
        with pytest.raises(ProjectError, match="name is 'lf_x', which is a column of the table"):
            project.remove("lf_x")


def test_vote_columns_are_named_by_patterns_too(tmp_path):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"text": ["a", "b"], "rule_x": ["no", "yes"], "rule_y": [None, "yes"], "n": [3, 4]}).write_parquet(
        path
    )
    with Project(path, lfs=["rule_*"]) as project:
        assert list(project.snapshot.columns) == ["rule_x", "rule_y"]
        assert project.data.metadata == ["n"]


def test_gold_of_the_table_counts_and_gold_given_here_overrules_it(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("text,gold\nfree,1\nsong,0\nx,\n")
    with Project(path) as project:
        assert project.classes == (0, 1)
        assert project.labels.labels.tolist()[:2] == [1, 0]
        project.give_gold("0", 0)
        assert project.labels.labels.tolist() == [0, 0, 0]


def test_a_second_process_is_refused_with_the_reason(project):
    program = f"from hyperlabel.studio import Project; Project(folder={str(project.folder.path)!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "is already open in process" in done.stderr
    with pytest.raises(ProjectError, match="is already open in process"):
        Project(folder=project.folder.path)


def test_an_edit_in_another_editor_is_applied(project):
    add_rules(project)
    path = project.folder.path / "lfs.py"
    path.write_text(path.read_text().replace("'love'", "'best'", 1))
    assert project.refresh()
    assert not project.refresh()
    assert project.labels.labels[7] == "ham"
    assert project.history[-1].action == "lfs.py changed outside"
    project.undo()
    assert "'love'" in path.read_text()


def test_a_broken_edit_in_another_editor_is_named_and_never_overwritten(project):
    add_rules(project)
    path = project.folder.path / "lfs.py"
    path.write_text("broken(")
    for act in (project.refresh, lambda: project.give_gold("c0", "spam"), project.undo):
        with pytest.raises(ProjectError, match="lfs.py, line 1"):
            act()
    assert path.read_text() == "broken("
    assert len(project.snapshot.columns) == 3


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("gold.csv", "id,gold\nc0,sapm\n", "gold.csv, line 2: the class is 'sapm'; expected one of ham, spam"),
        ("gold.csv", "item,gold\nc0,spam\n", "gold.csv has no column 'id'"),
        ("gold.csv", "id,gold\nc0,spam\nc0,ham\n", "gold.csv, line 3: item 'c0' occurs twice"),
        (
            "gold.csv",
            "id,gold,text\nc0,spam,another text\n",
            "item 'c0' started with 'another text' .* table has changed",
        ),
        ("project.toml", "format = 9\n", "project.toml has a format other than 1"),
        ("project.toml", "format = [", "project.toml cannot be read"),
        ("project.toml", 'format = 1\ntable = "x.csv"\ntext = "text"', "names another table"),
        ("lfs.py", b"\xff\xfe", "lfs.py is not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_place(project, name, content, message):
    target = project.folder.path / name
    target.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ProjectError, match=message):
        project.refresh()


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"text": "body"}, ProjectError, "text is 'body', but .* has the columns id, text, truth, likes, author"),
        ({"text": "likes"}, ProjectError, "text is 'likes', a column of Int64; expected texts"),
        ({"id": "author"}, ProjectError, "id is 'author', which has a value twice"),
        ({"classes": ["one"]}, ParameterError, "expected at least two"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(table, given, error, message):
    with pytest.raises(error, match=message):
        Project(table, **given)


@pytest.mark.parametrize("mistake", [{"text": "body"}, {"text": "likes"}, {"id": "author"}])
def test_a_mistake_leaves_nothing_that_would_repeat_it(table, mistake):
    with pytest.raises(ProjectError):
        Project(table, **mistake)
    assert not table.with_suffix(".studio").exists()
    with Project(table) as project:
        assert (project.data.settings.text, project.data.settings.id) == ("text", "id")


def test_a_missing_table_is_named_by_its_path_and_leaves_no_folder(tmp_path):
    with pytest.raises(VotesError, match=f"^there is no file or folder '{tmp_path / 'no.csv'}'; check the path$"):
        Project(tmp_path / "no.csv")
    assert not list(tmp_path.iterdir())


def test_other_columns_and_tables_than_those_of_the_project_are_refused(table, tmp_path):
    with Project(table, folder=tmp_path / "p"):
        pass
    message = r"^text is 'author', but the project in '.*p' has 'text'; leave it out, correct project.toml, or name"
    with pytest.raises(ProjectError, match=message):
        Project(table, folder=tmp_path / "p", text="author")
    with pytest.raises(ProjectError, match=r"^'.*p' has a project of '.*', not of '.*other.csv'; name another folder$"):
        Project(tmp_path / "other.csv", folder=tmp_path / "p")


def test_the_usual_column_of_texts_is_refused_too_if_it_is_named(table, tmp_path):
    with Project(table, folder=tmp_path / "p", text="author"):
        pass
    with Project(table, folder=tmp_path / "p") as project:
        assert project.data.settings.text == "author"
    with pytest.raises(ProjectError, match=r"^text is 'text', but the project in '.*p' has 'author'; leave it out"):
        Project(table, folder=tmp_path / "p", text="text")


def test_a_project_without_table_or_folder_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="table and folder are both missing"):
        Project()
    with pytest.raises(ProjectError, match=r"has no project.toml; name the table to start from"):
        Project(folder=tmp_path / "empty")


def test_kill_at_any_moment_leaves_the_last_accepted_state(table, tmp_path):
    program = f"""
import sys
from hyperlabel.studio import Project
project = Project({str(table)!r}, folder={str(tmp_path / "p")!r})
print("ready", flush=True)
for i in range(1000):
    project.add(f"r{{i}} = keyword_lf('song{{i}}', 'ham', name='r{{i}}')")
    project.give_gold(f"c{{i % 60}}", ["ham", "spam"][i // 60 % 2])
    print(i, flush=True)
"""
    for n_changes in (0, 3, 8):
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        lines = [process.stdout.readline() for _ in range(n_changes)]
        process.kill()
        lines += process.communicate()[0].split()
        with Project(folder=tmp_path / "p") as project:
            accepted = len(lines)
            assert len(project.source.lfs) in (accepted, accepted + 1)
            assert len(project.state.gold) in (min(accepted, 60), min(accepted + 1, 60))
            for name in list(project.source.lfs):
                project.remove(name)
            for item in list(project.state.gold):
                project.give_gold(item, None)


def test_candidates_promise_what_adding_them_does(project):
    add_rules(project)
    project.give_gold("c6", "spam")
    project.learns_later = True  # the promise is about the moment before texts are learned from again
    for item, selection in [
        ("c6", "everyone subscribed"),
        ("c2", ""),
        ("c4", "www.x"),
        ("c9", ""),
        ("c9", "much \u00e9"),
    ]:
        found = project.candidates(item, selection, vote="spam")
        assert found
        assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
        for each in found:
            real = project.what_if(each.source)
            assert (real.votes, real.right, real.wrong) == (each.effect.votes, each.effect.right, each.effect.wrong)
            np.testing.assert_array_equal(real.changed, each.effect.changed)
            before = project.snapshot.best
            project.add(each)
            assert each.name in project.source.lfs
            np.testing.assert_array_equal(np.flatnonzero(project.snapshot.best != before), each.effect.changed)
            project.undo()


def test_candidates_are_words_phrases_expressions_lengths_and_other_columns(project):
    kinds = {each.kind for row in range(10) for each in project.candidates(f"c{row}", vote="spam", most=99)}
    assert kinds == {"keyword", "phrase", "expression", "length", "number", "column"}
    sources = " ".join(each.source for each in project.candidates("c2", "subscribe to", vote="spam", most=99))
    assert "keyword_lf('subscribe to', 'spam'" in sources
    assert "keyword_lf('to', 'spam'" not in sources  # it votes on the same rows
    assert r"regex_lf(r'(?i)\bsubscri\w*', 'spam'" in sources


def test_gold_moves_good_rules_up(project):
    for i in range(0, 20, 2):
        project.give_gold(f"c{i}", "spam")
        project.give_gold(f"c{i + 1}", "ham")
    best = project.candidates("c2", vote="spam", most=1)[0]
    assert best.effect.wrong == 0
    assert best.precision > 0.6


def test_what_if_of_an_edit_compares_with_the_lf_it_replaces(project):
    add_rules(project)
    effect = project.what_if("song = keyword_lf('video', 'ham', name='song')", replacing="song")
    texts = np.array(TEXTS)
    changed = {"great song", "best video ever"}
    assert set(texts[effect.changed]) == changed
    assert set(effect.before[texts[effect.changed] == "great song"]) == {0}
    assert set(effect.after[texts[effect.changed] == "great song"]) == {-1}


def test_next_items_are_of_the_kind_asked_for(project):
    assert len(project.next_items("uncovered", 5)) == 5
    add_rules(project)
    project.add("my = keyword_lf('my', 'ham', name='my')")
    rows = [project.data.row_of[item] for item in project.next_items("contested", 100)]
    assert rows
    assert project.snapshot.conflict[rows].all()
    rows = [project.data.row_of[item] for item in project.next_items("uncovered", 100)]
    assert (project.snapshot.n_votes[rows] == 0).all()
    rows = [project.data.row_of[item] for item in project.next_items("uncertain", 100)]
    assert (np.diff(project.snapshot.confidence[rows]) >= 0).all()
    assert sorted(project.next_items("random", 60)) == sorted(project.data.ids)
    project.give_gold(project.next_items("useful")[0], "ham")
    for by in ("useful", "uncertain", "contested", "uncovered", "random"):
        assert not set(project.next_items(by, 60)) & set(project.state.gold)
    with pytest.raises(ParameterError, match="by is 'best'; expected 'useful', 'uncertain'"):
        project.next_items("best")


def test_filters_find_rows(project):
    add_rules(project)
    project.add("my = keyword_lf('my', 'ham', name='my')")
    texts = np.array(TEXTS)

    def found(**wanted):
        return set(texts[project.find(Filter(**wanted))])

    assert found(lf="song") == {"great song", "i love this song"}
    assert found(vote="spam") == {"Check out my channel", "subscribe to my channel NOW!!"}
    assert found(lf="channel", against="my") == found(conflict=True) == found(vote="spam")
    assert found(search="LOVE") == {"i love this song", "love it so much \u00e9"}
    assert found(search="(") == found(search="a" * 300_000) == set()
    assert found(covered=False) == {t for t in TEXTS if not any(w in t for w in ("channel", "song", "love", "my"))}
    assert found(label="") == found(covered=False)
    assert found(label="ham") >= {"great song"}
    assert len(project.find(Filter(confidence=(0.0, 1.0)))) == 60
    project.give_gold("c1", "spam")
    assert project.find(Filter(gold="given")).tolist() == [1]
    assert project.find(Filter(gold="wrong")).tolist() == [1]
    assert len(project.find(Filter(gold="missing"))) == 59
    for wanted, message in [
        ({"lf": "zz"}, "there is no LF 'zz'; the LFs are channel, song, love, my"),
        ({"label": "zz"}, "label is 'zz'; expected one of ham, spam"),
        ({"gold": "zz"}, "gold is 'zz'; expected 'any', 'given', 'missing', 'right' or 'wrong'"),
    ]:
        with pytest.raises(ParameterError, match=message):
            project.find(Filter(**wanted))


def test_the_table_of_lfs_has_their_numbers(project):
    assert project.list_lfs() == []
    add_rules(project)
    project.give_gold("c0", "spam")
    row = project.list_lfs()[0]
    assert (row["lf"], row["votes_for"], row["votes"], row["right"], row["wrong"]) == ("channel", "spam", 12, 1, 0)
    assert row["coverage"] == pytest.approx(0.2)
    assert row["gold_accuracy"] == 1
    assert row["changes"] == pytest.approx(0.2)


def test_advice_is_that_of_the_advisor(project):
    assert len(project.advise()) == 0
    add_rules(project)
    project.give_gold("c0", "spam")
    project.give_gold("c1", "ham")
    model = hl.HyperLabelModel(classes=["ham", "spam"])
    expected = hl.advise(project.snapshot.votes, {0: "spam", 1: "ham"}, model=model)
    assert project.advise() == expected
    assert "uncovered" in {each.kind for each in expected}


def test_a_certificate_rests_on_items_that_were_picked_at_random(project, tmp_path):
    project.add("@labeling_function\ndef right(x):\n    return x.truth\n")
    for i in range(0, 60, 2):
        project.give_gold(f"c{i}", TRUTH[i], picked="useful")
    with pytest.raises(ProjectError, match="a certificate needs LFs, and gold of items picked at random"):
        project.save_certificate(tmp_path / "c.txt")
    for i in range(1, 60, 2):
        project.give_gold(f"c{i}", TRUTH[i], picked="random")
    said = project.save_certificate(tmp_path / "c.txt", error=0.2)
    assert "30 labels by hand" in said
    assert (tmp_path / "c.txt").read_text().startswith(said)


def test_explain_names_the_votes_of_an_item(project):
    add_rules(project)
    explained = project.explain("c3")
    assert explained.item == "c3"
    assert {each.lf for each in explained.contributions} == {"song", "love"}


def test_labels_of_all_rows_are_written_with_all_columns(project, tmp_path):
    add_rules(project)
    project.give_gold("c4", "spam")
    assert project.save_labels(tmp_path / "out.parquet") == int((project.snapshot.best >= 0).sum())
    frame = pl.read_parquet(tmp_path / "out.parquet")
    assert frame.columns == ["id", "text", "truth", "likes", "author", "label", "confidence", "label_source"]
    assert frame["label"].to_list() == project.labels.labels.tolist()
    project.save_report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Scores against the truth" in page
    with pytest.raises(ProjectError, match=r"expected a name that ends in .html"):
        project.save_report(tmp_path / "report.txt")
    with pytest.raises(ParameterError, match=r"^path is '.*report.html', but it cannot be written: No such file"):
        project.save_report(tmp_path / "nowhere" / "report.html")


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_large_table_is_explored_by_a_sample_and_labeled_whole(tmp_path, form):
    path = tmp_path / f"big.{form}"
    frame = pl.DataFrame({"id": np.arange(3000), "text": TEXTS * 50, "likes": np.arange(3000) % 5})
    getattr(frame, f"write_{form}")(path)
    with Project(path, folder=tmp_path / "p", classes=["ham", "spam"], sample=500) as project:
        assert (project.data.n, project.data.n_rows, project.data.is_sample) == (500, 3000, True)
        add_rules(project)
        project.add("liked = threshold_lf('likes', 'ham', at_least=4, name='liked')")
        project.add("@labeling_function\ndef loud(x):\n    return 'spam' if 'NOW' in x.text else None\n")
        item = project.next_items("random")[0]
        project.give_gold(item, "spam")
        labeled = project.save_labels(tmp_path / "out.parquet")
        lfs = list(project.source.lfs.values())
    out = pl.read_parquet(tmp_path / "out.parquet")
    assert out.columns == ["id", "text", "likes", "label", "confidence", "label_source"]
    assert out["label"].null_count() == 0
    assert out["text"].to_list() == TEXTS * 50
    assert labeled == out["label"].count()
    votes = hl.apply_lfs(lfs, frame, classes=["ham", "spam"])
    expected = hl.HyperLabelModel().fit_predict(votes, {int(item): "spam"})
    by_votes = out["label_source"].is_in(["votes", "gold"]).to_numpy()
    assert out["label"].to_numpy()[by_votes].tolist() == expected[by_votes].tolist()


def test_patterns_grown_by_a_column_are_those_of_the_votes():
    rng = np.random.default_rng(0)
    cells = rng.integers(-1, 3, (200, 4))
    votes = hl.Votes.from_array(cells[:, :3], lfs=["a", "b", "c"], n_classes=3)
    grown = add_column(hl.Patterns.from_votes(votes), "d", cells[:, 3])
    np.testing.assert_array_equal(grown.to_array()[grown.inverse], cells)
    np.testing.assert_array_equal(grown.counts, np.bincount(grown.inverse))
    assert grown.lf_names == ("a", "b", "c", "d")


def test_settings_survive_their_file():
    settings = Settings('a "b".csv', "te\nxt", classes=(0, 1), class_balance=(0.25, 0.75), lfs=("lf_a",), truth="y")
    assert Settings.from_toml(settings.to_toml()) == settings


def test_public_project_is_the_studio_s():
    assert hl.Project is Project


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("sample", [100, 20])
@pytest.mark.parametrize("change", [lambda f: f.reverse(), lambda f: f.head(40), lambda f: f.drop("likes")])
def test_labels_are_never_written_beside_rows_that_changed_since_they_were_read(tmp_path, form, sample, change):
    path = tmp_path / f"texts.{form}"
    frame = pl.DataFrame({"text": TEXTS, "likes": [None, 0.5, float("nan")] * 20})
    getattr(frame, f"write_{form}")(path)
    with Project(path, classes=["ham", "spam"], sample=sample) as project:
        add_rules(project)
        project.save_labels(tmp_path / "out.parquet")
        before = (tmp_path / "out.parquet").read_bytes()
        getattr(change(frame), f"write_{form}")(path)
        with pytest.raises(ProjectError, match=f"texts.{form} has changed since the project was opened; open the"):
            project.save_labels(tmp_path / "out.parquet")
    assert (tmp_path / "out.parquet").read_bytes() == before


def test_a_change_keeps_what_another_program_wrote_a_moment_before(project):
    add_rules(project)
    lfs, gold = project.folder.path / "lfs.py", project.folder.path / "gold.csv"
    lfs.write_text(lfs.read_text() + "best = keyword_lf('best', 'ham', name='best')\n")
    project.give_gold("c0", "spam")
    assert "best" in project.source.lfs
    gold.write_text(gold.read_text() + "c1,ham,,\n")
    project.remove("best")
    assert set(project.state.gold) == {"c0", "c1"}
    assert "best" not in lfs.read_text()
    assert project.folder.changed() == []


def test_each_undo_returns_its_change(project):
    add_rules(project)
    project.give_gold("c4", "spam")
    assert [project.undo() for _ in range(3)] == ["gold c4: spam", "added love", "added song"]


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda p: p.add("song = keyword_lf('x', 'ham', name='new')"), "the LF 'song' would be gone after this; give"),
        (lambda p: p.remove("one"), "the LF 'two' would be gone after this; edit lfs.py itself"),
        (lambda p: p.edit("one", "one = keyword_lf('e', 'ham', name='one')"), "the LF 'two' would be gone"),
        (lambda p: p.edit("song", "# nothing"), "the source does not define an LF; to remove 'song', remove it"),
    ],
)
def test_no_change_loses_another_lf(project, act, message):
    add_rules(project)
    project.add("one, two = keyword_lf('a', 'ham', name='one'), keyword_lf('i', 'ham', name='two')")
    before = (project.folder.path / "lfs.py").read_bytes()
    with pytest.raises((ProjectError, ParameterError), match=message):
        act(project)
    assert (project.folder.path / "lfs.py").read_bytes() == before


ODD = ["use {vote} now", "x\u00b2 any", "\u00bd words", "\ufb01ne {", "fine {a} '", '{0} list \\ "', "\u2460 {}"]


def test_rules_from_any_letters_can_be_added_and_vote_as_promised(tmp_path):
    path = tmp_path / "t.parquet"
    columns = {"te{x}t": ODD * 2, "k{}'": ["{u}", "c"] * 7, "n": [float("inf"), 1] * 7, "l": [[1], [2]] * 7}
    pl.DataFrame(columns).write_parquet(path)
    with Project(path, text="te{x}t", classes=["{h}", "s'"]) as project:
        project.add("words = ['x']\n@labeling_function\ndef own(x):\n    return '{h}' if any(words) else ABSTAIN")
        for row, text in enumerate(ODD):
            for selection in (text, *text.split(), ""):
                for candidate in project.candidates(str(row), selection, vote="s'", most=99):
                    project.add(candidate)
                    column = project.snapshot.columns[candidate.name]
                    assert (column >= 0).sum() == candidate.effect.votes
        assert (project.snapshot.columns["own"] == 0).all()
        assert len(project.source.lfs) == len(project.history) - 1 > 10
    with Project(folder=tmp_path / "t.studio") as project:
        assert len(project.source.lfs) == len(project.snapshot.columns) > 10


@pytest.mark.parametrize("classes", [["a\r\nb", "c\rd"], ["\x7f", 'q"\n'], ["-", "+"], [" ham", "ham"], [3, 1]])
def test_odd_classes_and_identifiers_survive_their_files(tmp_path, classes):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"id": ["a\r\nb", "a\nb", "\rc", '"'], "text": ["free", "free", "see", "\x7f"]}).write_parquet(path)
    with Project(path, classes=classes) as project:
        project.add(f"free = keyword_lf('free', {classes[0]!r}, name='free')")
        project.give_gold("a\r\nb", classes[1])
        project.give_gold("\rc", classes[0], picked="a\r")
        before, state = project.labels.labels.tolist(), project.state
    with Project(folder=tmp_path / "t.studio") as project:
        assert project.state == state
        assert project.labels.labels.tolist() == before


def test_an_unpaired_surrogate_is_refused_and_changes_nothing(project):
    for act in (lambda: project.give_gold("c0", "spam", picked="\ud800"), lambda: project.set_classes(["a", "\ud800"])):
        with pytest.raises(ProjectError, match=r"(gold.csv|project.toml) cannot be written: .* ends in an unpaired"):
            act()
    assert project.folder.changed() == []
    assert project.classes == ("ham", "spam")


def test_files_of_editors_that_mark_the_encoding_are_read(project):
    add_rules(project)
    for name in ("project.toml", "lfs.py", "gold.csv"):
        path = project.folder.path / name
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    state = project.state
    assert project.refresh()
    assert project.state == state


ALIKE = [f"{'Dear customer, thank you for your order. ' * 3}{word}" for word in ("free", "see", "win")]


@pytest.mark.parametrize("texts", [ALIKE, ["", "see", "win"], [None, "see", " "]])
@pytest.mark.parametrize("sample", [10, 2])
def test_gold_is_refused_if_another_row_has_its_place_however_alike_they_start(tmp_path, texts, sample):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"text": texts}).write_parquet(path)
    with Project(path, classes=["ham", "spam"]) as project:
        for item in ("0", "1", "2"):
            project.give_gold(item, "spam")
    settings = tmp_path / "t.studio" / "project.toml"
    settings.write_text(settings.read_text().replace("100000", str(sample)))
    with Project(folder=tmp_path / "t.studio") as project:
        project.add("free = keyword_lf('free', 'spam', name='free')")
        project.save_labels(tmp_path / "out.parquet")
    pl.DataFrame({"text": [texts[2], texts[1], texts[0]]}).write_parquet(path)
    with (
        pytest.raises(ProjectError, match=r"item .* started with .* the table has changed"),
        Project(folder=tmp_path / "t.studio") as project,
    ):
        project.save_labels(tmp_path / "out.parquet")


@pytest.mark.parametrize(
    "ids",
    [
        [datetime(2020, 1, 1, hour) for hour in range(20)],
        [timedelta(hours=hour) for hour in range(20)],
        [1e17 * i for i in range(20)],
        [f"i{i % 13}" for i in range(20)],  # the sample has the second of two
    ],
)
def test_gold_reaches_all_rows_whatever_kind_their_identifiers_are_of(tmp_path, ids):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"id": ids, "text": ["free", "see"] * 10}).write_parquet(path)
    with Project(path, id="id", classes=["ham", "spam"], sample=2) as project:
        project.add("free = keyword_lf('free', 'spam', name='free')")
        item, row = project.data.ids[1], project.data.rows[1]
        gold = "ham" if row % 2 == 0 else "spam"
        project.give_gold(item, gold)
        if ids.count(ids[row]) > 1:
            with pytest.raises(ProjectError, match="id is 'id', which has the value 'i3' twice; gold cannot be"):
                project.save_labels(tmp_path / "out.parquet")
            return
        project.save_labels(tmp_path / "out.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet")["label"][int(row)] == gold


@pytest.mark.parametrize("sample", [100, 20])
def test_lfs_may_be_named_like_the_columns_that_are_added(tmp_path, sample):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"text": ["free", "see"] * 20}).write_parquet(path)
    with Project(path, classes=["ham", "spam"], sample=sample) as project:
        project.add("label = keyword_lf('free', 'spam', name='label')")
        project.add("confidence = keyword_lf('see', 'ham', name='confidence')")
        assert project.save_labels(tmp_path / "out.parquet") == 40
    out = pl.read_parquet(tmp_path / "out.parquet")
    assert out.columns == ["text", "label", "confidence"]
    assert out["label"].to_list() == ["spam", "ham"] * 20


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('classes = "ham"', "project.toml: classes is 'ham'; expected a list"),
        ("classes = [[1], [2]]", "project.toml: classes is .*; expected at least one, each once"),
        ("class_balance = [0.5]", "project.toml: class_balance is .*; expected one probability for each"),
        ('sample = "x"', "project.toml: sample is 'x'; expected a number of rows"),
        ("lfs = [5]", "project.toml: lfs is 5; expected names of columns"),
        ("text = 5", "project.toml: text is 5; expected a string"),
        ('id = ""', "id is '', but .* has the columns"),
    ],
)
def test_settings_that_no_project_writes_are_refused(table, line, message):
    with Project(table) as project:
        path = project.folder.path / "project.toml"
    key = line.partition(" ")[0]
    kept = [each for each in path.read_text().splitlines() if not each.startswith(f"{key} ")]
    path.write_text("\n".join([*kept, line]))
    with pytest.raises(ProjectError, match=message):
        Project(folder=path.parent)


def test_every_text_gets_a_label_without_embeddings_too(tmp_path, monkeypatch):
    monkeypatch.setattr("hyperlabel.studio._texts.find_spec", lambda name: None)
    texts = ["free money now", "see you at six", "free prize money", "see you soon", "win free money", "at six then"]
    pl.DataFrame({"text": texts}).write_csv(tmp_path / "t.csv")
    with Project(tmp_path / "t.csv", classes=["ham", "spam"]) as project:
        project.give_gold("0", "spam")
        project.give_gold("1", "ham")
        assert project.labels.labels.tolist() == ["spam", "ham"] * 3
