"""Functions that draw figures and write them to files. matplotlib is imported only here.

Names are untrusted: they are shown literally, a dollar sign does not start a formula, and long
names are shortened.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.durable import unwritable, whole_file
from gecjury.core.errors import MissingExtraError, OptionError, OutputError, install_hint
from gecjury.core.wording import shortened
from gecjury.report.colours import COLOURS, SHAPES

_KINDS = (".png", ".pdf", ".svg")


def check_figure(path: str | Path) -> None:
    """Check that a figure can be drawn and written, before long work starts.

    Raises:
        OptionError: the suffix is not a supported file type.
        OutputError: the path is a folder, or its folder cannot be written.
        MissingExtraError: matplotlib is not installed.
    """
    if Path(path).suffix.lower() not in _KINDS:
        raise OptionError(f"{path}: expected a file name ending in {', '.join(_KINDS)}")
    check_place(path)
    _pyplot()


def check_place(path: str | Path) -> None:
    """Check that a file can be written, before long work starts; an existing file is kept.

    Raises:
        OutputError: the path is a folder, or its folder does not exist or cannot be written.
    """
    import tempfile

    target = Path(path)
    if not target.parent.is_dir():
        raise OutputError(f"{path}: there is no folder {target.parent}; create it first")
    if target.is_dir():
        raise OutputError(f"{path}: this is a folder; give the name of a file")
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise unwritable(path, error) from None


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError(
            f"figures need matplotlib, which is not installed: {install_hint('report')}"
        ) from None
    # Figures are only written to files, so no display is needed.
    matplotlib.use("agg")
    matplotlib.rcParams["text.parse_math"] = False
    from matplotlib import pyplot

    return pyplot


def _styled() -> Any:
    """Return a context in which figures have our style; the user's own figures are unaffected."""
    pyplot = _pyplot()
    from cycler import cycler

    # Text of this size is still legible when a figure is scaled to the width of a phone.
    return pyplot.rc_context(
        {
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.prop_cycle": cycler(color=COLOURS) + cycler(marker=SHAPES),
            "axes.titlesize": 11,
            "font.size": 11,
            "legend.fontsize": 9,
            "legend.frameon": False,
        }
    )


def _with_fonts(figure: Any) -> None:
    """Add fallback fonts for letters that the default font lacks.

    They are the first installed fonts that have these letters. Letters that no font has are drawn
    as boxes, and the figure says so.
    """
    from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font
    from matplotlib.text import Text

    # matplotlib falls back letter by letter, but only to the families listed for a text.
    texts = figure.findobj(Text)
    lacking = {ord(c) for text in texts for c in text.get_text() if not c.isascii()}
    lacking -= set(get_font(findfont(FontProperties())).get_charmap())
    families: list[str] = []
    for entry in sorted(fontManager.ttflist, key=lambda entry: (entry.name, entry.fname)):
        if not lacking:
            break
        if "lastresort" in entry.fname.lower():  # comes with matplotlib, a box for every letter
            continue
        try:
            font = get_font(entry.fname)
            covered = lacking & set(font.get_charmap())
        except (OSError, RuntimeError):  # a font that was removed or contains only bitmaps
            continue
        if covered and entry.name not in families:
            families.append(entry.name)
            lacking -= covered
    for text in texts if families else ():
        text.set_fontfamily([*text.get_fontfamily(), *families])
    if lacking:
        figure.text(0, -0.02, "boxes: letters that no installed font has", fontsize=6)


def _save(figure: Any, path: str | Path) -> None:
    try:
        _with_fonts(figure)
        # A viewer that watches the file must never see it half-written.
        with warnings.catch_warnings(), whole_file(Path(path), synced=False, follow=True) as file:
            warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from", UserWarning)
            kind = Path(path).suffix[1:].lower()
            figure.savefig(file, format=kind, dpi=150, bbox_inches="tight")
    finally:
        _pyplot().close(figure)


_LONGEST = 60
"""Most characters of a name in a figure, since the figure grows with its names."""


def _names(names: Sequence[str]) -> list[str]:
    return [shortened(name, _LONGEST) for name in names]


@contextmanager
def _drawing(
    path: str | Path, width: float, height: float, labels: tuple[str, str] = ("", "")
) -> Iterator[Any]:
    """Yield axes with labels (x, y), then save their figure."""
    with _styled():
        figure, axes = _pyplot().subplots(figsize=(width, height))
        axes.set_xlabel(shortened(labels[0]))
        axes.set_ylabel(shortened(labels[1]))
        yield axes
        _save(figure, path)


