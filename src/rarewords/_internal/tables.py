"""Markdown tables, padded so that they read well in a terminal too."""

from collections.abc import Sequence


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """A Markdown table; the first ``left`` columns are text, the others numbers."""
    lines = [[cell.replace("|", "\\|") for cell in row] for row in (header, *rows)]
    columns = []
    for number, column in enumerate(zip(*lines, strict=True)):
        width = max(3, *map(len, column))
        pad, mark = (str.ljust, "-" * width) if number < left else (str.rjust, "-" * (width - 1) + ":")
        title, *cells = (pad(cell, width) for cell in column)
        columns.append([title, mark, *cells])
    return "".join(f"| {' | '.join(row)} |\n" for row in zip(*columns, strict=True))
