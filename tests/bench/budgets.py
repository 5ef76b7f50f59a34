#!/usr/bin/env python3
"""What the agent itself costs: modules, start, memory, and what it adds to a measurement.

    python3 tests/bench/budgets.py [PAIRS]

Prints ratios and differences of paired runs, A B A B …, so that a machine whose speed drifts still
gives a fair answer. It judges nothing: the budgets stand beside the figures.
"""

import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
AGENT = os.path.join(ROOT, 'routerbench.py')
sys.path.insert(0, ROOT)

import routerbench as rb  # noqa: E402

BARE = [sys.executable, '-E', '-s', '-c', 'pass']
SCRIPT = [sys.executable, '-E', '-s', AGENT]


def once(command, environment=None):
    """(seconds, peak kB of the process itself)."""
    started = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return time.perf_counter() - started, usage.ru_maxrss


def ratio(first, second, pairs):
    """Medians of both and of the ratio, pair by pair."""
    found = [(once(first)[0], once(second)[0]) for _ in range(pairs)]
    return (1000 * rb.median([a for a, _ in found]), 1000 * rb.median([b for _, b in found]),
            rb.median([a / b for a, b in found]))


def starts(pairs):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.check_call([sys.executable, '-c', 'import py_compile, sys; py_compile.compile(sys.argv[1], cfile=sys.argv[2])',
                               AGENT, os.path.join(folder, 'routerbench.pyc')])
        bytecode = [sys.executable, '-E', '-s', os.path.join(folder, 'routerbench.pyc')]
        for name, command, budget in (
                ('--version as a script', SCRIPT + ['--version'], 1.5), ('--version from bytecode', bytecode + ['--version'], 1.5),
                ('info as a script', SCRIPT + ['info', '--quiet'], 4), ('info from bytecode', bytecode + ['info', '--quiet'], 4)):
            mine, bare, times = ratio(command, BARE, pairs)
            print('%-26s %6.1f ms, bare interpreter %6.1f ms: %.2f times (budget %.1f)' % (name, mine, bare, times, budget))
        for name, path, budget in (('a run as a script', AGENT, 10), ('a run from bytecode', bytecode[-1], 6)):
            print('%-26s %6.1f MiB above the bare interpreter (budget %d)' % (name, memory(path), budget))


# The peak that the kernel notes for a program starts at that of whoever started it, so each says its own.
PEAK = 'import atexit, runpy, sys; atexit.register(lambda: sys.stderr.write([l for l in open("/proc/self/status") if "VmHWM" in l][0]))\n'


def peak(program):
    """Peak kB of a Python that runs this."""
    done = subprocess.run([sys.executable, '-E', '-s', '-c', PEAK + program], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False)
    return int(done.stderr.split()[-2])


def memory(path):
    """Peak of a run above the bare interpreter's, in MiB."""
    argv = [path, '--cipher', 'aes-256-gcm', '--quick', '--tun-mtu', '9000', '--wait', '0', '--quiet']
    program = 'sys.argv = %r; runpy.run_path(sys.argv[0], run_name="__main__")' % argv
    return rb.median([peak(program) - peak('') for _ in range(3)]) / 1024


def modules():
    blind = [sys.executable, '-S', '-E', '-s', '-c', 'import sys; sys.path.insert(0, %r); import routerbench; print(len(sys.modules))' % ROOT]
    print('%-26s %6s (budget 85)' % ('modules after import', subprocess.check_output(blind).decode().strip()))


def overhead(pairs):
    """The agent's seconds against the same command timed by hand, pair by pair."""
    host = rb.LocalHost()
    try:
        openvpn = rb.Openvpn(host, rb.machine_of(host), rb.Options())
        openvpn.check()
        one = rb.Combination('aes-256-cbc', 'SHA1')
        openvpn.probe(one, rb.SMALLEST_MTU)
        argv = openvpn.command(one, 20000, openvpn.key)

        def by_hand():
            started = time.perf_counter()
            subprocess.check_call(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            return time.perf_counter() - started
        ratios = []
        for i in range(pairs):
            first, second = (lambda: openvpn.timed(one, 20000, 1)[0].seconds), by_hand
            if i % 2:
                hand, mine = second(), first()
            else:
                mine, hand = first(), second()
            ratios.append(mine / hand)
        print('%-26s %+.2f %% (budget 1 %%; middle half of the pairs %+.2f to %+.2f)' % (
            'added to a measurement', 100 * (rb.median(ratios) - 1), 100 * (sorted(ratios)[pairs // 4] - 1),
            100 * (sorted(ratios)[-1 - pairs // 4] - 1)))
    finally:
        host.close()


if __name__ == '__main__':
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    modules()
    starts(count)
    overhead(2 * count + 1)
