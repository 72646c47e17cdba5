"""Tests of signs that differ in kind."""

import pytest

from gecjury.corpus.signs import differing, fold_signs, kinds_of

PLAIN = ("He said \" yes \" , it 's Ann 's - of course .", "No signs .")
CURLY = ("He said “ yes ” , it ’s Ann ’s – of course .", "No signs .")


@pytest.mark.parametrize(("lines", "sources"), [(CURLY, PLAIN), (PLAIN, CURLY)])
def test_signs_are_written_as_in_the_source(
    lines: tuple[str, ...], sources: tuple[str, ...]
) -> None:
    kinds = kinds_of(sources)
    assert differing(lines, kinds) == {k: v for k, v in kinds.items() if k != "punctuation"}
    assert fold_signs(lines, sources, kinds) == sources


def test_a_source_of_several_kinds_has_none() -> None:
    assert kinds_of(['" a " “ b ”', "it ’s"]) == {"apostrophes": "curly"}


def test_a_few_other_signs_are_not_another_kind() -> None:
    # 1 of 11 quotation marks is another one: less than a tenth.
    assert differing([*['"'] * 10, "“"], {"quotation marks": "plain"}) == {}
    assert differing([*['"'] * 8, "“"], {"quotation marks": "plain"}) != {}


def test_signs_that_the_source_lacks_are_written_as_in_the_references() -> None:
    assert kinds_of(["dont"], ["don't"], ["don’t"]) == {"apostrophes": "plain"}


def test_a_dash_in_place_of_a_comma_is_an_edit() -> None:
    kinds = {"dashes": "plain"}
    assert fold_signs(["a – b"], ["a , b"], kinds) == ("a – b",)
    assert fold_signs(["a – b"], ["a - b"], kinds) == ("a - b",)


def test_other_kinds() -> None:
    kinds = {"quotation marks": "angle", "apostrophes": "plain", "ellipses": "plain"}
    assert fold_signs(['"м\'яч" мʼяч … “a”'], ["... «»"], kinds) == ("«м'яч» м'яч ... «a»",)
    assert fold_signs(["`` a '' ''b"], ['" " "'], {"quotation marks": "plain"}) == ('" a " "b',)
    assert fold_signs(["我,是(学生)!"], ["，"], {"punctuation": "full-width"}) == (
        "我，是（学生）！",
    )
    assert fold_signs(["I， me！"], [","], {"punctuation": "half-width"}) == ("I, me!",)
    assert fold_signs(["zero\u200bwidth\ufeff"], [""], kinds) == ("zerowidth",)
