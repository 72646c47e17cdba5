"""The audit of a judge's run: how far its verdicts can be trusted, before any human is asked."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, groupby, permutations
from pathlib import Path
from typing import Any, Literal

import numpy as np

from gecjury.benchmarks.annotators import krippendorff_alpha
from gecjury.core.runtime import Runtime
from gecjury.core.wording import listed, number, visible
from gecjury.judges.asking.ask import CAP_REACHED, NO_USAGE, Asked, Question, thoughts_only
from gecjury.judges.asking.store import ASIDE
from gecjury.judges.exchange import TOO_LONG, Model, Reply
from gecjury.judges.models import ModelTable, model_table, same_model
from gecjury.judges.replies.reply import UNENDED, Failure, PartlyWritten, ignores_schema

ScoredQuestion = tuple[Question[object], Sequence[float]]
"""A question with the score at each position."""

AuditRecord = Mapping[str, Any]
"""The audit of one model, as JSON values; see `audit_of`."""

Check = Literal["flips", "repeat_agreement", "histogram", "positions"]
"""A check of the scores of a model in an audit."""

_LISTED = 100
# Failures that are counted separately; all others are replies that cannot be read.
_TOLD_APART = ("refused", "truncated", TOO_LONG)
# Failures whose details are our own words.
_IN_OUR_WORDS = ("empty", "truncated", "other-text")
_LEVELS: tuple[Literal["ordinal", "interval"], ...] = ("ordinal", "interval")
# Characters per token; prose in the tokenizers of current models has 4 to 5.
_MOST_CHARACTERS = 8


def audit_of(
    model: Model,
    questions: Sequence[Question[object]],
    asked: Asked[object],
    rows: Sequence[int],
    runtime: Runtime,
    seconds: float,
) -> dict[str, object]:
    """Return the audit of one model, without checks of its scores, as JSON values.

    Args:
        asked: its answers.
        rows: the source's row of each candidate set.
        runtime: for the price table.
        seconds: wall time.
    """
    # Retries were paid for as well.
    replies = [reply for answer in asked.answers.values() for reply in answer.replies]
    # Replies of other models than the one that was asked.
    others = Counter(reply.model for reply in replies if reply.model)
    return {
        "backend": model.backend,
        "model": model.name,
        "requests": {
            "distinct": len(asked.answers),
            "ballots": len(questions),
            "asked": sum(answer.fresh for answer in asked.answers.values()),
            "stored": sum(bool(a.replies) and not a.fresh for a in asked.answers.values()),
            "retried": sum(len(answer.replies) > 1 for answer in asked.answers.values()),
        },
        "replies": len(replies),
        **_failures(questions, asked, rows),
        **({"answered_by": dict(sorted(others.items()))} if others else {}),
        **_swallowed(model, questions, asked, rows),
        **_settings(model, questions, asked),
        "tokens": {
            "input": sum(reply.input_tokens for reply in replies),
            "output": sum(reply.output_tokens for reply in replies),
            "reasoning": sum(reply.reasoning_tokens for reply in replies),
            "cached": sum(reply.cached_tokens for reply in replies),
        },
        "cost": _cost(replies, asked.lost, model_table(runtime)),
        "seconds": seconds,
        "store": {
            "file": asked.store.file,
            "cut": asked.store.cut,
            **({"set_aside": list(asked.store.aside)} if asked.store.aside else {}),
        },
    }


def _failures(
    questions: Sequence[Question[object]], asked: Asked[object], rows: Sequence[int]
) -> dict[str, object]:
    """Return how many replies could be read, and which verdicts are missing for what reason."""
    verdicts = {key: answer.verdict for key, answer in asked.answers.items()}
    failures = Counter[str](v.kind for v in verdicts.values() if isinstance(v, Failure))
    return {
        "valid": len(verdicts) - failures.total(),
        "refused": failures["refused"],
        "truncated": failures["truncated"],
        "unparsable": failures.total() - sum(failures[kind] for kind in _TOLD_APART),
        "failures": dict(sorted(failures.items())),
        "missing": [
            {
                "line": rows[question.set] + 1,
                "order": question.order,
                "repeat": question.request.repeat,
                "kind": verdict.kind,
                "detail": verdict.detail,
            }
            for question in questions
            if isinstance(verdict := verdicts[question.request.key], Failure)
        ],
    }


def _cost(replies: Sequence[Reply], lost: float, table: ModelTable) -> dict[str, object]:
    """Return what replies cost, and by which prices."""
    costs = [reply.cost for reply in replies if reply.cost is not None]
    dates = {reply.prices or "an unknown date" for reply in replies if reply.cost}
    estimated = sum(bool(reply.cost) and not reply.counted for reply in replies)
    return {
        "amount": math.fsum(costs) if costs or not replies else None,
        "currency": table.currency,
        "prices": listed(sorted(dates)) if dates else table.date,
        **({"estimated": estimated} if estimated else {}),
        **({"unpriced": len(replies) - len(costs)} if len(costs) < len(replies) else {}),
        **({"lost": lost} if lost else {}),
    }


def _swallowed(
    model: Model, questions: Sequence[Question[object]], asked: Asked[object], rows: Sequence[int]
) -> dict[str, object]:
    """Return the prompts of which a server counted far fewer tokens than they can have."""
    keys, lines = set(), set()
    for question in questions if model.backend == "openai" else ():
        replies = asked.answers[question.request.key].replies
        if not replies or not replies[-1].input_tokens:
            continue
        length = sum(len(message["content"]) for message in question.request.messages)
        if length > _MOST_CHARACTERS * replies[-1].input_tokens:
            keys.add(question.request.key)
            lines.add(rows[question.set] + 1)
    return {"swallowed": {"questions": len(keys), "lines": sorted(lines)}} if keys else {}


def _settings(
    model: Model, questions: Sequence[Question[object]], asked: Asked[object]
) -> dict[str, object]:
    """Return what is reported on settings that a model refuses or apparently ignores."""
    parts: dict[str, object] = {}
    requests = {question.request.key: question.request for question in questions}
    replies = [reply for answer in asked.answers.values() for reply in answer.replies]
    if left_out := Counter(name for reply in replies for name in reply.left_out):
        parts["left_out"] = dict(sorted(left_out.items()))
    schemas = Counter(
        ignores_schema(requests[key], reply)
        for key, answer in asked.answers.items()
        for reply in answer.replies
    )
    if schemas[True]:
        parts["schema"] = {"sent": schemas[True] + schemas[False], "ignored": schemas[True]}
    verdicts = [answer.verdict for answer in asked.answers.values()]
    if partly := [verdict for verdict in verdicts if isinstance(verdict, PartlyWritten)]:
        of = sum(len(verdict) for verdict in verdicts if isinstance(verdict, list))
        parts["as_written"] = {"scores": sum(verdict.written for verdict in partly), "of": of}
    reasoned = sum(reply.reasoning_tokens > 0 for reply in replies)
    ran_out = sum(thoughts_only(reply) for reply in replies)
    if model.effort != "auto" or reasoned:
        parts["reasoning"] = {
            "effort": model.effort, "replies": reasoned, "of": len(replies), "ran_out": ran_out
        }  # fmt: skip
    return {"settings": parts} if parts else {}


def _by_set(scored: Sequence[ScoredQuestion]) -> Iterator[Iterator[ScoredQuestion]]:
    """Yield the questions of each set, which are adjacent."""
    return (of_set for _, of_set in groupby(scored, key=lambda entry: entry[0].set))


def order_flips(scored: Sequence[ScoredQuestion]) -> dict[str, object] | None:
    """Count preferences between two corrections that change with the order of their set.

    Args:
        scored: questions, those of a set adjacent.

    Returns:
        `compared` pairs (of corrections, between two orders), the share that `flipped` from one
        side to the other, the share that `changed` at all, ties included, and the share that would
        flip by `chance`, if a judge decided at random and as seldom tied; None with one order.
    """
    compared = flipped = changed = decided = 0
    # Set by set, since the ballots of a hundred thousand sets would double the memory of a run.
    for of_set in _by_set(scored):
        orders: dict[object, dict[tuple[int, ...], dict[int, float]]] = defaultdict(dict)
        for question, scores in of_set:
            texts = question.texts
            # A permutation that was drawn twice is the same question, not another order.
            ballots = orders[question.request.repeat, frozenset(texts)]
            ballots[texts] = dict(zip(texts, scores, strict=True))
        for ballots in orders.values():
            for one, two in combinations(ballots.values(), 2):
                for a, b in combinations(sorted(one), 2):
                    before, after = np.sign(one[a] - one[b]), np.sign(two[a] - two[b])
                    compared += 1
                    flipped += int(before * after < 0)
                    changed += int(before != after)
                    decided += int(before != 0) + int(after != 0)
    if not compared:
        return None
    return {
        "compared": compared,
        "flipped": flipped / compared,
        "changed": changed / compared,
        "chance": (decided / (2 * compared)) ** 2 / 2,
    }


def repeat_agreement(scored: Sequence[ScoredQuestion]) -> dict[str, object] | None:
    """Return the share of equal scores when a question is asked again; None with one repeat.

    Args:
        scored: questions, those of a set adjacent.
    """
    compared = equal = 0
    for of_set in _by_set(scored):
        asked: dict[tuple[int, tuple[int, ...]], list[Sequence[float]]] = defaultdict(list)
        for question, scores in of_set:
            asked[question.order, question.texts].append(scores)
        for ballots in asked.values():
            for one, two in combinations(ballots, 2):
                compared += len(one)
                equal += sum(a == b for a, b in zip(one, two, strict=True))
    return {"compared": compared, "equal": equal / compared} if compared else None


def position_means(scored: Sequence[ScoredQuestion]) -> list[dict[str, object]]:
    """Return the mean score by position, and its mean distance from the mean of the same reply.

    Without a bias the distance is about 0 at every position, if corrections are in random order.
    """
    by_position: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for _, scores in scored:
        centre = math.fsum(scores) / len(scores)
        for position, score in enumerate(scores):
            by_position[position].append((score, score - centre))
    return [
        {
            "position": position + 1,
            "count": len(rows),
            "mean": math.fsum(score for score, _ in rows) / len(rows),
            "distance": math.fsum(distance for _, distance in rows) / len(rows),
        }
        for position, rows in sorted(by_position.items())
    ]


def histogram(scored: Sequence[ScoredQuestion]) -> dict[str, int]:
    """Return how often each score was given; expected scores are counted at the nearest half."""
    halves = Counter(round(2 * score) / 2 for _, scores in scored for score in scores)
    return {f"{score:g}": count for score, count in sorted(halves.items())}


CheckResult = Mapping[str, Any] | Sequence[Mapping[str, Any]] | None
"""The result of a check as JSON values; None where there is nothing to compare."""
_CHECKS: Mapping[Check, tuple[Callable[[Sequence[ScoredQuestion]], CheckResult], str, str]] = {
    "histogram": (histogram, "scores", ""),
    "positions": (position_means, "mean score by position", ""),
    "flips": (order_flips, "flips when reordered",
              "{flipped:.1%} of {compared} (by chance {chance:.1%})"),
    "repeat_agreement": (repeat_agreement, "equal when repeated", "{equal:.1%} of {compared}"),
}  # fmt: skip
"""The function of each check, and the heading and words of its result."""


def checked(scored: Sequence[ScoredQuestion], checks: Iterable[Check]) -> dict[str, object]:
    """Return what an audit says of the scores of the questions whose replies could be read."""
    return {check: _CHECKS[check][0](scored) for check in checks}


def merge_audits(
    audits: Sequence[AuditRecord], by_model: Sequence[Sequence[Sequence[float]]] = ()
) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return the audits of a panel as one entry of a score table's details, with rows to print.

    Args:
        audits: one per model.
        by_model: for each model and candidate set the score of each correction, NaN without one.

    Returns:
        `members` (the audits), `rows` (`model`, `what`, `value`) and, for two models or more,
        `panel` (see `panel_agreement`); and notes for the user.
    """
    rows = [row for audit in audits for row in _rows(audit)]
    notes = [note for audit in audits for note in _notes(audit)]
    entry: dict[str, object] = {"members": [dict(audit) for audit in audits], "rows": rows}
    if shared := _answered_for_several(audits):
        why = f"not measured: {shared} answered for several of its models"
        rows.append({"model": "panel", "what": "Krippendorff's α", "value": why})
        notes.insert(0, f"the panel's agreement is {why}, and its scores count that model twice")
    elif panel := panel_agreement(by_model):
        entry["panel"] = panel
        alphas = ", ".join(f"{level} {number(panel[level])}" for level in _LEVELS)
        value = f"{alphas} over {panel['corrections']} corrections"
        rows.append({"model": "panel", "what": "Krippendorff's α", "value": value})
    return entry, tuple(notes)


