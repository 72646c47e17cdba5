"""The kinds of input by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.fuzz import files, folders, served, words
from tests.fuzz.box import Box, Case

KINDS: Mapping[str, Callable[[Box], Case]] = {
    "text": files.text_files,
    "m2": files.m2_gold,
    "json": files.json_corpora,
    "judgments": files.own_judgments,
    "matches": files.checker_matches,
    "tables": files.own_tables,
    "toml": files.own_toml,
    "scores": files.score_files,
    "given": files.given_scores,
    "members": files.members,
    "models": files.model_folders,
    "rows": files.training_rows,
    "loaders": files.loaders,
    "stores": served.stores,
    "prices": served.prices,
    "replies": served.replies,
    "arguments": words.command_lines,
    "downloads": served.downloads,
    "sentences": words.sentences,
    "results": folders.results,
    "journals": folders.journals,
    "encoders": folders.encoders,
    "detectors": folders.detectors,
}
"""The kinds by their name for `--kind`."""
