"""`watch`: an interface's counters, through wraps, resets and gaps, against a load that is known."""

import json
import math
import os
import shutil
import socket
import subprocess
import sys
import time

import pytest

import routerbench as rb
from fakes import AGENT


def at(seconds, rx, tx=0, number=1):
    return rb.Counters(seconds, rx, tx, number)


class TestTraffic:
    def test_r41_a_counter_of_32_bits_begins_anew(self):
        assert rb.traffic(at(0, 4290000000), at(2, 76000000), 125e6) == (80967296, 0)
        assert 8e-6 * 80967296 / 2 == pytest.approx(323.87, abs=0.005)

    @pytest.mark.parametrize('before,now', [(at(0, 3300000000, number=12), at(1, 5120, number=15)), (at(0, 3300000000), at(1, 5120)),
                                            (at(0, 1 << 40), at(1, 5120)), (at(0, 100, 1 << 33), at(1, 200, 7))])
    def test_r42_a_reset_is_no_traffic(self, before, now):
        assert rb.traffic(before, now, 125e6) is None

    @pytest.mark.parametrize('now', [at(0, 200), at(-7199, 200)])
    def test_r46_no_time_passed(self, now):
        assert rb.traffic(at(0, 100), now, 125e6) is None

    def test_fast_links_are_not_resets(self):
        assert rb.traffic(at(0, 0), at(1, 10 ** 10), 125e6) == (10 ** 10, 0)


class TestParsers:
    def test_r43_no_blank_after_the_colon(self):
        text = ('Inter-|   Receive                                                |  Transmit\n'
                ' face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n'
                '  eth0:4000000015 27000001    0    0    0     0          0         0 61000000044 32000006    0    0    0     0       0          0\n'
                'eth0:1: 1 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0\nbroken: 1 2 3\n')
        assert rb.parse_net_dev(text) == {'eth0': (4000000015, 61000000044), 'eth0:1': (1, 2)}

    def test_r44_columns_of_netstat(self):
        text = ('Name       Mtu Network            Address              Ipkts Ierrs Idrop     Ibytes    Opkts Oerrs     Obytes  Coll\n'
                'igc0      1500 <Link#1>           00:00:5e:00:53:01 75000007     0     0 98000000886 49000040     0 17000000957     0\n'
                'igc0         - 192.0.2.0/24       192.0.2.1             5     -     -        400        6     -        500     -\n'
                'ovpns1*   1500 <Link#9>                                  355     0     0      43722     5519     0     475060     0\n')
        assert rb.parse_netstat(text) == {'igc0': (98000000886, 17000000957, 1), 'ovpns1': (43722, 475060, 9)}
        older = text.replace(' Idrop', '').replace('     0     0 98000000886', '     0 98000000886').replace('     0     0      43722', '     0      43722')
        assert rb.parse_netstat(older) == rb.parse_netstat(text)

    @pytest.mark.parametrize('text', ['', 'Name\n<Link#1>', 'netstat: not found', 'a <Link#1> 1 2 3 4 5 6 7 8\n'])
    def test_nothing_is_nothing(self, text):
        assert rb.parse_netstat(text) == {} and rb.parse_net_dev(text) == {}


def flow_of(bytes_at, window, step, until, offset=0.0):
    """A Flow that looks at a known load every `step` seconds."""
    flow, before = rb.Flow(window), offset
    while before < until:
        flow.add(before, before + step, bytes_at(before + step) - bytes_at(before))
        before += step
    return flow


class TestFlow:
    @pytest.mark.parametrize('step,offset', [(0.25, 0.0), (0.25, 0.13), (0.31, 0.05), (1.0, 0.4)])
    def test_a_burst_of_the_windows_length(self, step, offset):
        """1000 bytes a second for 5 s in 60: the truth is 1000; a look may be up to one step off its edges."""
        flow = flow_of(lambda t: 1000 * min(max(t - 20, 0), 5), 5, step, 60, offset)
        assert 1000 * (1 - step / 5) <= flow.peak <= 1000.001

    def test_a_steady_rate(self):
        flow = flow_of(lambda t: 1000 * t, 5, 0.25, 60)
        assert flow.peak == pytest.approx(1000, rel=1e-9) and flow.total / flow.seconds == pytest.approx(1000)

    def test_ups_and_downs_within_a_percent(self):
        """Against the highest average of all windows, looked for in steps of a hundredth."""
        def bytes_at(t):
            return 1000 * t + 300 * math.sin(t / 3) * 3 + 100 * math.cos(t * 2)
        truth = max((bytes_at(i / 100 + 5) - bytes_at(i / 100)) / 5 for i in range(5500))
        assert flow_of(bytes_at, 5, 0.25, 60).peak == pytest.approx(truth, rel=0.01)

    def test_no_average_goes_over_a_gap(self):
        flow = rb.Flow(5)
        for t in range(4):
            flow.add(t, t + 1, 1000)
        flow.gap()
        for t in range(100, 104):
            flow.add(t, t + 1, 9000)
        assert flow.peak == 0 and flow.total == 40000 and flow.seconds == 8

    def test_only_the_window_is_kept(self):
        assert len(flow_of(lambda t: t, 5, 0.25, 10000).points) < 25


class Clockwork(rb.LocalHost):
    """A host whose time passes only in sleep(), with an interface that a function describes."""

    def __init__(self, root, state):
        super().__init__(root=root, environment={'PATH': '/nonexistent'})
        self.time, self.state = 0.0, state

    def clock(self):
        return self.time

    def sleep(self, seconds):
        self.time += seconds

    def look(self, *paths):
        return [str(value) if value is not None else '' for value in self.state(self.time, *paths)]


