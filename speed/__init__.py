"""Speed, memory and agreement, compared with other packages: `python -m speed` lists them all."""
