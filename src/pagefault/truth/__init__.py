"""What is held true: decisions, preferences and facts, with the words that they rest on."""