def _answered_for_several(audits: Sequence[AuditRecord]) -> str:
    """Return the name of a model that answered for two members of a panel; empty if none did."""
    for one, other in permutations(audits, 2):
        names = (other["model"], *other.get("answered_by", ()))
        for name in one.get("answered_by", ()):
            if any(same_model(name, another) for another in names):
                return visible(name)
    return ""


def panel_agreement(
    by_model: Sequence[Sequence[Sequence[float]]],
) -> dict[str, float | None] | None:
    """Return the agreement of a panel's models on the corrections of all sets.

    Args:
        by_model: as for `merge_audits`.

    Returns:
        Krippendorff's α of the models' scores, `ordinal` and `interval` (at most 1, 0 at chance;
        None where it is not defined), and the number of `corrections` that two models or more
        scored; None with one model.
    """
    if len(by_model) < 2:
        return None
    scores = np.array([[score for of_set in sets for score in of_set] for sets in by_model])
    alphas = {level: krippendorff_alpha(scores, level=level) for level in _LEVELS}
    return {
        **{level: None if math.isnan(alpha) else alpha for level, alpha in alphas.items()},
        "corrections": int(((~np.isnan(scores)).sum(axis=0) > 1).sum()),
    }


def _notes(audit: AuditRecord) -> Iterator[str]:
    """Yield notes for the user on a model's run, from its store to its preferences."""
    name, missing = audit["model"], audit["missing"]
    for other, count in audit.get("answered_by", {}).items():
        yield (
            f"{name}: according to the server, {visible(other)} wrote {count} of "
            f"{audit['replies']} replies; name the model that the server has, or check the server"
        )
    # Repairs on the disk come first: they determine which replies the rest is about.
    yield from _store_notes(audit["store"])
    if unread := [entry for entry in missing if entry["kind"] != TOO_LONG]:
        yield (
            f"{name}: {len(unread)} verdicts are missing after all retries (lines "
            f"{_lines(entry['line'] for entry in unread)}): {_faults(unread)}. They are left out, "
            "and count neither as zero nor as a tie" + _more_room(unread)
        )
    yield from _settings_notes(audit)
    if unfit := [entry for entry in missing if entry["kind"] == TOO_LONG]:
        yield (
            f"{name}: {len(unfit)} prompts do not fit the model (lines "
            f"{_lines(entry['line'] for entry in unfit)}): {unfit[0]['detail']}. They are left "
            "out, and count neither as zero nor as a tie; the others are kept. Start the model "
            "with a longer window (max_model_len in engine=FILE, or the server's own option) and "
            "run the same command again, or leave out the context (context=none)"
        )
    if swallowed := audit.get("swallowed"):
        yield (
            f"{name}: the server counted far fewer tokens than the prompt has in "
            f"{swallowed['questions']} questions (lines {_lines(swallowed['lines'])}): it may cut "
            "prompts without saying so; start it with a longer window (Ollama: "
            "OLLAMA_CONTEXT_LENGTH), and ask again with a separate cache folder (`cache=DIR`)"
        )


