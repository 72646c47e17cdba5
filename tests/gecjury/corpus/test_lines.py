"""Which lines of a file correct which lines of the source, and what a repair makes of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gecjury.corpus.lines import LineLayout, layout, misfit
from gecjury.corpus.mending import repaired

SOURCE = [
    "This are the first sentence of a text .",
    "He do n't like cat .",
    "My friend 's house is more bigger than mine .",
    "Yesterday , we goes to school by the bus .",
    "I am agree with you , but not always .",
    "They was happy because it rained a lot .",
    "Nobody know where the keys has gone .",
    "It depend on the weather in april .",
    "She have been working there since two years .",
    "The informations was wrong again .",
    "Can you borrow me your bicycle ?",
    "We discussed about the new film .",
]
FIXED = [
    "This is the first sentence of a text .",
    "He does n't like cats .",
    "My friend 's house is bigger than mine .",
    "Yesterday , we went to school by bus .",
    "I agree with you , but not always .",
    "They were happy because it rained a lot .",
    "Nobody knows where the keys have gone .",
    "It depends on the weather in April .",
    "She has been working there for two years .",
    "The information was wrong again .",
    "Can you lend me your bicycle ?",
    "We discussed the new film .",
]
RAW = [
    "This is the first sentence of a text.",
    "He doesn’t like cats.",
    "My friend’s house is bigger than mine.",
    "Yesterday, we went to school by bus.",
    "I agree with you, but not always.",
    *(line.replace(" .", ".").replace(" ?", "?") for line in FIXED[5:]),
]
CHINESE = ["我昨天去了学校的图书馆看书。", "他不喜欢吃苹果和香蕉。", "我们明天一起去北京旅行吧。"]


def messages(lines: Sequence[str], sources: Sequence[str] = SOURCE) -> list[str]:
    return list(layout(sources, lines).messages)


@pytest.mark.parametrize("good", [FIXED, RAW, SOURCE])
def test_lines_that_fit(good: list[str]) -> None:
    view = layout(SOURCE, good)
    assert (list(view.messages), view.refusal, view.unlike) == ([], "", ())
    assert not repaired(view).changes
    assert misfit(SOURCE, good) == ""


@pytest.mark.parametrize("good", [FIXED, RAW])
@pytest.mark.parametrize(
    ("damage", "where"),
    [
        (lambda x: [*x[:3], f"{x[3]} {x[4]}", *x[5:]], "line 4 holds lines 4 and 5 of the source"),
        (lambda x: [" ".join(x[:3]), *x[3:]], "line 1 holds lines 1 to 3 of the source"),
        (
            lambda x: [*x[:3], x[3].partition(" to ")[0], "to" + x[3].partition(" to")[2], *x[4:]],
            "lines 4 and 5 hold line 4 of the source",
        ),
        (lambda x: [*x, ""], "line 13 is empty: delete it"),
        (
            lambda x: [*x[:4], "A new idea from nowhere !", *x[4:]],
            "from line 5 on the output is one line later: line 5 is no line of the source ('A new "
            "idea from nowhere !'): delete it",
        ),
        (
            lambda x: ["Sure! Here are the corrected sentences:", *x],
            "line 1 is no correction ('Sure! Here are the corrected sentences:'): delete it",
        ),
        (
            lambda x: [*x, "I hope this helps!"],
            "line 13 is no correction ('I hope this helps!'): delete it",
        ),
        (lambda x: ["```text", *x, "```"], "lines 1, 14: code fences; delete them"),
        (lambda x: [f"“{line}”" for line in x], "12 lines have quotation marks"),
        (lambda x: [f"{n}. {line}" for n, line in enumerate(x, 1)], "12 lines have list numbers"),
        (lambda x: [f"**{n}.** {line}" for n, line in enumerate(x, 1)], "12 lines have list num"),
        (lambda x: [f"[{n}] {line}" for n, line in enumerate(x, 1)], "12 lines have list numbers"),
        (lambda x: [f"- {line}" for line in x], "12 lines have bullets"),
        (
            lambda x: [part for line in x for part in (line, "")],
            "lines 2, 4, 6, 8, 10 and 7 more are empty",
        ),
    ],
)
def test_each_damage_is_named_and_repaired(good: list[str], damage: object, where: str) -> None:
    assert callable(damage)
    view = layout(SOURCE, damage(good))
    (message,) = view.messages
    assert message.startswith(where)
    repair = repaired(view)
    assert (repair.refusal, list(repair.lines)) == ("", good)
    assert repair.changes


def test_a_lost_line_is_filled_only_on_demand() -> None:
    view = layout(SOURCE, [*FIXED[:4], *FIXED[5:]])
    assert [place.message for place in view.places] == [
        "from line 5 on the output is one line earlier: line 5 of the source has no line here"
    ]
    assert "1 source lines" in repaired(view).refusal
    filled = repaired(view, fill=True)
    assert list(filled.lines) == [*FIXED[:4], SOURCE[4], *FIXED[5:]]
    assert filled.filled == 1
    (change,) = filled.changes
    assert (change.kind, change.lines, change.sources) == ("filled", (), (5,))


def test_the_lost_line_among_similar_sentences_is_the_one_that_lacks() -> None:
    days = (("Mon", "key"), ("Tues", "bag"), ("Wednes", "phone"), ("Thurs", "wallet"))
    sources = [f"On {day}day I has lost my {thing} in the hotel room ." for day, thing in days]
    sources = ["Dear Sir , I writes to complain .", *sources, "Nobody help me when I asks for it ."]
    fixed = [line.replace("has ", "").replace("writes", "write") for line in sources]
    for lost in range(1, 5):
        lines = [*fixed[:lost], *fixed[lost + 1 :]]
        filled = repaired(layout(sources, lines), fill=True)
        assert list(filled.lines) == [*fixed[:lost], sources[lost], *fixed[lost + 1 :]]


def test_the_column_of_the_source_is_never_taken_for_the_corrections() -> None:
    # The corrections change more than half of the letter groups, the first column none.
    lines = ["I am happy", "We left", "It rained", "He wept"]
    sources = ["I is glad", "Us gone", "It rain hard", "He cryed"]
    view = layout(sources, [f"{old}\t{new}" for old, new in zip(sources, lines, strict=True)])
    assert list(repaired(view).lines) != sources


def test_shifted_lines_are_one_place_and_a_remark() -> None:
    lines = [*FIXED[:3], "A new idea from nowhere !", *FIXED[3:9], *FIXED[10:]]
    assert len(lines) == len(SOURCE)
    assert [place.moved for place in layout(SOURCE, lines).places] == [
        "from line 4 on the output is one line later",
        "",
    ]
    assert misfit(SOURCE, lines).startswith("from line 4 on the output is one line later; `gecj")
    numbered = [f"{n}) {line}" for n, line in enumerate(FIXED, 1)]
    assert "list numbers" in misfit(SOURCE, numbered)


@pytest.mark.parametrize(
    ("damage", "name"),
    [
        (lambda x, s: [f"▁{line.replace(' ', ' ▁')}" for line in x], "word pieces such as '▁'"),
        (lambda x, s: [f"▁{line.replace(' ', '▁')}" for line in x], "word pieces such as '▁'"),
        (lambda x, s: [line.replace("nd", "n@@ d") for line in x], "word pieces such as '@@'"),
        (lambda x, s: [line.replace("nd", "n ##d") for line in x], "word pieces such as '##'"),
        (lambda x, s: [f"<pad> {line}</s>" for line in x], "special tokens such as '<pad>'"),
        (lambda x, s: [f"{line}<|im_end|>" for line in x], "special tokens such as '<|im_end|>'"),
        (lambda x, s: [f"**{line}**" for line in x], "bold type such as '**"),
        (lambda x, s: [f"** {line} **" for line in x], "bold type such as '**"),
        (
            lambda x, s: [line.replace(" the ", " **the** ") for line in x],
            "bold type such as '**the**",
        ),
        (lambda x, s: [f"{old} -> {line}" for old, line in zip(s, x, strict=True)], "arrows"),
        (lambda x, s: [f"{old}\t{line}" for old, line in zip(s, x, strict=True)], "tabs"),
        (lambda x, s: [f"{n}\t{line}" for n, line in enumerate(x, 1)], "tabs"),
        (
            lambda x, s: [f"| {n} | {s[n]} | {line} | verb |" for n, line in enumerate(x)],
            "table cells",
        ),
        (lambda x, s: [f"{line} (corrected verb tense)" for line in x], "remarks such as '(corr"),
        (lambda x, s: [*(f"{line} [no change]" for line in x[:5]), *x[5:]], "remarks such as '[no"),
        (lambda x, s: [f"Corrected sentence: {line}" for line in x], "labels"),
        (lambda x, s: [line.replace("I ", "&quot; I ") for line in x], ""),
    ],
)
@pytest.mark.parametrize("good", [FIXED, RAW])
def test_forms_that_the_source_has_not_are_named_and_taken_off(
    good: list[str], damage: object, name: str
) -> None:
    assert callable(damage)
    lines = damage(good, SOURCE)
    if not name:  # one line alone has no form
        assert misfit(SOURCE, lines) == ""
        return
    assert f"lines have {name}" in misfit(SOURCE, lines)
    repair = repaired(layout(SOURCE, lines))
    assert ([" ".join(line.split()) for line in repair.lines], repair.refusal) == (good, "")
    # What the source has, too, stays.
    alike = damage(SOURCE, SOURCE)
    assert misfit(alike, lines) == ""
    assert not layout(alike, lines).marks


def test_a_markdown_table_has_a_head() -> None:
    rows = [f"| {old} | {new} |" for old, new in zip(SOURCE, FIXED, strict=True)]
    view = layout(SOURCE, ["| Original | Corrected |", "|---|:--|", *rows])
    assert list(repaired(view).lines) == FIXED
    # A line that is no row had no error.
    lines = [f"{old} -> {new}" for old, new in zip(SOURCE, FIXED, strict=True)]
    assert list(repaired(layout(SOURCE, [*lines[:11], FIXED[11]])).lines) == FIXED


def test_what_a_model_has_lost_is_named_and_left_alone() -> None:
    unknown = [line.replace("the", "⁇") for line in FIXED]
    (flaw,) = layout(SOURCE, unknown).flaws
    assert flaw.startswith("5 lines have unknown characters such as '⁇' that the source has not")
    assert misfit(SOURCE, unknown) == flaw
    assert not repaired(layout(SOURCE, unknown)).changes
    # Line 2 has no more than five words.
    cut = [" ".join(line.split()[:5]) for line in FIXED]
    (flaw,) = layout(SOURCE, cut).flaws
    assert flaw == (
        "12 of 12 lines end without their last sign, after 5 tokens: cut by a limit of the model?"
    )
    assert misfit(SOURCE, cut) == flaw
    assert ", after 20 characters: cut" in misfit(SOURCE, [line[:20] for line in FIXED])
    # A full stop alone is no sign of a limit.
    assert misfit(SOURCE, [line.rstrip(" .?") for line in FIXED]) == ""


@pytest.mark.parametrize(
    ("parts", "at"),
    [
        (["Nobody knows where the keys have", "gone ."], 6),
        (["Nobody knows where the keys", "have", "gone ."], 6),
        (["Nobody knows where the keys have", "it ."], 6),  # a new word
        (["Nobody", "knows where the keys have gone ."], 6),
        (["It depends on the weather in", "April ."], 7),
        (["We discussed the new", "film ."], 11),
    ],
)
def test_pieces_of_a_sentence_are_joined(parts: list[str], at: int) -> None:
    lines = [*FIXED[:at], *parts, *FIXED[at + 1 :]]
    assert list(repaired(layout(SOURCE, lines)).lines) == [
        *FIXED[:at],
        " ".join(parts),
        *FIXED[at + 1 :],
    ]


def test_what_may_be_the_end_of_a_sentence_is_not_deleted() -> None:
    repair = repaired(layout(SOURCE, [*FIXED[:6], "Nobody knows where the keys are with", "Tom .",
                                      *FIXED[7:]]))  # fmt: skip
    assert "to be sure" in repair.refusal


@pytest.mark.parametrize(
    ("lines", "where"),
    [
        ([*FIXED[:2], f"{FIXED[2]} {FIXED[3]}", *FIXED[4:], FIXED[11]], "line 4 on"),
        ([*FIXED[:2], *FIXED[2].split(" is "), *FIXED[3:11]], "line 5 on"),
        ([FIXED[11], *FIXED[:11]], "line 1 on"),
        ([*FIXED[3:], *FIXED[:3]], "line 1 on"),
    ],
)
def test_every_shift_is_a_remark(lines: list[str], where: str) -> None:
    assert len(lines) == len(SOURCE)
    assert misfit(SOURCE, lines).startswith(f"from {where} the output is ")


def test_texts_of_other_sentences_are_a_remark() -> None:
    lines = [f"Ganz andere Wörter stehen hier, Nummer {n}." for n in range(3000)]
    assert misfit(SOURCE * 250, lines).startswith("most lines share little with their source")
    shifted = [*FIXED * 250][1:]
    assert misfit(SOURCE * 250, [*shifted, "Over ."]).startswith("from line 1 on the output is one")


def test_marks_of_the_source_are_kept() -> None:
    quoted = [f'" {line} "' for line in SOURCE]
    assert messages([f'" {line} "' for line in FIXED], quoted) == []
    years = [f"{year} . {line}" for year, line in zip(range(1990, 2014, 2), FIXED, strict=True)]
    assert messages(years) == []


def test_a_line_rewritten_in_place_stays() -> None:
    view = layout(SOURCE, [*FIXED[:4], "Quite right most days", *FIXED[5:]])
    assert list(view.messages) == []
    assert view.unlike == (4,)
    assert not repaired(view).changes


def test_an_empty_answer_is_no_lost_line() -> None:
    quoted = layout(SOURCE, [f"“{line}”" for line in (*FIXED[:4], "", *FIXED[5:])])
    assert list(repaired(quoted).lines) == [*FIXED[:4], "", *FIXED[5:]]
    lines = [*FIXED[:4], "", *FIXED[5:10], f"{FIXED[10]} {FIXED[11]}"]
    assert messages(lines) == ["line 11 holds lines 11 and 12 of the source"]


def test_languages_without_blanks() -> None:
    merged = [CHINESE[0], CHINESE[1] + CHINESE[2], *CHINESE]
    sources = CHINESE * 2
    view = layout(sources, merged)
    assert list(view.messages) == ["line 2 holds lines 2 and 3 of the source"]
    assert list(repaired(view).lines) == sources
    split = [CHINESE[0][:6], CHINESE[0][6:], *CHINESE[1:]]
    assert list(repaired(layout(CHINESE, split)).lines) == CHINESE


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([" ".join(FIXED)], "12 lines of the source, too many"),
        (FIXED[::-1], "too many"),
        ([*FIXED[:4], FIXED[5], FIXED[4], *FIXED[6:]], "out of order"),
        (FIXED * 2, "12 lines do not fit"),
        ([""] * 10_000, "no line has any text"),
        ([f"Ganz andere Wörter stehen hier, Nummer {n}." for n in range(900)], "another text"),
        ([x for n in FIXED[:6] for x in (n[:14], n[14:])] + FIXED[6:], "too many"),
    ],
)
def test_what_cannot_be_repaired(lines: list[str], why: str) -> None:
    repair = repaired(layout(SOURCE, lines), fill=True)
    assert why in repair.refusal
    assert repair.lines == ()


def test_remarks_around_a_short_text_are_deleted() -> None:
    chat = ["Sure! Here are the corrected sentences:", "", *FIXED[:2], "", "I hope this helps!"]
    assert list(repaired(layout(SOURCE[:2], chat)).lines) == FIXED[:2]


def test_a_doubtful_place_is_left_alone() -> None:
    # Lines 4 and 5 of the source have one line here, which resembles neither.
    lines = [*FIXED[:3], "Quite right on most days", *FIXED[5:]]
    view: LineLayout = layout(SOURCE, lines)
    assert [place.sure for place in view.places] == [False]
    assert "to be sure" in repaired(view, fill=True).refusal
