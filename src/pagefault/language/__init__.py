"""What is of a language and not of the program: words, endings, dates and cues, as data."""
