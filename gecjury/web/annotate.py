"""The pages on which annotators judge corrections."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from gecjury.core.wording import visible
from gecjury.report.page.markup import lang_attribute
from gecjury.web import AnnotationTask
from gecjury.web.answers import ItemAnswer
from gecjury.web.guards import PageGuard, RequestRefused, SentForm, read_form
from gecjury.web.pages import application, page, redirect
from gecjury.web.study import AnnotationStudy, annotator_name
from gecjury.web.tasks import checked_values, marked, questions

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_LONGEST_COMMENT = 2_000
_MOST_PEOPLE = 1_000
_MOST_SECONDS = 86_400.0


def annotate_app(study: AnnotationStudy) -> PageGuard:
    """Return the application: pages and the handlers of their forms, behind the guard."""
    pages = _AnnotationPages(study)
    shown = {"": pages.start, "judge": pages.judge, "overview": pages.overview}
    sent = {
        "begin": pages.begin,
        "answer": pages.save,
        "skip": pages.skip,
        "undo": pages.undo,
        "again": pages.again,
    }
    return application(shown, sent)


# By task: the heading of its page, and the instruction there.
_HEADINGS: Mapping[AnnotationTask, tuple[str, str]] = {
    "rank": (
        "Which corrections are better?",
        "Give each correction a rank, 1 for the best. Equal ranks are allowed.",
    ),
    "rate": ("How good is this correction?", "Rate the correction on three scales."),
    "edits": ("Which edits are right?", "Say for each edit whether it is right in this sentence."),
}


class _AnnotationPages:
    """The handlers of all addresses."""

    def __init__(self, study: AnnotationStudy) -> None:
        self.study = study
        self._back: dict[tuple[str, str], ItemAnswer] = {}

    async def _form(self, request: Request) -> tuple[SentForm, str]:
        """Return a checked form with its annotator."""
        form = read_form(await request.body(), self.study.token)
        return form, self._name(form("as"))

    def _name(self, text: str) -> str:
        name = annotator_name(text)
        only = self.study.settings.annotator
        if only is not None and name != only:
            raise RequestRefused(f"this run is only for {only} (--annotator)", 403)
        return name

    async def start(self, request: Request) -> Response:
        """Ask for the annotator's name."""
        study = self.study
        if study.settings.annotator is not None:
            return redirect(_judge(study.settings.annotator))
        title, asked = _HEADINGS[study.settings.task]
        return page("start", title=title, asked=asked, study=study)

    async def begin(self, request: Request) -> Response:
        """Start to judge under the given name."""
        name = self._name(read_form(await request.body(), self.study.token)("as"))
        if name not in self.study.journal.people and len(self.study.journal.people) >= _MOST_PEOPLE:
            raise RequestRefused(f"expected at most {_MOST_PEOPLE} annotators")
        return redirect(_judge(name))

    async def judge(self, request: Request) -> Response:
        """Show the next item."""
        study = self.study
        name = self._name(request.query_params.get("as", ""))
        item = study.next_item(name)
        done = _TOLD.get(request.query_params.get("told", ""), "")
        common: dict[str, object] = {
            "study": study,
            "name": name,
            "person": study.journal.person(name),
            "told": " ".join(filter(None, (done, self._behind()))),
        }
        if item is None:
            return page("done", title="Done", **common)
        corpus, task = study.corpus, study.settings.task
        before, after = corpus.contexts[item.row] if corpus.contexts else ("", "")
        title, asked = _HEADINGS[task]
        # An answer that was taken back is shown as it was, to be changed.
        back = self._back.get((name, item.id))
        return page(
            "judge",
            title=title,
            asked=asked,
            item=item,
            key=secrets.token_urlsafe(12),
            lang=lang_attribute(corpus.language.code),
            before=before,
            after=after,
            correction=None if task == "rank" else marked(corpus, item, 0),
            questions=questions(item, corpus, name, study.settings),
            chosen=dict(enumerate(back.values)) if back else {},
            comment=back.comment if back else "",
            **common,
        )

    async def save(self, request: Request) -> Response:
        """Save an answer; it is on disk before this is reported."""
        study = self.study
        form, name = await self._form(request)
        item = study.by_name.get(form("item"))
        if item is None:
            raise RequestRefused("there is no such item; reload the page")
        chosen = [form(f"value{place}", 10) for place in range(item.values)]
        values = checked_values(item, study.settings.task, chosen)
        if values is None:
            raise RequestRefused("some questions are not answered yet", 400, "incomplete")
        # The answer must not be saved for texts other than those that were judged.
        study.watched.check()
        study.journal.save(
            ItemAnswer(
                answer=form("key", 40),
                annotator=name,
                item=item.id,
                sentence=item.row + 1,
                systems=item.systems,
                values=values,
                edits=tuple((e.start, e.end, e.correction) for e in item.edits),
                comment=" ".join(form("comment", _LONGEST_COMMENT).split()),
                seconds=_seconds(form("seconds", 20)),
                time=_now(),
            )
        )
        self._back.pop((name, item.id), None)
        return _go(request, _judge(name, "saved"))

    async def skip(self, request: Request) -> Response:
        """Set an item aside."""
        form, name = await self._form(request)
        item = form("item")
        if item not in self.study.by_name:
            raise RequestRefused("there is no such item; reload the page")
        # An item that was answered in the meantime can no longer be set aside.
        if item not in self.study.journal.person(name).answers:
            self.study.journal.skip(name, item, _now())
        return _go(request, _judge(name, "skipped"))

    async def undo(self, request: Request) -> Response:
        """Take back the last answer, and show its item again."""
        _, name = await self._form(request)
        last = self.study.journal.undo(name, _now())
        if last is None:
            return _go(request, _judge(name, "nothing"))
        # A journal may contain answers to items that do not exist under the present settings.
        if last.item in self.study.by_name:
            self.study.show(name, last.item)
            self._back[name, last.item] = last
        return _go(request, _judge(name, "undone"))

    async def again(self, request: Request) -> Response:
        """Ask about the items again that were set aside."""
        _, name = await self._form(request)
        self.study.journal.again(name, _now())
        return _go(request, _judge(name))

    async def overview(self, request: Request) -> Response:
        """Show how much each annotator has judged."""
        return page("overview", title="So far", study=self.study, behind=self._behind())

    def _behind(self) -> str:
        """Return a message for the annotator if the CSV file lacks answers; "" if it does not."""
        journal = self.study.journal
        if not journal.behind:
            return ""
        return (
            f"Every answer is saved in {journal.path.name}. {visible(journal.behind)}; the CSV "
            "file is written with the next answer or when the program is started again."
        )


_TOLD = {
    "saved": "Saved.",
    "skipped": "Set aside.",
    "undone": "Taken back: the last answer is shown again, to be changed.",
    "nothing": "There is nothing to take back.",
}


def _judge(name: str, done: str = "") -> str:
    """Return the address of the judging page."""
    fields = {"as": name, "told": done}
    return "/judge?" + urlencode({key: value for key, value in fields.items() if value})


def _go(request: Request, address: str) -> Response:
    """Return a response that leads to an address: JSON for a script, a redirect for a form."""
    from starlette.responses import JSONResponse

    if "application/json" in request.headers.get("accept", ""):
        return JSONResponse({"next": address})
    return redirect(address)


def _seconds(text: str) -> float:
    try:
        value = float(text or 0)
    except ValueError:
        return 0.0
    return round(value, 1) if 0 < value < _MOST_SECONDS else 0.0


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
