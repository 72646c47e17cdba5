"""Token counts: by a tokenizer in a separate process, or estimated."""

from __future__ import annotations

from pathlib import Path

import pytest

from gecjury.core.errors import InputError
from gecjury.judges.asking.tokens import counter_for


def test_an_estimate_says_that_it_is_one() -> None:
    counter = counter_for("no/such-model")
    assert "estimate" in counter.how
    assert counter.prompt([{"role": "user", "content": "x" * 400}]) == 104


@pytest.mark.parametrize(
    ("text", "tokens"),
    # The larger of the counts of two tokenizers: qwen.tiktoken (dashscope 2.0.2) and tekken
    # (mistral-common 1.13.1).
    [
        ("昨日、私は学校に行きました。なぜなら日本語の大切な試験があったからです。", 24),
        ("昨天我去了学校，因为我有一个重要的中文考试，然后我回家了。", 24),
        ("어제 나는 중요한 한국어 시험이 있어서 학교에 갔다가 집으로 돌아왔습니다.", 23),
        ("Вчера я пошёл в школу, потому что у меня был важный экзамен.", 22),
        ("Χθες πήγα στο σχολείο γιατί είχα ένα σημαντικό διαγώνισμα.", 51),
        ("कल मैं स्कूल गया क्योंकि मेरी हिंदी की परीक्षा थी।", 45),
        ("ትናንት ወደ ትምህርት ቤት ሄድኩ።", 51),
        ("ម្សិលមិញខ្ញុំបានទៅសាលារៀន។", 78),
    ],
)
def test_an_estimate_depends_on_the_script(text: str, tokens: int) -> None:
    assert tokens <= 1.3 * counter_for("no/such-model").text(text) <= 3 * tokens


def with_template(folder: Path, template: str) -> str:
    """A folder with a tokenizer of two words and a chat template."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "?": 1}, unk_token="?"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="?")
    fast.chat_template = template
    fast.save_pretrained(folder)
    return str(folder)


HOSTILE = """
{%- set asked = messages[0]['content'] -%}
{%- if asked == 'code' -%} {{ ''.__class__.__mro__[1].__subclasses__() }}
{%- elif asked == 'role' -%} {{ raise_exception('no such role') }}
{%- elif asked == 'memory' -%} {{ 'a' * 10 ** 11 }}
{%- elif asked == 'time' -%}
{%- for i in range(99999) -%}{%- for j in range(99999) -%}{%- endfor -%}{%- endfor -%}
{%- else -%} {{ asked }} {%- endif -%}
"""


@pytest.mark.security
def test_a_tokenizer_in_a_folder_is_used_unless_its_chat_template_fails_or_does_not_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = counter_for(with_template(tmp_path, HOSTILE))

    def tokens(content: str) -> int:
        return counter.prompt([{"role": "user", "content": content}])

    assert counter.how == "the model's own tokenizer"
    assert counter.text("a a") == 2
    assert tokens("a b c") == 3
    for content, message in (
        ("code", r"cannot be used \(SecurityError: .*files again"),
        ("role", r"cannot be used \(TemplateError: no such role\)"),
        ("memory", r"cannot be used \(MemoryError"),
    ):
        with pytest.raises(InputError, match=message):
            tokens(content)
    assert tokens("a b c") == 3
    monkeypatch.setattr("gecjury.judges.asking.tokens._PROMPT_SECONDS", 0.5)
    with pytest.raises(InputError, match=r"template did not finish within 0\.5 seconds of"):
        tokens("time")
