"""The pages of stored replies of LLM judges: question, answer, scores and human verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args
from urllib.parse import urlencode

from markupsafe import Markup

from gecjury.core.wording import number, visible
from gecjury.corpus.language import LANGUAGES
from gecjury.report.page.browser import Part, mark_edits
from gecjury.report.page.markup import lang_attribute
from gecjury.web.guards import PageGuard, Refused
from gecjury.web.pages import Handler, application, page, static_file

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

Sort = Literal["line", "people", "flips", "low", "high"]

_ON_A_PAGE = 20
_MOST_SAVED = 1_000
_MOST_ANSWER = 2_000  # characters of an answer in the list; the page of the reply shows all
_MOST_REASON = 400
_MOST_WHOLE = 2_000_000
_MOST_ORDERS = 5  # other orders of the same corrections on the page of a reply
_SORTS: Mapping[str, str] = {
    "line": "as stored",
    "people": "most against people first",
    "flips": "most flipped first",
    "low": "lowest mean score first",
    "high": "highest mean score first",
}
_CODES = {name: code for code, name in LANGUAGES.items()}


class Replies(Protocol):
    """Stored replies to browse; `gecjury.judges.asking.review.Review` implements this."""

    stores: list[Any]
    share: float
    done: bool
    damaged: list[str]
    unread: int
    problem: str

    def __len__(self) -> int: ...

    def select(
        self, show: str = "", position: int = 0, search: str = "", sort: Sort = "line"
    ) -> Sequence[int]:
        """Return the numbers of the replies that pass the filters, in an order."""

    def reply(self, number: int) -> Any:
        """Return one reply with its texts."""

    def at(self, file: str, line: int) -> int:
        """Return the number of the reply in a line of a file."""

    def failures(self) -> Mapping[str, int]:
        """Return how many replies could not be read, by kind."""

    def paused(self) -> AbstractContextManager[None]:
        """Pause the reading of files while a page is rendered."""

    def positions(self) -> int:
        """Return the largest number of corrections in a question."""


def replies_app(replies: Replies, benchmark: str = "") -> PageGuard:
    """Return the pages of stored replies, behind the guard.

    Args:
        replies: the replies; their files may still be being read.
        benchmark: benchmark whose human verdicts are shown next to the scores; empty for none.
    """
    pages = _Pages(replies, benchmark)

    def at_once(shown: Callable[[Request], Response]) -> Handler:
        async def handler(request: Request) -> Response:
            with replies.paused():
                return shown(request)

        return handler

    return application({"": at_once(pages.listed), "reply": at_once(pages.one)}, {})


def saved_page(replies: Replies, benchmark: str = "") -> str:
    """Return the first thousand replies as one self-contained page.

    Args:
        replies: the replies, with all files read.
        benchmark: as in `replies_app`; if given, replies that most contradict its annotators come
            first.
    """
    pages = _Pages(replies, benchmark)
    chosen = replies.select(sort="people" if benchmark else "line")[:_MOST_SAVED]
    response = page(
        "saved",
        title="Stored replies",
        style=Markup(static_file("web.css").decode()),
        count=len(replies),
        failed=sum(replies.failures().values()),
        # The file has no pages of single replies to link to.
        replies=[{**pages.shown(number), "address": ""} for number in chosen],
        **pages.common(),
    )
    return bytes(response.body).decode()


class _Pages:
    """The list of replies, and the page of one."""

    def __init__(self, replies: Replies, benchmark: str) -> None:
        self._replies, self._benchmark = replies, benchmark

    def listed(self, request: Request) -> Response:
        """Show the replies that pass the filters in the address, twenty per page."""
        replies, query = self._replies, request.query_params
        filters = {
            "show": query.get("show", "")[:40],
            "position": str(_whole(query.get("position"), 0)),
            "q": query.get("q", "").strip()[:200],
            "sort": query.get("sort", "line"),
        }
        if filters["sort"] not in _SORTS:
            filters["sort"] = "line"
        chosen = replies.select(
            filters["show"], int(filters["position"]), filters["q"], _sort(filters["sort"])
        )
        pages = max(-(-len(chosen) // _ON_A_PAGE), 1)
        here = min(max(_whole(query.get("page"), 1), 1), pages)
        first = (here - 1) * _ON_A_PAGE

        def address(number: int) -> str:
            kept = {k: v for k, v in filters.items() if v not in ("", "0", "line")}
            return "/?" + urlencode({**kept, "page": number})

        failures = replies.failures()
        shows = [("people", "against people")] if self._benchmark else []
        shows += [("flips", "flipped in another order"), ("failed", "could not be read")]
        shows += [
            (kind, f"could not be read: {kind} ({count:,})") for kind, count in failures.items()
        ]
        return page(
            "replies",
            title="Stored replies",
            filters=filters,
            filtered=bool(filters["show"] or filters["q"] or filters["position"] != "0"),
            shows=shows,
            positions=range(1, replies.positions() + 1) if replies.positions() > 1 else (),
            sorts=list(_SORTS.items()),
            count=len(replies),
            matching=len(chosen),
            failed=sum(failures.values()),
            here=here,
            pages=pages,
            address=address,
            replies=[self.shown(n) for n in chosen[first : first + _ON_A_PAGE]],
            **self.common(),
        )

    def one(self, request: Request) -> Response:
        """Show one reply in full, with the same corrections in other orders below it."""
        replies, query = self._replies, request.query_params
        line = _whole(query.get("line"), 0)
        number = replies.at(query.get("file", "")[:300], line)
        reply = replies.reply(number)
        around = [
            (label, key, _address(replies.reply(other)) if 0 <= other < len(replies) else "")
            for label, key, other in (("Previous", "p", number - 1), ("Next", "n", number + 1))
        ]
        again = _address(replies.reply(reply.again)) if reply.again >= 0 else ""
        return page(
            "reply",
            title=f"Reply in line {line:,}",
            reply=self.shown(number, whole=True),
            question=_text(reply.question, _MOST_WHOLE),
            settings=[
                ("file", f"{reply.file}, line {reply.line:,}"),
                ("model", reply.identity.model),
                ("prompt", reply.identity.prompt),
                ("sampling", ", ".join(f"{k} {v}" for k, v in sorted(reply.sampling.items()))),
                ("tokens read, written", " and ".join(f"{n:,}" for n in reply.tokens)),
                ("finish", reply.finish),
            ],
            again=again,
            others=[self.shown(n) for n in reply.others[:_MOST_ORDERS]],
            more_orders=max(len(reply.others) - _MOST_ORDERS, 0),
            around=around,
            **self.common(),
        )

    def common(self) -> dict[str, Any]:
        """Return the values about the stores that all pages show."""
        replies = self._replies
        prompts = {store.prompt.partition(":")[0] for store in replies.stores}
        return {
            "stores": len(replies.stores),
            "model": ", ".join(sorted({store.model for store in replies.stores})),
            "prompt": ", ".join(sorted(prompts)),
            "benchmark": self._benchmark,
            "done": replies.done,
            "percent": int(100 * replies.share),
            "damaged": replies.damaged,
            "unread": replies.unread,
            "problem": replies.problem,
        }

    def shown(self, place: int, *, whole: bool = False) -> dict[str, Any]:
        """Return a reply as a page shows it, with long texts cut unless `whole`."""
        reply = self._replies.reply(place)
        judged = reply.judged
        facts = [f"repetition {reply.repeat + 1}"] if reply.repeat else []
        if reply.decided and judged and judged.edit:
            facts.append("against most people" if reply.against else "with most people")
        elif reply.decided:
            facts.append(f"{reply.against} of {reply.decided} pairs against people")
        if reply.flips:
            pairs = "pair" if reply.flips == 1 else "pairs"
            facts.append(f"{reply.flips} {pairs} flipped in another order")
        if reply.again >= 0:
            facts.append("asked again")
        reason = _text(reply.reason, _MOST_WHOLE if whole else _MOST_REASON)
        answer = _text(reply.answer, _MOST_WHOLE if whole else _MOST_ANSWER)
        code = (
            _CODES.get(judged.language, "en" if not judged.language else "und") if judged else "en"
        )
        return {
            "address": _address(reply),
            "line": f"{reply.line:,}",
            "file": reply.file if len(self._replies.stores) > 1 else "",
            "facts": facts,
            "warns": bool(reply.against or reply.flips),
            "failure": _text(reply.failure, _MOST_REASON)[0],
            "problem": reply.problem,
            "judged": judged,
            "lang": lang_attribute(code),
            "source": _text(judged.source, _MOST_ANSWER)[0] if judged else "",
            "context": [_text(text, _MOST_ANSWER)[0] for text in judged.context or ()]
            if judged
            else [],
            "corrections": _corrections(reply) if judged else [],
            "reason": reason,
            "answer": answer,
            "question": _text(reply.question, _MOST_ANSWER) if judged is None else None,
        }


def _corrections(reply: Any) -> list[dict[str, Any]]:
    """Return one row per correction: its place, its words, its score, the human verdict."""
    judged, rows = reply.judged, []
    names = "AB" if judged.protocol == "pairwise" else range(1, len(judged.corrections) + 1)
    top = max(reply.scores, default=0.0)
    for at, (name, text) in enumerate(zip(names, judged.corrections, strict=True)):
        score = reply.scores[at] if reply.scores else None
        rows.append(
            {
                "name": name,
                "parts": _parts(judged.source, text),
                "edit": visible(judged.edit),
                "changed": judged.source.split() != text.split(),
                "score": "–" if score is None else number(score, 2).removesuffix(".00"),
                "best": score == top and reply.scores.count(top) < len(reply.scores),
                "people": _people(reply.people[at]) if reply.people else "",
            }
        )
    return rows


def _parts(source: str, text: str) -> Sequence[Part]:
    source, text = visible(source), visible(text)
    # Texts without spaces have no words to compare.
    return mark_edits(source, text) if " " in source else [Part("equal", text)]


def _people(human: Any) -> str:
    verdicts = []
    if human.annotators:
        verdicts.append(f"valid for {human.valid} of {human.annotators}")
    if human.rating is not None:
        verdicts.append(f"rated {number(human.rating, 2)}")
    if human.decided:
        verdicts.append(f"{human.won} of {human.decided}")
    return ", ".join(verdicts) or "–"


def _text(text: str, most: int) -> tuple[str, bool]:
    """Return the beginning of a text, made safe to show, and whether there is more."""
    return visible(text[:most], lines=True), len(text) > most


def _address(reply: Any) -> str:
    return "/reply?" + urlencode({"file": reply.file, "line": reply.line})


def _whole(text: str | None, usual: int) -> int:
    """Return a number from an address; `usual` if it is empty or absent.

    Raises:
        Refused: it is not a number.
    """
    if not text:
        return usual
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise Refused(f"{text!r:.40} is not the number of a page, a line or a position")
    return int(text)


def _sort(name: str) -> Sort:
    return next(sort for sort in get_args(Sort) if sort == name)
