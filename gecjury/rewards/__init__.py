"""Any metric as a reward for training, guarded against texts that fool metrics."""

from gecjury.rewards.guards import GUARDS, Guard
from gecjury.rewards.reward import Reward, RewardSignature, reward

__all__ = ["GUARDS", "Guard", "Reward", "RewardSignature", "reward"]
