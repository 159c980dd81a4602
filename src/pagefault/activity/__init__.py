"""What clients' calls did: commands, changes of files, and the outcomes of tests, read from the
calls and results themselves. Pure: text in, values out.
"""