def _store_notes(store: Mapping[str, Any]) -> Iterator[str]:
    """Yield notes on repairs of the store."""
    if store["cut"]:
        yield (
            f"{store['file']}: an interrupted run left {store['cut']} damaged bytes at its end; "
            "they were cut off, and the rest was kept"
        )
    if aside := store.get("set_aside"):
        yield (
            f"{store['file']}: {len(aside)} stored replies cannot be read (lines "
            f"{_lines(aside)}); they were set aside in {Path(store['file']).with_suffix(ASIDE)} "
            "and asked again"
        )


def _settings_notes(audit: AuditRecord) -> Iterator[str]:
    """Yield a note on settings without effect, and one on thoughts without an answer."""
    name, settings = audit["model"], audit.get("settings", {})
    who = "vLLM" if audit["backend"] == "vllm" else "the server"
    parts = []
    schema, reasoning = settings.get("schema"), settings.get("reasoning")
    # A schema that was ignored is left out from then on, and its other form is still a schema.
    explained = {"json_schema", *(["response_format"] if schema else [])}
    if refused := [name for name in settings.get("left_out", {}) if name not in explained]:
        parts.append(f"refuses {', '.join(refused)}")
    if schema:
        parts.append(
            f"ignores JSON schemas ({schema['ignored']} of {schema['sent']} replies to one have "
            "another form)"
        )
    if reasoning and reasoning["effort"] == "none" and reasoning["replies"]:
        parts.append(
            f"ignores effort=none ({reasoning['replies']} of {reasoning['of']} replies spent "
            "tokens on reasoning)"
        )
    if written := settings.get("as_written"):
        yield (
            f"{name}: {written['scores']} of {written['of']} scores have no token with "
            "probabilities, and count as written (as with scoring=argmax)"
        )
    if parts:
        remedy = "; vLLM and llama.cpp enforce schemas" if schema and who != "vLLM" else ""
        yield (
            f"{name}: {who} {'; '.join(parts)}. Such settings are not sent again (a schema is with "
            f"structured=schema), and replies are read as they are{remedy}"
        )
    if reasoning and reasoning["ran_out"]:
        yield (
            f"{name}: reasoning used up the token cap of {reasoning['ran_out']} of "
            f"{reasoning['of']} replies, whose questions are asked again with twice the cap; a "
            "lower effort (effort=low) costs less"
        )


