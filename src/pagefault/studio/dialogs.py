"""The studio's dialogs: questions, and a page in full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Label, OptionList, Static
from textual.widgets.option_list import Option

_BOX = """
{0} {{ align: center middle; }}
{0} > Vertical, {0} > VerticalScroll {{
    width: 90%; max-width: 110; height: auto; max-height: 90%;
    background: $panel; border: round $primary; padding: 0 1;
}}
"""


class Ask(ModalScreen[str | None]):
    """Asks for a line of text; None if cancelled. Typing adds to `value`, or replaces it."""

    DEFAULT_CSS = _BOX.format("Ask")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Cancel")]

    def __init__(
        self, question: str, value: str = "", hint: str = "", *, is_replaced: bool = True
    ) -> None:
        super().__init__()
        self.question, self.value, self.hint = question, value, hint
        self.is_replaced = is_replaced

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Label(Text(self.question))
            yield Input(self.value, select_on_focus=self.is_replaced)
            yield Label(Text(self.hint or "Enter to confirm, Escape to cancel.", style="dim"))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip() or None)


class Choose(ModalScreen[str | None]):
    """A choice among several, each with its meaning; returns None if cancelled. Typing filters the
    list.
    """

    DEFAULT_CSS = _BOX.format("Choose") + "Choose OptionList { height: auto; max-height: 20; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Cancel"),
        Binding("down", "into_list", "To the list", show=False),
    ]

    def __init__(self, question: str, options: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self.question, self.options = question, options
        self.has_input = len(options) > 12

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Label(Text(self.question))
            if self.has_input:
                yield Input(placeholder="type to narrow down")
            yield OptionList(*self._shown(""))

    def on_mount(self) -> None:
        self.query_one(Input if self.has_input else OptionList).focus()

    def _shown(self, text: str) -> list[Option]:
        wanted = text.casefold()
        return [
            Option(Text(told), id=value)
            for value, told in self.options
            if wanted in told.casefold()
        ][:500]

    def on_input_changed(self, event: Input.Changed) -> None:
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options(self._shown(event.value))

    def on_input_submitted(self) -> None:
        options = self.query_one(OptionList)
        if options.option_count:
            self.dismiss(options.get_option_at_index(0).id)

    def action_into_list(self) -> None:
        self.query_one(OptionList).focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)


class FullText(ModalScreen[None]):
    """A text in full, scrollable."""

    DEFAULT_CSS = _BOX.format("FullText") + "FullText > VerticalScroll { height: 90%; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss(None)", "Close"),
        Binding("up,k", "scroll(-1)", "Up", show=False),
        Binding("down,j", "scroll(1)", "Down", show=False),
    ]

    def __init__(self, title: str, text: Text) -> None:
        super().__init__()
        self.told_title, self.text = title, text

    def compose(self) -> ComposeResult:
        with VerticalScroll() as scroll:
            scroll.border_title = self.told_title
            yield Static(self.text)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def action_scroll(self, by: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)

    def more(self, text: Text) -> None:
        """Append a text that arrived later."""
        self.text = self.text.copy().append("\n\n").append(text)
        self.query_one(Static).update(self.text)
