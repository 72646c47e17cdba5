"""Universal Dependencies trees rewritten as the ClearNLP trees that spaCy's English models use.

ERRANT's merger and classifier read ClearNLP labels (``aux``, ``auxpass``, ``prep``, ``prt``,
``acomp``, ``pobj``, ...), while the English Web Treebank comes in Universal Dependencies, where
content words govern function words. The rewriting promotes prepositions and copulas to heads,
chains conjuncts and renames the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

# One-to-one renamings; labels that depend on the tree are handled in `convert`.
_LABELS = {
    "root": "ROOT",
    "obj": "dobj",
    "iobj": "dative",
    "nsubj:pass": "nsubjpass",
    "nsubj:outer": "nsubj",
    "csubj:pass": "csubjpass",
    "csubj:outer": "csubj",
    "aux:pass": "auxpass",
    "obl:tmod": "npadvmod",
    "obl:npmod": "npadvmod",
    "obl:unmarked": "npadvmod",
    "obl": "npadvmod",
    "nmod:poss": "poss",
    "nmod:unmarked": "npadvmod",
    "nmod:desc": "compound",
    "compound:prt": "prt",
    "det:predet": "predet",
    "cc:preconj": "preconj",
    "acl:relcl": "relcl",
    "advcl:relcl": "advcl",
    "flat": "compound",
    "discourse": "intj",
    "vocative": "npadvmod",
    "list": "dep",
    "parataxis": "ccomp",
    "goeswith": "dep",
    "reparandum": "dep",
    "orphan": "dep",
    "dislocated": "dep",
}
_NEGATIONS = {"not", "n't", "n’t", "nt", "never"}
# Markers that ClearNLP treats as prepositions before a gerund ("by doing": prep + pcomp).
_GERUND_PREPOSITIONS = {
    "about", "after", "against", "as", "at", "before", "besides", "between", "by", "despite",
    "due", "for", "from", "in", "instead", "into", "like", "of", "on", "over", "since", "than",
    "through", "to", "towards", "upon", "with", "without",
}  # fmt: skip
_SMALL_CLAUSE_VERBS = {
    "let", "make", "help", "want", "see", "hear", "watch", "have", "get", "need", "like",
}  # fmt: skip
# Adverbs between a copula and its predicate that belong to the clause.
_CLAUSE_ADVERBS = _NEGATIONS | {
    "also", "always", "still", "just", "only", "already", "often", "usually", "generally",
    "actually", "probably", "sometimes", "now", "there", "here", "however", "certainly",
}  # fmt: skip
# Dependents that a copula always takes over from its predicate.
_CLAUSAL = {
    "nsubj", "nsubj:pass", "nsubj:outer", "csubj", "csubj:pass", "csubj:outer", "aux", "aux:pass",
    "mark", "expl", "advcl", "advcl:relcl", "punct", "discourse", "parataxis", "vocative",
    "dislocated", "ccomp", "cop",
}  # fmt: skip


@dataclass
class Tree:
    """One sentence: words, Penn tags and lemmas with, for every word, its head and label.

    ``heads`` contains 0-based positions; the root points at itself.
    """

    words: list[str]
    tags: list[str]
    lemmas: list[str]
    heads: list[int]
    labels: list[str]

    def children(self, head: int) -> list[int]:
        """Return the positions that depend on ``head``, left to right."""
        return [i for i, h in enumerate(self.heads) if h == head and i != head]

    def attach(self, word: int, head: int, label: str) -> None:
        """Attach ``word`` to ``head``."""
        self.heads[word] = head
        self.labels[word] = label


def read_conllu(path: Path) -> Iterator[Tree]:
    """Yield the sentences of a CoNLL-U file, without word ranges and empty nodes."""
    rows: list[list[str]] = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            line = line.rstrip("\n")
            if line and not line.startswith("#"):
                fields = line.split("\t")
                if fields[0].isdigit():
                    rows.append(fields)
            elif not line and rows:
                yield _tree(rows)
                rows = []
    if rows:
        yield _tree(rows)


def _tree(rows: list[list[str]]) -> Tree:
    heads = [int(row[6]) - 1 if row[6] != "0" else i for i, row in enumerate(rows)]
    return Tree(
        words=[_intended(row).replace(" ", "") for row in rows],
        tags=[_tag(row[1], row[3], row[4]) for row in rows],
        lemmas=[row[2] for row in rows],
        heads=heads,
        labels=[row[7] for row in rows],
    )


def _intended(row: list[str]) -> str:
    """Return the form that the tag belongs to: "there" as PRP$ is annotated CorrectForm=their."""
    for feature in row[9].split("|"):
        name, _, value = feature.partition("=")
        if name == "CorrectForm" and value not in {"", "_"}:
            return value
    return row[1]


def _tag(word: str, upos: str, tag: str) -> str:
    """Return the Penn tag in the convention of OntoNotes, on which spaCy's models are trained."""
    if word == "/" or (tag == "," and upos == "SYM"):
        return "SYM"
    if tag == "NNP" and upos == "ADJ":
        return "JJ" if word[0].islower() else "NNP"
    return tag


