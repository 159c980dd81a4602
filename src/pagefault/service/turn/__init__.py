"""What happens in a turn: what is said, what is brought in for it, and how calls are served."""
