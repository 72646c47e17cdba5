"""A metric that combines other metrics, as learnt from human preferences."""
