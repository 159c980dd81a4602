"""The studio, a memory in the terminal: browse it, travel in time, correct its claims.

Built on the package `textual`, an extra (`pagefault[studio]`) that only this package imports; the
command line imports this package only to run the studio.

    desk       the session being viewed, and the feed (`views.feed`), the only source of data
    acts       what can be done to a memory, one verb each
    lines      a list of any length that reads only its visible part; `rows`, its contents
    keys       the line of keys, and the help; `tab_line`, the line of tabs
    strip      the window of one request; `timeline`, all requests and the current position
    *_pane     one tab each: pages, claims, review, keeping, concerns
    dialogs    questions, and a page in full
    app        ties them together: the memory, the moment being viewed, the keys

Invariants:
 (1) The viewed memory is opened read-only. Each act opens it for writing, performs one verb and
     closes it, so the studio never keeps a session from the process that owns it. If another
     process holds the session, the act reports that and writes nothing.
 (2) No key waits for the log: lists read what is visible, and everything else is read in tasks
     that the next key replaces.
 (3) Every text of a memory passes through `clean` before display, and none is parsed as markup.
"""

from importlib.util import find_spec

from pagefault.model.errors import not_installed


def check_installed() -> None:
    """Raise `CallerError` if the package `textual` is not installed."""
    if find_spec("textual") is None:
        raise not_installed("the studio needs the package textual", "studio")
