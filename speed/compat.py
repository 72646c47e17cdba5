"""The calls of gec-metrics' README and tests, and whole corpora, run by it and by our shim.

    python -m speed compat --data DIR --peer-venv DIR

The README's Python blocks are read from the installed package's description, the inputs of its
tests from the test modules that it installs. Both sides run the same code, with the package's name
changed. Models that cannot be downloaded are replaced by random ones of the same kind. The peer
reads the embedded tagger under the name that errant loads.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from speed.errant import install_tagger
from speed.harness import Claim, Options, checked, needs
from speed.peer import peer_python, run_in_peer
from speed.refless import make_models

__all__ = ["measure"]

_EXACT = 1e-9
_SINGLE = 1e-5  # models compute in single precision
_EQUAL = ("errant", "gleu", "gleuofficial", "green")
"""Metrics whose numbers must all be equal; docs/reference/gec-metrics.md describes the others."""

_GATHER = """
import importlib, re, sys, types
from importlib.metadata import metadata

stand_in = types.ModuleType("pytest")
stand_in.mark = types.SimpleNamespace(parametrize=lambda *a, **k: lambda test: test)
sys.modules.setdefault("pytest", stand_in)
text = metadata("gec-metrics").get_payload()
blocks = re.findall(r"```python\\n(.*?)```", re.sub(r"(?m)^ {4}(?=\\S|```| )", "", text), re.S)
tests = {}
for name in ("errant", "gleu", "green", "gotoscorer", "bertscore", "pt_errant", "some", "impara",
             "scribendi"):
    module = importlib.import_module(f"gec_metrics.metrics.{name}_test")
    kept = {key: value for key, value in vars(module).items()
            if key in ("SRCS", "HYPS", "REFS") or key.startswith("cases")}
    tests[name] = kept
from gec_metrics.cli.gen_gotoscorer_weight import annotate_weight
from gec_metrics.metrics import GoToScorer
scorer = GoToScorer(GoToScorer.Config(no_weight=True))
t = tests["gotoscorer"]
weights = [
    annotate_weight(s, r, [h, s], scorer) for s, r, h in zip(t["SRCS"], t["REFS"][0], t["HYPS"])
]
result = {"blocks": blocks, "tests": tests, "weights": weights}
"""

_CALLS = '''
import dataclasses, importlib, os, sys, types
import torch

torch.nn.Module.cuda = lambda self, device=None: self  # one side calls it on any machine
torch.Tensor.cuda = lambda self, device=None: self
torch.set_num_threads(1)
package = importlib.import_module(data["package"])
metrics = importlib.import_module(data["package"] + ".metrics")
os.chdir(data["folder"])

def plain(value):
    """Numbers of a result, under names, as JSON."""
    if hasattr(value, "precision"):
        value = {k: getattr(value, k) for k in ("tp", "fp", "fn", "precision", "recall", "f")}
    elif dataclasses.is_dataclass(value):
        value = vars(value)
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value

def scored(metric, texts):
    """Return the scores of texts from every call that a metric of this kind has."""
    s, h, r = texts.get("SRCS", texts["HYPS"]), texts["HYPS"], texts.get("REFS", [])
    kind = [base.__name__ for base in type(metric).__mro__]
    if "MetricBaseForSourceFree" in kind:
        given, many = {"hypotheses": h, "references": r}, {"hypotheses": [h, s], "references": r}
    else:
        given, many = {"sources": s, "hypotheses": h}, {"sources": s, "hypotheses": [h, s]}
        if "MetricBaseForReferenceBased" in kind:
            given["references"] = many["references"] = r
    found = {
        "corpus": metric.score_corpus(**given),
        "sentences": metric.score_sentence(**given),
        "pairwise": metric.score_pairwise(**many),
        "rank": metric.rank_systems(**many),
        "trueskill": metric.rank_systems(**many, aggregation="trueskill"),
    }
    for name in ("score_corpus_verbose", "score_sentence_verbose"):
        if hasattr(metric, name):
            found[name] = getattr(metric, name)(**given)
    return plain(found)

def attempt(call):
    try:
        return call()
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}

def block(text):
    names = {}
    exec(text.replace("gec_metrics", data["package"]), names)
    found = {}
    if "corpus_score" in names:
        found["corpus"], found["sentences"] = names["corpus_score"], names["sent_scores"]
    elif "meta" in names:
        meta = names["meta"]
        metric = names.get("metric") or metrics.GLEU(metrics.GLEU.Config(iter=20))
        found["system"] = plain(meta.corr_system(metric))
        found["trueskill"] = plain(meta.corr_system(metric, aggregation="trueskill"))
        found["sentence"] = plain(meta.corr_sentence(metric))
        found["window"] = plain(meta.window_analysis_system(metric))
        found["pairwise"] = sorted(sum(map(plain, meta.pairwise_analysis(metric).values()), []))
    elif "metric" in names:
        found = scored(names["metric"], data["sample"])
    return found

class_of = {"errant": "ERRANT", "gleu": "GLEU", "green": "GREEN", "gotoscorer": "GoToScorer",
            "bertscore": "BertScore", "pt_errant": "PTERRANT", "some": "SOME", "impara": "IMPARA",
            "scribendi": "Scribendi"}
f = data["models"]
bert = {"model_type": f + "/encoder", "num_layers": 2, "rescale_with_baseline": False}

def configs(name, kept):
    """The settings of a test's cases, with models that are there."""
    for case in kept.get("cases", []):
        if name in ("errant", "green"):
            yield "", {"beta": case[0]}
        elif name == "gotoscorer":
            yield "", {"beta": case[0], "no_weight": True}
        elif name == "bertscore":
            yield "", {**bert, "score_type": case[0]}
        elif name == "pt_errant":
            yield "", {"beta": 0.5, "language": "en", "weight_model_name": "bertscore",
                   "weight_model_config": metrics.BertScore.Config(**bert, score_type=case[0])}
        elif name == "some":
            yield "", {"weight_g": case[0], "weight_f": case[1], "weight_m": case[2],
                   "model_g": f + "/some/grammer", "model_f": f + "/some/fluency",
                   "model_m": f + "/some/meaning"}
        elif name == "impara":
            yield "", {"model_qe": f + "/ranker", "model_se": f + "/encoder", "threshold": case[0]}
        elif name == "scribendi":
            yield "", {"model": f + "/language", "threshold": case[1]}
        else:
            yield "", {}
    for case in kept.get("cases_official", []):
        yield "Official", {}

