"""The exceptions a caller is expected to catch: :class:`InputError`, whatever its kind."""


class InputError(ValueError):
    """Something the user gave cannot be used.

    The message is one line that names the cause (which file, which line, which word) and the remedy.
    The command line prints it as it is and exits with code 2.
    """


class HopelessError(InputError):
    """The same command would fail again, so nothing of its work is kept."""
