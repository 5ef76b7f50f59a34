#!/usr/bin/env python3
"""routerbench: what a router's processor can encrypt, and how far that number can be trusted.

Copy this one file to a router and run it, or leave it where it is and reach the router by ssh,
where it then needs nothing but a shell:

    ssh root@192.168.1.1 'cat > /tmp/routerbench.py' < routerbench.py
    ssh -t root@192.168.1.1 python3 /tmp/routerbench.py

    python3 routerbench.py --on root@192.168.1.1

It finds out what the machine is, runs `openvpn --test-crypto` the way the pfSense and RRZN
guides do and the `dd` over ssh of OpenWrt's table, and prints one JSON line per result. stdout carries those lines and nothing else;
people are spoken to on stderr. A number is never printed alone: beside it stand the work that
was really done, the cost of one packet, how far the runs lay apart, what else the processor was
doing, and a list of codes that each say how the number could mislead.

    routerbench.py [run] [TEST ...]   measure (this is what happens without a command)
    routerbench.py info               what this machine is, and which tests can run here
    routerbench.py crypto             the crypto drivers, which is used, what to load
    routerbench.py table [FILE ...]   lines in, table out: text, Markdown, DokuWiki, CSV, JSON, HTML
    routerbench.py validate [FILE ...]   check lines or a pasted table before they are contributed
    routerbench.py watch IF           the highest average rate of an interface, while others make traffic
    routerbench.py import [FILE ...]  lines of what somebody ran by hand: iperf3, time, dd, openssl speed
    routerbench.py selftest           the short run for cron, which says when something got slower
    routerbench.py schedule install   put it into cron (`show` it, `remove` it)

Exit status: 0 everything asked for was measured; 1 something of it was not; 2 wrong usage;
3 something got slower (selftest) or is not fit to be merged (validate); 4 nothing could be
measured here; 130 interrupted.

Runs on Python 3.7 and later, on Linux and FreeBSD, with the standard library only, and of that
only with what OpenWrt's python3-light carries: so no statistics, logging, pathlib, decimal,
ctypes, urllib or multiprocessing. Modules that only some paths need are imported there, because
a router takes a noticeable time for each of them.
"""

from __future__ import annotations

import sys

__version__ = '0.1.0'

if __name__ == '__main__' and sys.argv[1:] == ['--version']:  # package managers ask that; it needs nothing more
    print('routerbench ' + __version__)
    sys.exit()

import errno
import math
import operator
import os
import re
import select
import signal
import stat
import time
from typing import (Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, NoReturn,
                    Optional, Sequence, Set, Tuple, Type)

SCHEMA = 1
RELEASE_YEAR = 2026  # a router whose clock shows an earlier year has not been told the time

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_UNSOUND, EXIT_NOTHING, EXIT_INTERRUPTED = 0, 1, 2, 3, 4, 130

EXITS: Dict[int, str] = {
    EXIT_OK: 'everything asked for was measured; `selftest`: nothing got slower; `validate`: all is fit to be merged',
    EXIT_FAILED: 'something that was asked for could not be measured; the other lines are good; or a file could not be read or written',
    EXIT_USAGE: 'wrong usage',
    EXIT_UNSOUND: '`selftest`: something got slower; `validate`: something is not fit to be merged',
    EXIT_NOTHING: 'nothing could be measured here, and each line says what is missing; `table`: no row',
    EXIT_INTERRUPTED: 'interrupted by Ctrl-C, a hang-up or `kill`',
}

REASONS: Dict[str, str] = {
    'auth-required': 'the other end wants a password, or a key that it was not given',
    'auth-unsupported': 'the build does not know this digest',
    'bad-mtu': 'the build refuses this packet size',
    'cipher-unavailable': 'the ssh client and the server have no such cipher in common',
    'cipher-unsupported': 'the crypto library does not have this cipher',
    'connection-lost': 'the connection to the router broke',
    'connection-refused': 'nothing listens on the other end\'s port',
    'connection-timeout': 'the other end did not finish the login in time',
    'engine-unavailable': 'the crypto engine asked for by name is not there',
    'interface-missing': 'there is no interface of that name',
    'host-unknown': 'no machine of that name',
    'hostkey-algorithm': 'the other end only has host keys of a kind that this client refuses',
    'hostkey-changed': 'the other end\'s host key is not the one that is known',
    'hostkey-unknown': 'the other end\'s host key is not known yet',
    'incomplete': 'not everything that was sent arrived',
    'kex-algorithm': 'the other end only has key exchanges that this client refuses',
    'key-format': 'the ssh client cannot read the key file',
    'kernel-api-missing': 'the kernel does not let programs use its crypto',
    'kernel-unsupported': 'the kernel has not what the test needs, or its module is not there',
    'killed': 'the tool was ended by a signal, most often because memory ran out',
    'low-memory': 'too little memory is free to run the tool safely',
    'mac-algorithm': 'the other end only has MACs that this client refuses',
    'mode-unsupported': 'the library has the cipher, but this build cannot use its mode here',
    'needs-python': 'this test has to run on the router itself',
    'needs-root': 'only root may do that',
    'no-answer': 'the other end does not answer',
    'no-shell': 'the other end does not run /bin/sh',
    'no-space': 'there is no directory where a key of under 1 kB could be kept',
    'not-loaded': 'the kernel lists no driver for it; that may only mean that nobody has used it yet',
    'overlap': 'another self-test is running',
    'not-idle': '`selftest`: the machine stayed busy',
    'output-unknown': 'the tool ended well but did not say what it did',
    'remote-shell': 'the login shell at the other end stumbled over a command',
    'server-busy': 'the iperf3 server was at another test each time it was asked',
    'timeout': 'the tool did not end in time and was stopped',
    'tool-broken': 'the tool is there but does not run',
    'tool-failed': 'the tool ended with an error; `detail` has its words',
    'tool-missing': 'the tool is not installed',
    'tunnel-down': 'the VPN did not come up',
    'tunnel-unused': 'the counters show that the traffic did not go through the tunnel',
    'wrong-result': 'what was computed is not what the standard says',
}

WARNINGS: Dict[str, str] = {
    'client-bound': 'the ssh client took a whole processor of the fast machine: the router may be able to do more',
    'clock-unset': 'the machine does not know the date, so `time` is null',
    'clock-varied': 'the processor changed its clock by over 5 % between or during the runs',
    'compressed': 'the VPN compresses, and iperf3\'s data may be easier to compress than real ones',
    'cpu-starved': 'the tool got under 90 % of a processor: something else was running',
    'cryptodev-loaded': 'FreeBSD\'s cryptodev is loaded, which makes AES-NI slower for OpenSSL',
    'disturbed': 'other programs took over 10 % of a processor during the runs',
    'endpoint-bound': 'iperf3 itself kept a whole processor busy at one end: the way may carry more',
    'estimated': 'from fewer or shorter runs than the full method makes (--quick); extra.error_pct, where there is one, bounds the error',
    'hw-offload': 'the hardware forwards packets by itself, and the counters may not see them',
    'imported': 'made by `routerbench.py import` of what somebody ran by hand: nothing of how it was run was watched',
    'legacy-ssh': 'the connection used what --legacy-ssh allowed; extra.legacy has it',
    'link-bound': 'the link was full: the router may be able to do more',
    'loopback': 'both ends ran on this one machine: a figure for comparing it with itself, not for a table',
    'low-clock': 'the processor ran below its highest clock (governor or heat)',
    'mixed-cores': 'the machine has cores of several kinds, and which one ran the test is not known',
    'not-cpu-bound': 'the router\'s processor had time left: something else was the limit',
    'not-idle': 'the machine was still busy when the wait for idle ran out',
    'short-run': 'one run took under a second, so start-up weighs in it (extra.start_ms) or buffers do (extra.mbit_s_long)',
    'single-run': 'one run only, because more would not fit into the time budget or --quick\'s share of it',
    'substituted-cipher': 'the other end has no CBC, so CTR of the same key size was measured: no row beside CBC rows',
    'system-heavy': 'most of the time went to the kernel, as with a crypto engine behind it',
    'tunnel-unproven': 'no counter could be read that shows whether the traffic went through the tunnel',
    'unstable': 'the runs lay over 5 % apart',
    'virtual-machine': 'measured in a virtual or emulated machine, not on a router',
}


# --- errors -------------------------------------------------------------------------------------

class RouterbenchError(Exception):
    """Whatever routerbench itself raises; anything else is a defect."""


class Absent(RouterbenchError):
    """A path that is not there, has gone, or may not be read."""


class NoSpace(RouterbenchError):
    """No directory could be found in which a small private file can be kept."""


class Interrupted(RouterbenchError):
    """Ctrl-C, a hang-up or `kill` has asked the run to end."""


class Unmeasurable(RouterbenchError):
    """A measurement that has no result: `status` and `reason` as in the line, `detail` for a person."""

    def __init__(self, reason: str, detail: str, status: str = 'failed') -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.status = status


# --- records ------------------------------------------------------------------------------------

class Line(NamedTuple):
    """One result. The keys of the JSON line, in its order; `None` where not known."""

    schema: int = SCHEMA
    time: Optional[str] = None
    run: str = ''
    agent: str = __version__
    status: str = 'ok'
    reason: Optional[str] = None
    detail: Optional[str] = None
    test: str = ''
    device: Optional[str] = None
    cpu: Optional[str] = None
    mhz: Optional[float] = None
    cores: Optional[int] = None
    arch: Optional[str] = None
    os: Optional[str] = None
    kernel: Optional[str] = None
    algorithm: Optional[str] = None
    cipher: Optional[str] = None
    auth: Optional[str] = None
    seconds: Optional[float] = None
    mbit: Optional[float] = None
    mbit_s: Optional[float] = None
    runs: Tuple[float, ...] = ()
    spread: Optional[float] = None
    tool: Optional[str] = None
    library: Optional[str] = None
    driver: Optional[str] = None
    warnings: Tuple[str, ...] = ()
    method: Optional[str] = None
    extra: Dict[str, Any] = {}


FIELDS: Dict[str, str] = {
    'schema': 'version of this format; a key that is renamed or means something else raises it',
    'time': 'end of the measurement, ISO 8601, UTC; null when the clock is evidently unset',
    'run': '8 hex digits shared by the lines of one run',
    'agent': 'version of routerbench',
    'status': '`ok`, `skipped` (cannot be measured here) or `failed`',
    'reason': 'for the last two: a code from the list of reasons',
    'detail': 'for the last two: what happened, and what to do about it on this system',
    'test': 'what was measured: `openvpn`, `ssh`, `kernel`, `openssl`, `iperf3` (by `run tunnel`; `tunnel` if that could not begin), `interface` (by `watch`); '
            '`crypto` for the drivers of `routerbench.py crypto`; `selftest` for a night without a test',
    'device': 'the machine, as a person would name it',
    'cpu': 'the processor core, short: `MIPS 24Kc`, `ARM Cortex-A53`, `Intel Atom D525`',
    'mhz': 'its nominal clock in MHz; never guessed from BogoMIPS',
    'cores': 'how many processors the system uses',
    'arch': 'architecture with its byte order: `mips` is big-endian, `mipsel` little-endian',
    'os': 'operating system and release',
    'kernel': 'kernel release',
    'algorithm': 'column of the hardware table: `AES128`, `AES256`, `CHACHA20`, `NONE`',
    'cipher': 'the cipher really used, in lower case',
    'auth': 'the digest or MAC really used; null for AEAD ciphers, which need none',
    'seconds': 'median wall-clock time of one run',
    'mbit': 'millions of bits that one run encrypted or decrypted; `ssh`: that arrived',
    'mbit_s': 'the result: `mbit / seconds`, from the unrounded values',
    'runs': 'the seconds of every counted run',
    'spread': '(longest - shortest) / median of `runs`',
    'tool': 'program and version; `ssh`: the one on the router',
    'library': 'its crypto library and version',
    'driver': 'the crypto engine asked for with --engine; `crypto`: the kernel\'s driver in use',
    'warnings': 'codes from the list of warnings; each says how the number could mislead',
    'method': 'the command as one could type it',
    'extra': 'what only this test has; its keys are listed below',
}


class Ran(NamedTuple):
    """A command that has ended. `status` is its exit status, 128 + N if signal N ended it, 126 and
    127 as in a shell if it could not be started. Of long output, the first and last are kept.
    The first byte came on stdout after `first` seconds; `zeros` of them all were zero."""

    argv: Tuple[str, ...]
    status: int
    out: str = ''
    err: str = ''
    seconds: float = 0.0
    user: float = 0.0
    system: float = 0.0
    timed_out: bool = False
    zeros: int = 0
    first: Optional[float] = None


class Times(NamedTuple):
    """Seconds as `time` reports them; user and system are None where the format lacks them."""

    real: float
    user: Optional[float] = None
    system: Optional[float] = None


class Sample(NamedTuple):
    """One timed run over the packet lengths 1..longest."""

    longest: int
    seconds: float


class Cost(NamedTuple):
    """What a run costs: `start` s once, `packet` s per packet, `byte` s per byte. A packet is
    encrypted and decrypted, so both are for the pair."""

    start: float
    packet: float
    byte: float


class CpuInfo(NamedTuple):
    """/proc/cpuinfo: how many processors it lists, the first value of every key (lower case), and
    the different (implementer, part) pairs of ARM cores in their order."""

    processors: int
    first: Dict[str, str]
    parts: Tuple[Tuple[str, str], ...] = ()


class Build(NamedTuple):
    """What `openvpn --version` says: `OpenVPN 2.6.14`, `OpenSSL 3.0.19`, and whether it has DCO."""

    tool: str
    library: Optional[str]
    dco: bool


class Ticks(NamedTuple):
    """Processor time since boot in seconds, summed over all processors: busy (with what a
    hypervisor took away) and idle; and the busy time of each, where the system tells it."""

    busy: float
    idle: float
    cores: Tuple[float, ...] = ()


class Facts(NamedTuple):
    """What a machine is. None wherever it could not be found out."""

    device: Optional[str] = None
    cpu: Optional[str] = None
    mhz: Optional[float] = None
    mhz_source: Optional[str] = None
    cores: Optional[int] = None
    arch: Optional[str] = None
    byte_order: Optional[str] = None
    os: Optional[str] = None
    kernel: Optional[str] = None
    aes: Optional[str] = None
    governor: Optional[str] = None
    memory_mb: Optional[int] = None
    virtual: Optional[str] = None
    mixed_cores: bool = False


class Negotiated(NamedTuple):
    """What an ssh client and a server agreed on for one direction: `aes128-ctr`, `hmac-sha1` (None
    where the cipher authenticates by itself), `none`; and the server: `dropbear_2022.83`."""

    cipher: str
    mac: Optional[str]
    compression: str
    server: Optional[str] = None


class Copied(NamedTuple):
    """What dd says about a transfer: bytes in whole blocks, and its own seconds where it has any."""

    bytes: int
    seconds: Optional[float] = None


class Iperf(NamedTuple):
    """What iperf3 says of one test: Mbit/s that arrived and the seconds it took; processor shares of both ends (1 is
    one whole processor), segments sent again, protocol and version, addresses of both ends. None where it does not say."""

    mbit_s: float
    seconds: float
    local_cpu: Optional[float] = None
    remote_cpu: Optional[float] = None
    retransmits: Optional[int] = None
    protocol: Optional[str] = None
    version: Optional[str] = None
    local: Optional[str] = None
    remote: Optional[str] = None


class Load(NamedTuple):
    """What was busy while a way carried `rate` Mbit/s, in processors, and what else bounds it, in Mbit/s: the same
    without a tunnel, the link, the cipher. None where it is not known. `core` is the busiest processor; `in_kernel`
    says that a VPN works for those who send and receive, in their time."""

    rate: float
    direct: Optional[float]
    link: Optional[float]
    here: Optional[float]
    there: Optional[float]
    vpn: Optional[float]
    busy: Optional[float]
    cores: int
    ceiling: Optional[float]
    core: Optional[float] = None
    in_kernel: bool = False


class Counters(NamedTuple):
    """An interface's bytes in and out at a moment of a monotonic clock, and the number the system gave the interface."""

    time: float
    rx: int
    tx: int
    number: int = 0


class Driver(NamedTuple):
    """One entry of /proc/crypto: the algorithm, who implements it, and how the kernel ranks that. Kernels
    differ in the fields they print; `selftest` is None where they print none."""

    name: str
    driver: str
    module: Optional[str] = None
    priority: int = 0
    selftest: Optional[str] = None
    internal: bool = False
    kind: Optional[str] = None
    unit: Optional[str] = None


class Survey(NamedTuple):
    """What will be asked of a machine, so that one far away can send it all at once: files (with
    wildcards), programs of which the first bytes tell the architecture, directories, commands that
    may be looked for, and commands to run by the name of the system."""

    files: Tuple[str, ...]
    programs: Tuple[str, ...]
    folders: Tuple[str, ...]
    tools: Tuple[str, ...]
    commands: Dict[str, Tuple[Tuple[str, ...], ...]]


class Watched(NamedTuple):
    """What the machine did while it was measured. `others`: processors' worth of time that other
    programs took, `clocks`: MHz seen, `degrees`: Celsius seen (both possibly empty), `core`: the share
    of the time that the busiest processor was busy, with everything."""

    others: Optional[float]
    clocks: Tuple[float, ...]
    degrees: Tuple[float, ...]
    core: Optional[float] = None


# --- arithmetic ---------------------------------------------------------------------------------

def total_bytes(longest: int) -> int:
    """Bytes in one packet of every length 1..longest."""
    return longest * (longest + 1) // 2


def work_mbit(longest: int) -> float:
    """Mbit that `openvpn --test-crypto` works through: every length 1..longest is encrypted once
    and decrypted once. work_mbit(20000) is the 3200.16 of the pfSense guide."""
    return 2 * 8 * total_bytes(longest) / 1e6


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two in the middle."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def relative_spread(values: Sequence[float]) -> float:
    """(max - min) / median; 0 for a single value."""
    return (max(values) - min(values)) / median(values)


def solve(rows: List[List[float]]) -> Optional[List[float]]:
    """Solve linear equations given as [coefficients..., right side] by Gauss's elimination;
    None if they do not determine the unknowns."""
    rows = [list(row) for row in rows]
    size = len(rows)
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(rows[r][i]))
        if abs(rows[pivot][i]) < 1e-12:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for r in range(size):
            if r != i:
                rows[r] = [value - rows[r][i] * lead for value, lead in zip(rows[r], rows[i])]
    return [row[-1] for row in rows]


def least_squares(table: Sequence[Sequence[float]], seen: Sequence[float]) -> Optional[List[float]]:
    """Factors x with table * x as near to `seen` as can be, relative errors counting alike."""
    width = len(table[0])
    scale = [max(abs(row[i]) for row in table) or 1.0 for i in range(width)]
    rows = [[value / scale[i] / y for i, value in enumerate(row)] for row, y in zip(table, seen)]
    normal = [[sum(row[i] * row[j] for row in rows) for j in range(width)]
              + [sum(row[i] for row in rows)] for i in range(width)]
    solved = solve(normal)
    return None if solved is None else [x / scale[i] for i, x in enumerate(solved)]


def fit_cost(samples: Sequence[Sample]) -> Optional[Cost]:
    """The cost model seconds = start + packet * N + byte * N(N+1)/2 through runs of at least three
    lengths; None if they do not determine it. Start-up and the cost per packet cannot be below
    zero: what comes out so is noise, and the others are fitted without it. Without a cost per byte
    there is no model."""
    terms = [0, 1, 2]
    if len({sample.longest for sample in samples}) < len(terms):
        return None
    while True:
        table = [[(1.0, float(s.longest), float(total_bytes(s.longest)))[t] for t in terms] for s in samples]
        parts = dict(zip(terms, least_squares(table, [s.seconds for s in samples]) or ()))
        if parts.get(2, 0.0) <= 0:
            return None
        below = [term for term in terms if parts[term] < 0]
        if not below:
            return Cost(parts.get(0, 0.0), parts.get(1, 0.0), parts[2])
        terms.remove(below[0])


def typical_cost(samples: Sequence[Sample]) -> Optional[Cost]:
    """What real packets cost: the medians over the rounds of the three shortest lengths. Runs of one
    round follow each other closely, so that a disturbance that comes and goes slows all three or none.
    None if it is lost in noise: if a byte costs nothing, or if a packet costs nothing while start-up
    comes out as most of the shortest run."""
    shortest = sorted({sample.longest for sample in samples})[:3]
    by_length = [[sample for sample in samples if sample.longest == longest] for longest in shortest]
    solved = [least_squares([(1.0, float(s.longest), float(total_bytes(s.longest))) for s in round_],
                            [s.seconds for s in round_]) for round_ in zip(*by_length)] if len(shortest) == 3 else []
    found = [parts for parts in solved if parts]
    if not found:
        return None
    start, packet, byte = (median(values) for values in zip(*found))
    smallest = median([sample.seconds for sample in by_length[0]])
    if byte <= 0 or (packet <= 0 and start > smallest / 2):
        return None
    return Cost(max(start, 0.0), max(packet, 0.0), byte)


def run_seconds(cost: Cost, longest: int) -> float:
    """How long a run over the lengths 1..longest takes by the cost model."""
    return cost.start + cost.packet * longest + cost.byte * total_bytes(longest)


def packet_mbit_s(cost: Cost, size: int) -> Optional[float]:
    """Mbit/s with packets of one size: a packet is worked on twice (encrypted and decrypted)."""
    seconds = cost.packet + cost.byte * size
    return 2 * 8 * size / seconds / 1e6 if seconds > 0 else None


def rounded(value: Optional[float], digits: int = 3) -> Optional[float]:
    """For a line: `digits` places, None stays None."""
    return None if value is None else round(value, digits)


BARS = '\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588'


def chart(rates: Sequence[float], bars: str = BARS) -> str:
    """One sign per rate; the lowest stands for four fifths of the highest, or for less if there is less."""
    highest = max(rates)
    lowest = min(min(rates), 0.8 * highest)
    return ''.join(bars[min(int((rate - lowest) / (highest - lowest or 1) * len(bars)), len(bars) - 1)] for rate in rates)


WRAP = 1 << 32


def grown(before: int, now: int, most: float) -> Optional[int]:
    """What a counter of bytes has grown by, where it may be one of 32 bits that began anew; None if it was reset, which
    is what it means if that were more than `most` bytes."""
    if now >= before:
        return now - before
    wrapped = now - before + WRAP
    return wrapped if before < WRAP and wrapped <= most else None


def traffic(before: Counters, now: Counters, bytes_s: float) -> Optional[Tuple[int, int]]:
    """Bytes in and out between two looks at an interface that can carry so much; None if it was another one meanwhile, or
    began anew."""
    elapsed = now.time - before.time
    if elapsed <= 0 or before.number != now.number:
        return None
    rx, tx = grown(before.rx, now.rx, bytes_s * elapsed), grown(before.tx, now.tx, bytes_s * elapsed)
    return None if rx is None or tx is None else (rx, tx)


class Flow:
    """The bytes of one direction over time, and the highest average over any `window` seconds that ends at a look."""

    def __init__(self, window: float) -> None:
        self.window = window
        self.points: List[Tuple[float, float]] = []  # (seconds, bytes since the beginning): those of the last window, and one before it
        self.total = self.peak = self.seconds = 0.0

    def gap(self) -> None:
        """The counter said nothing for a while: no average goes across."""
        self.points = []

    def add(self, begin: float, end: float, count: float) -> None:
        """So many bytes between two moments."""
        if not self.points:
            self.points = [(begin, self.total)]
        self.total += count
        self.seconds += end - begin
        self.points.append((end, self.total))
        while len(self.points) > 2 and self.points[1][0] <= end - self.window:
            self.points.pop(0)
        (first, low), (second, high) = self.points[:2]
        if end - first >= self.window:  # the average begins between two looks
            share = (end - self.window - first) / (second - first)
            self.peak = max(self.peak, (self.total - low - share * (high - low)) / self.window)


BOUND_SHARE = 0.9  # of a processor or a link, from which on it is the limit


def limit_of(load: Load) -> Optional[str]:
    """What the bottleneck was: `link`, the VPN's own process by its `crypto` or by the `packet path`, iperf3 at `this end` or
    the `other end`, all of the machine (`processor`), or none of these (`other`); None where that cannot be told."""
    def full(share: Optional[float]) -> bool:
        return share is not None and share >= BOUND_SHARE
    if load.link and load.rate > BOUND_SHARE * load.link or load.direct and load.rate > 0.95 * load.direct:
        return 'link'
    if load.ceiling and load.rate > BOUND_SHARE * load.ceiling:
        return 'crypto'
    if full(load.vpn) or load.in_kernel and (full(load.core) or full(load.here)):
        return ('processor' if load.in_kernel else 'VPN process') if not load.ceiling else 'crypto' if load.rate / load.ceiling > 0.5 else 'packet path'
    if full(load.there) or full(load.here):
        return 'other end' if full(load.there) else 'this end'
    return None if load.busy is None else 'processor' if load.busy > BOUND_SHARE * load.cores or full(load.core) else 'other'


def fairness(rates: Sequence[float]) -> float:
    """Jain's index: 1 if all get the same, 1/n if one gets everything."""
    return sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))


def figure(value: Optional[float]) -> str:
    """A rate for people: three or four digits that mean something; `-` where there is none."""
    if value is None:
        return '-'
    return '%.0f' % value if value >= 1000 else '%.1f' % value if value >= 100 else '%.2f' % value


# --- parsers ------------------------------------------------------------------------------------
# Text in, records out. Text from a machine or a tool is data: what may reach a line or a terminal
# goes through plain(). Patterns are kept as text: re compiles each when it is first used, and a
# start uses few of them.

CONTROL = r'[\x00-\x1f\x7f-\x9f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffd]+'


def plain(text: str, limit: int = 120) -> str:
    """One line without control characters, direction marks or runs of blanks, cut at `limit`."""
    return ' '.join(re.sub(CONTROL, ' ', text).split())[:limit].rstrip()


def whole_number(text: str) -> int:
    """A whole number as a kernel prints it; 0 if it is none."""
    return int(text) if re.match(r'[0-9]{1,18}\Z', text) else 0


CLOCK = r'(?:(\d+)h ?)?(?:(\d+)m(?:in)? ?)?(?:(\d+(?:[.,]\d+)?)s?)?$'


def parse_clock(text: str) -> float:
    """Seconds in one amount of time as tools and people write it: `47.46`, `47,46`, `0m14.20s`,
    `2m 44.80s`, `1h2m3s`, `2:44.80`, `1:02:44.8`, `90s`, `5m`. ValueError otherwise."""
    text = text.strip()
    if ':' in text:
        seconds = 0.0
        for part in text.split(':'):
            seconds = 60 * seconds + parse_clock(part)
        return seconds
    match = re.match(CLOCK, text)
    if not match or not any(match.groups()):
        raise ValueError('not an amount of time: %s' % plain(text, 40))
    hours, minutes, seconds_text = match.groups()
    return 3600 * int(hours or 0) + 60 * int(minutes or 0) + float((seconds_text or '0').replace(',', '.'))


def spoken(seconds: float) -> str:
    """`45 s`, `3 min 20 s`, `2 h 05 min`; rounded as one would say it."""
    if seconds < 1:
        return 'a second'
    if seconds < 60:
        return '%.0f s' % seconds
    if seconds < 3570:
        return '%d min %02d s' % divmod(round(seconds / 10) * 10, 60) if seconds < 570 else '%.0f min' % (seconds / 60)
    return '%d h %02d min' % divmod(round(seconds / 60), 60)


_NUMBER = r'\d{1,12}(?:[.,]\d{1,12})?'
_AMOUNT = r'(?:\d{1,9}h ?)?(?:\d{1,9}m ?)?%s ?s?|(?:\d{1,9}:){1,3}%s' % (_NUMBER, _NUMBER)
TIME_SHAPES = tuple('(?im)' + shape.replace('AMOUNT', _AMOUNT) for shape in (
    # bash, BusyBox, ksh93, `time -p`: three lines, the word first
    r'^real[ \t]+(?P<real>AMOUNT)[ \t]*$(?:\s+^user[ \t]+(?P<user>AMOUNT)[ \t]*$\s+^sys[ \t]+(?P<system>AMOUNT)[ \t]*$)?',
    # FreeBSD's time and sh, mksh: one line, the number first
    r'^[ \t]*(?P<real>AMOUNT)[ \t]+real[ \t]+(?P<user>AMOUNT)[ \t]+user[ \t]+(?P<system>AMOUNT)[ \t]+sys(?:tem)?\b',
    # GNU time
    r'^[ \t]*(?P<user>AMOUNT)user[ \t]+(?P<system>AMOUNT)system[ \t]+(?P<real>AMOUNT)elapsed\b',
    # zsh: the command stands before it
    r'(?:^|[ \t])(?P<user>AMOUNT)[ \t]+user[ \t]+(?P<system>AMOUNT)[ \t]+system[ \t]+\d+%[ \t]+cpu[ \t]+(?P<real>AMOUNT)[ \t]+total\b',
    # csh and tcsh: the wall clock is the third word
    r'^[ \t]*(?P<user>AMOUNT)u[ \t]+(?P<system>AMOUNT)s[ \t]+(?P<real>AMOUNT)[ \t]+%s%%' % _NUMBER,
))


def parse_times(text: str) -> List[Times]:
    """All that any shell's or system's `time` printed, from among other output, in its order. Log lines
    with a date or other numbers are no report."""
    text = text.replace('\r', '')
    found = {match.end('real'): match.groupdict() for shape in TIME_SHAPES for match in re.finditer(shape, text)}
    return [Times(*(parse_clock(one[key].replace(' ', '')) if one.get(key) else None for key in ('real', 'user', 'system')))  # type: ignore[arg-type]
            for _end, one in sorted(found.items())]


def parse_time(text: str) -> Optional[Times]:
    """The last report of `time` in a text; None if there is none or its wall clock shows nothing."""
    last = parse_times(text)[-1:]
    return last[0] if last and last[0].real else None


def without_time(text: str) -> str:
    """The text without what `time` reported last and what came after it."""
    found = [match.start() for shape in TIME_SHAPES for match in re.finditer(shape, text)]
    return re.sub('(?m)^Command (?:exited with non-zero status|terminated by signal) .*\n?', '', text[:max(found)]) if found else text


def parse_dd(text: str, block: int) -> Optional[Copied]:
    """What any dd printed on stderr: the records of `block` bytes, and its own seconds from the third
    line of GNU's, FreeBSD's and bigger builds of BusyBox's. None without records or with a part of one."""
    records = re.findall(r'^([0-9]{1,12})\+([0-9]{1,12}) records out', text, re.M)
    if not records or records[-1][1] != '0':
        return None
    timed = re.findall(r'^\d+ bytes .*(?:copied, |transferred in )(\d+(?:[.,]\d+)?(?:e-?\d+)?) s', text, re.M)
    return Copied(int(records[-1][0]) * block, float(timed[-1].replace(',', '.')) if timed else None)


RATE_PREFIXES = {'': 1e-6, 'k': 1e-3, 'K': 1e-3, 'M': 1.0, 'G': 1e3, 'Ki': 1.024e-3, 'Mi': 1.048576, 'Gi': 1073.741824}


def parse_rate(text: str) -> float:
    """Mbit/s in a rate with its unit: `14.5 MByte/s`, `11.8MiB/s`, `6.97 Gbits/sec`, `3.4MB/s`. ValueError without
    one, and for `Mb/s` and `mb/s`, which people write for both."""
    match = re.match(r'(\d{1,15}(?:[.,]\d{1,15})?)\s*([kKMG]i?|)(?:((?i:bits?)|b(?=ps))|(?i:bytes?)|B)(?:ps|/s|/sec)\Z', text.strip())
    if not match:
        raise ValueError('not a rate with a unit such as Mbit/s or MByte/s: %s' % plain(text, 40))
    number, prefix, bits = match.groups()
    return float(number.replace(',', '.')) * RATE_PREFIXES[prefix] * (1 if bits else 8)


def parse_assignments(text: str) -> Dict[str, str]:
    """KEY=value lines with or without quotes: os-release, openwrt_release, kenv, `sysctl -e`."""
    found: Dict[str, str] = {}
    for line in text.splitlines():
        key, equals, value = line.strip().partition('=')
        if equals and key and not key.startswith('#'):
            value = value.strip()
            wrapped = len(value) > 1 and value[0] in '\'"' and value[-1] == value[0]
            found[key.strip()] = value[1:-1] if wrapped else value
    return found


def parse_cpuinfo(text: str) -> CpuInfo:
    """/proc/cpuinfo of any architecture. A number after `processor` starts a processor; old ARM
    kernels put the name there instead, which is kept as `processor name`."""
    count, first, parts, implementer = 0, {}, [], ''  # type: int, Dict[str, str], List[Tuple[str, str]], str
    for line in text.splitlines():
        key, colon, value = line.partition(':')
        key, value = ' '.join(key.split()).lower(), ' '.join(value.split())
        if not colon:
            continue
        if key == 'processor':
            if value.isdigit():
                count += 1
                continue
            key = 'processor name'
        first.setdefault(key, value)
        implementer = value if key == 'cpu implementer' else implementer
        if key == 'cpu part' and (implementer, value) not in parts:
            parts.append((implementer, value))
    return CpuInfo(count, first, tuple(parts))


ARM_CORES: Dict[str, Tuple[str, Dict[str, str]]] = {
    # implementer: (prefix, {part: core}); from Linux arch/arm64/include/asm/cputype.h, ARM's and
    # the vendors' manuals
    '0x41': ('ARM', {
        '0x920': 'ARM920T', '0x926': 'ARM926EJ-S', '0xb02': 'ARM11MPCore', '0xb36': 'ARM1136',
        '0xb56': 'ARM1156', '0xb76': 'ARM1176', '0xc05': 'Cortex-A5', '0xc07': 'Cortex-A7',
        '0xc08': 'Cortex-A8', '0xc09': 'Cortex-A9', '0xc0d': 'Cortex-A17', '0xc0e': 'Cortex-A17',
        '0xc0f': 'Cortex-A15', '0xd01': 'Cortex-A32', '0xd02': 'Cortex-A34', '0xd03': 'Cortex-A53',
        '0xd04': 'Cortex-A35', '0xd05': 'Cortex-A55', '0xd06': 'Cortex-A65', '0xd07': 'Cortex-A57',
        '0xd08': 'Cortex-A72', '0xd09': 'Cortex-A73', '0xd0a': 'Cortex-A75', '0xd0b': 'Cortex-A76',
        '0xd0c': 'Neoverse-N1', '0xd0d': 'Cortex-A77', '0xd40': 'Neoverse-V1', '0xd41': 'Cortex-A78',
        '0xd44': 'Cortex-X1', '0xd46': 'Cortex-A510', '0xd47': 'Cortex-A710', '0xd48': 'Cortex-X2',
        '0xd49': 'Neoverse-N2', '0xd4b': 'Cortex-A78C', '0xd4d': 'Cortex-A715', '0xd4e': 'Cortex-X3',
        '0xd4f': 'Neoverse-V2', '0xd80': 'Cortex-A520', '0xd81': 'Cortex-A720', '0xd82': 'Cortex-X4'}),
    '0x42': ('Broadcom', {'0x00f': 'B15', '0x100': 'B53', '0x516': 'Vulcan'}),
    '0x43': ('Cavium', {'0x0a1': 'ThunderX', '0x0a2': 'ThunderX-81', '0x0a3': 'ThunderX-83',
                        '0x0af': 'ThunderX2'}),
    '0x48': ('HiSilicon', {'0xd01': 'TSV110'}),
    '0x51': ('Qualcomm', {'0x00f': 'Scorpion', '0x02d': 'Scorpion', '0x04d': 'Krait', '0x06f': 'Krait',
                          '0x201': 'Kryo', '0x205': 'Kryo', '0x211': 'Kryo', '0x800': 'Kryo 2xx Gold',
                          '0x801': 'Kryo 2xx Silver'}),
    '0x56': ('Marvell', {'0x131': 'Feroceon 88FR131', '0x581': 'PJ4B', '0x584': 'PJ4B-MP'}),
    '0x61': ('Apple', {'0x022': 'M1 Icestorm', '0x023': 'M1 Firestorm'}),
    '0x70': ('Phytium', {'0x660': 'FTC660', '0x661': 'FTC661', '0x662': 'FTC662', '0x663': 'FTC663'}),
    '0xc0': ('Ampere', {'0xac3': 'Ampere-1', '0xac4': 'Ampere-1a'}),
}

ANY_ARM = r'(?i)ARM(v\d|\d*)[-\w]* (compatible )?processor'
X86_NOISE = (r'(?i)\((?:R|TM|C)\)|@.*|\b\d+(?:\.\d+)? ?[GM]Hz\b|\bC?PU\b|\bprocessor\b|\b\w+-core\b'
             r'|\b\d+(?:st|nd|rd|th) Gen\b|\bwith (?:Radeon|AMD).*')


def arm_label(info: CpuInfo) -> Optional[str]:
    """`ARM Cortex-A53`; `ARM Cortex-A53 + Cortex-A72` where there are several kinds of core."""
    model = info.first.get('model name', '')
    named, kernels_own, _ = model.partition(' rev ')  # `Feroceon 88FR131 rev 1 (v5l)` is the kernel's, not a vendor's
    named = '' if re.search(ANY_ARM, model) else plain(re.sub(X86_NOISE, ' ', named.replace(',', ' ')), 60)
    if named and not kernels_own:
        return named
    cores: List[str] = []
    for implementer, part in info.parts:
        vendor, names = ARM_CORES.get(implementer.lower(), ('', {}))
        core = names.get(part.lower())
        if core is None:
            return named or None
        cores.append(core if cores else '%s %s' % (vendor, core))
    return ' + '.join(cores) or None


def mips_label(info: CpuInfo) -> Optional[str]:
    """`MIPS 24Kc`, `Broadcom BCM3302`, `Loongson-3A3000`. `R3000` is no answer: that is what
    Realtek's Lexra clones say, and no router has a real one."""
    chip = re.search(r'\(([^)]+)\)', info.first.get('model name', ''))
    if chip:
        return plain(chip.group(1), 60)
    name = re.sub(r'\s+(?:FPU )?V\d+\.\d+', '', info.first['cpu model'])
    return None if name == 'R3000' else plain(name, 60)


def ppc_label(info: CpuInfo) -> Optional[str]:
    """`PPC e500v2`, `POWER9`."""
    name = re.sub(r'\s*\((?:raw|architected)\)|,? altivec supported', '', info.first['cpu'])
    return plain(name if 'POWER' in name or 'pvr' not in info.first.get('revision', '') else 'PPC ' + name, 60)


def riscv_label(info: CpuInfo) -> Optional[str]:
    """`SiFive U74-MC` from `sifive,u74-mc`; a model name where the vendor gives one."""
    if 'model name' in info.first:
        return x86_label(info)
    vendor, _, core = info.first['uarch'].partition(',')
    vendor = {'sifive': 'SiFive', 'thead': 'T-Head'}.get(vendor, vendor.capitalize())
    return plain('%s %s' % (vendor, core.upper()), 60)


def x86_label(info: CpuInfo) -> Optional[str]:
    """`Intel Atom D525` from `Intel(R) Atom(TM) CPU D525   @ 1.80GHz`."""
    return plain(re.sub(X86_NOISE, ' ', info.first['model name']), 60) or None


CPU_LABELS: Tuple[Tuple[str, Callable[[CpuInfo], Optional[str]]], ...] = (
    ('cpu implementer', arm_label), ('cpu model', mips_label), ('cpu', ppc_label),
    ('uarch', riscv_label), ('model name', x86_label))


def cpu_label(info: CpuInfo) -> Optional[str]:
    """The processor's short name, by the key that its architecture has in /proc/cpuinfo."""
    for key, label in CPU_LABELS:
        if info.first.get(key):
            return label(info) or None
    return None


CLOCK_IN_NAME = r'(?i)(?:@\s*|\b)(\d{1,6}(?:\.\d+)?)\s?(GHz|MHz)\b'


def name_mhz(name: str) -> Optional[float]:
    """The clock that a processor's name carries: `@ 1.80GHz`, `U3500@1000MHz`."""
    match = re.search(CLOCK_IN_NAME, name)
    if not match:
        return None
    return float(match.group(1)) * (1000 if match.group(2).lower() == 'ghz' else 1)


def cpuinfo_mhz(info: CpuInfo) -> Optional[float]:
    """A clock that /proc/cpuinfo states: PPC `clock`, Loongson `cpu MHz`, patched `CPUClock`, the
    processor's name, Octeon's system type. Not `cpu MHz` of x86, which is momentary."""
    stated = [info.first.get('clock', ''), info.first.get('cpuclock', '')]
    if 'flags' not in info.first and 'vendor_id' not in info.first:
        stated.append(info.first.get('cpu mhz', ''))
    for text in stated:
        match = re.match(r'(\d{1,6}(?:\.\d+)?)(?:MHz)?\Z', text)
        if match:
            return float(match.group(1))
    octeon = re.search(r'\(CN\d+\w*(?:\.\d+)?-(\d{1,6})-', info.first.get('system type', ''))
    if octeon:
        return float(octeon.group(1))
    return name_mhz(info.first.get('model name', '')) or name_mhz(info.first.get('processor name', ''))


def log_mhz(log: str) -> Optional[float]:
    """A clock in the kernel log: `Clocks: CPU:680.000MHz` (Atheros), `tsc: Detected 2400.0 MHz`."""
    match = re.search(r'Clocks: CPU:(\d{1,6}(?:\.\d+)?)MHz|tsc: Detected (\d{1,6}\.\d+) MHz processor', log)
    return float(match.group(1) or match.group(2)) if match else None


def levels_mhz(levels: str) -> Optional[float]:
    """The nominal clock in FreeBSD's dev.cpu.0.freq_levels `2501/35000 2500/35000 …`: the highest,
    but a first level 1 above the second only stands for turbo."""
    clocks = [int(level) for level in re.findall(r'\b([0-9]{1,6})/-?\d+', levels)]
    if len(clocks) > 1 and clocks[0] == clocks[1] + 1:
        return float(clocks[1])
    return float(clocks[0]) if clocks else None


def aes_instructions(info: CpuInfo) -> Optional[str]:
    """The processor's own AES: `AES-NI`, `ARMv8 AES`, `PadLock`, `POWER`, `RISC-V Zk`; `none`; None
    where /proc/cpuinfo can't tell. The features decide, not the core's name."""
    first = info.first
    for key, flag, name in (('flags', 'aes', 'AES-NI'), ('flags', 'ace_en', 'PadLock'),
                            ('features', 'aes', 'ARMv8 AES')):
        if flag in first.get(key, '').split():
            return name
    if re.search(r'_(?:zk|zkn|zkne|zknd|zvkned|zvkn|zvknc|zvkng)(?:_|$)', first.get('isa', '')):
        return 'RISC-V Zk'
    if re.match(r'POWER(?:8|9|\d\d)', first.get('cpu', '')):
        return 'POWER'
    if 'Octeon' in first.get('cpu model', ''):
        return None
    arm = 'cpu implementer' in first and 'features' in first
    settled = arm or any(first.get(key) for key in ('flags', 'cpu model', 'hart'))
    return 'none' if settled or 'pvr' in first.get('revision', '') else None


UNFILLED = (r'(?i)\b(?:default[ _]string|to be filled(?: by)?|o\.?e\.?m\b\.?|not (?:specified|applicable|available)|unknown?'
            r'|none|null|n/?a|invalid|type[12]\w*(?: - board)?|(?:base |system )?(?:board )?product name\w*|sku number'
            r'|(?:system|product) (?:manufacturer|name|version)|all series|super server|empty|undefined|bochs|x+)\b')
NO_DEVICE = r'(?i).*\bgeneric\b|standard pc|.*\bdt based system|.*device tree\)?$|(?-i:[a-z0-9]+,\S*$)'
REFERENCE_BOARD = (r'(?i)reference|evaluation|development board|\b(?:\w*RDB|\w*RFB|DB\d{2,3}|AP\d{2,3}|EVB|EVM)\b|prototype'
                   r'|^Qualcomm Technologies, Inc\. (?:IPQ|QCA|QCN|APQ)')
PRIVATE = r'(?i)\b\d{1,3}(?:\.\d{1,3}){3}\b|\b[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}\b|='
COMPANY_TAIL = r'(?i),? (?:inc|corp(?:oration)?|co|ltd|llc|gmbh|b\.v|s\.a|ag|limited)\.?(?=,| |$)'


def device_name(text: str) -> Optional[str]:
    """The name of a device as it may stand in a table, or None for what firmware, device trees and
    kernels say where nobody filled one in, for reference boards, bare numbers, and fields that hold
    an address or a setting."""
    name = plain(text)
    if not re.search('[A-Za-z]', re.sub(UNFILLED, '', name)):
        return None
    if re.match(NO_DEVICE, name) or re.search(REFERENCE_BOARD, name) or re.search(PRIVATE, name):
        return None
    return re.sub(r'(?<=\w),(?=\w)', ' ', name)  # `IBM,8233-E8B`


def maker_product(maker: str, product: str, version: str = '') -> Optional[str]:
    """`Netgate 6100` from the firmware's tables: maker and product, and the version where the
    product alone is too short to name anything (`Sophos XG 330r2`)."""
    product = plain(product)
    named = device_name(product)
    if named is None and not (re.match(r'[1-9]\d{3}\Z', product) and device_name(maker)):
        return None
    full = '%s %s' % (product, plain(version)) if len(product) < 3 and device_name(version) else product
    company = device_name(re.sub(COMPANY_TAIL, '', plain(maker)))
    if company and not full.lower().startswith(company.lower().split()[0]):
        return '%s %s' % (company, full)
    return full


HYPERVISORS = (('qemu', 'qemu'), ('bochs', 'qemu'), ('kvm', 'kvm'), ('vmware', 'vmware'),
               ('virtualbox', 'virtualbox'), ('innotek', 'virtualbox'), ('xen', 'xen'), ('bhyve', 'bhyve'),
               ('virtual machine', 'hyper-v'), ('parallels', 'parallels'), ('dummy-virt', 'qemu'))


def hypervisor(*texts: str) -> Optional[str]:
    """The hypervisor or emulator that firmware texts give away."""
    joined = ' '.join(texts).lower()
    return next((name for mark, name in HYPERVISORS if re.search(r'(?<![a-z])' + mark, joined)), None)


def parse_cpu_list(text: str) -> Optional[int]:
    """How many processors `0-3,5` names."""
    ranges = re.findall(r'\b([0-9]{1,5})(?:-([0-9]{1,5}))?\b', text)
    return sum(max(int(last or first) - int(first) + 1, 0) for first, last in ranges) or None


def parse_meminfo(text: str) -> Dict[str, int]:
    """/proc/meminfo in kB."""
    return {key: int(value) for key, value in re.findall(r'^(\w+):[ \t]+([0-9]{1,15})\b', text, re.M)}


def available_kb(memory: Dict[str, int]) -> Optional[int]:
    """Memory that a program can still get; kernels before 3.14 have no MemAvailable."""
    if 'MemAvailable' in memory:
        return memory['MemAvailable']
    parts = [memory[key] for key in ('MemFree', 'Buffers', 'Cached') if key in memory]
    return sum(parts) if parts else None


def parse_ticks(text: str, hertz: float) -> Optional[Ticks]:
    """The `cpu` lines of /proc/stat, of all processors and of each: user nice system idle iowait irq
    softirq steal; guest time is in user already. Waiting for a disk is idle."""
    known = {}
    for name, counts in re.findall(r'^cpu(\d{0,5})[ \t]+([0-9]{1,20}(?: [0-9]{1,20}){3,})[ \t]*$', text, re.M):
        numbers = [int(word) for word in counts.split()[:8]]
        idle = sum(numbers[3:5])
        known[name] = (sum(numbers) - idle) / hertz, idle / hertz
    return Ticks(*known.pop(''), tuple(busy for busy, _ in known.values())) if '' in known else None


def elf_byte_order(header: bytes) -> Optional[str]:
    """`big` or `little`, from the first bytes of any program of the machine."""
    if header[:4] != b'\x7fELF' or len(header) < 6:
        return None
    return {1: 'little', 2: 'big'}.get(header[5])


CRYPTO_UNITS: Tuple[Tuple[str, str, str], ...] = (
    # pattern in the driver's or the module's name, kind, what does the work; engines first, because their
    # names hold those of the algorithms; from the names in Linux drivers/crypto, arch/*/crypto, lib/crypto
    (r'^mv-|cesa', 'engine', 'CESA'), (r'safexcel', 'engine', 'SafeXcel'), (r'eip93', 'engine', 'EIP93'), (r'qce\b', 'engine', 'QCE'),
    (r'\bcaam|-caam', 'engine', 'CAAM'), (r'talitos', 'engine', 'talitos'), (r'ixp4xx', 'engine', 'IXP4xx'), (r'\bccp\b|-ccp$', 'engine', 'CCP'),
    (r'\bqat|qat_', 'engine', 'QAT'), (r'^ss-|sun[48]i', 'engine', 'Allwinner CE'), (r'crypto4xx|ppc4xx', 'engine', 'PPC4xx'), (r'geode', 'engine', 'Geode'),
    (r'hifn', 'engine', 'HIFN'), (r'omap', 'engine', 'OMAP'), (r'^rk-|rk3288|-rk$', 'engine', 'Rockchip'), (r'sl3516', 'engine', 'SL3516'), (r'atmel', 'engine', 'Atmel'), (r'stm32', 'engine', 'STM32'),
    (r'ltq|deu', 'engine', 'Lantiq DEU'), (r'iproc|-bcm', 'engine', 'Broadcom SPU'), (r'virtio', 'engine', 'virtio'), (r'-nx$', 'engine', 'POWER NX'),
    (r'mtk|mt76', 'engine', 'MediaTek'), (r'ccree', 'engine', 'CryptoCell'), (r'n2$|-n2', 'engine', 'SPARC N2'),
    (r'padlock', 'instructions', 'PadLock'), (r'aesni|vaes|aes-ni', 'instructions', 'AES-NI'), (r'octeon', 'instructions', 'Octeon'),
    (r'-spe\b|_spe\b|ppc-spe', 'instructions', 'SPE'), (r'(^|-|_)ce\b', 'instructions', 'ARM CE'), (r'neon', 'instructions', 'NEON'), (r'p8_|p10|vmx|vsx', 'instructions', 'POWER'),
    (r'-ni$|pclmul|clmul', 'instructions', 'x86'), (r'avx|sse|simd', 'instructions', 'x86 SIMD'), (r's390', 'instructions', 'CPACF'), (r'riscv64|-zv', 'instructions', 'RISC-V'),
    (r'-asm\b|-arm\b|-arm64\b|-ppc\b|-mips\b|-x86_64|-i586|-sparc64', 'instructions', 'assembler'),
    (r'generic|fixed-time', 'generic', 'C'), (r'-lib$', 'library', 'kernel library'),
)


def driver_kind(driver: str, module: str) -> Tuple[Optional[str], Optional[str]]:
    """What does the work of a kernel driver: its kind (`generic` C, the processor's `instructions`, an `engine`, or
    `mixed` for templates over several) and its name; None where the name does not tell."""
    found: List[Tuple[str, str]] = []
    for leaf in [part for part in re.split(r'[(),]', driver) if part]:
        unit = next(((kind, name) for pattern, kind, name in CRYPTO_UNITS if re.search(pattern, leaf)), None)
        found += [unit] if unit else []
    found = found or [(kind, name) for pattern, kind, name in CRYPTO_UNITS if re.search(pattern, module)][:1]
    kinds = {kind for kind, _ in found}
    if len(kinds) > 1:
        return 'mixed', ' + '.join(dict.fromkeys(name for _, name in found))
    return found[0] if found else (None, None)


def parse_crypto(text: str) -> List[Driver]:
    """/proc/crypto, with or without blank lines between the entries, also as `grep` leaves it: an entry
    begins with its name."""
    entries: List[Dict[str, str]] = []
    for line in text.splitlines():
        key, colon, value = line.partition(':')
        key, value = ' '.join(key.split()), plain(value)
        if not colon:
            continue
        if key == 'name':
            entries.append({})
        if entries:
            entries[-1].setdefault(key, value)
    return [Driver(entry['name'], driver, module, whole_number(entry.get('priority', '')), entry.get('selftest'),
                   entry.get('internal') == 'yes' or driver.startswith('__'), *driver_kind(driver, module or ''))
            for entry in entries for driver, module in ((entry.get('driver', entry['name'] + '-generic'), entry.get('module')),)]


def usable(driver: Driver) -> bool:
    """Whether the kernel may give it to somebody: not a part of another, and not untested."""
    return not driver.internal and driver.selftest in (None, 'passed')


def picked(drivers: Sequence[Driver], name: str) -> Optional[Driver]:
    """The driver that the kernel picks for an algorithm: of the usable ones that with the highest priority, the
    first in the list among equals. An engine of priority 0 is demoted: the kernel's library goes before it, listed or not."""
    usable_ones = [driver for driver in drivers if driver.name == name and usable(driver) and (driver.priority or driver.kind != 'engine')]
    return max(usable_ones, key=lambda driver: driver.priority) if usable_ones else None


BSD_UNITS: Dict[str, Tuple[str, str]] = {
    # FreeBSD's drivers in man 4: device, kind, what does the work
    'aesni': ('instructions', 'AES-NI'), 'armv8crypto': ('instructions', 'ARM CE'), 'padlock': ('instructions', 'PadLock'),
    'ossl': ('instructions', 'OpenSSL assembler'), 'qat': ('engine', 'QAT'), 'ccp': ('engine', 'CCP'), 'cesa': ('engine', 'CESA'), 'safexcel': ('engine', 'SafeXcel'),
    'hifn': ('engine', 'HIFN'), 'glxsb': ('engine', 'Geode'), 'sec': ('engine', 'talitos'), 'cryptosoft': ('generic', 'C')}
BSD_ALGORITHMS = {'AES-CBC': 'cbc(aes)', 'AES-ICM': 'ctr(aes)', 'AES-GCM': 'gcm(aes)', 'AES-XTS': 'xts(aes)', 'SHA1': 'sha1', 'SHA256': 'sha256'}
BSD_USUAL = {'aesni': ['cbc(aes)', 'ctr(aes)', 'gcm(aes)', 'xts(aes)'], 'glxsb': ['cbc(aes)'], 'padlock': ['cbc(aes)'], 'armv8crypto': ['cbc(aes)', 'gcm(aes)', 'xts(aes)']}
BSD_PRIORITY = {'engine': 300, 'instructions': 200, 'generic': 100}  # the kernel's order: hardware, accelerated software, cryptosoft


def parse_attached(boot: str, modules: str) -> List[Driver]:
    """FreeBSD's crypto drivers, from the boot messages and `kldstat`. A driver that found nothing to drive says so in
    a line that looks like the others. One that names no algorithms is taken to have its usual ones."""
    found: Dict[str, Sequence[str]] = {}
    for name, words in re.findall(r'^(%s)\d+: (?:<([^>]*)>.*|(?!No |CPU lacks ).*)$' % '|'.join(BSD_UNITS), boot, re.M):
        named = [BSD_ALGORITHMS[word] for word in re.split('[, ]+', words) if word in BSD_ALGORITHMS]
        found[name] = named or BSD_USUAL.get(name, list(BSD_ALGORITHMS.values()))
    for name in re.findall(r'\b(%s)(?:_hw)?\.ko$' % '|'.join(BSD_UNITS), modules, re.M):
        if not re.search(r'^%s\d+: (?:No |CPU lacks )' % name, boot, re.M):
            found.setdefault(name, BSD_USUAL.get(name, list(BSD_ALGORITHMS.values())))
    return [Driver(algorithm, name + '0', name, BSD_PRIORITY[BSD_UNITS[name][0]], None, False, *BSD_UNITS[name])
            for name, algorithms in found.items() for algorithm in algorithms]


def parse_engines(text: str) -> List[str]:
    """The engines of `openssl engine -t -c` that are available, but for those that are always there: `(name) title`, perhaps
    a list of what it can, `[ available ]`."""
    found = re.findall(r'^\((\w+)\) .*\n((?:[ \t\[].*\n?)*(?:.*\]\n)?(?:[ \t].*\n?)*)', text, re.M)
    return [name for name, rest in found if '[ available ]' in rest and name not in ('dynamic', 'rdrand')]


def parse_providers(text: str) -> List[str]:
    """The active providers of `openssl list -providers`."""
    return re.findall(r'^  (\w[\w.-]*)\n(?:    .*\n)*?    status: active', text + '\n', re.M)


def parse_speed(text: str) -> Dict[int, Tuple[int, float]]:
    """`openssl speed -mr`: by the size of a block how many were done and in what time, `+DT:name:seconds:size` before
    `+R:count:name:seconds`."""
    pairs = re.findall(r'^\+DT:[^:\n]*:\d+:(\d{1,9})\n(?:(?!\+).*\n)*?\+R:(\d{1,12}):[^:\n]*:(\d{1,6}(?:\.\d+)?)', text.replace('\r', ''), re.M)
    return {int(size): (int(count), float(seconds)) for size, count, seconds in pairs if float(seconds) > 0 and int(count)}


def parse_speed_table(text: str) -> Dict[str, Dict[int, float]]:
    """The table that `openssl speed` prints for people, in 1000s of bytes a second: Mbit/s by name and size of a block."""
    found: Dict[str, Dict[int, float]] = {}
    sizes: List[int] = []
    for line in text.splitlines():
        if re.match(r'type\s+\d', line):
            sizes = [int(size) for size in re.findall(r'(\d{1,9}) bytes', line)]
            continue
        row = re.match(r'(\S.*?)((?:\s+\d{1,12}\.\d+k)+)\s*$', line)
        rates = re.findall(r'(\d+\.\d+)k', row.group(2)) if row else []
        if row and sizes and len(rates) == len(sizes):
            found[row.group(1).strip().lower()] = {size: 8e-3 * float(rate) for size, rate in zip(sizes, rates)}
    return found


IPERF_ROW = r'^\[ *(?:SUM|\d+)\](?:\[[A-Z-]+\])?\s+(\d+\.\d+)-(\d+\.\d+)\s+sec\s+\S+ \S+\s+(\S+ \S+)(.*?)\b(sender|receiver)\s*$'


def parse_iperf(text: str) -> List[Iperf]:
    """The tests in what iperf3 printed, as text or as JSON, several one after the other. Raises Unmeasurable for one that
    ended with an error."""
    if re.search(r'^\s*\{', text, re.M):
        return parse_iperf_json(text)
    text = re.sub('<[^<>]{1,200}>', '\n', text) if '<div' in text else text  # a mail
    text = text.replace('\xa0', ' ').replace('\r', '')
    tests, begin = [], 0
    summary_and_cpu = r'(?:%s\n*)+(?:^CPU Utilization:[^\n]*)?' % re.sub(r'\((?!\?)', '(?:', IPERF_ROW)
    for match in re.finditer(summary_and_cpu, text, re.M):
        test = iperf_text(text[begin:match.end()])
        tests += [test] if test else []
        begin = match.end()
    return tests


def iperf_text(text: str) -> Optional[Iperf]:
    """One test, by its summary: the sum of several streams, what the receiver got rather than what was sent."""
    rows = re.findall(IPERF_ROW, text, re.M)
    sums = [row for row in re.finditer(IPERF_ROW, text, re.M) if '[SUM]' in row.group()]
    chosen = [row.groups() for row in sums] or rows
    chosen = [row for row in chosen if row[4] == 'receiver'] or chosen
    if not chosen:
        return None
    begin, end, rate, _between, _who = chosen[-1]
    shares = re.search(r'^CPU Utilization: local/\w+ (\d+\.\d+)%.*?remote/\w+ (\d+\.\d+)%', text, re.M)
    again = [row[3].split()[0] for row in rows if row[4] == 'sender' and re.match(r'\s+\d+\s+$', row[3])]
    version = re.search(r'^iperf (\d+\.\d+\S*)', text, re.M)
    protocol = re.search(r'^Starting Test: protocol: (\w+)', text, re.M)
    local, remote = (float(share) / 100 for share in shares.groups()) if shares else (None, None)
    return Iperf(parse_rate(rate), float(end) - float(begin), local, remote,
                 retransmits=int(again[-1]) if again else None, protocol=protocol.group(1) if protocol else None, version='iperf ' + version.group(1) if version else None)


IPERF_REFUSALS = (
    ('server-busy', r'busy running a test'), ('connection-refused', r'onnection refused'),
    ('host-unknown', r'ame or service not known|ame does not resolve|name resolution|nodename nor servname|o address associated'),
    ('no-answer', r'o route to host|nreachable|timed out|in progress'),
    ('connection-lost', r'control (?:socket|message)|roken pipe|reset by peer|unexpectedly|has terminated'))


def iperf_refusal(text: str) -> str:
    """The reason code for what iperf3 says went wrong."""
    return next((reason for reason, pattern in IPERF_REFUSALS if re.search(pattern, text)), 'tool-failed')


def parse_iperf_json(text: str) -> List[Iperf]:
    """The objects in iperf3's JSON, which some versions print twice, with text around them, and with `-nan` in them."""
    import json
    repaired = re.sub(r'(?<=[:\[,])\s*-?(?:nan|inf|infinity)(?=\s*[,}\]])', ' null', text, flags=re.I)
    tests: List[Iperf] = []
    at = repaired.find('{')
    while at >= 0:
        try:
            found, end = json.JSONDecoder().raw_decode(repaired, at)
        except (ValueError, RecursionError):
            raise Unmeasurable('output-unknown', 'iperf3\'s JSON is torn') from None
        test = iperf_object(found)
        if test not in tests:
            tests.append(test)
        at = repaired.find('{', end)
    return tests


def iperf_object(found: Dict[str, Any]) -> Iperf:
    """One object. UDP of older versions only has what was sent and how much of it was lost."""
    def at(*keys: str) -> Any:
        value: Any = found
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value
    if at('error') or not isinstance(at('end'), dict):
        said = str(at('error') or 'no result')
        raise Unmeasurable(iperf_refusal(said), 'iperf3: %s' % plain(without_addresses(said)))
    total = at('end', 'sum_received') or at('end', 'sum') or {}
    rate, seconds, lost = (total.get(key) for key in ('bits_per_second', 'seconds', 'lost_percent'))
    if not at('end', 'sum_received') and at('end', 'sum'):
        rate = rate * (1 - lost / 100) if isinstance(rate, (int, float)) and isinstance(lost, (int, float)) else None
    if not isinstance(rate, (int, float)) or not isinstance(seconds, (int, float)) or rate <= 0 or seconds <= 0:
        raise Unmeasurable('incomplete', 'iperf3 says that nothing arrived')
    local, remote = (value / 100 if isinstance(value, (int, float)) else None
                     for value in (at('end', 'cpu_utilization_percent', end + '_total') for end in ('host', 'remote')))
    again, version = at('end', 'sum_sent', 'retransmits'), at('start', 'version')
    connected = at('start', 'connected')
    ends = connected[0] if isinstance(connected, list) and connected and isinstance(connected[0], dict) else {}
    near, far = (plain(address, 60) if isinstance(address, str) else None for address in (ends.get('local_host'), ends.get('remote_host')))
    return Iperf(rate / 1e6, float(seconds), local, remote, retransmits=again if isinstance(again, int) else None,
                 protocol=plain(str(at('start', 'test_start', 'protocol') or ''), 10) or None, version=plain(version, 40) if isinstance(version, str) else None,
                 local=near, remote=far)


def parse_xfrm(text: str) -> Optional[int]:
    """Bytes that all of the kernel's IPsec states have carried, from `ip -s xfrm state`; None if there is no state."""
    counts = re.findall(r'^\s*(\d{1,18})\(bytes\), \d+\(packets\)', text, re.M)
    return sum(map(int, counts)) if counts else None


def process_time(stat_line: str, hertz: float) -> Optional[float]:
    """Seconds of processor time of a process, from /proc/PID/stat; its name may hold blanks and brackets."""
    fields = stat_line.rpartition(')')[2].split()
    return (whole_number(fields[11]) + whole_number(fields[12])) / hertz if len(fields) > 12 else None


def compresses(config: str) -> bool:
    """Whether a configuration of OpenVPN makes it compress."""
    for line in re.sub(r'[#;].*', '', config).splitlines():
        words = re.sub(r'["\']', ' ', line).split()
        words = words[:1] and [words[0].lstrip('-'), *words[1:]]  # as it is on a command line
        while words[:1] == ['push'] or words[:2] == ['setenv', 'opt']:
            words = words[2 if words[0] == 'setenv' else 1:]
        option, argument = (words + ['', ''])[:2]
        if option == 'comp-lzo' and argument != 'no' or option == 'compress' and argument not in ('', 'stub', 'stub-v2', 'migrate'):
            return True
    return False


def parse_net_dev(text: str) -> Dict[str, Tuple[int, int]]:
    """/proc/net/dev: bytes in and out by interface. Old kernels leave no blank after the colon."""
    found = {}
    for line in text.splitlines():
        name, colon, numbers = line.rpartition(':')
        values = numbers.split()
        if colon and len(values) >= 16 and all(value.isdigit() for value in values):
            found[name.strip()] = int(values[0]), int(values[8])
    return found


def parse_netstat(text: str) -> Dict[str, Tuple[int, int, int]]:
    """`netstat -ibn` of FreeBSD: bytes in and out, and the number, by interface. Columns differ between releases and may be empty,
    so they are counted from the right."""
    found = {}
    head: List[str] = []
    for line in text.splitlines():
        words = line.split()
        if words and words[0] == 'Name':
            head = words
        link = re.search(r'<Link#(\d+)>', line)
        if link and 'Ibytes' in head and 'Obytes' in head and len(words) > 6:
            rx, tx = (words[head.index(name) - len(head)] for name in ('Ibytes', 'Obytes'))
            if rx.isdigit() and tx.isdigit():
                found[words[0].rstrip('*')] = int(rx), int(tx), int(link.group(1))
    return found


def memory_disks(mounts: str) -> List[str]:
    """The mount points that are in memory, from /proc/mounts or what `mount` prints on Linux or FreeBSD."""
    linux = re.findall(r'^\S+ (?:on )?(/\S*) (?:type )?(?:tmpfs|ramfs) ', mounts, re.M)
    bsd = re.findall(r'^(?:/dev/md\d+\S*|tmpfs) on (/\S*) \(', mounts, re.M)
    return linux + bsd


ARCH_BY_ORDER = {('mips', 'little'): 'mipsel', ('mips64', 'little'): 'mips64el',
                 ('aarch64', 'big'): 'aarch64_be', ('ppc64', 'little'): 'ppc64le'}


def full_arch(machine: str, order: Optional[str]) -> str:
    """`uname -m` with the byte order where it leaves that open: `mips` is both kinds."""
    return ARCH_BY_ORDER.get((machine, order or ''), machine)


def arch_byte_order(arch: str) -> Optional[str]:
    """The byte order that an architecture's name settles."""
    if re.match(r'(mips(64)?el|ppc64le|powerpc64le|x86_64|amd64|i\d86|arm(v\d\w*(?<!b))?$|aarch64$|arm64|riscv|loongarch)', arch):
        return 'little'
    return 'big' if re.match(r'(ppc|powerpc|s390|sparc|aarch64_be|armeb|armv\d\w*b$|mips(64)?$)', arch) else None


def parse_openvpn_version(text: str) -> Optional[Build]:
    """`openvpn --version`, whose first line may carry a git mark between version and platform, and
    whose `library versions:` line knows better than `[SSL (OpenSSL)]` (wolfSSL builds say that too)."""
    title = re.search(r'^(?:[-\d]+ [:\d]+ )?(OpenVPN \d\S*)(.*)$', text, re.M)
    if not title:
        return None
    library = re.search(r'library versions: ([^,\n]+)', text)
    named = re.sub(r'\s+\d{1,2} \w{3} \d{4}.*', '', library.group(1)) if library else ''
    if not named:
        flavour = re.search(r'\[SSL \(([^)]+)\)\]', title.group(2))
        named = flavour.group(1) if flavour else ''
    return Build(plain(title.group(1), 40), plain(named, 40) or None, '[DCO]' in title.group(2))


def last_packet_length(text: str) -> Optional[int]:
    """The N of the last `TESTING ENCRYPT/DECRYPT of packet length=N` that openvpn logged."""
    found = re.findall(r'ENCRYPT/DECRYPT of packet length=([0-9]{1,9})\b', text)
    return int(found[-1]) if found else None


NEEDS_KEY = 'You must define key file'
OPENVPN_REFUSALS: Tuple[Tuple[str, str], ...] = (
    # what openvpn 2.3 to 2.7 print with OpenSSL and mbed TLS, and what it means
    (r"Cipher '?[\w-]+'? mode not supported", 'mode-unsupported'),
    (r"Cipher (?:algorithm )?'?[\w-]+'? not (?:supported|found)", 'cipher-unsupported'),
    (r"Message hash algorithm '[^']*' not found", 'auth-unsupported'),
    (r'cannot load engine|engine functionality is not available|: engine \(', 'engine-unavailable'),
    (r'TUN MTU value .* must be|tun-mtu: Must be an integer', 'bad-mtu'),
    (r'No space left on device|Temporary directory .* fails', 'no-space'),
)


def openvpn_refusal(text: str) -> Optional[str]:
    """The reason code for what openvpn says it will not do; None if it says nothing of the kind.
    Deprecation notes are no refusal."""
    return next((reason for pattern, reason in OPENVPN_REFUSALS if re.search(pattern, text)), None)


def negotiated(log: str, direction: str = 'server->client') -> Optional[Negotiated]:
    """What `ssh -v` says was agreed on for a direction. The first such line is ssh's own: what a
    server lets it print comes later."""
    kex = re.search(r'^debug1: kex: %s cipher: (\S+) MAC: (\S+) compression: (\S+)' % direction, log, re.M)
    if not kex:
        return None
    server = re.search(r'^debug1: Remote protocol version \S+, remote software version (\S+)', log, re.M)
    mac = None if kex.group(2) == '<implicit>' else plain(kex.group(2), 40)
    return Negotiated(plain(kex.group(1), 40), mac, plain(kex.group(3), 40), plain(server.group(1), 40) if server else None)


def without_debug(text: str) -> str:
    """stderr of `ssh -v` without ssh's own log."""
    return re.sub(r'(?m)^(?:debug\d: .*|OpenSSH_[^\n,]*, .*|Authenticated to .*|Transferred: sent .*|Bytes per second: .*)\n?', '', text.replace('\r', ''))


def ssh_offer(text: str) -> Tuple[str, ...]:
    """The list in `Unable to negotiate with …: no matching … found. Their offer: a,b,c`."""
    offer = re.search(r'no matching [\w ]+ found\. Their offer: ([\w@.,+-]+)', text)
    return tuple(plain(name, 60) for name in offer.group(1).split(',')) if offer else ()


SSH_REFUSALS: Tuple[Tuple[str, str], ...] = (
    # what OpenSSH's ssh and dropbear's dbclient print, and what it means; causes before consequences
    (r'REMOTE HOST IDENTIFICATION HAS CHANGED|[Hh]ost key mismatch|Remote host key has changed', 'hostkey-changed'),
    (r'no matching host key type', 'hostkey-algorithm'),
    (r'no matching key exchange method|No matching algo kex', 'kex-algorithm'),
    (r'no matching MAC', 'mac-algorithm'),
    (r"no matching cipher|No matching algo enc|Unknown cipher type|does not support '[^']*' cipher|No valid ciphers", 'cipher-unavailable'),
    (r'No matching algo hostkey', 'hostkey-algorithm'),
    (r'String too long|[Bb]ad key file|Load key .*(?:invalid format|error in libcrypto)|Failed loading keyfile', 'key-format'),
    (r"Host key verification failed|Didn't validate host key|not in the trusted hosts file|host key is known for", 'hostkey-unknown'),
    (r"Permission denied|No auth methods could be used|Too many authentication failures|[Pp]assword: ?$|[Pp]assphrase", 'auth-required'),
    (r'Could not resolve|not known|Error resolving|Temporary failure in name', 'host-unknown'),
    (r'Connection refused', 'connection-refused'),
    (r'timed out|No route to host|unreachable|did not properly respond|[Tt]imeout, server|banner exchange', 'no-answer'),
    (r'Connection (?:\S+ )*(?:closed|reset)|closed the connection|client_loop|Broken pipe|Connection to .* closed', 'connection-lost'),
)


def ssh_refusal(text: str) -> Optional[str]:
    """The reason code for what an ssh client says went wrong; None if it says nothing of the kind."""
    return next((reason for pattern, reason in SSH_REFUSALS if re.search(pattern, text, re.M)), None)


def ssh_words_heard(text: str, reason: str) -> str:
    """The words of the client that told so: from its vocabulary, and so without names and addresses."""
    found = [match.group() for pattern, code in SSH_REFUSALS if code == reason for match in re.finditer(pattern, text, re.M)]
    return found[0] if found else 'it said nothing'


def without_paths(text: str) -> str:
    """Text with the files that it names by their last part, but for those that every system has."""
    return re.sub(r"(?<![\w/.])/(?!usr/|lib/|etc/|dev/|proc/)(?:[^\s':,;/]+/)*([^\s':,;/]+)", r'.../\1', text)


def without_addresses(text: str) -> str:
    """Text without what says who or where a machine is: user@host, addresses, names of hosts with a domain."""
    address = r'\[?(?:(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}|(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4})*)?::[0-9a-f:.]*)(?:%[\w-]+)?\]?|\d{1,3}(?:\.\d{1,3}){3}'
    domain = r'(?<![\w.@-])(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,24}\b'
    return re.sub(r'(?i)[\w.+-]+@(?!openssh\.com|libssh)[\w.-]+|(?:[\w.-]+@)?(?:%s)|%s|(?<=host )[\w.-]+(?= port)' % (address, domain), 'it', text)


LOG_STAMP = r'^(?:[-\d]{10} [:\d]{8}|\w{3} \w{3} [ \d]\d [:\d]{8} \d{4}) '


def telling_line(text: str) -> str:
    """The line of a failed tool's output that says most: the last that is no advice or farewell."""
    lines = [line for line in (plain(re.sub(LOG_STAMP, '', line), 160) for line in text.splitlines()) if line]
    news = [line for line in lines if not re.match(r'Use --help|Exiting due to|Options error: Please correct', line)]
    telling = [line for line in news if not re.match(r'DEPRECAT|(?:\*+ )?WARNING|Note:', line)]
    return (telling or news or lines or ['it said nothing'])[-1]


# --- host ---------------------------------------------------------------------------------------
# The only door to a machine. Nothing below opens a path, starts a program, looks at a clock or
# sleeps in any other way, so every test works on whatever stands behind this door.

SYSTEM_PATH = ('/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin',
               '/opt/sbin', '/opt/bin')  # cron's PATH is shorter than a login's
KEPT_HEAD, KEPT_TAIL = 1 << 16, 1 << 13  # bytes of a tool's output that are kept
LONGEST_LINE = 1 << 18  # bytes of a line in a file; real ones are under 20 kB
CHUNK = 1 << 18  # bytes taken from a stream at once
BULK, BULK_PAUSE = 1 << 14, 0.0015  # a stream that brings so much is let fill its pipe, so that reading it costs next to nothing
SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ of Linux
INBOX_BYTES = 1 << 20
FIRST_TICK, TICK_SECONDS = 0.1, 1.0
STDOUT, STDERR = 1, 2
Tick = Callable[[float], None]


def no_tick(_elapsed: float) -> None:
    """The tick of a command that nobody watches."""


class Host:
    """A machine: its files below one root, its commands, its clocks, and one private directory.
    Whatever asks a machine that is out of reach raises Unmeasurable."""

    timer = 'monotonic'  # what Ran.seconds are measured with; see EXTRA
    sense_seconds = 0.0  # between two looks at the sensors: each costs a far machine a little
    cpu_resolution = 0.0  # of the processor time of a command

    def survey(self, wanted: Survey) -> None:
        """What will be asked next; a machine far away sends it in one go, and after that answers these
        questions as of then. Only look() and what is not in the survey are asked anew."""

    def calibrate(self) -> None:
        """Get ready for timing: learn what the way to the machine costs."""

    def read_bytes(self, path: str, limit: int = 1 << 18) -> bytes:
        """Up to `limit` bytes of a file. Raises Absent."""
        raise NotImplementedError

    def names(self, path: str) -> List[str]:
        """The names in a directory, sorted; [] if it is not there."""
        raise NotImplementedError

    def find(self, command: str) -> Optional[str]:
        """Where a command lies: the path that would be started, or None."""
        raise NotImplementedError

    def uname(self) -> Tuple[str, str, str]:
        """System, kernel release and machine, as `uname -srm` prints them."""
        raise NotImplementedError

    def run_all(self, commands: Sequence[Sequence[str]], limit: float, tick: Tick = no_tick) -> List[Ran]:
        """Start the commands together, wait until all have ended; after `limit` s they are killed.
        `tick` is called soon after the start and then about once a second, with the seconds so far."""
        raise NotImplementedError

    def now(self) -> float:
        """Seconds since 1970 by the machine's own, possibly wrong, clock."""
        raise NotImplementedError

    def used(self) -> float:
        """Seconds of processor time that this program itself has taken on that machine."""
        raise NotImplementedError

    def clock(self) -> float:
        """Seconds on a clock that nobody sets."""
        raise NotImplementedError

    def sleep(self, seconds: float) -> None:
        """Wait. Raises Interrupted."""
        raise NotImplementedError

    def private_path(self, name: str) -> str:
        """The path for a file in a directory that only this run can read. Raises NoSpace."""
        raise NotImplementedError

    def close(self) -> None:
        """Remove the private directory."""
        raise NotImplementedError

    def text(self, path: str) -> str:
        """A file as text without a trailing NUL or newline; '' if it is not there."""
        try:
            return self.read_bytes(path).decode('utf-8', 'replace').rstrip('\0\n')
        except Absent:
            return ''

    def kernel_cipher(self, kind: str, name: str, key: bytes, tag: int) -> 'KernelCipher':
        """The kernel's crypto by the name of an algorithm or a driver. Raises Unmeasurable."""
        raise Unmeasurable('needs-python', 'the kernel\'s crypto is reached through a socket of Python\'s, so routerbench has to run on the router itself: '
                           'copy it there', 'skipped')

    def look(self, *paths: str) -> List[str]:
        """The first lines that files which change have now, '' for one that is not there."""
        return [self.text(path).partition('\n')[0] for path in paths]

    def run(self, *argv: str, limit: float = 20.0, tick: Tick = no_tick) -> Ran:
        """Run one command."""
        return self.run_all([argv], limit, tick)[0]

    def output(self, *argv: str) -> str:
        """stdout of a command; '' if it is not there or fails."""
        ran = self.run(*argv) if self.find(argv[0]) else None
        return ran.out if ran and ran.status == 0 else ''


ZEROS = bytes(CHUNK)


class Kept:
    """The first and the last of a stream, so that memory stays bounded whatever a tool prints."""

    def __init__(self) -> None:
        self.head = b''
        self.tail = b''
        self.zeros = 0

    def add(self, chunk: bytes) -> None:
        """Take the next piece."""
        room = max(KEPT_HEAD - len(self.head), 0)
        rest = chunk[room:]
        self.zeros += len(chunk) if chunk == ZEROS[:len(chunk)] else chunk.count(0)
        self.head += chunk[:room]
        self.tail = (self.tail + rest if len(rest) < KEPT_TAIL else rest)[-KEPT_TAIL:]

    def text(self) -> str:
        """What was kept, undecodable bytes replaced."""
        return (self.head + self.tail).decode('utf-8', 'replace')


def widen(pipe: int) -> None:
    """Let a pipe hold as much as is taken from it at once, where the system can: whoever fills it is stopped less often."""
    from fcntl import fcntl
    try:
        fcntl(pipe, SET_PIPE_SIZE, CHUNK)
    except OSError:
        pass


class Inbox(Kept):
    """A stream that somebody reads as it comes. What nobody has taken is bounded as well."""

    def __init__(self) -> None:
        super().__init__()
        self.data = b''

    def add(self, chunk: bytes) -> None:
        """Take the next piece."""
        self.data += chunk
        if len(self.data) > INBOX_BYTES:
            self.data = self.data[:KEPT_HEAD] + self.data[-KEPT_HEAD:]

    def text(self) -> str:
        """What nobody has taken."""
        return self.data.decode('utf-8', 'replace')


class Job:
    """One process of LocalHost in a process group of its own, from its start to its Ran. A
    conversation (`talk`) has a stdin, and streams that are read as they come."""

    def __init__(self, argv: Sequence[str], program: Optional[str], environment: Dict[str, str],
                 clock: Callable[[], float], talk: bool = False) -> None:
        import subprocess
        self.argv, self.clock = tuple(argv), clock
        self.kept: Dict[int, Kept] = {}
        self.usage: Any = None
        self.gone = self.timed_out = False
        self.status = 0
        self.first: Optional[float] = None
        self.open: Set[int] = set()
        self.started = self.ended = self.heard = clock()
        try:
            self.process = subprocess.Popen(argv, executable=program, env=environment, stdin=subprocess.PIPE if talk else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        except OSError as error:
            self.status = 127 if error.errno == errno.ENOENT else 126
            self.error = plain('%s: %s' % (argv[0], error.strerror))
            return
        self.error = ''
        assert self.process.stdout and self.process.stderr
        self.streams = (self.process.stdout.fileno(), self.process.stderr.fileno())
        widen(self.streams[0])
        self.kept = {stream: Inbox() if talk else Kept() for stream in self.streams}
        self.open = set(self.streams)

    def alive(self) -> bool:
        """Whether it was started and has not been reaped."""
        return not self.gone and not self.error

    def read(self, stream: int) -> int:
        """Take what a stream has, and say how much that was; its end closes it."""
        chunk = os.read(stream, CHUNK)
        if not chunk:
            self.open.discard(stream)
            return 0
        self.kept[stream].add(chunk)
        self.heard = self.clock()
        if stream == self.streams[0] and self.first is None:
            self.first = self.heard - self.started
        return len(chunk)

    def say(self, text: str) -> None:
        """Write to its stdin. What is said between two answers is short enough for a pipe."""
        assert self.process.stdin
        try:
            os.write(self.process.stdin.fileno(), text.encode('utf-8', 'surrogateescape'))
        except BrokenPipeError:
            pass  # it has ended; whoever waits for an answer will see that

    def tail(self) -> str:
        """The end of what it has said on stderr."""
        kept = self.kept[self.streams[1]]
        return (kept.data if isinstance(kept, Inbox) else kept.tail)[-200:].decode('utf-8', 'replace')

    def hang_up(self) -> None:
        """Close its stdin."""
        if self.process.stdin:
            self.process.stdin.close()

    def reap(self) -> None:
        """Note how it ended, if it has. wait4 gives its own times, without those of others."""
        try:
            pid, status, self.usage = os.wait4(self.process.pid, os.WNOHANG)
        except ChildProcessError:  # somebody else has reaped it, so how it ended is not known
            pid, status = self.process.pid, 0xff00
        self.gone = pid != 0
        if self.gone:
            self.ended = self.clock()
            self.status = 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
            self.process.returncode = self.status  # so that Popen doesn't wait for it as well

    def end(self) -> None:
        """Kill what is left of it and of all that it started, reap it, close its streams."""
        if self.error:
            return
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except OSError:
            pass  # nothing was left
        for _ in range(200):  # a process that the kernel holds may never go: two seconds, then without it
            if self.gone:
                break
            self.reap()
            time.sleep(0.01)
        self._drain()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                stream.close()

    def _drain(self) -> None:
        """Take what it printed last: it may have ended between two looks at its streams."""
        for stream in tuple(self.open):
            os.set_blocking(stream, False)
            try:
                while stream in self.open:
                    self.read(stream)
            except BlockingIOError:
                pass

    def ran(self) -> Ran:
        """Its record, once it has ended."""
        if self.error:
            return Ran(self.argv, self.status, err=self.error)
        out, err = (self.kept[stream].text() for stream in self.streams)
        user, system = getattr(self.usage, 'ru_utime', 0.0), getattr(self.usage, 'ru_stime', 0.0)
        return Ran(self.argv, self.status, out, err, self.ended - self.started, user, system, self.timed_out,
                   self.kept[self.streams[0]].zeros, self.first)


class KernelCipher:
    """One driver of the kernel's crypto with its key, behind an AF_ALG socket: `skcipher`, `aead` or `hash`.
    Errors are compared by name, because their numbers differ between architectures."""

    def __init__(self, kind: str, name: str, key: bytes, tag: int) -> None:
        import socket
        self.kind, self.tag = kind, tag
        try:
            self.socket = socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET, 0)
        except (AttributeError, OSError) as error:
            raise Unmeasurable('kernel-api-missing', 'this kernel does not let programs use its crypto (%s): it needs `af_alg` with algif_skcipher, '
                               'algif_aead and algif_hash (CONFIG_CRYPTO_USER_API_*; kmod-crypto-user on OpenWrt)' % error, 'skipped') from error
        try:
            self.socket.bind((kind, name))
            if key:
                self.socket.setsockopt(socket.SOL_ALG, socket.ALG_SET_KEY, key)
            if kind == 'aead':
                self.socket.setsockopt(socket.SOL_ALG, socket.ALG_SET_AEAD_AUTHSIZE, None, tag)
            self.operation, _ = self.socket.accept()
            if kind != 'hash':  # which cannot be polled
                self.operation.settimeout(30)  # a request that asks for too much would wait for ever
        except OSError as error:
            self.socket.close()
            missing = error.errno in (errno.ENOENT, errno.EAFNOSUPPORT)
            raise Unmeasurable('not-loaded' if missing else 'tool-failed', 'the kernel has no %s (%s)' % (name, plain(error.strerror or str(error))),
                               'skipped' if missing else 'failed') from error
        self.encrypt, self.decrypt = socket.ALG_OP_ENCRYPT, socket.ALG_OP_DECRYPT

    def cipher(self, data: bytes, out: bytearray, encrypt: bool, iv: bytes, associated: int = 0) -> None:
        """Encrypt or decrypt `data` (with `associated` bytes before it and, for decrypting, the tag after it) into `out`,
        which must be exactly as long as the result. Raises OSError."""
        operation = self.encrypt if encrypt else self.decrypt
        if self.kind == 'aead':
            self.operation.sendmsg_afalg([data], op=operation, iv=iv, assoclen=associated)
        else:
            self.operation.sendmsg_afalg([data], op=operation, iv=iv)
        got = self.operation.recv_into(out)
        if got != len(out):
            raise OSError(errno.EIO, 'the kernel returned %d of %d bytes' % (got, len(out)))

    def digest(self, data: bytes, out: bytearray) -> None:
        """Hash `data` into `out`. Raises OSError."""
        self.operation.sendall(data)
        self.operation.recv_into(out)

    def close(self) -> None:
        """Let the driver go."""
        self.operation.close()
        self.socket.close()


class LocalHost(Host):
    """The machine this program runs on.

    A signal only leaves a mark; the next look at it, in a wait or before a command, raises
    Interrupted. So no signal can strike between the start of a process and the note that it runs.
    """

    def __init__(self, root: str = '/', environment: Optional[Dict[str, str]] = None) -> None:
        self.root = root
        self.environment = dict(os.environ if environment is None else environment)
        path = self.environment.get('PATH', '').split(':')
        self.environment['PATH'] = ':'.join([d for d in path if d] + [d for d in SYSTEM_PATH if d not in path])
        self.whole_locale = self.environment.get('LC_ALL')
        self.environment['LC_ALL'] = 'C'
        self.places = [self.environment.get('TMPDIR', ''), '/tmp', '/var/tmp', '/dev/shm', '/run', '/var/run']
        usable = [place for place in self.places if os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK)]
        self.environment.update(TMPDIR=usable[0] if usable else '/tmp')  # openvpn does not start without one
        self.private: Optional[str] = None
        self.jobs: List[Job] = []  # all that run, so that whoever waits for one reads what the others print
        self.signalled = self.watching = False
        self.niceness: Optional[int] = None  # of what is started, where it is not our own
        self.pipe: Tuple[int, ...] = os.pipe()
        self.wake, self._waker = self.pipe
        for end in self.pipe:
            os.set_blocking(end, False)

    def watch_signals(self) -> None:
        """Let Ctrl-C, a hang-up and `kill` mark this host instead of ending the program at once."""
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # some that start us ignore it, and then wait4 finds nobody
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            if signal.getsignal(number) != signal.SIG_IGN:  # nohup, or a shell's background job
                signal.signal(number, self._mark)
        signal.set_wakeup_fd(self._waker)
        self.watching = True

    def _mark(self, _number: int, _frame: Any) -> None:
        self.signalled = True

    def _look(self) -> None:
        if self.signalled:
            raise Interrupted()
        if self.watching and deserted():
            raise BrokenPipeError()

    def _path(self, path: str) -> str:
        return os.path.join(self.root, path.lstrip('/'))

    def read_bytes(self, path: str, limit: int = 1 << 18) -> bytes:
        """See Host."""
        try:
            with open(self._path(path), 'rb', buffering=0) as file:
                pieces = [file.read(limit)]
                while pieces[-1] and sum(map(len, pieces)) < limit:
                    pieces.append(file.read(limit))
        except OSError as error:
            raise Absent(path) from error
        return b''.join(piece or b'' for piece in pieces)[:limit]

    def lines(self, path: str) -> Iterator[bytes]:
        """The lines of a file, a pipe or (`-`) stdin, with their ends; of one longer than LONGEST_LINE only the
        beginning. Raises OSError, also for directories and devices."""
        from functools import partial
        descriptor = os.dup(0) if path == '-' else os.open(self._path(os.path.abspath(path)), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(descriptor, 'rb', buffering=CHUNK) as file:
            mode = os.fstat(descriptor).st_mode
            if path != '-' and not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
                raise OSError(errno.EINVAL, 'neither a file nor a pipe')
            os.set_blocking(descriptor, True)
            for line in iter(partial(file.readline, LONGEST_LINE), b''):
                yield line
                while len(line) == LONGEST_LINE and line[-1:] != b'\n':
                    line = file.readline(LONGEST_LINE)

    def append(self, path: str, text: str, most: Optional[int] = None) -> None:
        """Add whole lines to a file, in one write and alone; a line that a power cut tore is ended first. What
        does not fit leaves the file as it was. Beyond `most` bytes the file becomes PATH.1, and a new one is begun;
        its directory is made. Raises OSError."""
        path = self._path(os.path.abspath(path))
        if most:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        descriptor = self._locked(path)
        try:
            size = os.fstat(descriptor).st_size
            if most and size > most:
                os.replace(path, path + '.1')
                os.close(descriptor)
                descriptor = self._locked(path)
                size = os.fstat(descriptor).st_size
            torn = size and os.pread(descriptor, 1, size - 1) != b'\n'
            data = b'\n' * bool(torn) + text.encode('utf-8', 'replace')
            try:
                if os.write(descriptor, data) < len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError:
                os.ftruncate(descriptor, size)
                raise
        finally:
            os.close(descriptor)

    def _locked(self, path: str) -> int:
        """A file to append to, once nobody else does; the one that has this name now, where another writer gave it away."""
        import fcntl
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            try:
                if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                    return descriptor
            except FileNotFoundError:
                pass
            os.close(descriptor)

    def replace(self, path: str, text: str, mode: int = 0o644) -> None:
        """Write a whole file so that at any moment the old or the new one is there, which keeps the mode of the old;
        its directory is made. Raises OSError."""
        path = os.path.realpath(self._path(os.path.abspath(path)))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        new = os.path.join(os.path.dirname(path), '.%s.new' % os.path.basename(path))  # cron leaves names with a dot in front alone
        try:
            mode = stat.S_IMODE(os.stat(path).st_mode)
        except OSError:
            pass
        try:
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
            with open(descriptor, 'wb') as file:
                os.fchmod(descriptor, mode)
                file.write(text.encode('utf-8', 'surrogateescape'))
                file.flush()
                os.fsync(descriptor)
            os.replace(new, path)
        except OSError:
            self.remove(new)
            raise

    def remove(self, path: str) -> None:
        """Remove a file, if it is there and that is allowed."""
        try:
            os.unlink(path if path.startswith(self.root) else self._path(os.path.abspath(path)))
        except OSError:
            pass

    def exists(self, path: str) -> bool:
        """Whether there is anything of that name."""
        return os.path.exists(self._path(path))

    def is_root(self) -> bool:
        """Whether this is the superuser."""
        return os.geteuid() == 0

    def locale(self) -> str:
        """What the user's terminal speaks, by the environment. Not LC_CTYPE: Python itself sets it where there is nothing else."""
        return self.whole_locale or self.environment.get('LANG', '')

    def exchange(self, argv: Sequence[str], text: str = '') -> Tuple[Ran, str]:
        """Run a command that reads a short text, and what it printed, byte for byte."""
        job = self.start(argv, talk=True)
        if job.alive():
            job.say(text)
            job.hang_up()
            self.attend(lambda: not job.alive(), 20.0)
        self.end(job)
        printed = job.kept[job.streams[0]] if not job.error else None
        return job.ran(), printed.data.decode('utf-8', 'surrogateescape') if isinstance(printed, Inbox) else ''

    def only_one(self, name: str) -> bool:
        """Whether no other process of this user does what goes by this name; from then on this one does, until it
        ends, however that happens. What an older one left behind does not matter."""
        import fcntl
        places = [place for place in ('/run/lock', '/var/run', '/run', '/tmp') if os.access(self._path(place), os.W_OK | os.X_OK)]
        for place in places:
            try:
                descriptor = os.open(self._path('%s/%s-%d.lock' % (place, name, os.geteuid())), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            except OSError:
                continue
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
                return False
            return True  # the descriptor stays open, and with it the lock
        return True

    def yield_to_others(self) -> None:
        """Low priority from now on, but for the commands that are started: what they take is what is measured."""
        if self.is_root():  # only who may raise the priority again can do that
            self.niceness = os.getpriority(os.PRIO_PROCESS, 0)
            os.setpriority(os.PRIO_PROCESS, 0, min(self.niceness + 10, 19))

    def names(self, path: str) -> List[str]:
        """See Host."""
        try:
            return sorted(os.listdir(self._path(path)))
        except OSError:
            return []

    def kernel_cipher(self, kind: str, name: str, key: bytes, tag: int) -> KernelCipher:
        """See Host."""
        self._look()
        return KernelCipher(kind, name, key, tag)

    def find(self, command: str) -> Optional[str]:
        """See Host."""
        places = [command] if '/' in command else [
            os.path.join(d, command) for d in self.environment['PATH'].split(':')]
        return next((p for p in places if os.path.isfile(self._path(p)) and os.access(self._path(p), os.X_OK)), None)

    def uname(self) -> Tuple[str, str, str]:
        """See Host."""
        system = os.uname()
        return system.sysname, system.release, system.machine

    def run_all(self, commands: Sequence[Sequence[str]], limit: float, tick: Tick = no_tick, silence: float = 0.0) -> List[Ran]:
        """See Host. After `silence` s, if that is not 0, in which none printed anything they are killed, too."""
        self._look()
        jobs: List[Job] = []

        def over() -> bool:
            return not any(job.alive() for job in jobs) or 0 < silence < self.clock() - max(job.heard for job in jobs)
        try:
            for argv in commands:
                jobs.append(self.start(argv))
            self.attend(over, limit, tick)
            for job in jobs:
                job.timed_out = job.alive()
        finally:
            for job in jobs:
                self.end(job)
        return [job.ran() for job in jobs]

    def start(self, argv: Sequence[str], talk: bool = False) -> Job:
        """Start a process, which end() ends."""
        mine = os.getpriority(os.PRIO_PROCESS, 0) if self.niceness is not None else 0
        if self.niceness is not None:  # what is started inherits it
            os.setpriority(os.PRIO_PROCESS, 0, self.niceness)
        job = Job(argv, self.find(argv[0]), self.environment, self.clock, talk)
        self.jobs.append(job)
        if self.niceness is not None:
            os.setpriority(os.PRIO_PROCESS, 0, mine)
        return job

    def end(self, job: Job) -> None:
        """Kill what is left of it."""
        job.end()
        self.jobs.remove(job)

    def finish(self, job: Job, limit: float) -> None:
        """Let a process that was told to end do so. No signal cuts that short: it tidies up."""
        deadline = self.clock() + limit
        while job.alive() and self.clock() < deadline:
            job.reap()
            time.sleep(0.005)
        self.end(job)

    def attend(self, over: Callable[[], bool], limit: float, tick: Tick = no_tick) -> bool:
        """Read what all jobs print until `over`; False if that takes longer than `limit`."""
        started = self.clock()
        tick_at, moment = started + FIRST_TICK, 0.00025
        while not over():
            left = started + limit - self.clock()
            if left <= 0:
                return False
            running = [job for job in self.jobs if job.alive()]
            streams = {stream: job for job in running for stream in job.open}
            # A job that has closed its streams is most likely ending: look again in a moment.
            closed = any(not job.open for job in running)
            moment = min(2 * moment, 0.05) if closed else 0.00025
            pause = moment if closed else max(min(tick_at - self.clock(), left), 0.0)
            ready = select.select([*streams, self.wake], [], [], pause)[0]
            taken = max([streams[stream].read(stream) for stream in ready if stream in streams], default=0)
            if BULK <= taken < CHUNK // 2:
                time.sleep(BULK_PAUSE)
            self._look()
            for job in running:
                job.reap()
            if self.clock() >= tick_at:
                tick(self.clock() - started)
                tick_at = self.clock() + TICK_SECONDS
        return True

    def now(self) -> float:
        """See Host."""
        return time.time()

    def used(self) -> float:
        """See Host."""
        return time.process_time()

    def clock(self) -> float:
        """See Host."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """See Host."""
        self._look()
        select.select([self.wake], [], [], seconds)
        self._look()

    def private_path(self, name: str) -> str:
        """See Host. The first directory that takes a kilobyte is used: /tmp may be full."""
        if self.private is None:
            self.private = next(filter(None, (self._make_private(place) for place in self.places if place)), None)
        if self.private is None:
            raise NoSpace('no directory has room for a key of 1 kB: /tmp, /var/tmp and /dev/shm are full or '
                          'read-only; free some, or point TMPDIR elsewhere')
        return os.path.join(self.private, name)

    def _make_private(self, place: str) -> Optional[str]:
        self._sweep(place)
        path = os.path.join(self._path(place), 'routerbench-%d-%s' % (os.getpid(), os.urandom(4).hex()))
        try:
            os.mkdir(path, 0o700)
        except OSError:
            return None
        try:
            with open(os.path.join(path, 'room'), 'wb') as file:
                file.write(bytes(1024))
            os.unlink(os.path.join(path, 'room'))
            return path
        except OSError:
            self._remove(path)
            return None

    def _sweep(self, place: str) -> None:
        """Remove what a run of ours left that was killed with -9 (its process is gone)."""
        for name in self.names(place):
            match = re.match(r'routerbench-([0-9]{1,9})-[0-9a-f]{8}\Z', name)
            path = os.path.join(self._path(place), name)
            if match and own_directory(path) and not process_exists(int(match.group(1))):
                self._remove(path)

    @staticmethod
    def _remove(path: str) -> None:
        try:
            for name in os.listdir(path):
                os.unlink(os.path.join(path, name))
            os.rmdir(path)
        except OSError:
            pass  # another user's, or a full or read-only disk: nothing more can be done

    def close(self) -> None:
        """See Host."""
        for job in list(self.jobs):
            self.end(job)
        if self.watching:
            signal.set_wakeup_fd(-1)
            self.watching = False
        for end in self.pipe:
            os.close(end)
        self.pipe = ()
        if self.private is not None:
            self._remove(self.private)
            self.private = None


def deserted() -> bool:
    """Whether nobody can read stdout any more: the ssh that started us has ended, and that sends no
    signal unless it had a terminal."""
    watch = select.poll()
    watch.register(STDOUT, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in watch.poll(0))


def own_directory(path: str) -> bool:
    """Whether this is a directory (no link to one) of this user: nobody else can put another in its
    place where /tmp is sticky."""
    try:
        state = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid()


def process_exists(pid: int) -> bool:
    """Whether a process with this number runs, whoever owns it."""
    try:
        os.kill(pid, 0)
    except OSError as error:
        return error.errno != errno.ESRCH
    return True


PACKAGES: Dict[str, Dict[str, str]] = {
    'ip': {'opkg': 'ip-full', 'apt-get': 'iproute2', 'dnf': 'iproute', 'yum': 'iproute', 'apk': 'iproute2'},
    'wg': {name: 'wireguard-tools' for name in ('opkg', 'apk', 'apt-get', 'dnf', 'yum', 'zypper', 'pkg', 'pacman')},
    'openvpn': {'opkg': 'openvpn-openssl'},
    'af_alg': {'opkg': 'kmod-crypto-user'},
    'openssl': {'opkg': 'openssl-util'},
    'ssh': {'opkg': 'openssh-client', 'apk': 'openssh-client', 'apt-get': 'openssh-client', 'dnf': 'openssh-clients',
            'yum': 'openssh-clients', 'zypper': 'openssh-clients', 'pkg': 'openssh-portable', 'pacman': 'openssh'}}
INSTALLERS = (('opkg', 'opkg update && opkg install %s'), ('apk', 'apk update && apk add %s'), ('pkg', 'pkg install %s'),
              ('apt-get', 'apt-get install %s'), ('dnf', 'dnf install %s'), ('yum', 'yum install %s'),
              ('zypper', 'zypper install %s'), ('pacman', 'pacman -S %s'))


def install_hint(host: Host, tool: str) -> str:
    """The command that installs a tool on this system."""
    for manager, command in INSTALLERS:
        if host.find(manager):
            on_openwrt = manager == 'apk' and host.text('/etc/openwrt_release')
            package = PACKAGES.get(tool, {}).get('opkg' if on_openwrt else manager, tool)
            return command % package
    return 'install the package `%s`' % tool


# --- far host -----------------------------------------------------------------------------------
# A machine at the other end of an ssh connection. One shell there answers all questions, in frames
# that start with a line nobody can guess; what a router sends is data and is never run.

PROMPT = r'\(y/n\)\s*$|[Pp]assword: ?$|[Pp]assphrase [^\n]*: ?$'
CONNECT_SECONDS, QUESTION_SECONDS = 60.0, 30.0
SHORTEST_SECONDS = 0.0005  # no process takes less
ON_ROUTER = 'root@<router>'  # how a line names the other end: as the OpenWrt page does


class Destination(NamedTuple):
    """Where ssh is to go: `root@192.168.1.1`, and a port if it is not the usual one."""

    where: str
    port: Optional[int] = None


def quoted(word: str) -> str:
    """A word as a shell takes it literally."""
    return word if re.match(r'[\w@%+=:,./-]+\Z', word, re.ASCII) else "'" + word.replace("'", "'\"'\"'") + "'"


def shell_words(words: Iterable[str]) -> str:
    """A command for a shell."""
    return ' '.join(quoted(word) for word in words)


LEGACY: Dict[str, Tuple[Tuple[str, ...], str, Tuple[str, ...]]] = {
    # reason: the options of OpenSSH that allow more, what `ssh -Q` calls the kind, the choices, best first
    'hostkey-algorithm': (('HostKeyAlgorithms', 'PubkeyAcceptedAlgorithms'), 'key', ('ssh-rsa', 'ssh-dss')),
    'kex-algorithm': (('KexAlgorithms',), 'kex', (
        'diffie-hellman-group14-sha1', 'diffie-hellman-group-exchange-sha1', 'diffie-hellman-group1-sha1')),
    'mac-algorithm': (('MACs',), 'mac', ('hmac-sha1', 'hmac-sha1-96', 'hmac-md5', 'hmac-md5-96')),
    'cipher-unavailable': (('Ciphers',), 'cipher', ('aes256-cbc', 'aes192-cbc', 'aes128-cbc', '3des-cbc')),
    'auth-required': (('PubkeyAcceptedAlgorithms',), 'key', ('ssh-rsa',)),
}


class SshClient:
    """An ssh client of a host: OpenSSH's, or dropbear's dbclient, which is `ssh` on OpenWrt. Nothing it
    is told to do can wait for a person, and it shares no connection, because such a one ignores -c."""

    OPENSSH = ('-T', '-a', '-x') + tuple(word for option in (
        'BatchMode=yes', 'ControlMaster=no', 'ControlPath=none', 'Compression=no', 'ClearAllForwardings=yes',
        'ConnectTimeout=20', 'ServerAliveInterval=15', 'ServerAliveCountMax=4') for word in ('-o', option))

    def __init__(self, host: Host, words: Sequence[str], allow_legacy: bool = False) -> None:
        self.host, self.allow_legacy = host, allow_legacy
        self.words = tuple(words) or (('ssh',) if host.find('ssh') or not host.find('dbclient') else ('dbclient',))
        self.legacy: Tuple[str, ...] = ()
        self._version: Optional[str] = None

    def version(self) -> str:
        """`OpenSSH_9.2p1` or `Dropbear 2022.83`. Raises Unmeasurable with the remedy."""
        if self._version is None:
            if not self.host.find(self.words[0]):
                raise Unmeasurable('tool-missing', 'there is no ssh client here: %s' % install_hint(self.host, 'ssh'), 'skipped')
            ran = self.host.run(self.words[0], '-V')
            found = re.search(r'(OpenSSH_[\w.]+)|Dropbear\D*v?(\d+\.\d+)', ran.out + ran.err)
            if not found:
                raise Unmeasurable('tool-broken', 'the ssh client is neither OpenSSH nor dbclient (%s)' % telling_line(ran.out + ran.err))
            self._version = found.group(1) or 'Dropbear ' + found.group(2)
        return self._version

    def dropbear(self) -> bool:
        """Whether it is dbclient."""
        return self.version().startswith('Dropbear')

    def _own_words(self, verbose: bool) -> Tuple[str, ...]:
        if not self.dropbear():
            return self.OPENSSH + self.legacy + ('-o', 'LogLevel=%s' % ('DEBUG1' if verbose else 'INFO'))
        return ('-T', '-K', '15') + (('-o', 'BatchMode=yes') if self.version() >= 'Dropbear 2024.84' else ())

    def command(self, destination: Destination, remote: str, cipher: str = '', verbose: bool = False) -> Tuple[str, ...]:
        """The argv that runs a command at the other end; options of ours go before the user's, because
        OpenSSH takes the first of two."""
        port = ('-p', str(destination.port)) if destination.port else ()
        return (self.words[0], *self._own_words(verbose), *port, *self.words[1:],
                *(('-c', cipher) if cipher else ()), destination.where, remote)

    def legacy_for(self, reason: str, offer: Sequence[str]) -> Tuple[str, ...]:
        """The options that would let this client do the weaker thing that a server needs, and no more;
        () if there are none."""
        if reason not in LEGACY or self.dropbear():
            return ()
        names, kind, choices = LEGACY[reason]
        known = self.host.run(self.words[0], '-Q', kind).out.split()
        usable = [choice for choice in choices if choice in known and (choice in offer or reason == 'auth-required')]
        options = tuple(word for name in names for word in ('-o', '%s=+%s' % (name, usable[0]))) if usable else ()
        return options if not set(options) <= set(self.legacy) else ()


SSH_REMEDIES: Dict[str, str] = {
    'auth-required': 'it wants a password: put your public key there (`ssh-copy-id`; on OpenWrt append it to '
                     '/etc/dropbear/authorized_keys), load it with `ssh-add` if it has a passphrase%(legacy)s',
    'cipher-unavailable': 'this client and that server have no cipher in common (offered: %(offer)s)%(legacy)s',
    'connection-lost': 'the connection was closed in the middle',
    'connection-refused': 'nothing listens on its ssh port: start its ssh server, or name the port as in ssh://root@router:2222',
    'connection-timeout': 'it did not finish the login within %(limit).0f s; see whether `ssh -v` by hand gets further',
    'host-unknown': 'no such host: see whether its name is right',
    'hostkey-algorithm': 'it only has host keys of a kind that this client refuses (%(offer)s)%(legacy)s',
    'hostkey-changed': 'its host key is not the one that is known here. If it was reinstalled, `ssh-keygen -R` with its '
                       'address removes the old one; if not, somebody may sit in between',
    'hostkey-unknown': 'its host key is not known here yet: log in once by hand, compare the fingerprint and say yes',
    'kex-algorithm': 'it only has key exchanges that this client refuses (%(offer)s)%(legacy)s',
    'key-format': 'the client cannot read the key file: dbclient wants its own format, which `dropbearconvert openssh '
                  'dropbear IN OUT` makes',
    'mac-algorithm': 'it only has MACs that this client refuses (%(offer)s)%(legacy)s',
    'no-answer': 'it does not answer: see whether it is switched on, and the address right (%(heard)s)',
    'no-shell': 'its login shell did not run /bin/sh: %(said)s',
    'remote-shell': 'its login shell took a command of ours for its own syntax: %(said)s',
}


def ssh_failure(client: SshClient, ran: Ran, limit: float = 0.0, cipher: str = '') -> Unmeasurable:
    """Why ssh ended, with the remedy; `cipher` if it was told to use that one and no other."""
    text = without_debug(ran.err)
    asked = re.search(PROMPT, text)
    reason = ssh_refusal(text) or ('hostkey-unknown' if asked else 'connection-timeout' if ran.timed_out else 'remote-shell'
                                   if 'Ambiguous output redirect' in text else 'no-shell')
    offer = ssh_offer(text)
    legacy = () if cipher and reason == 'cipher-unavailable' else client.legacy_for(reason, offer)
    about = '' if not legacy else '; an RSA key and an old server may also need' if reason == 'auth-required' else ':'
    detail = 'ssh to the other end failed: ' + SSH_REMEDIES[reason] % {
        'offer': ', '.join(offer) or 'not said', 'limit': limit, 'said': telling_line(without_paths(without_addresses(text))), 'heard': ssh_words_heard(text, reason),
        'legacy': about and '%s --legacy-ssh, which adds %s' % (about, shell_words(legacy))}
    return Unmeasurable(reason, detail)


PROLOGUE = """\
:
A=%s; M=${A}%s; J=; D=
PATH=${PATH:+$PATH:}%s; LC_ALL=C; export PATH LC_ALL
say() { printf '\\n%%s %%s\\n' "$M" "$*"; }
over() { for P in $J; do kill -9 "$P"; done; [ -z "$D" ] || rm -rf "$D"; } 2>/dev/null
trap over EXIT; trap 'exit 1' HUP INT TERM PIPE
[ -d "${TMPDIR:-}" ] && [ -w "$TMPDIR" ] || for TMPDIR in /tmp /var/tmp /dev/shm /var/run; do [ -w "$TMPDIR" ] && break; done; export TMPDIR
"""  # the first line is what an old dbclient takes for `no` when it asks whether to trust a host
SURVEY_SCRIPT = """\
say u "$(uname -srm)"
for F in %(files)s; do [ -f "$F" ] && [ -r "$F" ] && { say f "$F"; cat "$F"; }; done
for F in %(programs)s; do [ -r "$F" ] && { say f "$F"; dd bs=20 count=1 <"$F"; }; done
for F in %(folders)s; do [ -d "$F" ] && { say d "$F"; for G in "$F"/*; do printf '%%s\\n' "${G##*/}"; done; }; done
for F in %(tools)s; do say t "$F"; command -v "$F"; done
case $(uname -s) in %(commands)s esac
"""
PRIVATE_SCRIPT = """\
umask 077
for F in "$TMPDIR" /tmp /var/tmp /dev/shm /var/run; do
P=$F/routerbench-$$-%s; mkdir "$P" || continue
if dd if=/dev/zero of="$P/room" bs=1024 count=1 && rm "$P/room"; then D=$P; printf '%%s' "$P"; break; fi
rm -rf "$P"; done
"""
STARTED = """/bin/sh -c 'printf "\\n%s p %s %s\\n" "$1" "$2" "$$" >&3; shift 2; exec "$@" >&3 2>&4 3>&- 4>&-' sh "$M" """
TIMED_SCRIPTS = {  # what the reports of these look like is read by far_times()
    'time': '{ time %s; } 2>&1; echo "status $?"',
    'uptime': 'read -r U F </proc/uptime; %s; S=$?; read -r V F </proc/uptime; times; echo "uptime $U $V"; echo "status $S"',
    'local': '%s; S=$?; times; echo "status $S"'}


class FarTimes(NamedTuple):
    """How a command ended far away: its status, seconds by that machine's clock (None if it has none)
    and their resolution, processor time."""

    status: int
    real: Optional[float]
    resolution: float
    user: float
    system: float


def far_times(report: str) -> FarTimes:
    """From what one of TIMED_SCRIPTS printed. The shell's `times` has its children's in the second line."""
    status = re.search(r'^status (\d{1,3})$', report, re.M)
    times = parse_time(report)
    decimals = re.search(r'[.,](\d+)', report)
    resolution = 10.0 ** -len(decimals.group(1)) if decimals else 1.0
    real, user, system = times or Times(None)  # type: ignore[arg-type]
    uptime = re.findall(r'^uptime (\d{1,12}\.\d{1,6}) (\d{1,12}\.\d{1,6})$', report, re.M)
    if uptime:  # the last, as everywhere: what stands before it may be a profile's
        real, resolution = float(uptime[-1][1]) - float(uptime[-1][0]), 0.02
    used = re.findall(r'^(\d+m[\d.]+s) (\d+m[\d.]+s)$', report, re.M)
    if used:
        user, system = (parse_clock(text) for text in used[-1])
    signalled = re.search(r'terminated by signal (\d{1,2})\b', report)  # BusyBox's and GNU's time
    return FarTimes(128 + int(signalled.group(1)) if signalled else int(status.group(1)) if status else 255, real, resolution, user or 0.0, system or 0.0)


class SshHost(Host):
    """A machine that is reached by ssh and needs nothing but a POSIX shell.

    Its shell reads what we write, runs it and goes on reading, so that a command which takes too long
    can be killed there. When the connection ends, however that comes about, it kills what still runs
    and removes its private directory.
    """

    sense_seconds = 5.0
    cpu_resolution = 0.02  # user and system are each counted in hundredths

    def __init__(self, near: LocalHost, client: SshClient, destination: Destination, tell: Callable[[str], None]) -> None:
        self.near, self.client, self.destination, self.tell = near, client, destination, tell
        self.mark = os.urandom(16).hex()
        self.job: Optional[Job] = None
        self.count = 0
        self.offer: Tuple[str, ...] = ()
        self.wanted = Survey((), (), (), (), {})
        self.seen: Dict[Tuple[str, str], bytes] = {}
        self.cost: Optional[float] = None  # of timing a command from here
        self.rtt: Optional[float] = None  # of a question and its answer
        self.private = ''
        self.failure: Optional[Unmeasurable] = None

    # The connection

    def _inbox(self, which: int) -> Inbox:
        assert self.job
        inbox = self.job.kept[self.job.streams[which]]
        assert isinstance(inbox, Inbox)
        return inbox

    def _out(self) -> Inbox:
        return self._inbox(0)

    def _err(self) -> Inbox:
        return self._inbox(1)

    def _connect(self, script: str) -> bytes:
        """Log in and ask the first question; with --legacy-ssh again, with what the server needs."""
        while True:
            try:
                return self._log_in(script)
            except Unmeasurable as error:
                legacy = self.client.legacy_for(error.reason, self.offer) if self.client.allow_legacy else ()
                if not legacy:
                    self.failure = error
                    raise
                self.client.legacy += legacy
                self.tell('--legacy-ssh: trying %s' % shell_words(legacy))

    def _log_in(self, script: str) -> bytes:
        self.count = 0
        self.job = self.near.start(self.client.command(self.destination, 'exec /bin/sh'), talk=True)
        if self.job.error:
            raise Unmeasurable('tool-broken', 'the ssh client does not start (%s)' % self.job.error)
        places = ':'.join(SYSTEM_PATH)
        self.job.say(PROLOGUE % (self.mark[:8], self.mark[8:], places))
        return self._answer(script, CONNECT_SECONDS)

    def _fail(self, limit: float, timed_out: bool) -> NoReturn:
        """Raise why there is no answer, and remember it: there will be none to the next question."""
        job, self.job = self.job, None
        assert job
        if not timed_out and not self._prompted(job):  # it is ending, and may have a word to say
            self.near.attend(lambda: not job.alive(), 1.0)
        self.near.end(job)
        ran = job.ran()._replace(timed_out=timed_out)
        error = ssh_failure(self.client, ran, limit)
        self.offer = ssh_offer(ran.err)
        if self.count > 1:
            error = Unmeasurable('connection-lost', 'the router did not answer for %.0f s' % limit if timed_out else
                                 'the connection to the router was lost (%s)' % ssh_words_heard(ran.err, ssh_refusal(ran.err) or ''))
            self.failure = error
        raise error

    def ask(self, script: str, limit: float = QUESTION_SECONDS) -> bytes:
        """What a script prints on stdout there. Raises Unmeasurable."""
        if self.failure:
            raise self.failure
        return self._answer(script, limit) if self.job else self._connect(script)

    def _answer(self, script: str, limit: float) -> bytes:
        job = self.job
        assert job
        self.count += 1
        begin, end = (('\n%s %s %d\n' % (self.mark, kind, self.count)).encode() for kind in 'be')
        job.say('say b %d; { %s\n} 2>/dev/null; say e %d\n' % (self.count, script, self.count))
        out = self._out()
        closed = job.streams[0]
        in_time = self.near.attend(lambda: closed not in job.open or not job.alive() or end in out.data or self._prompted(), limit)
        if end not in out.data:
            self._fail(limit, not in_time)
        before, _, rest = out.data.partition(begin)
        answer, _, after = rest.partition(end)
        out.data = before + after
        return answer

    def address(self) -> str:
        """The address that the connection goes to; '' if the server does not tell."""
        words = self.ask('printf "%s" "${SSH_CONNECTION:-}"').decode('utf-8', 'replace').split()
        return words[2] if len(words) == 4 and re.match(r'[0-9a-fA-F.:%\w]+\Z', words[2]) else ''

    def _prompted(self, job: Optional[Job] = None) -> bool:
        """Whether the client waits for a person, which it was told not to do."""
        job = job or self.job
        return self.count == 1 and bool(job and re.search(PROMPT, job.tail()))

    def frames(self, answer: bytes) -> List[Tuple[str, str, bytes]]:
        """The frames of an answer: kind, name, content."""
        parts = re.split(('\n%s ([a-z]) ?([^\n]*)\n' % self.mark).encode(), answer)
        names = [part.decode('utf-8', 'surrogateescape') for part in parts]
        return list(zip(names[1::3], names[2::3], parts[3::3]))

    # The questions

    def survey(self, wanted: Survey) -> None:
        """See Host."""
        self.wanted = wanted
        commands = ' '.join('%s) %s ;;' % (system, '; '.join(
            '{ command -v %s >&2 && { say c %s; %s </dev/null; say s $?; }; }' % (quoted(argv[0]), quoted(' '.join(argv)), shell_words(argv))
            for argv in argvs)) for system, argvs in wanted.commands.items())
        answer = self.ask(SURVEY_SCRIPT % {
            'files': ' '.join(wanted.files), 'programs': ' '.join(wanted.programs), 'folders': ' '.join(wanted.folders),
            'tools': ' '.join(wanted.tools), 'commands': commands})
        self.seen.update({(kind, name): content for kind, name, content in self.frames(answer)})
        statuses = [(name, after) for (kind, name, _), (_, after, _) in zip(self.frames(answer), self.frames(answer)[1:]) if kind == 'c']
        self.seen.update({('s', name): status.encode() for name, status in statuses})
        self.timer = 'time' if self.find('time') else self.next_timer()

    def next_timer(self) -> str:
        """What times commands where `time` does not."""
        return 'uptime' if self.seen.get(('f', '/proc/uptime')) else 'local'

    def _told(self, kind: str, name: str, patterns: Sequence[str]) -> Optional[bytes]:
        """What the survey has brought; b'' for what it found not to be there, None for what it was not about."""
        from fnmatch import fnmatchcase
        known = any(fnmatchcase(name, pattern) for pattern in patterns)
        return self.seen.get((kind, name), b'' if known else None)

    def read_bytes(self, path: str, limit: int = 1 << 18) -> bytes:
        """See Host."""
        if ('f', path) not in self.seen and self._told('f', path, self.wanted.files + self.wanted.programs) is not None:
            raise Absent(path)
        content = self.seen.get(('f', path))
        if content is None:
            found = self.frames(self.ask('[ -r %s ] && { say f; cat %s; }' % (quoted(path), quoted(path))))
            if not found:
                raise Absent(path)
            content = found[0][2]
        return content[:limit]

    def names(self, path: str) -> List[str]:
        """See Host."""
        told = self._told('d', path, self.wanted.folders)
        if told is None:
            told = self.ask('for F in %s/*; do printf "%%s\\n" "${F##*/}"; done' % quoted(path))
        return sorted(name for name in told.decode('utf-8', 'surrogateescape').splitlines() if name != '*')

    def find(self, command: str) -> Optional[str]:
        """See Host."""
        told = self._told('t', command, self.wanted.tools)
        if told is None:
            told = self.ask('command -v %s' % quoted(command))
        return told.decode('utf-8', 'replace').strip() or None

    def look(self, *paths: str) -> List[str]:
        """See Host. Nothing but the shell itself is used for it: a process more would disturb."""
        if not paths:
            return []
        answer = self.ask('; '.join('F=; IFS= read -r F <%s; say l; printf "%%s" "$F"' % quoted(path) for path in paths))
        return [content.decode('utf-8', 'replace') for _, _, content in self.frames(answer)]

    def uname(self) -> Tuple[str, str, str]:
        """See Host."""
        told = next((name for kind, name in self.seen if kind == 'u'), None)
        words = (self.ask('uname -srm').decode('utf-8', 'replace') if told is None else told).split()
        return (words[0], words[1], words[2]) if len(words) == 3 else ('Linux', '', '')

    # The commands

    def run_all(self, commands: Sequence[Sequence[str]], limit: float, tick: Tick = no_tick) -> List[Ran]:
        """See Host. Of several commands together each gets the output of all."""
        if len(commands) == 1 and ('c', ' '.join(commands[0])) in self.seen:
            name = ' '.join(commands[0])
            return [Ran(tuple(commands[0]), whole_number(self.seen['s', name].decode()), self.seen['c', name].decode('utf-8', 'replace'))]
        return self._run_there([tuple(argv) for argv in commands], limit, tick)

    def _run_there(self, commands: List[Tuple[str, ...]], limit: float, tick: Tick) -> List[Ran]:
        if not self.job:
            self.ask(':')
        job = self.job
        assert job
        numbers = range(self.count + 1, self.count + 1 + len(commands))
        self.count += len(commands)
        self._out().data = self._err().data = b''
        began = self.near.clock()
        job.say(''.join(self._started(number, argv) for number, argv in zip(numbers, commands)))
        ended: Dict[int, float] = {}
        pids: Dict[int, int] = {}

        def over() -> bool:
            self._note(pids, ended)
            return not job.alive() or all(number in ended for number in numbers)
        timed_out = True
        try:
            timed_out = not self.near.attend(over, limit, tick)
        finally:
            late = [pid for number, pid in pids.items() if number not in ended]
            job.say(''.join('kill -9 %d\n' % pid for pid in late) + 'J=\n')
        if late and job.alive():
            timed_out = True
            self.near.attend(over, 5.0)
        if not all(number in ended for number in numbers):
            self._fail(limit, timed_out)
        return self._rans(list(zip(numbers, commands)), {number: ended[number] - began for number in numbers}, timed_out)

    def _started(self, number: int, argv: Sequence[str]) -> str:
        started = STARTED + '%d %s' % (number, shell_words(argv))
        report = '$(%s)' % (TIMED_SCRIPTS[self.timer] % started)
        # One printf is one write, which the end of another command cannot get into.
        return ('{ exec 3>&1 4>&2 </dev/null; T=%s; printf "\\n%%s j %d\\n%%s\\n%%s k %d\\n" "$M" "$T" "$M"; say k %d >&2; } &\n' % (report, number, number, number))

    def _note(self, pids: Dict[int, int], ended: Dict[int, float]) -> None:
        """Look which commands have begun, and let the shell know what it has to kill if we get lost;
        and which have ended, on both streams."""
        out, err = self._out().data, self._err().data
        for number, pid in re.findall(('\n%s p (\\d{1,9}) (\\d{1,9})\n' % self.mark).encode(), out):
            if int(number) not in pids:
                pids[int(number)] = int(pid)
                assert self.job
                self.job.say('J="$J %d"\n' % int(pid))
        both = [set(re.findall(('\n%s k (\\d{1,9})\n' % self.mark).encode(), stream)) for stream in (out, err)]
        for number in both[0] & both[1]:
            ended.setdefault(int(number), self.near.clock())

    def _rans(self, numbered: Sequence[Tuple[int, Tuple[str, ...]]], elapsed: Dict[int, float], timed_out: bool) -> List[Ran]:
        frame = ('\n%s [pk] [^\n]*\n' % self.mark).encode()
        report = ('\n%s j (\\d+)\n((?:(?!\n%s ).)*)' % (self.mark, self.mark)).encode()
        reports = {int(number): text.decode('utf-8', 'replace') for number, text in re.findall(report, self._out().data, re.S)}
        out, err = (re.sub(frame, b'', re.sub(report, b'', inbox.data, flags=re.S)) for inbox in (self._out(), self._err()))
        self._out().data = self._err().data = b''
        rans = []
        for number, argv in numbered:
            times = far_times(reports.get(number, ''))
            rans.append(Ran(argv, times.status, bounded(out), bounded(err), self._seconds(times, elapsed[number]), times.user,
                            times.system, timed_out))
        return rans

    def _seconds(self, times: FarTimes, elapsed: float) -> float:
        """By the router's clock. Ours, less what the way costs, tells more only within its resolution."""
        if self.cost is None:
            return elapsed if times.real is None else times.real
        ours = max(elapsed - self.cost, SHORTEST_SECONDS)
        return ours if times.real is None else min(max(ours, times.real - times.resolution), times.real + times.resolution)

    def calibrate(self) -> None:
        """See Host."""
        def took(question: Callable[[], Any]) -> float:
            began = self.near.clock()
            question()
            return self.near.clock() - began
        if self.cost is None:
            self.rtt = median([took(lambda: self.ask(':')) for _ in range(5)])
            self.cost = min([took(lambda: self.run('true')) for _ in range(5)])

    # The rest

    def now(self) -> float:
        """The time here: a line is dated by a clock that is more often right than a router's."""
        return self.near.now()

    def used(self) -> float:
        """See Host. The shell there takes next to nothing."""
        return 0.0

    def clock(self) -> float:
        """See Host."""
        return self.near.clock()

    def sleep(self, seconds: float) -> None:
        """See Host."""
        self.near.sleep(seconds)

    def private_path(self, name: str) -> str:
        """See Host."""
        if not self.private:
            self.private = self.ask(PRIVATE_SCRIPT % os.urandom(4).hex()).decode('utf-8', 'surrogateescape')
        if not self.private:
            raise NoSpace('no directory of the router has room for a key of 1 kB: free some of its /tmp')
        return '%s/%s' % (self.private, name)

    def close(self) -> None:
        """Let the shell there end, which tidies up after us; that is waited for only where there is something to tidy."""
        job, self.job = self.job, None
        if job:
            job.hang_up()
            try:
                self.near.attend(lambda: not job.alive() or not self.private, 5.0)
            except (Interrupted, BrokenPipeError):
                pass  # the shell there sees the end of the connection, and that will do
            finally:
                self.near.end(job)


def bounded(text: bytes) -> str:
    """The first and the last of long output, as everywhere."""
    kept = Kept()
    kept.add(text)
    return kept.text()


# --- machine ------------------------------------------------------------------------------------
# Each fact has its probes in order of trust; the first that knows wins. The platform is chosen once.

BOARD_NAMES = {'UBNT_E100': 'Ubiquiti EdgeRouter (E100)', 'UBNT_E120': 'Ubiquiti UniFi Security Gateway',
               'UBNT_E200': 'Ubiquiti EdgeRouter (E200)', 'UBNT_E300': 'Ubiquiti EdgeRouter (E300)'}
CPU_DIR = '/sys/devices/system/cpu'
DMI_DIR = '/sys/class/dmi/id'


def first_known(probes: Iterable[Callable[[], Optional[str]]]) -> Optional[str]:
    """The first answer that is one."""
    return next((answer for answer in (probe() for probe in probes) if answer), None)


def interface_towards(host: Host, address: str) -> Optional[str]:
    """The interface that leads to an address, by `ip` or by FreeBSD's `route`."""
    found = re.search(r'\bdev ([\w.@-]+)', host.output('ip', '-o', 'route', 'get', address)) or re.search(
        r'^ *interface: ([\w.-]+)', host.output('route', '-n', 'get', address) if host.uname()[0] == 'FreeBSD' else '', re.M)
    return found.group(1) if found else None


class Machine:
    """What every platform answers. The facts are asked for once; the sensors at any time."""

    crypto_method = 'cat /proc/crypto'

    def __init__(self, host: Host, kernel: str, machine: str) -> None:
        self.host, self.kernel, self.machine = host, kernel, machine

    def device(self) -> Optional[str]:
        """Its name in the trade."""
        raise NotImplementedError

    def cpu(self) -> Optional[str]:
        """Short name of its core."""
        raise NotImplementedError

    def mhz(self) -> Tuple[Optional[float], Optional[str]]:
        """Nominal clock and where that stands."""
        raise NotImplementedError

    def cores(self) -> Optional[int]:
        """Processors in use."""
        raise NotImplementedError

    def os(self) -> Optional[str]:
        """System and release."""
        raise NotImplementedError

    def aes(self) -> Optional[str]:
        """See aes_instructions()."""
        raise NotImplementedError

    def virtual(self) -> Optional[str]:
        """The hypervisor or emulator it runs in."""
        raise NotImplementedError

    def memory_mb(self) -> Optional[int]:
        """Main memory."""
        raise NotImplementedError

    def counters(self, _name: str) -> Optional[Counters]:
        """What an interface has counted; None if there is none of that name."""
        return None

    def link_speed(self, _name: str) -> Optional[float]:
        """Mbit/s that an interface can carry, where its driver knows it."""
        return None

    def towards(self, address: str) -> Optional[str]:
        """The interface that leads to an address, where the system tells."""
        return interface_towards(self.host, address)

    def processes(self, _names: Sequence[str]) -> Dict[int, float]:
        """Processor seconds of the processes of these names, by number."""
        return {}

    def interfaces(self) -> List[str]:
        """The names of all interfaces."""
        return self.host.names('/sys/class/net') or sorted(parse_netstat(self.host.output('netstat', '-ibnW', '-f', 'link')))

    def offloads(self) -> bool:
        """Whether packets may pass by the counters, because the hardware forwards them."""
        return False

    def available_kb(self) -> Optional[int]:
        """Memory that a program can still get."""
        return None

    def byte_order(self) -> Optional[str]:
        """`big` or `little`."""
        return arch_byte_order(self.machine)

    def governor(self) -> Optional[str]:
        """What sets the clock."""
        return None

    def mixed_cores(self) -> bool:
        """Whether there are cores of several kinds."""
        return False

    def ticks(self) -> Optional[Ticks]:
        """Processor time so far."""
        return None

    def sense(self) -> Tuple[List[float], Optional[float]]:
        """MHz of the processors and the hottest sensor in Celsius, now."""
        return [], None

    def highest_clock(self) -> Optional[float]:
        """The highest MHz that the system may set."""
        return None

    def slow_crypto(self) -> bool:
        """Whether something is loaded that is known to slow OpenSSL down."""
        return False

    def crypto_drivers(self) -> List[Driver]:
        """What the kernel's crypto is made of."""
        return []

    def facts(self) -> Facts:
        """All facts."""
        mhz, source = self.mhz()
        virtual = self.virtual()
        order = self.byte_order()
        return Facts(
            device=None if virtual else self.device(), cpu=self.cpu(), mhz=float(round(mhz)) if mhz else None,
            mhz_source=source, cores=self.cores(), arch=full_arch(self.machine, order) or None,
            byte_order=order, os=self.os(), kernel=self.kernel or None, aes=self.aes(), governor=self.governor(),
            memory_mb=self.memory_mb(), virtual=virtual, mixed_cores=self.mixed_cores())


class LinuxMachine(Machine):
    """Linux: OpenWrt and every other."""

    def __init__(self, host: Host, kernel: str, machine: str) -> None:
        super().__init__(host, kernel, machine)
        self.info = parse_cpuinfo(host.text('/proc/cpuinfo'))
        # In a foreign system under qemu-user, /proc is that of the machine around it.
        self.foreign = 'flags' in self.info.first and not re.match(r'x86_64|i\d86|$', machine)
        if self.foreign:
            self.info = CpuInfo(0, {})
        self.release = parse_assignments(host.text('/etc/os-release'))
        self.openwrt = parse_assignments(host.text('/etc/openwrt_release'))
        self.policies = self._policies()
        self._log: Optional[str] = None

    def _policies(self) -> List[str]:
        """The directories of the clock settings: one per group of cores, older kernels one per core."""
        groups = ['%s/cpufreq/%s' % (CPU_DIR, name) for name in self.host.names(CPU_DIR + '/cpufreq')
                  if name.startswith('policy')]
        return groups or ['%s/%s/cpufreq' % (CPU_DIR, name) for name in self.host.names(CPU_DIR)
                          if re.match(r'cpu\d+\Z', name) and 'cpufreq' in self.host.names('%s/%s' % (CPU_DIR, name))]

    def _log_text(self) -> str:
        if self._log is None:
            self._log = self.host.output('dmesg')
        return self._log

    def _dmi(self, name: str) -> str:
        return self.host.text('%s/%s' % (DMI_DIR, name))

    def _policy_mhz(self, name: str) -> List[float]:
        found = (whole_number(self.host.text('%s/%s' % (policy, name)).strip()) for policy in self.policies)
        return [kilohertz / 1000 for kilohertz in found if kilohertz]

    def device(self) -> Optional[str]:
        """OpenWrt's own name, the device tree, /proc/cpuinfo, the firmware's tables, the kernel log."""
        first = self.info.first
        return first_known((
            lambda: device_name(self.host.text('/tmp/sysinfo/model')),
            lambda: device_name(self.host.text('/proc/device-tree/model')),
            lambda: device_name(first.get('model', '')),
            lambda: device_name(first.get('machine', '')),
            lambda: BOARD_NAMES.get(first.get('system type', '').split(' ')[0]),
            lambda: maker_product(self._dmi('sys_vendor'), self._dmi('product_name'), self._dmi('product_version')),
            lambda: maker_product(self._dmi('board_vendor'), self._dmi('board_name'), self._dmi('board_version')),
            lambda: maker_product(self.release.get('OPENWRT_DEVICE_MANUFACTURER', ''),
                                  self.release.get('OPENWRT_DEVICE_PRODUCT', '')),
            self._logged_device))

    def _logged_device(self) -> Optional[str]:
        named = re.search(r'MIPS: machine is (.+)', self._log_text()) if 'cpu model' in self.info.first else None
        return device_name(named.group(1)) if named else None

    def cpu(self) -> Optional[str]:
        """See cpu_label()."""
        return cpu_label(self.info)

    def mhz(self) -> Tuple[Optional[float], Optional[str]]:
        """/proc/cpuinfo, the clock settings, the device tree, the kernel log; never BogoMIPS."""
        probes: Tuple[Tuple[Callable[[], Optional[float]], str], ...] = (
            (lambda: cpuinfo_mhz(self.info), '/proc/cpuinfo'), (self._sysfs_mhz, 'cpufreq'),
            (self._tree_mhz, 'device tree'), (lambda: log_mhz(self._log_text()), 'kernel log'))
        for probe, source in () if self.foreign else probes:
            found = probe()
            if found:
                return found, source
        return None, None

    def _sysfs_mhz(self) -> Optional[float]:
        """The highest clock; on x86 that may be turbo, unless the driver or base_frequency says."""
        base = self._policy_mhz('base_frequency')
        if base:
            return max(base)
        turbo = 'flags' in self.info.first and not any(
            self.host.text(policy + '/scaling_driver').strip() == 'acpi-cpufreq' for policy in self.policies)
        if turbo:
            return None
        levels = re.findall(r'([0-9]{1,6})000\b', self.host.text(self.policies[0] + '/scaling_available_frequencies')
                            if self.policies and 'flags' in self.info.first else '')
        highest = self._policy_mhz('cpuinfo_max_freq')
        return levels_mhz(' '.join(level + '/0' for level in levels)) or (max(highest) if highest else None)

    def _tree_mhz(self) -> Optional[float]:
        clocks = [0.0]
        for name in self.host.names('/proc/device-tree/cpus'):
            try:
                hertz = self.host.read_bytes('/proc/device-tree/cpus/%s/clock-frequency' % name, 8)
            except Absent:
                continue
            if len(hertz) in (4, 8):
                clocks.append(int.from_bytes(hertz, 'big') / 1e6)
        return max(clocks) if 1 < max(clocks) < 1e5 else None

    def cores(self) -> Optional[int]:
        """What the kernel has online, else what /proc/cpuinfo lists, else one if it says anything."""
        active = re.match(r'\d+', self.info.first.get('ncpus active', ''))
        return (parse_cpu_list(self.host.text(CPU_DIR + '/online')) or self.info.processors
                or (int(active.group()) if active else 1 if self.info.first else None))

    def byte_order(self) -> Optional[str]:
        """From the architecture's name or OpenWrt's, else from any program of the system."""
        openwrt = self.openwrt.get('DISTRIB_ARCH') or self.release.get('OPENWRT_ARCH', '')
        if openwrt.startswith('mips'):
            return 'little' if openwrt.split('_')[0].endswith('el') else 'big'
        for program in ('/bin/busybox', '/bin/sh', '/usr/bin/env'):
            try:
                order = elf_byte_order(self.host.read_bytes(program, 20))
            except Absent:
                continue
            if order:
                return order
        return None if self.machine.startswith('mips') else super().byte_order()

    def os(self) -> Optional[str]:
        """`OpenWrt 23.05.3`, `Debian GNU/Linux 12`."""
        if self.openwrt.get('DISTRIB_ID'):
            snapshot = self.openwrt.get('DISTRIB_RELEASE') == 'SNAPSHOT'
            words = [self.openwrt['DISTRIB_ID'], self.openwrt.get('DISTRIB_RELEASE', ''),
                     self.openwrt.get('DISTRIB_REVISION', '') if snapshot else '']
        else:
            versions = (self.release.get(key) for key in ('VERSION', 'VERSION_ID', 'VERSION_CODENAME'))
            words = [self.release.get('NAME', ''), re.sub(r'\(.*\)', '', next(filter(None, versions), ''))]
        return plain(' '.join(words)) or None

    def aes(self) -> Optional[str]:
        """See aes_instructions()."""
        return aes_instructions(self.info)

    def virtual(self) -> Optional[str]:
        """Firmware names, the x86 flag, QEMU's MIPS cores (which have no revision), its PowerPC and ARM boards."""
        first = self.info.first
        if self.foreign or re.match(r'MIPS \S+ V0\.0', first.get('cpu model', '')) or 'by qemu' in first.get('model', ''):
            return 'qemu'
        if self.host.text('/sys/hypervisor/type').strip() == 'xen':
            return 'xen'
        named = hypervisor(self._dmi('sys_vendor'), self._dmi('product_name'), self.host.text('/proc/device-tree/model'))
        return named or ('hypervisor' if 'hypervisor' in first.get('flags', '').split() else None)

    def memory_mb(self) -> Optional[int]:
        """MemTotal."""
        total = parse_meminfo(self.host.text('/proc/meminfo')).get('MemTotal')
        return round(total / 1024) if total else None

    def counters(self, name: str) -> Optional[Counters]:
        """See Machine."""
        place = '/sys/class/net/%s/' % name
        index, rx, tx = self.host.look(place + 'ifindex', place + 'statistics/rx_bytes', place + 'statistics/tx_bytes')
        if rx and tx:
            return Counters(self.host.clock(), whole_number(rx), whole_number(tx), whole_number(index))
        known = parse_net_dev(self.host.text('/proc/net/dev')).get(name)
        return Counters(self.host.clock(), *known) if known else None

    def processes(self, names: Sequence[str]) -> Dict[int, float]:
        """See Machine. /proc counts in hundredths for every kernel."""
        numbers = [number for number in self.host.names('/proc') if number.isdigit()]
        found = [number for number, name in zip(numbers, self.host.look(*['/proc/%s/comm' % number for number in numbers])) if name in names]
        times = [process_time(text, 100.0) for text in self.host.look(*['/proc/%s/stat' % number for number in found])]
        return {int(number): seconds for number, seconds in zip(found, times) if seconds is not None}

    def link_speed(self, name: str) -> Optional[float]:
        """See Machine."""
        return float(whole_number(self.host.look('/sys/class/net/%s/speed' % name)[0])) or None

    def offloads(self) -> bool:
        """See Machine."""
        return self.host.output('uci', '-q', 'get', 'firewall.@defaults[0].flow_offloading_hw').strip() == '1'

    def available_kb(self) -> Optional[int]:
        """See available_kb()."""
        return available_kb(parse_meminfo(self.host.text('/proc/meminfo')))

    def governor(self) -> Optional[str]:
        """Of the first group of cores."""
        texts = (self.host.text(policy + '/scaling_governor') for policy in self.policies)
        return next((plain(text, 20) for text in texts if text), None)

    def mixed_cores(self) -> bool:
        """Different ARM parts, or groups with different highest clocks."""
        return len(self.info.parts) > 1 or len(set(self._policy_mhz('cpuinfo_max_freq'))) > 1

    def ticks(self) -> Optional[Ticks]:
        """/proc/stat, which counts in hundredths for every kernel. From afar its first line has to do, with the sum."""
        return parse_ticks(self.host.text('/proc/stat') if isinstance(self.host, LocalHost) else self.host.look('/proc/stat')[0], 100.0)

    def sense(self) -> Tuple[List[float], Optional[float]]:
        """scaling_cur_freq and the thermal zones."""
        zones = ['/sys/class/thermal/%s/temp' % name for name in self.host.names('/sys/class/thermal') if name.startswith('thermal_zone')]
        seen = self.host.look(*[policy + '/scaling_cur_freq' for policy in self.policies], *zones)
        numbers = [whole_number(text.strip()) for text in seen]
        clocks, degrees = numbers[:len(self.policies)], numbers[len(self.policies):]
        hottest = max([degree / 1000 for degree in degrees if 1000 <= degree < 150000], default=None)
        return [kilohertz / 1000 for kilohertz in clocks if kilohertz], hottest

    def highest_clock(self) -> Optional[float]:
        """cpuinfo_max_freq; scaling_max_freq is what heat or a user have left of it."""
        highest = self._policy_mhz('cpuinfo_max_freq')
        return max(highest) if highest else None

    def crypto_drivers(self) -> List[Driver]:
        """/proc/crypto, asked anew: what is there changes with its use."""
        return parse_crypto(self.host.text('/proc/crypto'))


class FreeBsdMachine(Machine):
    """FreeBSD, pfSense, OPNsense."""

    crypto_method = 'dmesg; kldstat'
    ASKED = ('hw.model', 'hw.machine_arch', 'hw.ncpu', 'hw.physmem', 'hw.clockrate', 'hw.fdt.model',
             'kern.vm_guest', 'dev.cpu.0.freq_levels')

    def __init__(self, host: Host, kernel: str, machine: str) -> None:
        super().__init__(host, kernel, machine)
        self.control = self._sysctl(*self.ASKED)
        self.firmware = parse_assignments(host.output('kenv'))
        self.boot = host.text('/var/run/dmesg.boot') or host.output('dmesg')
        self.machine = plain(self.control.get('hw.machine_arch', '')) or machine

    def _sysctl(self, *names: str) -> Dict[str, str]:
        # Names that a kernel lacks make sysctl fail, but the others are printed all the same.
        return parse_assignments(self.host.run('sysctl', '-e', *names).out)

    def _model(self) -> str:
        found = re.search(r'^CPU: (.*?)\s*\([\d.]+-MHz', self.boot, re.M)
        return self.control.get('hw.model') or (found.group(1) if found else '')

    def _named(self, part: str) -> Optional[str]:
        maker, product, version = (self.firmware.get('smbios.%s.%s' % (part, key), '')
                                   for key in ('maker', 'product', 'version'))
        return maker_product(maker, product, version)

    def device(self) -> Optional[str]:
        """The firmware's system, its mainboard, the device tree."""
        return first_known((lambda: self._named('system'), lambda: self._named('planar'),
                            lambda: device_name(self.control.get('hw.fdt.model', ''))))

    def cpu(self) -> Optional[str]:
        """hw.model, cleaned as on Linux."""
        return x86_label(CpuInfo(0, {'model name': self._model()})) if self._model() else None

    def mhz(self) -> Tuple[Optional[float], Optional[str]]:
        """The name, the levels that powerd may set, what was measured at boot."""
        booted = re.search(r'^CPU: .*\((\d{1,5}(?:\.\d+)?)-MHz', self.boot, re.M)
        clockrate = whole_number(self.control.get('hw.clockrate', '')) or (float(booted.group(1)) if booted else 0)
        for found, source in ((name_mhz(self._model()), 'hw.model'),
                              (levels_mhz(self.control.get('dev.cpu.0.freq_levels', '')), 'dev.cpu.0.freq_levels'),
                              (clockrate, 'hw.clockrate')):
            if found and found < 1e5:
                return found, source
        return None, None

    def cores(self) -> Optional[int]:
        """hw.ncpu."""
        return whole_number(self.control.get('hw.ncpu', '')) or None

    def os(self) -> Optional[str]:
        """The firewall's release where it is one."""
        if self.host.text('/etc/platform').strip().lower() in ('pfsense', 'nanobsd', 'embedded', 'cdrom'):
            return plain('pfSense ' + self.host.text('/etc/version'))
        try:
            import json
            core = json.loads(self.host.text('/usr/local/opnsense/version/core'))
            return plain('OPNsense %s' % core['product_version'])
        except (ValueError, KeyError, TypeError):
            return 'FreeBSD ' + self.kernel

    def aes(self) -> Optional[str]:
        """The processor's features at boot. `aesni0` lines are about the driver, and
        `No AES or SHA support.` is one of them."""
        if not self.boot:
            return None
        if re.search(r'^\s*Features2=\S*<.*\bAESNI\b', self.boot, re.M):
            return 'AES-NI'
        if re.search(r'^\s*Instruction Set Attributes 0 = <.*\bAES\b', self.boot, re.M):
            return 'ARMv8 AES'
        if re.search(r'^\s*VIA Padlock Features=\S*<.*\bAES\b', self.boot, re.M):
            return 'PadLock'
        return 'none' if 'Features' in self.boot or 'Instruction Set' in self.boot else None

    def virtual(self) -> Optional[str]:
        """kern.vm_guest, the firmware, the boot messages."""
        guest = self.control.get('kern.vm_guest', '')
        named = {'hv': 'hyper-v', 'none': '', 'generic': ''}.get(guest, plain(guest, 20))
        texts = (self.firmware.get('smbios.system.' + key, '') for key in ('maker', 'product'))
        booted = 'xen' if 'XEN: Hypervisor' in self.boot else None
        return named or hypervisor(*texts) or booted or ('hypervisor' if guest == 'generic' else None)

    def memory_mb(self) -> Optional[int]:
        """hw.physmem."""
        return round(whole_number(self.control.get('hw.physmem', '')) / (1 << 20)) or None

    def counters(self, name: str) -> Optional[Counters]:
        """See Machine."""
        known = parse_netstat(self.host.output('netstat', '-ibnW', '-f', 'link')).get(name)
        return Counters(self.host.clock(), *known) if known else None

    def available_kb(self) -> Optional[int]:
        """Free and inactive pages."""
        pages = self._sysctl('vm.stats.vm.v_free_count', 'vm.stats.vm.v_inactive_count', 'hw.pagesize')
        free = sum(whole_number(pages.get('vm.stats.vm.v_%s_count' % kind, '')) for kind in ('free', 'inactive'))
        return free * whole_number(pages.get('hw.pagesize', '')) // 1024 or None

    def ticks(self) -> Optional[Ticks]:
        """kern.cp_time, and kern.cp_times of each processor: user nice sys interrupt idle, in ticks of stathz."""
        found = self._sysctl('kern.cp_time', 'kern.cp_times', 'kern.clockrate')
        counts, each = ([int(word) for word in re.findall(r'\b[0-9]{1,18}\b', found.get(name, ''))] for name in ('kern.cp_time', 'kern.cp_times'))
        match = re.search(r'stathz = ([1-9][0-9]{0,8})\b', found.get('kern.clockrate', ''))
        if len(counts) != 5 or not match:
            return None
        hertz = int(match.group(1))
        return Ticks(sum(counts[:4]) / hertz, counts[4] / hertz, tuple(sum(each[i:i + 4]) / hertz for i in range(0, len(each) - 4, 5)))

    def sense(self) -> Tuple[List[float], Optional[float]]:
        """dev.cpu.0.freq and dev.cpu.0.temperature, `57.0C`, in one call: it starts a process."""
        found = self._sysctl('dev.cpu.0.freq', 'dev.cpu.0.temperature')
        clock = whole_number(found.get('dev.cpu.0.freq', ''))
        heat = re.match(r'(\d{1,3}\.\d+)C', found.get('dev.cpu.0.temperature', ''))
        return [float(clock)] if clock else [], float(heat.group(1)) if heat else None

    def highest_clock(self) -> Optional[float]:
        """The nominal level."""
        return levels_mhz(self.control.get('dev.cpu.0.freq_levels', ''))

    def slow_crypto(self) -> bool:
        """cryptodev lets OpenSSL go through the kernel, at the price of a system call each time."""
        return 'cryptodev.ko' in self.host.output('kldstat')

    def crypto_drivers(self) -> List[Driver]:
        """What attached at boot, and modules of engines."""
        return parse_attached(self.boot, self.host.output('kldstat'))


SURVEY = Survey(
    files=(
        '/proc/cpuinfo', '/proc/meminfo', '/proc/mounts', '/proc/uptime', '/etc/os-release', '/etc/openwrt_release', '/tmp/sysinfo/model',
        '/sys/hypervisor/type', '/proc/device-tree/model', '/proc/device-tree/cpus/*/clock-frequency', CPU_DIR + '/online',
        *('%s/%s_%s' % (DMI_DIR, part, key) for part, keys in (
            ('sys', ('vendor',)), ('product', ('name', 'version')), ('board', ('vendor', 'name', 'version'))) for key in keys),
        *('%s/%s/%s' % (CPU_DIR, place, name) for place in ('cpufreq/policy*', 'cpu[0-9]*/cpufreq') for name in (
            'base_frequency', 'cpuinfo_max_freq', 'scaling_available_frequencies', 'scaling_driver', 'scaling_governor')),
        '/var/run/dmesg.boot', '/etc/platform', '/etc/version', '/usr/local/opnsense/version/core'),
    programs=('/bin/busybox', '/bin/sh', '/usr/bin/env'),
    folders=(CPU_DIR, CPU_DIR + '/cpufreq', CPU_DIR + '/cpu[0-9]*', '/sys/class/thermal', '/proc/device-tree/cpus'),
    tools=('time', 'dd', 'openvpn', 'openssl', 'iperf3', 'ip', 'dmesg', 'kenv', 'sysctl', 'kldstat', 'mount', *(manager for manager, _ in INSTALLERS)),
    commands={'FreeBSD': (('kenv',), ('sysctl', '-e', *FreeBsdMachine.ASKED), ('dmesg',), ('kldstat',), ('mount',)),
              'Linux': (('dmesg',),)})


def machine_of(host: Host) -> Machine:
    """The platform, chosen once, by the name that the system gives itself."""
    host.survey(SURVEY)
    system, kernel, machine = host.uname()
    return (FreeBsdMachine if system == 'FreeBSD' else LinuxMachine)(host, plain(kernel), plain(machine))


def clock_is_set(host: Host) -> bool:
    """Whether the machine has been told the date since it was switched on."""
    return time.gmtime(host.now()).tm_year >= RELEASE_YEAR


# --- measuring ----------------------------------------------------------------------------------

STABLE_SPREAD, UNSTABLE_SPREAD = 0.03, 0.05
IDLE_SHARE = 0.10  # of one processor
FULL_SECONDS = 5.0  # of counted runs at least, so that a fast machine's noise averages out
MOST_RUNS = 50
COST_SECONDS = 2.0  # for the small sizes at least, where they are short
MANY_RUNS_SECONDS = 20.0  # five runs rather than three as long as they fit into this
SMALLEST_MTU = 100  # bytes, the smallest that every openvpn takes
COST_MTUS = (SMALLEST_MTU, 4000, 8000)  # packets that stay in a first-level cache, as real ones do
QUICK_SHARE, QUICK_SHARE_LONG = 0.46, 1 / 9.2  # of the full method's time, below and above 20 s


class Listener:
    """Who is told how things go. This one listens to nothing."""

    def note(self, text: str) -> None:
        """A sentence that stays."""

    def progress(self, text: str, left: float) -> None:
        """What is being done now, and the seconds until everything is done."""


class Watch:
    """What else the machine does while something is measured."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.host = machine, machine.host
        self.clocks: List[float] = []
        self.degrees: List[float] = []
        self.sampled = float('-inf')
        self.began = self._now()
        self._feel(working=False)

    def _now(self) -> Tuple[float, Optional[Ticks], float]:
        return self.host.clock(), self.machine.ticks(), self.host.used()

    def _feel(self, working: bool) -> None:
        clocks, hottest = self.machine.sense()
        # The fastest clock is that of the processor at work; the others may rest.
        self.clocks += [max(clocks)] if clocks and working else []
        self.degrees += [] if hottest is None else [hottest]

    def sample(self) -> None:
        """Look at the sensors while it runs, unless that was done a moment ago."""
        if self.host.clock() - self.sampled >= self.host.sense_seconds:
            self.sampled = self.host.clock()
            self._feel(working=True)

    def end(self, own: float = 0.0) -> Watched:
        """The result; `own` s of processor time are the measured command's."""
        self._feel(working=False)
        (clock, ticks, used), (clock_now, ticks_now, used_now) = self.began, self._now()
        others = core = None
        if ticks and ticks_now and clock_now > clock:
            busy = ticks_now.busy - ticks.busy - own - (used_now - used)
            others = max(busy, 0.0) / (clock_now - clock)
            if len(ticks.cores) == len(ticks_now.cores):
                core = max([(after - before) / (clock_now - clock) for before, after in zip(ticks.cores, ticks_now.cores)], default=None)
        return Watched(others, tuple(self.clocks), tuple(self.degrees), core)


def run_warnings(machine: Machine, runs: Sequence[float], watched: Watched, idle: bool, quick: bool) -> Dict[str, bool]:
    """What any repeated measurement can be accused of, by the warning's code."""
    highest, clocks = machine.highest_clock(), watched.clocks
    return {'estimated': quick, 'single-run': len(runs) == 1,
            'unstable': len(runs) > 1 and relative_spread(runs) > UNSTABLE_SPREAD, 'not-idle': not idle,
            'low-clock': bool(highest and clocks and max(clocks) < 0.95 * highest),
            'clock-varied': bool(clocks) and min(clocks) < 0.95 * max(clocks)}


def raised(warnings: Dict[str, bool]) -> List[str]:
    """The codes that hold."""
    return [code for code, is_so in warnings.items() if is_so]


def watched_extra(watched: Watched) -> Dict[str, Any]:
    """For a line: processors that others took, the lowest and the highest clock and temperature."""
    return {'others_cpu': rounded(watched.others),
            'clock_mhz': [min(watched.clocks), max(watched.clocks)] if watched.clocks else None,
            'temperature_c': [min(watched.degrees), max(watched.degrees)] if watched.degrees else None}


def wait_idle(machine: Machine, limit: float, listener: Listener) -> bool:
    """Wait until other programs take under a tenth of a processor, `limit` s at the most. True if
    it came to that, if the system does not tell, or if nobody wants to wait."""
    deadline = machine.host.clock() + limit
    while limit > 0:
        watch = Watch(machine)
        machine.host.sleep(1.0)
        others = watch.end().others
        if others is None or others < IDLE_SHARE:
            return True
        left = deadline - machine.host.clock()
        if left <= 0:
            listener.note('Other programs still take %.0f %% of a processor (`top` shows which); measuring all the same.' % (100 * others))
            return False
        listener.progress('waiting for an idle machine (others take %.0f %% of a processor)' % (100 * others), left)
    return True


class Plan(NamedTuple):
    """How often a run of `seconds` is repeated: `least` times at any rate, until the runs lie within
    3 %, `most` times at the most; `expected` and `limit` are the seconds that these take with
    `rounds` rounds of the small sizes. `fixed` sizes instead of repeats are --quick's."""

    seconds: float
    least: int
    most: int
    rounds: int
    expected: float
    limit: float
    fixed: Tuple[int, ...] = ()


def full_runs(seconds: float) -> int:
    """Runs that the full method makes: five or three, more where they are short, fifty at the most."""
    few = 5 if 5 * seconds <= MANY_RUNS_SECONDS else 3
    return min(max(few, int(FULL_SECONDS / seconds + 0.999)), MOST_RUNS) if seconds > 0 else few


def repeats(least: int, most: int, seconds: float, small: float, spend: float = 0.0) -> Plan:
    """The plan of that many runs. The small sizes take `small` s a round: two rounds, up to twelve
    as long as they stay below an eighth of the time or below `spend` s, but a single one where that
    takes longer than a run."""
    rounds = int(max(least * seconds / 8, spend) / small) if small else 0
    rounds = 1 if small > seconds else max(min(2, least), min(rounds, 12))
    return Plan(seconds, least, most, rounds, least * seconds + rounds * small, most * seconds + rounds * small)


def full_plan(seconds: float, small: float, share: float) -> Plan:
    """The full method within `share` s. Runs that lie apart are repeated up to twice as often, but
    what takes under 20 s stays under 20 s."""
    least = full_runs(seconds)
    spend = min(COST_SECONDS, share / 8)
    if repeats(least, least, seconds, small, spend).expected > share:
        least = 3 if repeats(3, 3, seconds, small, spend).expected <= share else 1
    plan = repeats(least, least, seconds, small, spend)
    bound = min(share, MANY_RUNS_SECONDS) if plan.expected <= MANY_RUNS_SECONDS else share
    spare = int(max(bound - plan.expected, 0.0) / seconds) if least > 1 else 0
    return repeats(least, min(least + spare, 2 * least), seconds, small, spend)


def quick_plan(cost: Cost, longest: Callable[[int], int], mtu: int, share: float, taken: float = 0.0) -> Plan:
    """The same runs, only fewer, where two of them fit into --quick's share of the full method's
    time, of which `taken` s went into the preparation; else runs of smaller sizes from which the
    cost model predicts the full one. Its error grows with the noise of the largest size and the
    distance to it, so that one gets all the time there is, and the small ones just enough to tell
    start-up and the cost per packet apart."""
    def predicted(sizes: Iterable[int]) -> float:
        return sum(run_seconds(cost, longest(size)) for size in sizes)
    seconds, small = predicted([mtu]), predicted(COST_MTUS)
    full = full_plan(seconds, small, 1e9).expected
    budget = min((full + taken) * (QUICK_SHARE if full <= MANY_RUNS_SECONDS else QUICK_SHARE_LONG) - taken, share)
    least = max(int(min(budget - 2 * small, budget / 1.125) / seconds), 1)
    if least >= 2 or full <= MANY_RUNS_SECONDS:
        return repeats(least, least + least // 2 if 2 * budget <= share else least, seconds, small)
    eighth = max(mtu // 8, SMALLEST_MTU)
    few = [SMALLEST_MTU, eighth, SMALLEST_MTU, eighth, SMALLEST_MTU]
    largest, left = mtu, budget - predicted(few)
    while largest > mtu // 4 and predicted([largest]) > left:
        largest -= mtu // 100 or 1
    sizes = few[:2] + [largest] + few[2:]
    if len({longest(size) for size in sizes}) < 3 or predicted(sizes) > seconds:
        return repeats(1, 1, seconds, small)  # the whole run tells more for less
    return Plan(seconds, 0, 0, 0, predicted(sizes), predicted(sizes), tuple(sizes))


def noise(samples: Sequence[Sample]) -> float:
    """Relative scatter of runs of the same length, at least 1 %."""
    apart = []
    for longest in {sample.longest for sample in samples}:
        same = [sample.seconds for sample in samples if sample.longest == longest]
        apart += [value / median(same) - 1 for value in same] if len(same) > 1 else []
    return max(0.01, (sum(value * value for value in apart) / len(apart)) ** 0.5) if apart else 0.03


def prediction_error(samples: Sequence[Sample], longest: int) -> float:
    """Twice the standard error, in per cent, of the prediction for `longest` from the samples: each
    is shaken by 1 % in turn, and the scatter they show says how much they really shake."""
    def predict(changed: Sequence[Sample]) -> float:
        cost = fit_cost(changed)
        return run_seconds(cost, longest) if cost else 0.0
    middle = predict(samples)
    if not middle:
        return 100.0
    moves = [predict([s._replace(seconds=s.seconds * (1.01 if i == k else 1)) for i, s in enumerate(samples)])
             / middle - 1 for k in range(len(samples))]
    return 100 * 2 * noise(samples) / 0.01 * float(sum(move * move for move in moves) ** 0.5)


# --- testbed ------------------------------------------------------------------------------------
# A server and its clients on one box, as network namespaces that nobody else is in. A shell waits at the end of a pipe and
# takes them down when this program closes it or is no more, whatever ended it.

BED_NAME = r'rb-([0-9]{1,9})-[0-9a-f]{4}-[a-z0-9]{1,4}\Z'
KEEPER = """\
trap '' HUP INT TERM
read -r _ || sleep 1
{ for N; do for P in $(ip netns pids "$N"); do kill -9 "$P"; done; ip netns del "$N"; done; } >/dev/null 2>&1"""
BED_SECONDS = 20.0  # for a step of making or removing one
IPERF_PORT = 5201


class Testbed:
    """Namespaces for a server and its clients, each with a link of its own to the server, and an iperf3 server per client."""

    def __init__(self, host: LocalHost, clients: int) -> None:
        self.host = host
        mark = 'rb-%d-%s-' % (os.getpid(), os.urandom(2).hex())
        self.server, self.clients = mark + 's', tuple('%sc%d' % (mark, i) for i in range(clients))
        self.keeper: Optional[Job] = None
        self.jobs: List[Job] = []

    def open(self) -> None:
        """Make it; what an earlier one may have left is removed. Raises Unmeasurable."""
        names = (self.server, *self.clients)
        left = [name for name in self.host.names('/run/netns') for match in [re.match(BED_NAME, name)] if match and not process_exists(int(match.group(1)))]
        if left:
            self.host.run('/bin/sh', '-c', KEEPER, 'sh', *left)
        self.keeper = self.host.start(('/bin/sh', '-c', KEEPER, 'sh', *names), talk=True)
        for name in names:
            self.ip('netns', 'add', name)
            self.ip('-n', name, 'link', 'set', 'lo', 'up')
        for i, client in enumerate(self.clients):
            self.ip('-n', self.server, 'link', 'add', 'c%d' % i, 'type', 'veth', 'peer', 'name', 's0', 'netns', client)
            self.bring_up(self.server, 'c%d' % i, self.near(i) + '/24')
            self.bring_up(client, 's0', self.far(i) + '/24')
            self.start(self.server, 'iperf3', '-s', '-p', str(IPERF_PORT + i))

    def near(self, client: int) -> str:
        """The server's address for a client, without any tunnel."""
        return '10.90.%d.1' % client

    def far(self, client: int) -> str:
        """A client's address, without any tunnel."""
        return '10.90.%d.2' % client

    def ip(self, *words: str) -> str:
        """What `ip` prints. Raises Unmeasurable where it, or the kernel, cannot do that."""
        ran = self.host.run('ip', *words, limit=BED_SECONDS)
        if ran.status == 0:
            return ran.out
        said = telling_line(ran.err or ran.out)
        if re.search('not permitted|Permission denied', said):
            raise Unmeasurable('needs-root', 'network namespaces are root\'s: run it with sudo', 'skipped')
        if re.search("invalid argument 'netns'|Object \"netns\"|unrecognized option|invalid option", said):
            raise Unmeasurable('tool-missing', 'this `ip` has no namespaces: %s' % install_hint(self.host, 'ip'), 'skipped')
        raise Unmeasurable('kernel-unsupported', 'the kernel refuses what `ip` asks of it (%s)' % without_paths(said), 'skipped')

    def bring_up(self, where: str, name: str, address: str) -> None:
        """Give an interface its address and switch it on."""
        self.ip('-n', where, 'addr', 'add', address, 'dev', name)
        self.ip('-n', where, 'link', 'set', name, 'up')

    def inside(self, where: str, *argv: str) -> Tuple[str, ...]:
        """A command in a namespace."""
        return ('ip', 'netns', 'exec', where, *argv)

    def start(self, where: str, *argv: str) -> Job:
        """Start what runs until stop()."""
        self.jobs.append(self.host.start(self.inside(where, *argv)))
        return self.jobs[-1]

    def stop(self, jobs: Iterable[Job]) -> None:
        """End some of what was started."""
        for job in jobs:
            self.jobs.remove(job)
            self.host.end(job)

    def counters(self, where: str, name: str) -> Optional[Counters]:
        """What an interface in a namespace has counted."""
        known = parse_net_dev(self.host.output(*self.inside(where, 'cat', '/proc/net/dev'))).get(name)
        return Counters(self.host.clock(), *known) if known else None

    def close(self) -> None:
        """Take everything down."""
        self.stop(list(self.jobs))
        if self.keeper and self.keeper.alive():
            self.keeper.say('\n')
            self.keeper.hang_up()
            self.host.finish(self.keeper, BED_SECONDS)


# --- tests --------------------------------------------------------------------------------------
# A test is a class of one family; TESTS is their registry, and adding one touches only that.

class Options(NamedTuple):
    """What the user asked for, in units of the program: seconds, counts, names."""

    ciphers: Tuple[str, ...] = ()
    auths: Tuple[str, ...] = ()
    tun_mtu: int = 20000
    engine: Optional[str] = None
    processes: int = 1
    quick: bool = False
    budget: float = 1200.0
    wait: float = 30.0
    limit: Optional[float] = None
    ssh: Tuple[str, ...] = ()
    legacy: bool = False
    peer: Optional[Destination] = None
    load: Tuple[str, ...] = ()
    direct: Optional[str] = None
    through: Optional[str] = None
    loopback: bool = False
    vpns: Tuple[str, ...] = ()
    protos: Tuple[str, ...] = ('udp',)
    devs: Tuple[str, ...] = ('tun',)
    clients: int = 1
    time: Optional[float] = None
    parallel: int = 1
    reverse: bool = False
    both: bool = False
    bind: Optional[str] = None
    udp: bool = False
    port: int = IPERF_PORT


class Context(NamedTuple):
    """What a test works with; `done` are the lines of this run so far."""

    host: Host
    machine: Machine
    options: Options
    listener: Listener
    done: Sequence[Line] = ()


class Result(NamedTuple):
    """What one measurement adds to a Line: values for its keys by name. `asked` is false for what
    the user did not ask for, so that its absence is no failure."""

    values: Dict[str, Any]
    asked: bool = True


class Test:
    """One kind of measurement."""

    name = ''
    title = ''
    usual = True  # whether it is worth while where nobody has named it

    def __init__(self, context: Context) -> None:
        self.context = context
        self.host = context.host

    def by_default(self) -> bool:
        """Whether it runs when no test was named."""
        return self.usual

    def ready(self) -> str:
        """What will be measured with, in words. Raises Unmeasurable with the remedy."""
        raise NotImplementedError

    def measure(self) -> Iterator[Result]:
        """Every result, or why there is none, in the order they come. Raises Unmeasurable where
        nothing at all can be measured."""
        raise NotImplementedError


PROBED_MTUS = (1900, 2000)  # above the floor of 1600 that openvpn 2.6 and later put under the packet length
REAL_PACKET = 1420  # bytes that a tunnel over Ethernet carries in a packet
PROBE_SECONDS = 60.0
WARM_UP_BELOW = 5.0  # seconds; in longer runs the time a governor needs to raise the clock is lost
LEAST_MEMORY_KB = 8192  # what openvpn takes on x86-64 with OpenSSL 3
ALGORITHMS = (('aes128', 'AES128'), ('aes192', 'AES192'), ('aes256', 'AES256'), ('chacha20', 'CHACHA20'),
              ('bf-', 'BLOWFISH'), ('des-ede3', '3DES'), ('camellia-128', 'CAMELLIA128'),
              ('camellia-256', 'CAMELLIA256'))

SENSED = {
    'clock_mhz': 'lowest and highest clock of the processor seen meanwhile',
    'temperature_c': 'lowest and highest temperature seen meanwhile',
    'governor': 'what set the clock',
    'clock': 'whose clock timed it: `monotonic` (of the machine itself, by the agent), with --on `time` or `uptime` (the router\'s own) or '
             '`local` (this machine\'s, less what the connection costs)',
}
EXTRA: Dict[str, Dict[str, str]] = {
    'openvpn': {
        'tun_mtu': 'the --tun-mtu of the counted runs',
        'packets': 'longest packet by the binary\'s own log: it worked on every length from 1 to this',
        'mbit_s_3200': 'the guide\'s formula, 8 N (N+1) / 10^6 Mbit with N = tun_mtu, by `seconds`; for comparison',
        'net_mbit_s': 'the same work without the time that a run with no cipher and no digest takes; null if lost in noise',
        'per_packet_us': 'time per packet that does not depend on its size, for encrypting and decrypting it',
        'per_byte_ns': 'time per byte, for encrypting and decrypting it',
        'mbit_s_1420': 'the forecast for packets of 1420 bytes, which is what a tunnel carries',
        'start_ms': 'start-up, once a run',
        'user_s': 'processor time of a run in the program',
        'system_s': 'processor time of a run in the kernel',
        'others_cpu': 'processors that other programs kept busy meanwhile (1 = one whole processor)',
        **SENSED,
        'processes': 'openvpn processes that ran at once; `mbit` is their sum',
        'dco_build': 'true if this build can leave the data channel to the kernel, which is not measured here',
        'error_pct': '--quick: twice the standard error of `mbit_s`, in per cent',
        'samples': '--quick: [longest packet, seconds] of each run that the line rests on'},
    'openssl': {
        'block_bytes': 'size of the blocks that `mbit_s` is from',
        'mbit_s_16': 'rate with blocks of 16 bytes; builds before 1.1.1 choose the sizes themselves',
        'mbit_s_1424': 'rate with blocks of 1424 bytes',
        'per_call_us': 'time of a call that does not depend on its size',
        'per_byte_ns': 'time per byte',
        'clock_mhz': SENSED['clock_mhz'], 'temperature_c': SENSED['temperature_c'], 'governor': SENSED['governor']},
    'interface': {
        'interface': 'its name',
        'direction': '`in` or `out`: the one with the higher peak, which `mbit_s` is of',
        'window_s': 'seconds over which the highest average was looked for',
        'peak_in_mbit_s': 'the highest average of what came in',
        'peak_out_mbit_s': 'and of what went out',
        'mean_in_mbit_s': 'average over the whole time',
        'mean_out_mbit_s': 'the same of what went out',
        'total_in_mbit': 'all that came in, in Mbit',
        'total_out_mbit': 'and all that went out',
        'watched_s': 'seconds that the counters were seen',
        'resets': 'how often the counters began anew, or the interface was away',
        'link_mbit_s': 'rate of the interface, where its driver knows it',
    },
    'iperf3': {
        'local_cpu': 'processors that the end which printed it kept busy (1 = one whole processor)',
        'remote_cpu': 'the same of the other end',
        'retransmits': 'TCP segments that were sent again',
        'protocol': 'TCP or UDP',
        'iperf': 'version of iperf3; of `run tunnel`, as all that follow',
        'way': '`direct` or `tunnel`',
        'direction': '`up`: this end sends, `down`: it receives',
        'streams': 'connections at once (-P)',
        'direct_mbit_s': 'what went the direct way in the same rounds',
        'efficiency': 'the tunnel\'s rate by the direct one',
        'interface': 'what the traffic left by, and came back by, at this end',
        'carried': 'what the counters of that interface, or of IPsec\'s states, grew by, in parts of what iperf3 received',
        'limit': 'what the bottleneck was: `crypto`, `packet path`, `VPN process` (the two together), `link`, iperf3 at `this end` or the `other end`, '
                 '`processor` (one of them, or all), `other`; null where that cannot be told',
        'vpn_cpu': 'processors that the busiest of the VPN\'s processes kept busy; null for a VPN in the kernel',
        'router_cpu': 'processors that everything on this machine kept busy meanwhile',
        'ceiling_mbit_s': 'what the cipher alone reaches with packets of 1420 bytes, by an openvpn or kernel line of this run or, with --loopback, a short test',
        'crypto_share': 'how much of the time that the VPN took at one end went into the cipher, by that',
        'one_end_mbit_s': '--loopback: what this machine would reach as one end, on one core, by the processor time that the VPN took',
        'dev': '--loopback: `tun` or bridged `tap`', 'proto': '--loopback: what carried the tunnel', 'keys': '--loopback: `static` or `tls`',
        'dco': '--loopback: whether the kernel did the data channel',
        'clients': '--loopback: clients at once; `mbit_s` is their sum', 'client_mbit_s': 'the rate of each, if several', 'fairness': 'Jain\'s index of these: 1 if all got the same',
        'link_mbit_s': 'rate of the interface of the direct way, where its driver knows it',
        'clock_mhz': SENSED['clock_mhz'], 'temperature_c': SENSED['temperature_c'], 'governor': SENSED['governor'],
    },
    'kernel': {
        'name': 'the kernel\'s name of the algorithm',
        'kind': 'what does the work: `generic` C, the processor\'s `instructions`, a crypto `engine`, `library` (the kernel picks by itself), `mixed`',
        'unit': 'which: `AES-NI`, `ARM CE`, `SPE`, `CESA`, `EIP93`, ...',
        'module': 'the kernel module, `kernel` if it is built in',
        'priority': 'by which the kernel ranks it',
        'in_use': 'whether the kernel picks it',
        'request_bytes': 'size of the requests that `mbit_s` is from, half encrypting and half decrypting',
        'encrypt_mbit_s': 'their rate when encrypting',
        'decrypt_mbit_s': 'and when decrypting; null for a digest',
        'mbit_s_16': 'rate of requests of 16 bytes, with the cost of the request',
        'mbit_s_1424': 'the same of 1424 bytes, the whole number of blocks next to a full packet',
        'mbit_s_16384': 'the same of 16384 bytes',
        'per_request_us': 'time of a request that does not depend on its size: the system call, Python, an engine\'s latency',
        'per_byte_ns': 'time per byte',
        'net_mbit_s': '8 bits by the time per byte: the driver\'s rate without the cost of requests',
        'net_mbit_s_1424': 'the same between requests of 16 and of 1424 bytes',
        'faster_from': 'bytes of a request from which this driver beats the generic one; 0 if always, null if never or if there is none',
        'others_cpu': 'processors kept busy meanwhile, this program not counted',
        'clock_mhz': SENSED['clock_mhz'], 'temperature_c': SENSED['temperature_c'], 'governor': SENSED['governor']},
    'ssh': {
        'bytes': 'bytes that arrived in each counted transfer; the document\'s are 100,000,000',
        'mbit_long': 'Mbit of the longer transfers that follow where those take under 3 s; else null',
        'mbit_s_long': 'their rate, in which buffers and the first packets weigh less',
        'dd_s': 'what dd itself says about the last counted transfer, where it says anything',
        'connect_s': 'until the first byte: connection, key exchange, login',
        'rtt_ms': 'a question and its answer over the open connection',
        'client': 'the ssh client',
        'router_cpu': 'processors that the router kept busy meanwhile, with everything it did',
        'client_cpu': 'the same of the ssh client alone, on the machine that ran it',
        'link_mbit_s': 'rate of this machine\'s interface towards the other end, where its driver knows it',
        'limit': 'who was the bottleneck: `router`, `client`, `link`, `both ends` of a loopback, `other` (nobody was busy); null where that cannot be told',
        'legacy': 'what --legacy-ssh let the client do',
        **SENSED,
        'error_pct': '--quick: twice the standard error of `mbit_s`, in per cent'},
}


def is_aead(cipher: str) -> bool:
    """Whether a cipher authenticates by itself, so that openvpn uses no digest with it."""
    return cipher.endswith(('-gcm', '-ccm', '-poly1305'))


def table_column(cipher: str) -> str:
    """The hardware table's column: `AES128` for `aes-128-cbc`."""
    return next((column for prefix, column in ALGORITHMS if cipher.replace('aes-', 'aes').startswith(prefix)),
                cipher.split('-')[0].upper())


class Combination(NamedTuple):
    """One cipher with one digest (None for AEAD)."""

    cipher: str
    auth: Optional[str]
    asked: bool = True

    def words(self) -> Tuple[str, ...]:
        """The options: capitals, which mbed TLS builds insist on and the others take."""
        cipher = 'none' if self.cipher == 'none' else self.cipher.upper()
        return ('--cipher', cipher) + (('--auth', self.auth) if self.auth else ())

    def title(self) -> str:
        """`AES-256-CBC + SHA1`."""
        if self.cipher == self.auth == 'none':
            return 'the same without encryption'
        return self.words()[1] + (' + ' + self.auth if self.auth else '')


class Prepared(NamedTuple):
    """A combination that works here: a rough cost, what one full run will take by it, and how long
    it took to find that out."""

    combination: Combination
    cost: Cost
    seconds: float
    taken: float


class Timing(NamedTuple):
    """A combination's time: of one full run (measured or predicted), of every counted run, of every
    run of every size; processor time of one run; what else went on."""

    seconds: float
    runs: Tuple[float, ...]
    samples: Tuple[Sample, ...]
    user: float
    system: float
    watched: Watched


OPENVPN_REMEDIES: Dict[str, str] = {
    'auth-unsupported': '%(library)s has no digest %(auth)s; `openvpn --show-digests` lists what it has',
    'bad-mtu': 'this openvpn refuses --tun-mtu %(mtu)d: %(said)s',
    'cipher-unsupported': '%(library)s does not have %(cipher)s; `openvpn --show-ciphers` lists what it has, and '
                          'a build with OpenSSL has the most',
    'engine-unavailable': 'no crypto engine %(engine)s: %(said)s; `openvpn --show-engines` lists what there is',
    'mode-unsupported': '%(tool)s with %(library)s has %(cipher)s but cannot use its mode here; '
                        'aes-256-cbc works everywhere',
    'no-space': 'no room for the key: %(said)s; free some of /tmp or point TMPDIR elsewhere',
    'tool-failed': 'openvpn ended with status %(status)d: %(said)s; the command in `method` shows all it says',
}


class Openvpn:
    """The openvpn of a host: what it is, how it wants to be called, and one run of it."""

    def __init__(self, host: Host, machine: Machine, options: Options) -> None:
        self.host, self.machine, self.options = host, machine, options
        self.build = Build('OpenVPN', None, False)
        self.key = ''
        self.genkey = ''
        self.lengths: Dict[int, int] = {}

    def check(self) -> str:
        """Its version and library in words. Raises Unmeasurable with the remedy."""
        if not self.host.find('openvpn'):
            raise Unmeasurable('tool-missing', 'openvpn is not in %s: %s' % (
                ', '.join(SYSTEM_PATH[:6]), install_hint(self.host, 'openvpn')), 'skipped')
        free, need = self.machine.available_kb(), LEAST_MEMORY_KB * self.options.processes
        if free is not None and free < need:
            remedy = 'stop a service' if self.options.processes == 1 else 'ask for fewer --processes'
            raise Unmeasurable('low-memory', 'only %d kB of memory are free and openvpn needs about %d: %s and try '
                               'again' % (free, need, remedy), 'skipped')
        ran = self.host.run('openvpn', '--version', limit=self._limit(0))
        if ran.timed_out or ran.status > 2:  # its status for this is 1 up to 2.4
            self._refuse(ran, Combination('none', 'none'), 0)
        self.build = parse_openvpn_version(ran.out) or self.build
        return ', '.join(filter(None, (self.build.tool, self.build.library)))

    def _limit(self, expected: float) -> float:
        return self.options.limit or max(PROBE_SECONDS, 20 * expected) * self.options.processes

    def command(self, combination: Combination, mtu: int, key: str, verb: int = 0) -> Tuple[str, ...]:
        """The command line, in the order of the guide's."""
        secret = ('--secret', key) if key else ()
        engine = ('--engine', self.options.engine) if self.options.engine else ()
        return ('openvpn', '--test-crypto', *secret, '--verb', str(verb), '--tun-mtu', str(mtu),
                *combination.words(), *engine)

    def method(self, combination: Combination) -> str:
        """The command as one could type it."""
        words = ' '.join(self.command(combination, self.options.tun_mtu, '/tmp/secret' if self.key else ''))
        if self.options.processes > 1:
            words = "sh -c 'for i in $(seq %d); do %s & done; wait'" % (self.options.processes, words)
        return (self.genkey + '; ' if self.genkey else '') + 'time ' + words

    def _refuse(self, ran: Ran, combination: Combination, mtu: int) -> NoReturn:
        """Raise what a run that was no success means."""
        if ran.timed_out:
            raise Unmeasurable('timeout', 'openvpn did not end within %.0f s and was stopped; --limit gives it '
                               'more time' % ran.seconds)
        if ran.status == 126 and re.search('Too many|annot allocate|temporarily', ran.err):
            raise Unmeasurable('low-memory', 'the system could not start openvpn (%s): stop a service, or ask for fewer '
                               '--processes' % plain(ran.err))
        if ran.status in (126, 127):
            raise Unmeasurable('tool-broken', 'openvpn is there but does not run (%s): reinstall it, %s' % (
                plain(ran.err) or 'status %d' % ran.status, install_hint(self.host, 'openvpn')))
        if ran.status > 128:
            raise Unmeasurable('killed', 'openvpn was ended by signal %d; if that was for want of memory, the end '
                               'of `dmesg` says so' % (ran.status - 128))
        said = without_paths(ran.out + ran.err)
        reason = openvpn_refusal(said) or 'tool-failed'
        detail = OPENVPN_REMEDIES[reason] % {
            'library': self.build.library or 'this build', 'tool': self.build.tool, 'auth': combination.auth,
            'cipher': combination.words()[1], 'mtu': mtu, 'engine': self.options.engine, 'status': ran.status,
            'said': telling_line(said)}
        raise Unmeasurable(reason, detail, 'failed' if reason in ('tool-failed', 'no-space') else 'skipped')

    def make_key(self) -> None:
        """A static key, which openvpn up to 2.6 asks for. The spelling changed with 2.5; later
        versions warn about the old one and do it, older ones refuse the new one."""
        try:
            path = self.host.private_path('key')
        except NoSpace as error:
            raise Unmeasurable('no-space', str(error)) from error
        for words in (('secret',), ('--secret',)):
            ran = self.host.run('openvpn', '--genkey', *words, path, limit=self._limit(0))
            if ran.status == 0 and self.host.text(path):
                self.key = path
                self.genkey = 'openvpn --genkey %s /tmp/secret' % words[0]
                return
        self._refuse(ran._replace(status=ran.status or 1), Combination('none', 'none'), 0)

    def probe(self, combination: Combination, mtu: int) -> int:
        """The longest packet of a run with this --tun-mtu, by the binary's own log. At verb 1, so
        it is never timed. Raises Unmeasurable."""
        def run() -> Ran:
            return self.host.run(*self.command(combination, mtu, self.key, 1), limit=self._limit(0))
        ran = run()
        if ran.status == 1 and NEEDS_KEY in ran.out and not self.key:
            self.make_key()
            ran = run()
        no_engine = self.options.engine and openvpn_refusal(ran.out) == 'engine-unavailable'
        if ran.status or ran.timed_out or no_engine:
            self._refuse(ran, combination, mtu)
        longest = last_packet_length(ran.out)
        if longest is None:
            raise Unmeasurable('output-unknown', 'openvpn ended well but logged no packet lengths (%s): '
                               'is it a real openvpn?' % telling_line(ran.out + ran.err))
        self.lengths[mtu] = longest
        return longest

    def longest(self, combination: Combination, mtu: int) -> int:
        """The longest packet for a --tun-mtu. Small ones are probed; a larger one is, byte by byte,
        as much longer as its --tun-mtu is larger, if two probes show that it grows so."""
        if mtu in self.lengths:
            return self.lengths[mtu]
        if mtu <= PROBED_MTUS[1]:
            return self.probe(combination, mtu)
        lower, upper = (self.longest(combination, probed) for probed in PROBED_MTUS)
        if upper - lower != PROBED_MTUS[1] - PROBED_MTUS[0]:
            return self.probe(combination, mtu)
        return upper + mtu - PROBED_MTUS[1]

    def timed(self, combination: Combination, mtu: int, expected: float, tick: Tick = no_tick) -> Tuple[Sample, Ran]:
        """One timed run (of all processes together) and the sum of what they used."""
        longest = self.longest(combination, mtu)
        command = self.command(combination, mtu, self.key)
        rans = self.host.run_all([command] * self.options.processes, self._limit(expected), tick)
        seconds = max(ran.seconds for ran in rans)
        for ran in rans:
            if ran.status or ran.timed_out:
                self._refuse(ran, combination, mtu)
        if seconds <= 0:
            raise Unmeasurable('output-unknown', 'a run took no time at all: is it a real openvpn?')
        return Sample(longest, seconds), rans[0]._replace(
            user=sum(ran.user for ran in rans), system=sum(ran.system for ran in rans))


class OpenvpnTest(Test):
    """`openvpn --test-crypto`: every packet length from 1 to N is encrypted and decrypted, by the
    code that a tunnel uses, in one process. The method of the pfSense and RRZN guides."""

    name = 'openvpn'
    title = 'OpenVPN\'s data channel (openvpn --test-crypto)'

    # What not every build has is measured where it is there, and not missed elsewhere.
    DEFAULTS = (('aes-128-cbc', 'SHA1'), ('aes-256-cbc', 'SHA1'), ('aes-256-gcm', None), ('chacha20-poly1305', None))

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.options = context.options
        self.openvpn = Openvpn(context.host, context.machine, context.options)

    def ready(self) -> str:
        """See Test."""
        return self.openvpn.check()

    def combinations(self) -> List[Combination]:
        """Every cipher with every digest asked for; without a wish, the documents' and the AEADs."""
        options = self.options
        if not options.ciphers and not options.auths:
            return [Combination(cipher, auth, auth is not None) for cipher, auth in self.DEFAULTS]
        ciphers = options.ciphers or tuple(cipher for cipher, auth in self.DEFAULTS if auth)
        wanted = [Combination(cipher, None if is_aead(cipher) else auth)
                  for cipher in ciphers for auth in options.auths or ('SHA1',)]
        return list(dict.fromkeys(wanted))

    def measure(self) -> Iterator[Result]:
        """See Test."""
        self.context.listener.note(self.ready())
        self.host.calibrate()
        idle = wait_idle(self.context.machine, self.options.wait, self.context.listener)
        prepared: List[Prepared] = []
        refused: List[Combination] = []
        for combination in self.combinations():
            try:
                prepared.append(self.prepare(combination))
            except Unmeasurable as error:
                refused.append(combination)
                yield Result(self._no_values(combination, error), combination.asked)
        if prepared:
            baseline = self._prepare_baseline(prepared, refused)
            yield from self._measure_prepared(prepared, baseline, idle)

    def _measure_prepared(self, prepared: List[Prepared], baseline: Optional[Prepared], idle: bool) -> Iterator[Result]:
        """Measure them, what only is subtracted from the others first."""
        queue = ([baseline] if baseline else []) + [one for one in prepared if one != baseline]
        plans = self._plans(queue, None if baseline in prepared else baseline)
        self._announce(len(prepared), plans)
        floor: Optional[Timing] = None
        for i, (one, plan) in enumerate(zip(queue, plans)):
            try:
                timing = self._series(one, plan, sum(later.expected for later in plans[i + 1:]))
            except Unmeasurable as error:
                if one in prepared:
                    yield Result(self._no_values(one.combination, error), one.combination.asked)
                continue
            floor = timing if one == baseline else floor
            if one in prepared:
                yield Result(self._values(one.combination, timing, floor, idle))

    def prepare(self, combination: Combination) -> Prepared:
        """See whether it works, and roughly what it costs: start-up from the smallest run, the
        cost per byte from a larger one where that is quick. Raises Unmeasurable."""
        self.context.listener.progress('looking at %s' % combination.title(), 0)
        began = self.host.clock()
        self.openvpn.probe(combination, SMALLEST_MTU)
        small, _ = self.openvpn.timed(combination, SMALLEST_MTU, 0)
        start, byte = 0.0, small.seconds / total_bytes(small.longest)
        if small.seconds < 2:
            large, _ = self.openvpn.timed(combination, COST_MTUS[2 if small.seconds < 0.1 else 1], small.seconds)
            grown = (large.seconds - small.seconds) / (total_bytes(large.longest) - total_bytes(small.longest))
            byte = grown if grown > 0 else large.seconds / total_bytes(large.longest)
            start = max(small.seconds - byte * total_bytes(small.longest), 0.0)
        cost = Cost(start, 0.0, byte)
        seconds = run_seconds(cost, self.openvpn.longest(combination, self.options.tun_mtu))
        return Prepared(combination, cost, seconds, self.host.clock() - began)

    def _prepare_baseline(self, prepared: List[Prepared], refused: List[Combination]) -> Optional[Prepared]:
        """What the test does besides encrypting: the same with no cipher and no digest. A build
        that can't do that has no net_mbit_s."""
        nothing = Combination('none', 'none')
        asked = [one for one in prepared if one.combination == nothing]
        if asked or nothing in refused:
            return asked[0] if asked else None
        try:
            return self.prepare(nothing)
        except Unmeasurable:
            return None

    def _plans(self, queue: List[Prepared], correction: Optional[Prepared]) -> List[Plan]:
        """The time budget shared out by how long each takes. What only serves as a correction is
        not repeated beyond what a slow machine's results are."""
        total = sum(one.seconds for one in queue)
        plans = [self._plan(one, self.options.budget * one.seconds / total) for one in queue]
        return [self._shortened(one, plan) if one == correction else plan for one, plan in zip(queue, plans)]

    def _plan(self, one: Prepared, share: float) -> Plan:
        def longest(mtu: int) -> int:
            return self.openvpn.longest(one.combination, mtu)
        if self.options.quick:
            return quick_plan(one.cost, longest, self.options.tun_mtu, share, one.taken)
        return full_plan(one.seconds, self._small_seconds(one), share)

    def _small_seconds(self, one: Prepared) -> float:
        return sum(run_seconds(one.cost, self.openvpn.longest(one.combination, mtu)) for mtu in COST_MTUS)

    def _shortened(self, one: Prepared, plan: Plan) -> Plan:
        runs = min(plan.least, max(3, plan.least // 2))
        return plan if plan.fixed else repeats(runs, runs, one.seconds, self._small_seconds(one))

    def _announce(self, count: int, plans: List[Plan]) -> None:
        seconds, most = sum(plan.expected for plan in plans), sum(plan.limit for plan in plans)
        text = '%d measurement%s, about %s' % (count, '' if count == 1 else 's', spoken(seconds))
        if most > 1.5 * seconds:
            text += ', at most %s if the runs lie apart' % spoken(most)
        if seconds > 1.05 * self.options.budget:
            text += ': more than the budget of %s, even with one run each' % spoken(self.options.budget)
        if seconds > 120 and not self.options.quick:
            text += ' (--quick takes a part of that: at most half, and an eighth where a cipher takes over 20 s)'
        self.context.listener.note(text)

    def _series(self, one: Prepared, plan: Plan, later: float) -> Timing:
        """Run the plan. `later` s of other measurements come after it."""
        if plan.seconds < WARM_UP_BELOW:
            self.openvpn.timed(one.combination, min(COST_MTUS[-1], self.options.tun_mtu), plan.seconds)
        watch = Watch(self.context.machine)
        samples: List[Sample] = []
        rans: List[Ran] = []
        until = self.host.clock() + plan.expected

        def run(mtu: int) -> float:
            def tick(_elapsed: float) -> None:
                watch.sample()
                self._progress(one, until, later)
            self._progress(one, until, later)
            sample, ran = self.openvpn.timed(one.combination, mtu, plan.seconds, tick)
            samples.append(sample)
            rans.append(ran)
            return sample.seconds

        runs = self._fixed(plan, run) if plan.fixed else self._repeated(plan, run)
        cost = fit_cost(samples)
        if not runs and not cost:
            runs = [run(self.options.tun_mtu)]  # the small sizes were too restless to predict anything from
        watched = watch.end(sum(self._used(ran) for ran in rans))
        return self._timing(one, runs, samples, rans, watched)

    def _used(self, ran: Ran) -> float:
        """Processor time of a run; where it is counted in coarse steps, the step that may be missing is taken as used."""
        used = ran.user + ran.system
        return max(used, min(used + self.host.cpu_resolution, ran.seconds))

    def _timing(self, one: Prepared, runs: List[float], samples: List[Sample], rans: List[Ran],
                watched: Watched) -> Timing:
        longest = self.openvpn.longest(one.combination, self.options.tun_mtu)
        counted = longest if runs else max(sample.longest for sample in samples)
        pairs = [(sample, ran) for sample, ran in zip(samples, rans) if sample.longest == counted]
        seconds = median(runs) if runs else run_seconds(fit_cost(samples) or one.cost, longest)
        scale = seconds / median([sample.seconds for sample, _ in pairs])
        user, system = (scale * median([getattr(ran, kind) for _, ran in pairs]) for kind in ('user', 'system'))
        return Timing(seconds, tuple(runs), tuple(samples), user, system, watched)

    @staticmethod
    def _fixed(plan: Plan, run: Callable[[int], float]) -> List[float]:
        """The sizes that predict the full run, of which there is none."""
        for mtu in plan.fixed:
            run(mtu)
        return []

    def _repeated(self, plan: Plan, run: Callable[[int], float]) -> List[float]:
        """The seconds of every full run; the rounds of small sizes stand between them."""
        runs: List[float] = []
        began, rounds = self.host.clock(), 0
        while len(runs) < plan.least or (len(runs) < plan.most and relative_spread(runs) > STABLE_SPREAD):
            if len(runs) >= min(3, plan.least) and self.host.clock() - began > 1.5 * plan.limit:
                break  # the estimate was wrong; the announced time counts
            runs.append(run(self.options.tun_mtu))
            while rounds < min(plan.rounds, plan.rounds * len(runs) / plan.least):
                rounds += 1
                for mtu in COST_MTUS:
                    run(mtu)
        return runs

    def _progress(self, one: Prepared, until: float, later: float) -> None:
        left = max(until - self.host.clock(), 0.0) + later
        self.context.listener.progress(one.combination.title(), left)

    def _no_values(self, combination: Combination, error: Unmeasurable) -> Dict[str, Any]:
        return {'status': error.status, 'reason': error.reason, 'detail': error.detail,
                'method': self.openvpn.method(combination), 'extra': {}, **self._names(combination)}

    def _names(self, combination: Combination) -> Dict[str, Any]:
        return {'algorithm': table_column(combination.cipher), 'cipher': combination.cipher, 'auth': combination.auth,
                'tool': self.openvpn.build.tool, 'library': self.openvpn.build.library, 'driver': self.options.engine}

    def _values(self, combination: Combination, timing: Timing, floor: Optional[Timing], idle: bool) -> Dict[str, Any]:
        longest = self.openvpn.longest(combination, self.options.tun_mtu)
        mbit = work_mbit(longest) * self.options.processes
        return {
            **self._names(combination), 'seconds': timing.seconds, 'mbit': mbit, 'mbit_s': mbit / timing.seconds,
            'runs': timing.runs, 'spread': relative_spread(timing.runs) if timing.runs else None,
            'warnings': self._warnings(timing, idle), 'method': self.openvpn.method(combination),
            'extra': self._extra(timing, floor, longest, mbit)}

    def _extra(self, timing: Timing, floor: Optional[Timing], longest: int, mbit: float) -> Dict[str, Any]:
        options, watched = self.options, timing.watched
        net = self._net(timing, floor)
        cost = typical_cost(timing.samples)
        real = packet_mbit_s(cost, REAL_PACKET) if cost else None
        extra: Dict[str, Any] = {
            'tun_mtu': options.tun_mtu, 'packets': longest,
            'mbit_s_3200': rounded(work_mbit(options.tun_mtu) * options.processes / timing.seconds),
            'net_mbit_s': rounded(mbit / net) if net else None,
            'per_packet_us': rounded(1e6 * cost.packet) if cost else None,
            'per_byte_ns': rounded(1e9 * cost.byte, 4) if cost else None,
            'mbit_s_1420': rounded(real * options.processes) if real else None,
            'start_ms': rounded(1e3 * cost.start, 1) if cost else None,
            'user_s': rounded(timing.user), 'system_s': rounded(timing.system), **watched_extra(watched),
            'governor': self.context.machine.governor(), 'clock': self.host.timer, 'processes': options.processes,
            'dco_build': self.openvpn.build.dco}
        if options.quick:
            extra.update(self._quick_extra(timing, longest))
        return extra

    @staticmethod
    def _net(timing: Timing, floor: Optional[Timing]) -> Optional[float]:
        """Seconds of a run without what it does besides encrypting; None where the difference is lost
        in the noise of the two."""
        if floor is None or floor is timing:
            return None
        net = timing.seconds - floor.seconds
        doubt = sum(one.seconds * noise(one.samples) / max(len(one.runs) / 4, 1) ** 0.5 for one in (timing, floor))
        return net if net > max(2 * doubt, 0.05 * timing.seconds) else None

    @staticmethod
    def _quick_extra(timing: Timing, longest: int) -> Dict[str, Any]:
        # Runs that follow each other are disturbed alike: four tell as much as one that stands alone.
        error = (100 * 2 * noise(timing.samples) / max(len(timing.runs) / 4, 1) ** 0.5 if timing.runs
                 else prediction_error(timing.samples, longest))
        return {'error_pct': rounded(error, 1), 'samples': [[s.longest, rounded(s.seconds, 4)] for s in timing.samples]}

    def _warnings(self, timing: Timing, idle: bool) -> List[str]:
        watched, machine = timing.watched, self.context.machine
        used = timing.user + timing.system
        processors = min(self.options.processes, machine.cores() or 1)
        return raised({
            **run_warnings(machine, timing.runs, watched, idle, self.options.quick),
            'short-run': timing.seconds < 1,
            'disturbed': watched.others is not None and watched.others > IDLE_SHARE,
            'cpu-starved': (timing.seconds > 10 * self.host.cpu_resolution and timing.system <= timing.user
                            and used + self.host.cpu_resolution < 0.9 * timing.seconds * processors),
            'system-heavy': timing.system > timing.user})


BLOCK = 500000  # bytes; with 200 blocks the document's 100,000,000 bytes, 800 Mbit
DOCUMENT_BLOCKS = 200
LONG_ENOUGH = 3.0  # seconds, below which buffers and the first packets weigh in a transfer
MOST_BLOCKS = 10000
SILENCE_SECONDS = 30.0  # without a byte: the other end has stopped
IDLE_ROUTER = 0.8  # of a processor, below which the router has time left


def ssh_cipher(name: str) -> str:
    """ssh's name of a cipher: `aes128-cbc` for openvpn's `aes-128-cbc`."""
    name = re.sub(r'^aes-(\d+)-', r'aes\1-', name)
    return name + '@openssh.com' if re.match(r'aes\d+-gcm$|chacha20-poly1305$', name) else name


class Transfer(NamedTuple):
    """One transfer: seconds of the data alone and by whose clock, Mbit, seconds until the first byte,
    what dd itself timed, what was negotiated, and processor time of the ssh on this machine per second."""

    seconds: float
    clock: str
    mbit: float
    connect: float
    dd: Optional[float]
    agreed: Negotiated
    client: float


class Route:
    """The way of the data between this machine and the other end."""

    direction = 'server->client'
    incomplete = '%s%d of %d bytes arrived; the end of `dmesg` and of the log there may say why'

    def __init__(self, far: SshHost) -> None:
        self.far, self.near, self.client, self.timer = far, far.near, far.client, far.timer

    def run(self, cipher: str, blocks: int, limit: float, tick: Tick) -> Tuple[Ran, int]:
        """Make the transfer: how it ended, and the bytes that arrived."""
        raise NotImplementedError

    def timed(self, ran: Ran) -> Tuple[float, str]:
        """Seconds of the data alone, and the clock they are from."""
        raise NotImplementedError

    def method(self, cipher: str, blocks: int) -> str:
        """The command as one could type it."""
        raise NotImplementedError

    def agreed(self, log: str, cipher: str) -> Negotiated:
        """What was really negotiated. dbclient does not say, but offers nothing beside what it was told.
        Raises Unmeasurable if that is not what was asked for."""
        found = Negotiated(cipher, None, 'none') if self.client.dropbear() else negotiated(log, self.direction)
        if found is None:
            raise Unmeasurable('output-unknown', 'ssh did not say which cipher it used, so the figure would mean nothing')
        if found.cipher != cipher or found.compression != 'none':
            raise Unmeasurable('output-unknown', 'ssh was told to use %s without compression and used %s with compression %s'
                               % (cipher, found.cipher, found.compression))
        return found

    def transfer(self, cipher: str, blocks: int, limit: float, tick: Tick = no_tick) -> Transfer:
        """One transfer of that many blocks. Raises Unmeasurable."""
        ran, arrived = self.run(cipher, blocks, limit, tick)
        said = without_time(without_debug(ran.err))
        if ran.timed_out:
            raise Unmeasurable('timeout', 'the transfer stopped after %d of %d bytes' % (arrived, blocks * BLOCK) if ran.seconds < limit
                               else 'the transfer did not end within %.0f s; --limit gives it more time' % limit)
        if ran.first is None and ssh_refusal(said):
            if self._legacy(said):
                return self.transfer(cipher, blocks, limit, tick)
            raise ssh_failure(self.client, ran._replace(err=said), limit, cipher)
        if re.search(r'\btime: (?:command )?not found', said) and self.timer == 'time':
            self.timer = self.far.next_timer()  # /bin/sh knows it, and the login shell does not
            return self.transfer(cipher, blocks, limit, tick)
        if re.search(r"\bdd['\"]?: (?:command not found|not found|No such file)|can't execute 'dd'", said):
            raise Unmeasurable('tool-missing', 'there is no dd at the other end', 'skipped')
        if ran.status or arrived != blocks * BLOCK:
            raise Unmeasurable('incomplete', (self.incomplete % ('only ' if arrived < blocks * BLOCK else '', arrived, blocks * BLOCK)) + ': ' + telling_line(without_paths(without_addresses(said))))
        seconds, clock = self.timed(ran)
        if seconds <= 0:
            raise Unmeasurable('output-unknown', 'a transfer took no time at all')
        copied = parse_dd(ran.err, BLOCK)
        return Transfer(seconds, clock, blocks * BLOCK * 8 / 1e6, ran.first or 0.0, copied.seconds if copied else None,
                        self.agreed(ran.err, cipher), (ran.user + ran.system) / max(ran.seconds, 0.001))

    def _legacy(self, said: str) -> bool:
        """Whether --legacy-ssh allows something that helps against what the client said: the MAC, say, that this cipher
        needs and that of the login did not."""
        reason = ssh_refusal(said) or ''
        allowed = self.client.allow_legacy and reason != 'cipher-unavailable'
        options = self.client.legacy_for(reason, ssh_offer(said)) if allowed else ()
        self.client.legacy += options
        return bool(options)


class Download(Route):
    """The other end encrypts and sends: the document's test."""

    def _dd(self, blocks: int) -> str:
        return 'dd if=/dev/zero bs=%d count=%d' % (BLOCK, blocks)

    def run(self, cipher: str, blocks: int, limit: float, tick: Tick) -> Tuple[Ran, int]:
        """See Route."""
        remote = {'time': 'time ' + self._dd(blocks), 'local': self._dd(blocks),
                  'uptime': "/bin/sh -c 'read -r U F </proc/uptime; %s; read -r V F </proc/uptime; echo uptime $U $V >&2'" % self._dd(blocks)}
        command = self.client.command(self.far.destination, remote[self.timer], cipher, verbose=True)
        ran = self.near.run_all([command], limit, tick, SILENCE_SECONDS)[0]
        # The data are zeros. Text before them is a profile's, text after them what csh's `time` says there.
        return ran._replace(err=ran.err + ran.out.rpartition('\0')[2]), ran.zeros

    def timed(self, ran: Ran) -> Tuple[float, str]:
        """See Route. Without a clock there, ours from the first byte on: that leaves out the login."""
        times = far_times(ran.err)
        if self.timer != 'local' and times.real:
            return times.real, self.timer
        return ran.seconds - (ran.first or 0.0), 'local'

    def method(self, cipher: str, blocks: int) -> str:
        """See Route."""
        return 'ssh -c %s %s time %s > /dev/null' % (cipher, ON_ROUTER, self._dd(blocks))


class Upload(Route):
    """This machine encrypts and sends."""

    direction = 'client->server'

    def run(self, cipher: str, blocks: int, limit: float, tick: Tick) -> Tuple[Ran, int]:
        """See Route. The other end begins with an empty line, so that the first byte marks the end of the login."""
        command = shell_words(self.client.command(self.far.destination, 'echo; wc -c', cipher, verbose=True))
        ran = self.near.run('/bin/sh', '-c', 'dd if=/dev/zero bs=%d count=%d 2>/dev/null | %s' % (BLOCK, blocks, command), limit=limit, tick=tick)
        counts = re.findall(r'^[ \t]*([0-9]{1,15})[ \t]*$', ran.out, re.M)
        return ran, int(counts[-1]) if counts else 0

    def timed(self, ran: Ran) -> Tuple[float, str]:
        """See Route."""
        return ran.seconds - (ran.first or 0.0), self.near.timer

    def method(self, cipher: str, blocks: int) -> str:
        """See Route."""
        return 'dd if=/dev/zero bs=%d count=%d | ssh -c %s user@<fasthost> "cat > /dev/null"' % (BLOCK, blocks, cipher)


class Chosen(NamedTuple):
    """A cipher that both ends have, whether it was asked for, whether it stands in for another, and
    roughly the seconds of a block."""

    cipher: str
    asked: bool
    substituted: bool
    block: float


class Amount(NamedTuple):
    """Blocks of a transfer, the fewest and the most transfers, and whether longer ones follow."""

    blocks: int
    least: int
    most: int
    longer: bool


class Series(NamedTuple):
    """The transfers of one cipher: those that count, longer ones on a fast router, and what the router did
    meanwhile: `others` are all of its programs, dd and the ssh server among them."""

    cipher: str
    transfers: Tuple[Transfer, ...]
    longer: Tuple[Transfer, ...]
    watched: Watched


class SshTest(Test):
    """100 MB of zeros through ssh, whose server or client encrypts them on the router: the method of
    OpenWrt's IPsec page."""

    name = 'ssh'
    title = 'dd over ssh (the table of OpenWrt\'s IPsec page)'

    # A server that has no CBC any more is measured with CTR of the same key size, and the line says so.
    DEFAULTS = (('aes128-cbc', 'aes128-ctr'), ('aes256-cbc', 'aes256-ctr'), ('chacha20-poly1305@openssh.com',))

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.options = context.options
        self.client = self.host.client if isinstance(self.host, SshHost) else SshClient(self.host, self.options.ssh, self.options.legacy)
        self.loopback = not isinstance(self.host, SshHost) and self.options.peer is None

    def by_default(self) -> bool:
        """See Test. Through its own server is a figure for special wishes."""
        return not self.loopback

    def ready(self) -> str:
        """See Test."""
        client = self.client.version()
        if isinstance(self.host, SshHost):
            return client + ' here and the ssh server there'
        return client + (' to the other end' if self.options.peer else
                         ' through this machine\'s own ssh server; --peer USER@HOST names a fast machine instead')

    def wanted(self) -> List[Tuple[Tuple[str, ...], bool]]:
        """The ciphers with what may stand in for each, and whether somebody asked for it."""
        if self.options.ciphers:
            return [((ssh_cipher(name),), True) for name in self.options.ciphers if name != 'none']
        return [(choices, len(choices) > 1) for choices in self.DEFAULTS]

    def measure(self) -> Iterator[Result]:
        """See Test."""
        self.context.listener.note(self.ready())
        route = self._route()
        try:
            route.far.calibrate()
            idle = wait_idle(self.context.machine, self.options.wait, self.context.listener)
            chosen: List[Chosen] = []
            for choices, asked in self.wanted():
                try:
                    chosen.append(self._choose(route, choices, asked))
                except Unmeasurable as error:
                    yield Result(self._no_values(route, choices[-1], error), asked)
            yield from self._measure_chosen(route, chosen, idle)
        finally:
            if route.far is not self.host:
                route.far.close()

    def _measure_chosen(self, route: Route, chosen: Sequence[Chosen], idle: bool) -> Iterator[Result]:
        total = sum(one.block for one in chosen)
        amounts = [self._amount(one, self.options.budget * one.block / total) for one in chosen]
        expected = [amount.least * amount.blocks * one.block + amount.longer * 3 * LONG_ENOUGH for one, amount in zip(chosen, amounts)]
        if chosen:
            self.context.listener.note('%d measurement%s, about %s' % (len(chosen), '' if len(chosen) == 1 else 's', spoken(sum(expected))))
        for i, (one, amount) in enumerate(zip(chosen, amounts)):
            try:
                series = self._series(route, one, amount, sum(expected[i:]))
                yield Result(self._values(route, series, idle, one.substituted), one.asked)
            except Unmeasurable as error:
                yield Result(self._no_values(route, one.cipher, error), one.asked)

    def _route(self) -> Route:
        """The way to the other end, with its shell ready. Raises Unmeasurable."""
        if isinstance(self.host, SshHost):
            return Download(self.host)
        assert isinstance(self.host, LocalHost)
        far = SshHost(self.host, self.client, self.options.peer or Destination('localhost'), self.context.listener.note)
        try:
            far.survey(SURVEY)
        except Unmeasurable as error:
            far.close()
            where = 'this machine\'s own ssh server' if self.loopback else 'the peer'
            raise Unmeasurable(error.reason, '%s: %s%s' % (where, error.detail, '' if self.options.peer else (
                '. Or name another machine with --peer USER@HOST')), 'skipped' if self.loopback else 'failed') from error
        return Download(far) if self.loopback else Upload(far)

    def _choose(self, route: Route, choices: Sequence[str], asked: bool) -> Chosen:
        """The first cipher that both ends have, and roughly what it costs. Raises Unmeasurable."""
        for cipher in choices:
            try:
                return Chosen(cipher, asked, cipher != choices[0], self._rough(route, cipher))
            except Unmeasurable as error:
                if error.reason != 'cipher-unavailable' or cipher == choices[-1]:
                    raise
        raise AssertionError('there is always a choice')

    def _no_values(self, route: Route, cipher: str, error: Unmeasurable) -> Dict[str, Any]:
        return {'status': 'skipped' if error.reason == 'cipher-unavailable' else error.status, 'reason': error.reason, 'detail': error.detail,
                'method': route.method(cipher, DOCUMENT_BLOCKS), 'extra': {}, 'algorithm': table_column(cipher), 'cipher': cipher}

    def _rough(self, route: Route, cipher: str) -> float:
        """Seconds of one block, from as few as tell it."""
        blocks = 2
        while True:
            self.context.listener.progress('looking at %s' % cipher, 0)
            seconds = route.transfer(cipher, blocks, self.options.limit or CONNECT_SECONDS + SILENCE_SECONDS).seconds
            if seconds >= 0.2 or blocks >= DOCUMENT_BLOCKS // 2:
                return seconds / blocks
            blocks *= 5

    def _amount(self, one: Chosen, share: float) -> Amount:
        """The full method is three to fifty transfers of the document's size, and three longer ones where
        those are short. --quick makes fewer, or a single smaller one."""
        plan = full_plan(one.block * DOCUMENT_BLOCKS, 0.0, share)
        if not self.options.quick:
            return Amount(DOCUMENT_BLOCKS, plan.least, plan.most, plan.seconds < LONG_ENOUGH)
        part = plan.expected * (QUICK_SHARE if plan.expected <= MANY_RUNS_SECONDS else QUICK_SHARE_LONG) / plan.seconds
        return Amount(DOCUMENT_BLOCKS if part >= 1 else max(int(DOCUMENT_BLOCKS * part), 5), max(int(part), 1), max(int(part), 1), False)

    def _series(self, route: Route, one: Chosen, amount: Amount, left: float) -> Series:
        """Make the transfers; `left` s of them are still to come with this one."""
        watch, began = Watch(self.context.machine), self.host.clock()

        def run(blocks: int) -> Transfer:
            def tick(_elapsed: float) -> None:
                watch.sample()
                self.context.listener.progress(one.cipher, max(left - (self.host.clock() - began), 0.0))
            tick(0.0)
            return route.transfer(one.cipher, blocks, self.options.limit or max(CONNECT_SECONDS, 10 * blocks * one.block), tick)

        transfers: List[Transfer] = []
        while len(transfers) < amount.least or (len(transfers) < amount.most and relative_spread([t.seconds for t in transfers]) > STABLE_SPREAD):
            transfers.append(run(amount.blocks))
        more = min(int(LONG_ENOUGH / median([t.seconds for t in transfers]) + 1) * DOCUMENT_BLOCKS, MOST_BLOCKS)
        longer = [run(more) for _ in range(3 if amount.longer else 0)]
        return Series(one.cipher, tuple(transfers), tuple(longer), watch.end())

    def _values(self, route: Route, series: Series, idle: bool, substituted: bool) -> Dict[str, Any]:
        runs = [transfer.seconds for transfer in series.transfers]
        first = series.transfers[0]
        seconds = median(runs)
        link = link_mbit_s(route)
        extra = self._extra(route, series, link)
        return {
            'algorithm': table_column(series.cipher), 'cipher': first.agreed.cipher, 'auth': first.agreed.mac,
            'seconds': seconds, 'mbit': first.mbit, 'mbit_s': first.mbit / seconds, 'runs': runs, 'spread': relative_spread(runs),
            'tool': (first.agreed.server if isinstance(route, Download) else self.client.version()),
            'warnings': self._warnings(series, extra, idle, substituted),
            'method': route.method(series.cipher, round(first.mbit * 1e6 / 8 / BLOCK)), 'extra': extra}

    def _extra(self, route: Route, series: Series, link: Optional[float]) -> Dict[str, Any]:
        every = series.transfers + series.longer
        client = median([transfer.client for transfer in every])
        rates = [transfer.mbit / transfer.seconds for transfer in series.longer]
        extra: Dict[str, Any] = {
            'bytes': round(series.transfers[0].mbit * 1e6 / 8), 'mbit_long': series.longer[0].mbit if rates else None,
            'mbit_s_long': rounded(median(rates)) if rates else None, 'clock': series.transfers[0].clock,
            'dd_s': rounded(series.transfers[-1].dd), 'connect_s': rounded(median([transfer.connect for transfer in every])),
            'rtt_ms': rounded(1e3 * route.far.rtt, 1) if route.far.rtt is not None else None,
            'client': self.client.version(), 'router_cpu': rounded(series.watched.others), 'client_cpu': rounded(client),
            'link_mbit_s': link, 'limit': self._limit(series, client, link), 'legacy': list(self.client.legacy[1::2]) or None,
            **{key: value for key, value in watched_extra(series.watched).items() if key != 'others_cpu'},
            'governor': self.context.machine.governor()}
        if self.options.quick:
            samples = [Sample(1, transfer.seconds) for transfer in series.transfers]
            extra['error_pct'] = rounded(100 * 2 * noise(samples) / max(len(samples) / 4, 1) ** 0.5, 1)
        return extra

    def _limit(self, series: Series, client: float, link: Optional[float]) -> Optional[str]:
        """Who was the bottleneck; None where nobody can tell."""
        fastest = max(transfer.mbit / transfer.seconds for transfer in series.transfers + series.longer)
        if link and fastest > BOUND_SHARE * link:
            return 'link'
        if self.loopback:
            return 'both ends'
        if not self.options.peer and client > BOUND_SHARE:
            return 'client'
        return None if series.watched.others is None else 'router' if series.watched.others >= IDLE_ROUTER else 'other'

    def _warnings(self, series: Series, extra: Dict[str, Any], idle: bool, substituted: bool) -> List[str]:
        runs = [transfer.seconds for transfer in series.transfers]
        return raised({
            **run_warnings(self.context.machine, runs, series.watched, idle, self.options.quick),
            'short-run': max(runs) < 1,
            'substituted-cipher': substituted,
            'loopback': self.loopback,
            'legacy-ssh': bool(self.client.legacy),
            'client-bound': extra['limit'] == 'client',
            'link-bound': extra['limit'] == 'link',
            'not-cpu-bound': extra['limit'] in ('client', 'link', 'other') and series.watched.others is not None and series.watched.others < IDLE_ROUTER})


def link_mbit_s(route: Route) -> Optional[float]:
    """The rate of this machine's interface towards the other end, where `ip` and the driver know it."""
    address = route.far.address()
    name = interface_towards(route.near, address) if address else None
    speed = whole_number(route.near.text('/sys/class/net/%s/speed' % name).strip()) if name else 0
    return float(speed) or None


VPN_ALGORITHMS = (
    'cbc(aes)', 'ctr(aes)', 'gcm(aes)', 'ecb(aes)', 'xts(aes)', 'chacha20', 'poly1305', 'rfc7539(chacha20,poly1305)', 'sha1', 'sha256', 'md5',
    'hmac(sha1)', 'hmac(sha256)', 'hmac(md5)', 'authenc(hmac(sha1),cbc(aes))', 'authenc(hmac(sha256),cbc(aes))', 'rfc4106(gcm(aes))')


class Providers(NamedTuple):
    """Who can encrypt on a machine: the kernel's drivers, OpenSSL's version, engines and providers, whether OpenVPN's
    build has DCO and its module is loaded, kernel modules by name."""

    drivers: Tuple[Driver, ...]
    openssl: Optional[str]
    engines: Tuple[str, ...]
    providers: Tuple[str, ...]
    dco_build: bool
    modules: Tuple[str, ...]


def providers_of(machine: Machine) -> Providers:
    """Ask the machine."""
    host = machine.host
    version = re.match(r'(OpenSSL|LibreSSL|wolfSSL) \S+', host.output('openssl', 'version'))
    modern = bool(version and re.match(r'OpenSSL [3-9]', version.group()))
    build = parse_openvpn_version(host.run('openvpn', '--version').out) if host.find('openvpn') else None
    modules = re.findall(r'^(\w+) ', host.text('/proc/modules'), re.M) + re.findall(r'(\w+)\.ko$', host.output('kldstat'), re.M)
    return Providers(tuple(machine.crypto_drivers()), plain(version.group(), 40) if version else None,
                     tuple(parse_engines(host.output('openssl', 'engine', '-t', '-c'))),
                     tuple(parse_providers(host.output('openssl', 'list', '-providers'))) if modern else (),
                     bool(build and build.dco), tuple(modules))


AES_MODULES = {
    'AES-NI': ('aesni_intel', 'it comes with the kernel (on OpenWrt with the x86/64 image)'),
    'ARMv8 AES': ('aes_ce_blk', 'it comes with the kernel'),
    'PadLock': ('padlock_aes', 'on OpenWrt it is in kmod-crypto-hw-padlock'),
    'POWER': ('vmx_crypto', 'it comes with the kernel')}


def idle_engines(drivers: Sequence[Driver]) -> List[str]:
    """The engines that are loaded and not used for something that VPNs need, with the reason."""
    untested: Dict[str, List[str]] = {}
    outranked: Dict[Tuple[str, str], List[str]] = {}
    for driver in drivers:
        best = picked(drivers, driver.name)
        if driver.kind != 'engine' or driver.internal or driver.name not in VPN_ALGORITHMS or best == driver:
            continue
        if not usable(driver):
            untested.setdefault('%s (self-test `%s`)' % (driver.unit, driver.selftest), []).append(driver.name)
        elif best and best.kind != 'engine':
            outranked.setdefault((driver.unit or '', best.unit or best.driver), []).append('%s (%d against %d)' % (driver.name, driver.priority, best.priority))
    return ['The engine %s is loaded but untested, so the kernel does not use it for %s.' % (engine, ', '.join(names)) for engine, names in untested.items()] + [
        'The engine %s is outranked by %s and stays idle for %s; `run kernel` shows which is faster.' % (engine, better, ', '.join(names))
        for (engine, better), names in outranked.items()]


def crypto_advice(facts: Facts, have: Providers) -> List[str]:
    """What to do about it, each with its reason; nothing where nothing is known to help."""
    tips: List[str] = []
    cbc = picked(have.drivers, 'cbc(aes)') or picked(have.drivers, 'ecb(aes)') or picked(have.drivers, 'aes')
    bsd = bool(facts.os and re.match('FreeBSD|pfSense|OPNsense', facts.os))
    if facts.aes in AES_MODULES and cbc and cbc.kind == 'generic':
        module, where = ('aesni', 'kldload it, or choose it in the web interface') if bsd and facts.aes == 'AES-NI' else AES_MODULES[facts.aes]
        has = 'AES instructions' if facts.aes == 'POWER' else facts.aes
        tips.append('The processor has %s, but the kernel uses the generic driver %s: load `%s`; %s.' % (has, cbc.driver, module, where))
    tips += idle_engines(have.drivers)
    units = {driver.unit for driver in have.drivers}
    if facts.cpu == 'PPC e500v2' and have.drivers and 'SPE' not in units:
        tips.append('This core has SPE, and the kernel does not use it: `aes_ppc_spe`, `sha1_ppc_spe` and `sha256_ppc_spe` are several times faster '
                      'than the generic drivers (kernels that carry them in lib/crypto show none of it).')
    if (facts.cpu or '').startswith('MIPS 1004K') and have.drivers and 'EIP93' not in units:
        tips.append('An MT7621 has the crypto engine EIP93: kmod-crypto-hw-eip93 on OpenWrt; it pays for large packets only.')
    if (facts.cpu or '').startswith('MIPS') and have.drivers and not any(driver.kind == 'engine' for driver in have.drivers) and 'EIP93' not in ' '.join(tips):
        tips.append('MIPS cores have no AES instructions, and mainline Linux no faster AES for them; ChaCha20-Poly1305 (WireGuard) costs them less.')
    if 'cryptodev' in have.modules and bsd and facts.aes == 'AES-NI':
        tips.append('cryptodev is loaded: it makes AES-NI slower for OpenSSL, which needs no kernel for it. Unload it.')
    if have.dco_build and bsd and 'if_ovpn' not in have.modules:
        tips.append('This OpenVPN could leave its data channel to the kernel (DCO), but `if_ovpn` is not loaded.')
    if have.dco_build and not bsd and not {'ovpn', 'ovpn_dco_v2', 'ovpn_dco'} & set(have.modules):
        tips.append('This OpenVPN could leave its data channel to the kernel (DCO), but neither `ovpn` (from Linux 6.16) nor `ovpn-dco-v2` is loaded.')
    return list(dict.fromkeys(tips))


class CryptoReport(Test):
    """Which driver the kernel uses for each algorithm of a VPN, and what else there is. Nothing is timed."""

    name = 'crypto'
    title = 'crypto providers'

    def ready(self) -> str:
        """See Test."""
        return 'the kernel\'s own list'

    def measure(self) -> Iterator[Result]:
        """A line per algorithm, and one for the user space."""
        machine = self.context.machine
        facts, have = machine.facts(), providers_of(machine)
        tips = crypto_advice(facts, have)
        for name in VPN_ALGORITHMS:
            yield Result(self._values(machine, name, have))
        yield Result({'algorithm': 'user space', 'library': have.openssl, 'driver': None, 'method': 'openssl engine -t -c; openssl list -providers',
                      'extra': {'engines': list(have.engines), 'providers': list(have.providers), 'dco_build': have.dco_build,
                                'note': 'OpenVPN and ssh encrypt with this library and not with the kernel\'s drivers, unless an engine such as '
                                        'devcrypto or afalg stands in between, or DCO does it', 'advice': tips}})

    @staticmethod
    def _values(machine: Machine, name: str, have: Providers) -> Dict[str, Any]:
        all_drivers = [driver for driver in have.drivers if driver.name == name]
        best = picked(have.drivers, name)
        values: Dict[str, Any] = {'algorithm': name, 'method': machine.crypto_method, 'driver': best.driver if best else None, 'extra': {
            'kind': best.kind if best else None, 'unit': best.unit if best else None, 'module': best.module if best else None,
            'priority': best.priority if best else None,
            'drivers': [{'driver': driver.driver, 'kind': driver.kind, 'unit': driver.unit, 'module': driver.module, 'priority': driver.priority,
                         'selftest': driver.selftest, 'internal': driver.internal} for driver in all_drivers]}}
        if not best:
            values.update(status='skipped', reason='not-loaded', detail=(
                'no driver of it has passed its self-test' if any(not driver.internal for driver in all_drivers) else
                'not in the kernel\'s list, which may only mean that nobody has used it yet'))
        return values


LOOK_SECONDS = 0.25  # between two looks at the counters: a window of 5 s begins and ends within a twentieth
FASTEST_LINK = 2500.0  # Mbit/s, where the driver does not say: what is faster is a counter that began anew


class InterfaceWatch(Test):
    """The rate of interfaces by their counters while others make the traffic: RRZN's method, the highest average over a window."""

    name = 'interface'
    title = 'the highest average rate of an interface'

    def __init__(self, context: Context, names: Sequence[str], window: float, seconds: float) -> None:
        super().__init__(context)
        self.names, self.window, self.seconds = names, window, seconds
        self.flows = {name: (Flow(window), Flow(window)) for name in names}
        self.last: Dict[str, Optional[Counters]] = {}
        self.resets = {name: 0 for name in names}
        self.charts: Dict[str, List[float]] = {name: [] for name in names}

    def measure(self) -> Iterator[Result]:
        """A line per interface; also when Ctrl-C ends the watching."""
        machine = self.context.machine
        self.speeds = {name: machine.link_speed(name) for name in self.names}
        self.last = {name: machine.counters(name) for name in self.names}
        there = [name for name in self.names if self.last[name]]
        try:
            if there:
                self._watch(self.host.clock() + self.seconds)
        except Interrupted:
            if not any(flow.total for pair in self.flows.values() for flow in pair):
                raise
        for name in self.names:
            if name in there:
                yield Result(self._values(name))
            else:
                yield Result({'status': 'skipped', 'reason': 'interface-missing', 'detail': 'there is no interface `%s`; there are: %s' % (
                    plain(name, 20), ', '.join(plain(one, 20) for one in machine.interfaces()) or 'none')})

    def _watch(self, deadline: float) -> None:
        shown = self.host.clock()
        while self.host.clock() < deadline:
            self.host.sleep(min(LOOK_SECONDS, max(deadline - self.host.clock(), 0.01)))
            for name in self.names:
                self._look(name)
            if self.host.clock() - shown >= 1.0:
                shown = self.host.clock()
                self.context.listener.progress('; '.join(map(self._picture, self.names)), deadline - shown)

    def _look(self, name: str) -> None:
        before, now = self.last[name], self.context.machine.counters(name)
        self.last[name] = now
        passed = traffic(before, now, 1.1 * (self.speeds[name] or FASTEST_LINK) * 125000) if before and now else None
        if passed and before and now:
            for flow, count in zip(self.flows[name], passed):
                flow.add(before.time, now.time, count)
            self.charts[name] = (self.charts[name] + [8e-6 * max(passed) / (now.time - before.time)])[-40:]
        else:
            self.resets[name] += bool(before)
            for flow in self.flows[name]:
                flow.gap()

    def _picture(self, name: str) -> str:
        rates: List[float] = self.charts[name][-4:]
        peak = max(flow.peak for flow in self.flows[name])
        return '%s %s %s Mbit/s, peak %s' % (plain(name, 20), chart(self.charts[name]) if any(rates) else '-', figure(sum(rates) / len(rates) if rates else 0.0), figure(8e-6 * peak))

    def _values(self, name: str) -> Dict[str, Any]:
        came, went = self.flows[name]
        peaks = [8e-6 * (flow.peak or (flow.total / flow.seconds if flow.seconds and flow.seconds < self.window else 0.0)) for flow in (came, went)]
        means = [8e-6 * flow.total / flow.seconds if flow.seconds else 0.0 for flow in (came, went)]
        best = max(peaks[0], peaks[1])
        window = min(self.window, came.seconds)
        if not best:
            return {'status': 'failed', 'reason': 'incomplete', 'detail': 'nothing passed through %s, or its counters did not move' % plain(name, 20)}
        return {'seconds': window, 'mbit': best * window, 'mbit_s': best, 'runs': (window,), 'spread': 0.0, 'method': 'highest average of the interface\'s counters over %g s' % window,
                'warnings': ('hw-offload',) if self.context.machine.offloads() else (),
                'extra': {'interface': plain(name, 20), 'direction': 'in' if peaks[0] >= peaks[1] else 'out', 'window_s': self.window, 'peak_in_mbit_s': rounded(peaks[0]),
                          'peak_out_mbit_s': rounded(peaks[1]), 'mean_in_mbit_s': rounded(means[0]), 'mean_out_mbit_s': rounded(means[1]), 'total_in_mbit': rounded(8e-6 * came.total),
                          'total_out_mbit': rounded(8e-6 * went.total), 'watched_s': rounded(came.seconds), 'resets': self.resets[name], 'link_mbit_s': self.speeds[name]}}


class Vector(NamedTuple):
    """A known answer: key, initialization vector, associated data, plain text, result with its tag."""

    key: bytes
    iv: bytes
    associated: bytes
    plain: bytes
    result: bytes


def known_answer(key: str, iv: str, associated: str, plain_text: str, result: str) -> Vector:
    """A Vector in hexadecimal."""
    return Vector(*(bytes.fromhex(text) for text in (key, iv, associated, plain_text, result)))


class KernelAlgorithm(NamedTuple):
    """What to measure of the kernel: names for the line, the AF_ALG type, the kernel's name, bytes of the tag or digest,
    generic drivers by their own names, a known answer."""

    cipher: str
    auth: Optional[str]
    kind: str
    name: str
    tag: int
    generic: Tuple[str, ...]
    vector: Vector


GCM_PLAIN = ('d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39')
GCM_AAD = 'feedfacedeadbeeffeedfacedeadbeefabaddad2'
F2_BLOCK = '6bc1bee22e409f96e93d7e117393172a'
F2_KEYS = ('2b7e151628aed2a6abf7158809cf4f3c', '603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4')
F5_COUNTER = 'f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'


def esp_vector(digest: str, tag: int, cbc: Vector) -> Vector:
    """authenc() of a CBC vector: the standards have none, so the HMAC of RFC 2104 is put around it by Python. The key is
    in the kernel's form (struct crypto_authenc_key_param: length, type, length of the cipher's key)."""
    import hmac
    import struct
    secret, associated = bytes(range(32)), b'\0\0\x43\x21' + b'\0\0\0\1' + cbc.iv
    key = struct.pack('=HH', 8, 1) + struct.pack('>I', len(cbc.key)) + secret + cbc.key
    code = hmac.new(secret, associated + cbc.result, digest).digest()[:tag]
    return Vector(key, cbc.iv, associated, cbc.plain, cbc.result + code)


def kernel_algorithms() -> Tuple[KernelAlgorithm, ...]:
    """The algorithms of IPsec and OpenVPN's DCO, and XTS for comparison with `cryptsetup benchmark`, with answers from
    RFC 3602, NIST SP 800-38A, IEEE 1619, the GCM specification, draft-mcgrew-gcm-test, RFC 8439, RFC 2202 and RFC 4231."""
    cbc128 = known_answer('06a9214036b8a15b512e03d534120006', '3dafba429d9eb430b422da802c9fac41', '', '53696e676c6520626c6f636b206d7367', 'e353779c1079aeb82708942dbe77181a')
    cbc256 = known_answer(F2_KEYS[1], '000102030405060708090a0b0c0d0e0f', '', F2_BLOCK, 'f58c4c04d6e5f1ba779eabfb5f7bfbd6')
    ctr128 = known_answer(F2_KEYS[0], F5_COUNTER, '', F2_BLOCK, '874d6191b620e3261bef6864990db6ce')
    ctr256 = known_answer(F2_KEYS[1], F5_COUNTER, '', F2_BLOCK, '601ec313775789a5b7a7f504bbf3d228')
    xts = known_answer('11' * 16 + '22' * 16, '33' * 5 + '00' * 11, '', '44' * 32, 'c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0')
    gcm128 = known_answer('feffe9928665731c6d6a8f9467308308', 'cafebabefacedbaddecaf888', GCM_AAD, GCM_PLAIN,
                   '42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091'
                   '5bc94fbc3221a5db94fae95ae7121a47')
    gcm256 = known_answer('feffe9928665731c6d6a8f9467308308' * 2, 'cafebabefacedbaddecaf888', GCM_AAD, GCM_PLAIN,
                   '522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662'
                   '76fc6ece0f4e1768cddf8853bb2d551b')
    esp_gcm = known_answer('4c80cdefbb5d10da906ac73c3613a6342e443b68', '4956ed7e3b244cfe', '0000432187654321000000004956ed7e3b244cfe',
                    '45000048699a000080114db7c0a80102c0a801010a9bf15638d3010000010000000000000'
                    '45f736970045f756470037369700963796265726369747902646b0000210001010202' + '01',
                    'fecf537e729d5b07dc30df528dd22b768d1b98736696a6fd348509fa13ceac34cfa2436f14a3f3cf65925bf1f4a13c5d15b21e1884f5ff6247aeabb786b93bce61bc17d768fd9732'
                    '459018148f6cbe722fd04796562dfdb4')
    chacha = known_answer(bytes(range(0x80, 0xa0)).hex(), '070000004041424344454647', '50515253c0c1c2c3c4c5c6c7',
                   b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.".hex(),
                   'd31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36'
                   '92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc3ff4def08e4b7a9de576d26586cec64b61161ae10b594f09e26a7e902ecbd0600691')
    jefe, wanted = b'Jefe'.hex(), b'what do ya want for nothing?'.hex()
    cbc, ctr, gcm = 'cbc(aes-generic)', 'ctr(aes-generic)', 'gcm_base(ctr(aes-generic),ghash-generic)'
    authenc = 'authenc(hmac(%s-generic),cbc(aes-generic))'
    return (
        KernelAlgorithm('aes-128-cbc', None, 'skcipher', 'cbc(aes)', 0, (cbc,), cbc128),
        KernelAlgorithm('aes-256-cbc', None, 'skcipher', 'cbc(aes)', 0, (cbc,), cbc256),
        KernelAlgorithm('aes-128-ctr', None, 'skcipher', 'ctr(aes)', 0, (ctr,), ctr128),
        KernelAlgorithm('aes-256-ctr', None, 'skcipher', 'ctr(aes)', 0, (ctr,), ctr256),
        KernelAlgorithm('aes-128-xts', None, 'skcipher', 'xts(aes)', 0, ('xts(ecb(aes-generic))',), xts),
        KernelAlgorithm('aes-128-gcm', None, 'aead', 'gcm(aes)', 16, (gcm,), gcm128),
        KernelAlgorithm('aes-256-gcm', None, 'aead', 'gcm(aes)', 16, (gcm,), gcm256),
        KernelAlgorithm('aes-128-gcm', None, 'aead', 'rfc4106(gcm(aes))', 16, ('rfc4106(%s)' % gcm,), esp_gcm),
        KernelAlgorithm('chacha20-poly1305', None, 'aead', 'rfc7539(chacha20,poly1305)', 16, ('rfc7539(chacha20-generic,poly1305-generic)',), chacha),
        KernelAlgorithm('none', 'SHA1', 'hash', 'hmac(sha1)', 20, ('hmac(sha1-generic)',), known_answer(jefe, '', '', wanted, 'effcdf6ae5eb2fa2d27416d5f184df9c259a7c79')),
        KernelAlgorithm('none', 'SHA256', 'hash', 'hmac(sha256)', 32, ('hmac(sha256-generic)',), known_answer(
            jefe, '', '', wanted, '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843')),
        KernelAlgorithm('aes-128-cbc', 'SHA1', 'aead', 'authenc(hmac(sha1),cbc(aes))', 12, (authenc % 'sha1',), esp_vector('sha1', 12, cbc128)),
        KernelAlgorithm('aes-256-cbc', 'SHA256', 'aead', 'authenc(hmac(sha256),cbc(aes))', 16, (authenc % 'sha256',), esp_vector('sha256', 16, cbc256)))


KERNEL_SIZES = (16, 1424, 16384, 65536)  # bytes; 1424 is the whole number of blocks next to 1420


class KernelRun:
    """One driver with its key and buffers, ready to be timed at any size."""

    def __init__(self, host: Host, algorithm: KernelAlgorithm, driver: str) -> None:
        self.algorithm, self.vector = algorithm, algorithm.vector
        self.driver = host.kernel_cipher(algorithm.kind, driver, algorithm.vector.key, algorithm.tag)
        self.clock = host.clock

    def answer(self, data: bytes, encrypt: bool = True) -> bytes:
        """What the driver makes of `data` (behind the vector's associated data). Raises OSError."""
        one, associated = self.algorithm, self.vector.associated
        if one.kind == 'hash':
            out = bytearray(one.tag)
            self.driver.digest(data, out)
            return bytes(out)
        out = bytearray(len(associated) + len(data) + (one.tag if encrypt else -one.tag))
        self.driver.cipher(associated + data, out, encrypt, self.vector.iv, len(associated))
        return bytes(out[len(associated):])

    def check(self) -> None:
        """The known answer, and that what was encrypted decrypts to what it was. Raises Unmeasurable: a driver that
        computes wrongly has no speed."""
        try:
            wrong = self.answer(self.vector.plain) != self.vector.result or any(self._wrong(size) for size in KERNEL_SIZES)
            wrong = wrong or (self.algorithm.kind != 'hash' and self.answer(self.vector.result, encrypt=False) != self.vector.plain)
        except OSError as error:
            raise refused_request(error) from error
        if wrong:
            raise Unmeasurable('wrong-result', 'this driver computes wrongly: its answer differs from the standard\'s. Do not use it')

    def _wrong(self, size: int) -> bool:
        """Whether a request of this size comes out wrong: not decrypted to what it was, or another digest than Python's."""
        data = (bytes(range(256)) * (size // 256 + 1))[:size]
        if self.algorithm.kind != 'hash':
            return self.answer(self.answer(data), encrypt=False) != data
        import hmac
        return self.answer(data) != hmac.new(self.vector.key, data, (self.algorithm.auth or '').lower()).digest()

    def seconds(self, size: int, requests: int, encrypt: bool) -> float:
        """The time of so many requests of one size. Raises OSError."""
        one, associated, iv = self.algorithm, self.vector.associated, self.vector.iv
        data = bytes(size)
        if one.kind == 'hash':
            out, digest = bytearray(one.tag), self.driver.digest
            began = self.clock()
            for _ in range(requests):
                digest(data, out)
            return self.clock() - began
        if not encrypt and one.tag:
            data = self.answer(data)
        data = associated + data
        out, cipher, before = bytearray(len(data) + (one.tag if encrypt else -one.tag)), self.driver.cipher, len(associated)
        began = self.clock()
        for _ in range(requests):
            cipher(data, out, encrypt, iv, before)
        return self.clock() - began


KERNEL_SLICE = 0.1  # seconds of one size in one direction
KERNEL_ROUNDS, KERNEL_QUICK_ROUNDS = 5, 2


def refused_request(error: OSError) -> Unmeasurable:
    """What it means that the kernel did not do as it was told."""
    return Unmeasurable('tool-failed', 'the kernel refused a request: %s' % plain(error.strerror or str(error)))


def composed(name: str, drivers: Sequence[Driver]) -> Optional[str]:
    """The driver's name that the kernel would give a combination of the best that is listed: an ESP combination is made when
    it is first used. None if a part is not listed, or for what is no combination."""
    parts = {'authenc(hmac(sha1),cbc(aes))': ('authenc(%s,%s)', 'hmac(sha1)', 'cbc(aes)'), 'authenc(hmac(sha256),cbc(aes))': ('authenc(%s,%s)', 'hmac(sha256)', 'cbc(aes)'),
             'rfc4106(gcm(aes))': ('rfc4106(%s)', 'gcm(aes)'), 'gcm(aes)': ('gcm_base(%s,%s)', 'ctr(aes)', 'ghash')}.get(name)
    best = [picked(drivers, part) for part in parts[1:]] if parts else []
    return parts[0] % tuple(driver.driver for driver in best if driver) if parts and all(best) else None


class KernelTest(Test):
    """The kernel's own crypto, which IPsec and DCO use: each driver by its own name, side by side."""

    name = 'kernel'
    title = 'the kernel\'s crypto (AF_ALG)'
    usual = False  # it is about IPsec
    MODULES = {'skcipher': 'algif_skcipher', 'aead': 'algif_aead', 'hash': 'algif_hash'}

    def ready(self) -> str:
        """See Test."""
        if isinstance(self.context.machine, FreeBsdMachine):
            raise Unmeasurable('kernel-api-missing', 'FreeBSD does not let programs use its crypto as Linux does: `run openvpn` and `run openssl` work here', 'skipped')
        if not isinstance(self.host, LocalHost):
            self.host.kernel_cipher('', '', b'', 0)
        if not self._has('af_alg') and not self.host.text('/proc/modules'):
            raise Unmeasurable('kernel-api-missing', 'this kernel has no modules and was built without CONFIG_CRYPTO_USER_API_SKCIPHER, _AEAD and _HASH '
                               '(af_alg, algif_skcipher, algif_aead, algif_hash), so programs cannot use its crypto', 'skipped')
        if not self._has('af_alg'):
            raise Unmeasurable('kernel-api-missing', 'the kernel\'s crypto is not open to programs: `af_alg` and algif_skcipher, algif_aead, algif_hash are not '
                               'loaded%s. routerbench loads a module only if `--load af_alg,algif_skcipher,algif_aead,algif_hash` says so' % (
                                   ' (%s)' % install_hint(self.host, 'af_alg') if self.host.find('opkg') or self.host.find('apk') else ''), 'skipped')
        return 'Linux %s' % self.context.machine.kernel

    def _has(self, module: str) -> bool:
        """Whether a module is loaded or part of the kernel: asking for what is not would make the kernel load it."""
        if not hasattr(self, 'modules'):
            builtin = self.host.text('/lib/modules/%s/modules.builtin' % self.context.machine.kernel)
            loaded = re.findall(r'^(\w+) ', self.host.text('/proc/modules'), re.M)
            self.modules = set(loaded) | {name.replace('-', '_') for name in re.findall(r'([^/\n]+)\.ko', builtin)}
            open_to_programs = re.search(r'^ALG ', self.host.text('/proc/net/protocols'), re.M)
            self.modules |= {'af_alg'} if open_to_programs else set()
            self.monolithic = bool(open_to_programs and not loaded and not builtin)  # nothing can be loaded, so asking is harmless
        return self.monolithic or module in self.modules or module in self.context.options.load

    def measure(self) -> Iterator[Result]:
        """See Test."""
        self._load()
        self.context.listener.note('The kernel\'s crypto, by ' + self.ready())
        idle = wait_idle(self.context.machine, self.context.options.wait, self.context.listener)
        ciphers = self.context.options.ciphers
        wanted = [one for one in kernel_algorithms() if (one.cipher in ciphers if ciphers else one.name != 'xts(aes)')]
        rounds = KERNEL_QUICK_ROUNDS if self.context.options.quick else KERNEL_ROUNDS
        self.context.listener.note('%d algorithms, about %s for each driver' % (len(wanted), spoken(rounds * 2 * len(KERNEL_SIZES) * KERNEL_SLICE)))
        for one in wanted:
            try:
                yield from self._side_by_side(one, rounds, idle)
            except Unmeasurable as error:
                yield self._none(one, None, error)

    def _load(self) -> None:
        """The modules that --load names, and no others."""
        for module in self.context.options.load:
            ran = self.host.run('modprobe', module)
            if ran.status:
                raise Unmeasurable('not-loaded', 'the module %s could not be loaded: %s' % (module, telling_line(ran.out + ran.err)), 'failed')

    def drivers(self, one: KernelAlgorithm) -> List[Driver]:
        """Those that the kernel lists, and the generic one where all that it is made of is there."""
        listed = self._listed(one)
        combination = None if listed else composed(one.name, self.context.machine.crypto_drivers())
        for name in (combination, *one.generic):
            if name and name not in [driver.driver for driver in listed] and not self._missing(name):
                listed.append(Driver(one.name, name, None, 0, None, False, *driver_kind(name, '')))
        return listed

    def _missing(self, name: str) -> List[str]:
        """The modules that a driver's name needs and that are not there. Asking for it would make the kernel load them; and
        an algorithm that is not listed is never asked for by its own name, because then the kernel loads what it likes."""
        return [part for part in dict.fromkeys(self._parts(name)) if not self._has(part)]

    def _listed(self, one: KernelAlgorithm) -> List[Driver]:
        """Those that the kernel lists now, the one that it picks first."""
        found = [driver for driver in self.context.machine.crypto_drivers() if driver.name == one.name and usable(driver)]
        best: Dict[str, Driver] = {}  # a driver may be listed twice, for two interfaces of the kernel
        for driver in sorted(found, key=lambda driver: -driver.priority):
            best.setdefault(driver.driver, driver)
        return list(best.values())

    @staticmethod
    def _parts(name: str) -> List[str]:
        """The modules behind a name like `cbc(aes-generic)`."""
        modules = {'gcm_base': 'gcm', 'rfc4106': 'gcm', 'rfc7539': 'chacha20poly1305', 'aes': 'aes_generic', 'chacha20': 'chacha_generic', 'poly1305': 'poly1305_generic',
                   'sha1': 'sha1_generic', 'sha256': 'sha256_generic', 'ghash': 'ghash_generic'}
        words = [word.replace('-', '_') for word in re.split(r'[(),]+', name) if word]
        templates = [word for word in words if word in ('cbc', 'ctr', 'ecb', 'xts', 'hmac', 'authenc') or word in modules or word.endswith('_generic')]
        return [modules.get(word, modules.get(word.replace('_generic', ''), word)) for word in templates]

    def _side_by_side(self, one: KernelAlgorithm, rounds: int, idle: bool) -> Iterator[Result]:
        """All drivers of an algorithm, in turn in each round, so that a disturbance strikes all."""
        if not self._has(self.MODULES[one.kind]):
            yield self._none(one, None, Unmeasurable('kernel-api-missing', 'the module %s is not loaded; --load %s would load it' % (
                self.MODULES[one.kind], self.MODULES[one.kind]), 'skipped'))
            return
        drivers = self.drivers(one)
        if not drivers:
            yield self._none(one, None, Unmeasurable('not-loaded', 'the kernel lists no driver of %s, and not all that a generic one is made of is loaded: '
                             '--load %s' % (one.name, ','.join(self._missing(one.generic[0]))), 'skipped'))
        opened: List[KernelRun] = []
        runs: List[Tuple[Driver, KernelRun]] = []
        try:
            for driver in drivers:
                try:
                    opened.append(KernelRun(self.host, one, driver.driver))
                    opened[-1].check()
                    runs.append((driver, opened[-1]))
                except Unmeasurable as error:
                    yield self._none(one, driver, error)
            yield from self._timed(one, runs, rounds, idle)
        finally:
            for run in opened:
                run.driver.close()

    def _timed(self, one: KernelAlgorithm, runs: Sequence[Tuple[Driver, KernelRun]], rounds: int, idle: bool) -> Iterator[Result]:
        watch = Watch(self.context.machine)
        seen: Dict[str, Dict[Tuple[int, bool], List[float]]] = {driver.driver: {} for driver, _ in runs}
        for number in range(rounds):
            for driver, run in runs:
                self.context.listener.progress('%s by %s' % (one.name, driver.driver), (rounds - number) * len(runs) * 2 * len(KERNEL_SIZES) * KERNEL_SLICE)
                for size in KERNEL_SIZES:
                    for encrypt in (True, False) if one.kind != 'hash' else (True,):
                        seen[driver.driver].setdefault((size, encrypt), []).append(self._request(run, size, encrypt))
                watch.sample()
        watched = watch.end()
        listed = {driver.driver: driver for driver in self._listed(one)}
        results = {driver.driver: self._figures(seen[driver.driver]) for driver, _ in runs}
        for driver, _ in runs:
            now = listed.get(driver.driver, driver)
            yield Result(self._values(one, now, seen[driver.driver], results, watched, idle, [listed.get(other.driver, other) for other, _ in runs]))

    def _request(self, run: KernelRun, size: int, encrypt: bool) -> float:
        """Seconds of one request, from as many as fit into a slice. Raises Unmeasurable."""
        self.host.sleep(0)  # where a signal is noticed
        try:
            once = max(run.seconds(size, 1, encrypt), 1e-7)
            requests = max(int(KERNEL_SLICE / once), 1)
            return run.seconds(size, requests, encrypt) / requests
        except OSError as error:
            raise refused_request(error) from error

    @staticmethod
    def _figures(seen: Dict[Tuple[int, bool], List[float]]) -> Tuple[float, float]:
        """Seconds per request and per byte, both directions together."""
        sizes = sorted({size for size, _ in seen})
        means = [median([median(times) for (one, _), times in seen.items() if one == size]) for size in sizes]
        call, byte = least_squares([(1.0, float(size)) for size in sizes], means) or (0.0, 0.0)
        return max(call, 0.0), byte

    def _names(self, one: KernelAlgorithm, driver: Optional[Driver]) -> Dict[str, Any]:
        column = one.auth if one.kind == 'hash' else table_column(one.cipher)
        return {'algorithm': column, 'cipher': one.cipher, 'auth': one.auth, 'driver': driver.driver if driver else None,
                'tool': 'Linux ' + self.context.machine.kernel, 'method': 'AF_ALG %s %s' % (one.kind, driver.driver if driver else one.name)}

    def _none(self, one: KernelAlgorithm, driver: Optional[Driver], error: Unmeasurable) -> Result:
        return Result({**self._names(one, driver), 'status': error.status, 'reason': error.reason, 'detail': error.detail, 'extra': {'name': one.name}},
                      asked=error.status == 'failed')

    def _values(self, one: KernelAlgorithm, driver: Driver, seen: Dict[Tuple[int, bool], List[float]], results: Dict[str, Tuple[float, float]],
                watched: Watched, idle: bool, others: Sequence[Driver]) -> Dict[str, Any]:
        largest = max(KERNEL_SIZES)
        ways = [encrypt for size, encrypt in seen if size == largest]
        runs = [sum(times) for times in zip(*(seen[largest, way] for way in ways))]
        mbit, seconds = len(ways) * largest * 8 / 1e6, median(runs)
        call, byte = results[driver.driver]

        def rate(size: int, ways: Sequence[bool]) -> float:
            return 8 * size * len(ways) / 1e6 / sum(median(seen[size, way]) for way in ways)
        warnings = raised({**run_warnings(self.context.machine, runs, watched, idle, self.context.options.quick),
                           'disturbed': watched.others is not None and watched.others > IDLE_SHARE})
        extra: Dict[str, Any] = {
            'name': one.name, 'kind': driver.kind, 'unit': driver.unit, 'module': driver.module, 'priority': driver.priority or None,
            'in_use': driver == next(iter(self._listed(one)), None), 'request_bytes': largest,
            'encrypt_mbit_s': rounded(rate(largest, [True])), 'decrypt_mbit_s': rounded(rate(largest, [False])) if False in ways else None,
            **{'mbit_s_%d' % size: rounded(rate(size, ways)) for size in KERNEL_SIZES[:-1]},
            'per_request_us': rounded(1e6 * call), 'per_byte_ns': rounded(1e9 * byte, 4), 'net_mbit_s': rounded(8e-6 / byte) if byte > 0 else None,
            'net_mbit_s_1424': rounded(self._net_rate(seen, ways)), 'faster_from': self._faster_from(driver, results, others),
            **watched_extra(watched), 'governor': self.context.machine.governor()}
        return {**self._names(one, driver), 'seconds': seconds, 'mbit': mbit, 'mbit_s': mbit / seconds, 'runs': runs, 'spread': relative_spread(runs),
                'warnings': warnings, 'extra': extra}

    @staticmethod
    def _net_rate(seen: Dict[Tuple[int, bool], List[float]], ways: Sequence[bool]) -> Optional[float]:
        """Mbit/s of the bytes by which a packet is longer than the smallest request; None if they are lost in noise."""
        small, packet = KERNEL_SIZES[:2]
        grown = sum(median(seen[packet, way]) - median(seen[small, way]) for way in ways)
        doubt = sum(max(seen[size, way]) - min(seen[size, way]) for size in (small, packet) for way in ways) / 2
        return 8 * (packet - small) * len(ways) / 1e6 / grown if grown > doubt else None

    @staticmethod
    def _faster_from(driver: Driver, results: Dict[str, Tuple[float, float]], others: Sequence[Driver]) -> Optional[int]:
        """Bytes of a request from which an engine beats the generic driver; 0 if always, None if never or not known."""
        generic = [results[other.driver] for other in others if other.kind == 'generic' and other.driver in results]
        call, byte = results[driver.driver]
        if driver.kind in (None, 'generic') or not generic or byte >= generic[0][1]:
            return None
        return max(int((call - generic[0][0]) / (generic[0][1] - byte)) + 1, 0) if call > generic[0][0] else 0


OPENSSL_SIZES = (16, 1424, 16384)
OPENSSL_RUNS = 3


class OpensslTest(Test):
    """`openssl speed`, whose tables people know: what the library can do without a VPN around it."""

    name = 'openssl'
    title = 'the OpenSSL library (openssl speed)'
    usual = False  # no VPN gets as much as the library alone
    NAMES = ('aes-128-cbc', 'aes-256-cbc', 'aes-128-ctr', 'aes-256-ctr', 'aes-128-gcm', 'aes-256-gcm', 'chacha20-poly1305', 'sha1', 'sha256')

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.options = context.options
        self.version: Optional[str] = None
        self.sized = True  # whether this build takes -bytes and -seconds, which came with OpenSSL 1.1.1

    def ready(self) -> str:
        """See Test."""
        if not self.host.find('openssl'):
            raise Unmeasurable('tool-missing', 'the openssl command is not there: %s' % install_hint(self.host, 'openssl'), 'skipped')
        found = re.match(r'\w*SSL \S+', self.host.output('openssl', 'version'))
        if not found:
            raise Unmeasurable('tool-broken', 'openssl is there but does not tell its version: reinstall it, %s' % install_hint(self.host, 'openssl'))
        self.version = plain(found.group(), 40)
        return self.version

    def command(self, name: str, size: int, seconds: int) -> Tuple[str, ...]:
        """The command line for one size, or for the build's own sizes where it takes no other."""
        engine = ('-engine', self.options.engine) if self.options.engine else ()
        sized = ('-seconds', str(seconds), '-bytes', str(size)) if self.sized else ()
        return ('openssl', 'speed', '-elapsed', '-mr', *sized, *engine, '-evp', name)

    def measure(self) -> Iterator[Result]:
        """See Test."""
        self.context.listener.note(self.ready())
        probed = self.host.run('openssl', 'speed', '-elapsed', '-mr', '-seconds', '1', '-bytes', '16', '-evp', 'aes-128-cbc', limit=30.0)
        self.sized = probed.status == 0
        idle = wait_idle(self.context.machine, self.options.wait, self.context.listener)
        names = [name for name in self.options.ciphers if name != 'none'] or self.NAMES
        each = (OPENSSL_RUNS + len(OPENSSL_SIZES) - 1 if not self.options.quick else len(OPENSSL_SIZES)) if self.sized else 18
        self.context.listener.note('%d measurements, about %s' % (len(names), spoken(each * len(names))))
        for i, name in enumerate(names):
            try:
                yield Result(self._values(name, idle, (len(names) - i) * each))
            except Unmeasurable as error:
                yield Result({**self._names(name), 'status': error.status, 'reason': error.reason, 'detail': error.detail, 'extra': {}},
                             asked=bool(self.options.ciphers))

    def _names(self, name: str) -> Dict[str, Any]:
        digest = name.startswith(('sha', 'md5'))
        return {'algorithm': name.upper() if digest else table_column(name), 'cipher': 'none' if digest else name, 'auth': name.upper() if digest else None,
                'tool': self.version, 'library': self.version, 'driver': self.options.engine, 'method': ' '.join(self.command(name, max(OPENSSL_SIZES), 1))}

    def _speed(self, name: str, size: int, left: float) -> Dict[int, Tuple[int, float]]:
        """One run. Raises Unmeasurable."""
        self.context.listener.progress(name, left)
        ran = self.host.run(*self.command(name, size, 1), limit=self.options.limit or 120.0,
                            tick=lambda elapsed: self.context.listener.progress(name, max(left - elapsed, 0.0)))
        said = ran.out + ran.err
        if ran.timed_out:
            raise Unmeasurable('timeout', 'openssl did not end within %.0f s and was stopped; --limit gives it more time' % (self.options.limit or 120.0))
        if ran.status > 128:
            raise Unmeasurable('killed', 'openssl was ended by signal %d; if that was for want of memory, the end of `dmesg` says so' % (ran.status - 128))
        if re.search(r'unknown (?:cipher|digest|option)|unsupported|is an? unknown', said) and not parse_speed(said):
            raise Unmeasurable('cipher-unsupported', '%s does not have %s' % (self.version, name), 'skipped')
        if self.options.engine and re.search(r"(?i)invalid engine|can't use that engine|engine.*not|unknown option: -engine", said):
            raise Unmeasurable('engine-unavailable', 'no crypto engine %s: %s' % (self.options.engine, telling_line(said)), 'skipped')
        if ran.status or not parse_speed(said):
            raise Unmeasurable('tool-failed', 'openssl ended with status %d: %s' % (ran.status, telling_line(without_paths(said))))
        return parse_speed(said)

    def _values(self, name: str, idle: bool, left: float) -> Dict[str, Any]:
        watch = Watch(self.context.machine)
        sizes = OPENSSL_SIZES if self.sized else (0,)
        runs = OPENSSL_RUNS if self.sized and not self.options.quick else 1
        seen = [self._speed(name, size, left) for size in sizes for _ in range(runs if size == sizes[-1] else 1)]
        watch.sample()
        watched = watch.end()
        largest = max(size for speeds in seen for size in speeds)
        rates = [count * largest * 8 / 1e6 / seconds for speeds in seen for size, (count, seconds) in speeds.items() if size == largest]
        mbit = seen[-1][largest][0] * largest * 8 / 1e6
        took = [mbit / rate for rate in rates]
        by_size = {size: seconds / count for speeds in seen for size, (count, seconds) in speeds.items()}
        fitted = least_squares([(1.0, float(size)) for size in by_size], list(by_size.values())) if len(by_size) > 1 else None
        warnings = raised(run_warnings(self.context.machine, took, watched, idle, self.options.quick))
        return {**self._names(name), 'seconds': median(took), 'mbit': mbit, 'mbit_s': mbit / median(took), 'runs': took, 'spread': relative_spread(took),
                'warnings': warnings,
                'extra': {'block_bytes': largest, **{'mbit_s_%d' % size: rounded(8e-6 * size / seconds) for size, seconds in sorted(by_size.items()) if size != largest},
                          'per_call_us': rounded(1e6 * max(fitted[0], 0.0), 4) if fitted else None, 'per_byte_ns': rounded(1e9 * fitted[1], 4) if fitted else None,
                          'clock_mhz': watched_extra(watched)['clock_mhz'], 'temperature_c': watched_extra(watched)['temperature_c'],
                          'governor': self.context.machine.governor()}}


class Setup(NamedTuple):
    """One way to set up a VPN: its cipher, and for OpenVPN what carries the packets, what they are put into, and whether
    the kernel does it."""

    combination: Combination
    proto: str = ''
    dev: str = ''
    dco: bool = False

    def words(self) -> str:
        """`tun, UDP, DCO`; '' where there is no choice."""
        return ', '.join(filter(None, ('bridged tap' if self.dev == 'tap' else self.dev, self.proto.upper(), 'DCO' if self.dco else '')))


class Tunnel(NamedTuple):
    """A VPN that stands: where each client finds the server through it, its processes (the server's first), what the
    server's end of it has carried so far, and what a line should know."""

    addresses: Tuple[str, ...]
    jobs: Tuple[Job, ...]
    carried: Callable[[], Optional[Counters]]
    extra: Dict[str, Any] = {}


class Vpn:
    """One kind of VPN between the namespaces of a testbed."""

    name = ''
    title = ''
    defaults: Tuple[Tuple[str, Optional[str]], ...] = ()

    def __init__(self, bed: Testbed, context: Context) -> None:
        self.bed, self.host, self.context, self.options = bed, bed.host, context, context.options

    def setups(self) -> List[Setup]:
        """What is to be measured."""
        options = self.options
        if not options.ciphers and not options.auths:
            return [Setup(Combination(cipher, auth)) for cipher, auth in self.defaults]
        wanted = [Combination(cipher, None if is_aead(cipher) else auth) for cipher in options.ciphers or tuple(cipher for cipher, auth in self.defaults if auth)
                  for auth in options.auths or ('SHA1',)]
        return [Setup(combination) for combination in dict.fromkeys(wanted)]

    def ready(self) -> None:
        """Find out what there is. Raises Unmeasurable."""

    @staticmethod
    def told(why: str, ask: Callable[[], Any]) -> None:
        """Ask the kernel for something, with a better word for why it refuses. Raises Unmeasurable."""
        try:
            ask()
        except Unmeasurable as error:
            raise Unmeasurable(error.reason, '%s (%s)' % (why, error.detail) if error.reason == 'kernel-unsupported' else error.detail, error.status) from error

    def up(self, setup: Setup) -> Tunnel:
        """Make the tunnel. Raises Unmeasurable; down() removes also half of one."""
        raise NotImplementedError

    def down(self) -> None:
        """Remove it."""

    def ceiling(self, setup: Setup) -> Optional[float]:
        """Mbit/s that the cipher alone reaches on one core with packets of 1420 bytes, where this run knows it."""
        raise NotImplementedError

    def names(self, setup: Setup) -> Dict[str, Any]:
        """What a line is to be known by."""
        cipher, auth, _ = setup.combination
        return {'algorithm': table_column(cipher), 'cipher': cipher, 'auth': auth, 'tool': self.title, 'driver': setup.words() or None}


TUNNEL_DEV = 'rbt0'
TUNNEL_UP_SECONDS = 30.0


class OpenvpnVpn(Vpn):
    """Real OpenVPN processes: with a static key where the version has that and the cipher allows it, else with TLS and
    certificates of our own."""

    name = 'openvpn'
    title = 'OpenVPN'
    defaults = (('none', 'none'), ('aes-128-cbc', 'SHA1'), ('aes-256-cbc', 'SHA1'), ('aes-256-gcm', None), ('chacha20-poly1305', None))

    def __init__(self, bed: Testbed, context: Context) -> None:
        super().__init__(bed, context)
        self.openvpn = Openvpn(self.host, context.machine, context.options._replace(processes=1))
        self.help = ''
        self.jobs: List[Job] = []
        self.trust: Optional[Tuple[str, ...]] = None
        self.ceilings: Dict[Combination, Optional[float]] = {}

    def ready(self) -> None:
        """See Vpn."""
        self.openvpn.check()
        self.help = self.host.run('openvpn', '--help').out

    def setups(self) -> List[Setup]:
        """Every device with every protocol, and with DCO what that can do, where the kernel has it."""
        every = [setup._replace(proto=proto, dev=dev) for setup in super().setups() for dev in self.options.devs for proto in self.options.protos]
        dco = self._kernel_has_dco()
        return every + [setup._replace(dco=True) for setup in every if dco and setup.dev == 'tun' and is_aead(setup.combination.cipher)]

    def _kernel_has_dco(self) -> bool:
        if not self.openvpn.build.dco:
            return False
        kind = 'ovpn-dco' if re.match(r'OpenVPN 2\.[0-6]\b', self.openvpn.build.tool) else 'ovpn'
        has = self.host.run('ip', '-n', self.bed.server, 'link', 'add', TUNNEL_DEV, 'type', kind).status == 0
        if has:
            self.bed.ip('-n', self.bed.server, 'link', 'del', TUNNEL_DEV)
        return has

    def up(self, setup: Setup) -> Tunnel:
        """See Vpn. What a version refuses to do with a static key it may do with TLS."""
        alone = len(self.bed.clients) == 1 and not is_aead(setup.combination.cipher)
        if alone and '--secret' in self.help:
            try:
                return self._between(setup, 'static')
            except Unmeasurable as error:
                if error.reason not in ('tool-failed', 'cipher-unsupported', 'mode-unsupported'):
                    raise
                self.down()
        return self._between(setup, 'tls')

    def _between(self, setup: Setup, keys: str) -> Tunnel:
        ends = self._static_ends(setup) if keys == 'static' else self._tls_ends(setup)
        bed, ready = self.bed, 'Initialization Sequence Completed' if keys == 'tls' else r'TUN/TAP device \S+ opened'
        self._start(bed.server, ends[0], ready)
        addresses = ['10.91.0.%d/24' % (i + 2) for i in range(len(bed.clients))]
        bridge = 'br0' if setup.dev == 'tap' else TUNNEL_DEV
        if setup.dev == 'tap':
            for step in ('add br0 type bridge', 'set %s master br0' % TUNNEL_DEV, 'set %s up' % TUNNEL_DEV):
                bed.ip('-n', bed.server, 'link', *step.split())
            bed.bring_up(bed.server, 'br0', '10.91.0.1/24')
        for client, words, address in zip(bed.clients, ends[1:], addresses):
            self._start(client, words, ready)
            if setup.dev == 'tap':
                bed.bring_up(client, TUNNEL_DEV, address)
        log = self.jobs[-1].kept[self.jobs[-1].streams[0]].text()
        if setup.dco and not re.search(r'DCO device \S+ opened', log):
            raise Unmeasurable('kernel-unsupported', 'OpenVPN did not leave the data channel to the kernel', 'skipped')
        return Tunnel(('10.91.0.1',) * len(bed.clients), () if setup.dco else tuple(self.jobs), lambda: bed.counters(bed.server, bridge),
                      {'dev': setup.dev, 'proto': setup.proto, 'keys': keys, 'dco': setup.dco})

    def _start(self, where: str, words: Sequence[str], ready: str) -> None:
        """Start one end and wait until it says that it is ready. Raises Unmeasurable."""
        job = self.bed.start(where, 'openvpn', *words)
        self.jobs.append(job)

        def said() -> str:
            return job.error or job.kept[job.streams[0]].text()
        came = self.host.attend(lambda: not job.alive() or bool(re.search(ready, said())), TUNNEL_UP_SECONDS)
        if job.alive() and came:
            return
        text = without_paths(without_addresses(said()))
        if came:
            job.end()
            text = without_paths(without_addresses(said() + job.kept[job.streams[1]].text() if not job.error else job.error))
        reason = openvpn_refusal(text) or ('tool-failed' if came else 'tunnel-down')
        raise Unmeasurable(reason, '%s: %s' % ('openvpn ended' if came else 'the tunnel did not come up within %s' % spoken(TUNNEL_UP_SECONDS), telling_line(text)),
                           'skipped' if reason not in ('tool-failed', 'tunnel-down') else 'failed')

    def _common(self, setup: Setup) -> Tuple[str, ...]:
        """What both ends and both kinds of keys have in common."""
        dco = () if setup.dco or '--disable-dco' not in self.help else ('--disable-dco',)
        engine = ('--engine', self.options.engine) if self.options.engine else ()
        return ('--dev', TUNNEL_DEV, '--dev-type', setup.dev, '--port', '1194', '--verb', '3', *setup.combination.words(), *dco, *engine)

    def _static_ends(self, setup: Setup) -> List[Tuple[str, ...]]:
        if not self.openvpn.key:
            self.openvpn.make_key()
        allow = '--allow-deprecated-insecure-static-crypto'
        common = (*self._common(setup), '--secret', self.openvpn.key, *((allow,) if allow in self.help else ()))
        tcp = setup.proto == 'tcp'
        addresses = ('10.91.0.1', '10.91.0.2')
        one, other = (('--ifconfig', *pair) if setup.dev == 'tun' else () for pair in (addresses, addresses[::-1]))
        return [(*common, *one, '--proto', 'tcp-server' if tcp else 'udp'),
                (*common, *other, '--remote', self.bed.near(0), '--proto', 'tcp-client' if tcp else 'udp')]

    def _tls_ends(self, setup: Setup) -> List[Tuple[str, ...]]:
        trust = self.trust = self.trust or self._make_certificate()
        cipher = setup.combination.words()[1]
        choice = ('--data-ciphers', cipher) if '--data-ciphers' in self.help else ('--ncp-disable',) if '--ncp-disable' in self.help else ()
        common, tcp = (*self._common(setup), *choice, *trust), setup.proto == 'tcp'
        net: Tuple[str, ...] = ('--server', '10.91.0.0', '255.255.255.0', '--topology', 'subnet')
        if setup.dev == 'tap':
            net = ('--mode', 'server', '--tls-server')
        return [(*common, *net, '--dh', 'none', '--duplicate-cn', '--keepalive', '10', '120', '--proto', 'tcp-server' if tcp else 'udp')] + [
            (*common, '--client', '--nobind', '--connect-retry', '1', '--remote', self.bed.near(i), '--proto', 'tcp-client' if tcp else 'udp')
            for i in range(len(self.bed.clients))]

    def _make_certificate(self) -> Tuple[str, ...]:
        """One certificate for all, which signs itself, and the options that trust just this one."""
        if not self.host.find('openssl'):
            raise Unmeasurable('tool-missing', 'TLS needs a certificate, and there is no openssl to make one: %s' % install_hint(self.host, 'openssl'), 'skipped')
        key, certificate = (self.host.private_path(name) for name in ('tls.key', 'tls.crt'))
        ran = self.host.run('openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=routerbench', '-days', '7300',
                            '-keyout', key, '-out', certificate, limit=60.0)
        digest = re.search(r'=([0-9A-F:]+)\s*$', self.host.output('openssl', 'x509', '-in', certificate, '-noout', '-fingerprint', '-sha256'))
        if ran.status or not digest:
            raise Unmeasurable('tool-failed', 'openssl made no certificate: %s' % telling_line(without_paths(ran.err)))
        trust = ('--peer-fingerprint', digest.group(1))  # from 2.6 on, which does not list it in its help
        if 'Unrecognized option' in self.host.run('openvpn', *trust, '--show-digests').out:
            trust = ('--ca', certificate)
        return ('--cert', certificate, '--key', key, *trust)

    def down(self) -> None:
        """See Vpn. A device goes with its process, the bridge does not."""
        self.bed.stop(self.jobs)
        self.jobs = []
        self.host.run('ip', '-n', self.bed.server, 'link', 'del', 'br0')

    def ceiling(self, setup: Setup) -> Optional[float]:
        """See Vpn. A line of this run tells it, else a few short runs of --test-crypto."""
        combination = setup.combination._replace(asked=True)
        known = [line.extra['mbit_s_1420'] for line in self.context.done if line.test == 'openvpn' and line.status == 'ok' and (line.cipher, line.auth) == combination[:2]
                 and line.extra.get('processes') == 1]
        if combination not in self.ceilings:
            self.ceilings[combination] = known[-1] if known else self._measured_ceiling(combination)
        return self.ceilings[combination]

    def _measured_ceiling(self, combination: Combination) -> Optional[float]:
        if combination.cipher == combination.auth == 'none':
            return None
        self.context.listener.progress('what %s costs by itself' % combination.title(), 0)
        try:
            samples = [self.openvpn.timed(combination, mtu, 1.0)[0] for _ in range(5) for mtu in COST_MTUS]
        except Unmeasurable:
            return None
        cost = typical_cost(samples)
        return packet_mbit_s(cost, REAL_PACKET) if cost else None

    def names(self, setup: Setup) -> Dict[str, Any]:
        """See Vpn."""
        return {**super().names(setup), 'tool': self.openvpn.build.tool, 'library': self.openvpn.build.library}


def kernel_ceiling(context: Context, names: Sequence[str], combination: Combination) -> Optional[float]:
    """Of a kernel line of this run, by the kernel's names of the algorithm, the fitting one first."""
    known = {line.extra.get('name'): line.extra.get('net_mbit_s_1424') or line.extra.get('net_mbit_s') for line in context.done if line.test == 'kernel' and line.status == 'ok'
             and line.extra.get('in_use') and line.cipher == combination.cipher}
    return next((known[name] for name in names if name in known), None)


class WireguardVpn(Vpn):
    """The kernel's WireGuard."""

    name = 'wireguard'
    title = 'WireGuard'

    def ready(self) -> None:
        """See Vpn."""
        if not self.host.find('wg'):
            raise Unmeasurable('tool-missing', '`wg` is not there: %s' % install_hint(self.host, 'wg'), 'skipped')

    def setups(self) -> List[Setup]:
        """See Vpn. It has one cipher."""
        return [Setup(Combination('chacha20-poly1305', None))] if not self.options.ciphers or 'chacha20-poly1305' in self.options.ciphers else []

    def _make_keys(self, where: str) -> Tuple[str, str]:
        """The file of a secret key, and the public one."""
        secret = self.host.output('wg', 'genkey')
        path = self.host.private_path(where)
        self.host.replace(path, secret, 0o600)
        public = self.host.exchange(('wg', 'pubkey'), secret)[1].strip()
        if not public:
            raise Unmeasurable('tool-failed', '`wg genkey` or `wg pubkey` gave no key')
        return path, public

    def up(self, setup: Setup) -> Tunnel:
        """See Vpn."""
        bed = self.bed
        names = (bed.server, *bed.clients)
        self.told('this kernel has no WireGuard: from Linux 5.6 on it is a module, `wireguard`, on OpenWrt kmod-wireguard',
                  lambda: [bed.ip('-n', name, 'link', 'add', TUNNEL_DEV, 'type', 'wireguard') for name in names])
        keys = [self._make_keys(name) for name in names]
        peers = [word for i, (_, public) in enumerate(keys[1:]) for word in ('peer', public, 'allowed-ips', '10.91.0.%d/32' % (i + 2))]
        self._set(bed.server, 'listen-port', '51820', 'private-key', keys[0][0], *peers)
        bed.bring_up(bed.server, TUNNEL_DEV, '10.91.0.1/24')
        for i, (client, (secret, _)) in enumerate(zip(bed.clients, keys[1:])):
            self._set(client, 'private-key', secret, 'peer', keys[0][1], 'endpoint', '%s:51820' % bed.near(i), 'allowed-ips', '10.91.0.1/32')
            bed.bring_up(client, TUNNEL_DEV, '10.91.0.%d/24' % (i + 2))
        return Tunnel(('10.91.0.1',) * len(bed.clients), (), lambda: bed.counters(bed.server, TUNNEL_DEV))

    def _set(self, where: str, *words: str) -> None:
        ran = self.host.run(*self.bed.inside(where, 'wg', 'set', TUNNEL_DEV, *words))
        if ran.status:
            raise Unmeasurable('tool-failed', '`wg set`: %s' % telling_line(without_paths(without_addresses(ran.err))))

    def down(self) -> None:
        """See Vpn."""
        for name in (self.bed.server, *self.bed.clients):
            self.host.run('ip', '-n', name, 'link', 'del', TUNNEL_DEV)

    def ceiling(self, setup: Setup) -> Optional[float]:
        """See Vpn."""
        return kernel_ceiling(self.context, ('rfc7539(chacha20,poly1305)',), setup.combination)


ESP_AUTHS = {'SHA1': ('hmac(sha1)', 20, 96), 'SHA256': ('hmac(sha256)', 32, 128), 'SHA512': ('hmac(sha512)', 64, 256), 'MD5': ('hmac(md5)', 16, 96)}


def esp_algorithm(combination: Combination, key: Callable[[int], str]) -> Optional[str]:
    """A cipher and digest in the words of `ip xfrm state`, with keys of so many bytes; None for what ESP has not."""
    match = re.match(r'aes-(128|192|256)-(cbc|gcm|ctr)\Z', combination.cipher)
    bits, mode = (int(match.group(1)), match.group(2)) if match else (0, combination.cipher)
    if mode == 'gcm':
        return 'aead rfc4106(gcm(aes)) %s 128' % key(bits // 8 + 4)
    if mode == 'chacha20-poly1305':
        return 'aead rfc7539esp(chacha20,poly1305) %s 128' % key(36)
    cipher = {'cbc': 'enc cbc(aes) %s' % key(bits // 8), 'ctr': 'enc rfc3686(ctr(aes)) %s' % key(bits // 8 + 4), 'none': 'enc ecb(cipher_null) ""'}.get(mode)
    if cipher is None or combination.auth != 'none' and combination.auth not in ESP_AUTHS:
        return None
    name, size, cut = ESP_AUTHS.get(combination.auth or '', ('digest_null', 0, 0))
    return '%s %s' % (cipher, 'auth-trunc %s %s %d' % (name, key(size), cut) if size else 'auth digest_null ""')


class IpsecVpn(Vpn):
    """The kernel's IPsec: ESP in tunnel mode, with keys that are set by `ip xfrm`."""

    name = 'ipsec'
    title = 'IPsec (ESP)'
    defaults = (('none', 'none'), ('aes-128-cbc', 'SHA1'), ('aes-256-cbc', 'SHA256'), ('aes-128-gcm', None), ('aes-256-gcm', None))

    def up(self, setup: Setup) -> Tunnel:
        """See Vpn."""
        bed = self.bed
        for i, client in enumerate(bed.clients):
            algorithms = [esp_algorithm(setup.combination, lambda size: '0x' + os.urandom(size).hex()) for _ in range(2)]
            if None in algorithms:
                raise Unmeasurable('cipher-unsupported', 'ESP has no %s' % setup.combination.title(), 'skipped')
            states = ['xfrm state add src %s dst %s proto esp spi 0x%x reqid 1 mode tunnel %s' % (source, target, 0x1000 + 2 * i + k, algorithm) for k, (source, target, algorithm)
                      in enumerate(((bed.far(i), bed.near(i), algorithms[0]), (bed.near(i), bed.far(i), algorithms[1])))]
            self._batch(bed.server, states + self._policies(bed.near(i), bed.far(i), self._inner(i, 1), self._inner(i, 2)))
            self._batch(client, states + self._policies(bed.far(i), bed.near(i), self._inner(i, 2), self._inner(i, 1)))

        def carried() -> Optional[Counters]:
            count = parse_xfrm(self.host.output('ip', '-n', bed.server, '-s', 'xfrm', 'state'))
            return None if count is None else Counters(self.host.clock(), count, 0)
        return Tunnel(tuple(self._inner(i, 1) for i in range(len(bed.clients))), (), carried)

    @staticmethod
    def _inner(client: int, end: int) -> str:
        return '10.91.%d.%d' % (client, end)

    @staticmethod
    def _policies(mine: str, other: str, inner: str, inner_other: str) -> List[str]:
        """Address, policies and route of one end."""
        return ['addr add %s/32 dev lo' % inner,
                'xfrm policy add src %s/32 dst %s/32 dir out tmpl src %s dst %s proto esp reqid 1 mode tunnel' % (inner, inner_other, mine, other),
                'xfrm policy add src %s/32 dst %s/32 dir in tmpl src %s dst %s proto esp reqid 1 mode tunnel' % (inner_other, inner, other, mine),
                'route add %s/32 via %s src %s' % (inner_other, other, inner)]

    def _batch(self, where: str, commands: Sequence[str]) -> None:
        """Several commands of `ip` by a file that only we can read: there are keys in them."""
        path = self.host.private_path('xfrm')
        self.host.replace(path, '\n'.join(commands) + '\n', 0o600)
        try:
            self.told('this kernel has no ESP, or not with this cipher: modules esp4, xfrm_user and the cipher\'s; on OpenWrt kmod-ipsec4',
                      lambda: self.bed.ip('-n', where, '-batch', path))
        finally:
            self.host.remove(path)

    def down(self) -> None:
        """See Vpn."""
        for i, (name, end) in enumerate([(self.bed.server, 1)] + [(client, 2) for client in self.bed.clients]):
            for words in (('xfrm', 'policy', 'flush'), ('xfrm', 'state', 'flush')):
                self.host.run('ip', '-n', name, *words)
            for client in range(len(self.bed.clients)) if end == 1 else (i - 1,):
                self.host.run('ip', '-n', name, 'addr', 'del', self._inner(client, end) + '/32', 'dev', 'lo')
                self.host.run('ip', '-n', name, 'route', 'del', self._inner(client, 3 - end) + '/32')

    def ceiling(self, setup: Setup) -> Optional[float]:
        """See Vpn."""
        cipher, auth, _ = setup.combination
        names = {'cbc': ('authenc(hmac(%s),cbc(aes))' % (auth or '').lower(),), 'gcm': ('rfc4106(gcm(aes))', 'gcm(aes)'),
                 'poly1305': ('rfc7539esp(chacha20,poly1305)', 'rfc7539(chacha20,poly1305)')}
        return kernel_ceiling(self.context, names.get(cipher.rpartition('-')[2], ()), setup.combination)


VPNS: Tuple[Type[Vpn], ...] = (OpenvpnVpn, WireguardVpn, IpsecVpn)
IN_KERNEL = (WireguardVpn.title, IpsecVpn.title)
VPN_PROGRAMS = ('openvpn', 'charon', 'wireguard-go', 'boringtun', 'tincd', 'tailscaled', 'nebula', 'zerotier-one', 'racoon', 'pppd', 'fastd', 'ocserv', 'openconnect')


class Way(NamedTuple):
    """A way to the other end: for each client the words before iperf3's, the address and the port; what its counter has
    seen, and the processor seconds of each of the VPN's processes so far; what a line is to be known by, and its `extra`."""

    tunnel: bool
    ends: Tuple[Tuple[Tuple[str, ...], str, int], ...]
    carried: Callable[[], Optional[Counters]]
    worked: Callable[[], Dict[int, float]]
    names: Dict[str, Any]
    extra: Dict[str, Any]
    ceiling: Optional[float] = None
    in_kernel: bool = False


class Trip(NamedTuple):
    """One test of iperf3 by all clients of a way at once: what each got, bytes that the way's counter grew by, processors
    that the busiest process of the VPN took, and what else went on."""

    parts: Tuple[Iperf, ...]
    carried: Optional[int]
    vpn: Optional[float]
    watched: Watched

    def rate(self) -> float:
        """Mbit/s of all together."""
        return sum(part.mbit_s for part in self.parts)

    def share(self, end: str) -> Optional[float]:
        """Processors of the busiest iperf3 at one end: `local_cpu` or `remote_cpu`."""
        return max([value for value in (getattr(part, end) for part in self.parts) if value is not None], default=None)


NO_VPN = 'no VPN'  # as the tool of a direct line
PAIR_SECONDS, LOOPBACK_SECONDS, QUICK_SECONDS = 10.0, 5.0, 3.0  # of one test of iperf3
LEAST_ROUNDS, MOST_ROUNDS = 3, 6
IPERF_MARGIN = 20.0  # seconds that iperf3 may take longer than it was told to
BUSY_PAUSES = (2.0, 4.0, 8.0)
PROBES = 8  # tries of a tunnel that has just been made
FASTEST_BYTES_S = 1e11  # what grows faster is a counter that began anew
USED_SHARE = 0.9  # of what iperf3 received has to be seen by the tunnel's counter
OFFLOADED_SHARE = 0.5


class TunnelTest(Test):
    """iperf3 with and without a VPN, in turns: between this machine and another one, or a whole VPN on this one. The
    method of OpenVPN's AWS guide, of the wintun mail and, with several clients, of RRZN's."""

    name = 'tunnel'
    title = 'with and without a tunnel (iperf3)'
    usual = False

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.options = context.options
        self.version = ''
        self.idle = True
        self.cores = context.machine.cores() or 1
        self.share = self.options.budget  # of each pair of ways

    def by_default(self) -> bool:
        """See Test. Whoever says where to measure wants it."""
        return bool(self.options.through or self.options.direct or self.options.loopback)

    def ready(self) -> str:
        """See Test."""
        for tool in ('iperf3', 'ip') if self.options.loopback else ('iperf3',):
            if not self.host.find(tool):
                raise Unmeasurable('tool-missing', '%s is not there: %s' % (tool, install_hint(self.host, tool)), 'skipped')
        ran = self.host.run('iperf3', '--version')
        found = re.search(r'iperf \d\S*', ran.out + ran.err)
        if not found:
            raise Unmeasurable('tool-broken', 'iperf3 is there but does not tell its version: reinstall it, %s' % install_hint(self.host, 'iperf3'))
        self.version = plain(found.group(), 40)
        return self.version

    def measure(self) -> Iterator[Result]:
        """See Test."""
        self.context.listener.note(self.ready())
        yield from self._loopback() if self.options.loopback else self._pair()

    # Between two machines

    def _pair(self) -> Iterator[Result]:
        """The direct way and the one through the tunnel; or only one of them."""
        self.idle = wait_idle(self.context.machine, self.options.wait, self.context.listener)
        ways: List[Way] = []
        for address in filter(None, (self.options.direct, self.options.through)):
            through = address is self.options.through
            try:
                ways.append(self._known_way(address, through, ways))
            except Unmeasurable as error:
                yield Result(self._no_values({'tool': None if through else NO_VPN, 'method': self._method(through, False)}, error))
        if ways:
            self._announce(1, len(ways))
            yield from self._measured(ways, 0.0)

    def _known_way(self, address: str, through: bool, others: Sequence[Way]) -> Way:
        """A way, by a first short test: which interface leads there. Raises Unmeasurable."""
        machine = self.context.machine
        end = ((), address, self.options.port)
        self.context.listener.progress('looking at the %s' % ('tunnel' if through else 'direct way'), 0)
        [seen] = self._iperf([end], False, 1.0)
        name = machine.towards(seen.remote or address)
        extra = {'interface': name, 'link_mbit_s': machine.link_speed(name) if name and not through else None}
        if not through or not others or others[0].extra['interface'] != name or name is None:
            carried = (lambda: machine.counters(name)) if name else (lambda: None)
        elif self.host.run('ip', '-s', 'xfrm', 'state').status:
            carried = lambda: None  # only root may see the states
        elif self._xfrm() is None:
            raise Unmeasurable('tunnel-unused', 'both addresses are reached by %s, and the kernel has no IPsec: the second one is not behind a tunnel that begins '
                               'on this machine; run it where the tunnel begins (--on)' % name)
        else:
            carried = self._xfrm
        tool = NO_VPN if not through else self._vpn_name(name, carried == self._xfrm)
        in_kernel = tool in IN_KERNEL
        programs = () if in_kernel or not through else ('openvpn',) if (tool or '').startswith('OpenVPN') else VPN_PROGRAMS
        return Way(through, (end,), carried, lambda: machine.processes(programs) if programs else {}, {'tool': tool}, extra,
                   self._told_ceiling() if through else None, in_kernel)

    def _xfrm(self) -> Optional[Counters]:
        count = parse_xfrm(self.host.output('ip', '-s', 'xfrm', 'state'))
        return None if count is None else Counters(self.host.clock(), count, 0)

    def _vpn_name(self, name: Optional[str], ipsec: bool) -> Optional[str]:
        """What makes a tunnel, by the kind of its interface and by what runs here."""
        if ipsec:
            return 'IPsec (ESP)'
        kind = self.host.output('ip', '-d', 'link', 'show', 'dev', name) if name else ''
        if re.search(r'^\s+wireguard\b', kind, re.M):
            return 'WireGuard'
        if self.context.machine.processes(('openvpn',)) and (re.search(r'^\s+(?:tun|ovpn)\b', kind, re.M) or re.match('tun|tap|ovpn', name or '')):
            build = parse_openvpn_version(self.host.run('openvpn', '--version').out) if self.host.find('openvpn') else None
            return build.tool if build else 'OpenVPN'
        return None

    def _told_ceiling(self) -> Optional[float]:
        """Of the cipher that the user says the tunnel has, by an openvpn line of this run."""
        known = [line.extra.get('mbit_s_1420') for line in self.context.done if line.test == 'openvpn' and line.status == 'ok' and line.cipher in self.options.ciphers]
        return known[0] if len(self.options.ciphers) == 1 and known else None

    # A whole VPN on this machine

    def _loopback(self) -> Iterator[Result]:
        if not isinstance(self.host, LocalHost):
            raise Unmeasurable('needs-python', 'a VPN on one machine is made by routerbench itself: copy it there', 'skipped')
        self.idle = wait_idle(self.context.machine, self.options.wait, self.context.listener)
        bed = Testbed(self.host, self.options.clients)
        try:
            bed.open()
            kinds = [kind(bed, self.context) for kind in VPNS if not self.options.vpns or kind.name in self.options.vpns]
            wanted: List[Tuple[Vpn, Setup]] = []
            for vpn in kinds:
                try:
                    vpn.ready()
                    setups = vpn.setups()
                    if not setups and self.options.vpns:
                        raise Unmeasurable('cipher-unsupported', '%s has none of these ciphers' % vpn.title, 'skipped')
                    wanted += [(vpn, setup) for setup in setups]
                except Unmeasurable as error:
                    yield Result(self._no_values({'tool': vpn.title}, error), bool(self.options.vpns))
            self.share = self.options.budget / max(len(wanted), 1)
            self._announce(len(wanted), 2)
            shown: Set[str] = set()  # the direct way is measured with every tunnel, and one line for each direction is enough
            for i, (vpn, setup) in enumerate(wanted):
                for result in self._one_vpn(bed, vpn, setup, (len(wanted) - i - 1) * self._expected(2)):
                    key = '' if result.values['tool'] != NO_VPN else '%s %s' % (result.values.get('status'), result.values['extra'].get('direction'))
                    if key not in shown:
                        yield result
                    shown |= {key} - {''}
        finally:
            bed.close()

    def _one_vpn(self, bed: Testbed, vpn: Vpn, setup: Setup, later: float) -> Iterator[Result]:
        """One tunnel, from its making to its end."""
        method = 'routerbench.py run tunnel --loopback --vpn %s --cipher %s%s%s%s' % (
            vpn.name, setup.combination.cipher, ' --auth ' + setup.combination.auth if setup.combination.auth else '',
            ' --dev %s --proto %s' % (setup.dev, setup.proto) if setup.dev else '', ' --clients %d' % len(bed.clients) if len(bed.clients) > 1 else '')
        names = {**vpn.names(setup), 'method': method}
        try:
            ceiling = vpn.ceiling(setup)
            self.context.listener.progress('making %s %s' % (vpn.title, setup.combination.title()), later + self._expected(2))
            tunnel = vpn.up(setup)
            pids = [job.process.pid for job in tunnel.jobs]
            ends = [tuple((bed.inside(client), address, IPERF_PORT + i) for i, (client, address) in enumerate(zip(bed.clients, addresses)))
                    for addresses in ([bed.near(i) for i in range(len(bed.clients))], tunnel.addresses)]
            ways = [Way(False, ends[0], lambda: None, lambda: {}, {'tool': NO_VPN, 'method': 'iperf3 between two namespaces'}, {}),
                    Way(True, ends[1], tunnel.carried, lambda: self._worked(pids), names, tunnel.extra, ceiling, in_kernel=not pids)]
            self._until_through(ways[1])
            yield from self._measured(ways, later)
        except Unmeasurable as error:
            yield Result(self._no_values(names, error), bool(self.options.vpns))
        finally:
            vpn.down()

    def _worked(self, pids: Sequence[int]) -> Dict[int, float]:
        times = [process_time(text, 100.0) for text in self.host.look(*['/proc/%d/stat' % pid for pid in pids])]
        return {pid: seconds for pid, seconds in zip(pids, times) if seconds is not None}

    def _until_through(self, way: Way) -> None:
        """Wait until something comes through a tunnel that was just made. Raises Unmeasurable."""
        for attempt in range(PROBES):
            try:
                self._iperf(way.ends, False, 1.0)
                return
            except Unmeasurable as error:
                if attempt == PROBES - 1 or error.reason not in ('no-answer', 'connection-refused', 'connection-lost', 'timeout'):
                    raise Unmeasurable('tunnel-down', 'nothing came through the tunnel: %s' % error.detail) from error
            self.host.sleep(1.0)

    # What both have in common

    def _seconds(self) -> float:
        usual = QUICK_SECONDS if self.options.quick else LOOPBACK_SECONDS if self.options.loopback else PAIR_SECONDS
        return float(max(round(self.options.time or usual), 1))  # iperf3 takes 0 for without end

    def _rounds(self, ways: int) -> int:
        return 1 if self.options.quick else max(min(LEAST_ROUNDS, int(self.share / (ways * self._seconds() * (1 + self.options.both)))), 1)

    def _expected(self, ways: int) -> float:
        return self._rounds(ways) * ways * (self._seconds() + 1) * (1 + self.options.both)

    def _announce(self, count: int, ways: int) -> None:
        if count:
            about = count * (self._expected(ways) + 3 * self.options.loopback)
            most = ', at most %s if the runs lie apart' % spoken(about * MOST_ROUNDS / LEAST_ROUNDS) if self._rounds(ways) == LEAST_ROUNDS else ''
            self.context.listener.note('%d measurement%s, about %s%s' % (count * ways, '' if count * ways == 1 else 's', spoken(about), most))

    def _argv(self, end: Tuple[Tuple[str, ...], str, int], down: bool, seconds: float) -> Tuple[str, ...]:
        prefix, address, port = end
        return (*prefix, 'iperf3', '-c', address, '-p', str(port), *self._words(down, seconds), '-i', '0', '-J', *(('-B', self.options.bind) if self.options.bind else ()))

    def _words(self, down: bool, seconds: float) -> Tuple[str, ...]:
        parallel = ('-P', str(self.options.parallel)) if self.options.parallel > 1 else ()
        return ('-t', '%.0f' % seconds, *parallel, *(('-R',) if down else ()), *(('-u', '-b', '0') if self.options.udp else ()))

    def _method(self, through: bool, down: bool) -> str:
        return ' '.join(('iperf3', '-c', '<through the tunnel>' if through else '<direct>', *self._words(down, self._seconds())))

    def _iperf(self, ends: Sequence[Tuple[Tuple[str, ...], str, int]], down: bool, seconds: float, tick: Tick = no_tick, begin: Callable[[], None] = lambda: None) -> List[Iperf]:
        """What iperf3 says, for each client. A server that is at another test is asked again, with `begin` before each attempt. Raises Unmeasurable."""
        limit = self.options.limit or seconds + IPERF_MARGIN
        for pause in (*BUSY_PAUSES, None):
            begin()
            rans = self.host.run_all([self._argv(end, down, seconds) for end in ends], limit, tick)
            try:
                return [self._said(ran, limit) for ran in rans]
            except Unmeasurable as error:
                if error.reason != 'server-busy' or pause is None:
                    raise
            self.host.sleep(pause)
        raise AssertionError('the last time raises')

    @staticmethod
    def _said(ran: Ran, limit: float) -> Iperf:
        if ran.timed_out:
            raise Unmeasurable('timeout', 'iperf3 did not end within %.0f s and was stopped; --limit gives it more time' % limit)
        if '{' not in ran.out:
            said = ran.out + ran.err
            raise Unmeasurable('tool-broken' if ran.status in (126, 127) else iperf_refusal(said), 'iperf3: %s' % telling_line(without_addresses(said)))
        after = re.search(r'^iperf3: error - (.*)', ran.out + '\n' + ran.err, re.M)
        if after:
            raise Unmeasurable(iperf_refusal(after.group(1)), 'iperf3: %s' % plain(without_addresses(after.group(1))))
        return parse_iperf_json(ran.out)[0]

    def _trip(self, way: Way, down: bool, left: float) -> Trip:
        """One test over one way, with what it cost."""
        name = '%s %s' % (way.names.get('tool') or 'tunnel', way.names.get('cipher') or '')
        before: Optional[Counters] = None
        worked: Dict[int, float] = {}
        watch = Watch(self.context.machine)

        def begin() -> None:
            nonlocal before, worked, watch
            before, worked, watch = way.carried(), way.worked(), Watch(self.context.machine)

        def tick(elapsed: float) -> None:
            watch.sample()
            self.context.listener.progress(name.strip(), max(left - elapsed, 0.0))
        parts = self._iperf(way.ends, down, self._seconds(), tick, begin)
        watched = watch.end()
        now, work = way.carried(), way.worked()
        passed = traffic(before, now, FASTEST_BYTES_S) if before and now else None
        each = [(work[pid] - worked[pid]) / max(part.seconds for part in parts) for pid in work if pid in worked]
        return Trip(tuple(parts), max(passed) if passed else None, max(each, default=None), watched)

    def _measured(self, ways: Sequence[Way], later: float) -> Iterator[Result]:
        """The lines of some ways, in one direction or in both."""
        for down in (False, True) if self.options.both else (self.options.reverse,):
            trips, errors = self._in_turns(ways, down, later)
            for way in ways:
                try:
                    if id(way) in errors:
                        raise errors[id(way)]
                    direct = [other for other in ways if not other.tunnel and way.tunnel and id(other) not in errors]
                    yield Result(self._values(way, trips[id(way)], trips[id(direct[0])] if direct else [], down), way.tunnel or not self.options.loopback)
                except Unmeasurable as error:
                    yield Result(self._no_values(way.names, error), way.tunnel or not self.options.loopback)

    def _in_turns(self, ways: Sequence[Way], down: bool, later: float) -> Tuple[Dict[int, List[Trip]], Dict[int, Unmeasurable]]:
        """Rounds of all ways, each in the other order than the one before, until the last way's rates lie within 3 %."""
        trips: Dict[int, List[Trip]] = {id(way): [] for way in ways}
        errors: Dict[int, Unmeasurable] = {}
        least, done = self._rounds(len(ways)), 0
        most = min(MOST_ROUNDS, 2 * least) if least == LEAST_ROUNDS else least
        while len(errors) < len(ways) and (done < least or done < most and relative_spread([trip.rate() for trip in trips[id(ways[-1])]] or [1.0]) > STABLE_SPREAD):
            for way in ways[::-1] if done % 2 else ways:
                if id(way) not in errors:
                    try:
                        trips[id(way)].append(self._trip(way, down, max(least - done, 1) * len(ways) * (self._seconds() + 1) + later))
                    except Unmeasurable as error:
                        errors[id(way)] = error
            done += 1
        return trips, errors

    def _no_values(self, names: Dict[str, Any], error: Unmeasurable) -> Dict[str, Any]:
        return {'test': 'iperf3', **names, 'status': error.status, 'reason': error.reason, 'detail': error.detail, 'extra': {}}

    def _values(self, way: Way, trips: Sequence[Trip], direct: Sequence[Trip], down: bool) -> Dict[str, Any]:
        mbit = median([part.seconds for trip in trips for part in trip.parts]) * median([trip.rate() for trip in trips])
        runs = [mbit / trip.rate() for trip in trips]  # the seconds that the same amount took
        carried = [trip.carried for trip in trips if trip.carried is not None]
        share = 8e-6 * sum(carried) / sum(trip.rate() * max(part.seconds for part in trip.parts) for trip in trips) if len(carried) == len(trips) else None
        if way.tunnel and share is not None and share < USED_SHARE:
            raise Unmeasurable('tunnel-unused', 'the tunnel\'s counters grew by %.0f %% of what iperf3 received: the traffic took another way' % (100 * share))
        extra = self._extra(way, trips, direct, down)
        extra['carried'] = rounded(share)
        return {'test': 'iperf3', 'method': self._method(way.tunnel, down), **way.names, 'seconds': median(runs), 'mbit': mbit, 'mbit_s': mbit / median(runs), 'runs': runs,
                'spread': relative_spread(runs), 'warnings': self._warnings(way, trips, runs, extra), 'extra': extra}

    def _extra(self, way: Way, trips: Sequence[Trip], direct: Sequence[Trip], down: bool) -> Dict[str, Any]:
        def middle(values: Iterable[Optional[float]]) -> Optional[float]:
            known = [value for value in values if value is not None]
            return median(known) if known else None
        parts = [part for trip in trips for part in trip.parts]
        rate, before = median([trip.rate() for trip in trips]), middle(trip.rate() for trip in direct)
        busy, core, vpn = (middle(values) for values in ((trip.watched.others for trip in trips), (trip.watched.core for trip in trips), (trip.vpn for trip in trips)))
        here, there = (middle(trip.share(end) for trip in trips) for end in ('local_cpu', 'remote_cpu'))
        link = way.extra.get('link_mbit_s')
        link = None if link and rate > 1.01 * link else link  # virtual ones state any rate
        load = Load(rate, before, link, here, there, vpn, busy, self.cores, way.ceiling, core, way.in_kernel)
        one_end = (busy / 2 if busy else None) if way.in_kernel else vpn
        each = [median([trip.parts[i].mbit_s for trip in trips]) for i in range(len(way.ends))]
        counts = [part.retransmits for part in parts if part.retransmits is not None]
        extra = {'local_cpu': rounded(here), 'remote_cpu': rounded(there), 'retransmits': sum(counts) if counts else None, 'protocol': parts[0].protocol, 'iperf': self.version,
                 'way': 'tunnel' if way.tunnel else 'direct', 'direction': 'down' if down else 'up', 'streams': self.options.parallel, 'limit': limit_of(load),
                 'router_cpu': rounded(busy), **way.extra, 'link_mbit_s': link, 'clock_mhz': watched_extra(self._together(trips))['clock_mhz'],
                 'temperature_c': watched_extra(self._together(trips))['temperature_c'], 'governor': self.context.machine.governor()}
        if way.tunnel:
            extra.update(direct_mbit_s=rounded(before), efficiency=rounded(rate / before, 4) if before else None, vpn_cpu=rounded(vpn), ceiling_mbit_s=rounded(way.ceiling),
                         crypto_share=rounded(min(rate / way.ceiling / one_end, 1.0)) if way.ceiling and one_end else None)
        if self.options.loopback:
            extra.update(one_end_mbit_s=rounded(rate / one_end) if way.tunnel and one_end else None, clients=len(way.ends))
        if len(way.ends) > 1:
            extra.update(client_mbit_s=[rounded(value) for value in each], fairness=rounded(fairness(each)))
        return extra

    @staticmethod
    def _together(trips: Sequence[Trip]) -> Watched:
        return Watched(None, tuple(clock for trip in trips for clock in trip.watched.clocks), tuple(degree for trip in trips for degree in trip.watched.degrees))

    def _warnings(self, way: Way, trips: Sequence[Trip], runs: Sequence[float], extra: Dict[str, Any]) -> List[str]:
        between = not self.options.loopback
        return raised({
            **run_warnings(self.context.machine, runs, self._together(trips), self.idle, self.options.quick),
            'loopback': self.options.loopback,
            'link-bound': between and way.tunnel and extra['limit'] == 'link',
            'endpoint-bound': between and extra['limit'] in ('this end', 'other end'),
            'tunnel-unproven': way.tunnel and extra['carried'] is None if 'carried' in extra else False,
            'compressed': between and way.tunnel and not way.in_kernel and self._compresses(),
            'hw-offload': between and not way.tunnel and extra.get('carried') is not None and extra['carried'] < OFFLOADED_SHARE})

    def _compresses(self) -> bool:
        """Whether an OpenVPN that runs here was told to."""
        for pid in self.context.machine.processes(('openvpn',)):
            words = self.host.text('/proc/%d/cmdline' % pid).split('\0')
            given = dict(zip(words, words[1:]))
            name = given.get('--config') or (words[1] if len(words) >= 2 and not words[1].startswith('-') else '')
            paths = [os.path.join(place, given.get('--cd', ''), name) for place in ('/proc/%d/cwd' % pid, '/')]
            options = '\n'.join(' '.join([words[i], *(word for word in words[i + 1:i + 2] if not word.startswith('--'))]) for i in range(len(words)) if words[i].startswith('--'))
            if any(compresses(text) for text in (*map(self.host.text, paths if name else []), options)):
                return True
        return False


TESTS: Tuple[Type[Test], ...] = (OpenvpnTest, SshTest, KernelTest, OpensslTest, TunnelTest)


# --- session ------------------------------------------------------------------------------------

class Session:
    """One run: the machine's facts, the tests one after the other, and the lines they give."""

    def __init__(self, context: Context, facts: Facts, emit: Callable[[Line], None]) -> None:
        self.facts, self.emit = facts, emit
        self.host = context.host
        self.id = os.urandom(4).hex()
        self.lines: List[Line] = []
        self.context = context._replace(done=self.lines)
        self.unmet = False  # something that was asked for by name could not be measured

    def run(self, names: Sequence[str]) -> int:
        """Run the tests of these names, or without any what is usual here; the exit status."""
        tests = [kind(self.context) for kind in TESTS if not names or kind.name in names]
        for test in tests if names else [test for test in tests if test.by_default()]:
            self.measure(test, bool(names))
        return exit_status(self.lines, self.unmet)

    def measure(self, test: Test, asked: bool) -> None:
        """Run one test."""
        try:
            for result in test.measure():
                self.unmet |= result.asked and result.values.get('status', 'ok') != 'ok'
                self._add(test, result.values)
        except Unmeasurable as error:
            self.unmet |= asked
            self._add(test, {'status': error.status, 'reason': error.reason, 'detail': error.detail})

    def _add(self, test: Test, values: Dict[str, Any]) -> None:
        """Make the line and hand it on. Rounding is for the eye: the result was computed before it."""
        dated = clock_is_set(self.host)
        facts = {key: value for key, value in self.facts._asdict().items() if key in Line._fields}
        line = Line(run=self.id, time=stamp(self.host.now()) if dated else None, test=test.name, **facts)
        line = line._replace(**values)
        line = line._replace(
            seconds=rounded(line.seconds, 6), mbit=rounded(line.mbit), mbit_s=rounded(line.mbit_s),
            runs=tuple(round(seconds, 6) for seconds in line.runs), spread=rounded(line.spread, 4),
            warnings=tuple(line.warnings) + self._general_warnings() if line.status == 'ok' else ())
        self.lines.append(line)
        self.emit(line)

    def _general_warnings(self) -> Tuple[str, ...]:
        seen = {'virtual-machine': bool(self.facts.virtual), 'mixed-cores': self.facts.mixed_cores,
                'cryptodev-loaded': self.context.machine.slow_crypto(), 'clock-unset': not clock_is_set(self.host)}
        return tuple(raised(seen))


def exit_status(lines: Sequence[Line], unmet: bool) -> int:
    """Of a run that gave these lines; `unmet` if something asked for is not among them."""
    states = {line.status for line in lines}
    if 'failed' in states or ('ok' in states and unmet):
        return EXIT_FAILED
    return EXIT_OK if 'ok' in states else EXIT_NOTHING


def joint_status(statuses: Sequence[int]) -> int:
    """Of several runs: what they agree on, and else that something of it was not measured."""
    return statuses[0] if len(set(statuses)) == 1 else EXIT_FAILED


def stamp(now: float) -> str:
    """ISO 8601 in UTC."""
    return time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(now))


# --- output -------------------------------------------------------------------------------------
# Results know nothing of this and what follows: each function turns lines or facts into text.

def write_out(stream: int, text: str) -> None:
    """Write in UTF-8, whatever the locale, and at once: nothing is left to be written, and to fail,
    when Python ends. Raises OSError."""
    data = text.encode('utf-8', 'replace')
    while data:
        data = data[os.write(stream, data):]


def to_json(value: Any) -> str:
    """JSON on one line. ValueError rather than NaN."""
    import json
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def line_json(line: Line) -> str:
    """The JSON line, without its newline. ValueError rather than NaN."""
    return to_json(line._asdict())


def columns(rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> List[str]:
    """Rows as aligned text: these columns to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ['  '.join(cell.ljust(width) if i in left else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))).rstrip()
            for row in rows]


def machine_title(facts: Facts) -> str:
    """One sentence on the machine."""
    core = [facts.cpu or 'unknown processor', '%g MHz' % facts.mhz if facts.mhz else 'clock unknown']
    if facts.cores:
        core.append('%d core%s' % (facts.cores, '' if facts.cores == 1 else 's'))
    virtual = 'a virtual machine' if facts.virtual == 'hypervisor' else 'a machine in %s' % facts.virtual
    where = facts.device or (virtual if facts.virtual else 'an unnamed device')
    return '%s (%s), %s' % (where, ', '.join(core), facts.os or 'unknown system')


def line_title(line: Line) -> str:
    """`AES-256-CBC + SHA1`."""
    cipher = (line.cipher or line.test).partition('@')[0].upper()
    return '%s + %s' % (cipher, line.auth) if line.auth else cipher


def plain_title(line: Line) -> str:
    """`AES-128-CBC + SHA1`, `SHA1`, `AES-128-GCM (ESP)`."""
    esp = ' (ESP)' if str(line.extra.get('name')).startswith('rfc4106') else ''
    return line.auth or '' if line.cipher == 'none' else line_title(line) + esp


# --- journal ------------------------------------------------------------------------------------
# Files of lines: what writers, power cuts and people left in them.

Found = Tuple[int, Any, str]  # line number; a JSON object, or the code in FINDINGS of why there is none; then also the text


def read_objects(lines: Iterable[bytes]) -> Iterator[Found]:
    """The JSON objects of a file, and what is none. Several on a line are several, and those that
    stand behind a torn one are found."""
    import json
    scan = json.JSONDecoder().raw_decode  # json.loads() without its checks, which cost a tenth
    for number, data in enumerate(lines, 1):
        try:
            text = data.decode()
            value, end = scan(text, 0)
            if text[end:] != '\n' or type(value) is not dict:
                raise ValueError
        except (ValueError, RecursionError):
            yield from salvaged(number, data, scan)
        else:
            yield number, value, ''


MOST_SALVAGED = 64  # objects and torn pieces of one line; a failed attempt costs as much as the line is long


def salvaged(number: int, data: bytes, scan: Callable[[str, int], Tuple[Any, int]]) -> Iterator[Found]:
    """What can be had from a line that is not just one object: each piece that begins like one of ours by itself."""
    if len(data) >= LONGEST_LINE and not data.endswith(b'\n'):
        yield number, 'too-long', ''
        return
    for piece in re.split(rb'(?=\{"schema")', data, maxsplit=MOST_SALVAGED):
        try:
            text = piece.decode('utf-8-sig' if number == 1 else 'utf-8').strip('\x00 \t\r\n')  # some file systems fill what a power cut took with zeros
        except ValueError:
            yield number, 'not-utf8', piece.decode('utf-8', 'replace')
        else:
            yield from objects_of(number, text, scan)


def objects_of(number: int, text: str, scan: Callable[[str, int], Tuple[Any, int]]) -> Iterator[Found]:
    """The objects that stand side by side in a text, up to what is none."""
    at = count = 0
    while at < len(text):
        count += 1
        try:
            value, at = scan(text, at)
        except (ValueError, RecursionError):
            value, count = None, MOST_SALVAGED + 1
        yield number, value if type(value) is dict else 'not-json' if count > MOST_SALVAGED else 'foreign', text
        if count > MOST_SALVAGED:
            return
        at = len(text) - len(text[at:].lstrip()) if text[at:at + 1].isspace() else at


# --- soundness ----------------------------------------------------------------------------------
# Which lines are fit to stand in a table, and why the others are not.

FINDINGS: Dict[str, Tuple[str, str]] = {  # code: why it matters, how to mend it
    'above-link': ('no more than the link carries can have arrived', 'measure again; see extra.link_mbit_s'),
    'aes256-faster': ('AES256 has 14 rounds where AES128 has 10', 'measure both again on an idle router'),
    'arithmetic': ('the figures of a line have to agree with each other', 'correct the figure that was typed or converted, or measure again'),
    'cells': ('a row that has lost or won a cell says something else', 'give the row as many cells as the head; escape | and ^ in names'),
    'duplicate': ('it would count twice', 'delete one of them'),
    'foreign': ('only lines of routerbench can be merged', 'delete it'),
    'implausible': ('processors of this family do not do that: most often MByte were taken for MBit, or the clock is wrong', 'look at the unit and at `mhz`'),
    'key-missing': ('every line has every key', 'send the line as it was printed'),
    'key-type': ('a table cannot tell what it means', 'send the line as it was printed'),
    'key-unknown': ('only what is on the list of keys is published', 'delete the key, or use the version of routerbench that wrote it'),
    'missing-detail': ('nobody could repeat it or compare it with another', 'send the line as it was printed'),
    'missing-fact': ('a row is of a device and its processor', 'measure with --device and --cpu, or write them in'),
    'not-fit': ('the figure is not the router\'s own, or was disturbed', 'measure again, and mend what the code names first'),
    'not-merged': ('the table has figures of the full method, between two machines', 'measure without --quick, and with --on or --peer'),
    'not-json': ('the line is torn or is no JSON', 'delete it; --output writes whole lines only'),
    'not-utf8': ('the line is torn or was converted', 'delete it; send the file as it was written'),
    'placeholder': ('it names no device', 'give the name on the label, with --device'),
    'private': ('it looks like an address, and lines are public', 'replace it, with --device or by hand'),
    'range': ('no router can have it', 'correct it, or measure again'),
    'schema': ('it was written by a newer routerbench', 'update routerbench'),
    'too-long': ('no line is that long', 'delete it'),
    'unit': ('the column is MBit/s, 10^6 bits per second', 'convert it: 1 MByte/s is 8 MBit/s, 1 MiB/s is 8.389'),
    'zero': ('a failure is no speed', 'delete the row, or measure again'),
}
NOTES: Dict[str, str] = {  # no fault, but good to know before merging
    'marked': 'it stands in the table with a mark',
    'no-result': 'it has no figure, and so gives no row',
}
NOT_FIT = ('client-bound', 'compressed', 'cpu-starved', 'disturbed', 'endpoint-bound', 'link-bound', 'not-cpu-bound', 'not-idle', 'tunnel-unproven', 'unstable')  # no row at all
NOT_MERGED = ('estimated', 'loopback')  # a row with a mark, but none to contribute
NO_ROW = ('above-link', 'arithmetic', 'implausible', 'missing-fact', 'no-result', 'not-fit', 'placeholder', 'private', 'range', 'zero')
APART = ('estimated', 'imported', 'loopback', 'virtual-machine')  # never in one row with others
MARKS = ('estimated', 'imported', 'loopback', 'substituted-cipher', 'virtual-machine', 'single-run', 'short-run', 'low-clock', 'clock-varied', 'mixed-cores')

FAMILIES = (('MIPS', r'MIPS|Octeon|Lantiq|Realtek RTL'), ('PPC', r'PPC|PowerPC|POWER'), ('ARM', r'ARM|Cortex|aarch64|XScale|Marvell|Qualcomm|Apple'),
            ('x86', r'x86|i[3-6]86|amd64|Intel|AMD|VIA'))
# Mbit/s per MHz of one core. Slowest seen: 0.034 (MIPS R3000, ssh), most a little above: MByte taken for MBit, an eighth, fall below.
# 0.5 is 16 cycles a byte, less than any AES in software takes on a core of that kind; with instructions it is under one.
PER_MHZ: Dict[str, Tuple[float, float]] = {'MIPS': (0.008, 0.5), 'PPC': (0.01, 0.6), 'ARM': (0.008, 30.0), 'x86': (0.008, 60.0), 'other': (0.003, 60.0)}
AES_UNITS = r'Octeon|POWER'  # whose cores have instructions for AES though their family has not
FASTEST_MBIT_S = 1e6


class Finding(NamedTuple):
    """What is wrong with a line or a row (or, by a code of NOTES, only remarkable): `code` is in FINDINGS or NOTES."""

    code: str
    what: str

    def grave(self) -> bool:
        """Whether the row is not fit to be merged."""
        return self.code in FINDINGS


def cpu_family(cpu: Optional[str], arch: Optional[str] = None) -> str:
    """`MIPS`, `PPC`, `ARM`, `x86` or `other`."""
    text = '%s %s' % (arch or '', cpu or '')
    return next((family for family, shape in FAMILIES if re.search(r'(?i)(?<![a-z])(?:%s)' % shape, text)), 'other')


def key_fault(key: str, value: Any) -> Optional[str]:
    """What a key of a line should hold, if it does not."""
    def number(one: Any) -> bool:
        return type(one) in (int, float) and abs(one) < 1e15
    if key in ('runs', 'warnings'):
        kind, good = ('numbers', number) if key == 'runs' else ('words', lambda one: type(one) is str)
        return None if type(value) in (list, tuple) and all(map(good, value)) else 'a list of %s' % kind
    if key == 'extra':
        return None if type(value) is dict else 'an object'
    if key in ('schema', 'cores'):
        return None if type(value) is int and 0 <= value < 1e9 or (value is None and key == 'cores') else 'a whole number'
    if value is None and Line._field_defaults[key] in (None, ''):
        return None if Line._field_defaults[key] is None else 'a text'
    numeric = key in ('mhz', 'seconds', 'mbit', 'mbit_s', 'spread')
    return None if (number(value) if numeric else type(value) is str) else 'a number' if numeric else 'a text'


def line_of(found: Dict[str, Any]) -> Tuple[Optional[Line], List[Finding]]:
    """The line that a JSON object is, with what is wrong with its keys; None where it is none or
    one of a key holds something that a line cannot."""
    if type(found.get('schema')) is not int or not isinstance(found.get('test'), str):
        return None, [Finding('foreign', 'JSON, but no line of routerbench')]
    if found['schema'] > SCHEMA:
        return None, [Finding('schema', 'schema %d, and this routerbench knows %d' % (found['schema'], SCHEMA))]
    findings = [Finding('key-unknown', 'the key `%s`' % plain(key, 40)) for key in found if key not in Line._fields]
    findings += [Finding('key-missing', 'there is no `%s`' % key) for key in Line._fields if key not in found]
    known = {key: value for key, value in found.items() if key in Line._fields}
    wrong = [Finding('key-type', '`%s` is not %s' % (key, fault)) for key, fault in ((key, key_fault(key, value)) for key, value in known.items()) if fault]
    if wrong:
        return None, findings + wrong
    shared: Dict[str, Any] = {key: sys.intern(value) if type(value) is str else value for key, value in known.items()}  # texts that a million lines have in common
    return Line(**shared)._replace(runs=tuple(known.get('runs', ())), warnings=tuple(known.get('warnings', ()))), findings


PASSING_TESTS = ('iperf3', 'interface')  # of what goes through, whatever encrypts it


def fact_findings(line: Line) -> List[Finding]:
    """What a line does not say about its machine, or says wrongly."""
    findings = [Finding('missing-fact' if key in ('device', 'cpu') else 'missing-detail', 'no `%s`' % key)
                for key in ('device', 'cpu', 'os', 'tool', 'cipher', 'method') if not getattr(line, key) and not (key in ('tool', 'cipher') and line.test in PASSING_TESTS)]
    device = (line.device or '').replace('=', ' ')  # no fault of a name that a person gives
    if device and device_name(device) is None:
        private = re.search(PRIVATE, device)
        findings.append(Finding('private' if private else 'placeholder', 'the device `%s`' % plain(device, 60)))
    if line.cpu and not re.search('[A-Za-z]', re.sub(UNFILLED + '|(?i:enter|cpu|model|processor)', '', line.cpu)):
        findings.append(Finding('placeholder', 'the processor `%s`' % plain(line.cpu, 60)))
    if line.mhz is not None and not 10 <= line.mhz <= 10000:
        findings.append(Finding('range', '%g MHz' % line.mhz))
    return findings


def bounds(line: Line) -> Tuple[float, float]:
    """The slowest and fastest that is plausible for the line's machine, in Mbit/s."""
    if not line.mhz or line.cipher == 'none' or line.test in PASSING_TESTS or 'virtual-machine' in line.warnings:
        return 0.0005, FASTEST_MBIT_S
    lowest, highest = PER_MHZ[cpu_family(line.cpu, line.arch)]
    if re.search(AES_UNITS, line.cpu or ''):
        highest = PER_MHZ['x86'][1]
    return lowest * line.mhz, highest * line.mhz * max(whole_number(str(line.extra.get('processes') or 1)), 1)


def figure_findings(line: Line) -> List[Finding]:
    """What is wrong with the figures themselves, recomputed."""
    if not line.mbit_s or line.mbit_s < 0 or line.seconds is not None and line.seconds <= 0:
        return [Finding('zero', '`mbit_s` is %s' % line.mbit_s if not line.mbit_s or line.mbit_s < 0 else '`seconds` is %s' % line.seconds)]
    findings = []
    lowest, highest = bounds(line)
    if not lowest <= line.mbit_s <= highest:
        each = ' (%.3g per MHz of %s)' % (line.mbit_s / line.mhz, line.cpu) if line.mhz else ''
        findings.append(Finding('implausible', '%s Mbit/s%s' % (figure(line.mbit_s), each)))
    if line.seconds and line.mbit is not None and not agree(line.mbit / line.seconds, line.mbit_s) and abs(line.mbit / line.seconds - line.mbit_s) > 0.001:  # which is how they are rounded
        findings.append(Finding('arithmetic', '%g Mbit in %g s are %s Mbit/s, not %s' % (line.mbit, line.seconds, figure(line.mbit / line.seconds), figure(line.mbit_s))))
    if line.runs and min(line.runs) <= 0:
        findings.append(Finding('zero', 'a run of %g s' % min(line.runs)))
    elif line.runs and line.seconds and not agree(median(line.runs), line.seconds):
        findings.append(Finding('arithmetic', '`seconds` is %g, and the median of `runs` %g' % (line.seconds, median(line.runs))))
    elif line.runs and line.spread is not None and abs(relative_spread(line.runs) - line.spread) > 0.002:
        findings.append(Finding('arithmetic', '`spread` is %g, and that of `runs` %.4f' % (line.spread, relative_spread(line.runs))))
    return findings + work_findings(line)


def agree(one: float, other: float, share: float = 0.002) -> bool:
    """Whether two figures are the same but for what rounding leaves."""
    return abs(one - other) <= share * max(abs(one), abs(other))


def work_findings(line: Line) -> List[Finding]:
    """What is wrong with the amount of work that a line claims, or with what the link carried."""
    packets, carried = line.extra.get('packets'), line.extra.get('link_mbit_s')
    findings = []
    if line.test == 'openvpn' and type(packets) is int and 0 < packets < 1e6 and line.mbit and line.extra.get('processes') in (None, 1):
        if not agree(work_mbit(packets), line.mbit):
            findings.append(Finding('arithmetic', '%d packets are %.3f Mbit, not %g' % (packets, work_mbit(packets), line.mbit)))
    if isinstance(carried, (int, float)) and 0 < carried < 1e9 and line.mbit_s and line.mbit_s > 1.01 * carried:
        findings.append(Finding('above-link', '%s Mbit/s over a link of %g' % (figure(line.mbit_s), carried)))
    return findings


def warning_findings(line: Line) -> List[Finding]:
    """What a line's own warnings mean for a table."""
    kinds = (('not-fit', NOT_FIT), ('not-merged', NOT_MERGED), ('marked', tuple(code for code in MARKS if code not in NOT_MERGED)))
    return [Finding(kind, '`%s`: %s' % (code, WARNINGS[code])) for kind, codes in kinds for code in line.warnings if code in codes]


def judge(line: Line) -> List[Finding]:
    """All that can be said of a line by itself."""
    if line.status != 'ok' or line.mbit_s is None and line.test == 'crypto':
        return [Finding('no-result', '%s, %s' % (line.test, line.status))]
    return fact_findings(line) + figure_findings(line) + warning_findings(line)


# --- table --------------------------------------------------------------------------------------
# Lines of any number of people, merged into rows.

KEPT = 25  # newest lines of a figure, of which the median is taken; older ones are only counted
MOST_ROWS, MOST_COLUMNS = 10000, 40  # so that no file can take all memory
MOST_KNOWN = 100000  # figures that are recognised when they come again
DISAGREE = 0.10  # of the median, from which on the lines of one row lie apart
DOCUMENT_COLUMNS = ('AES128', 'AES256')
DOCUMENT_AUTH = {'openvpn': 'SHA1', 'interface': 'SHA1'}  # the digest that goes with the documents' columns
TABLE_TESTS = ('ssh', 'openvpn', 'kernel', 'openssl', 'iperf3', 'interface')


class Figure(NamedTuple):
    """What one line contributes to a cell."""

    time: Optional[str]
    run: str
    mbit_s: float
    seconds: Optional[float]
    runs: Tuple[float, ...]
    spread: Optional[float]
    warnings: Tuple[str, ...]


class Cell(NamedTuple):
    """A row's figure in one column: the medians of its newest lines, of `lines` in all."""

    mbit_s: float
    seconds: Optional[float]
    lines: int
    figures: Tuple[Figure, ...]


class Row(NamedTuple):
    """A row of the table. `source` is the document of a published row, `marks` are what sets its figures
    apart from others: codes of WARNINGS, or words for a person."""

    cpu: str
    mhz: Optional[float]
    device: str
    family: str
    system: str
    tool: str
    driver: str
    source: str
    marks: Tuple[str, ...]
    cells: Tuple[Tuple[str, Cell], ...]

    def cell(self, column: str) -> Optional[Cell]:
        """The figure in a column."""
        return dict(self.cells).get(column)


OPENWRT_PAGE = 'OpenWrt wiki, IPsec Performance'
OPENWRT_ROWS = (('PPC', 800, 'TP-Link TL-WDR4900', 14.2, 56.3, 16.2, 49.4), ('MIPS 24k', 680, 'D-Link DIR-825 Netgear WNDR3700', 28.2, 28.5, 32.4, 24.6),
                ('MIPS 24k', 400, 'TP-Link TL-WR703N', 47.7, 16.5, 56.1, 14.2), ('MIPS R3000', 125, 'Asus WL-500g', 164.8, 4.8, 183.5, 4.3))
PFSENSE_PAGE = 'Misurare le performance di OpenVPN su pfSense'
PFSENSE_ROWS = (('Intel Atom D525', 1800, 'PF-1120A', 66.67), ('Intel Celeron G1620', 2700, 'PF-3130', 240.8), ('Intel Core i7-4790', 3600, 'PF-5150i', 395.0))
RRZN_PAGE = 'RRZN, OpenVPN Benchmark (in MByte/s)'
RRZN_CIPHERS = (('none', 'none'), ('aes-128-cbc', 'none'), ('aes-128-cbc', 'SHA1'), ('aes-256-cbc', 'SHA1'))
RRZN_ROWS = (('VIA C7', 1000, 'VIA CV700A', 'OpenBSD 4.2', 'padlock', (8.0, 6.8, 5.4, 5.4)), ('VIA C7', 1000, 'VIA CV700A', 'Debian 4.0', 'padlock', (21.2, 18.6, 14.5, 14.3)),
             ('Intel Xeon 5300', 2330, 'Dell PowerEdge 2950', 'Debian 4.0', None, (91.0, 50.0, 37.0, 30.0)))  # MByte/s
ASA_FIGURES = (('3des', 11.1), ('aes-128-cbc', 11.1), ('aes-256-cbc', 10.4))  # MByte/s
AWS_PAGE = 'OpenVPN wiki, PerformanceTestingOpenVPN'
WINTUN_PAGE = 'Mail "openvpn3 with wintun"'
TUNNEL_ROWS = ((AWS_PAGE, 'no VPN', None, 6970.0, 0.195, 0.385), (AWS_PAGE, 'OpenVPN 2.4', 'tap-windows6', 414.0, 0.054, 0.354),
               (AWS_PAGE, 'OpenVPN 3', 'tap-windows6', 652.0, 0.015, 0.374), (WINTUN_PAGE, 'no VPN', None, 7450.0, 0.614, 0.339),
               (WINTUN_PAGE, 'OpenVPN 3', 'tap-windows6', 339.0, 0.046, 0.214), (WINTUN_PAGE, 'OpenVPN 3', 'wintun', 449.0, 0.029, 0.101))


def published() -> Iterator[Line]:
    """The documents' own rows, with their source in `extra`."""
    for cpu, mhz, device, seconds128, rate128, seconds256, rate256 in OPENWRT_ROWS:
        for algorithm, seconds, rate in (('AES128', seconds128, rate128), ('AES256', seconds256, rate256)):
            yield Line(test='ssh', cpu=cpu, mhz=mhz, device=device, algorithm=algorithm, cipher=algorithm.lower() + '-cbc', seconds=seconds,
                       mbit=800.0, mbit_s=rate, extra={'source': OPENWRT_PAGE})
    for cpu, mhz, device, rate in PFSENSE_ROWS:
        yield Line(test='openvpn', cpu=cpu, mhz=mhz, device=device, algorithm='AES256', cipher='aes-256-cbc', auth='SHA1', mbit_s=rate,
                   os='pfSense', extra={'source': PFSENSE_PAGE})
    for cpu, mhz, device, system, engine, rates in RRZN_ROWS:
        for (cipher, auth), rate in zip(RRZN_CIPHERS, rates):
            yield rrzn_line(rate, cipher, auth)._replace(cpu=cpu, mhz=mhz, device=device, os=system, driver=engine, tool='OpenVPN 2.0.9')
    for cipher, rate in ASA_FIGURES:
        yield rrzn_line(rate, cipher, 'SHA1')._replace(device='Cisco ASA 5505', tool='IPsec, vpnc clients')
    for source, tool, driver, rate, local, remote in TUNNEL_ROWS:
        yield Line(test='iperf3', device='AWS c5.xlarge', os='Windows Server 2016 to Ubuntu 18.04', tool=tool, driver=driver, mbit_s=rate,
                   extra={'source': source, 'local_cpu': local, 'remote_cpu': remote})


def rrzn_line(mbyte_s: float, cipher: str, auth: str) -> Line:
    """A figure of RRZN's, which prints MByte/s."""
    return Line(test='interface', algorithm=table_column(cipher), cipher=cipher, auth=auth, mbit_s=8 * mbyte_s, extra={'source': RRZN_PAGE, 'mbyte_s': mbyte_s})


def column_of(line: Line) -> str:
    """The title of a line's column: the documents' own for what they measured, else the cipher's name."""
    named = line.test == 'ssh' or line.algorithm in DOCUMENT_COLUMNS and (line.cipher or '').endswith('-cbc') and line.auth == DOCUMENT_AUTH.get(line.test)
    if named and line.algorithm or line.cipher is None:
        return plain(line.algorithm or line.test, 40)
    return 'NONE' if line.cipher == 'none' and line.auth in (None, 'none') else plain(plain_title(line), 40)


class Gathered:
    """The figures of one cell while lines are read: the newest, in a ring. `source` is that of a published row, `against` what
    is unsound; `mbit` is the amount of work where all lines have to have the same."""

    __slots__ = ('line', 'source', 'against', 'lowest', 'highest', 'mbit', 'ring', 'lines')

    def __init__(self, line: Line, source: str, against: Tuple[str, ...]) -> None:
        self.line, self.source, self.against = line, source, against  # the first line
        self.lowest, self.highest = bounds(line)
        self.mbit = line.mbit if line.test == 'openvpn' else None
        self.ring: List[Tuple[Any, ...]] = []  # (time, run, mbit_s, seconds, runs, spread)
        self.lines = 0

    def add(self, *values: Any) -> None:
        """Keep one, for the oldest."""
        if self.lines < KEPT:
            self.ring.append(values)
        else:
            self.ring[self.lines % KEPT] = values
        self.lines += 1

    def figures(self) -> List[Figure]:
        """What was kept, without those whose runs say something else, and without runs that are none."""
        figures = [Figure._make((*values, self.line.warnings)) for values in self.ring]
        if self.line.test == 'ssh' and not self.source:  # the table's seconds are those of 800 Mbit
            figures = [one._replace(seconds=800 / one.mbit_s) for one in figures]
        return [one for one, values in zip(figures, self.ring) if self.against or runs_agree(values[3], values[4], values[5])] or figures[:0]


def runs_agree(seconds: Any, runs: Any, spread: Any) -> bool:
    """Whether runs are what the seconds are the median of."""
    if key_fault('runs', runs) or key_fault('spread', spread):
        return False
    return not runs or seconds is None or min(runs) > 0 and agree(median(runs), seconds) and (spread is None or abs(relative_spread(runs) - spread) <= 0.002)


def merged(parts: Sequence[Gathered]) -> Optional[Cell]:
    """The medians over all that was gathered for a cell."""
    figures = tuple(figure for part in parts for figure in part.figures())
    if not figures:
        return None
    seconds = [one.seconds for one in figures if one.seconds]
    return Cell(median([one.mbit_s for one in figures]), median(seconds) if len(seconds) == len(figures) else None, sum(part.lines for part in parts) - sum(len(part.ring) for part in parts) + len(figures), figures)


class Collector:
    """Takes lines, and gives rows.

    A million lines of the same machines take no more memory than a hundred, and little more time
    than json takes to read them: what lines have in common is judged once, and of the others only
    the figure is looked at. All else that can be said of a line is said by `validate`.
    """

    identity = operator.itemgetter('status', 'test', 'device', 'cpu', 'mhz', 'os', 'tool', 'driver', 'cipher', 'auth', 'algorithm')
    result = operator.itemgetter('schema', 'mbit_s', 'seconds', 'mbit', 'run', 'time', 'runs', 'spread', 'warnings', 'extra')

    def __init__(self, everything: bool = False) -> None:
        self.everything = everything  # unsound lines too
        self.slots: Dict[Any, Dict[Any, Gathered]] = {}  # by what machine, tool and cipher are, and then by what may set figures apart
        self.columns: Dict[str, Set[str]] = {}  # by test
        self.size = 0
        self.left_out: Dict[str, int] = {}
        self.known: Set[int] = set()

    def leave(self, code: str) -> None:
        """Count what gives no row."""
        self.left_out[code] = self.left_out.get(code, 0) + 1

    def read(self, lines: Iterable[bytes]) -> None:
        """All that a file holds."""
        for _number, value, _text in read_objects(lines):
            if type(value) is dict:
                self.add(value)
            else:
                self.leave(value)

    def add(self, found: Dict[str, Any]) -> None:
        """One JSON object."""
        try:
            schema, mbit_s, seconds, mbit, run, when, runs, spread, warnings, extra = self.result(found)
            variants = self.slots[self.identity(found)]
            gathered = variants[tuple(warnings), extra.get('processes'), extra.get('tun_mtu'), extra.get('packets'), extra.get('link_mbit_s')]
            fits = gathered.lowest <= mbit_s <= gathered.highest and -0.002 < mbit_s * seconds / mbit - 1 < 0.002 and gathered.mbit in (None, mbit)
            if (fits and type(schema) is int and type(warnings) is list and type(run) is type(when) is str
                    and schema == SCHEMA and len(run) + len(when) < 40 and len(runs) <= MOST_RUNS):
                self._keep_figure(gathered, when, run, mbit_s, seconds, runs, spread)
                return
        except (KeyError, TypeError, AttributeError, ArithmeticError):
            pass
        self._add_slowly(found)

    def _keep_figure(self, gathered: Gathered, when: str, run: str, *values: Any) -> None:
        if len(self.known) < MOST_KNOWN:
            key = hash((id(gathered), when, run, values[:2]))
            if key in self.known:
                self.leave('duplicate')
                return
            self.known.add(key)
        gathered.add(when, run, *values)

    def _add_slowly(self, found: Dict[str, Any]) -> None:
        line, findings = line_of(found)
        if line is None:
            self.leave(findings[-1].code)
            return
        against = tuple(dict.fromkeys(one.code for one in judge(line) if one.code in NO_ROW))
        if 'no-result' in against or not line.mbit_s or line.mbit_s < 1e-9 or against and not self.everything:
            self.leave(against[0] if against else 'no-result')
        elif self.size >= MOST_ROWS or len(self.columns.setdefault(line.test, set()) | {column_of(line)}) > MOST_COLUMNS:
            self.leave('too-many')
        else:
            self.keep(line, against=against)

    def keep(self, line: Line, source: str = '', against: Tuple[str, ...] = ()) -> None:
        """Keep the figure of a line."""
        special = source or against
        wanted = ('processes', 'tun_mtu', 'packets', 'link_mbit_s', 'name')
        line = line._replace(extra={key: line.extra[key] for key in wanted if type(line.extra.get(key)) in (int, float, str)}, method=None, detail=None)
        variant = (line.warnings, *map(line.extra.get, wanted[:-1]))
        variants = self.slots.setdefault((special, line[:-1]) if special else self.identity(line._asdict()), {})
        self.columns.setdefault(line.test, set()).add(column_of(line))
        if variant not in variants:
            variants[variant] = Gathered(line._replace(runs=()), source, against)
            self.size += 1 + sum(len(value) for value in line if type(value) is str) // 1000
        self._keep_figure(variants[variant], (line.time or '')[:24], line.run[:16], line.mbit_s, line.seconds, list(line.runs[:MOST_RUNS]), line.spread)

    def counts(self) -> Dict[str, int]:
        """How many lines gave no row, by the code of why."""
        wrong = sum(len(one.ring) - len(one.figures()) for variants in self.slots.values() for one in variants.values())
        return {**self.left_out, 'arithmetic': self.left_out.get('arithmetic', 0) + wrong} if wrong else self.left_out

    def add_published(self) -> None:
        """The documents' rows."""
        for line in published():
            self.keep(line, source=line.extra['source'])

    def tests(self) -> List[str]:
        """The tests that there are figures of; the documents' first."""
        seen = set(self.columns)
        return [test for test in TABLE_TESTS if test in seen] + sorted(seen.difference(TABLE_TESTS))

    def rows(self, test: str) -> List[Row]:
        """The rows of one test, in the order in which their machines were first seen."""
        rows: Dict[Row, Dict[str, Dict[str, List[Gathered]]]] = {}
        for gathered in (one for variants in self.slots.values() for one in variants.values() if one.line.test == test):
            modes = rows.setdefault(row_of(gathered.line, gathered.source, gathered.against), {})
            modes.setdefault(mode_of(gathered.line), {}).setdefault(column_of(gathered.line), []).append(gathered)
        made = [filled(row, columns) for row, modes in rows.items() for columns in joined_modes(modes)]
        return [row for row in made if row.cells]


def published_rows(test: str) -> List[Row]:
    """The documents' rows of one test."""
    collector = Collector()
    collector.add_published()
    return collector.rows(test)


def joined_modes(modes: Dict[str, Dict[str, List[Gathered]]]) -> Iterator[Dict[str, List[Gathered]]]:
    """The columns of each row: one row per mode of AES, CBC first; what has no such mode goes with the first."""
    rest = modes.pop('', {})
    for mode in sorted(modes, key=lambda one: (one != 'CBC', one)) or ['']:
        yield {**rest, **modes.get(mode, {})}
        rest = {}


def row_of(line: Line, source: str, against: Sequence[str]) -> Row:
    """The empty row, a tuple that can be hashed, to which a line's figure belongs."""
    own = [code for code in APART if code in line.warnings] + ['unsound: ' + code for code in against]
    if line.extra.get('processes') not in (None, 1):
        own.append('%s processes' % plain(str(line.extra['processes']), 10))
    if line.test == 'openvpn' and line.extra.get('tun_mtu') not in (None, 20000):
        own.append('--tun-mtu %s' % plain(str(line.extra['tun_mtu']), 10))
    system, tool, driver = (plain(text or '', 80) for text in (line.os, line.tool, line.driver))
    return Row(plain(line.cpu or '?', 80), line.mhz, plain(line.device or '?', 80), cpu_family(line.cpu, line.arch), system, tool, driver, source, tuple(own), ())


def filled(row: Row, columns: Dict[str, List[Gathered]]) -> Row:
    """The row with its figures, and with the marks that these bring."""
    cells = {column: cell for column, cell in ((column, merged(parts)) for column, parts in columns.items()) if cell}
    lines = [part.line for parts in columns.values() for part in parts]
    marks = [code for code in MARKS if any(code in line.warnings for line in lines)]
    marks += sorted({mode_of(line) + ', not CBC' for line in lines if mode_of(line) not in ('', 'CBC')})
    if not row.source and any(len(cell.figures) > 1 and relative_spread([one.mbit_s for one in cell.figures]) > DISAGREE for cell in cells.values()):
        marks.append('lines-disagree')
    if row.source:
        marks += [text for column, cell in cells.items() for text in document_slip(row.device, column, cell)]
    return row._replace(marks=row.marks + tuple(mark for mark in marks if mark not in row.marks), cells=tuple(cells.items()))


def document_slip(device: str, column: str, cell: Cell) -> List[str]:
    """What a document says of a figure where its seconds and its MBit/s do not fit each other, even cut instead of rounded."""
    if not cell.seconds or abs(800 / cell.seconds - cell.mbit_s) < 0.1:
        return []
    return ['%s, %s: %g s are %.1f MBit/s by 800 / seconds, and the document prints %g' % (device, column, cell.seconds, 800 / cell.seconds, cell.mbit_s)]


def mode_of(line: Line) -> str:
    """The mode of AES where the documents' column does not say it: `CBC`, `CTR`, `GCM`, else nothing."""
    if line.test != 'ssh' or line.algorithm not in DOCUMENT_COLUMNS:
        return ''
    return plain((line.cipher or '').partition('@')[0].rpartition('-')[2].upper(), 10)


# What a row of the table says, as text.

EXPLAINED = {'lines-disagree': 'its lines lie over %.0f %% apart' % (100 * DISAGREE)}
LEFT_OUT = {
    'duplicate': 'that stand twice', 'foreign': 'of JSON that is not routerbench\'s', 'key-type': 'with a key that holds something else',
    'no-result': 'without a figure (skipped, failed, or drivers)', 'not-json': 'that are torn or no JSON', 'not-utf8': 'that are no UTF-8',
    'not-readable': 'in files that cannot be read', 'schema': 'of a newer routerbench', 'too-long': 'that never end', 'too-many': 'of more machines than fit',
    'missing-fact': 'without the name of a device and its processor', 'not-fit': 'that were disturbed or show another limit'}


class Table(NamedTuple):
    """A table as text: `head`, the cells of its rows, and what stands below it."""

    head: List[str]
    rows: List[List[str]]
    below: List[str]


def table_columns(test: str, rows: Sequence[Row]) -> List[str]:
    """Columns: the documents' two, then further algorithms by name."""
    seen = {column for row in rows for column, _cell in row.cells}
    return [column for column in DOCUMENT_COLUMNS if column in seen or test in ('ssh', 'openvpn')] + sorted(seen.difference(DOCUMENT_COLUMNS))


def has_seconds(test: str, rows: Sequence[Row]) -> bool:
    """Whether the table shows seconds: in the document's own test always."""
    return test == 'ssh' or test == 'openvpn' and any(cell.seconds for row in rows for _column, cell in row.cells)


def cell_texts(row: Row, column: str, seconds: bool) -> List[str]:
    """A figure as the documents print theirs; `-` where there is none."""
    cell = row.cell(column)
    digits = '%.6g' if row.source else '%.1f'
    texts = ['-' if cell is None else digits % cell.mbit_s]
    if seconds and column in DOCUMENT_COLUMNS:
        texts.insert(0, '-' if cell is None or not cell.seconds else digits % cell.seconds if row.source or cell.seconds >= 1 else '%.2f' % cell.seconds)
    return texts


def machine_cells(row: Row) -> List[str]:
    """The first three columns."""
    return [row.cpu, '%g' % row.mhz if row.mhz else '?', row.device]


def marks_of(row: Row) -> List[str]:
    """All that a row has to be marked with."""
    return ['published in: ' + row.source] * bool(row.source) + list(row.marks)


def certainty(row: Row) -> str:
    """How many runs or lines stand behind a row, and how far they lie apart."""
    cells = [cell for _column, cell in row.cells]
    if row.source or not cells:
        return ''
    lines = max(cell.lines for cell in cells)
    if lines > 1:
        apart = max(relative_spread([one.mbit_s for one in cell.figures]) for cell in cells)
        return 'median of %d lines, %.1f %% apart' % (lines, 100 * apart)
    figures = [one for cell in cells for one in cell.figures]
    runs, spread = min(len(one.runs) for one in figures), max(one.spread or 0 for one in figures)
    return 'median of %d runs, %.1f %% apart' % (runs, 100 * spread) if runs > 1 else '1 run' if runs else ''


def notes_cell(row: Row, numbers: Dict[str, int]) -> str:
    """What a row says beside its figures; `numbers` are those of the footnotes, where there are some."""
    marks = ' '.join('[%d]' % numbers[mark] for mark in marks_of(row)) if numbers else ', '.join(marks_of(row))
    texts = [row.system, row.tool, row.driver, certainty(row), marks]
    return ', '.join(text for text in texts if text)


def laid_out(test: str, rows: Sequence[Row], footnotes: bool = True) -> Table:
    """The table of the rows. One document's own rows have that document's columns and no other, but where there are no footnotes."""
    columns, seconds = table_columns(test, rows), has_seconds(test, rows)
    head = ['CPU', 'MHz', 'tested device']
    for column in columns:
        head += ['%s (s)' % column] * (seconds and column in DOCUMENT_COLUMNS) + ['%s (MBit/s)' % column]
    numbers: Dict[str, int] = {}
    for mark in (mark for row in rows if footnotes for mark in marks_of(row)):
        numbers.setdefault(mark, len(numbers) + 1)
    lines = [machine_cells(row) + [text for column in columns for text in cell_texts(row, column, seconds)] for row in rows]
    if not footnotes or not all(row.source == OPENWRT_PAGE for row in rows):
        head.append('notes')
        lines = [cells + [notes_cell(row, numbers)] for cells, row in zip(lines, rows)]
    return Table(head, lines, ['[%d] %s' % (number, explained(mark)) for mark, number in numbers.items()])


def explained(mark: str) -> str:
    """A footnote."""
    text = EXPLAINED.get(mark) or WARNINGS.get(mark)
    return '%s: %s' % (mark, text) if text else mark


def beside_published(rows: Sequence[Row]) -> List[str]:
    """For each row that is nobody's document: how it compares with the nearest published one."""
    sentences = []
    for row in (row for row in rows if not row.source):
        pairs = [(cell.mbit_s / theirs.mbit_s, other.device, column) for column, cell in row.cells for other in rows if other.source
                 for theirs in [other.cell(column)] if theirs]
        if pairs:
            ratio, device, column = min(pairs, key=lambda pair: abs(math.log(pair[0])))
            other_mode = ''.join('; ' + mark for mark in row.marks if 'not CBC' in mark)
            sentences.append('%s: %s x a %s (%s%s)' % (row.device, '%.1f' % ratio if ratio < 100 else '%.0f' % ratio, device, column, other_mode))
    return sentences


def left_out_text(counts: Dict[str, int]) -> List[str]:
    """What was not taken, in sentences."""
    return ['Left out: %d %s %s.' % (count, 'line' if count == 1 else 'lines', LEFT_OUT.get(code) or 'that are not sound (%s)' % code)
            for code, count in sorted(counts.items())]


def wiki_text(text: str) -> str:
    """A cell for DokuWiki: what would be its syntax stands between %%."""
    special = r'(?:[|^<>@]|\*\*|//|__|\'\'|\[\[|\]\]|\{\{|\}\}|\(\(|\)\)|~~|\\\\|::+|%%+|(?i:w{2,3}\.|ftp\.))+'
    return re.sub(special, lambda match: ('<nowiki>%s</nowiki>' if '%%' in match.group() else '%%%%%s%%%%') % match.group(), text) or ' '


def markdown_text(text: str) -> str:
    """A cell for Markdown, with nothing left of its syntax or of HTML."""
    text = re.sub(r'([\\`*_\[\]|~])', r'\\\1', text.replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;'))
    text = re.sub(r'(?<=[A-Za-z])(?=://)|(?<=\bwww)(?=\.)|(?<=\w)(?=@)', r'\\', text)
    return text or ' '


def spreadsheet_text(text: str) -> str:
    """A cell that no spreadsheet takes for a formula, whichever separator it looks for."""
    return re.sub(r'(?:^|(?<=[;|]))\s*(?=[=+@-].)', "'", text)


def as_text(table: Table) -> str:
    """For a terminal."""
    lines = columns([table.head, *table.rows], left=(0, 2, table.head.index('notes') if 'notes' in table.head else 0))
    return '\n'.join(lines + [''] * bool(table.below) + table.below) + '\n'


def markdown_row(cells: Sequence[str]) -> str:
    """A row as OpenWrt's page is quoted, without a bar in front; so nothing in front may look like a list or a heading."""
    return re.sub(r'^(?=[-+#=])|^(\d+)(?=[.)])', r'\1\\', ' | '.join(map(markdown_text, cells))) + ' |'


def as_markdown(table: Table) -> str:
    """For forums and repositories."""
    rows = [markdown_row(cells) for cells in [table.head, *table.rows]]
    return '\n'.join([rows[0], '---|' * len(table.head), *rows[1:]] + ['', *(markdown_text(text) + '  ' for text in table.below)]) + '\n'


def as_dokuwiki(table: Table) -> str:
    """As OpenWrt's wiki takes it."""
    rows = ['| %s |' % ' | '.join(map(wiki_text, cells)) for cells in table.rows]
    return '\n'.join(['^ %s ^' % ' ^ '.join(map(wiki_text, table.head)), *rows] + ['', *(wiki_text(text) + ' \\\\' for text in table.below)]) + '\n'


def as_csv(table: Table) -> str:
    """For a spreadsheet: one header, no footnotes."""
    from csv import writer
    from io import StringIO
    text = StringIO()
    writer(text).writerows([spreadsheet_text(cell) for cell in cells] for cells in [table.head, *table.rows])
    return text.getvalue()


def as_json(test: str, rows: Sequence[Row], left_out: Dict[str, int]) -> str:
    """All that is known of the rows."""
    return to_json({'test': plain(test, 40), 'rows': [row_object(row) for row in rows], 'left_out': left_out}) + '\n'


def row_object(row: Row) -> Dict[str, Any]:
    """A row for JSON."""
    cells = {column: {**cell._asdict(), 'figures': [one._asdict() for one in cell.figures]} for column, cell in row.cells}
    return {**row._asdict(), 'cells': cells}


def sort_rows(rows: List[Row], key: str) -> List[Row]:
    """By a column: `cpu`, `mhz`, `device`, `system`, `tool`, or an algorithm, `aes256`; `-` in front for the highest first. What has no figure comes last."""
    name, falling = key.lstrip('-').lower(), key.startswith('-')

    def value(row: Row) -> Any:
        if name in ('cpu', 'device', 'system', 'tool', 'driver', 'source', 'family'):
            return getattr(row, name).lower() or None
        return row.mhz if name == 'mhz' else next((cell.mbit_s for column, cell in row.cells if column.lower() == name), None)
    known = [row for row in rows if value(row) is not None]
    return sorted(known, key=value, reverse=falling) + [row for row in rows if value(row) is None]


def keeps(row: Row, wanted: str) -> bool:
    """Whether a row has all words of a filter, each somewhere or, as `cpu=mips`, in one column."""
    texts = {'cpu': row.cpu, 'mhz': '%g' % (row.mhz or 0), 'device': row.device, 'system': row.system, 'tool': row.tool, 'driver': row.driver,
             'family': row.family, 'source': row.source}
    for word in wanted.lower().split():
        name, equals, value = word.partition('=')
        if not (value in texts[name].lower() if equals and name in texts else word in ' '.join(texts.values()).lower()):
            return False
    return True


def newest(rows: Sequence[Row]) -> List[Row]:
    """Of the rows of one machine, measured in one way, that of the newest line: by its time, else by where it stood."""
    latest: Dict[Any, Tuple[str, Row]] = {}
    for row in rows:
        when = max((one.time or '' for _column, cell in row.cells for one in cell.figures), default='')
        kind = [mark for mark in row.marks if mark in APART or mark not in MARKS and mark not in EXPLAINED]
        machine = row.cpu, row.mhz, row.device, row.driver, row.source, tuple(kind)
        if machine not in latest or when >= latest[machine][0]:
            latest[machine] = when, row
    return [row for _when, row in latest.values()]


# --- validation ---------------------------------------------------------------------------------
# What is wrong in files that somebody wants to contribute: lines, or rows pasted from a table.

PASTED_HEAD = ['CPU', 'MHz', 'tested device', 'AES128 (s)', 'AES128 (MBit/s)', 'AES256 (s)', 'AES256 (MBit/s)']


def table_cells(text: str, carets: bool = False) -> Optional[List[str]]:
    """The cells of a row in Markdown or (`carets`, or a caret in front) DokuWiki, None for any other text."""
    text = text.strip()
    if text.startswith('{') or len(text) > 20000:
        return None
    shielded = re.sub(r'%%(.{0,300}?)%%|<nowiki>(.{0,300}?)</nowiki>|\\([|^])', lambda match: (match.group(1) or match.group(2) or match.group(3) or '').translate(SHIELD), text)
    cells = [cell.strip().translate(UNSHIELD) for cell in re.split('[|^]' if carets or text.startswith('^') else '[|]', shielded)]
    return cells[not cells[0]:len(cells) - (not cells[-1])] if len(cells) > 3 else None


SHIELD, UNSHIELD = {ord('|'): '\ue000', ord('^'): '\ue001'}, {0xe000: '|', 0xe001: '^'}


def cell_number(text: str) -> Optional[float]:
    """A plain number, with a point or a comma; None for anything else."""
    return float(text.replace(',', '.')) if re.match(r'[0-9]{1,9}(?:[.,][0-9]{1,6})?\Z', text) else None


def faster_with_more(aes128: Line, aes256: Line) -> List[Finding]:
    """Whether AES256 is faster than AES128 by more than the runs lay apart."""
    doubt = 1.02 + (aes128.spread or 0) + (aes256.spread or 0)
    if aes128.mbit_s and aes256.mbit_s and aes256.mbit_s > aes128.mbit_s * doubt:
        return [Finding('aes256-faster', 'AES256 %s Mbit/s, AES128 %s' % (figure(aes256.mbit_s), figure(aes128.mbit_s)))]
    return []


MOST_PROSE = 100  # lines without a row that are looked at before there is one


class Checker:
    """Checks one contribution, which may be several files. `rows` counts what it would give the table."""

    def __init__(self) -> None:
        self.head: List[str] = []  # of the table that the text is in
        self.carets = False  # whether that is DokuWiki's
        self.seen: Set[int] = set()
        self.partners: Dict[Any, Line] = {}  # the newest AES128 and AES256, by what they share
        self.rows = 0

    def check(self, lines: Iterable[bytes]) -> Iterator[Tuple[int, Finding]]:
        """The findings of a file, with their line numbers. Text that stands around a table is none of its rows."""
        self.head, self.carets = [], False
        prose: List[Tuple[int, Finding]] = []
        number = more = 0
        for number, data in enumerate(lines, 1):
            text = data.decode('utf-8', 'replace')
            self.carets |= text.startswith('^')
            cells = table_cells(text, self.carets)
            if cells:
                yield from ((number, finding) for finding in self._row(cells))
            elif data.lstrip().startswith(b'{'):
                yield from ((number, finding) for one in read_objects([data]) for finding in self._object(one))
            elif data.strip() and len(prose) < MOST_PROSE:
                prose += [(number, finding) for one in read_objects([data]) for finding in self._object(one)]
            else:
                more += bool(data.strip())
        if not self.head:
            yield from prose + [(number, Finding('not-json', '%d lines more' % more))] * bool(more)

    def _object(self, found: Found) -> List[Finding]:
        _number, value, text = found
        if type(value) is not dict:
            return [Finding(value, plain(text, 60) or 'a line of %d kB and more' % (LONGEST_LINE >> 10))]
        line, findings = line_of(value)
        if line is None:
            return findings
        findings += judge(line)
        if not any(finding.code == 'no-result' for finding in findings):
            self.rows += 1
            kind = line.test, line.tool, line.driver, line.auth, re.sub('128|256', '', line.cipher or '')
            findings += self._twice((line.run, line.time, line.seconds, line.algorithm, *kind)) + self._pair((line.run, line.device, line.cpu, line.mhz, *kind), line)
        return findings

    def _twice(self, key: Any) -> List[Finding]:
        known = hash(key) in self.seen
        self.seen.add(hash(key))
        return [Finding('duplicate', 'the same result stands above')] * known

    def _pair(self, key: Any, line: Line) -> List[Finding]:
        if line.algorithm not in DOCUMENT_COLUMNS:
            return []
        partner = self.partners.get((key, 'AES256' if line.algorithm == 'AES128' else 'AES128'))
        self.partners[key, line.algorithm] = line._replace(extra={}, runs=(), method=None)
        if len(self.partners) > 1000:
            del self.partners[next(iter(self.partners))]
        if partner is None:
            return []
        return faster_with_more(partner, line) if line.algorithm == 'AES256' else faster_with_more(line, partner)

    def _row(self, cells: List[str]) -> List[Finding]:
        if cells[0].lower() == 'cpu':
            self.head = cells
            return [Finding('unit', 'the column `%s`' % plain(cell, 40)) for cell in cells[3:] if re.search(r'(?i)\(.*/s.*\)', cell) and '(mbit/s)' not in cell.lower()]
        if all(re.match(':?-+:?$', cell) for cell in cells):
            return []
        self.rows += 1
        self.head = self.head or PASTED_HEAD[:len(cells)]
        if len(cells) != len(self.head):
            return [Finding('cells', '%d cells under %d titles' % (len(cells), len(self.head)))]
        named = dict(zip((title.lower() for title in self.head), (plain(cell) for cell in cells)))
        machine = Line(test='ssh', cpu=known_text(named.get('cpu')), device=known_text(named.get('tested device')), mhz=cell_number(named.get('mhz', '')))
        findings = [one for one in fact_findings(machine) if one.code != 'missing-detail']
        lines = {}
        for algorithm in (title[:-len(' (mbit/s)')] for title in named if title.endswith(' (mbit/s)')):
            lines[algorithm], wrong = pasted_figure(machine, named['%s (mbit/s)' % algorithm], named.get('%s (s)' % algorithm, '-'))
            findings += wrong
        if 'aes128' in lines and 'aes256' in lines:
            findings += faster_with_more(lines['aes128'], lines['aes256'])
        return findings + self._twice(tuple(cells))


def known_text(cell: Optional[str]) -> Optional[str]:
    """A cell's text, None where it says that there is none."""
    return None if cell in (None, '', '-', '?') else cell


def pasted_figure(machine: Line, rate: str, seconds: str) -> Tuple[Line, List[Finding]]:
    """A figure of a row that was pasted, as a line, and what is wrong with it."""
    findings = []
    numbers = []
    for text in (rate, seconds):
        number = cell_number(text)
        if number is None and known_text(text):
            findings.append(cell_finding(text))
        numbers.append(number)
    line = machine._replace(mbit_s=numbers[0], seconds=numbers[1])
    if numbers[0] is not None:
        findings += figure_findings(line)
    if numbers[0] and numbers[1] and not any(prints(mbit, numbers[1], numbers[0], seconds, rate) for mbit in TABLE_MBIT):
        findings.append(Finding('arithmetic', '800 Mbit in %s s are %.1f MBit/s, not %s' % (seconds, 800 / numbers[1], rate)))
    return line, findings


TABLE_MBIT = (800.0, 3200.16, 3254.147)  # of dd over ssh, and of openvpn up to 2.5 and from 2.6 on


def prints(mbit: float, seconds: float, rate: float, seconds_text: str, rate_text: str) -> bool:
    """Whether so much work in these seconds is this rate, each written with the digits that it has: rounded, or cut as the documents' are."""
    doubt = mbit / seconds ** 2 * 0.51 * last_digit(seconds_text)
    return -0.51 * last_digit(rate_text) - doubt <= mbit / seconds - rate <= 1.01 * last_digit(rate_text) + doubt


def last_digit(text: str) -> float:
    """What one in the last digit of a number is worth."""
    return 10.0 ** -len(re.split('[.,]', text + '.')[1])


def cell_finding(text: str) -> Finding:
    """What a cell is that is no plain number."""
    try:
        return Finding('unit', '`%s` is %s MBit/s' % (plain(text, 40), figure(parse_rate(text))))
    except ValueError:
        return Finding('unit', '`%s` is no number' % plain(text, 40))


def finding_text(place: str, finding: Finding) -> str:
    """One finding on one line: where, what, why it matters, how to mend it."""
    if not finding.grave():
        return plain('%s: note: %s (%s: %s)' % (place, plain(finding.what), finding.code, NOTES[finding.code]), 600)
    why, mend = FINDINGS[finding.code]
    return plain('%s: %s: %s. Why: %s. To mend it: %s.' % (place, finding.code, plain(finding.what), why, mend), 600)


# --- page ---------------------------------------------------------------------------------------
# The table as a page in one file. Python draws the whole table, so it is complete and prints without
# a script; the script at the end of the template only sorts, hides, marks and opens its rows.

class Head(NamedTuple):
    """A column of the page's table: the key of what it shows, in the row or in one of its cells."""

    title: str
    key: str
    column: Optional[int] = None

    @property
    def is_number(self) -> bool:
        """Whether it stands to the right."""
        return self.column is not None or self.key == 'mhz'


def escaped(text: str) -> str:
    """For HTML, in an attribute as well."""
    from html import escape
    return escape(text)


def page_heads(columns: Sequence[str], with_seconds: bool) -> List[Head]:
    """The columns, in the order of OpenWrt's table, with ours behind them."""
    heads = [Head('CPU', 'cpu'), Head('MHz', 'mhz'), Head('tested device', 'device')]
    for place, name in enumerate(columns):
        if with_seconds and name in DOCUMENT_COLUMNS:
            heads.append(Head(name + ' (s)', 'seconds', place))
        heads.append(Head(name + ' (MBit/s)', 'mbit_s', place))
    return heads + [Head('system', 'system'), Head('measured with', 'measured'), Head('notes', 'spread')]


def page_record(row: Row, columns: Sequence[str]) -> Dict[str, Any]:
    """A row as the page's script has it: its cells in the order of the columns."""
    cells = [row.cell(name) for name in columns]
    spreads = [figure.spread for cell in cells if cell for figure in cell.figures if figure.spread is not None]
    return {**row._asdict(), 'measured': ', '.join(filter(None, (row.tool, row.driver))) or row.source,
            'origin': 'published' if row.source else 'measured', 'spread': max(spreads) if spreads else None,
            'lines': max((cell.lines for cell in cells if cell), default=0),
            'cells': [cell and {**cell._asdict(), 'figures': [figure._asdict() for figure in cell.figures]} for cell in cells]}


def page_number(value: Optional[float]) -> str:
    """As OpenWrt's table has it: one decimal place, for what is small two."""
    return '-' if value is None else '%.1f' % value if value >= 1 else '%.2f' % value


def page_notes_cell(record: Dict[str, Any], notes: Sequence[str]) -> str:
    """The numbers of the footnotes, how many lines the row is from, and how far apart their runs lay."""
    marks = ['<a href="#note-%d">%d</a>' % ((notes.index(mark) + 1,) * 2) if mark in notes else escaped(mark) for mark in record['marks']]
    said = ['%d lines' % record['lines']] if record['lines'] > 1 else []
    if record['spread'] is not None:
        said.append('spread\u00a0%.1f\u00a0%%' % (100 * record['spread']))
    return ' '.join(filter(None, ('<sup>%s</sup>' % ' '.join(marks) if marks else '', ', '.join(said)))) or '-'


def page_cell(record: Dict[str, Any], head: Head, notes: Sequence[str]) -> str:
    """One cell. The device stands in <bdi>, or a name written from right to left would move what follows it."""
    if head.is_number:
        value = record['mhz'] if head.column is None else (record['cells'][head.column] or {}).get(head.key)
        return '<td class="n">%s</td>' % ('%g' % value if value is not None and (head.key == 'mhz' or record['source']) else page_number(value))
    if head.key == 'spread':
        return '<td>%s</td>' % page_notes_cell(record, notes)
    name = escaped(record[head.key] or '-')
    if head.key != 'device':
        return '<td>%s</td>' % name
    return '<th scope="row"><bdi>%s</bdi>%s</th>' % (name, ' <span class="badge">published</span>' if record['source'] else '')


def page_table(caption: str, heads: Sequence[Head], records: Sequence[Dict[str, Any]], notes: Sequence[str]) -> str:
    """The whole table, complete without a script."""
    lines = ['<table id="table" style="--numbers:%d">' % sum(head.column is not None for head in heads),
             '<caption id="caption">%s</caption>' % escaped(caption),
             '<colgroup>%s</colgroup>' % ''.join('<col class="%s">' % head.key for head in heads), '<thead><tr>']
    lines += ['<th scope="col"%s>%s</th>' % (' class="n"' if head.is_number else '', escaped(head.title)) for head in heads]
    lines.append('</tr></thead><tbody id="rows">')
    for record in records:
        lines.append('<tr class="%s">%s</tr>' % (record['origin'], ''.join(page_cell(record, head, notes) for head in heads)))
    return '\n'.join(lines + ['</tbody></table>'])


def page_notes(notes: Dict[str, str], left_out: Sequence[str]) -> str:
    """The footnotes, and what was left out."""
    items = ['<li id="note-%d"><strong>%s</strong>%s</li>' % (number, escaped(mark), escaped(': ' + text if text else ''))
             for number, (mark, text) in enumerate(notes.items(), 1)]
    return '\n'.join((['<ol>'] + items + ['</ol>'] if items else []) + ['<p>%s</p>' % escaped(sentence) for sentence in left_out])


def page_data(heads: Sequence[Head], columns: Sequence[str], records: Sequence[Dict[str, Any]], notes: Dict[str, str]) -> str:
    """JSON that may stand in a <script>: nothing in it ends the element or begins a comment."""
    text = to_json({'heads': [head._asdict() for head in heads], 'columns': columns, 'rows': records, 'explained': list({**WARNINGS, **notes}.items())})
    return re.sub('[<>&]', lambda found: '\\u%04x' % ord(found.group()), text)


def as_html(test: str, rows: Sequence[Row], left_out: Dict[str, int]) -> str:
    """The page, in one file."""
    notes = {mark: EXPLAINED.get(mark) or WARNINGS.get(mark) or '' for row in rows for mark in row.marks}
    return page('What routers can encrypt: ' + plain(test, 40), table_columns(test, rows), rows, notes, left_out_text(left_out), has_seconds(test, rows))


def page(title: str, columns: Sequence[str], rows: Sequence[Row], notes: Dict[str, str], left_out: Sequence[str], with_seconds: bool) -> str:
    """The page. Its parts are put in at one go: a device may be called @NOTES@."""
    heads, records = page_heads(columns, with_seconds), [page_record(row, columns) for row in rows]
    published = sum(bool(row.source) for row in rows)
    caption = '%d row%s, %d of them published elsewhere' % (len(rows), '' if len(rows) == 1 else 's', published)
    parts = {'TITLE': escaped(title), 'TABLE': page_table(caption, heads, records, list(notes)),
             'NOTES': page_notes(notes, left_out), 'DATA': page_data(heads, columns, records, notes)}
    return re.sub('@(TITLE|TABLE|NOTES|DATA)@', lambda found: parts[found.group(1)], PAGE)


PAGE = r'''<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>@TITLE@</title>
<script>
document.documentElement.className = 'loading';  // or a long table would be laid out again and again while it comes in
addEventListener('DOMContentLoaded', () => document.documentElement.classList.remove('loading'));
</script>
<style>
:root { color-scheme: light dark; --paper: #fafaf7; --raised: #fff; --ink: #1b2422; --soft: #55615d; --line: #dce1dd; --accent: #0a6a62; --bar: #6fb9ab;
  --warn: #8a4a00; --solid: linear-gradient(var(--bar) 0 0); --hatched: repeating-linear-gradient(135deg, var(--bar) 0 2px, transparent 2px 5px) }
@media screen and (prefers-color-scheme: dark) {
  :root { --paper: #121716; --raised: #1b2221; --ink: #e4eae7; --soft: #9daaa5; --line: #323d3a; --accent: #6ad3c2; --bar: #2f8376; --warn: #f2b866 } }
* { box-sizing: border-box }
[hidden], .loading .frame { display: none !important }
:focus-visible, :focus-visible + span { outline: 2px solid var(--accent); outline-offset: 2px }
body { margin: 0 auto; max-width: 112rem; padding: clamp(1rem, 3vw, 2.5rem); background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif }
h1, h2, h3 { margin: 0; font-size: 1.125rem; line-height: 1.2; overflow-wrap: anywhere }
h1 { font-size: clamp(1.5rem, 1.1rem + 1.6vw, 2.25rem); letter-spacing: -.02em; text-wrap: balance }
header p { margin: .5rem 0 1.5rem; max-width: 46rem }
header p, caption, label, legend, footer, small, dt, .badge, .axis, #count, #families thead th, ::placeholder { color: var(--soft); opacity: 1 }
a { color: var(--accent) } sup { line-height: 0 } caption, th { text-align: left } .n { text-align: right } .warning { color: var(--warn) }
button, input, select { font: inherit; color: inherit; cursor: pointer }
table, dialog { border-spacing: 0; font-variant-numeric: tabular-nums }
.badge { display: inline-block; padding: 0 .5em; border: 1px solid; border-radius: 1em; font-size: .75em; font-weight: 500; line-height: 1.5 }
.axis { display: block; position: relative; height: 1.25em; font-size: .75rem; font-weight: 400 }
.axis span { position: absolute; transform: translateX(-50%); white-space: nowrap }
#table, #families { --grid: repeating-linear-gradient(to right, var(--line) 0 1px, transparent 1px calc(100% / var(--decades, 1))) }
svg { display: block; width: 100%; height: 36px; overflow: visible } line { stroke: var(--ink); stroke-width: 2 }
circle { fill: var(--accent); fill-opacity: .75; stroke: var(--accent) } circle.published { fill: var(--paper) } circle:hover { stroke-width: 4 }

#tools, #tools div { display: flex; flex-wrap: wrap; gap: .75rem 1.5rem; align-items: end; margin: 0 0 1.5rem; font-size: .875rem }
#tools :is(div, fieldset) { gap: .375rem; margin: 0; padding: 0; border: 0 }
#tools > label { display: grid; gap: .25rem } legend { padding: 0 0 .25rem }
#tools :is([type=search], select, button, span) { display: block; min-height: 2.25rem; padding: .375rem .75rem; color: var(--ink); background: var(--raised);
  border: 1px solid var(--line); border-radius: .5rem }
#tools [type=search] { width: 18rem; max-width: 100%; cursor: text } #tools div label { position: relative }
#tools [type=checkbox] { position: absolute; inset: 0; opacity: 0 } #tools [type=checkbox] + span { border-radius: 2rem }
#tools :checked + span { background: var(--accent); border-color: var(--accent); color: var(--paper); forced-color-adjust: none }
#count { margin-left: auto; padding: .4375rem 0 }

#families { margin: 0 0 2rem; width: 100%; font-size: .875rem }
#families :is(th, td) { padding: .125rem .75rem .125rem 0; white-space: nowrap } #families thead th { font-weight: 400 }
#families caption { padding: 0 0 .5rem } #families .plot { width: 100%; padding: 0 1rem } #families svg { background: var(--grid); cursor: pointer }

.frame { overflow: auto; max-height: calc(100vh - 2rem); border: 1px solid var(--line); border-radius: .75rem; background: var(--raised) }
#table { width: 100%; min-width: calc(57em + var(--numbers) * 6em); table-layout: fixed; font-size: .8125rem; line-height: 1.4 }
col.cpu { width: 8em } col.mhz { width: 4em } col.device { width: 13em } col.seconds { width: 4.7em } col.mbit_s { width: 6.2em }
col.system { width: 7em } col.measured { width: 8em } col.spread { width: 9em } col.chart { width: auto } #table caption { padding: .625rem .75rem }
#table :is(th, td) { padding: .4375rem .5rem; border-top: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere }
#table th { position: sticky; left: 0; background: var(--raised) }
#table thead th { left: auto; top: 0; z-index: 2; border-bottom: 1px solid var(--line); vertical-align: bottom; font-size: .88em }
#table thead .n { padding-left: 0 } #table .axis { margin: 0 4rem 0 .5rem }
#table tr:hover > * { background-color: color-mix(in srgb, var(--accent) 7%, var(--raised)) }
#table th button { padding: 0; border: 0; background: none; text-align: inherit; font-weight: 600 }
#table :is(tbody button, button:hover) { color: var(--accent) }
[aria-sort] button::after { content: ' \25B2'; color: var(--accent); font-size: .75em } [aria-sort=descending] button::after { content: ' \25BC' }
td.chart { background: var(--solid) .5rem .5rem / calc((100% - 5rem) * var(--share)) 1em no-repeat, var(--grid) .5rem 0 / calc(100% - 5rem) 100% no-repeat }
.published { --solid: var(--hatched) }
footer { margin-top: 2rem; max-width: 60rem; font-size: .875rem }
:target { color: var(--ink); background: color-mix(in srgb, var(--accent) 15%, transparent) }

dialog { width: min(38rem, 100%); max-width: 100%; height: 100%; max-height: 100%; margin: 0 0 0 auto; padding: 1.5rem; overflow-wrap: anywhere;
  background: var(--raised); color: var(--ink); border: 0; border-left: 1px solid var(--line) }
dialog::backdrop { background: rgb(0 0 0 / .4) }
dialog :is(dl, section) { margin: 1rem 0 0; padding: .75rem 0 0; border-top: 1px solid var(--line); font-size: .875rem }
dialog dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem } dialog dd { margin: 0 }
dialog h3 { display: flex; justify-content: space-between; gap: 1rem; font-size: 1rem }
dialog figure { margin: .75rem 0 0 } dialog svg { height: 24px }
#close { float: right; width: 2.5rem; height: 2.5rem; margin: -.5rem -.5rem 0 1rem; border: 0; border-radius: 50%; background: none; font: 1.5rem/1 system-ui }

@media screen and (max-width: 48rem) {  /* rows become cards of what compares; the details have the rest */
  #tools > label, #tools [type=search] { width: 100% }
  #families .more, .js #table :is(th, td) { display: none }
  .js .frame { overflow: visible; max-height: none }
  .js #table, .js #table :is(caption, thead, tbody) { display: block; min-width: 0 }
  .js #table thead { position: sticky; top: 0; z-index: 2 }
  .js #table tr { display: grid; grid-template-columns: 1fr auto; padding: .375rem .75rem; border-top: 1px solid var(--line); background: var(--raised) }
  .js #table thead tr { display: flex; flex-wrap: wrap; gap: 0 1.25rem }
  .js #table :is(:nth-child(-n+3), .chart):is(th, td) { display: block; position: static; padding: .125rem 0; border: 0 }
  .js #table :is(:nth-child(3), .chart):is(th, td) { grid-column: 1 / -1 }
  .js #table :nth-child(3):is(th, td) { order: -1 } .js #table th.chart { flex-basis: 100% }
  .js #table button { padding: .25rem 0 } .js #table .axis { margin-left: 0 } td.chart { background-position: 0 .25rem, 0 0 }
}
@keyframes enter { from { transform: translateX(2rem); opacity: 0 } }
@media (prefers-reduced-motion: no-preference) { dialog[open] { animation: enter .18s ease-out } }
@media print {
  @page { size: landscape; margin: 1cm }
  :root { color-scheme: light; --paper: #fff; font-size: 8.5pt; print-color-adjust: exact }
  #tools, dialog { display: none } body { max-width: none; padding: 0 } .frame { overflow: visible; max-height: none; border: 0 }
  #table { min-width: 0; font-size: 6.5pt } #table :is(th, td) { position: static !important; padding: .125rem .25rem }
  #table button { display: contents; color: inherit }  /* a button is not drawn in a head that is repeated */
  thead { display: table-header-group } tr, #families, li { break-inside: avoid }
}
</style>
</head>
<body>
<header>
<h1>@TITLE@</h1>
<p>MBit/s are 10<sup>6</sup> bits per second, so more is faster; where several lines measured the same, their median stands here. Bars and dots have
logarithmic scales: each grid line is ten times the one before. What was published elsewhere is hatched or hollow.</p>
</header>
<main>
<form id="tools" role="search" hidden>
<label>Filter<input type="search" name="words" placeholder="mips 24k" autocomplete="off" spellcheck="false"></label>
<label>Charts show<select name="chart"></select></label>
<button type="reset">Reset</button>
<output id="count" aria-live="polite"></output>
</form>
<table id="families" hidden></table>
<div class="frame" role="region" aria-labelledby="caption" tabindex="0">
@TABLE@
</div>
</main>
<footer>
<h2>Notes</h2>
@NOTES@
</footer>
<dialog id="detail" aria-labelledby="device"></dialog>
<script type="application/json" id="data">@DATA@</script>
<script>
'use strict';
const [form, table, families, detail, count, json] = ['tools', 'table', 'families', 'detail', 'count', 'data'].map(id => document.getElementById(id));
const data = JSON.parse(json.textContent), explained = new Map(data.explained);
const body = table.tBodies[0], titles = [...table.tHead.rows[0].cells];
const state = {sort: null, descending: false, open: null, column: null, saving: null};

function make(tag, attributes, ...children) {  // what a result says becomes an attribute or a text node, never markup
  const isDrawn = ['svg', 'line', 'circle', 'title'].includes(tag);
  const node = document.createElementNS(`http://www.w3.org/${isDrawn ? '2000/svg' : '1999/xhtml'}`, tag);
  Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
  node.append(...children);
  return node;
}

const number = value => value.toFixed(value >= 1 ? 1 : 2);
const percent = share => (100 * share).toFixed(1) + ' %';
const plural = (many, noun) => `${many} ${noun}${many === 1 ? '' : 's'}`;
const distinct = values => [...new Set(values)];
const collator = new Intl.Collator('en', {numeric: true});

function median(values) {
  const sorted = [...values].sort((a, b) => a - b), half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

function logScale(values) {  // from a whole decade, with at least one more to compare with
  const logs = values.filter(value => value > 0).map(Math.log10);
  const low = logs.length ? Math.floor(Math.min(...logs)) : 0, decades = Math.max(1, Math.max(...logs) - low + .05);
  const at = value => value > 0 ? (Math.log10(value) - low) / decades : 0;
  const ticks = Array.from({length: Math.floor(decades) + 1}, (_, decade) => Number((10 ** (low + decade)).toPrecision(1)));
  const axis = make('span', {class: 'axis', 'aria-hidden': true}, ...ticks.map(tick => make('span', {style: `left: ${100 * at(tick)}%`}, String(tick))));
  return {decades, axis, at};
}

// --- the table: it is there already, and is only arranged and marked ---

const rows = [...body.rows].map((line, place) => {
  const row = data.rows[place], words = [...line.cells].map(cell => cell.textContent).concat(row.family, row.driver, row.source, row.origin);
  const name = line.querySelector('bdi'), button = make('button', {type: 'button', 'aria-haspopup': 'dialog'});
  name.replaceWith(button);
  button.append(name);
  return {...row, line, button, words: words.join(' ').toLowerCase(), key: [row.device, row.cpu, row.system, row.measured].join(' / ')};
});
const value = (row, {key, column}) => column === null ? row[key] : row.cells[column] && row.cells[column][key];
const perMhz = row => row.mhz && value(row, {key: 'mbit_s', column: state.column}) / row.mhz || 0;
const rates = logScale(rows.flatMap(row => row.cells.map(cell => cell && cell.mbit_s)));

function compare(one, other) {
  const [a, b] = [one, other].map(row => value(row, data.heads[state.sort]) ?? '');
  if (a === '' || b === '') return (a === '') - (b === '');  // what is missing comes last, whichever way
  return (state.descending ? -1 : 1) * (typeof a === 'number' ? a - b : collator.compare(a, b));
}

function sort() {
  titles.forEach(title => title.removeAttribute('aria-sort'));
  if (state.sort !== null) titles[state.sort].setAttribute('aria-sort', state.descending ? 'descending' : 'ascending');
  const order = state.sort === null ? rows : [...rows].sort(compare);
  if (order.some((row, place) => row.line !== body.children[place])) body.append(...order.map(row => row.line));
}

function filter() {
  const chosen = new FormData(form), words = chosen.get('words').toLowerCase().split(/\s+/);
  const isAmong = (name, text) => !chosen.has(name) || chosen.getAll(name).includes(text);
  const shown = rows.filter(row => isAmong('family', row.family) && isAmong('origin', row.origin) && words.every(word => row.words.includes(word)));
  const kept = new Set(shown);
  rows.forEach(row => { row.line.hidden = !kept.has(row); });
  count.textContent = (shown.length === rows.length ? '' : `${shown.length} of `) + plural(rows.length, 'row');
  return shown;
}

function drawBars() {
  const place = data.heads.findIndex(head => head.key === 'mbit_s' && head.column === state.column);
  table.querySelectorAll('.chart').forEach(node => node.classList.remove('chart'));
  [table.querySelectorAll('col')[place], titles[place], ...rows.map(row => row.line.cells[place])].forEach(node => node.classList.add('chart'));
  rows.forEach(row => row.line.cells[place].style.setProperty('--share', rates.at(value(row, data.heads[place]))));
  table.style.setProperty('--decades', rates.decades);
  titles[place].append(rates.axis);
}

// --- MBit/s per MHz ---

const familyNames = among => distinct(among.map(row => row.family)).sort((a, b) => (a === 'other') - (b === 'other') || collator.compare(a, b));

function drawDots(shown, scale) {  // a dot where there is room for one: thousands would only make a blot
  const taken = new Map();
  return shown.map(row => {
    const x = 100 * scale.at(perMhz(row)), lane = taken.get(Math.round(x)) || 0;
    taken.set(Math.round(x), lane + 1);
    if (lane > 4) return '';
    const dot = make('circle', {class: row.origin, cx: x + '%', cy: 18 + (lane % 2 ? 6 : -6) * Math.ceil(lane / 2), r: 4},
                     make('title', {}, `${row.device}, ${row.cpu}: ${perMhz(row).toPrecision(2)} MBit/s per MHz`));
    return Object.assign(dot, {row});
  });
}

function familyRow(family, shown, scale) {
  const found = shown.map(perMhz), middle = found.length ? median(found) : 0, x = 100 * scale.at(middle) + '%';
  const [low, high, half] = [Math.min(...found), Math.max(...found), middle].map(one => found.length ? one.toPrecision(2) : '-');
  const range = low === high ? low : `${low} to ${high}`, label = `${family}: ${plural(found.length, 'row')}, ${range}, median ${half}`;
  const plot = make('svg', {role: 'img', 'aria-label': label}, ...drawDots(shown, scale), found.length > 1 ? make('line', {x1: x, x2: x, y1: 0, y2: 36}) : '');
  return make('tr', {}, make('th', {scope: 'row'}, family), make('td', {class: 'n more'}, String(found.length)), make('td', {class: 'n'}, half),
              make('td', {class: 'n more'}, range), make('td', {class: 'plot'}, plot));
}

function drawFamilies(shown) {
  const drawn = rows.filter(perMhz), scale = logScale(drawn.map(perMhz));  // of all rows: a filter shall not move the dots
  const titled = [['family', ''], ['rows', 'n more'], ['median', 'n'], ['range', 'n more'], [scale.axis, 'plot']];
  families.hidden = !drawn.length;
  families.style.setProperty('--decades', scale.decades);
  families.replaceChildren(
    make('caption', {}, `${data.columns[state.column]}: MBit/s per MHz of the clock, by CPU family; strokes are medians; some crowded dots are left out`),
    make('thead', {}, make('tr', {}, ...titled.map(([title, kind]) => make('th', {scope: 'col', class: kind}, title)))),
    make('tbody', {}, ...familyNames(drawn).map(family => familyRow(family, shown.filter(row => row.family === family && perMhz(row)), scale))));
}

// --- the details of a device, made when they are asked for ---

function drawRuns(runs, middle, reach) {
  const dots = runs.map(seconds => make('circle', {cx: 50 + 48 * (seconds - middle) / reach + '%', cy: 12, r: 4.5}));
  const line = (x1, x2, y1, y2, opacity) => make('line', {x1, x2, y1, y2, opacity});
  return make('svg', {'aria-hidden': true}, line('0', '100%', 12, 12, .2), line('50%', '50%', 2, 22, 1), ...dots);
}

function lineFigure(line, middle, reach) {
  const runs = line.runs.length ? `${plural(line.runs.length, 'run')}: ${line.runs.map(seconds => seconds.toFixed(2)).join(', ')} s` : 'no single runs';
  return make('figure', {}, make('figcaption', {}, `${line.time || 'no date'}, run ${line.run}: `, make('strong', {}, number(line.mbit_s)), ' MBit/s'),
    line.runs.length ? drawRuns(line.runs, middle, reach) : '', make('small', {}, runs + (line.spread === null ? '' : `; spread ${percent(line.spread)}`)),
    ...line.warnings.flatMap(code => [' ', make('span', {class: 'badge warning'}, code)]));
}

function cellSection(row, cell, name) {
  const runs = cell.figures.flatMap(line => line.runs), middle = runs.length ? median(runs) : 0;
  const reach = Math.max(.05 * middle, ...runs.map(seconds => Math.abs(seconds - middle)));  // a spread under 5 % shall look like little
  const facts = [cell.seconds === null ? '' : number(cell.seconds) + ' s', row.mhz ? (cell.mbit_s / row.mhz).toPrecision(2) + ' MBit/s per MHz' : '',
                 cell.lines > 1 ? `median of ${cell.lines} lines` : '', runs.length ? `dots: ${number(middle)} s ± ${percent(reach / middle)}` : '',
                 cell.figures.length && cell.figures.length < cell.lines ? `the newest ${cell.figures.length} are listed` : ''];
  return make('section', {}, make('h3', {}, make('span', {}, name), make('span', {}, number(cell.mbit_s) + ' MBit/s')),
              make('small', {}, facts.filter(Boolean).join('; ')), ...cell.figures.map(line => lineFigure(line, middle, reach)));
}

function fillDetail(row) {
  const facts = {CPU: row.cpu, clock: row.mhz && row.mhz + ' MHz', family: row.family, system: row.system, tool: row.tool, driver: row.driver,
                 'published in': row.source};
  const codes = distinct(row.marks.concat(...row.cells.map(cell => cell ? cell.figures.flatMap(line => line.warnings) : [])));
  const care = codes.map(code => make('li', {}, make('strong', {}, code), explained.has(code) ? ': ' + explained.get(code) : ''));
  detail.replaceChildren(
    make('button', {type: 'button', id: 'close', 'aria-label': 'Close'}, '×'), make('h2', {id: 'device', dir: 'auto'}, row.device || '-'),
    make('dl', {}, ...Object.entries(facts).flatMap(([name, text]) => text ? [make('dt', {}, name), make('dd', {dir: 'auto'}, text)] : [])),
    care.length ? make('section', {}, make('h3', {}, 'Take with care'), make('ul', {}, ...care)) : '',
    ...row.cells.map((cell, column) => cell ? cellSection(row, cell, data.columns[column]) : ''));
}

function open(row) {
  state.open = row;
  fillDetail(row);
  if (!detail.open) detail.showModal();
  save();
}

// --- what is seen is kept in the address, so that it can be linked ---

function save() {
  clearTimeout(state.saving);  // a browser refuses such changes where they come too often
  state.saving = setTimeout(() => {
    const kept = new URLSearchParams(new FormData(form));
    if (!kept.get('words')) kept.delete('words');
    if (kept.get('chart') === usual) kept.delete('chart');
    if (state.sort !== null) kept.set('sort', data.heads[state.sort].title);
    if (state.descending) kept.set('order', 'descending');
    if (state.open) kept.set('open', state.open.key);
    history.replaceState(null, '', '#' + kept);
  }, 150);
}

function update() {
  const column = data.columns.indexOf(form.elements.chart.value);
  if (column !== state.column) { state.column = column; drawBars(); }
  drawFamilies(filter());
  save();
}

function restore(address) {
  const kept = new URLSearchParams(address.slice(1)), row = rows.find(one => one.key === kept.get('open'));
  const place = data.heads.findIndex(head => head.title === kept.get('sort'));
  for (const field of form.elements) {
    if (field.type === 'checkbox') field.checked = kept.getAll(field.name).includes(field.value);
    else if (field.name) field.value = kept.get(field.name) || '';
  }
  if (form.elements.chart.selectedIndex < 0) form.elements.chart.value = usual;
  Object.assign(state, {sort: place < 0 ? null : place, descending: place >= 0 && kept.get('order') === 'descending'});
  sort();
  update();
  if (row) open(row); else if (detail.open) detail.close();
}

function addChips(name, title, values) {
  const chips = values.map(value => make('label', {}, make('input', {type: 'checkbox', name, value}), make('span', {}, value)));
  if (values.length > 1) form.querySelector('[type=reset]').before(make('fieldset', {}, make('legend', {}, title), make('div', {}, ...chips)));
}

titles.forEach((title, place) => {
  title.replaceChildren(make('button', {type: 'button'}, title.textContent));
  title.firstChild.addEventListener('click', () => {  // of numbers the largest come first, but for times
    state.descending = state.sort === place ? !state.descending : ['mhz', 'mbit_s', 'spread'].includes(data.heads[place].key);
    state.sort = place;
    sort();
    save();
  });
});
const filled = data.columns.map((_, column) => rows.filter(row => row.cells[column]).length), usual = data.columns[filled.indexOf(Math.max(...filled))];
form.elements.chart.append(...data.columns.map(name => make('option', {}, name)));
addChips('family', 'CPU family', familyNames(rows));
addChips('origin', 'Results', distinct(rows.map(row => row.origin)).sort());
form.addEventListener('input', update);
form.addEventListener('submit', event => event.preventDefault());
form.addEventListener('reset', event => { event.preventDefault(); restore(''); });
body.addEventListener('click', event => { if (event.target.closest('button')) open(rows.find(row => row.button === event.target.closest('button'))); });
families.addEventListener('click', event => { if (event.target.row) open(event.target.row); });
detail.addEventListener('click', event => { if ([detail, detail.firstChild].includes(event.target)) detail.close(); });  // beside it, or on the cross
detail.addEventListener('close', () => { const {button} = state.open; state.open = null; button.focus(); save(); });
addEventListener('hashchange', () => { if (!location.hash.startsWith('#note-')) restore(location.hash); });
document.documentElement.classList.add('js');
form.hidden = false;
restore(location.hash);
</script>
</body>
</html>
'''


# --- summary ------------------------------------------------------------------------------------
# What a person reads while tests run, and after them.

def summary(facts: Facts, lines: Sequence[Line]) -> str:
    """What a person wants to know after a run."""
    good = [line for line in lines if line.status == 'ok']
    parts = [machine_title(facts)]
    crypto, transfers, kernel, library, ways = ([line for line in good if line.test == name] for name in ('openvpn', 'ssh', 'kernel', 'openssl', 'iperf3'))
    parts += [result_table(crypto), advice(crypto)] if crypto else []
    parts += [transfer_table(transfers)] if transfers else []
    parts += [driver_table(kernel), ipsec_ceiling(kernel)] if kernel else []
    parts += [library_table(library)] if library else []
    parts += [tunnel_table(ways)] if ways else []
    for line in lines:
        if line.status != 'ok':
            title = plain_title(line) if line.test in ('kernel', 'openssl') else way_title(line) if line.test == 'iperf3' else line_title(line)
            parts.append('%s %s: %s' % (title or line.test, line.status, line.detail))
    codes = list(dict.fromkeys(code for line in good for code in line.warnings))
    if codes:
        parts.append('\n'.join(['Take with care:'] + ['  %s: %s' % (code, WARNINGS[code]) for code in codes]))
    parts.append(contribution(good))
    return '\n\n'.join(part for part in parts if part)


def result_table(good: Sequence[Line]) -> str:
    """The figures side by side, all in Mbit/s."""
    rows: List[List[str]] = [['Mbit/s', 'test-crypto', 'guide\'s formula', 'cipher alone', 'at 1420 bytes', 'runs', 'spread']]
    for line in good:
        extra = line.extra
        apart = '-' if line.spread is None else '%.1f %%' % (100 * line.spread)
        rows.append([line_title(line), figure(line.mbit_s), figure(extra.get('mbit_s_3200')),
                     figure(extra.get('net_mbit_s')), figure(extra.get('mbit_s_1420')),
                     str(len(line.runs)) if line.runs else 'predicted', apart])
    return '\n'.join('  ' + row for row in columns(rows))


def crypto_text(lines: Sequence[Line]) -> str:
    """`crypto` for a person: who does what, and what to do about it."""
    rows = [['algorithm', 'driver in use', 'kind', 'priority', 'others']]
    for line in lines:
        if 'drivers' not in line.extra:
            continue
        others = [one['driver'] for one in line.extra['drivers'] if not one['internal'] and one['driver'] != line.driver]
        kind = ' '.join(filter(None, (line.extra['kind'], '(%s)' % line.extra['unit'] if line.extra['unit'] else '')))
        rows.append([line.algorithm or '', line.driver or 'not loaded', kind or '-', str(line.extra['priority'] or '-'), ', '.join(others) or '-'])
    parts = ['\n'.join('  ' + row for row in columns(rows))]
    for line in lines:
        if 'note' in line.extra:
            engines = ', '.join(line.extra['engines']) or 'none'
            parts.append('In user space: %s; engines: %s%s.\n%s.' % (line.library or 'no openssl command', engines, '; providers: ' + ', '.join(
                line.extra['providers']) if line.extra['providers'] else '', line.extra['note']))
            parts += ['\n'.join(['Advice:'] + ['  - ' + text for text in line.extra['advice']])] if line.extra['advice'] else []
    return '\n\n'.join(parts)


def transfer_table(good: Sequence[Line]) -> str:
    """The transfers side by side."""
    rows: List[List[str]] = [['dd over ssh', 'Mbit/s', 'seconds', 'longer run', 'router busy', 'limited by', 'runs', 'spread']]
    for line in good:
        extra = line.extra
        busy = '-' if extra['router_cpu'] is None else '%.0f %%' % (100 * extra['router_cpu'])
        rows.append([line_title(line), figure(line.mbit_s), '%.2f' % (line.seconds or 0), figure(extra['mbit_s_long']), busy,
                     extra['limit'] or '-', str(len(line.runs)), '%.1f %%' % (100 * (line.spread or 0))])
    return '\n'.join('  ' + row for row in columns(rows))


def interface_table(lines: Sequence[Line]) -> str:
    """What passed through interfaces, in and out."""
    rows = [['interface, Mbit/s', 'highest in', 'highest out', 'mean in', 'mean out', 'window', 'watched']]
    for line in (line for line in lines if line.status == 'ok'):
        extra = line.extra
        rows.append([extra['interface'], *(figure(extra[key]) for key in ('peak_in_mbit_s', 'peak_out_mbit_s', 'mean_in_mbit_s', 'mean_out_mbit_s')),
                     '%g s' % extra['window_s'], '%.1f s' % extra['watched_s']])
    return '\n'.join(['  ' + row for row in columns(rows)] * (len(rows) > 1) + [line.detail or '' for line in lines if line.status != 'ok'])


def tunnel_table(good: Sequence[Line]) -> str:
    """The ways side by side, and what they mean."""
    rows: List[List[str]] = [['through', 'cipher', 'how', 'Mbit/s', 'of direct', 'VPN busy', 'machine busy', 'cipher alone', 'one end alone', 'limited by', 'runs', 'spread']]
    for line in good:
        extra = line.extra
        shares = ['-' if value is None else '%.0f %%' % (100 * value) for value in (extra.get('efficiency'), extra.get('vpn_cpu'), extra['router_cpu'])]
        rows.append([line.tool or 'tunnel', line_title(line) if line.cipher else '-', ', '.join(filter(None, (line.driver, {'up': 'sent', 'down': 'received'}[extra['direction']]))),
                     figure(line.mbit_s), *shares, figure(extra.get('ceiling_mbit_s')), figure(extra.get('one_end_mbit_s')), extra['limit'] or '-', str(len(line.runs)),
                     '%.1f %%' % (100 * (line.spread or 0))])
    text = ['  ' + row for row in columns(rows, (0, 1, 2))]
    for line in good:
        if line.extra.get('fairness'):
            each = line.extra['client_mbit_s']
            text.append('  %s: %d clients got %s to %s Mbit/s each (fairness %.2f).' % (way_title(line), len(each), figure(min(each)), figure(max(each)), line.extra['fairness']))
    return '\n'.join(text + tunnel_words(good))


def way_title(line: Line) -> str:
    """`OpenVPN 2.6.14, AES-256-CBC + SHA1, tun, UDP`."""
    return ', '.join(filter(None, (line.tool or 'the tunnel', line_title(line) if line.cipher else '', line.driver)))


def tunnel_words(good: Sequence[Line]) -> List[str]:
    """What a person should know of them."""
    words = ['  `machine busy` counts all cores together.']
    if 'loopback' in good[0].warnings:
        words.append('  Both ends shared this machine, and the direct way never left its memory. `one end alone` is what one core\n'
                     '  has room for by the time that the VPN took.')
    return words


def driver_table(good: Sequence[Line]) -> str:
    """The kernel's drivers side by side."""
    rows = [['kernel, Mbit/s', 'driver', 'kind', '64 KiB', '16 KiB', '1424 bytes', '16 bytes', 'without requests', 'us/request', 'better from']]
    for line in good:
        extra = line.extra
        better = '-' if extra['faster_from'] is None else '%d bytes' % extra['faster_from'] if extra['faster_from'] else 'always'
        rows.append([plain_title(line), (line.driver or '-') + (' *' if extra['in_use'] else ''), extra['unit'] or extra['kind'] or '-', figure(line.mbit_s),
                     figure(extra['mbit_s_16384']), figure(extra['mbit_s_1424']), figure(extra['mbit_s_16']), figure(extra['net_mbit_s']),
                     figure(extra['per_request_us']), better])
    return '\n'.join('  ' + row for row in columns(rows)) + '\n  * in use'


def ipsec_ceiling(good: Sequence[Line]) -> str:
    """What an ESP tunnel can reach at the most, by the drivers that the kernel picks."""
    rates = [(plain_title(line), line.extra['net_mbit_s_1424'] or line.extra['net_mbit_s']) for line in good
             if line.extra['in_use'] and (line.extra['name'].startswith(('authenc', 'rfc4106')))]
    lines = ['  %s: about %s Mbit/s' % (title, figure(rate)) for title, rate in rates if rate]
    return '\n'.join(['IPsec on this machine tops out, on one core and before the way of the packets costs its part, at:'] + lines) if lines else ''


def library_table(good: Sequence[Line]) -> str:
    """What the library can do."""
    rows = [['openssl speed, Mbit/s', '16 KiB', '1424 bytes', '16 bytes', 'runs', 'spread']]
    for line in good:
        extra = line.extra
        rows.append([plain_title(line), figure(line.mbit_s), figure(extra.get('mbit_s_1424')), figure(extra.get('mbit_s_16')), str(len(line.runs)),
                     '%.1f %%' % (100 * (line.spread or 0))])
    return '\n'.join('  ' + row for row in columns(rows))


ROW_HEAD = ' | '.join(PASTED_HEAD) + ' |'


def document_row(row: Row) -> str:
    """The row as the document has its own, in Markdown."""
    return markdown_row(machine_cells(row) + [text for column in DOCUMENT_COLUMNS for text in cell_texts(row, column, True)])


def own_rows(lines: Sequence[Line], test: str) -> List[Row]:
    """The rows that lines of one run give, sound or not. A loopback gives none, and no row is without AES128 and AES256."""
    collector = Collector()
    for line in lines:
        if 'loopback' not in line.warnings:
            collector.keep(line)
    return [row for row in collector.rows(test) if any(row.cell(column) for column in DOCUMENT_COLUMNS)]


def contribution(good: Sequence[Line]) -> str:
    """The row as it may be contributed, with what speaks against it, how it compares with the published ones, and where to go with it."""
    test = 'ssh' if any(line.test == 'ssh' for line in good) else 'openvpn'
    rows = own_rows(good, test)
    if not rows:
        return ''
    text = ['The row for the table of OpenWrt\'s IPsec page:' if test == 'ssh' else 'As a row of the table:', ROW_HEAD, *map(document_row, rows)]
    text += ['%s.' % sentence for sentence in beside_published(rows + published_rows(test))]
    others = sorted({line.cipher or '' for line in good if mode_of(line) not in ('', 'CBC')})
    if others:
        text.append('Say beside it that it is %s: the rows there are CBC.' % ' and '.join(others))
    against = [code for code in NOT_FIT + NOT_MERGED if any(code in line.warnings for line in good if line.test == test)]
    return '\n'.join(text + ['Not fit for the table as it is: %s.' % ', '.join(against) if against else CONTRIBUTE % ('' if test == 'ssh' else '--test openvpn ')])


CONTRIBUTE = ('To contribute it, keep the lines (--output results.jsonl), check them (`routerbench.py validate results.jsonl`) and send them, or the row as\n'
              '`routerbench.py table %s--format dokuwiki results.jsonl` prints it.')


def advice(good: Sequence[Line]) -> str:
    """Which cipher to take, and what a tunnel can reach at the most."""
    real = [(line.extra['mbit_s_1420'], line) for line in good
            if 'none' not in (line.cipher, line.auth) and line.extra.get('mbit_s_1420')]
    if not real:
        return ''
    rate, best = max(real, key=lambda pair: pair[0])
    processes = best.extra.get('processes') or 1
    who = 'One OpenVPN process, which uses one core, can' if processes == 1 else '%d OpenVPN processes together can' % processes
    return ('Fastest for packets as a tunnel carries them: %s.\n%s carry at most about %s Mbit/s with it;\n'
            'the way of the packets through the system costs extra.' % (line_title(best), who, figure(rate)))


class Terminal(Listener):
    """Speaks to a person on stderr: on a terminal by one line that is drawn again once a second,
    elsewhere (over a plain ssh, say) by a sentence now and then."""

    def __init__(self, environment: Dict[str, str], clock: Callable[[], float]) -> None:
        self.clock = clock
        self.live = os.isatty(STDERR) and environment.get('TERM') != 'dumb'
        self.colour = self.live and not environment.get('NO_COLOR')
        self.text = ''  # of the last progress that was shown, '' after anything else
        self.shown = 0.0

    def _write(self, text: str) -> None:
        try:
            write_out(STDERR, text)
        except OSError:
            self.live = False  # the terminal has gone; the measurement has not

    def clear(self) -> None:
        """Take the progress line away, for whatever comes next."""
        if self.live and self.text:
            self._write('\r\x1b[K')
        self.text = ''

    def note(self, text: str) -> None:
        """See Listener."""
        self.clear()
        self._write(text + '\n')

    def headline(self, text: str) -> None:
        """A note that stands out where there is colour; its first line does."""
        first, newline, rest = text.partition('\n')
        self.note(('\x1b[1m%s\x1b[0m' % first if self.colour else first) + newline + rest)

    def progress(self, text: str, left: float) -> None:
        """See Listener."""
        pause = TICK_SECONDS if self.live else 60.0 if text == self.text else 20.0
        if self.text and self.clock() - self.shown < pause or not (self.live or left > 20):
            return
        time_left = '%s left' % spoken(left) if left > 0 else ''
        if self.live:
            self._write('\r\x1b[K  ' + ' - '.join(filter(None, (text, time_left))))
        else:
            self._write('  %s: about %s\n' % (text, time_left))
        self.text, self.shown = text, self.clock()


# --- self-test ----------------------------------------------------------------------------------
# The short run for cron: a journal of lines, a small file of what is usual here, and a word only when
# something got slower.

LEARNING = 14  # nights before anything is called slower: fewer would miss a machine's second speed
BASELINE_NIGHTS = 30  # after which the baseline stays as it is, so that it cannot creep along with a slow decay
FLOOR, CEILING = 0.05, 0.35  # no smaller loss is reported; a noisier router is not waited for
NOISE_FACTOR = 2.0  # times the range of the usual nights: tests/bench/nights.py shows what that gives
NOISY = 0.10  # a limit above which one more night is waited for
MOST_BLIPS = 5
NOT_COUNTED = ('cpu-starved', 'disturbed', 'not-idle')  # nights that tell nothing
JOURNAL_BYTES = 256 << 10  # of each of its two files
SELFTEST_KB = 12288  # free, below which nothing is started
SELFTEST_WAIT, SELFTEST_BUDGET = 600.0, 300.0  # seconds for an idle machine, and then for the tests
STRUCK_NIGHTS = 7  # that a test is left out after the router went down under it


class Nights(NamedTuple):
    """What is known of one result from night to night: the Mbit/s of the first BASELINE_NIGHTS nights that
    count, how many slow nights turned out to be exceptions, the slow nights in a row up to now, the
    share lost that was reported, and what the machine was like."""

    rates: Tuple[float, ...] = ()
    blips: int = 0
    streak: Tuple[float, ...] = ()
    reported: Optional[float] = None
    about: Dict[str, str] = {}


def usual_rate(series: Nights) -> Tuple[float, float]:
    """The usual Mbit/s, and the share that has to be lost to stand out from this router's own noise:
    more than the nights were apart, leaving out the slowest tenth."""
    ordered = sorted(series.rates)
    usual = median(ordered)
    return usual, min(max(FLOOR, NOISE_FACTOR * (ordered[-1] - ordered[len(ordered) // 10]) / usual), CEILING)


def looks_slow(series: Nights, rate: float) -> bool:
    """Whether a night's result lies below what is usual, and is worth a second look."""
    if len(series.rates) < LEARNING:
        return False
    usual, limit = usual_rate(series)
    return rate < usual * (1 - limit)


def nights_wanted(series: Nights) -> int:
    """How many slow nights in a row are no exception any more: two, and more where noise or exceptions were seen."""
    limit = usual_rate(series)[1]
    return 2 + (limit > NOISY) + (limit >= CEILING) + min(series.blips, MOST_BLIPS)


def after_night(series: Nights, rate: float) -> Nights:
    """The series with one more night."""
    if looks_slow(series, rate):
        streak = (*series.streak, rate)[-2 - MOST_BLIPS - 2:]
        return series._replace(streak=streak, reported=series.reported or confirmed_loss(series._replace(streak=streak)))
    blips = series.blips + (0 if series.reported else len(series.streak))
    rates = (*series.rates, rate) if len(series.rates) < BASELINE_NIGHTS else series.rates
    grown = series._replace(rates=rates, blips=blips, streak=(), reported=None)
    if len(rates) == LEARNING > len(series.rates):  # exceptions among the nights learned from
        grown = grown._replace(blips=sum(looks_slow(grown, one) for one in rates))
    return grown


def confirmed_loss(series: Nights) -> Optional[float]:
    """The share lost by now, if enough nights in a row show it and agree about it."""
    usual, limit = usual_rate(series)
    wanted = nights_wanted(series)
    tail = series.streak[-wanted:]
    if len(tail) < wanted or max(tail) > min(tail) * (1 + limit) and len(series.streak) < 2 + MOST_BLIPS:
        return None
    return 1 - median(tail) / usual


def series_key(line: Line) -> str:
    """What is compared with itself from night to night: `openvpn aes-256-cbc SHA1`."""
    return ' '.join(filter(None, (line.test, line.cipher, line.auth, line.driver)))


def about_line(line: Line, facts: Facts) -> Dict[str, str]:
    """What a result may depend on, by names for a person."""
    clock = max(line.extra.get('clock_mhz') or [0])
    values = {'system': line.os, 'kernel': line.kernel, 'tool': line.tool, 'library': line.library, 'routerbench': line.agent, 'governor': facts.governor,
              'AES instructions': facts.aes, 'clock': '%.0f MHz' % clock if clock else None, 'cores': facts.cores}
    return {name: str(value) for name, value in values.items() if value is not None}


def changes(before: Dict[str, str], now: Dict[str, str]) -> List[str]:
    """What is another than it was; a clock only if it is 5 % off."""
    def differs(name: str) -> bool:
        clocks = [re.match(r'(\d{1,6}) MHz\Z', about[name]) for about in (before, now)]
        if name == 'clock' and clocks[0] and clocks[1]:
            return not agree(float(clocks[0].group(1)), float(clocks[1].group(1)), 0.05)
        return before[name] != now[name]
    return ['%s %s -> %s' % (name, before[name], now[name]) for name in before if name in now and differs(name)]


class State(NamedTuple):
    """The baseline file: the series, and the test that did not come back, with the nights that it is still left out."""

    series: Dict[str, Nights]
    struck: Dict[str, int]


def state_text(state: State) -> str:
    """The baseline file."""
    import json
    content = {'schema': SCHEMA, 'agent': __version__, 'series': {key: one._asdict() for key, one in state.series.items()}, 'struck': state.struck}
    return json.dumps(content, ensure_ascii=False, indent=1) + '\n'


def parse_state(text: str) -> Optional[State]:
    """What state_text() wrote; None for anything else."""
    import json
    try:
        content = json.loads(text)
        series = {key: Nights(tuple(one['rates']), one['blips'], tuple(one['streak']), one['reported'], one['about']) for key, one in content['series'].items()}
        state = State(series, content['struck'])
        return state if isinstance(state.struck, dict) and all(map(sound_nights, series.values())) and all(type(nights) is int and 0 < nights < 100 for nights in state.struck.values()) else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def sound_nights(known: Nights) -> bool:
    """Whether all values are such as after_night() makes."""
    rates: List[Any] = [*known.rates, *known.streak] + [known.reported] * (known.reported is not None)
    return (isinstance(known.about, dict) and all(type(rate) in (int, float) and 0 < rate < 1e9 for rate in rates) and type(known.blips) is int and 0 <= known.blips < 1e6
            and all(type(text) is str for text in known.about.values()))


class Places(NamedTuple):
    """Where a self-test keeps what it has to keep."""

    journal: str
    baseline: str


def usual_places(host: LocalHost) -> Places:
    """On OpenWrt the journal is in memory, because flash wears out, and the baseline, which is seldom written, is not."""
    if host.exists('/etc/openwrt_release'):
        return Places('/tmp/routerbench/journal.jsonl', '/etc/routerbench/baseline.json')
    place = '/var/db/routerbench' if host.uname()[0].endswith('BSD') else '/var/lib/routerbench'
    if not host.is_root():
        home = host.environment.get('HOME') or '/tmp'
        place = os.path.join(host.environment.get('XDG_STATE_HOME') or os.path.join(home, '.local/state'), 'routerbench')
    return Places(place + '/journal.jsonl', place + '/baseline.json')


class SelfTest:
    """One night's run on this machine."""

    def __init__(self, host: LocalHost, machine: Machine, facts: Facts, options: Options, places: Places, listener: Listener) -> None:
        self.host, self.machine, self.facts, self.places, self.listener = host, machine, facts, places, listener
        self.wait, self.deadline = options.wait, host.clock() + options.wait + options.budget
        self.context = Context(host, machine, options._replace(quick=True, wait=min(options.wait, 30.0)), listener)
        self.lines: List[Line] = []
        self.words: List[str] = []  # what has to be said
        self.alarm = self.failed = False
        self.results: Dict[str, Line] = {}
        self.state = self._read_state()
        self.written = state_text(self.state)

    def _read_state(self) -> State:
        text = self.host.text(self.places.baseline)
        there = self.host.exists(self.places.baseline)
        state = parse_state(text) if text else None
        if there and state is None:
            self.words.append('%s was damaged; what is usual here is learned anew' % plain(self.places.baseline))
        return state or State({}, {})

    def run(self, names: Sequence[str]) -> int:
        """Measure, compare, keep; the exit status."""
        reason = self._hindrance()
        if reason:
            self._give_up(*reason)
            return EXIT_NOTHING
        self._see_what_fell()
        for kind in (kind for kind in TESTS if kind.name in names or not names and kind(self.context).by_default()):
            if kind.name in self.state.struck:
                self._sit_out(kind.name)
            elif self.host.clock() > self.deadline:
                self.words.append('no time was left for `%s` (--budget)' % kind.name)
            else:
                self._measure(kind)
        bad = [line for line in self.lines if line.status != 'ok']
        self.words += ['%s could not be measured: %s' % (line_title(line) if line.cipher else line.test, line.detail) for line in bad]
        if self.alarm:
            return EXIT_UNSOUND
        return EXIT_NOTHING if len(bad) == len(self.lines) else EXIT_FAILED if bad or self.failed else EXIT_OK

    def settle(self) -> None:
        """Write the baseline, where it has changed: after the words were said, so that no power cut makes a loss known here and to nobody."""
        if state_text(self.state) != self.written:
            self._keep_file(self.places.baseline, state_text(self.state))
            self.written = state_text(self.state)

    def _hindrance(self) -> Optional[Tuple[str, str]]:
        """Why this is no time for a test."""
        free = self.machine.available_kb()
        if free is not None and free < SELFTEST_KB:
            return 'low-memory', 'only %d kB of memory are free, and %d are wanted' % (free, SELFTEST_KB)
        if not self.host.only_one('routerbench'):
            return 'overlap', 'another self-test is running'
        if not wait_idle(self.machine, self.wait, Listener()):
            return 'not-idle', 'the machine was still busy after %s; the next night is another chance' % spoken(self.wait)
        return None

    def _give_up(self, reason: str, detail: str) -> None:
        self.keep(Line(time=stamp(self.host.now()) if clock_is_set(self.host) else None, run=os.urandom(4).hex(), test='selftest', status='skipped',
                       reason=reason, detail=detail))
        self.words.append('nothing was measured: ' + detail)

    def keep(self, line: Line) -> None:
        """Into the journal; the run goes on where that is full or cannot be written."""
        self.lines.append(line)
        try:
            self.host.append(self.places.journal, line_json(line) + '\n', JOURNAL_BYTES)
        except OSError as error:
            word = '%s: %s' % (plain(self.places.journal), error.strerror)
            self.words += [word] * (word not in self.words)
            self.failed = True

    def _keep_file(self, path: str, text: str) -> None:
        try:
            self.host.replace(path, text)
        except OSError as error:
            word = '%s: %s' % (plain(path), error.strerror)
            self.words += [word] * (word not in self.words)
            self.failed = True

    def _marker(self) -> str:
        return self.places.baseline + '.running'

    def _see_what_fell(self) -> None:
        """A marker that was left says under which test the router, or the self-test, went down."""
        name = plain(self.host.text(self._marker()), 20)
        if name in [kind.name for kind in TESTS]:
            self.state.struck[name] = STRUCK_NIGHTS
            self.alarm = True
            self.words.append('the last self-test did not come back from `%s`: the router went down, or memory or time ran out. It is left out for %d nights; '
                              '`routerbench.py selftest --accept` ends that' % (name, STRUCK_NIGHTS))
            self.settle()  # before the mark goes
        self.host.remove(self._marker())

    def _sit_out(self, name: str) -> None:
        self.state.struck[name] -= 1
        if self.state.struck[name] <= 0:
            del self.state.struck[name]

    def _measure(self, kind: Type[Test]) -> None:
        """One test, and once more what looks slow: a second look at once tells an exception from a loss."""
        self._keep_file(self._marker(), kind.name + '\n')
        try:
            best = self._best_of(kind)
        finally:  # whatever ends this program in good order is no fault of the router's
            self.host.remove(self._marker())
        self.results.update(best)
        for key, line in best.items():
            self._compare(key, line)

    def _best_of(self, kind: Type[Test]) -> Dict[str, Line]:
        best: Dict[str, Line] = {}
        lines = self._lines_of(kind, self.context)
        for line in lines:
            self.keep(line)
            if line.status == 'ok' and line.mbit_s and not set(line.warnings) & set(NOT_COUNTED):
                best[series_key(line)] = line
        slow = {key: line for key, line in best.items() if looks_slow(self.state.series.get(key, Nights()), line.mbit_s or 0)}
        if slow:
            options = self.context.options._replace(ciphers=tuple(dict.fromkeys(line.cipher or '' for line in slow.values())))
            for line in self._lines_of(kind, self.context._replace(options=options)):
                key = series_key(line)
                if key in slow and (line.mbit_s or 0) > (slow[key].mbit_s or 0):
                    self.keep(line)
                    best[key] = line
        return best

    def _lines_of(self, kind: Type[Test], context: Context) -> List[Line]:
        session = Session(context, self.facts, lambda line: None)
        session.measure(kind(context), True)
        return session.lines

    def _compare(self, key: str, line: Line) -> None:
        series = self.state.series.get(key, Nights())
        now = after_night(series, round(line.mbit_s or 0, 3))
        about = about_line(line, self.facts)
        if len(now.rates) > len(series.rates) or not series.about:
            now = now._replace(about=about)
        self.state.series[key] = now
        if now.reported and not series.reported:
            self.alarm = True
            changed = changes(series.about, about)
            self.words.append('%s: %.0f %% slower than usual, %s instead of %s Mbit/s%s' % (
                key, 100 * now.reported, figure(line.mbit_s), figure(usual_rate(now)[0]),
                '; since then: ' + ', '.join(changed) if changed else '; nothing that routerbench knows of has changed'))
        elif series.reported and not now.reported:
            self.words.append('%s: as fast as usual again, %s Mbit/s' % (key, figure(line.mbit_s)))


def accepted(state: State, names: Sequence[str]) -> State:
    """The state with what is usual forgotten, for these tests or all, so that the next nights make a new baseline."""
    kept = {key: series for key, series in state.series.items() if names and key.split()[0] not in names}
    return State(kept, {name: nights for name, nights in state.struck.items() if names and name not in names})


def history_text(lines: Iterable[Line], state: State, bars: str = BARS) -> str:
    """The journal for a person: a chart per series, and what changed on the way."""
    series: Dict[str, List[Line]] = {}
    for line in lines:
        if line.status == 'ok' and line.mbit_s and line.mbit_s > 0:
            series.setdefault(series_key(line), []).append(line)
    parts = []
    for key, kept in series.items():
        newest = kept[-60:]
        rates = [line.mbit_s or 0 for line in newest]
        known = state.series.get(key, Nights())
        usual = 'usual %s Mbit/s' % figure(usual_rate(known)[0]) if len(known.rates) >= LEARNING else 'still learning (%d of %d nights)' % (len(known.rates), LEARNING)
        dates = [plain(line.time, 10) for line in newest if line.time]
        parts.append('\n'.join([plain(key), '  ' + chart(rates, bars), '  %d runs%s; latest %s, lowest %s, highest %s Mbit/s; %s' % (
            len(rates), ', %s to %s' % (dates[0], dates[-1]) if dates else '', figure(rates[-1]), figure(min(rates)), figure(max(rates)), usual)]
            + ['  %s: %s' % (plain(after.time or 'clock not set', 20), plain('%s %s -> %s' % (name, getattr(before, name), getattr(after, name))))
               for before, after in zip(newest, newest[1:]) for name in ('os', 'kernel', 'tool', 'library', 'agent') if getattr(before, name) != getattr(after, name)]))
    return '\n\n'.join(parts) or 'The journal has no result yet.'


def prometheus_text(lines: Sequence[Line], state: State, now: float) -> str:
    """For the textfile collector of node_exporter."""
    def escaped(text: str) -> str:
        return plain(text).replace('\\', '\\\\').replace('"', '\\"')
    rows: Dict[str, List[str]] = {'mbit_s': [], 'usual_mbit_s': [], 'slower': []}
    for line in lines:
        key = series_key(line)
        if line.status == 'ok' and line.mbit_s:
            labels = ','.join('%s="%s"' % (name, escaped(getattr(line, name) or '')) for name in ('test', 'cipher', 'auth', 'driver'))
            series = state.series.get(key, Nights())
            rows['mbit_s'].append('{%s} %.3f' % (labels, line.mbit_s))
            if len(series.rates) >= LEARNING:
                rows['usual_mbit_s'].append('{%s} %.3f' % (labels, usual_rate(series)[0]))
            rows['slower'].append('{%s} %d' % (labels, bool(series.reported)))
    help_texts = {'mbit_s': 'Mbit/s that the processor encrypts', 'usual_mbit_s': 'Mbit/s of the baseline', 'slower': '1 after a loss was confirmed'}
    text = ''.join('# HELP routerbench_%s %s.\n# TYPE routerbench_%s gauge\n%s' % (name, help_texts[name], name, ''.join('routerbench_%s%s\n' % (name, row) for row in dict.fromkeys(found)))
                   for name, found in rows.items() if found)
    return text if not lines else text + '# HELP routerbench_last_run_seconds When the self-test ran, in seconds since 1970.\n# TYPE routerbench_last_run_seconds gauge\nrouterbench_last_run_seconds %d\n' % now


def one_line(status: int, words: Sequence[str], lines: Sequence[Line], state: State = State({}, {})) -> str:
    """For checks in the manner of Nagios: one line, with the figures behind a bar."""
    word = {EXIT_OK: 'OK', EXIT_UNSOUND: 'SLOWER', EXIT_NOTHING: 'NOT MEASURED'}.get(status, 'FAILED')
    figures = ' '.join("'%s'=%.3f" % (plain(series_key(line)).replace(' ', '_').replace("'", ''), line.mbit_s) for line in lines if line.mbit_s)
    lost = ['%s: still %.0f %% slower than usual' % (key, 100 * known.reported) for key, known in state.series.items() if known.reported]
    text = '; '.join(words or lost) or ('as fast as usual' if lines else 'nothing was measured')
    return 'routerbench %s: %s | %s' % (word, plain(text, 400).replace('|', '/'), figures)


# --- schedule -----------------------------------------------------------------------------------
# The line in cron that runs the self-test every night.

CRON_MARK = '# routerbench selftest'
OPENWRT_CRONTAB = '/etc/crontabs/root'


class CronPlace(NamedTuple):
    """Where cron reads the line: a `file` (none: the user's own crontab, by the crontab command), with
    the user's name in it or not, and the command that makes cron look."""

    file: Optional[str]
    user: Optional[str]
    restart: Tuple[str, ...] = ()


def cron_place(host: LocalHost) -> CronPlace:
    """By the system."""
    if host.exists('/etc/openwrt_release') or host.exists('/etc/crontabs'):
        return CronPlace(OPENWRT_CRONTAB, None, ('/etc/init.d/cron', 'enable', 'restart'))  # no cron runs there before the first line
    if host.uname()[0].endswith('BSD') and host.is_root():
        return CronPlace('/usr/local/etc/cron.d/routerbench', 'root')
    if host.is_root() and host.exists('/etc/cron.d'):
        return CronPlace('/etc/cron.d/routerbench', 'root')
    return CronPlace(None, None)


def cron_text(host: LocalHost, place: CronPlace) -> str:
    """What stands in the crontab now. Raises RouterbenchError where that cannot be told, so that nothing gets lost."""
    try:
        if place.file is not None:
            return host.read_bytes(place.file, 1 << 26).decode('utf-8', 'surrogateescape')
    except Absent:
        return ''
    ran, text = host.exchange(('crontab', '-l'))
    if ran.status and not re.search(r'(?i)no crontab', ran.err + ran.out):
        raise RouterbenchError('crontab -l: ' + (telling_line(ran.err + ran.out) or 'it failed'))
    if len(text) > LONGEST_CRONTAB:
        raise RouterbenchError('the crontab is too long to be handed on; add the line by hand, with crontab -e')
    return '' if ran.status else text


LONGEST_CRONTAB = 60000  # bytes that one write to a pipe takes


def cron_minute(host: LocalHost) -> Tuple[int, int]:
    """An hour and a minute of this machine's own between 3:00 and 5:59, so that a fleet does not start at once."""
    from binascii import crc32
    names = [host.text('/etc/machine-id'), host.text('/proc/sys/kernel/hostname'), host.output('hostname')]
    names += [host.text('/sys/class/net/%s/address' % name) for name in host.names('/sys/class/net') if re.match(r'(?:eth|en|wan|lan|wl)\w*\Z', name)]
    number = crc32('\n'.join(names).encode('utf-8', 'replace'))
    return 3 + number // 60 % 3, number % 60


def cron_line(host: LocalHost, place: CronPlace, at: Optional[Tuple[int, int]], words: Sequence[str]) -> str:
    """The whole line. Nothing happens where the program has gone, as after an upgrade of the firmware."""
    own = host.environment.get('ROUTERBENCH_COMMAND')
    file = os.path.realpath(__file__)
    command = [own] if own else [file] if os.path.basename(file) == 'routerbench' and os.access(file, os.X_OK) else [sys.executable, file]
    hour, minute = at or cron_minute(host)
    test = '[ -x %s ] && ' % cron_quoted(command[0]) if len(command) == 1 else '[ -e %s ] && ' % cron_quoted(file)
    text = test + ' '.join(cron_quoted(word) for word in [*command, 'selftest', *words])
    if re.search(r'[\x00-\x1f]', text):
        raise RouterbenchError('a name with a control character does not fit into a crontab')
    return ' '.join(filter(None, ('%d %d * * *' % (minute, hour), place.user, text, CRON_MARK)))


def cron_quoted(word: str) -> str:
    """For the shell of cron, without quotes where none are needed. A per cent sign ends the command for some crons, and BusyBox's leaves
    a backslash before it, so the shell makes it."""
    if re.match(r'[\w@+=:,./-]+\Z', word, re.ASCII):
        return word
    return '"$(printf \'\\045\')"'.join(map(quoted, word.split('%')))


def with_line(crontab: str, line: Optional[str]) -> str:
    """The crontab with this line as the only one of ours, where ours stood; all others as they are."""
    kept = (crontab if crontab.endswith('\n') or not crontab else crontab + '\n').split('\n')[:-1]
    marked = [i for i, one in enumerate(kept) if one.rstrip().endswith(CRON_MARK)]
    at = marked[0] if marked else len(kept)
    rest = [one for i, one in enumerate(kept) if i not in marked]
    rest[min(at, len(rest)):min(at, len(rest))] = [line] if line else []
    return ''.join(one + '\n' for one in rest)


def own_lines(crontab: str) -> List[str]:
    """The lines of ours."""
    return [line for line in crontab.split('\n') if line.rstrip().endswith(CRON_MARK)]


def scheduled(host: LocalHost) -> Optional[str]:
    """The line that is there, and not switched off."""
    return next((line for line in own_lines(cron_text(host, cron_place(host))) if not line.lstrip().startswith('#')), None)


def selftest_words(arguments: Any) -> List[str]:
    """The options of a self-test as cron has to give them: what is not as usual, and whole paths."""
    words = list(arguments.tests)
    for name in ('cipher', 'auth'):
        words += ['--' + name, ','.join(getattr(arguments, name))] if getattr(arguments, name) else []
    for name, usual in (('wait', SELFTEST_WAIT), ('budget', SELFTEST_BUDGET)):
        words += ['--' + name, '%ss' % ('%.6f' % getattr(arguments, name)).rstrip('0').rstrip('.')] if getattr(arguments, name) != usual else []
    for name in ('journal', 'baseline'):
        words += ['--' + name, os.path.abspath(getattr(arguments, name))] if getattr(arguments, name) else []
    words += ['--format', arguments.format] if arguments.format else []
    return words + (['--output', os.path.abspath(arguments.output)] if arguments.output else [])


def reschedule(host: LocalHost, line: Optional[str]) -> None:
    """Put the line into cron, or (None) take it out. Writes only what is not so already. Raises OSError, RouterbenchError."""
    place = cron_place(host)
    before = cron_text(host, place)
    if own_lines(before) == ([line] if line else []):
        return
    after = with_line(before, line)
    if place.file is None:
        ran, _text = host.exchange(('crontab', '-'), after)
        if ran.status:
            raise RouterbenchError('crontab: ' + telling_line(ran.err + ran.out))
    elif not after and place.user:
        host.remove(place.file)
    else:
        host.replace(place.file, after, 0o600 if place.user is None else 0o644)
    for word in place.restart[1:] if place.restart and host.exists(place.restart[0]) else ():
        host.run(place.restart[0], word, limit=30.0)


# --- import -------------------------------------------------------------------------------------
# Lines of what somebody ran by hand.

IMPORT_BYTES = 1 << 22


class Byhand(NamedTuple):
    """What the user says about the text: the test (None: what the text shows by itself), its cipher and digest,
    the --tun-mtu of openvpn's, and the tool and driver."""

    test: Optional[str] = None
    cipher: Optional[str] = None
    auth: Optional[str] = None
    tun_mtu: int = 20000
    tool: Optional[str] = None
    driver: Optional[str] = None


def by_hand(text: str, said: Byhand) -> List[Dict[str, Any]]:
    """The values of the lines that a text gives. Raises Unmeasurable where it gives none."""
    table = parse_speed_table(text)
    if said.test == 'openssl' or table and said.test is None:
        lines = [openssl_by_hand(name, rates) for name, rates in table.items()]
    elif said.test in ('iperf3', None) and (re.search(IPERF_ROW, text, re.M) or re.search(r'"(?:end|error)"', text) or '<div' in text):
        lines = [iperf_by_hand(one) for one in parse_iperf(text)]
    elif said.test in ('openvpn', 'ssh'):
        lines = [timed_by_hand(text, said)]
    else:
        raise Unmeasurable('output-unknown', 'iperf3 and `openssl speed` are known by their words; for what `time` or dd printed say --test openvpn or --test ssh, and --cipher')
    if not lines:
        raise Unmeasurable('output-unknown', 'no result of %s is in it' % (said.test or 'a known tool'))
    return [{**line, **{key: value for key, value in (('tool', said.tool), ('driver', said.driver)) if value}, 'warnings': ('imported',)} for line in lines]


def timed_by_hand(text: str, said: Byhand) -> Dict[str, Any]:
    """The line of one or more reports of `time`, or of dd's own, about the same command."""
    reports = [times.real for times in parse_times(text) if times.real]
    copied = parse_dd(text, BLOCK)
    if said.test == 'ssh' and not reports and copied and copied.seconds:
        reports = [copied.seconds]
    if not reports:
        raise Unmeasurable('output-unknown', 'there is no report of `time` in it')
    if said.cipher is None:
        raise Unmeasurable('output-unknown', 'the cipher is not in it: say --cipher, as in --cipher aes-256-cbc')
    seconds = median(reports)
    newer = re.match(r'OpenVPN (\d+)\.(\d+)', said.tool or '')
    packets = said.tun_mtu + (168 if newer and (int(newer.group(1)), int(newer.group(2))) >= (2, 6) else 0)
    mbit = work_mbit(packets) if said.test == 'openvpn' else 8e-6 * (copied.bytes if copied else BLOCK * DOCUMENT_BLOCKS)
    extra: Dict[str, Any] = {'tun_mtu': said.tun_mtu, 'packets': packets, 'mbit_s_3200': rounded(work_mbit(said.tun_mtu) / seconds)} if said.test == 'openvpn' else {
        'bytes': copied.bytes if copied else BLOCK * DOCUMENT_BLOCKS}
    cipher = ssh_cipher(said.cipher) if said.test == 'ssh' else said.cipher
    auth = None if said.test == 'ssh' or is_aead(said.cipher) else said.auth or 'SHA1'
    return {'test': said.test, 'algorithm': table_column(said.cipher), 'cipher': cipher, 'auth': auth, 'seconds': seconds, 'mbit': mbit, 'mbit_s': mbit / seconds,
            'runs': tuple(reports), 'spread': relative_spread(reports), 'extra': extra, 'method': 'time ' + said.test + ' (by hand)' if said.test else None}


def iperf_by_hand(one: Iperf) -> Dict[str, Any]:
    """The line of one test of iperf3."""
    return {'test': 'iperf3', 'seconds': one.seconds, 'mbit': one.mbit_s * one.seconds, 'mbit_s': one.mbit_s, 'runs': (one.seconds,), 'spread': 0.0, 'tool': one.version,
            'method': 'iperf3 -c <other end>', 'extra': {'local_cpu': rounded(one.local_cpu), 'remote_cpu': rounded(one.remote_cpu), 'retransmits': one.retransmits,
                                                         'protocol': one.protocol}}


def openssl_by_hand(name: str, rates: Dict[int, float]) -> Dict[str, Any]:
    """The line of one row of `openssl speed`, whose runs take 3 s unless said otherwise."""
    cipher = re.sub(r' (?=cbc|ctr|ecb)', '-', re.sub(r'^aes[- ](\d+)', r'aes-\1', name))
    match = re.match(r'aes-(cbc|ctr)-(\d+)|aes-(\d+) (cbc)|(aes-\d+)[- ](\w+)', cipher)
    known = 'aes-%s-cbc' % match.group(3) if match and match.group(3) else cipher
    block = max(rates)
    return {'test': 'openssl', 'algorithm': table_column(known), 'cipher': known, 'mbit_s': rates[block], 'method': 'openssl speed',
            'extra': {'block_bytes': block, 'mbit_s_16': rounded(rates.get(16))}}


def import_summary(lines: Sequence[Line]) -> str:
    """The lines side by side, each compared with the one before."""
    rows = [['imported', 'Mbit/s', 'of the one above', 'processor here', 'there']]
    for before, line in zip([None, *lines], lines):
        shares = ['-' if share is None else '%.1f %%' % (100 * share) for share in (line.extra.get('local_cpu'), line.extra.get('remote_cpu'))]
        rows.append([line_title(line), figure(line.mbit_s), '-' if before is None else '%.2f x' % ((line.mbit_s or 0) / (before.mbit_s or 1)), *shares])
    return '\n'.join('  ' + row for row in columns(rows))


# --- command line -------------------------------------------------------------------------------

RUN_EPILOG = """\
Examples that work: routerbench.py run openvpn --cipher aes-256-gcm --quick
                    routerbench.py run ssh --on root@192.168.1.1
                    routerbench.py run tunnel --loopback --vpn openvpn

stdout gets one JSON line per result; the README explains its keys and the codes of reasons and
warnings. Everything for people goes to stderr.
"""


TABLE_FORMATS = ('text', 'markdown', 'dokuwiki', 'csv', 'json', 'html')


def words_list(text: str) -> Tuple[str, ...]:
    """`a,b c` as ('a', 'b', 'c'). ValueError for what cannot name a cipher, a digest or an engine."""
    words = tuple(word for word in re.split(r'[,\s]+', text) if word)
    if not words or not all(re.match(r'[A-Za-z0-9][A-Za-z0-9_.-]*\Z', word) for word in words):
        raise ValueError('names separated by commas are wanted, not `%s`' % plain(text, 40))
    return words


def cipher_list(text: str) -> Tuple[str, ...]:
    """Names of ciphers in lower case."""
    return tuple(word.lower() for word in words_list(text))


def auth_list(text: str) -> Tuple[str, ...]:
    """Names of digests in capitals, but `none`."""
    return tuple('none' if word.lower() == 'none' else word.upper() for word in words_list(text))


def engine_name(text: str) -> str:
    """One name."""
    words = words_list(text)
    if len(words) > 1:
        raise ValueError('one engine is wanted, not `%s`' % plain(text, 40))
    return words[0]


def duration(text: str) -> float:
    """An amount of time as people write it, up to a year."""
    seconds = parse_clock(text)
    if seconds > 3.2e7:
        raise ValueError('no test takes that long: `%s`' % plain(text, 40))
    return seconds


def some_time(text: str) -> float:
    """A duration above zero."""
    seconds = duration(text)
    if not seconds:
        raise ValueError('more than no time is wanted')
    return seconds


def ssh_destination(text: str) -> Destination:
    """`root@192.168.1.1` or `ssh://root@router:2222`, as ssh takes them; nothing that ssh could take for an
    option or a shell for a command."""
    match = re.match(r'(ssh://)?((?:[\w.+-]+@)?(?:\[[\w:.%-]+\]|[\w.-]+|(?!ssh:)[0-9A-Fa-f:.]+(?:%[\w.-]+)?))(?::(\d{1,5}))?/?\Z', text, re.ASCII)
    if not match or match.group(2).startswith('-') or '@-' in text or (match.group(3) and not match.group(1)) or int(match.group(3) or 1) not in range(1, 65536):
        raise ValueError('a machine is wanted as ssh names it, root@192.168.1.1 or ssh://root@router:2222, not `%s`' % plain(text, 60))
    return Destination(match.group(2).replace('[', '').replace(']', ''), int(match.group(3)) if match.group(3) else None)


def ssh_words(text: str) -> Tuple[str, ...]:
    """The ssh client with its options, in a shell's syntax."""
    from shlex import split
    words = tuple(split(text))
    if not words or words[0].startswith('-'):
        raise ValueError('an ssh client with its options is wanted, as in `ssh -i KEY`, not `%s`' % plain(text, 60))
    return words


def test_name(text: str) -> str:
    """The name of a test."""
    names = [kind.name for kind in TESTS]
    if text not in names:
        raise ValueError('there is no test or command `%s`; the tests are: %s' % (plain(text, 40), ', '.join(names)))
    return text


def whole(lowest: int, highest: int) -> Callable[[str], int]:
    """A reader for whole numbers within bounds."""
    def number(text: str) -> int:
        if not re.match(r'\d{1,9}\Z', text) or not lowest <= int(text) <= highest:
            raise ValueError('a whole number from %d to %d is wanted, not `%s`' % (lowest, highest, plain(text, 40)))
        return int(text)
    return number


def interface_name(text: str) -> str:
    """The name of an interface, which becomes part of a path."""
    if not re.match(r'[\w@.:+-]{1,32}\Z', text, re.ASCII) or text in ('.', '..') or text.startswith('-'):
        raise ValueError('the name of an interface is wanted, as in eth0, not `%s`' % plain(text, 40))
    return text


def host_name(text: str) -> str:
    """A name or an address, and nothing that iperf3 could take for an option."""
    if not re.match(r'[\w:][\w.:%-]{0,252}\Z', text, re.ASCII):
        raise ValueError('the name or the address of a machine is wanted, not `%s`' % plain(text, 60))
    return text


def one_of(*names: str) -> Callable[[str], Tuple[str, ...]]:
    """A reader for a list of some of these."""
    def chosen(text: str) -> Tuple[str, ...]:
        words = tuple(dict.fromkeys(word.lower() for word in words_list(text)))
        if not set(words) <= set(names):
            raise ValueError('%s are wanted, separated by commas, not `%s`' % (', '.join(names), plain(text, 40)))
        return words
    return chosen


def time_of_day(text: str) -> Tuple[int, int]:
    """Hour and minute."""
    match = re.match(r'([01]?[0-9]|2[0-3]):([0-5][0-9])\Z', text)
    if not match:
        raise ValueError('a time of day is wanted, as in 03:17, not `%s`' % plain(text, 40))
    return int(match.group(1)), int(match.group(2))


def clock_mhz(text: str) -> float:
    """MHz of a processor."""
    if not re.match(r'\d{1,5}(\.\d+)?\Z', text) or not float(text):
        raise ValueError('a clock in MHz is wanted, as in 680, not `%s`' % plain(text, 40))
    return float(text)


def reader(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """For argparse, which only prints the words of its own kind of error."""
    def read(text: str) -> Any:
        from argparse import ArgumentTypeError
        try:
            return parse(text)
        except ValueError as error:
            raise ArgumentTypeError(str(error)) from error
    return read


def make_parser() -> Any:
    """The command line. argparse costs a router more than the rest of the start, so it is only
    imported when there is something to parse."""
    import argparse
    parser = argparse.ArgumentParser(
        prog='routerbench.py', formatter_class=argparse.RawDescriptionHelpFormatter, epilog=RUN_EPILOG,
        description='What a router\'s processor can encrypt, and how far that number can be trusted.')
    parser.add_argument('--version', action='version', version='routerbench ' + __version__)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument('--quiet', action='store_true', help='say nothing on stderr but errors')
    common.add_argument('--device', metavar='NAME', help='the device\'s name, where it cannot be found out')
    common.add_argument('--cpu', metavar='NAME', help='the processor\'s short name, likewise')
    common.add_argument('--mhz', metavar='MHZ', type=reader(clock_mhz), help='its nominal clock, likewise')
    common.add_argument('--on', metavar='USER@HOST', type=reader(ssh_destination), action='append', default=[],
                        help='measure on a router that is reached by ssh and needs no Python; may be given several times')
    common.add_argument('--peer', metavar='USER@HOST', type=reader(ssh_destination), help='`run ssh` on the router itself: the fast machine to send to')
    common.add_argument('--ssh', metavar='COMMAND', type=reader(ssh_words), default=(), help='the ssh client and its options, as in "ssh -i KEY"')
    common.add_argument('--legacy-ssh', dest='legacy', action='store_true', help='allow the weak host key, key exchange or cipher that an old router needs')
    commands = parser.add_subparsers(dest='command', metavar='COMMAND')
    _add_run(commands.add_parser('run', parents=[common], epilog=RUN_EPILOG, help='measure (the default)',
                                 formatter_class=argparse.RawDescriptionHelpFormatter))
    commands.add_parser('crypto', parents=[common], help='the crypto drivers of the kernel and of OpenSSL, which is used, what to load',
                        epilog='An example that works: routerbench.py crypto')
    add_contributing(commands)
    watch = commands.add_parser('watch', parents=[common], help='the highest average rate of an interface while others make traffic',
                                epilog='An example that works: routerbench.py watch lo --for 2 --window 1')
    watch.add_argument('interfaces', nargs='+', metavar='IF', type=reader(interface_name), help='the interfaces')
    watch.add_argument('--window', metavar='TIME', type=reader(some_time), default=5.0, help='seconds over which the rate is averaged (default: 5)')
    watch.add_argument('--for', dest='seconds', metavar='TIME', type=reader(some_time), default=60.0, help='how long to watch (default: 60); Ctrl-C ends it, too')
    _add_nightly(commands)
    _add_import(commands)
    commands.add_parser('info', parents=[common], help='what this machine is, and which tests can run here',
                        epilog='An example that works: routerbench.py info')
    return parser


def add_contributing(commands: Any) -> None:
    """`table` and `validate`."""
    table = commands.add_parser('table', help='lines in, table out: text, Markdown, DokuWiki, CSV, JSON, HTML',
                                epilog='An example that works: routerbench.py table --published --format markdown')
    check = commands.add_parser('validate', help='check lines or a pasted table before they are contributed',
                                epilog='An example that works: routerbench.py validate results.jsonl')
    for one in (table, check):
        one.add_argument('files', nargs='*', metavar='FILE', help='files of JSON lines; `-` and none are stdin')
        one.add_argument('--quiet', action='store_true', help='say nothing on stderr but errors')
    table.add_argument('--test', metavar='NAME', help='the measurement: %s (default: the first of them that there is)' % ', '.join(TABLE_TESTS))
    table.add_argument('--format', choices=TABLE_FORMATS, default='text', help='default: text')
    table.add_argument('--published', action='store_true', help='the rows of the documents that routerbench goes back to, too')
    table.add_argument('--sort', metavar='COLUMN', help='cpu, mhz, device, system, tool, aes128, ...; --sort=-aes256 for the highest first (default: by the first figures)')
    table.add_argument('--filter', metavar='WORDS', default='', help='only rows with all these words; cpu=mips looks in one column')
    table.add_argument('--latest', action='store_true', help='one row per machine: that of its newest line')
    table.add_argument('--all', action='store_true', help='lines that are not sound too, marked')


def _add_import(commands: Any) -> None:
    """`import`."""
    one = commands.add_parser('import', help='make lines of what somebody ran by hand: iperf3, time, dd, openssl speed',
                              epilog='An example that works: echo "47.46 real 47.33 user 0.06 sys" | routerbench.py import --test openvpn --cipher aes-256-cbc')

    def add(name: str, text: str, metavar: str, parse: Callable[[str], Any] = plain, default: Any = None) -> None:
        one.add_argument('--' + name, type=reader(parse), default=default, metavar=metavar, help=text)
    one.add_argument('files', nargs='*', metavar='FILE', help='what was printed; `-` and none are stdin')
    one.add_argument('--quiet', action='store_true', help='say nothing on stderr but errors')
    one.add_argument('--test', choices=('openvpn', 'ssh', 'iperf3', 'openssl'), help='what was run, where the text does not show it')
    add('cipher', 'the cipher that was used', 'NAME', lambda text: cipher_list(text)[0])
    add('auth', 'the digest (default: SHA1, where the cipher needs one)', 'NAME', lambda text: auth_list(text)[0])
    add('tun-mtu', 'the --tun-mtu that was used (default: 20000)', 'N', whole(SMALLEST_MTU, 65535), 20000)
    add('tool', 'program and version, as in "OpenVPN 2.6.14": from 2.6 on it does 1.7 %% more', 'TEXT')
    add('driver', 'crypto engine or network driver', 'TEXT')
    add('device', 'the device', 'NAME')
    add('cpu', 'its processor', 'NAME')
    add('mhz', 'its clock', 'MHZ', clock_mhz)
    add('os', 'its system', 'TEXT')
    add('cpuinfo', 'a copy of its /proc/cpuinfo, in place of --cpu and --mhz', 'FILE', str)


def _add_nightly(commands: Any) -> None:
    """`selftest` and `schedule`, which take the same options."""
    selftest = commands.add_parser('selftest', help='the short run for cron: measure, keep, and say when something got slower',
                                   epilog='An example that works: routerbench.py selftest --history')
    schedule = commands.add_parser('schedule', help='put the self-test into cron, show it, take it out',
                                   epilog='An example that works: routerbench.py schedule show')
    schedule.add_argument('action', choices=('install', 'show', 'remove'), help='what to do with the line in cron')
    schedule.add_argument('--at', metavar='HH:MM', type=reader(time_of_day), help='when (default: a minute of this machine\'s own between 3:00 and 5:59)')
    selftest.add_argument('--accept', action='store_true', help='take the next nights as what is usual from now on')
    selftest.add_argument('--history', action='store_true', help='show the journal, and measure nothing')
    for one in (selftest, schedule):
        def add(name: str, parse: Callable[[str], Any], text: str, default: Any = None, metavar: str = 'FILE', one: Any = one) -> None:
            one.add_argument('--' + name, type=reader(parse), default=default, metavar=metavar, help=text)
        one.add_argument('tests', nargs='*', metavar='TEST', type=reader(test_name), help='what to measure (default: as `run` does)')
        one.add_argument('--quiet', action='store_true', help='say nothing on stderr but what has to be said')
        add('cipher', cipher_list, 'ciphers, as in `run`', (), 'LIST')
        add('auth', auth_list, 'digests, as in `run`', (), 'LIST')
        add('wait', duration, 'longest wait for an idle machine (default: 10m); then nothing is measured', SELFTEST_WAIT, 'TIME')
        add('budget', some_time, 'time for the measuring (default: 5m)', SELFTEST_BUDGET, 'TIME')
        add('journal', str, 'where the lines go (default: in memory on OpenWrt, else below /var)')
        add('baseline', str, 'where it is kept what is usual')
        one.add_argument('--format', choices=('prometheus', 'line'), help='the result for node_exporter\'s textfile collector, or one line as for Nagios')
        add('output', str, 'where that goes (default: stdout)')


def _add_run(run: Any) -> None:
    def add(name: str, parse: Callable[[str], Any], text: str, default: Any = None, metavar: str = 'N') -> None:
        run.add_argument('--' + name, type=reader(parse), default=default, metavar=metavar, help=text)
    run.add_argument('tests', nargs='*', metavar='TEST', type=reader(test_name),
                     help='what to measure: %s (default: openvpn, and ssh with --on or --peer)' % ', '.join(kind.name for kind in TESTS))
    run.add_argument('--quick', action='store_true', help='predict the result from shorter runs')
    add('cipher', cipher_list, 'ciphers as openvpn names them; `none` is one', (), 'LIST')
    add('auth', auth_list, 'digests; every cipher that needs one is measured with each', (), 'LIST')
    add('tun-mtu', whole(SMALLEST_MTU, 65535), 'longest packet asked of openvpn (default: the guide\'s 20000)', 20000)
    add('engine', engine_name, 'crypto engine that openvpn is to use', metavar='NAME')
    add('processes', whole(1, 256), 'openvpn processes at once; the line gives their sum', 1)
    add('budget', duration, 'time for the counted runs: 90, 90s, 20m, 1h (default: 20m); one run each is always made', 1200.0, 'TIME')
    add('wait', duration, 'longest wait for an idle machine (default: 30s)', 30.0, 'TIME')
    add('load', words_list, '`run kernel`: kernel modules to load first, as in af_alg,algif_skcipher; none is loaded otherwise', (), 'LIST')
    run.add_argument('--output', metavar='FILE', help='append the lines to this file as well, whole or not at all')
    add('limit', some_time, 'end any single command after this long', metavar='TIME')
    _add_tunnel(run.add_argument_group('run tunnel'))


def _add_tunnel(group: Any) -> None:
    """Its options; those that iperf3 has too have its letters."""
    def add(*names: str, parse: Callable[[str], Any], text: str, default: Any = None, metavar: str = 'N', dest: Optional[str] = None) -> None:
        group.add_argument(*names, **({'dest': dest} if dest else {}), type=reader(parse), default=default, metavar=metavar, help=text)
    add('--direct', parse=host_name, text='a machine where `iperf3 -s` runs, by its own address', metavar='HOST')
    add('--through', parse=host_name, text='the same by its address behind the tunnel', metavar='HOST')
    group.add_argument('--loopback', action='store_true', help='a whole VPN on this machine instead, between network namespaces (root)')
    add('--vpn', dest='vpns', parse=one_of(*(kind.name for kind in VPNS)), text='--loopback: %s (default: all that can run here)' % ', '.join(kind.name for kind in VPNS),
        default=(), metavar='LIST')
    add('--proto', dest='protos', parse=one_of('udp', 'tcp'), text='--loopback: what carries OpenVPN: udp, tcp (default: udp)', default=('udp',), metavar='LIST')
    add('--dev', dest='devs', parse=one_of('tun', 'tap'), text='--loopback: tun, or tap on a bridge as at RRZN (default: tun)', default=('tun',), metavar='LIST')
    add('--clients', parse=whole(1, 64), text='--loopback: clients at once; RRZN had 11', default=1)
    add('-t', '--time', parse=some_time, text='seconds of one test of iperf3 (default: 10, with --loopback 5, with --quick 3)', metavar='TIME')
    add('-P', '--parallel', parse=whole(1, 32), text='connections at once', default=1)
    group.add_argument('-R', '--reverse', action='store_true', help='the other end sends')
    group.add_argument('--both', action='store_true', help='first one direction, then the other')
    add('-B', '--bind', parse=host_name, text='the address to send from', metavar='ADDRESS')
    group.add_argument('-u', '--udp', action='store_true', help='UDP as fast as it can be sent; what arrives counts')
    add('-p', '--port', parse=whole(1, 65535), text='port of the iperf3 server (default: %d)' % IPERF_PORT, default=IPERF_PORT)


COMMANDS = ('run', 'info', 'crypto', 'table', 'validate', 'selftest', 'schedule', 'import', 'watch')
FLAGS = ('--quiet', '--quick', '--legacy-ssh', '--published', '--latest', '--all', '--accept', '--history', '--loopback', '--reverse', '--both', '--udp')  # options without a value


def command_first(words: Sequence[str]) -> List[str]:
    """The words with the command in front, wherever between the options it stood, and with what else is no
    option next to it; `run` is what happens without one."""
    free = [i for i, word in enumerate(words) if not word.startswith('-') and not (
        i > 0 and words[i - 1].startswith('--') and words[i - 1] not in FLAGS and '=' not in words[i - 1])]
    command = next((i for i in free if words[i] in COMMANDS), None)
    if command is None:
        return list(words) if words and words[0] in ('-h', '--help', '--version') else ['run', *words]
    if words[command] == 'schedule':  # two kinds of words, which argparse only takes side by side
        return [words[command], *(words[i] for i in free if i != command), *(word for i, word in enumerate(words) if i not in free)]
    return [words[command], *words[:command], *words[command + 1:]]


def read_arguments(argv: Sequence[str]) -> Any:
    """The parsed command line. Leaves with status 2 on wrong usage, as argparse does."""
    parser = make_parser()
    arguments = parser.parse_args(command_first(argv))
    if 'tunnel' in getattr(arguments, 'tests', ()) and arguments.command != 'run':
        parser.error('the self-test makes no tunnels')
    if arguments.command in ('table', 'validate', 'selftest', 'schedule', 'import'):
        return arguments
    if arguments.on and arguments.peer:
        parser.error('--peer is for a run on the router itself; with --on the router sends to this machine')
    if arguments.command == 'run':
        fault = tunnel_fault(arguments)
        if fault:
            parser.error(fault)
    if len(arguments.on) > 1 and (arguments.device or arguments.cpu or arguments.mhz):
        parser.error('--device, --cpu and --mhz describe one machine, and --on names several')
    return arguments


def tunnel_fault(arguments: Any) -> Optional[str]:
    """What is wrong with the options of `run tunnel`."""
    ends = arguments.direct or arguments.through
    if ends and arguments.loopback:
        return '--loopback makes both ends itself; --direct and --through name one that is there'
    if 'tunnel' in arguments.tests and not ends and not arguments.loopback:
        return '`run tunnel` wants --through HOST, best with --direct HOST, or --loopback'
    if arguments.both and arguments.reverse:
        return '--both has --reverse in it'
    return None


def with_overrides(facts: Facts, arguments: Any) -> Facts:
    """The facts as the user knows better."""
    if arguments.mhz:
        facts = facts._replace(mhz=arguments.mhz, mhz_source='--mhz')
    return facts._replace(device=plain(arguments.device or '') or facts.device, cpu=plain(arguments.cpu or '') or facts.cpu)


def options_of(arguments: Any) -> Options:
    """The measuring options."""
    names = {'cipher': 'ciphers', 'auth': 'auths'}
    given = {names.get(name, name): value for name, value in vars(arguments).items()}
    return Options(**{name: given[name] for name in Options._fields if name in given})


def print_line(line: Line) -> None:
    """One line to stdout, at once: what was measured stays measured if the next test never ends."""
    write_out(STDOUT, line_json(line) + '\n')


def for_each(near: LocalHost, arguments: Any, terminal: Optional[Terminal], work: Callable[[Host, Any, Optional[Terminal]], int],
             failed: Callable[[Host, Any, Unmeasurable, Optional[Terminal]], int]) -> int:
    """Do the work on each machine of --on, one after the other, else on this one; the exit status."""
    statuses = []
    listener = terminal or Listener()
    hosts: List[Host] = [SshHost(near, SshClient(near, arguments.ssh, arguments.legacy), where, listener.note) for where in arguments.on]
    for host in hosts or [near]:
        try:
            statuses.append(work(host, arguments, terminal))
        except Unmeasurable as error:
            statuses.append(failed(host, arguments, error, terminal))
        finally:
            if host is not near:
                host.close()
    return joint_status(statuses)


def run_command(near: LocalHost, arguments: Any, terminal: Optional[Terminal]) -> int:
    """`run`. A file that cannot be written is said before the time is spent."""
    try:
        if arguments.output:
            near.append(arguments.output, '')
    except OSError as error:
        raise RouterbenchError('%s: %s' % (plain(arguments.output), error.strerror)) from error
    return for_each(near, arguments, terminal, run_on, out_of_reach)


class LineWriter:
    """Prints the lines of a run, in place of the progress, and appends them to a file of the user's. `failed` once that did not work."""

    def __init__(self, host: Host, terminal: Optional[Terminal], path: Optional[str] = None) -> None:
        self.near = host.near if isinstance(host, SshHost) else host
        self.terminal, self.path, self.failed = terminal, path, False

    def __call__(self, line: Line) -> None:
        if self.terminal:
            self.terminal.clear()
        print_line(line)
        try:
            if self.path and isinstance(self.near, LocalHost):
                self.near.append(self.path, line_json(line) + '\n')
        except OSError as error:
            Terminal({}, self.near.clock).note('routerbench: %s: %s; the line above is only on stdout' % (plain(self.path or ''), error.strerror))
            self.failed = True

    def status(self, status: int) -> int:
        """The exit status, of a run that had this one."""
        return EXIT_FAILED if self.failed and status == EXIT_OK else status


def run_on(host: Host, arguments: Any, terminal: Optional[Terminal]) -> int:
    """`run` on one machine."""
    machine = machine_of(host)
    facts = with_overrides(machine.facts(), arguments)
    context = Context(host, machine, options_of(arguments), terminal or Listener())
    writer = LineWriter(host, terminal, arguments.output)
    session = Session(context, facts, writer)
    if terminal:
        terminal.headline('routerbench %s on %s' % (__version__, machine_title(facts)))
    status = session.run(arguments.tests)
    if terminal:
        terminal.note('')
        terminal.note(summary(facts, session.lines))
    return writer.status(status)


def crypto_command(near: LocalHost, arguments: Any, terminal: Optional[Terminal]) -> int:
    """`crypto`: a line per algorithm, and the same for a person."""
    return for_each(near, arguments, terminal, crypto_on, out_of_reach)


def crypto_on(host: Host, arguments: Any, terminal: Optional[Terminal]) -> int:
    """`crypto` on one machine."""
    machine = machine_of(host)
    facts = with_overrides(machine.facts(), arguments)
    session = Session(Context(host, machine, options_of(arguments), terminal or Listener()), facts, LineWriter(host, terminal))
    session.measure(CryptoReport(session.context), False)
    if terminal:
        terminal.headline(machine_title(facts) + '\n\n' + crypto_text(session.lines))
    return EXIT_OK


def watch_command(near: LocalHost, arguments: Any, terminal: Optional[Terminal]) -> int:
    """`watch`: a line per interface."""
    return for_each(near, arguments, terminal, watch_on, out_of_reach)


def watch_on(host: Host, arguments: Any, terminal: Optional[Terminal]) -> int:
    """`watch` on one machine."""
    machine = machine_of(host)
    session = Session(Context(host, machine, options_of(arguments), terminal or Listener()), with_overrides(machine.facts(), arguments), LineWriter(host, terminal))
    session.measure(InterfaceWatch(session.context, arguments.interfaces, arguments.window, arguments.seconds), True)
    if terminal:
        terminal.clear()
        terminal.note(interface_table(session.lines))
    return EXIT_INTERRUPTED if isinstance(host, LocalHost) and host.signalled else exit_status(session.lines, session.unmet)


def out_of_reach(host: Host, arguments: Any, error: Unmeasurable, terminal: Optional[Terminal]) -> int:
    """A line for each test of a router that could not be asked anything."""
    tests = getattr(arguments, 'tests', ['interface' if arguments.command == 'watch' else 'crypto'])
    run = os.urandom(4).hex()
    lines = [Line(run=run, time=stamp(host.now()) if clock_is_set(host) else None, test=name, status=error.status,
                  reason=error.reason, detail=error.detail) for name in tests or [kind.name for kind in TESTS if kind.usual]]
    writer = LineWriter(host, terminal, getattr(arguments, 'output', None))
    for line in lines:
        writer(line)
    if terminal:
        where = host.destination.where if isinstance(host, SshHost) else 'this machine'
        terminal.note('%s: %s' % (plain(where), error.detail))
    return writer.status(exit_status(lines, False))


def test_states(context: Context) -> List[Dict[str, Any]]:
    """For each test whether it can run here, with what, and else what it needs."""
    states = []
    for test in (kind(context) for kind in TESTS):
        state: Dict[str, Any] = {'test': test.name, 'title': test.title, 'ready': True, 'with': None,
                                 'reason': None, 'detail': None}
        try:
            state['with'] = test.ready()
        except Unmeasurable as error:
            state.update(ready=False, reason=error.reason, detail=error.detail)
        states.append(state)
    return states


def is_scheduled(host: LocalHost) -> bool:
    """Whether a self-test is in cron, or nobody can tell."""
    try:
        return scheduled(host) is not None
    except RouterbenchError:
        return True


def notes_on(host: Host, facts: Facts) -> List[str]:
    """What the user should know about this system before measuring on it."""
    notes = []
    if not clock_is_set(host):
        notes.append('The clock is not set (%s): lines will have no time. Start NTP or set the date.' % stamp(host.now()))
    in_memory = [place for place in memory_disks(host.text('/proc/mounts') or host.output('mount')) if place in ('/tmp', '/var', '/var/log', '/var/tmp')]
    if in_memory:
        notes.append('%s %s in memory: what is kept there is lost at a reboot.' % (
            ' and '.join(in_memory), 'is' if len(in_memory) == 1 else 'are'))
    if isinstance(host, LocalHost) and not is_scheduled(host):
        notes.append('No self-test runs at night; `routerbench.py schedule install` puts one into cron.')
    if facts.mixed_cores:
        notes.append('There are cores of several kinds; `taskset` keeps a run on one of them.')
    if facts.mhz is None:
        notes.append('The processor\'s clock is stated nowhere; --mhz gives it.')
    if facts.device is None:
        notes.append('The device has no usable name here; --device gives it.')
    return notes


def info_text(facts: Facts, states: Sequence[Dict[str, Any]], notes: Sequence[str]) -> str:
    """`info` for a person."""
    rows = [('device', facts.device), ('cpu', facts.cpu),
            ('clock', '%g MHz (%s)' % (facts.mhz, facts.mhz_source) if facts.mhz else None),
            ('cores', facts.cores), ('architecture', '%s, %s-endian' % (facts.arch, facts.byte_order or 'unknown')),
            ('system', facts.os), ('kernel', facts.kernel), ('AES instructions', facts.aes),
            ('governor', facts.governor), ('memory', '%d MB' % facts.memory_mb if facts.memory_mb else None),
            ('runs in', facts.virtual)]
    lines = ['%-17s %s' % (name, 'not known' if value is None else value) for name, value in rows
             if value is not None or name not in ('governor', 'runs in')]
    lines.append('')
    for state in states:
        lines.append('%s: %s' % (state['test'], 'ready, with %s' % state['with'] if state['ready'] else state['detail']))
    return '\n'.join(lines + [''] * bool(notes) + list(notes))


def info_command(near: LocalHost, arguments: Any, terminal: Optional[Terminal]) -> int:
    """`info`: one JSON object per machine on stdout, the same for a person on stderr."""
    return for_each(near, arguments, terminal, info_on, no_info)


def no_info(host: Host, _arguments: Any, error: Unmeasurable, _terminal: Optional[Terminal]) -> int:
    """A router that could not be asked anything has no object."""
    Terminal({}, host.clock).note('routerbench: %s' % error.detail)
    return EXIT_NOTHING


def info_on(host: Host, arguments: Any, terminal: Optional[Terminal]) -> int:
    """`info` on one machine."""
    machine = machine_of(host)
    facts = with_overrides(machine.facts(), arguments)
    states = test_states(Context(host, machine, options_of(arguments), Listener()))
    notes = notes_on(host, facts)
    report = {'schema': SCHEMA, 'agent': __version__, **facts._asdict(), 'tests': states, 'notes': notes}
    write_out(STDOUT, to_json(report) + '\n')
    if terminal:
        terminal.note(info_text(facts, states, notes))
    return EXIT_OK


def each_file(near: LocalHost, files: Sequence[str], work: Callable[[str, Iterable[bytes]], None]) -> int:
    """Read files, each once, and stdin where there are none; how many could not be read."""
    failed = 0
    seen: Set[str] = set()
    for name in files or ['-']:
        try:
            real = os.path.realpath(name) if os.path.isfile(name) else name
            if real in seen:
                continue
            seen.add(real)
            work(name, near.lines(name))
        except (OSError, ValueError) as error:  # a zero byte in a name
            failed += 1
            Terminal({}, near.clock).note('routerbench: %s: %s' % (plain(name), plain(getattr(error, 'strerror', None) or str(error))))
    return failed


def table_command(near: LocalHost, arguments: Any, terminal: Optional[Terminal]) -> int:
    """`table`."""
    import gc
    gc.disable()  # nothing here refers to itself, and looking for that takes a twentieth of the time
    collector = Collector(arguments.all)
    failed = 0
    if arguments.files or not arguments.published:
        failed = each_file(near, arguments.files, lambda _name, lines: collector.read(lines))
    tests = collector.tests()
    if arguments.published:
        collector.add_published()
    test = arguments.test or next(iter(tests), 'ssh')
    tests = collector.tests()
    rows = [row for row in collector.rows(test) if keeps(row, arguments.filter)]
    rows = sort_rows(newest(rows) if arguments.latest else rows, arguments.sort or '-' + next(iter(table_columns(test, rows)), ''))
    if rows:
        write_out(STDOUT, rendered(arguments.format, test, rows, collector.counts()))
    if terminal:
        others = ['Lines of other tests: %s (--test NAME).' % ', '.join(plain(one, 40) for one in tests if one != test)] * (len(tests) > 1 and not arguments.test)
        for text in left_out_text(collector.counts()) + others + ['No row.'] * (not rows):
            terminal.note(text)
    return EXIT_FAILED if failed else EXIT_OK if rows else EXIT_NOTHING


def rendered(form: str, test: str, rows: Sequence[Row], left_out: Dict[str, int]) -> str:
    """The table in one of TABLE_FORMATS."""
    if form in ('json', 'html'):
        return (as_json if form == 'json' else as_html)(test, rows, left_out)
    table = laid_out(test, rows, form != 'csv')
    if form == 'text':
        table = table._replace(below=table.below + beside_published(rows))
    return {'text': as_text, 'markdown': as_markdown, 'dokuwiki': as_dokuwiki, 'csv': as_csv}[form](table)


def validate_command(near: LocalHost, arguments: Any, terminal: Optional[Terminal]) -> int:
    """`validate`: findings on stdout, one a line."""
    checker, counts = Checker(), [0, 0]

    def check(name: str, lines: Iterable[bytes]) -> None:
        for number, finding in checker.check(lines):
            counts[finding.grave()] += 1
            write_out(STDOUT, finding_text('%s:%d' % (plain(name), number), finding) + '\n')
    failed = each_file(near, arguments.files, check)
    if terminal:
        terminal.note('%d figures or rows, %d faults, %d notes: %s.' % (checker.rows, counts[True], counts[False], 'not fit to be merged' if counts[True] else
                                                                      'fit to be merged' if checker.rows else 'nothing to merge'))
    return EXIT_FAILED if failed else EXIT_OK if checker.rows and not counts[True] else EXIT_UNSOUND


def import_command(near: LocalHost, arguments: Any, terminal: Optional[Terminal]) -> int:
    """`import`: a line per result on stdout."""
    info = parse_cpuinfo(near.text(os.path.abspath(arguments.cpuinfo))) if arguments.cpuinfo else None
    known = {'device': arguments.device, 'os': arguments.os, 'cpu': arguments.cpu or (cpu_label(info) if info else None),
             'mhz': arguments.mhz or (cpuinfo_mhz(info) if info else None)}
    said = Byhand(*(getattr(arguments, name) for name in Byhand._fields))
    lines: List[Line] = []
    run = os.urandom(4).hex()

    def read(name: str, raw: Iterable[bytes]) -> None:
        text = b''.join(raw)[:IMPORT_BYTES].decode('utf-8', 'replace')
        for values in by_hand(text, said):
            line = Line(**{'run': run, 'time': None, **known, **values})
            lines.append(line._replace(seconds=rounded(line.seconds, 6), mbit=rounded(line.mbit), mbit_s=rounded(line.mbit_s), spread=rounded(line.spread, 4)))
            print_line(lines[-1])
    try:
        failed = each_file(near, arguments.files, read)
    except Unmeasurable as error:
        Terminal({}, near.clock).note('routerbench: ' + error.detail)
        return EXIT_FAILED if lines else EXIT_NOTHING
    if terminal and lines:
        terminal.note(import_summary(lines))
    return EXIT_FAILED if failed else EXIT_OK


def selftest_command(near: LocalHost, arguments: Any, terminal: Optional[Terminal]) -> int:
    """`selftest`. stdout stays empty unless a format is asked for, and stderr if all is well: cron mails what is not."""
    usual = usual_places(near)
    places = Places(os.path.abspath(arguments.journal or usual.journal), os.path.abspath(arguments.baseline or usual.baseline))
    if arguments.history:
        return show_history(near, places)
    if arguments.accept:
        state = parse_state(near.text(places.baseline)) or State({}, {})
        near.replace(places.baseline, state_text(accepted(state, arguments.tests)))
        return EXIT_OK
    near.yield_to_others()
    machine = machine_of(near)
    listener = terminal if terminal and terminal.live else Listener()
    night = SelfTest(near, machine, machine.facts(), options_of(arguments), places, listener)
    status = night.run(arguments.tests)
    if night.words:
        speak_up(near, 'routerbench: ' + plain('; '.join(night.words), 1000))
    said = len(night.words)
    night.settle()
    if arguments.format:
        publish(near, arguments, night, status)
    if night.words[said:]:
        speak_up(near, 'routerbench: ' + plain('; '.join(night.words[said:]), 1000))
    return EXIT_FAILED if night.failed and status == EXIT_OK else status


def publish(near: LocalHost, arguments: Any, night: SelfTest, status: int) -> None:
    """The night's result in the format that was asked for. A night without a result leaves what an earlier one has published."""
    lines = list(night.results.values())
    text = one_line(status, night.words, lines, night.state) + '\n' if arguments.format == 'line' else prometheus_text(lines, night.state, near.now())
    try:
        if arguments.output and (lines or arguments.format == 'line'):
            near.replace(arguments.output, text)
        elif not arguments.output:
            write_out(STDOUT, text)
    except OSError as error:
        night.words.append('%s: %s' % (plain(arguments.output or 'stdout'), error.strerror))
        night.failed = True


def speak_up(near: LocalHost, text: str) -> None:
    """One line on stderr, and one in the system's log where there is one."""
    Terminal({}, near.clock).note(text)
    if near.find('logger'):
        near.run('logger', '-t', 'routerbench', '-p', 'user.warning', '--', text.partition(': ')[2])


def show_history(near: LocalHost, places: Places) -> int:
    """`selftest --history`: the journal and the part before it, on stdout."""
    lines: List[Line] = []
    for path in (places.journal + '.1', places.journal):
        try:
            found = [line_of(value)[0] for _number, value, _text in read_objects(near.lines(path)) if type(value) is dict]
        except OSError:
            continue
        lines += [line for line in found if line]
    wide = 'UTF-8' in near.locale().upper().replace('UTF8', 'UTF-8')
    write_out(STDOUT, history_text(lines, parse_state(near.text(places.baseline)) or State({}, {}), BARS if wide else '_.-:=+*#') + '\n')
    return EXIT_OK if lines else EXIT_NOTHING


def schedule_command(near: LocalHost, arguments: Any, terminal: Optional[Terminal]) -> int:
    """`schedule`: the line in cron, on stdout."""
    if arguments.action == 'install':
        reschedule(near, cron_line(near, cron_place(near), arguments.at, selftest_words(arguments)))
    elif arguments.action == 'remove':
        reschedule(near, None)
        return EXIT_OK
    line = scheduled(near)
    if line is None:
        if terminal:
            terminal.note('No self-test is in cron; `routerbench.py schedule install` puts one there.')
        return EXIT_FAILED
    write_out(STDOUT, plain(line, 1000) + '\n')
    return EXIT_OK


def open_streams() -> None:
    """Give stdin, stdout and stderr a place where whoever started us closed them, so that no pipe of
    ours gets their numbers."""
    for stream in (0, STDOUT, STDERR):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run the command line; the exit status. Ctrl-C, `kill` and a closed pipe end quietly here."""
    open_streams()
    arguments = read_arguments(sys.argv[1:] if argv is None else argv)
    host = LocalHost()
    terminal = None if arguments.quiet else Terminal(host.environment, host.clock)
    commands = {'info': info_command, 'crypto': crypto_command, 'table': table_command, 'validate': validate_command,
                'selftest': selftest_command, 'schedule': schedule_command, 'import': import_command,
                'watch': watch_command}
    command = commands.get(arguments.command, run_command)
    try:
        if command not in (table_command, validate_command, import_command):  # which start nothing, and end at once
            host.watch_signals()
        return command(host, arguments, terminal)
    except (Interrupted, KeyboardInterrupt):
        if terminal:
            terminal.note('Interrupted; the lines above are complete, nothing is left behind.')
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        return EXIT_FAILED
    except (OSError, RouterbenchError) as error:
        Terminal({}, host.clock).note('routerbench: cannot go on: %s' % plain(getattr(error, 'strerror', None) or str(error)))
        return EXIT_FAILED
    finally:
        if terminal:
            terminal.clear()
        host.close()


if __name__ == '__main__':
    sys.exit(main())
