"""Tests of English tokens."""

import pytest

from gecjury.corpus.languages.english import english_text, english_tokens


@pytest.mark.parametrize(
    ("raw", "tokens"),
    [
        ("I can't, he won't; we've gone.", "I ca n't , he wo n't ; we 've gone ."),
        ("Ann’s dogs' names, didn’t they?", "Ann ’s dogs ' names , did n’t they ?"),
        ('He said, "Go (now)!"', 'He said , " Go ( now ) ! "'),
        (
            "Mr. Ito of the U.S. came at 3:30 p.m., etc.",
            "Mr. Ito of the U.S. came at 3:30 p.m. , etc .",
        ),
        ("It costs $5.50, 10% of 1,000.", "It costs $ 5.50 , 10 % of 1,000 ."),
        ("A well-known actor/singer cannot.", "A well-known actor/singer cannot ."),
        ("Wait... what?! No—yes -- no…", "Wait ... what ? ! No — yes -- no …"),
        ("See http://a.org/b?c=1, or ann@b.org.", "See http://a.org/b?c=1 , or ann@b.org ."),
        # A writer's error stays one: it is what a correction corrects.
        ("I came.Then,she left .", "I came.Then,she left ."),
        ("'tis the '90s", "'tis the '90s"),
        ("“Yes”, she said.", "“ Yes ” , she said ."),
        ("", ""),
        (" ... ", "..."),
    ],
)
def test_tokens(raw: str, tokens: str) -> None:
    assert english_tokens(raw) == tokens.split()


def test_tokens_are_not_split_again() -> None:
    tokens = "I ca n't see Mr. Ito 's dog , `` can '' I ? U.S. e.g. 's ' ( ) ... -- $ 5.50 % ."
    assert english_tokens(tokens) == tokens.split()


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("I ca n't , he 's gone .", "I can't, he's gone."),
        ('He said , " Go ( now ) ! "', 'He said, "Go (now)!"'),
        ("It [bark→barks] , the dogs ' food ca n't .", "It [bark→barks], the dogs' food can't."),
        ("She [dont→does n't] like it !", "She [dont→doesn't] like it!"),
        ("a [b→] [→, c ✓] d .", "a [b→] [→, c ✓] d."),
        ("It costs $ 5.50 , or 10 % .", "It costs $5.50, or 10%."),
    ],
)
def test_tokens_as_people_read_them(tokens: str, text: str) -> None:
    assert english_text(tokens) == text
