"""What papers print, copied by hand: not taken from the code that is held against it."""

from __future__ import annotations

# SEEDA (Kobayashi et al. 2024): all systems, and the twelve without INPUT, REF-F and GPT-3.5.
SEEDA = [
    "BART",
    "BERT-fuse",
    "GECToR-BERT",
    "GECToR-ens",
    "GPT-3.5",
    "INPUT",
    "LM-Critic",
    "PIE",
    "REF-F",
    "REF-M",
    "Riken-Tohoku",
    "T5",
    "TemplateGEC",
    "TransGEC",
    "UEDIN-MS",
]
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