def _faults(missing: Iterable[Mapping[str, str]]) -> str:
    """Return what is wrong with replies that cannot be read, and how often, the commonest first."""
    # The other kinds' details quote the replies, which may quote learners.
    counts = Counter(
        visible(entry["detail"][:60]) if entry["kind"] in _IN_OUR_WORDS else entry["kind"]
        for entry in missing
    )
    return "; ".join(f"{fault} ({count})" for fault, count in counts.most_common())


def _more_room(missing: Sequence[Mapping[str, str]]) -> str:
    """Return how replies get more room, if any was cut off; empty otherwise."""
    if not {entry["detail"] for entry in missing} & {CAP_REACHED, UNENDED.detail}:
        return ""
    return ". Ask with a higher cap (max_tokens=N), or a model that thinks aloud with thinking=true"


def _lines(numbers: Iterable[int]) -> str:
    lines = sorted(set(numbers))
    return ", ".join(map(str, lines[:_LISTED])) + (", …" if len(lines) > _LISTED else "")


def _said(check: Check, found: CheckResult) -> str:
    """Return the result of a check in words."""
    if check == "histogram" and isinstance(found, Mapping):
        return "  ".join(f"{score}: {count}" for score, count in found.items())
    if isinstance(found, Sequence):
        return "  ".join(f"{row['position']}: {row['mean']:.2f}" for row in found)
    # What one order or one repetition cannot show is reported as not measured, never as zero.
    return _CHECKS[check][2].format_map(found) if found else "not measured (one only)"


