#!/usr/bin/env python3
"""What `table` needs for many lines, against a bare loop of json.loads over the same file.

    python3 tests/bench/lines.py [--most 6] [--machines 100] [--times 3]

For 10^4, 10^5, ... 10^MOST lines, as the runs of so many machines would have given them: the ratio of
processor times, each the best of several and each in a process of its own, and the peak memory of
`routerbench.py table FILE`. It judges nothing: the budgets stand beside the figures. A million lines are
about 1 GB in the directory for temporary files, and are removed at the end.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
AGENT = os.path.join(ROOT, 'routerbench.py')
sys.path.insert(0, ROOT)

import routerbench as rb  # noqa: E402

BARE = '''
import json, time
started = time.process_time()
count = 0
for line in open(%r, encoding='utf-8'):
    json.loads(line)
    count += 1
print(count, time.process_time() - started)
'''
TABLE = '''
import sys, time
sys.path.insert(0, %r)
import routerbench as rb
started = time.process_time()
collector = rb.Collector()
collector.read(rb.LocalHost().lines(%r))
spent = time.process_time() - started
assert not collector.left_out, collector.left_out
print(sum(cell.lines for row in collector.rows('openvpn') for _column, cell in row.cells), spent)
'''
DEVICES = (('TP-Link Archer C7 v2', 'MIPS 74Kc', 720.0, 'mips', 1), ('GL.iNet GL-MT300N-V2', 'MIPS 24KEc', 580.0, 'mipsel', 1),
           ('Xiaomi AX3000T', 'ARM Cortex-A53', 1300.0, 'aarch64', 2), ('PC Engines APU2', 'AMD GX-412TC', 1000.0, 'x86_64', 4),
           ('Turris Omnia', 'ARM Cortex-A9', 1600.0, 'armv7l', 2))
COSTS = {'aes-128-cbc': 1.0, 'aes-256-cbc': 1.2, 'aes-256-gcm': 0.8, 'chacha20-poly1305': 0.6}
PER_MHZ = {'mips': 0.045, 'mipsel': 0.045, 'aarch64': 0.15, 'x86_64': 0.15, 'armv7l': 0.08}


def one_line(dice, machine):
    """A line that is as long as real ones are, and whose figures agree."""
    device, cpu, mhz, arch, cores = DEVICES[machine % len(DEVICES)]
    cipher = dice.choice(sorted(COSTS))
    auth = 'SHA1' if cipher.endswith('cbc') else None
    mbit = 3254.147
    typical = mbit / (PER_MHZ[arch] * mhz) * COSTS[cipher]
    runs = [round(typical * (1 + 0.01 * dice.random()), 6) for _ in range(5)]
    seconds = rb.median(runs)
    return rb.Line(
        time=rb.stamp(1.78e9 + 60 * dice.randrange(500000)), run='%08x' % dice.getrandbits(32), test='openvpn', device='%s #%d' % (device, machine), cpu=cpu, mhz=mhz,
        cores=cores, arch=arch, os='OpenWrt 24.10.2', kernel='6.6.93', algorithm=rb.table_column(cipher), cipher=cipher, auth=auth, seconds=seconds, mbit=mbit,
        mbit_s=round(mbit / seconds, 3), runs=tuple(runs), spread=round(rb.relative_spread(runs), 4), tool='OpenVPN 2.6.14', library='OpenSSL 3.0.16',
        method='openvpn --genkey secret /tmp/secret; time openvpn --test-crypto --secret /tmp/secret --verb 0 --tun-mtu 20000 --cipher %s%s' % (
            cipher.upper(), ' --auth ' + auth if auth else ''),
        extra={'tun_mtu': 20000, 'packets': 20168, 'mbit_s_3200': round(3200.16 / seconds, 3), 'net_mbit_s': round(1.04 * mbit / seconds, 3),
               'per_packet_us': round(20 * dice.random(), 3), 'per_byte_ns': round(8e3 * seconds / mbit, 3), 'mbit_s_1420': round(0.9 * mbit / seconds, 3),
               'start_ms': round(9 + dice.random(), 3), 'user_s': round(0.98 * seconds, 3), 'system_s': 0.012, 'others_cpu': round(0.02 * dice.random(), 3),
               'clock_mhz': [mhz, mhz], 'temperature_c': None, 'governor': None, 'clock': 'monotonic', 'processes': 1, 'dco_build': True})


def fill(path, count, machines):
    """Append so many lines. All differ, by their `run` at least: a few thousand are made, and stand there again under other ones."""
    dice = random.Random(count)
    models = [rb.line_json(one_line(dice, i % machines)).partition('"run": "') for i in range(min(count, 40 * machines))]
    with open(path, 'a', encoding='utf-8') as file:
        for _ in range(count):
            before, key, after = dice.choice(models)
            file.write('%s%s%08x%s\n' % (before, key, dice.getrandbits(32), after[8:]))


def best(program, times):
    """(lines, least processor time) of a program in processes of its own."""
    found = [subprocess.check_output([sys.executable, '-E', '-s', '-c', program]).split() for _ in range(times)]
    return int(found[0][0]), min(float(seconds) for _count, seconds in found)


def peak_mib(*argv):
    """Peak memory of a command."""
    process = subprocess.Popen([sys.executable, '-E', '-s', *argv], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, process.returncode, usage = os.wait4(process.pid, 0)
    assert process.returncode == 0
    return usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--most', type=int, default=6, help='10^this lines at the end (4 to 7)')
    parser.add_argument('--machines', type=int, default=100)
    parser.add_argument('--times', type=int, default=3)
    arguments = parser.parse_args()
    descriptor, path = tempfile.mkstemp('.jsonl', 'routerbench-lines-')
    os.close(descriptor)
    there = 0
    try:
        for count in (10 ** power for power in range(4, arguments.most + 1)):
            fill(path, count - there, arguments.machines)
            there = count
            read, bare = best(BARE % path, arguments.times)
            taken, mine = best(TABLE % (ROOT, path), arguments.times)
            assert read == taken == count, '%d lines, %d taken' % (read, taken)
            print('%8d lines, %6.1f MB: table %7.3f s, bare json.loads %7.3f s, ratio %.2f (budget 1.5); peak %.1f MiB, of `--version` %.1f' % (
                count, os.path.getsize(path) / 1e6, mine, bare, mine / bare, peak_mib(AGENT, 'table', path), peak_mib(AGENT, '--version')), flush=True)
    finally:
        os.unlink(path)


if __name__ == '__main__':
    main()
