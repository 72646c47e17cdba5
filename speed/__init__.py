"""Speed, memory and agreement, measured against others: `python -m speed` lists what there is."""
