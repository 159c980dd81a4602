"""The steps of a turn: logging messages, recalling pages for them, serving calls."""
