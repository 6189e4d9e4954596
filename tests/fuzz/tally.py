"""What fuzzing found: inputs by kind, how many were refused, findings, and the slowest; ``make fuzz`` keeps it."""

import shlex
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis.errors import HypothesisException

from experiments.common import Results

FINDINGS = {
    "traceback": "tracebacks",
    "outside": "written outside",
    "left": "left behind",
    "slow": "above a minute",
    "memory": "above a gibibyte",
    "other": "other findings",
}
_MODELS = ("model folders", "models")  # the kinds whose inputs are model folders


class FindingError(AssertionError):
    """A command did something that no input may make it do; ``sort`` is a key of :data:`FINDINGS`."""

    def __init__(self, sort, text):
        super().__init__(text)
        self.sort = sort


@dataclass
class Kind:
    """What the inputs of one kind, which are those of one test, came to."""

    inputs: int = 0
    refused: int = 0
    slowest: float = 0.0
    slowest_command: str = ""
    findings: Counter = field(default_factory=Counter)


class Tally:
    """Counts what the commands of a process did, by kind of input."""

    def __init__(self):
        self.kinds, self.texts, self._kind = defaultdict(Kind), [], Kind()
        self._commands = 0

    def command(self, arguments, code, seconds, folder):
        """Note a command that has ended; its folder's place on this machine is not shown."""
        self._commands += 1
        self._kind.refused += code == 2
        if seconds > self._kind.slowest:
            shown = shlex.join(map(str, arguments)).replace(f"{folder}/", "").replace(f"{folder.parent}/", "../")
            self._kind.slowest, self._kind.slowest_command = seconds, shown

    def counting(self, kind, test, *, go_on):
        """The test of one input, counted. To fuzz is to go on: a finding is noted, and the next input tried."""

        def counted(*arguments, **named):
            self._kind, before = self.kinds[kind], self._commands
            try:
                test(*arguments, **named)
            except HypothesisException:
                raise
            except Exception as error:
                if not go_on:
                    raise
                sort = error.sort if isinstance(error, FindingError) else "other"
                self._kind.findings[sort] += 1
                self.texts.append(f"{kind}: {sort}: {error or type(error).__name__}")
            finally:
                self._kind.inputs += self._commands > before
                self._kind = Kind()

        return counted

    def summary(self):
        """One line."""
        inputs = sum(one.inputs for one in self.kinds.values())
        models = sum(self.kinds[kind].inputs for kind in _MODELS)
        found = sum((one.findings for one in self.kinds.values()), Counter())
        refused = sum(one.refused for one in self.kinds.values())
        slowest = max(self.kinds.values(), key=lambda one: one.slowest, default=Kind())
        return (
            f"{inputs:,} inputs, {models:,} of them model folders; {refused:,} commands refused; "
            + ", ".join(f"{found[sort]} {title}" for sort, title in FINDINGS.items())
            + f"; slowest {slowest.slowest:.1f} s: {slowest.slowest_command}"
        )

    def write(self, file):
        """The same as a results file, one row for each kind."""
        results = Results(Path(file), "fuzz", None)
        for name, one in sorted(self.kinds.items()):
            row = {"inputs": one.inputs, "refused": one.refused, **{sort: one.findings[sort] for sort in FINDINGS}}
            results.add(kind=name, **row, slowest=round(one.slowest, 1), slowest_command=one.slowest_command)
        results.show("kind", "inputs", "refused", *FINDINGS, "slowest")


tally = Tally()
