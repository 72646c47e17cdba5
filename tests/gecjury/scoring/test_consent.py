"""Files that name metrics run, read, send and fetch nothing without the user's consent."""

from __future__ import annotations

from pathlib import Path

import pytest

from gecjury.cli import main
from gecjury.core.errors import OptionError
from gecjury.core.textfiles import read_toml
from gecjury.scoring.consent import powers_of
from tests.judges.faultserver import FaultServer

pytestmark = pytest.mark.security


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a file from somebody else, with code that leaves a mark; a secret beside it."""
    folder = tmp_path / "sent"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "evil.py").write_text(
        "from pathlib import Path\nPath('PWNED').touch()\n"
        "def f(source, hypothesis):\n    return len(hypothesis)\n"
    )
    (tmp_path / "secret.txt").write_text("Judge by the secret word.\n")
    return folder


def does(metric: str) -> list[str]:
    return [power.does for power in powers_of(metric, Path())]


@pytest.mark.parametrize(
    ("metric", "power"),
    [
        ("evil.py:f", "runs the code of evil.py"),
        ("valid:judge=evil.py:f[a=1]", "runs the code of evil.py"),
        ("jury:equal=gleu+evil.py:f,allow_judges=true", "runs the code of evil.py"),
        ("jury:equal=members.txt", "runs the code of evil.py"),
        ("scores:file=link.txt", "reads link.txt, outside"),
        ("some:model=..", "reads .., outside"),
        ("errant:tagger=spacy:.", "runs the installed package ."),
        ("scribendi", "fetches openai-community/gpt2"),
        ("some:model=nobody/x", "fetches nobody/x"),
        ("impara:model=nobody/x", "fetches nobody/x"),
        ("uot-errant", "fetches google/electra-base-discriminator"),
        ("pt-errant", "fetches google-bert/bert-base-uncased"),
        ("asano:model=.", "fetches openai-community/gpt2"),
        ("impara:model=.", "fetches bert-base-cased"),
        ("errant:tagger=a_package", "runs the installed package a_package"),
        ("llm-s:model=x", "sends the sentences to the language model x (OpenAI)"),
        ("llm-s:model=x,base_url=http://a:k@h/v1", "the language model x (http://h/v1)"),
        ("llm-s:backend=vllm,model=nobody/x", "runs the language model nobody/x"),
        ("valid:by=evil.py:f", "runs the code of evil.py"),
        ("post-edit:model=x,by=evil.py:f", "sends the sentences to the language model x (OpenAI)"),
        ("post-edit:model=x,by=evil.py:f", "runs the code of evil.py"),
        ("post-edit:file=..", "reads .., outside"),
        ("post-edit:file=.,by=pt-errant", "fetches google-bert/bert-base-uncased"),
        ("valid:judge=edit-verdict[model=x]", "sends the sentences to the language model x"),
        ("llm-s:model=x,backend=vllm,engine=../secret.txt", "reads ../secret.txt, outside"),
        ("llm-s:model=x,criterion=../secret.txt", "sends ../secret.txt, outside"),
        ("llm-s:model=x,examples=link.txt", "sends link.txt, outside"),
        ("valid:judge=edit-verdict[model=x,prompt=../secret.txt]", "sends ../secret.txt, outside"),
    ],
)
def test_what_a_metric_of_a_file_does(place: Path, metric: str, power: str) -> None:
    (place / "link.txt").symlink_to("../secret.txt")
    (place / "members.txt").write_text("gleu\nevil.py:f\n")
    assert any(power in what for what in does(metric)), does(metric)
    assert not (place / "PWNED").exists()


def test_a_folder_elsewhere_replaces_the_default_model(place: Path) -> None:
    (power,) = does("fluency:model=..")
    assert "reads .., outside" in power


def test_what_lies_beside_the_file_needs_no_consent(place: Path) -> None:
    (place / "mine").mkdir()
    (place / "s.tsv").write_text("1\n")
    near = (
        "green:n=2",
        "errant",
        "valid:judge=s.tsv",
        "some:model=mine",
        "impara",
        "scores:file=s.tsv",
        "jury:equal=gleu+green",
    )
    for metric in (*near, "pt-errant:encoder=embedded", "some:model=features"):
        assert does(metric) == []


def test_a_judge_names_the_files_that_it_sends(place: Path) -> None:
    (place / "near.txt").write_text("Judge.\n")
    (power,) = powers_of("llm-s:model=x,criterion=near.txt", place)
    assert "together with near.txt" in str(power)


STUDY = """benchmarks = ["sample", "own"]
metrics = ["green", "evil.py:f", "llm-s:model=x,base_url={url},criterion=../secret.txt"]
[settings]
limit = 5
over = "none"
"""


@pytest.mark.parametrize("more", [[], ["--dry-run"], ["--api-key-env", "MY_KEY"]])
def test_a_study_is_refused_once_with_everything_that_it_does(
    place: Path, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    study = STUDY.format(url="http://h/v1").replace('"own"', '"../other"')
    (place / "st.toml").write_text(study)
    assert main(["study", "st.toml", "-o", "out", *more]) == 2
    said = capsys.readouterr().err
    for part in ("st.toml", "code of evil.py", "http://h/v1", "../secret.txt", "--allow-judges"):
        assert part in said
    assert "../other reads ../other, outside" in said
    assert not (place / "PWNED").exists()
    assert not (place / "out").exists()


def test_files_that_a_benchmark_of_a_study_names_need_consent(
    place: Path, own_benchmark: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "own").symlink_to(own_benchmark)
    Path(place, "own.toml").write_text(
        'source = "../secret.txt"\noutputs = "o"\njudgments = "j.csv"\n'
    )
    (place / "o").mkdir()
    (place / "o" / "a.txt").write_text("x\n")
    (place / "j.csv").write_text("x\n")
    for name, part in (("own", "own"), ("own.toml", "secret.txt")):
        (place / "st.toml").write_text(f'benchmarks = ["sample", "{name}"]\nmetrics = ["green"]\n')
        assert main(["study", "st.toml", "-o", "out"]) == 2
        said = capsys.readouterr().err
        assert f"{part}, outside" in said
        assert "--allow-judges" in said


def test_with_consent_a_study_sends_no_key_to_its_own_server(
    place: Path,
    own_benchmark: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("openai")
    monkeypatch.setenv("MY_KEY", "sk-key-of-this-server")
    Path(own_benchmark).rename(place / "own")
    argv = ["study", "st.toml", "-o", "out", "-q", "--allow-judges", "--cache", "cache"]
    with FaultServer() as server, FaultServer() as other:
        (place / "st.toml").write_text(STUDY.format(url=server.url))
        for more in ([], ["--base-url", other.url]):
            assert main([*argv, "--api-key-env", "MY_KEY", *more]) == 2
            said = capsys.readouterr().err
            assert server.url in said
            assert "--base-url" in said
        assert not server.bodies
        assert not (place / "PWNED").exists()
        assert main(argv) == 0, capsys.readouterr().err
        assert server.authorizations == {"Bearer none"}
        assert (place / "PWNED").exists()
        # The server that the user names gets the key.
        (place / "st.toml").write_text(STUDY.replace(",base_url={url}", ""))
        named = ["--base-url", other.url, "--api-key-env", "MY_KEY"]
        assert main([*argv, *named]) == 0
        assert other.authorizations == {"Bearer sk-key-of-this-server"}


def test_a_list_that_names_itself_is_refused(place: Path) -> None:
    (place / "members.txt").write_text("gleu\njury:equal=members.txt\n")
    with pytest.raises(OptionError, match="cannot be a member of a sum"):
        does("jury:equal=members.txt")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("title = 0x" + "f" * 5_000, "64 bits"),
        ("weights.a = [-9223372036854775809]", "64 bits"),
        ("title = " + "[" * 150 + "]" * 150, "nested"),
        ("title = [", "is not TOML"),
    ],
)
def test_toml_that_cannot_be_read_is_an_error(
    place: Path, text: str, part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "x.toml").write_text(text)
    assert main(["study", "x.toml", "-o", "out"]) == 2
    said = capsys.readouterr().err
    assert "x.toml" in said
    assert part in said


def test_the_largest_integer_of_toml_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text("a = 9223372036854775807\n")
    assert read_toml(tmp_path / "x.toml", "a table") == {"a": 2**63 - 1}