result = {}
for number, text in enumerate(data["blocks"], 1):
    result[f"README {number}"] = attempt(lambda: block(text))
for name, kept in data["tests"].items():
    for number, (suffix, settings) in enumerate(configs(name, kept), 1):
        def run():
            metric_class = getattr(metrics, class_of[name] + suffix)
            return scored(metric_class(metric_class.Config(**settings)), kept)
        result[f"test {name}{suffix} {number}"] = attempt(run)
    if name == "gotoscorer":
        def chunks():
            metric = metrics.GoToScorer(metrics.GoToScorer.Config(no_weight=True))
            return [plain(metric.generate_chunks(metric.edit_extraction(s, h), s.split(" ")))
                    for s, h in zip(kept["SRCS"], kept["HYPS"])]
        result["test gotoscorer chunks"] = attempt(chunks)
for name in ("errant", "gleu", "gleuofficial", "green", "gotoscorer"):
    metric_class = package.get_metric(name)
    metric = metric_class(metric_class.Config())
    c = data["corpus"]
    systems = list(c["systems"].values())
    result[f"SEEDA {name}"] = {
        "rank": metric.rank_systems(c["sources"], systems, c["references"]),
        "trueskill": metric.rank_systems(c["sources"], systems, c["references"],
                                         aggregation="trueskill"),
        "sentences": [metric.score_sentence(c["sources"], h, c["references"]) for h in systems],
    }
