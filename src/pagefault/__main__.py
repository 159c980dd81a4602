"""`python -m pagefault`: the command line."""

from pagefault.cli import main

main()