def _rows(audit: AuditRecord) -> list[dict[str, str]]:
    requests, tokens, cost = audit["requests"], audit["tokens"], audit["cost"]
    valid = audit["valid"] / requests["distinct"] if requests["distinct"] else float("nan")
    others = audit.get("answered_by", {}).items()
    shown = {
        **(
            {"answered by": "; ".join(f"{visible(o)} ({count})" for o, count in others)}
            if others
            else {}
        ),
        "valid replies": f"{audit['valid']} of {requests['distinct']} ({valid:.1%})",
        "refused, truncated, unparsable": (
            f"{audit['refused']}, {audit['truncated']}, {audit['unparsable']}"
        ),
        "asked now, from the store, retried": (
            f"{requests['asked']}, {requests['stored']}, {requests['retried']}"
        ),
        **{
            name: _said(check, audit[check])
            for check, (_, name, _) in _CHECKS.items()
            if check in audit
        },
        "tokens read, written": f"{tokens['input']}, {tokens['output']}"
        + (f"; {tokens['reasoning']} of them for reasoning" if tokens["reasoning"] else "")
        + (f"; {tokens['cached']} read from the server's cache" if tokens["cached"] else ""),
        "cost": (
            "no price known"
            if cost["amount"] is None
            else f"{cost['amount']:.4f} {cost['currency']} (prices: {cost['prices']}"
            + (f"; an estimate: {NO_USAGE})" if "estimated" in cost else ")")
            # A sum without these would look complete.
            + (f", {cost['unpriced']} replies without a known price" if "unpriced" in cost else "")
            + (f", at most {cost['lost']:.4f} for requests without reply" if "lost" in cost else "")
        ),
        "wall time": f"{audit['seconds']:.1f} s",
    }
    return [{"model": audit["model"], "what": key, "value": text} for key, text in shown.items()]