def bars(
    names: Sequence[str],
    values: Sequence[float],
    path: str | Path,
    label: str,
    errors: Sequence[float] | None = None,
) -> None:
    """Draw horizontal bars in the given order, from the top."""
    with _drawing(path, 6, 1 + 0.28 * len(names), (label, "")) as axes:
        axes.barh(range(len(names)), values, xerr=errors, color=COLOURS[0], ecolor="#888888")
        axes.set_yticks(range(len(names)), _names(names))
        axes.invert_yaxis()


def points(
    groups: Mapping[str, FloatArray],
    path: str | Path,
    labels: tuple[str, str],
    names: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Draw a scatter plot of groups of n × 2 positions, each with its own colour and shape.

    Points are labelled with their names, if there are any.
    """
    with _drawing(path, 6, 5, labels) as axes:
        for number, (group, positions) in enumerate(groups.items()):
            # With more groups than colours the shapes shift, so that no two groups look alike.
            row, column = divmod(number, len(COLOURS))
            mark = SHAPES[(row + column) % len(SHAPES)]
            # Many large marks would cover each other.
            size = 12 if len(positions) > 60 else 36
            [label] = _names([group])
            axes.scatter(*positions.T, s=size, color=COLOURS[column], marker=mark, label=label)
            for name, place in zip(_names((names or {}).get(group, ())), positions, strict=False):
                axes.annotate(name, place, fontsize=9, xytext=(4, 3), textcoords="offset points")
        if len(groups) > 1:
            axes.legend(ncol=2, markerscale=1.3)


def lines(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    path: str | Path,
    labels: tuple[str, str],
) -> None:
    """Draw curves of (x, y) with a legend."""
    with _drawing(path, 6, 4, labels) as axes:
        for name, (x, y) in curves.items():
            _curve(axes, x, y, name)
        axes.legend()


def _curve(
    axes: Any, x: Sequence[float], y: Sequence[float], name: str, width: float = 1.5
) -> None:
    label = shortened(name, _LONGEST)
    axes.plot(x, y, markersize=4, linewidth=width, label=label)


def learning_curves(history: Mapping[str, Any], path: str | Path) -> None:
    """Draw the learning curves of a training, one panel per model.

    A panel shows the loss by step and the scores on the development data by epoch, with the best
    epoch marked. The file is replaced atomically, so that a viewer can watch it.

    Args:
        history: the contents of a training's `history.json`: `models`.
        path: a file that `check_figure` accepts.
    """
    models: Mapping[str, Any] = history.get("models", {})
    count = max(len(models), 1)
    columns = min(count, 3)
    rows = -(-count // columns)
    with _styled():
        figure, grid = _pyplot().subplots(
            rows, columns, figsize=(5.2 * columns, 3.6 * rows), squeeze=False, layout="constrained"
        )
        panels = iter(grid.flat)
        for (name, curves), axes in zip(models.items(), panels, strict=False):
            _training_panel(axes, name, curves)
        for axes in panels:
            axes.set_visible(False)
        _save(figure, path)


def _training_panel(axes: Any, name: str, curves: Mapping[str, Any]) -> None:
    """Draw a model's loss, and its scores on the development data with a separate axis."""
    losses, dev = curves.get("losses", []), curves.get("dev", [])
    epochs, loss = [e["epoch"] for e in losses], [e["loss"] for e in losses]
    (line,) = axes.plot(epochs, loss, color="#8A8A8A", marker="", linewidth=1, label="loss")
    axes.set_xlabel("epoch")
    axes.set_ylabel("loss in training")
    axes.set_title(shortened(name, _LONGEST))
    scores = axes.twinx()
    scores.spines["right"].set_visible(True)  # its axis
    epochs = [e["epoch"] for e in dev]
    parts = [key for key in (dev[-1] if dev else {}) if key not in ("epoch", "step", "score")]
    # With a single part the score is that part, so the part needs no curve.
    for key in parts if len(parts) > 1 else ():
        values = [e.get(key, np.nan) for e in dev]
        _curve(scores, epochs, values, f"dev, {key}", 1)
    _curve(scores, epochs, [e.get("score", np.nan) for e in dev], "dev", 2)
    if curves.get("best") is not None:
        scores.axvline(curves["best"], color="#888888", linestyle=":", label="best epoch")
    scores.set_ylabel("dev score")
    handles, _ = scores.get_legend_handles_labels()
    scores.legend(handles=[line, *handles])