def convert(tree: Tree) -> Tree:
    """Rewrite ``tree`` in place from Universal Dependencies to ClearNLP and return it."""
    _promote_copulas(tree)
    _chain_conjuncts(tree)
    _promote_prepositions(tree)
    _promote_gerund_markers(tree)
    _raise_flat_names(tree)
    _split_small_clauses(tree)
    for word in range(len(tree.words)):
        tree.labels[word] = _rename(tree, word)
    return tree


def _promote_copulas(tree: Tree) -> None:
    for cop in range(len(tree.words)):
        if tree.labels[cop] != "cop":
            continue
        predicate = tree.heads[cop]
        label = tree.labels[predicate]
        head = tree.heads[predicate]
        tree.attach(cop, cop if head == predicate else head, label)
        nominal = not tree.tags[predicate].startswith(("JJ", "RB", "V"))
        for child in tree.children(predicate):
            if child != cop and _belongs_to_copula(tree, child, cop, predicate, nominal):
                tree.heads[child] = cop
        tree.attach(predicate, cop, _predicate_label(tree, predicate))


def _belongs_to_copula(tree: Tree, child: int, cop: int, predicate: int, nominal: bool) -> bool:
    label = tree.labels[child]
    if label in _CLAUSAL:
        # "happy that ...", "glad to ...": the complement of an adjective stays with it.
        if label in {"ccomp", "advcl"} and not nominal and child > predicate:
            return label == "advcl" and tree.tags[child] != "VB"
        if label == "punct":
            return child < cop or child > predicate
        return not (label == "mark" and predicate < child)
    if label == "conj":
        below = {tree.labels[i] for i in tree.children(child)}
        return bool(below & {"cop", "nsubj", "nsubj:pass", "aux"}) or tree.tags[child][0] == "V"
    if label == "cc":
        return child < min(cop, predicate)
    if label == "advmod":
        if child < min(cop, predicate):
            return tree.words[child].lower() != "how" or cop < predicate
        if child < predicate:
            return tree.words[child].lower() in _CLAUSE_ADVERBS
        return nominal and child > predicate and tree.tags[child].startswith("RB")
    if label.startswith("obl"):
        return nominal or child < cop
    return False


def _predicate_label(tree: Tree, predicate: int) -> str:
    tag = tree.tags[predicate]
    below = {tree.labels[i]: i for i in tree.children(predicate)}
    if "case" in below and tree.tags[below["case"]] != "POS":
        return "obl"
    if tag.startswith("JJ") or tag in {"VBN", "VBG"}:
        return "acomp"
    if tag.startswith("V"):
        return "xcomp" if "mark" in below else "ccomp"
    if tag in {"RB", "RBR", "RBS", "WRB"}:
        return "advmod"
    return "attr"


def _chain_conjuncts(tree: Tree) -> None:
    """Attach every conjunct to the one before it, and coordinators to the first of the two."""
    for first in range(len(tree.words)):
        if tree.labels[first] == "conj":
            continue
        last = first
        for conj in [i for i in tree.children(first) if tree.labels[i] == "conj" and i > first]:
            for child in tree.children(conj):
                if tree.labels[child] in {"cc", "punct"} and child < conj:
                    tree.heads[child] = last
            tree.heads[conj] = last
            last = conj


def _prepositions(tree: Tree, noun: int) -> list[int]:
    return [i for i in tree.children(noun) if tree.labels[i] == "case" and tree.tags[i] != "POS"]


