"""Commands and options that were taken away, with what to do instead; kept for one release."""

from __future__ import annotations

from collections.abc import Mapping

_TRAINED = "train some|train impara|train detector|train judge"
_ANALYSED = "analyse norms|analyse map|analyse edits|analyse scatter|analyse lambda"
_TYPED = "errant|sent-errant|pt-errant|uot-errant|cleme|cleme2|gotoscorer"
_JUDGES = "llm-s|llm-e|edit-verdict"
_ENGINE = "write {} = VALUE into a TOML file and name it with engine=FILE"


def _each(table: Mapping[tuple[str, str], str]) -> dict[tuple[str, str], str]:
    """Return a table with an entry for each of the names that `|` separates."""
    return {
        (place, name): instead
        for (places, names), instead in table.items()
        for place in places.split("|")
        for name in names.split("|")
    }


_OPTIONS = {
    ("*", "--shuffles"): "use --aggregate expected-wins, which does not depend on the order",
    ("*", "--opponents"): "every system plays all others, or of more than 5 million games a sample",
    ("*", "--pairwise"): "the page (--html) shows agreement by pair of systems",
    ("*", "--grouping"): "ratings are compared by source; for rankings use --ties calibrated",
    ("compare", "--confidence"): "intervals have a confidence of 0.95",
    ("*", "--credit"): "--level edit credits a metric by its counts, or by leaving the edit out",
    ("*", "--own-systems"): "systems of a judge's family are known by the model's name",
    ("*", "--chosen-by"): "compare again without the system (--systems)",
    ("*", "--drift-from"): "run again with another --cache, and compare the files of -o",
    ("*", "--sentinels"): "a metric has to exceed -m changes and the baselines of chance",
    ("compare", "--good"): "ratings are compared as correlations, and labels as AUC",
    ("*", "--preset"): "for wmt use --statistic spa, for seeda --ties official",
    ("compare", "--weights"): "write the weights into the file of `gecjury study`",
    ("diff", "--by"): "compare files that hold the sentences of one group",
    ("alarms", "--by"): "count files that hold the sentences of one group",
    ("*", "--unknown-systems"): 'set unknown_systems = "skip" in benchmark.toml',
    ("compare", "--lang"): "set language in benchmark.toml",
    ("compare", "--tokens"): "set tokens in benchmark.toml; in Python, load_benchmark takes tokens",
    ("compare", "--fold"): "set fold in benchmark.toml",
    ("*", "--tagger"): "name it with the metric: -m errant:tagger=NAME",
    ("alarms", "--tagger"): "edits are extracted with the language's own tagger (--lang)",
    (f"alarms|attack|estimate|power|{_ANALYSED}", "--source-text"): "write the matches as M2 with "
    "`gecjury edits SOURCE MATCHES --source-text FILE -o FILE.m2`, and name that file",
    ("*", "--pos"): "parts of speech are named as in spaCy 2, as in the published scores",
    (_TRAINED, "--layer-decay"): "all layers have the same learning rate; --freeze-layers saves "
    "memory",
    (_TRAINED, "--patience"): "a training stops by itself when the dev score no longer gets better",
    (_TRAINED, "--report-to|--logging-dir"): "`history.json` has losses and dev scores; --figure "
    "draws them",
    (_TRAINED, "--license"): "write the licence into the model's README.md",
    (_TRAINED, "--seeds"): "use --seed; models of several seeds are no longer averaged",
    (_TRAINED, "--freeze-embeddings"): "use --freeze-layers 0",
    (_TRAINED, "--check"): "name benchmarks with --leakage NAME, or none for no check",
    (_TRAINED, "--detection-dev"): "name the file like the training file, with `_dev` for `_train`",
    (_TRAINED, "--detection-weight"): "wrong tokens have the weight 1.5",
    (_TRAINED, "--intermediate-rate"): "error detection is learnt at the rate 1e-4",
    (_TRAINED, "--intermediate-epochs"): "labelled text is read twice",
    (_TRAINED, "--intermediate"): "use --detection FILE",
    (_TRAINED, "--loss"): "the loss is the mean squared error",
    ("train some", "--grid"): "train once for each --max-length, --train-batch and "
    "--learning-rate, and keep the folder with the best dev figures",
    ("train some|train judge", "--aspects"): "name the columns of the aspects with --column",
    ("train some", "--gug"): "join GUG's sentences with your ratings in one file",
    ("train some", "--dev|--test"): "join the files, with a column `split`",
    ("train some", "--split-seed"): "a column `split` gives another split",
    ("train judge", "--split-seed"): "the split by source is always the same",
    ("train some", "--parallel|--clean"): "use --detection FILE",
    ("train some", "--detection artificial"): "--recipe small needs no error detection; otherwise "
    "name labelled text, --detection FILE",
    ("train jury", "--folds"): "the cross-validation has ten folds",
    ("train jury", "--strength"): "cross-validation chooses among powers of ten from 1 to 10000",
    ("train jury", "--signed"): "weights are 0 or more",
    ("train jury", "--like"): "name benchmarks whose outputs resemble those to be judged",
    ("train jury", "--like-references"): "name benchmarks like the texts to be judged",
    ("tune", "--folds"): "ten folds, or as in the metric's paper",
    ("tune", "--curve"): "tune shows the best values; `score` gives those of any other value",
    ("alarms", "--documents"): "sentences are drawn and swapped one by one",
    ("attack", "--as-reward"): "the column `higher` of attack is how often damage raises a score",
    ("*", "--price"): "write it into a table of prices: prices.json in the cache folder, or the "
    "file that $GECJURY_PRICES names",
    ("*", "--prices"): "put the table into prices.json in the cache folder, or name it in "
    "$GECJURY_PRICES",
    ("annotate", "--hide-edits"): "edits are always marked",
    ("annotate", "--sets-of"): "sets have at most five corrections, as in SEEDA",
    ("attack", "--perturbed"): "score your own damaged file beside the output with `gecjury rank`",
    ("attack", "--share"): "every sentence is damaged",
    ("data fetch", "--url"): "set GECJURY_DATA_URL to the address of a mirror",
    ("diff", "--permutations"): "there are 1,000; smaller p come from a normal curve",
    ("estimate", "--aspect"): "name a file with the ratings of one aspect (--labels FILE)",
    ("estimate", "--binary"): "the estimate needs no verdicts; for shares, rate outputs 1 or 0",
    ("estimate", "--good"): "rate good outputs 1 and others 0 (--labels FILE)",
    ("estimate", "--weight"): "the weight with the narrowest interval is used",
    ("estimate", "--width"): "`worth` in the table says how many labels the metric replaces",
    ("explain", "--png"): "`--html FILE` shows the transport plan",
    ("explain", "--samples"): "200 orders of edits are drawn if there are more than 10 edits",
    ("m2 apply", "--overlaps"): "remove one of two overlapping edits; the error names their line",
    ("m2 convert|m2 text", "--overlaps"): "overlapping edits are kept",
    ("judgments show", "--benchmark"): "`gecjury compare BENCHMARK -m JUDGE --html FILE` shows "
    "sentences on which judge and people disagree",
    ("judgments show", "--no-browser|--port"): "it writes a page: --html FILE",
    ("maege", "--chains"): "`--seeds K` draws more chains",
    ("maege", "--means"): "corpora have 0 to 10 edits per sentence on average",
    ("maege", "--variance"): "the number of edits has the variance of the released program, .9",
    ("pick", "--scores"): "`--format json` has the score of every output",
    ("pick", "--try"): "score the file of `pick -o` beside the outputs with `gecjury rank`",
    ("pick", "--votes"): "every other file counts",
    ("power", "--difference|-d"): "three differences are shown; the number falls with 1/d²",
    ("power", "--try"): "run `power` on a part of your sentences to see what they forecast",
    ("power", "--width"): "a 95% interval of width w needs (3.92 · c / w)²; c: deviation in JSON",
    ("serve", "--compare"): "`gecjury compare ... --html FILE` writes a page",
    ("serve", "--scores"): "`gecjury rank` shows the scores of several systems",
    ("score", "--address"): "set RAY_ADDRESS to auto or HOST:PORT",
    ("score", "--num-gpus"): "in Python, score_dataset(..., engine=RayEngine(num_gpus=N))",
    ("score", "--output-format"): "scores are written as Parquet",
    ("score", "--shard-rows"): "in Python, score_dataset(..., shard_rows=N)",
    ("score", "--strict"): "bad rows get no score and are listed in bad-rows.jsonl",
}
OPTIONS = _each(_OPTIONS)
"""Replacements of options, by command and flag, or flag and value; `*` means every command."""

