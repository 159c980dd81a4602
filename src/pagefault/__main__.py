"""`python -m pagefault`: the command line."""

from pagefault.cli import main

if __name__ == "__main__":
    main()
