"""From scores to a proven checkpoint: consolidation, the held-out gate, the run, its recipe and export."""
