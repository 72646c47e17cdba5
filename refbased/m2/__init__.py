"""M2 and its sentence-level mean: edits matched as well as possible to gold edits."""