'''


def numbers(value: Any, path: str = "") -> dict[str, Any]:
    """Return the leaves of a JSON value by path."""
    if isinstance(value, dict):
        parts = [numbers(one, f"{path}/{key}") for key, one in value.items()]
    elif isinstance(value, list):
        parts = [numbers(one, f"{path}/{place}") for place, one in enumerate(value)]
    else:
        return {path: value}
    return {key: leaf for part in parts for key, leaf in part.items()}


def gap(one: Any, two: Any) -> float:
    """Return the difference of two leaves; infinite if they have different types."""
    numeric = (int, float)
    if isinstance(one, numeric) and isinstance(two, numeric):
        if one != one and two != two:
            return 0.0
        return abs(one - two)
    return 0.0 if one == two else float("inf")


def _with_models(block: str, models: str, weights: str) -> str:
    """Return a block of the README with models and files that exist."""
    bert = f"model_type='{models}/encoder', num_layers=2, "
    for old, new in (
        ("'gpt2'", f"'{models}/language'"),
        ("'gotutiyan/IMPARA-QE'", f"'{models}/ranker'"),
        ("'bert-base-cased'", f"'{models}/encoder'"),
        ("'gfm-models/", f"'{models}/some/"),
        ("model_type='bert-base-uncased',", ""),
        ("num_layers=None,", ""),
        ("score_type='f'", bert + "score_type='f'"),
        ("rescale_with_baseline=True", "rescale_with_baseline=False"),
        ("weight_file=''", f"weight_file='{weights}'"),
        ("plt.savefig('window-errant.png')", ""),
    ):
        block = block.replace(old, new)
    return block


def measure(options: Options) -> list[Claim]:
    """Run both sides."""
    needs("torch", "transformers", "tokenizers")
    import os

    from gecjury.benchmarks.load import load_benchmark

    data, venv = options.need_data().resolve(), options.need_peer()
    corpus = load_benchmark(
        "seeda", systems="all", references="official-as-published", data=data
    ).corpus
    few = 8 if options.quick else len(corpus)
    install_tagger(peer_python(venv))
    gathered = run_in_peer(venv, _GATHER, None)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        make_models(folder, corpus.sources, 64, 2)
        _limit_length(folder / "encoder" / "tokenizer_config.json")
        (folder / "weights.json").write_text(json.dumps(gathered["weights"]), encoding="utf-8")
        # The peer looks for its data in the working folder.
        (folder / "meta_eval_data").mkdir()
        for name, source in _peer_data(data).items():
            place = folder / "meta_eval_data" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(source, encoding="utf-8")
        blocks = [_with_models(block, made, f"{made}/weights.json") for block in gathered["blocks"]]
        texts = {
            "folder": made,
            "models": made,
            "blocks": blocks,
            "tests": gathered["tests"],
            "sample": gathered["tests"]["gotoscorer"],
            "corpus": {
                "sources": list(corpus.sources[:few]),
                "systems": {n: list(v.lines[:few]) for n, v in corpus.systems.items()},
                "references": [list(v.lines[:few]) for v in corpus.references],
            },
        }
        theirs = run_in_peer(venv, _CALLS, {**texts, "package": "gec_metrics"})
        os.environ["GECJURY_DATA"] = str(data)
        names: dict[str, Any] = {"data": {**texts, "package": "gecjury.compat.gec_metrics"}}
        here = Path.cwd()
        try:
            exec(_CALLS, names)
        finally:
            os.chdir(here)
        ours = json.loads(json.dumps(names["result"]))
    return [
        _claim("calls of the README", ours, theirs, "README"),
        _claim("calls of its tests", ours, theirs, "test "),
        *(
            _claim(f"{name}, 15 × {few} × 2", ours, theirs, f"SEEDA {name}", f"SEEDA {name}")
            for name in ("errant", "gleu", "gleuofficial", "green", "gotoscorer")
        ),
    ]


def _limit_length(path: Path) -> None:
    """Set a tokenizer's maximum length, without which bert-score uses inputs that are too long."""
    settings = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**settings, "model_max_length": 512}), encoding="utf-8")


def _peer_data(data: Path) -> dict[str, str]:
    """Return the files of SEEDA, CoNLL-2014 and GJG15 in the layout of gec-metrics."""
    from gecjury.benchmarks.load import load_benchmark

    found = {}
    for path in (data / "SEEDA").rglob("*"):
        kept = path.suffix in (".txt", ".xml") and "outputs/all" not in str(path)
        if kept and path.is_file():
            found[f"SEEDA/{path.relative_to(data / 'SEEDA')}"] = path.read_text(encoding="utf-8")
    seeda = load_benchmark("seeda", references="official-as-published", data=data).corpus
    for number, version in enumerate(seeda.references):
        found[f"SEEDA/outputs/subset/REF{number}.txt"] = "\n".join(version.lines) + "\n"
    corpus = load_benchmark(
        "gjg15", systems="all", references="official-as-published", data=data
    ).corpus
    submissions = data / "GJG15" / "data" / "original" / "official_submissions"
    for name in corpus.names:
        text = (submissions / name).read_text(encoding="utf-8")
        found[f"conll14/official_submissions/{name}"] = text
    for number, version in enumerate(corpus.references):
        found[f"conll14/REF{number}"] = "\n".join(version.lines) + "\n"
    judged = data / "GJG15" / "data" / "judgments.xml"
    found["GJG15/judgments.xml"] = judged.read_text(encoding="utf-8")
    return found


def _claim(
    title: str, ours: dict[str, Any], theirs: dict[str, Any], start: str, only: str = ""
) -> Claim:
    """Return how many numbers of some calls are equal, and which differ."""
    names = [name for name in theirs if (name == only if only else name.startswith(start))]
    equal = near = whole = 0
    calls = 0
    lines = []
    for name in names:
        refused = isinstance(theirs[name], dict) and "error" in theirs[name]
        mine, other = numbers(ours[name]), numbers(theirs[name])
        if refused:
            lines.append(f"{name}: fails there: {str(theirs[name]['error'])[:100]}")
            continue
        if isinstance(ours[name], dict) and "error" in ours[name]:
            whole += len(other)
            lines.append(f"{name}: {len(other)} numbers there; here {ours[name]['error'][:120]}")
            continue
        gaps = {key: gap(mine.get(key), value) for key, value in other.items()}
        exact = sum(one <= _EXACT for one in gaps.values())
        close = sum(one <= _SINGLE for one in gaps.values())
        whole, equal, near = whole + len(gaps), equal + exact, near + close
        calls += close == len(gaps)
        if close < len(gaps):
            apart = {key: one for key, one in gaps.items() if one > _SINGLE}
            worst = max(apart, key=lambda key: apart[key])
            lines.append(
                f"{name}: {len(apart)} of {len(gaps)} differ, most {worst}: "
                f"{mine.get(worst)} here, {other[worst]} there"
            )
    lines.insert(0, f"groups of calls wholly equal: {calls} of {len(names)}")
    asked = only.removeprefix("SEEDA ") in _EQUAL
    return checked(
        f"gec-metrics: {title}",
        f"{equal} of {whole} numbers equal to {_EXACT:g}, {near} to {_SINGLE:g}",
        f"all to {_SINGLE:g}" if asked else "",
        near == whole if asked else None,
        lines=lines,
        agreement=asked,
    )
