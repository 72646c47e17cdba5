"""Render pages from templates: the tags are in `templates/`, and all values are escaped.

jinja2 is imported only when a page is written.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.resources

from markupsafe import Markup

from gecjury.core.runtime import __version__


def lang_attribute(code: str) -> Markup:
    """Return the `lang` attribute of a text, by which browsers choose fonts and voices.

    Args:
        code: ISO code. `en`, the language of all pages, needs no attribute; for `und` the attribute
            is empty, which means that the language is not known.
    """
    if code == "en":
        return Markup("")
    return Markup(' lang="{}"').format("" if code in ("und", "auto") else code)


def render(template: str, /, **values: object) -> Markup:
    """Return a template as HTML.

    Args:
        template: its file in `templates/`, without `.html.jinja`.
        **values: values of its variables. A string is escaped unless it is `Markup`; None is
            written as "".

    Raises:
        jinja2.UndefinedError: the template names a value that was not given.
    """
    from gecjury.report.page.environment import environment

    return Markup(environment().get_template(f"{template}.html.jinja").render(values))


def render_page(*, title: str, scripted: bool = False, **values: object) -> str:
    """Return a whole page; it needs no network.

    Its policy forbids the network and allows only the style and the script whose hashes it lists,
    so texts of learners and systems cannot be executed.

    Args:
        title: the title of the page.
        scripted: include the page's script.
        **values: values for `render`.
    """
    style = _read("report.css")
    script = _read("report.js") if scripted else ""
    scripts = f"'{_sha256(script)}'" if scripted else "'none'"
    policy = (
        f"default-src 'none'; style-src '{_sha256(style)}'; script-src {scripts}; "
        "base-uri 'none'; form-action 'none'"
    )
    page = render(
        "page",
        title=title,
        policy=policy,
        program=f"gecjury {__version__}",
        style=Markup(style),
        script=Markup(script),
        **values,
    )
    return f"{page}\n"


def _read(name: str) -> str:
    return (importlib.resources.files("gecjury.report.page") / name).read_text(encoding="utf-8")


def _sha256(text: str) -> str:
    """Return the hash by which a policy allows a text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
