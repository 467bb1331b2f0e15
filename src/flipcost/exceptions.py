"""Warnings of flipcost's own."""


class DenoisingWarning(UserWarning):
    """Denoising went wrong in part, and something was done about it that the message names."""
