"""gecjury: three families of GEC metrics behind one interface, tried against human judgments."""

from __future__ import annotations

__version__ = "0.1.0"
