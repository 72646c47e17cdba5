"""Published figures, copied by hand from the papers and independent of the tested code."""

from __future__ import annotations

# SEEDA (Kobayashi et al. 2024): all systems, and the twelve without INPUT, REF-F and GPT-3.5.
SEEDA = [
    "BART", "BERT-fuse", "GECToR-BERT", "GECToR-ens", "GPT-3.5", "INPUT", "LM-Critic", "PIE",
    "REF-F", "REF-M", "Riken-Tohoku", "T5", "TemplateGEC", "TransGEC", "UEDIN-MS",
]  # fmt: skip
BASE = [name for name in SEEDA if name not in ("INPUT", "REF-F", "GPT-3.5")]

# Grundkiewicz et al. 2015, tables 3b (Expected Wins) and 3c (TrueSkill).
GJG15 = {
    "AMU": (0.628, 0.273),
    "RAC": (0.566, 0.114),
    "CAMB": (0.561, 0.182),
    "CUUI": (0.550, 0.105),
    "POST": (0.539, 0.080),
    "UFC": (0.513, -0.041),
    "PKU": (0.506, -0.001),
    "UMC": (0.495, -0.022),
    "IITB": (0.485, -0.055),
    "SJTU": (0.463, -0.074),
    "INPUT": (0.456, -0.062),
    "NTHU": (0.437, -0.142),
    "IPN": (0.300, -0.358),
}

# Koyama et al. 2024, table 2: r and ρ with Expected Wins; each GREEN value has its own tuned β.
GREEN_WIKI = {
    "green:beta=1.12": ("pearson", 0.951),
    "green:beta=1.04": ("spearman", 0.714),
    "green:unit=char,beta=1.56": ("pearson", 0.974),
    "green:unit=char,beta=1.92": ("spearman", 0.893),
}
GREEN_CHAR_CONLL = {1.85: ("pearson", 0.803), 1.96: ("spearman", 0.824)}
CHAR_GLEU_WIKI = (0.964, 0.821)
CHAR_GLEU_CONLL = (0.606, 0.593)
WORD_GLEU_WIKI = (0.684, 0.429)
I_MEASURE_WIKI = (0.892, 0.714)
I_MEASURE_CONLL = (-0.250, -0.385)
ERRANT_CONLL = {0.20: ("pearson", 0.714), 0.19: ("spearman", 0.742)}
M2_CONLL = {0.17: ("pearson", 0.697), 0.15: ("spearman", 0.725)}

# Goto et al. 2026, GMEG Wiki (test), TrueSkill compared with mean ratings: Pearson and Spearman.
TACL_GMEG_WIKI = {
    "gleu": (0.785, 0.619),
    "green": (0.871, 0.786),
    "errant": (0.780, 0.667),
    "cleme:compat=published": (0.825, 0.667),
}
