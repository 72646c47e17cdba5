"""Matches of grammar checkers as hypotheses: formats, offsets, overlaps, tokens."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import gecjury
from gecjury.cli import main
from gecjury.core.errors import InputError, OptionError
from gecjury.corpus.corpus import Corpus, ReferenceMark
from gecjury.corpus.files.reading import read_version
from gecjury.corpus.languages.language import language_of
from gecjury.studies.systems.score import Score

PLAIN = ["This is an test, isn't it?", "He go to school every day."]
TOKENS = ["This is an test , is n't it ?", "He go to school every day ."]


def lt(
    text: str, old: str, *new: str, rule: str = "RULE", utf16: int | None = None
) -> dict[str, Any]:
    """A match as in a reply of LanguageTool; offsets of a text without wide characters."""
    start = text.index(old) if utf16 is None else utf16
    return {
        "message": "m",
        "offset": start,
        "length": len(old),
        "replacements": [{"value": value} for value in new],
        "context": {"text": f"...{old}...", "offset": 3, "length": len(old)},
        "sentence": text,
        "rule": {"id": rule, "issueType": "grammar", "category": {"id": "GRAMMAR", "name": "G"}},
    }


def corpus(
    folder: Path,
    content: Any,
    *,
    name: str = "lt.jsonl",
    tokens: Sequence[str] = TOKENS,
    plain: Sequence[str] | None = PLAIN,
    **options: Any,
) -> Corpus:
    """Return the corpus of a source and one file of matches; lists are written as JSON lines."""
    (folder / "source.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8")
    if plain is not None:
        (folder / "plain.txt").write_text("\n".join(plain) + "\n", encoding="utf-8")
        options["source_text"] = folder / "plain.txt"
    if isinstance(content, list):
        content = "\n".join(map(json.dumps, content))
    elif isinstance(content, dict):
        content = json.dumps(content, indent=1)
    (folder / name).write_text(content + "\n", encoding="utf-8")
    return gecjury.read_corpus(folder / "source.txt", [folder / name], **options)


def test_languagetool_line_by_line(tmp_path: Path) -> None:
    replies = [
        {"matches": [lt(PLAIN[0], "an", "a"), lt(PLAIN[0], "isn't", "wasn't", rule="T")]},
        {"matches": [lt(PLAIN[1], "go", "goes", "went")]},
    ]
    version = corpus(tmp_path, replies).systems["lt"]
    # Only the text of a match is tokenised: "wasn't" is split as "isn't" is in the source.
    assert version.lines == ("This is a test , was n't it ?", "He goes to school every day .")
    assert version.marks == (
        (ReferenceMark(2, 3, "GRAMMAR:RULE", True), ReferenceMark(5, 7, "GRAMMAR:T", True)),
        (ReferenceMark(1, 2, "GRAMMAR:RULE", True),),
    )
    assert version.edits is None  # they are extracted, as for any other system
    assert version.note == "3 matches"


def test_one_list_of_replies_is_one_reply_a_line(tmp_path: Path) -> None:
    replies = [{"matches": []}, {"matches": [lt(PLAIN[1], "go", "goes")]}]
    version = corpus(tmp_path, json.dumps(replies, indent=1), name="lt.json").systems["lt.json"]
    assert version.lines == (TOKENS[0], "He goes to school every day .")
    with pytest.raises(InputError, match=r"3 replies, but .*plain\.txt has 2 lines; expected one"):
        corpus(tmp_path, json.dumps([*replies, {"matches": []}]), name="lt.json")
    with pytest.raises(InputError, match=r"a list of 2 values, .*one reply a line \(e\.g\. `jq"):
        corpus(tmp_path, json.dumps([*replies[:1], None]), name="lt.json")


def test_one_reply_for_the_whole_text(tmp_path: Path) -> None:
    text = "\n".join(PLAIN)
    crossing = {**lt(text, "?", "?"), "length": 4, "context": None}
    reply = {"software": {"name": "LanguageTool"}, "matches": [lt(text, "go", "goes"), crossing]}
    version = corpus(tmp_path, reply, name="lt.json").systems["lt.json"]
    assert version.lines == (TOKENS[0], "He goes to school every day .")
    assert version.note == "2 matches: 1 beyond the end of a line, left out"


def test_offsets_of_languagetool_are_utf16_code_units(tmp_path: Path) -> None:
    # Each of the two faces is one character and two units: "an" is at character 3, unit 5.
    line = "😀😀 an apple 😀, an test"
    matches = [lt(line, "an", "An", utf16=5), lt(line, "an", "a", utf16=18)]
    tokens = ["😀😀 an apple 😀 , an test"]
    made = corpus(tmp_path, {"matches": matches}, tokens=tokens, plain=[line])
    assert made.systems["lt"].lines == ("😀😀 An apple 😀 , a test",)


def harper(text: str, old: str, *suggestions: Any, rule: str = "R") -> dict[str, Any]:
    """A lint as `Lint.to_json()` of harper.js 2.10.0 returns it, together with its rule."""
    start = len(text[: text.index(old)].encode("utf-16-le")) // 2
    end = start + len(old.encode("utf-16-le")) // 2
    inner = {"span": {"start": 0, "end": 0}, "lint_kind": "Typo", "suggestions": suggestions}
    span = {"start": start, "end": end}
    return {"inner": inner, "span": span, "problem_text": old, "rule": rule}


def test_harper_js(tmp_path: Path) -> None:
    line = "😀 However this this is a an test"
    lints = [
        harper(line, "However", {"InsertAfter": [","]}),
        harper(line, " this this", {"ReplaceWith": list(" this")}),
        harper(line, "a ", "Remove", rule="AnA"),
        harper(line, "test"),
    ]
    made = corpus(tmp_path, [{"lints": lints}], tokens=[line], plain=None).systems["lt"]
    assert made.lines == ("😀 However , this is an test",)
    assert made.marks == (
        (
            ReferenceMark(1, 2, "Typo:R", True),
            ReferenceMark(2, 4, "Typo:R", True),
            ReferenceMark(5, 6, "Typo:AnA", True),
            ReferenceMark(7, 8, "Typo:R", False),
        ),
    )


def test_harper_cli(tmp_path: Path) -> None:
    """The JSON of `harper-cli lint --format json`: one list, human-readable suggestions."""
    text = "\n".join(PLAIN)

    def lint(old: str, *suggestions: str) -> dict[str, Any]:
        start = text.index(old)
        span = {"char_start": start, "char_end": start + len(old)}
        return {"rule": "R", "kind": "Agreement", "span": span, "suggestions": suggestions,
                "matched_text": old}  # fmt: skip

    lints = [
        lint("an", "Replace with: “a”"),
        lint("He", "Insert “ also”"),
        lint("to ", "Remove error"),
    ]
    content = json.dumps([{"file": "plain.txt", "lint_count": 3, "lints": lints}], indent=2)
    version = corpus(tmp_path, content).systems["lt"]
    assert version.lines == ("This is a test , is n't it ?", "He also go school every day .")


def test_overlaps(tmp_path: Path) -> None:
    """Suggestions take precedence over marks, then the lower offset, then the longer span."""
    matches = [
        lt(PLAIN[1], "go to school", rule="STYLE"),  # without a suggestion
        lt(PLAIN[1], "go", "went", rule="SHORT"),
        lt(PLAIN[1], "go to", "goes to", rule="LONG"),
        lt(PLAIN[1], "to school", "schoolwards", rule="LATER"),
        lt(PLAIN[1], "every", "every", rule="EQUAL"),
        lt(PLAIN[1], "day", rule="MARK"),
    ]
    version = corpus(tmp_path, [{"matches": []}, {"matches": matches}]).systems["lt"]
    assert version.lines[1] == "He goes to school every day ."
    assert version.marks[1] == (  # type: ignore[index]
        ReferenceMark(1, 3, "GRAMMAR:LONG", True),
        ReferenceMark(5, 6, "GRAMMAR:MARK", False),
    )
    assert version.note == (
        "6 matches: 1 changing nothing, 3 overlapping another, left out, "
        "1 without a suggestion (counted by errant:mode=span and mode=token)"
    )


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("y d", "yd", "He go to school everyday ."),  # two words are joined
        ("school", "school,", "He go to school , every day ."),
        ("day.", "day .", "He go to school every day ."),  # blanks next to punctuation
        ("to ", "", "He go school every day ."),
        (" ", " ", "He go to school every day ."),
        ("o to", "oes in", "He goes in school every day ."),  # begins within a word
        ("every day", "U.S. e-mails etc. don't", "He go to school U.S. e-mails etc. do n't ."),
    ],
)
def test_suggestions_in_tokens(tmp_path: Path, old: str, new: str, line: str) -> None:
    reply = [{"matches": []}, {"matches": [lt(PLAIN[1], old, new)]}]
    version = corpus(tmp_path, reply).systems["lt"]
    assert version.lines == (TOKENS[0], line)
    assert bool(version.marks[1]) is (line != TOKENS[1])  # type: ignore[index]


def test_insertions_at_one_place_keep_their_order(tmp_path: Path) -> None:
    text = "the old dog"
    matches = [
        {**lt(text, "old", new), "offset": at, "length": length, "context": None}
        for at, length, new in ((4, 0, "x "), (4, 0, "y "), (4, 3, "big"), (5, 1, "Z"), (7, 0, "!"))
    ]
    version = corpus(tmp_path, [{"matches": matches}], tokens=[text], plain=None).systems["lt"]
    assert version.lines == ("the x y big ! dog",)
    assert version.note == "5 matches: 1 overlapping another, left out"
    # The match of the whole line begins first and replaces all others within it.
    matches.append({**matches[0], "offset": 0, "length": 9, "replacements": [{"value": "all"}]})
    version = corpus(tmp_path, [{"matches": matches}], tokens=[text], plain=None).systems["lt"]
    assert version.lines == ("allog",)


def test_two_matches_in_one_token(tmp_path: Path) -> None:
    matches = [lt("dad!", "da", "Da"), {**lt("dad!", "d!", "t!"), "offset": 2}]
    reply = [{"matches": matches}]
    version = corpus(tmp_path, reply, tokens=["dad !"], plain=["dad!"]).systems["lt"]
    assert version.lines == ("Dat !",)


def test_other_languages_use_their_tokeniser(tmp_path: Path) -> None:
    # NFC composes "é" from a letter and an accent to one character; the spans follow.
    line = "Cafe\u0301, han gå hem."
    made = corpus(
        tmp_path,
        [{"matches": [lt(line, "gå", "går"), lt(line, "hem")]}],
        tokens=[line],
        plain=None,
        lang=language_of("sv"),
    )
    version = made.systems["lt"]
    assert version.lines[0].endswith("han går hem .")
    tokens = made.sources[0].split()
    spans = [tokens[mark.start : mark.end] for mark in version.marks[0]]  # type: ignore[index]
    assert spans == [["gå"], ["hem"]]


GO = lt(PLAIN[1], "go", "goes")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([{"matches": []}] * 3, r"lt.jsonl: 3 replies, but .*plain.txt has 2 lines; expected one"),
        ([{"matches": []}, {"error": 1}], r"lt.jsonl, line 2: no matches; expected LanguageTool's"),
        ([{"matches": []}, {"matches": [{"offset": 1}]}], r"line 2, match 1: a field is missing"),
        ([{"matches": []}, {"matches": [{**GO, "offset": "3"}]}], r"line 2, match 1: a field"),
        ([{"matches": []}, {"matches": [{**GO, "offset": 1.5}]}], r"match 1: its span is not two"),
        ([{"matches": []}, {"matches": [GO, {**GO, "offset": 26}]}],
         r"lt.jsonl, line 2, match 2: its span 26 to 28 is not within the 26 characters of"),
        ([{"matches": []}, {"matches": [{**GO, "offset": 2}]}],
         r"line 2, match 1: its span 2 to 4 of .*plain.txt has another text than the match q"),
        ([{"matches": []}, {"matches": [{**GO, "replacements": [{"value": "\ud83d"}]}]}],
         r"line 2, match 1: a suggestion has half a surrogate pair"),
        ([{"lints": []}, {"lints": [{"span": {"start": 0, "end": 2}}]}], r"match 1: a field is"),
        ([{"lints": []}, {"lints": [{"span": {"start": 0, "end": 2}, "suggestions": [{}]}]}],
         r"match 1: a field is"),
        ([{"lints": []}, {"lints": [harper(PLAIN[1], "go", "goes")]}],
         "line 2, match 1: suggestion 'goes' has an unknown form; expected .*harper-cli"),
        ([{"lints": []}, {"lints": [harper(PLAIN[1], "go", "替换为：「goes」")]}],
         "match 1: suggestion '替换为：「goes」' has an unknown form"),
        ([{"lints": []}, {"lints": [harper(PLAIN[1], "go", {"Swap": ["a"]})]}], "an unknown form"),
        ([{"lints": []}, {"lints": [{**harper(PLAIN[1], "go"), "problem_text": 7}]}],
         "match 1: a field is missing or of another type"),
    ],
)  # fmt: skip
def test_bad_matches(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        corpus(tmp_path, content)


def test_inside_a_surrogate_pair(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"match 1: offset 1 is inside a surrogate pair"):
        corpus(
            tmp_path,
            {"matches": [{**lt("😀a", "a", "b"), "offset": 1}]},
            tokens=["😀a"],
            plain=None,
        )


def test_matches_of_another_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"plain.txt has 1 lines, but .*source.txt has 2"):
        corpus(tmp_path, [], plain=PLAIN[:1])
    with pytest.raises(InputError, match=r"plain.txt, line 2: has other characters than .*source"):
        corpus(tmp_path, [], plain=[PLAIN[0], "He went."])


def test_matches_can_only_be_a_hypothesis(tmp_path: Path) -> None:
    path = tmp_path / "lt.json"
    path.write_text(json.dumps({"matches": [GO]}))
    with pytest.raises(InputError, match="matches of a grammar checker, expected sentences; `gecj"):
        read_version(path)


def test_json_lines_of_hypotheses_are_read_as_texts(tmp_path: Path) -> None:
    rows = [{"hypothesis": "a b", "matches": []}, {"hypothesis": "c d", "matches": []}]
    assert corpus(tmp_path, rows, plain=None).systems["lt"].lines == ("a b", "c d")


def scored(folder: Path, metric: str, **options: Any) -> dict[str, Any]:
    """Score matches against references that correct only an→a and go→goes."""
    replies = [
        {"matches": [lt(PLAIN[0], "an", "a"), lt(PLAIN[0], "it", "that", rule="OTHER")]},
        {"matches": [lt(PLAIN[1], "go", "went"), lt(PLAIN[1], "every day", rule="MARK")]},
    ]
    (folder / "ref.txt").write_text(
        "This is a test , is n't it ?\nHe goes to school every day .\n", encoding="utf-8"
    )
    texts = corpus(folder, replies, references=[folder / "ref.txt"], **options)
    (row,) = gecjury.score(texts, metric, Score(by_rule=2)).rows()
    return row


def test_counts_by_rule(tmp_path: Path) -> None:
    pytest.importorskip("errant")
    row = scored(tmp_path, "errant")
    # an→a is a hit; it→that and go→went are in no reference. The mark has no correction.
    assert row["precision"] == pytest.approx(1 / 3)
    assert row["recall"] == pytest.approx(1 / 2)
    tokens = 9 + 7
    assert row["by_rule"] == {
        "all rules": {"tp": 1, "fp": 2, "precision": pytest.approx(1 / 3), "alarms": 2,
                      "alarms_per_1000": pytest.approx(1000 * 2 / tokens)},
        "RULE": {"tp": 1, "fp": 1, "precision": 0.5, "alarms": 1,
                 "alarms_per_1000": pytest.approx(1000 / tokens)},
        "OTHER": {"tp": 0, "fp": 1, "precision": 0.0, "alarms": 1,
                  "alarms_per_1000": pytest.approx(1000 / tokens)},
    }  # fmt: skip


def test_an_edit_belongs_to_the_match_that_it_lies_in(tmp_path: Path) -> None:
    pytest.importorskip("errant")
    source, reference = "I has a apple .", "I has an pear ."
    (tmp_path / "r.txt").write_text(f"{reference}\n", encoding="utf-8")
    matches = [lt(source, "has", "have", rule="AGR"), lt(source, "a ", "an ", rule="A_AN")]
    matches[1] |= {"offset": 6, "context": None}
    references = [tmp_path / "r.txt"]
    reply = [{"matches": matches}]
    texts = corpus(tmp_path, reply, tokens=[source], plain=None, references=references)
    (row,) = gecjury.score(texts, "errant", Score(by_rule=2)).rows()
    counts = {rule: (r["tp"], r["fp"]) for rule, r in row["by_rule"].items()}
    # has→have is in no reference; a→an touches that match, but lies in its own.
    assert counts == {"all rules": (1, 1), "AGR": (0, 1), "A_AN": (1, 0)}


def test_detection_counts_marks(tmp_path: Path) -> None:
    pytest.importorskip("errant")
    row = scored(tmp_path, "errant:mode=span")
    # Spans of the references: [2,3) and [1,2). an→a and go→went hit them; "it" and the mark do not.
    assert row["precision"] == pytest.approx(2 / 4)
    assert row["recall"] == 1
    counts = {rule: (r["tp"], r["fp"]) for rule, r in row["by_rule"].items()}
    assert counts == {"all rules": (2, 2), "RULE": (2, 0), "OTHER": (0, 1), "MARK": (0, 1)}


def test_rules_need_a_checker(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="`by_rule=`: expected the matches of a grammar"):
        gecjury.score("sample", "green", Score(by_rule=1))


def test_commands_that_read_matches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("errant")
    corpus(tmp_path, [{"matches": []}, {"matches": [GO, lt(PLAIN[1], "day.")]}])
    monkeypatch.chdir(tmp_path)
    files = ["source.txt", "lt.jsonl", "--source-text", "plain.txt"]
    assert main(["check", *files, "--format", "json"]) == 0
    checked = json.loads(capsys.readouterr().out)
    assert [row["unchanged"] for row in checked["files"]] == [None, 1]
    (note,) = (row["message"] for row in checked["findings"] if row["file"] == "lt.jsonl")
    assert note.startswith("2 matches: 1 without a suggestion")
    assert main(["edits", *files]) == 0
    assert "A 1 2|||R:VERB:SVA|||goes|||" in capsys.readouterr().out
    argv = ["rank", *files, "-m", "changes", "--resample", "none"]
    assert main([*argv, "--format", "json"]) == 0
    assert {row["system"] for row in json.loads(capsys.readouterr().out)["rows"]} == {"lt"}
    assert main(["score", *files[:2], "-m", "changes"]) == 2  # offsets refer to the plain text
    assert "has another text than the match quotes" in capsys.readouterr().err
