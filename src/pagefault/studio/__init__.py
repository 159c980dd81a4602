"""A memory in the terminal: look through it, travel in time, correct what it holds true.

It is built on the package `textual`, an extra (`pagefault[studio]`), which nothing outside of this
package imports; the command line imports this one only to run it.

    desk       what is looked at: a session, and the feed (`views.feed`), which alone is asked
    acts       what can be done to a memory, a verb each
    lines      a list of any length, of which only what is seen is read; `rows` what it is made of
    keys       the line that tells the keys, and the help; `tab_line` the one of tabs
    strip      what one request held; `timeline` all of them, and where we are
    *_pane     one tab each: pages, claims, review, keeping, concerns
    dialogs    questions, and a page in full
    app        puts them together: the memory, the moment that is looked at, the keys

Invariants:
 (1) What is looked at is opened for reading. Each act opens the memory for writing, does one verb
     and lets go, so the studio never keeps a session from the process whose it is; where another
     process has it, the act says so and nothing was written.
 (2) No key waits for the log: lists read what is seen, the rest is read by tasks that the next key
     replaces.
 (3) Every text of a memory goes through `clean` before it is shown, and none is taken for markup.
"""

from importlib.util import find_spec

from pagefault.model.errors import CallerError


def check_installed() -> None:
    """Raise `CallerError` where the package `textual` is not there."""
    if find_spec("textual") is None:
        raise CallerError(
            "the studio needs the package textual, which is not installed",
            hint="pip install 'pagefault[studio]'",
        )
