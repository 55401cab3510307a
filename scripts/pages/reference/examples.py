"""Makes a short scenario for each entry of the registries. A test runs all of these scenarios."""

from __future__ import annotations

PATH = """\
[path]
rtt = "40ms"
"""

QUEUES = {
    "dctcp": '{ aqm = "step", threshold = "1ms" }',
    "prague": '{ aqm = "dualpi2" }',
    "sce": '{ aqm = "cake", sce = "on" }',
}
"""For some congestion controls, the queue that marks as they expect. All others get CoDel."""


def scenario(kind: str, name: str) -> str:
    """Return the example of an entry, as TOML."""
    return {
        "cc": _cc,
        "aqm": _aqm,
        "traffic": _traffic,
        "impairments": _impairment,
        "programs": _program,
    }[kind](name)


def _head(title: str, queue: str, keys: str = "") -> str:
    return (
        f'title    = "{title}"\nduration = "20s"\nwarmup   = "5s"\n{keys}\n'
        f'[bottleneck]\nrate  = "50Mbit"\nqueue = {queue}\n\n{PATH}\n'
    )


def _cc(name: str) -> str:
    known = "sce" if name.endswith("-sce") else name
    queue = QUEUES.get(known, '{ aqm = "codel" }')
    return _head(f"One {name} flow", queue) + f'[[flows]]\ncc = "{name}"\n'


def _aqm(name: str) -> str:
    flows = '[[flows]]\ncc  = "cubic"\necn = true\n\n[[flows]]\ncc = "dctcp"\n'
    # Without randomness, synchronised flows would determine the results.
    jitter = 'host_jitter = "200us"\n' if name == "fifo" else ""
    return _head(f"CUBIC and DCTCP through {name}", f'{{ aqm = "{name}" }}', jitter) + flows


def _traffic(name: str) -> str:
    rate = 'rate = "10Mbit"\n' if name in ("cbr", "on-off") else ""
    source = f'[[traffic]]\nkind = "{name}"\n{rate}\n[[flows]]\ncc = "cubic"\n'
    return _head(f"One CUBIC flow beside {name} traffic", '{ aqm = "fq_codel" }') + source


def _impairment(name: str) -> str:
    link = f'both_directions = true\n\n[[bottleneck.impairments]]\nkind = "{name}"'
    queue = f'{{ aqm = "codel" }}\n{link}'
    return _head(f"Two flows over a path with {name}", queue) + (
        '[[flows]]\ncc = "cubic"\necn = true\n\n[[flows]]\ncc = "bbr3"\n'
    )


def _program(name: str) -> str:
    images = 'sender = { root = "./server" }\nreceiver = { root = "./client" }\n'
    roots = images if name == "interop" else ""
    program = f'[[programs]]\nkind = "{name}"\n{roots}\n[[flows]]\ncc = "cubic"\n'
    return _head(f"{name} beside one CUBIC flow", '{ aqm = "fq_codel" }') + program
