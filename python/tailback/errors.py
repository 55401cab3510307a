"""Errors and warnings, for callers who distinguish them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailback._native import Diagnostic
    from tailback.base.located import Located
    from tailback.store.results import Results


class TailbackError(Exception):
    """Everything that tailback itself reports."""


class InputError(TailbackError, ValueError):
    """Bad input other than a scenario: an unknown name, an engine that does not exist."""

    @property
    def problems(self) -> list[Diagnostic | Located | str]:
        """Everything that is wrong, one by one."""
        return [str(self)]


class InputErrors(InputError):
    """Several things are wrong with an input."""

    def __init__(self, *problems: Diagnostic | Located | str) -> None:
        super().__init__("\n".join(map(str, problems)))
        self._problems = list(problems)

    @property
    def problems(self) -> list[Diagnostic | Located | str]:
        """Everything that is wrong, one by one."""
        return list(self._problems)

    def __reduce__(self) -> tuple[type[InputError], tuple[str, ...]]:
        # Another process gets text, because places refer to a file that only this process has read.
        return type(self), tuple(map(str, self._problems))


class ScenarioError(InputError):
    """A scenario is wrong; `diagnostics` has every error: place, message and hints."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__("\n".join(map(str, diagnostics)))
        self.diagnostics = list(diagnostics)

    @property
    def problems(self) -> list[Diagnostic | Located | str]:
        """Everything that is wrong, one by one."""
        return list(self.diagnostics)

    def __reduce__(self) -> tuple[type[InputError], tuple[str]]:
        # Another process gets text, because places refer to a file that only this process has read.
        return InputError, (str(self),)


class DamagedResults(InputErrors):
    """Stored results are missing or changed: sentences with the paths."""


class DamageWarning(UserWarning):
    """Stored results are damaged: a run is repeated, other files are left out."""


class ScenarioWarning(UserWarning):
    """Something in a scenario is allowed but unusual. The warning is a text or a diagnostic."""


class VersionWarning(UserWarning):
    """Stored results come from another version of the engine."""


class Cancelled(TailbackError):
    """A run was cancelled before its end."""


class EnginePanic(TailbackError):
    """The engine failed in the middle of a run. This is a bug in tailback; the run is lost."""


class GuestFailed(EnginePanic):
    """The kernel engine's guest failed: it rejected its set-up, crashed, hung or was killed."""


class RunsFailed(TailbackError):
    """Some runs failed. The others finished and are in `results`, one for each job."""

    def __init__(self, failures: Sequence[str], results: Sequence[Results]) -> None:
        super().__init__("\n".join(failures))
        self.failures = list(failures)
        self.results = list(results)
