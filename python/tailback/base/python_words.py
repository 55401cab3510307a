"""Replaces command-line options in error messages by the names of Python arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from tailback.errors import DamagedResults, InputError, InputErrors, ScenarioError

_ARGUMENTS = {"from": "begin", "to": "end", "rule": "rules", "law": "laws"}
"""Options whose Python argument has a different name."""

# If a message contains a command, such as `tailback kernel build --release 6.1`, do not replace the
# command's options.
_COMMAND = re.compile(r"(\b(?:tailback|pip) [a-z][^;\n]*)")
# Do not replace an option that follows the words "again with", which advise the user to repeat a
# command.
_OPTION = re.compile(r"(?<!again with )--([a-z][a-z-]*)")
_CHOICE = re.compile(r"(?<!again with )--(?!where\b)([a-z][a-z-]*) ([\w.]+)(?![\w.:])")
_WHERE = re.compile(r"--where (?:'([^'=]+)=([^']*)'|([\w.]+)=([\w.]+))")


@contextmanager
def python_words() -> Iterator[None]:
    """In the `with` block, make messages of `InputError` name Python arguments instead of options:
    `--kind time` becomes `kind="time"`."""
    try:
        yield
    except (DamagedResults, ScenarioError):
        raise
    except InputError as error:
        renamed = [in_python(one) if isinstance(one, str) else one for one in error.problems]
        if renamed == error.problems:
            raise
        raise InputErrors(*renamed) from None


def in_python(message: str) -> str:
    """Return the message with Python arguments in place of command-line options. Commands in the
    message are not changed."""
    parts = _COMMAND.split(message)
    parts[::2] = map(_with_arguments, parts[::2])
    return "".join(parts)


def _with_arguments(message: str) -> str:
    def where(found: re.Match[str]) -> str:
        key, value = (found[1], found[2]) if found[1] else (found[3], found[4])
        return f'where={{"{key}": "{value}"}}'

    message = _WHERE.sub(where, message)
    message = _CHOICE.sub(lambda found: f'{_argument(found[1])}="{found[2]}"', message)
    return _OPTION.sub(lambda found: _argument(found[1]), message)


def _argument(option: str) -> str:
    return _ARGUMENTS.get(option, option.replace("-", "_"))
