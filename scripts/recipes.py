"""Checks the recipes in packaging for conda, Homebrew and containers. `make recipes` calls it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

PACKAGING = Path(__file__).resolve().parent.parent / "packaging"


def conda(path: Path) -> str:
    """Render the recipe, and return the name and version of its package. Nothing is built.

    Raises rattler_build's errors if the recipe does not follow the schema of conda's recipes.
    """
    from rattler_build import Stage0Recipe

    (rendered,) = Stage0Recipe.from_file(str(path)).render()
    package = rendered.recipe.to_dict()["package"]
    return f"{package['name']} {package['version']}"


def main() -> None:
    """Check every recipe, and print the results. Exit with status 1 if a check fails."""
    print("conda: renders", conda(PACKAGING / "conda" / "recipe.yaml"))
    linted = subprocess.run(["hadolint", PACKAGING / "container" / "Containerfile"])
    print("container: hadolint exits with status", linted.returncode)
    failed = linted.returncode != 0
    if ruby := shutil.which("ruby"):
        parsed = subprocess.run([ruby, "-wc", PACKAGING / "homebrew" / "tailback.rb"])
        failed = failed or parsed.returncode != 0
    else:
        print("Homebrew: not checked, because ruby is not installed (Debian: ruby)")
    sys.exit(failed)


if __name__ == "__main__":
    main()
