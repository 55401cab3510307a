"""Defines the errors and warnings that a caller can distinguish."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailback._native import Diagnostic
    from tailback.base.located import Located
    from tailback.store.results import Results


class TailbackError(Exception):
    """The base class of all errors that tailback itself raises."""


class InputError(TailbackError, ValueError):
    """Raised for bad input outside of a scenario, such as an unknown name or engine."""

    @property
    def problems(self) -> list[Diagnostic | Located | str]:
        """The list of all errors in the input."""
        return [str(self)]


class InputErrors(InputError):
    """Raised if an input has several errors."""

    def __init__(self, *problems: Diagnostic | Located | str) -> None:
        super().__init__("\n".join(map(str, problems)))
        self._problems = list(problems)

    @property
    def problems(self) -> list[Diagnostic | Located | str]:
        """The list of all errors in the input."""
        return list(self._problems)

    def __reduce__(self) -> tuple[type[InputError], tuple[str, ...]]:
        # Pickle the errors as text, because the objects refer to the text of a file that only this
        # process has read.
        return type(self), tuple(map(str, self._problems))


class ScenarioError(InputError):
    """Raised for an invalid scenario. `diagnostics` has every error, with its place, message and
    hints."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__("\n".join(map(str, diagnostics)))
        self.diagnostics = list(diagnostics)

    @property
    def problems(self) -> list[Diagnostic | Located | str]:
        """The list of all errors in the scenario."""
        return list(self.diagnostics)

    def __reduce__(self) -> tuple[type[InputError], tuple[str]]:
        # Pickle the errors as text, because the objects refer to the text of a file that only this
        # process has read.
        return InputError, (str(self),)


class DamagedResults(InputErrors):
    """Raised if stored results are missing or changed. The message names their paths."""


class DamageWarning(UserWarning):
    """Warns that stored results are damaged. tailback repeats a damaged run, and ignores other
    damaged files."""


class ScenarioWarning(UserWarning):
    """Warns of a setting in a scenario that is allowed but unusual. The warning is a text or a
    diagnostic."""


class VersionWarning(UserWarning):
    """Warns that stored results come from another version of the engine."""


class Cancelled(TailbackError):
    """Raised if a run was cancelled before its end."""


class EnginePanic(TailbackError):
    """Raised if the engine failed in the middle of a run. Such a failure is a bug in tailback, and
    the run is lost."""


class GuestFailed(EnginePanic):
    """Raised if the guest of the kernel engine rejected its set-up, crashed, hung or was killed."""


class RunsFailed(TailbackError):
    """Raised if some runs failed. `results` contains an entry for each job, with the runs that
    finished."""

    def __init__(self, failures: Sequence[str], results: Sequence[Results]) -> None:
        super().__init__("\n".join(failures))
        self.failures = list(failures)
        self.results = list(results)
