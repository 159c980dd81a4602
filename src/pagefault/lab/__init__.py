"""The laboratory: replays of recorded conversations, and benchmarks."""
