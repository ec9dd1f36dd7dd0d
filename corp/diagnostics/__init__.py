"""What a scored population and a chosen direction are worth: statistics that tell a gain from luck.

Nothing here chooses anything. Every function is pure, in float64, and takes plain arrays or the scores that
the operators see.
"""
