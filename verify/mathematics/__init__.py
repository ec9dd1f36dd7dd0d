"""Mathematical answers in text: where the final one stands, its one spelling, what equals what."""
