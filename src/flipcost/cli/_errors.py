"""The error for what the user gave on the command line."""

from __future__ import annotations


class UserError(ValueError):
    """A mistake in an option; the message is one line."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))
