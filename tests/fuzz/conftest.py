"""At the end of ``make fuzz``: what was found, as lines and as a results file."""

import os


def pytest_terminal_summary(terminalreporter):
    from tests.fuzz.bench import EXAMPLES
    from tests.fuzz.tally import tally

    if EXAMPLES:
        for text in tally.texts:
            terminalreporter.line(text, red=True)
        terminalreporter.line(tally.summary())
        if file := os.environ.get("RAREWORDS_FUZZ_OUT"):
            tally.write(file)


def pytest_sessionfinish(session):
    from tests.fuzz.tally import tally

    if tally.texts:
        session.exitstatus = 1
