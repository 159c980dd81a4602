"""What a session tells of itself: figures, costs, its window in the past."""