def _promote_prepositions(tree: Tree) -> None:
    # Right to left would break "in X and in Y"; left to right sees the governor already moved.
    for noun in range(len(tree.words)):
        cases = _prepositions(tree, noun)
        if not cases:
            continue
        label = tree.labels[noun]
        first = cases[0]
        head = tree.heads[noun]
        outer = "agent" if label == "obl:agent" else label
        if label not in {"conj", "root", "ROOT", "obl:agent"}:
            outer = "prep"
        if label == "conj" and tree.labels[head] == "pobj":
            head = tree.heads[head]
        tree.attach(first, first if head == noun else head, outer)
        for previous, case in pairwise(cases):
            tree.attach(case, previous, "prep")
        tree.attach(noun, cases[-1], "pobj")
        for child in tree.children(noun):
            early = child < first
            if early and tree.labels[child] in {"advmod", "punct", "cc", "mark"}:
                tree.heads[child] = first


def _promote_gerund_markers(tree: Tree) -> None:
    for mark in range(len(tree.words)):
        verb = tree.heads[mark]
        if (
            tree.labels[mark] == "mark"
            and tree.words[mark].lower() in _GERUND_PREPOSITIONS
            and tree.tags[verb] == "VBG"
            and mark < verb
            and not any(tree.labels[i].startswith("nsubj") for i in tree.children(verb))
        ):
            head = tree.heads[verb]
            label = tree.labels[verb]
            outer = label if label in {"conj", "root"} else "prep"
            tree.attach(mark, mark if head == verb else head, outer)
            tree.attach(verb, mark, "pcomp")


def _raise_flat_names(tree: Tree) -> None:
    """Make the last word the head of names, as in ClearNLP; in UD it is the first."""
    for first in range(len(tree.words)):
        flat = [i for i in tree.children(first) if tree.labels[i] == "flat" and i > first]
        if not flat or not all(tree.tags[i].startswith("NNP") for i in [first, *flat]):
            continue
        last = flat[-1]
        head = tree.heads[first]
        tree.attach(last, last if head == first else head, tree.labels[first])
        for child in tree.children(first):
            tree.heads[child] = last
        tree.attach(first, last, "compound")


def _split_small_clauses(tree: Tree) -> None:
    """Make ``him`` the subject of ``go`` in "make him go", as in ClearNLP."""
    for verb in range(len(tree.words)):
        if tree.lemmas[verb] not in _SMALL_CLAUSE_VERBS:
            continue
        below = tree.children(verb)
        objects = [i for i in below if tree.labels[i] == "obj"]
        clauses = [i for i in below if tree.labels[i] == "xcomp" and i > verb]
        if len(objects) == 1 and len(clauses) == 1 and objects[0] < clauses[0]:
            tree.attach(objects[0], clauses[0], "nsubj")
            tree.labels[clauses[0]] = "ccomp"


def _rename(tree: Tree, word: int) -> str:
    label = tree.labels[word]
    tag = tree.tags[word]
    head = tree.heads[word]
    if head == word:
        return "ROOT"
    if label == "advmod" and tree.words[word].lower() in _NEGATIONS:
        return "neg"
    if label == "mark" and tag == "TO":
        return "aux"
    if label in {"advmod", "mark"} and tag == "IN" and tree.words[word].lower() == "as":
        return label
    if label == "expl":
        return "expl" if tag == "EX" else ("dobj" if word > head else "nsubj")
    if label == "xcomp":
        if tag.startswith("JJ"):
            return "acomp" if tree.tags[head][0] == "V" else "amod"
        if tag.startswith("N"):
            return "attr" if tree.lemmas[head] in {"become", "remain", "seem"} else "oprd"
        return "xcomp"
    if label == "fixed":
        return _fixed(tree, word, head)
    if label == "nmod":
        return "nmod" if word < head else "appos"
    if label == "amod" and tag.startswith("NNP"):
        return "compound"
    if label == "amod" and tree.tags[head][0] == "V":
        return "acomp"
    return _LABELS.get(label, label)


def _fixed(tree: Tree, word: int, head: int) -> str:
    if tree.tags[word] in {"IN", "TO"} and tree.labels[head] in {"prep", "conj", "ROOT"}:
        return "pcomp" if tree.words[head].lower() in {"because", "due"} else "prep"
    if tree.labels[head] == "mark":
        return "mark" if tree.tags[word] == "IN" else "advmod"
    return {"RB": "advmod", "JJ": "amod", "CC": "cc", "NN": "pobj"}.get(tree.tags[word], "advmod")