def watched(tmp_path, state, seconds=30.0, window=5.0, names=('eth0',)):
    def look(now, *paths):
        values = {'ifindex': None, 'rx_bytes': None, 'tx_bytes': None, 'speed': None}
        values.update(state(now) or {})
        return [values.get(path.rpartition('/')[2], '') for path in paths]
    host = Clockwork(str(tmp_path), look)
    host.time = 0.0
    machine = rb.LinuxMachine(host, '6.1.0', 'x86_64')
    context = rb.Context(host, machine, rb.Options(), rb.Listener())
    try:
        return [result.values for result in rb.InterfaceWatch(context, names, window, seconds).measure()]
    finally:
        host.close()


class TestWatch:
    def test_a_wrap_in_the_middle(self, tmp_path):
        values, = watched(tmp_path, lambda t: {'ifindex': 2, 'rx_bytes': int(4290000000 + 40e6 * t) % (1 << 32), 'tx_bytes': 7, 'speed': 1000})
        assert values['mbit_s'] == pytest.approx(320, rel=0.001) and values['extra']['resets'] == 0
        assert values['extra']['total_in_mbit'] == pytest.approx(320 * 30, rel=0.02) and values['extra']['direction'] == 'in'

    def test_it_vanishes_and_comes_back(self, tmp_path):
        """tun0 is started anew: the traffic is what was seen, and the gap none."""
        def state(t):
            return None if 10 <= t < 15 else {'ifindex': 12 if t < 10 else 15, 'tx_bytes': int(3300000000 + 1e6 * t) if t < 10 else int(1e6 * (t - 15)), 'rx_bytes': 0}
        values, = watched(tmp_path, state)
        assert values['mbit_s'] == pytest.approx(8.0, rel=0.01) and values['extra']['resets'] == 1 and values['extra']['direction'] == 'out'
        assert values['extra']['watched_s'] == pytest.approx(24.5, abs=1.0)

    def test_no_such_interface(self, tmp_path):
        values, = watched(tmp_path, lambda t: None)
        assert (values['status'], values['reason']) == ('skipped', 'interface-missing')

    def test_nothing_passes(self, tmp_path):
        values, = watched(tmp_path, lambda t: {'ifindex': 1, 'rx_bytes': 5, 'tx_bytes': 6})
        assert values['status'] == 'failed' and values.get('mbit_s') is None

    def test_a_shorter_watch_than_the_window(self, tmp_path):
        values, = watched(tmp_path, lambda t: {'ifindex': 1, 'rx_bytes': int(125000 * t), 'tx_bytes': 0}, seconds=2.0)
        assert values['mbit_s'] == pytest.approx(1.0, rel=0.01) and values['seconds'] == pytest.approx(2.0, abs=0.3)

    def test_two_at_once(self, tmp_path):
        lines = watched(tmp_path, lambda t: {'ifindex': 1, 'rx_bytes': int(125000 * t), 'tx_bytes': 0}, names=('eth0', 'eth1'))
        assert [line['extra']['interface'] for line in lines] == ['eth0', 'eth1']


LOAD = """
import subprocess, sys, time
server = subprocess.Popen(['iperf3', '-s', '-1'], stdout=subprocess.DEVNULL)
watch = subprocess.Popen([sys.executable, %r, 'watch', 'lo', '--window', '2', '--for', '7', '--quiet'], stdout=subprocess.PIPE)
try:
    time.sleep(1)
    subprocess.run(['iperf3', '-c', '127.0.0.1', '-u', '-b', '100M', '-l', '1000', '-t', '4'], stdout=subprocess.DEVNULL, timeout=30)
    sys.stdout.write(watch.communicate(timeout=30)[0].decode())
    sys.exit(watch.returncode)
finally:
    watch.kill()
    server.terminate()
    server.wait(10)
""" % AGENT


@pytest.mark.skipif(not all(map(shutil.which, ('iperf3', 'unshare', 'ip'))) or os.geteuid(), reason='needs iperf3, and root for a loopback of its own')
def test_a_real_load_on_loopback():
    """iperf3 at 100 Mbit/s for 4 s, UDP: its payload of 1000 bytes a packet, with which lo counts 28 bytes of headers."""
    done = subprocess.run(['unshare', '-n', '-m', 'sh', '-c', 'mount -t sysfs none /sys && ip link set lo up && exec "$@"', 'sh', sys.executable, '-c', LOAD], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=90)
    assert done.returncode == 0, done.stderr.decode()
    line = json.loads(done.stdout)
    assert line['test'] == 'interface' and line['mbit_s'] == pytest.approx(102.8, rel=0.02)
    assert line['mbit_s'] == pytest.approx(line['mbit'] / line['seconds'], rel=1e-3)


def test_ctrl_c_ends_it_with_the_result():
    watch = subprocess.Popen([sys.executable, AGENT, 'watch', 'lo', '--window', '0.5', '--for', '60'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(1.5)
    for _ in range(10):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.sendto(b'x' * 1000, ('127.0.0.1', 9))
        time.sleep(0.1)
    watch.send_signal(2)
    out, err = watch.communicate(timeout=20)
    line = json.loads(out)
    assert watch.returncode == rb.EXIT_INTERRUPTED and line['status'] == 'ok' and line['mbit_s'] > 0 and b'Traceback' not in err
