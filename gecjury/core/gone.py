"""Commands and options that were taken away, with what to do instead; kept for one release."""

from __future__ import annotations

OPTIONS: dict[tuple[str, str], str] = {
    ("data fetch", "--url"): "set GECJURY_DATA_URL to the address of the mirror",
    ("alarms", "--documents"): "sentences are drawn and swapped one by one",
    ("attack", "--as-reward"): "`higher` is how often the damage raises the score as a reward",
    ("attack", "--perturbed"): "score your own damaged file beside the output with `gecjury rank`",
    ("attack", "--share"): "every sentence is damaged",
    ("diff", "--permutations"): "there are 1,000; smaller p come from a normal curve",
    ("estimate", "--aspect"): "name a file with the ratings of one aspect (--labels FILE)",
    ("estimate", "--binary"): "the estimate needs no verdicts; for shares, rate outputs 1 or 0",
    ("estimate", "--good"): "rate good outputs 1 and others 0 (--labels FILE)",
    ("estimate", "--weight"): "the weight with the narrowest interval is used",
    ("estimate", "--width"): "`worth` in the table says how many labels the metric replaces",
    ("explain", "--png"): "`--html FILE` shows the transport plan",
    ("explain", "--samples"): "200 orders of edits are drawn if there are more than 10 edits",
    ("maege", "--chains"): "`--seeds K` draws more chains",
    ("maege", "--means"): "corpora have 0 to 10 edits per sentence on average",
    ("maege", "--variance"): "the number of edits has the variance of the released program, .9",
    ("pick", "--scores"): "`--format json` has the score of every output",
    ("pick", "--try"): "score the file of `pick -o` beside the outputs with `gecjury rank`",
    ("pick", "--votes"): "every other file counts",
    ("power", "-d"): "three differences are shown; the number falls with 1/d²",
    ("power", "--difference"): "three differences are shown; the number falls with 1/d²",
    ("power", "--try"): "run `power` on a part of your sentences to see what they forecast",
    ("power", "--width"): "a 95% interval of width w needs (3.92 · c / w)²; c: deviation in JSON",
}
"""What to do instead of an option, by command and flag; `*` stands for every command."""

COMMANDS: dict[str, str] = {}
"""What to do instead of a command."""

SETTINGS: dict[tuple[str, str], str] = {
    ("i-measure", "aspect"): "i-measure compares corrections; errant:mode=span compares detection",
    ("gotoscorer", "measure"): "gotoscorer is F0.5; leave the option out",
    ("gotoscorer", "weights"): "score the systems that give the weights together",
    **{(metric, "weights"): "edits are weighted by BERTScore" for metric in ("pt-errant", "pt-m2")},
    ("gleu", "choices"): "references are drawn by `seed`",
    ("gleu-official", "choices"): "references are drawn by `seed`",
    ("cleme2", "weights"): "chunks are weighted by length",
    **{
        ("cleme2", option): "chunks are weighted by length, without a model"
        for option in ("model", "layer", "revision")
    },
    **{
        (metric, "pos"): "edits have spaCy 2's parts of speech, as the official files have"
        for metric in (
            "errant",
            "sent-errant",
            "pt-errant",
            "uot-errant",
            "cleme",
            "cleme2",
            "gotoscorer",
        )
    },
}
"""What to do instead of an option of a metric, by metric and option."""


def instead_of_option(command: str, flag: str) -> str | None:
    """Return what replaces an option of a command, or None if it was never there."""
    return OPTIONS.get((command, flag)) or OPTIONS.get(("*", flag))
