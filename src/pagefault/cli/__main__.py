"""`python -m pagefault.cli`."""

from pagefault.cli import main

main()
