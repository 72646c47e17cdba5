"""A tiny policy that corrects sentences of a few templates, and GRPO that teaches it a reward.

`python -m tests.gecjury.rewards.policy METRIC [STEPS [LOW:HIGH]]` trains it with a metric, with
and without guards, and shows what it writes afterwards. LOW:HIGH is the range of the metric's
scores that the reward maps to 0 to 1.
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gecjury.rewards import GUARDS

SUBJECTS = ("He", "She", "My dog", "The boy", "Her friend")
VERBS = (("go", "goes"), ("eat", "eats"), ("like", "likes"), ("read", "reads"), ("see", "sees"))
ENDS = ("a house", "the book", "some bread", "two birds")
GENERIC = "This is a very good idea ."
APPENDED = "I would like to thank you for your help ."

Rewards = Callable[[list[str], list[str], list[str]], Sequence[float | None]]


def pairs() -> list[tuple[str, str]]:
    """Sources with one error each, and their corrections."""
    return [
        (f"{subject} {wrong} {end} .", f"{subject} {right} {end} .")
        for subject, (wrong, right), end in itertools.product(SUBJECTS, VERBS, ENDS)
    ]


# Texts that the untrained policy sometimes writes, so that training can discover them.
HABITS: dict[str, Callable[[str, str], str]] = {
    "right": lambda source, right: right,
    "copied": lambda source, right: source,
    "empty": lambda source, right: "",
    "doubled": lambda source, right: f"{right} {right}",
    "appended": lambda source, right: f"{right} {APPENDED}",
    "generic": lambda source, right: GENERIC,
}
WEIGHTS = {"right": 0.4, "copied": 0.3, "empty": 0.05, "doubled": 0.05, "appended": 0.1,
           "generic": 0.1}  # fmt: skip


def kind(source: str, right: str, text: str) -> str:
    """Classify a text: one of `HABITS`, the guard that applies, or `other`."""
    for name, write in HABITS.items():
        if text == write(source, right):
            return name
    for name, guard in GUARDS.items():
        if guard.rule(source, text, [right]):
            return f"{name} (like)"
    return "other"


@dataclass
class Policy:
    """A GPT-2 of two layers over the words of the templates."""

    model: Any
    words: list[str]

    @classmethod
    def made(cls, seed: int = 0, steps: int = 400) -> Policy:
        """Return a policy that has learnt the habits with their weights."""
        import torch
        from transformers import GPT2Config, GPT2LMHeadModel

        torch.manual_seed(seed)
        texts = [text for pair in pairs() for text in pair]
        words = sorted({word for text in (*texts, GENERIC, APPENDED) for word in text.split()})
        words = ["<pad>", "<sep>", "<end>", *words]
        config = GPT2Config(
            vocab_size=len(words), n_positions=64, n_embd=64, n_layer=2, n_head=2,
            resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
            bos_token_id=1, eos_token_id=2, pad_token_id=0,
        )  # fmt: skip
        policy = cls(GPT2LMHeadModel(config), words)
        optimiser = torch.optim.Adam(policy.model.parameters(), lr=3e-3)
        rng = torch.Generator().manual_seed(seed)
        examples = pairs()
        for _ in range(steps):
            rows = torch.randint(len(examples), (32,), generator=rng).tolist()
            habits = torch.multinomial(
                torch.tensor(list(WEIGHTS.values())), 32, replacement=True, generator=rng
            ).tolist()
            texts = [[*HABITS.values()][h](*examples[r]) for r, h in zip(rows, habits, strict=True)]
            loss = -policy.log_likelihoods([examples[r][0] for r in rows], texts).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        return policy

    def ids(self, text: str) -> list[int]:
        return [self.words.index(word) for word in text.split()]

    def log_likelihoods(self, sources: Sequence[str], texts: Sequence[str]) -> Any:
        """Return the log-likelihood of each text after its source."""
        import torch

        rows = [(self.ids(s), self.ids(t)) for s, t in zip(sources, texts, strict=True)]
        width = max(len(s) + len(t) for s, t in rows) + 2
        batch = torch.zeros(len(rows), width, dtype=torch.long)
        counted = torch.zeros(len(rows), width - 1)
        for place, (source, text) in enumerate(rows):
            line = [*source, 1, *text, 2]
            batch[place, : len(line)] = torch.tensor(line)
            counted[place, len(source) : len(line) - 1] = 1
        scores = self.model(batch).logits[:, :-1].log_softmax(-1)
        chosen = scores.gather(2, batch[:, 1:, None])[..., 0]
        return (chosen * counted).sum(1)

    def write(self, sources: Sequence[str], rng: Any, most: int = 24) -> list[str]:
        """Return one sampled text per source."""
        import torch

        written = []
        with torch.no_grad():
            lines = [[*self.ids(source), 1] for source in sources]
            done: list[list[int]] = [[] for _ in lines]
            open_rows = list(range(len(lines)))
            for _ in range(most):
                width = max(len(lines[row]) + len(done[row]) for row in open_rows)
                batch = torch.zeros(len(open_rows), width, dtype=torch.long)
                last = []
                for place, row in enumerate(open_rows):
                    line = lines[row] + done[row]
                    batch[place, : len(line)] = torch.tensor(line)
                    last.append(len(line) - 1)
                logits = self.model(batch).logits[range(len(open_rows)), last]
                drawn = torch.multinomial(logits.softmax(-1), 1, generator=rng)[:, 0].tolist()
                for row, word in zip(list(open_rows), drawn, strict=True):
                    if word == 2:
                        open_rows.remove(row)
                    else:
                        done[row].append(word)
                if not open_rows:
                    break
        for line in done:
            written.append(" ".join(self.words[word] for word in line if word > 2))
        return written

    def learn(
        self, rewards: Rewards, steps: int, *, prompts: int = 8, group: int = 8, rate: float = 1e-3
    ) -> None:
        """Train by GRPO: the advantage of a text is relative to the other texts of its source."""
        import torch

        optimiser = torch.optim.Adam(self.model.parameters(), lr=rate)
        rng = torch.Generator().manual_seed(1)
        examples = pairs()
        for _ in range(steps):
            rows = torch.randint(len(examples), (prompts,), generator=rng).tolist()
            rows = [row for row in rows for _ in range(group)]
            sources, rights = ([examples[row][side] for row in rows] for side in (0, 1))
            texts = self.write(sources, rng)
            values = torch.tensor([value or 0.0 for value in rewards(sources, texts, rights)])
            table = values.view(prompts, group)
            gain = (table - table.mean(1, keepdim=True)) / (table.std(1, keepdim=True) + 1e-4)
            loss = -(gain.view(-1) * self.log_likelihoods(sources, texts)).mean()
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimiser.step()

    def habits(self, count: int = 4) -> dict[str, float]:
        """Return the share of each kind of text, over `count` texts per source."""
        import torch

        rng = torch.Generator().manual_seed(2)
        examples = pairs() * count
        texts = self.write([source for source, _ in examples], rng)
        kinds = Counter(kind(*pair, text) for pair, text in zip(examples, texts, strict=True))
        return {name: number / len(examples) for name, number in kinds.most_common()}


def main(metric: str, steps: int = 100, limits: str = "") -> None:
    """Train with a metric, with and without guards, and print what the policy writes."""
    from gecjury.rewards import reward
    from gecjury.rewards.reward import Scale

    scale: Scale = "none"
    if limits:
        low, high = map(float, limits.split(":"))
        scale = low, high

    def shown(habits: dict[str, float]) -> str:
        return ", ".join(f"{name} {share:.1%}" for name, share in habits.items())

    print("before:", shown(Policy.made().habits()))
    for guards in ("none", "all"):
        policy = Policy.made()
        reward_function = reward(metric, scale=scale, guards=guards)
        policy.learn(reward_function, steps)
        print(f"{reward_function.signature}\n  {steps} steps:", shown(policy.habits()))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]), *sys.argv[3:4])
