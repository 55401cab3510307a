"""Lists the published transfers by kernel, congestion control, buffer, rate and round-trip time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from tailback_studies.reproduction.sources import published_rows

RATES_MBIT = (10, 20, 50, 100, 250, 500, 750, 1000)
RTTS_MS = (5, 10, 25, 50, 75, 100, 150, 200)
# Sizes of the buffer: in kB as in the publication, and in bytes of frames. In tc, `kb` means 1024
# bytes.
BUFFERS: Mapping[int, int] = {100: 102_400, 10_000: 10_240_000}
# CUBIC and the version of BBR that the publication compares, by kernel.
KERNELS: Mapping[str, tuple[str, str]] = {
    "4.15": ("cubic", "bbr"),
    "5.15": ("cubic", "bbr"),
    "5.13.12": ("cubic", "bbr2"),
}
WORDS = {"cubic": "CUBIC", "bbr": "BBR", "bbr2": "BBRv2"}
BUFFER_WORDS = {100: "100 kB", 10_000: "10 MB"}
# Up to this rate, a buffer of 100 kB gives nearly the same results with and without offloads,
# which join segments into larger packets.
SLOW_MBIT = 100
# Rates and round-trip times of a quick run.
QUICK_RATES_MBIT, QUICK_RTTS_MS = (10, 100, 500), (10, 25, 150)


@dataclass(frozen=True)
class Place:
    """A bottleneck of the publication: buffer, rate and round-trip time."""

    buffer_kb: int
    rate_mbit: int
    rtt_ms: int

    @property
    def name(self) -> str:
        """The text that identifies the bottleneck in ids of values."""
        return f"{self.buffer_kb}kB/{self.rate_mbit}Mbit/{self.rtt_ms}ms"


@dataclass(frozen=True)
class ImcRow:
    """A published transfer: one kernel's congestion control at one bottleneck."""

    kernel: str
    cc: str
    place: Place

    @property
    def name(self) -> str:
        """The published row's prefix in the ids of its values, such as the ids in all-cells.csv."""
        return f"{self.kernel}/{self.cc}/{self.place.name}"

    @property
    def offloads_decide(self) -> bool:
        """Whether segmentation offloads determine the result. CUBIC loses throughput if the buffer
        holds only one or two of the large packets that offloads produce. When the limits of the
        criteria were set, the simulator did not model offloads. Therefore no criterion includes the
        goodputs that offloads determine.
        """
        place = self.place
        return self.cc == "cubic" and place.buffer_kb == 100 and place.rate_mbit > SLOW_MBIT


PLACES: tuple[Place, ...] = tuple(
    Place(buffer, rate, rtt) for buffer in BUFFERS for rate in RATES_MBIT for rtt in RTTS_MS
)
ROWS: tuple[ImcRow, ...] = tuple(
    ImcRow(kernel, cc, place) for kernel, ccs in KERNELS.items() for cc in ccs for place in PLACES
)


@cache
def published() -> Mapping[ImcRow, float]:
    """Read the published goodputs in Mbit/s (means of five trials). The package does not contain
    the held-out half of the goodputs."""
    out = {}
    for line in published_rows(__package__, "published.csv"):
        place = Place(int(line["buffer_kB"]), int(line["rate_mbit"]), int(line["rtt_ms"]))
        out[ImcRow(line["kernel"], line["cc"], place)] = float(line["goodput_mbit"])
    return out


@cache
def published_places() -> frozenset[Place]:
    """Return the bottlenecks with published values in this package.

    The bottlenecks are the same for all kernels.
    """
    return frozenset(row.place for row in published())


def gain(bbr: float, cubic: float) -> float:
    """Return the relative gain of BBR's goodput over CUBIC's."""
    return bbr / cubic - 1.0


# Largest gain or loss that counts as a draw.
DRAW = 0.01


def sign(value: float) -> int:
    """Return 1 for a gain, -1 for a loss, 0 for a draw."""
    if abs(value) <= DRAW:
        return 0
    return 1 if value > 0 else -1
