"""The exceptions a caller is expected to catch: :class:`InputError`, whatever its code."""


class InputError(ValueError):
    """Something you gave cannot be used.

    :param message: one line that names the cause (which file, which line, which word) and the remedy.
    :param code: a short name of the problem that stays the same when the wording changes; the command line
        prints it in brackets, and the troubleshooting page explains it.
    """

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message, code)
        self.code = code

    def __str__(self) -> str:
        return str(self.args[0])
