"""`tailback kernel`: builds, lists and shows the guest kernels that the kernel engine runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tailback.base import terminal
from tailback.cli.help import Group
from tailback.cli.options import count_type, json_option, quiet_option, set_option, walls_options

if TYPE_CHECKING:
    from tailback.kernel.kit import Kit


@click.group(cls=Group)
def kernel() -> None:
    """Build, list and show the Linux kernels that `--engine kernel` runs."""


@kernel.command(
    examples=(
        ("kernel build", "build Debian's newest kernel"),
        ("kernel build --release 6.1", "build Linux 6.1, and keep the guest kernel in use"),
    )
)
@click.option(
    "--source",
    "origin",
    type=click.Path(exists=True, path_type=Path),
    metavar="TREE|TARBALL",
    help="Folder or tarball with the source of the Linux kernel [default: Debian's newest "
    "linux-source package].",
)
@click.option(
    "--release",
    metavar="RELEASE",
    help="Build the kernel from Debian's linux-source package of this release (5.10, 6.1, 6.12 or "
    "newest). This option does not change which guest kernel tailback uses by default.",
)
@click.option(
    "--with-patch",
    is_flag=True,
    help="Apply tailback's patch for [[programs]] to the source that --source names.",
)
@click.option(
    "--config",
    "fragments",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FRAGMENT",
    help="File with kernel options (CONFIG_NAME=y) to add to the configuration of the guest "
    "kernel. Can be repeated.",
)
@click.option(
    "--module",
    "extra",
    multiple=True,
    metavar="[NAME=]DIR",
    help="Build the qdisc or congestion control in this folder as a module of the guest kernel. "
    "NAME is the name of the module [default: the name of the folder]. Can be repeated.",
)
@click.option(
    "--program",
    "programs",
    multiple=True,
    metavar="NAME",
    help="Build the software that this kind of [[programs]] needs: aioquic, flent, quic-go, "
    "quiche, quinn, s2n-quic. Can be repeated.",
)
@click.option(
    "--jobs",
    type=count_type,
    metavar="N",
    help="Number of compilers to run in parallel [default: the number of cores].",
)
@quiet_option
@json_option
def build(
    origin: Path | None,
    release: str | None,
    with_patch: bool,
    fragments: tuple[Path, ...],
    extra: tuple[str, ...],
    programs: tuple[str, ...],
    jobs: int | None,
    as_json: bool,
) -> int:
    """Build the guest kernel (the Linux kernel with modules and tools that `--engine kernel` runs),
    or its missing parts.

    The build needs gcc and make. The build does not need root, because it unpacks packages and
    never installs them. With --module alone, the command builds only modules for the guest kernel
    in use. With --module and --release, the command builds modules for the guest kernel of that
    release. With --program alone, the command builds only programs. To resume an interrupted build,
    repeat the command.

    After the build, tailback uses the new guest kernel, unless it was built with --release. To use
    a guest kernel that was built with --release, name the release in the scenario, for example
    kernel = "6.1".
    """
    from tailback.base import machine

    machine.check_for_kernel_engine()
    from tailback.kernel import build as kit_build

    built = kit_build.build(
        origin=origin,
        release=release,
        with_patch=with_patch,
        fragments=fragments,
        extra=extra,
        programs=programs,
        jobs=jobs,
    )
    _show(built, as_json=as_json)
    return 0


@kernel.command(
    "list",
    examples=(
        ("kernel list", "list the guest kernels"),
        ("kernel list --json", "print the guest kernels and their contents as JSON"),
    ),
)
@json_option
def list_kits(as_json: bool) -> int:
    """List the guest kernels by release; * marks the guest kernel in use."""
    from tailback.kernel import confine, kit, releases

    in_use = (kit.cache() / "current").resolve()
    kits = sorted(kit.all_kits(), key=lambda entry: releases.numbers(entry.version))
    rows = [
        {
            "release": entry.release,
            "kernel": entry.version,
            "kit": entry.identity,
            "current": entry.path.resolve() == in_use,
            "mode": confine.mode(entry),
            "lacks": entry.manifest.get("lacks", []),
            "source": entry.manifest["source"],
            "modules": sorted({m["name"] for m in entry.extras() if m["current"]}),
            "path": str(entry.path),
        }
        for entry in kits
    ]
    if as_json:
        terminal.out_json({"kits": rows})
        return 0
    if not rows:
        terminal.out(f"no guest kernel is built; run: {kit.COMMAND}")
    for row in rows:
        mark = "*" if row["current"] else " "
        names = ", ".join(row["modules"]) or "-"
        first = f"{mark} {row['release']:6} {row['kernel']:10} {row['kit'][:16]}"
        terminal.out(f"{first}  {row['mode']:7}  modules {names}")
        if row["lacks"]:
            terminal.out(f"  {'':6} {'':10} lacks {', '.join(row['lacks'])}")
    return 0


@kernel.command(
    examples=(
        ("kernel info", "show the version, modules and programs of the guest kernel"),
        ("kernel info --json", "print this information as JSON"),
    )
)
@json_option
def info(as_json: bool) -> int:
    """Show the guest kernel in use: its version, modules and programs."""
    from tailback.kernel import kit

    _show(kit.current(), as_json=as_json)
    return 0


@kernel.command(
    examples=(
        ("kernel clock --quick", "take a first look"),
        ("kernel clock --out clock", "keep the runs"),
    )
)
@click.option("--quick", is_flag=True, help="Run only three scenarios of 4 s, for a first look.")
@click.option(
    "--seeds",
    type=count_type,
    default=3,
    show_default=True,
    metavar="N",
    help="Number of seeds for each scenario; each seed is one run in virtual time and one in real "
    "time.",
)
@click.option(
    "--jobs",
    type=count_type,
    default=1,
    show_default=True,
    metavar="N",
    help="Number of real-time runs to execute in parallel. Parallel runs disturb each other.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder in which tailback stores the runs, and from which it reuses stored runs [default: "
    "runs are not stored].",
)
@click.option(
    "--page",
    "target",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the results as a Markdown page to this file [default: print the page].",
)
@walls_options
@quiet_option
@json_option
def clock(
    quick: bool, seeds: int, jobs: int, out: Path | None, target: Path | None, as_json: bool
) -> int:
    """Run a set of scenarios in virtual and in real time, and show how the results
    differ.

    A run in real time takes as long as the duration that its scenario sets. For each seed there are
    15 runs of 20 s. The option --jobs sets how many runs are executed at the same time. Do not use
    the machine for anything else while the command runs.
    """
    import tempfile

    from tailback.running import virtual_time

    with tempfile.TemporaryDirectory(prefix="tailback-") as folder:
        comparison = virtual_time.compare(
            out if out is not None else Path(folder),
            duration_s=4.0 if quick else 20.0,
            seeds=seeds,
            jobs=jobs,
            quick=quick,
        )
    text = virtual_time.page(comparison)
    if target is not None:
        target.write_text(text, encoding="utf-8")
    if as_json:
        terminal.out_json(comparison.to_dict())
    elif target is None:
        terminal.out(text)
    else:
        terminal.out(target)
    return 0


@kernel.command(
    examples=(
        ("kernel show first.toml", "print the commands that the guest runs"),
        (
            "kernel show first.toml --set bottleneck.queue=codel",
            "print the commands for another queue",
        ),
    )
)
@click.argument("file")
@set_option
def show(file: str, overrides: tuple[str, ...]) -> int:
    """Show how the kernel engine would set up the guest (a Linux kernel that runs as a process) for
    the first sweep point of FILE, without starting a guest.

    The command prints modules, sysctls, devices, the commands of ip and tc in each network
    namespace, and the flows.
    """
    from tailback.kernel import kit
    from tailback.running import scenarios
    from tailback.running.engines.kernel import Kernel

    engine = Kernel(kit.current())
    scenario = scenarios.load(Path(file), scenarios.overrides(overrides), None, engine)
    terminal.out(scenario.guest_script(0, engine.has), end="")
    return 0


def _show(kit: Kit, *, as_json: bool) -> None:
    if as_json:
        terminal.out_json(_facts(kit))
        return
    manifest = kit.manifest
    package = manifest["package"]
    came = f"{package['name']} {package['version']}" if package else manifest["source"]
    rows = [
        ("kernel", f"{kit.version} ({came})"),
        ("config", manifest["config_hash"][:16]),
        ("patches", ", ".join(manifest.get("patches", {})) or "none"),
        ("iproute2", manifest["iproute2"]),
        ("cc", ", ".join(kit.ccs)),
        ("qdiscs", ", ".join(kit.qdiscs)),
    ]
    for extra in kit.extras():
        brings = ", ".join([*extra["qdisc"], *extra["cc"]]) or ", ".join(extra["modules"])
        older = "" if extra["current"] else ", an earlier version"
        name = extra["name"] if extra["current"] else Path(extra["path"]).name
        rows.append(("module", f"{name} ({brings}{older})"))
    rows.append(("path", str(kit.path)))
    for label, value in rows:
        terminal.out(f"{label:9} {value}")


def _facts(kit: Kit) -> dict[str, Any]:
    return {"path": str(kit.path), **kit.manifest, "extra_modules": kit.extras()}