COMMANDS: dict[str, str] = {
    "analyse cost": "the column `seconds` of compare is how long a metric takes",
    "analyse layers": "use `gecjury compare BENCHMARK -m uot-errant:layer=1 -m uot-errant:layer=2`",
    "analyse solver": "uot-errant:solver=pot scores by POT's plans",
    "completion": 'use argcomplete: eval "$(register-python-argcomplete gecjury)"',
    "train weights": "use `gecjury tune some:model=DIR BENCHMARK`",
}
"""Replacements of commands."""

SETTINGS = _each(
    {
        ("i-measure", "aspect"): "i-measure compares corrections; errant:mode=span compares "
        "detection",
        ("gotoscorer", "measure"): "gotoscorer is F0.5; leave the option out",
        ("gotoscorer", "weights"): "score the systems that give the weights together",
        ("pt-errant|pt-m2", "weights"): "edits are weighted by BERTScore",
        ("gleu|gleu-official", "choices"): "references are drawn by `seed`",
        ("cleme2", "weights"): "chunks are weighted by length",
        ("cleme2", "model|layer|revision"): "chunks are weighted by length, without a model",
        (_TYPED, "pos"): "edits have spaCy 2's parts of speech, as the official files have",
        ("uot-errant", "lambda"): "use lambda1=START:STOP:STEP,lambda2=lambda1",
        (_JUDGES, "max_model_len"): _ENGINE.format("max_model_len"),
        (_JUDGES, "tensor_parallel"): _ENGINE.format("tensor_parallel_size"),
        (_JUDGES, "gpu_memory"): _ENGINE.format("gpu_memory_utilization"),
        (_JUDGES, "sections"): "reorder the sections in a prompt of your own (prompt=FILE)",
    }
)
"""Replacements of options of metrics, by metric and option."""


def instead_of_option(command: str, flag: str) -> str | None:
    """Return what replaces an option of a command, or None if it was never there."""
    return OPTIONS.get((command, flag)) or OPTIONS.get(("*", flag))
