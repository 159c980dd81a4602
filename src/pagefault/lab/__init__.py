"""The laboratory: replays of real conversations, and benchmarks."""
