"""LocalHost: the one door to files, processes, clocks and private files, on this machine."""

import os
import signal
import stat
import threading
import time

import pytest

import routerbench as rb
from fakes import write_tool


@pytest.fixture
def host(tmp_path):
    made = rb.LocalHost(environment={'PATH': str(tmp_path), 'TMPDIR': str(tmp_path), 'HOME': '/'})
    yield made
    made.close()


def gone(pid, seconds=2.0):
    """Whether a process has ended (a zombie counts) within that time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            with open('/proc/%d/stat' % pid) as file:
                if file.read().rsplit(')', 1)[1].split()[0] == 'Z':
                    return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


class TestFiles:
    def test_text(self, tmp_path):
        (tmp_path / 'etc').mkdir()
        (tmp_path / 'etc/model').write_bytes(b'Raspberry Pi 5 Model B Rev 1.0\0')
        (tmp_path / 'etc/latin').write_bytes(b'caf\xe9\n')
        host = rb.LocalHost(str(tmp_path))
        assert host.text('/etc/model') == 'Raspberry Pi 5 Model B Rev 1.0'
        assert host.text('/etc/latin') == 'caf\ufffd'
        assert host.text('/etc/none') == '' and host.text('/etc') == ''
        assert host.names('/etc') == ['latin', 'model'] and host.names('/none') == []

    def test_absent_is_one_error(self, tmp_path):
        host = rb.LocalHost(str(tmp_path))
        for path in ('/none', '/'):
            with pytest.raises(rb.Absent):
                host.read_bytes(path)

    def test_reading_is_bounded(self):
        assert len(rb.LocalHost().read_bytes('/dev/zero', 1000)) == 1000
        assert len(rb.LocalHost().read_bytes('/dev/zero')) == 1 << 18

    def test_proc_files_have_no_size_and_are_read_whole(self):
        assert rb.LocalHost().text('/proc/cpuinfo').count('\n') > 3

    def test_the_busiest_core(self):
        """Of this very machine, while this process keeps one of its processors busy."""
        watch, end = rb.Watch(rb.machine_of(rb.LocalHost())), time.monotonic() + 0.5
        while time.monotonic() < end:
            pass
        assert 0.5 < watch.end().core < 1.1


class TestFind:
    def test_only_what_can_be_started(self, host, tmp_path):
        write_tool(tmp_path, 'openvpn', 'exit 0\n')
        (tmp_path / 'plain').write_text('#!/bin/sh\n')
        (tmp_path / 'folder').mkdir()
        assert host.find('openvpn') == str(tmp_path / 'openvpn')
        assert host.find('plain') is None and host.find('folder') is None and host.find('no-such-tool') is None

    def test_r55_crons_path_is_too_short(self):
        host = rb.LocalHost(environment={'PATH': '/usr/bin:/bin'})
        path = host.environment['PATH'].split(':')
        assert path[:2] == ['/usr/bin', '/bin'] and {'/usr/local/sbin', '/usr/sbin', '/opt/bin'} < set(path)
        assert len(path) == len(set(path))
        assert rb.LocalHost(environment={}).environment['PATH'].startswith('/usr/local/sbin:')


class TestRun:
    def test_streams_and_status(self, host, tmp_path):
        write_tool(tmp_path, 'tool', 'echo out; echo err >&2; exit 3\n')
        ran = host.run('tool')
        assert (ran.status, ran.out, ran.err, ran.timed_out) == (3, 'out\n', 'err\n', False)

    def test_missing_and_broken(self, host, tmp_path):
        (tmp_path / 'noexec').write_text('#!/bin/sh\n')
        write_tool(tmp_path, 'nointerpreter', '')
        (tmp_path / 'nointerpreter').write_text('#!/no/such/interpreter\n')
        write_tool(tmp_path, 'binary', '')
        (tmp_path / 'binary').write_bytes(b'\x7fELF garbage')
        assert host.run('no-such-tool').status == 127
        assert [host.run(str(tmp_path / name)).status for name in ('noexec', 'binary')] == [126, 126]
        assert host.run('nointerpreter').status == 127
        assert host.run('no-such-tool').err

    def test_nothing_on_stdin_and_the_c_locale(self, host, tmp_path):
        write_tool(tmp_path, 'tool', 'cat; echo "$LC_ALL"\n')
        started = time.monotonic()
        assert host.run('tool').out == 'C\n' and time.monotonic() - started < 5

    def test_killed_by_a_signal(self, host, tmp_path):
        write_tool(tmp_path, 'tool', 'kill -9 $$\n')
        assert host.run('tool').status == 137

    def test_time_is_the_commands(self, host, tmp_path):
        write_tool(tmp_path, 'tool', 'sleep 0.3\n')
        ran = host.run('tool')
        assert 0.3 <= ran.seconds < 0.45 and ran.user + ran.system < 0.1

    def test_cpu_time_is_the_commands_with_its_children(self, host, tmp_path):
        write_tool(tmp_path, 'tool', 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done\n')
        ran = host.run('tool')
        assert 0.03 < ran.user + ran.system <= 1.05 * ran.seconds  # the machine may be busy

    def test_memory_stays_bounded_whatever_a_tool_prints(self, host, tmp_path):
        write_tool(tmp_path, 'tool', 'echo first; head -c 20000000 /dev/zero | tr "\\0" x; echo; echo last\n')
        out = host.run('tool').out
        assert out.startswith('first\n') and out.endswith('\nlast\n')
        assert len(out) <= rb.KEPT_HEAD + rb.KEPT_TAIL

    def test_a_limit_ends_it_with_all_it_started(self, host, tmp_path):
        write_tool(tmp_path, 'tool', 'sleep 600 & echo $!; sleep 600\n')
        started = time.monotonic()
        ran = host.run('tool', limit=0.5)
        assert ran.timed_out and 0.5 <= time.monotonic() - started < 3
        assert gone(int(ran.out))

    def test_one_that_ignores_signals_ends_all_the_same(self, host, tmp_path):
        write_tool(tmp_path, 'tool', 'trap "" TERM INT HUP; echo $$; while :; do sleep 0.1; done\n')
        ran = host.run('tool', limit=0.5)
        assert ran.timed_out and gone(int(ran.out))

    def test_what_a_tool_leaves_behind_ends_with_it(self, host, tmp_path):
        write_tool(tmp_path, 'tool', 'sleep 600 >/dev/null 2>&1 & echo $!\n')
        ran = host.run('tool')
        assert ran.status == 0 and not ran.timed_out and gone(int(ran.out))

    def test_a_child_that_holds_the_streams_does_not_hold_us(self, host, tmp_path):
        write_tool(tmp_path, 'tool', 'sleep 600 & echo $!\n')
        started = time.monotonic()
        ran = host.run('tool', limit=60)
        assert ran.status == 0 and time.monotonic() - started < 3 and gone(int(ran.out))

    def test_one_that_closes_its_streams_and_runs_on(self, host, tmp_path):
        write_tool(tmp_path, 'tool', 'exec >/dev/null 2>&1; sleep 0.4; exit 5\n')
        ran = host.run('tool')
        assert ran.status == 5 and 0.4 <= ran.seconds < 0.6

    def test_several_at_once(self, host, tmp_path):
        write_tool(tmp_path, 'tool', 'sleep 0.4; echo $1\n')
        started = time.monotonic()
        rans = host.run_all([('tool', str(i)) for i in range(4)], 10)
        assert [ran.out for ran in rans] == ['0\n', '1\n', '2\n', '3\n'] and time.monotonic() - started < 1.2

    def test_the_last_words_of_each_arrive(self, host, tmp_path):
        write_tool(tmp_path, 'tool', 'head -c 70000 /dev/zero | tr "\\0" x; echo; echo "last $1"\n')
        for _ in range(20):
            rans = host.run_all([('tool', str(i)) for i in range(4)], 10)
            assert [ran.out[-7:] for ran in rans] == ['last %d\n' % i for i in range(4)]

    def test_tick(self, host, tmp_path):
        write_tool(tmp_path, 'tool', 'sleep 2.3\n')
        ticks = []
        host.run('tool', tick=ticks.append)
        assert len(ticks) == 3 and ticks[0] == pytest.approx(0.1, abs=0.1) and ticks[1] == pytest.approx(1.1, abs=0.2)

    def test_output(self, host, tmp_path):
        write_tool(tmp_path, 'good', 'echo yes\n')
        write_tool(tmp_path, 'bad', 'echo yes; exit 1\n')
        assert (host.output('good'), host.output('bad'), host.output('no-such-tool')) == ('yes\n', '', '')


class TestPrivate:
    def test_only_for_us_and_gone_at_the_end(self, host, tmp_path):
        path = host.private_path('key')
        folder = os.path.dirname(path)
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700 and folder.startswith(str(tmp_path))
        assert host.private_path('other') == os.path.join(folder, 'other')
        with open(path, 'w') as file:
            file.write('secret')
        host.close()
        assert not os.path.exists(folder)
        host.close()

    def test_the_next_place_where_the_first_is_no_good(self, tmp_path):
        host = rb.LocalHost(environment={'TMPDIR': str(tmp_path / 'missing')})
        folder = os.path.dirname(host.private_path('key'))
        try:
            assert os.path.dirname(folder) == '/tmp'
        finally:
            host.close()
        assert not os.path.exists(folder)

    def test_a_tmpdir_that_is_not_there_reaches_no_tool(self, tmp_path):
        """openvpn refuses to start with one."""
        for folder, kept in ((tmp_path, True), (tmp_path / 'missing', False)):
            host = rb.LocalHost(environment={'TMPDIR': str(folder)})
            assert host.run('sh', '-c', 'echo "$TMPDIR"').out == (str(folder) if kept else '/tmp') + '\n'

    def test_a_full_disk_is_noticed_and_left_clean(self, tmp_path, monkeypatch):
        host = rb.LocalHost(environment={'TMPDIR': str(tmp_path)})
        written = []

        def full(path, mode):
            written.append(os.path.dirname(os.path.dirname(path)))
            raise OSError(28, 'No space left on device')
        monkeypatch.setattr('builtins.open', full)
        with pytest.raises(rb.NoSpace) as error:
            host.private_path('key')
        monkeypatch.undo()
        assert '/tmp' in str(error.value) and {str(tmp_path), '/tmp'} <= set(written)
        assert not os.listdir(str(tmp_path))
        assert not [name for name in os.listdir('/tmp') if name.startswith('routerbench-%d-' % os.getpid())]

    def test_what_a_kill_9_left_is_swept_up_and_nothing_else(self, tmp_path):
        dead = 2 ** 22 - 3
        assert not rb.process_exists(dead)
        keep = ['routerbench-%d-0123abcd' % os.getpid(), 'routerbench-%d-short' % dead, 'routerbench-results', 'other-1-0123abcd']
        for name in keep + ['routerbench-%d-0123abcd' % dead]:
            (tmp_path / name).mkdir()
            (tmp_path / name / 'key').write_text('x')
        host = rb.LocalHost(environment={'TMPDIR': str(tmp_path)})
        mine = os.path.basename(os.path.dirname(host.private_path('key')))
        assert sorted(os.listdir(str(tmp_path))) == sorted(keep + [mine])
        host.close()


class TestSignals:
    @pytest.fixture
    def watched(self, host):
        saved = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        host.watch_signals()
        yield host
        host.close()
        for number, handler in saved.items():
            signal.signal(number, handler)

    @staticmethod
    def soon(number, seconds=0.3):
        threading.Timer(seconds, os.kill, (os.getpid(), number)).start()

    @pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_a_command_is_ended_at_once(self, watched, tmp_path, number):
        write_tool(tmp_path, 'tool', 'echo $$ > %s/pid; sleep 600 & sleep 600\n' % tmp_path)
        self.soon(number)
        started = time.monotonic()
        with pytest.raises(rb.Interrupted):
            watched.run('tool')
        assert time.monotonic() - started < 2
        assert gone(int((tmp_path / 'pid').read_text()))

    def test_a_sleep_is_ended_at_once(self, watched):
        self.soon(signal.SIGTERM)
        started = time.monotonic()
        with pytest.raises(rb.Interrupted):
            watched.sleep(60)
        assert time.monotonic() - started < 2

    def test_nothing_starts_after_it(self, watched, tmp_path):
        write_tool(tmp_path, 'tool', 'echo > %s/started\n' % tmp_path)
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(rb.Interrupted):
            watched.run('tool')
        assert not (tmp_path / 'started').exists()

    def test_nohup_stays_nohup(self, host):
        saved = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            host.watch_signals()
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        finally:
            host.close()
            signal.signal(signal.SIGHUP, saved)
            for number, handler in kept.items():
                signal.signal(number, handler)
