"""Which paper to cite for each registered metric."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["PAPERS", "paper"]

PAPERS: Mapping[str, str] = {
    "asano": "Asano et al. 2017",
    "changes": "this package",
    "cleme": "Ye et al. 2023",
    "cleme2": "Ye et al. 2025",
    "edit-verdict": "this package",
    "errant": "Bryant et al. 2017",
    "gleu": "Napoles et al. 2015, 2016",
    "gleu-official": "Napoles et al. 2016",
    "gotoscorer": "Gotou et al. 2020",
    "green": "Koyama et al. 2024",
    "i-measure": "Felice and Briscoe 2015",
    "impara": "Maeda et al. 2022",
    "jury": "this package",
    "llm-e": "Kobayashi et al. 2024",
    "llm-s": "Kobayashi et al. 2024",
    "m2": "Dahlmeier and Ng 2012",
    "pt-errant": "Gong et al. 2022",
    "pt-m2": "Gong et al. 2022",
    "scores": "as given",
    "scribendi": "Islam and Magnani 2021",
    "sent-errant": "Bryant et al. 2017",
    "sentm2": "Dahlmeier and Ng 2012",
    "some": "Yoshimura et al. 2020",
    "uot-errant": "Goto et al. 2026",
}


def paper(signature: str) -> str | None:
    """Author and year of the paper behind a metric's signature; None if it is not known."""
    return PAPERS.get(signature.partition("|")[0])
