"""Language-specific data: words, endings, dates and cues."""
