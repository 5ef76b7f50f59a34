"""The agent as a process, with an openvpn that is a small script: what reaches stdout and stderr,
the exit statuses, bad tools, full disks, and that nothing is left behind by any ending."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time

import pytest

import routerbench as rb
from fakes import AGENT, agent, write_tool

# 2.6 in a nutshell: needs a key, adds 168 to the longest packet, works in real time.
GOOD = r'''
case "$1" in
--version) echo 'OpenVPN 2.6.14 x86_64-pc-linux-gnu [SSL (OpenSSL)] [AEAD] [DCO]'
           echo 'library versions: OpenSSL 3.0.19 27 Jan 2026, LZO 2.10'; exit 0;;
--genkey) echo key > "$3"; exit 0;;
esac
mtu=1500 verb=1 cipher= secret=
while [ $# -gt 0 ]; do case "$1" in
--tun-mtu) mtu=$2; shift;; --verb) verb=$2; shift;; --cipher) cipher=$2; shift;; --secret) secret=$2; shift;;
esac; shift; done
[ -s "$secret" ] || { echo 'Options error: You must define key file (--secret)'; exit 1; }
case "$cipher" in FOO*) echo "Cipher $cipher not supported"; exit 1;; esac
[ "$mtu" -lt 1600 ] && mtu=1600
[ "$verb" -gt 0 ] && echo "TESTING ENCRYPT/DECRYPT of packet length=$((mtu + 168))"
BODY
exit 0
'''


def openvpn(folder, body='sleep 0.0$((mtu / 1600))'):
    """A working openvpn, or one whose work is `body`."""
    write_tool(folder, 'openvpn', GOOD.replace('BODY', body))


@pytest.fixture
def place(tmp_path):
    """(directory for tools, directory for temporary files)."""
    (tmp_path / 'bin').mkdir()
    (tmp_path / 'tmp').mkdir()
    return tmp_path / 'bin', tmp_path / 'tmp'


def environment(place, **more):
    tools, temporary = place
    return dict({'PATH': '%s:/usr/bin:/bin' % tools, 'TMPDIR': str(temporary), 'HOME': '/', 'LANG': 'C'}, **more)


def run(place, *arguments, **more):
    """The finished process; quick settings."""
    return subprocess.run(agent(*arguments), env=environment(place), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60, **more)


FAST = ('--cipher', 'aes-256-cbc', '--tun-mtu', '3000', '--budget', '1', '--wait', '0')


def lines(process):
    return [json.loads(line) for line in process.stdout.decode('utf-8').splitlines()]


def ours(place):
    """Processes that run with this test's directories in their command line or environment."""
    found = []
    mark = os.fsencode(str(place[0]))
    for pid in os.listdir('/proc'):
        try:
            with open('/proc/%s/environ' % pid, 'rb') as file:
                if pid.isdigit() and int(pid) != os.getpid() and mark in file.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def nothing_left(place):
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline and (ours(place) or os.listdir(str(place[1]))):
        time.sleep(0.02)
    return ours(place) == [] and os.listdir(str(place[1])) == []


class TestLines:
    def test_a_line_per_result_and_nothing_else_on_stdout(self, place):
        openvpn(place[0])
        process = run(place, 'run', 'openvpn', '--cipher', 'aes-128-cbc,aes-256-gcm,foo', *FAST[2:])
        found = lines(process)
        assert process.returncode == rb.EXIT_FAILED
        assert sorted(line['status'] for line in found) == ['ok', 'ok', 'skipped']
        for line in found:
            assert tuple(line) == rb.Line._fields
            assert line['schema'] == 1 and re.match(r'[0-9a-f]{8}$', line['run'])
            assert set(line['extra']) <= set(rb.EXTRA['openvpn']) and set(line['warnings']) <= set(rb.WARNINGS)
        assert len({line['run'] for line in found}) == 1
        assert nothing_left(place)

    def test_run_is_the_default(self, place):
        openvpn(place[0])
        process = run(place, *FAST)
        assert process.returncode == 0 and [line['test'] for line in lines(process)] == ['openvpn']

    def test_no_line_names_the_machine_or_the_user(self, place):
        openvpn(place[0])
        text = run(place, *FAST).stdout.decode()
        for secret in (os.uname().nodename, str(place[0]), str(place[1]), os.environ.get('USER') or 'routerbench-'):
            assert len(secret) < 4 or secret not in text

    def test_overrides(self, place):
        openvpn(place[0])
        line = lines(run(place, '--device', 'Tést | "box"\x1b[31m\n', '--cpu', 'MIPS 24Kc', '--mhz', '680', *FAST))[0]
        assert (line['device'], line['cpu'], line['mhz']) == ('Tést | "box" [31m', 'MIPS 24Kc', 680)

    def test_utf8_whatever_the_locale(self, place):
        openvpn(place[0])
        process = subprocess.run(agent('--device', 'Tést', *FAST), env=environment(place, LC_ALL='C', PYTHONIOENCODING='latin-1'),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        assert process.returncode == 0 and 'Tést'.encode('utf-8') in process.stdout

    def test_the_command_of_the_line_can_be_typed(self, place, tmp_path):
        openvpn(place[0])
        method = lines(run(place, *FAST))[0]['method'].replace('/tmp/secret', str(tmp_path / 'secret'))
        typed = subprocess.run(['bash', '-c', method], env=environment(place), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert typed.returncode == 0 and rb.parse_time(typed.stderr.decode()).real > 0

    def test_two_processes(self, place, tmp_path):
        openvpn(place[0])
        line = lines(run(place, '--processes', '2', *FAST))[0]
        assert line['mbit'] == pytest.approx(2 * rb.work_mbit(3168), abs=0.001)
        method = line['method'].replace('/tmp/secret', str(tmp_path / 'secret'))
        assert subprocess.run(['bash', '-c', method], env=environment(place), stderr=subprocess.DEVNULL).returncode == 0


class TestPeople:
    def test_the_summary_is_readable_and_off_a_terminal_plain(self, place):
        openvpn(place[0])
        process = run(place, *FAST)
        text = process.stderr.decode()
        assert not re.search(r'[\x00-\x09\x0b-\x1f]', text)
        assert '1 measurement, about' in text and 'AES-256-CBC + SHA1' in text and 'Take with care' in text

    def test_quiet(self, place):
        openvpn(place[0])
        assert run(place, '--quiet', *FAST).stderr == b''

    @staticmethod
    def on_a_terminal(place, *arguments, stdout_too=False, **more):
        """What a person sees, stderr being a terminal."""
        ours_end, theirs = pty.openpty()
        process = subprocess.Popen(agent(*arguments), env=environment(place, **dict(dict(TERM='xterm'), **more)),
                                   stdin=subprocess.DEVNULL,
                                   stdout=theirs if stdout_too else subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        seen = b''
        while True:
            try:
                piece = os.read(ours_end, 4096)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        process.communicate()
        os.close(ours_end)
        return seen.decode()

    def test_progress_on_a_terminal(self, place):
        openvpn(place[0])
        text = self.on_a_terminal(place, *FAST)
        assert '\r\x1b[K' in text and ' left' in text and '\x1b[1m' in text
        last = text.replace('\r\n', '\n').rsplit('\r', 1)[1]
        assert last.startswith('\x1b[K') and 'Take with care' in last  # the progress line was cleared

    def test_a_line_on_the_same_terminal_stands_alone(self, place):
        """As with ssh -t, where stdout and stderr are one."""
        openvpn(place[0])
        text = self.on_a_terminal(place, *FAST, stdout_too=True)
        line = [line for line in text.replace('\r\n', '\n').split('\n') if '{"schema"' in line][0]
        assert line.rsplit('\r\x1b[K', 1)[-1].startswith('{"schema"')

    def test_no_color(self, place):
        openvpn(place[0])
        assert '\x1b[1m' not in self.on_a_terminal(place, *FAST, NO_COLOR='1')

    def test_a_dumb_terminal(self, place):
        openvpn(place[0])
        assert '\x1b' not in self.on_a_terminal(place, *FAST, TERM='dumb')


class TestUsage:
    @pytest.mark.parametrize('arguments,words', [
        (('nosuch',), 'no test or command `nosuch`; the tests are: openvpn'),
        (('run', '--cipher', 'a;rm -rf'), 'names separated by commas'),
        (('--tun-mtu', '68'), 'from 100 to 65535'), (('--processes', '0'), 'from 1 to 256'),
        (('--budget', 'soon'), 'amount of time'), (('--mhz', 'fast'), 'as in 680'), (('--engine', ''), 'names separated'),
        (('--engine', 'a,b'), 'one engine'), (('--limit', '0'), 'more than no time'), (('--budget', '9' * 300), 'takes that long'),
        (('--nosuch',), 'unrecognized arguments'), (('info', '--cipher', 'x'), 'unrecognized arguments')])
    def test_wrong(self, place, arguments, words):
        process = run(place, *arguments)
        assert process.returncode == rb.EXIT_USAGE and words in process.stderr.decode() and process.stdout == b''

    def test_help_and_version_touch_no_host(self, place):
        write_tool(place[0], 'uname', 'echo touched >> %s/touched\n' % place[1])
        assert run(place, '--version').stdout == ('routerbench %s\n' % rb.__version__).encode()
        for arguments in (('--help',), ('run', '--help'), ('info', '--help'), ('run', '--nosuch')):
            run(place, *arguments)
        assert os.listdir(str(place[1])) == []
        assert b'Examples that work' in run(place, 'run', '--help').stdout


    def test_the_command_may_stand_behind_options(self, place):
        openvpn(place[0])
        for arguments in (('--quiet', 'info'), ('--device', 'info', 'info', '--quiet')):
            process = run(place, *arguments)
            assert process.returncode == 0 and process.stderr == b'' and 'tests' in json.loads(process.stdout.decode())
        assert lines(run(place, '--quiet', '--device', 'info', 'run', *FAST))[0]['device'] == 'info'


class TestInfo:
    def test_one_object(self, place):
        openvpn(place[0])
        process = run(place, 'info', '--device', 'Test box')
        report = json.loads(process.stdout.decode())
        assert process.returncode == 0 and report['device'] == 'Test box'
        assert set(rb.Facts._fields) < set(report)
        assert report['tests'][:1] == [{'test': 'openvpn', 'title': rb.OpenvpnTest.title, 'ready': True,
                                    'with': 'OpenVPN 2.6.14, OpenSSL 3.0.19', 'reason': None, 'detail': None}]
        assert [state['test'] for state in report['tests']] == [kind.name for kind in rb.TESTS]
        assert 'openvpn: ready, with OpenVPN 2.6.14' in process.stderr.decode()

    def test_what_is_missing_and_what_helps(self, place):
        process = subprocess.run(agent('info'), env=dict(environment(place), PATH=str(place[0])), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, timeout=60)
        state = json.loads(process.stdout.decode())['tests'][0]
        if not state['ready']:  # this system has no openvpn in a place that is always looked at
            assert state['reason'] == 'tool-missing' and 'install' in state['detail']


class TestBrokenTools:
    @pytest.mark.parametrize('body,reason', [
        ('kill -9 $$', 'killed'), ('kill -11 $$', 'killed'), ('echo rubbish; exit 1', 'tool-failed'),
        ('head -c 3000000 /dev/urandom; exit 7', 'tool-failed'),
        ("printf '\\033[31mAUTH\\007'; exit 1", 'tool-failed')])
    def test_fails_clearly(self, place, body, reason):
        openvpn(place[0], '[ "$mtu" -eq 3000 ] && { %s; }' % body)
        process = run(place, *FAST)
        line = lines(process)[0]
        assert (process.returncode, line['status'], line['reason']) == (rb.EXIT_FAILED, 'failed', reason)
        assert line['mbit_s'] is None and line['detail'] and not re.search(rb.CONTROL, line['detail'])
        assert nothing_left(place)

    @pytest.mark.parametrize('script,reason', [
        ('echo rubbish', 'output-unknown'), ('exit 0', 'output-unknown'), ('exit 99', 'tool-failed'), ('kill -9 $$', 'killed'),
        ('sleep 600', 'timeout'), ('exec >/dev/null 2>&1; sleep 600', 'timeout'),
        ('trap "" TERM; sleep 600 & sleep 600', 'timeout'), ('yes', 'timeout')])
    def test_never_a_real_openvpn(self, place, script, reason):
        write_tool(place[0], 'openvpn', script + '\n')
        process = run(place, '--limit', '1', *FAST)
        line = lines(process)[0]
        assert (process.returncode, line['status'], line['reason']) == (rb.EXIT_FAILED, 'failed', reason)
        assert nothing_left(place)

    def test_not_executable_or_no_program(self, place):
        write_tool(place[0], 'openvpn', '')
        (place[0] / 'openvpn').write_bytes(b'\x7fELF of another machine')
        process = run(place, *FAST)
        assert (process.returncode, lines(process)[0]['reason']) == (rb.EXIT_FAILED, 'tool-broken')
        assert nothing_left(place)

    def test_one_hang_does_not_stop_the_others(self, place):
        openvpn(place[0], '[ "$cipher" = AES-128-CBC ] && sleep 600; sleep 0.0$((mtu / 1600))')
        process = run(place, '--limit', '1', '--cipher', 'aes-128-cbc,aes-256-cbc', *FAST[2:])
        assert {line['cipher']: (line['status'], line['reason']) for line in lines(process)} == {
            'aes-128-cbc': ('failed', 'timeout'), 'aes-256-cbc': ('ok', None)}


class TestDisks:
    @pytest.fixture
    def full(self, tmp_path):
        """A full disk of 64 kB, where this user may mount one."""
        disk = tmp_path / 'full'
        disk.mkdir()
        if subprocess.call(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', str(disk)], stderr=subprocess.DEVNULL):
            pytest.skip('mounting needs root')
        try:
            with open(str(disk / 'ballast'), 'wb', buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(4096))
                except OSError:
                    pass
            yield disk
        finally:
            subprocess.call(['umount', '-l', str(disk)])

    def test_a_full_tmp_is_gone_round(self, place, full):
        openvpn(place[0])
        process = subprocess.run(agent(*FAST), env=environment(place, TMPDIR=str(full)), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, timeout=60)
        assert process.returncode == 0 and os.listdir(str(full)) == ['ballast']

    def test_a_full_stdout(self, place):
        openvpn(place[0])
        with open('/dev/full', 'wb') as full:
            process = subprocess.run(agent(*FAST), env=environment(place), stdout=full, stderr=subprocess.PIPE, timeout=60)
        assert process.returncode == rb.EXIT_FAILED and b'No space left' in process.stderr
        assert b'Traceback' not in process.stderr and nothing_left(place)

    def test_a_closed_pipe_is_quiet(self, place):
        openvpn(place[0])
        reading, writing = os.pipe()
        os.close(reading)
        process = subprocess.run(agent('--quiet', *FAST), env=environment(place), stdout=writing, stderr=subprocess.PIPE, timeout=60)
        os.close(writing)
        assert process.returncode == rb.EXIT_FAILED and process.stderr == b'' and nothing_left(place)

    def test_it_ends_soon_after_its_reader_has_gone(self, place):
        """As when the ssh that started it is interrupted: without a terminal that sends no signal."""
        openvpn(place[0], 'sleep 0.$((mtu / 1600))')
        process = subprocess.Popen(agent(*TestInterrupted.LONG), env=environment(place), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        time.sleep(0.7)
        process.stdout.close()
        assert process.wait(timeout=4) == rb.EXIT_FAILED and nothing_left(place)

    def test_a_file_or_a_null_device_as_stdout_is_no_gone_reader(self, place, tmp_path):
        openvpn(place[0])
        for path in (str(tmp_path / 'lines'), os.devnull):
            with open(path, 'wb') as file:
                assert subprocess.call(agent('--quiet', *FAST), env=environment(place), stdout=file) == 0

    def test_a_closed_stderr_does_not_stop_it(self, place):
        openvpn(place[0])
        reading, writing = os.pipe()
        os.close(reading)
        process = subprocess.run(agent(*FAST), env=environment(place), stdout=subprocess.PIPE, stderr=writing, timeout=60)
        os.close(writing)
        assert process.returncode == 0 and lines(process)[0]['status'] == 'ok' and nothing_left(place)

    def test_no_stdout_or_stderr_at_all(self, place):
        openvpn(place[0])
        for closed in ('>&-', '2>&-'):
            command = 'exec "$@" %s' % closed
            process = subprocess.run(['sh', '-c', command, 'sh', *agent(*FAST)], env=environment(place), stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, timeout=60)
            assert b'Traceback' not in process.stderr
            assert process.returncode == 0
            assert nothing_left(place)


class TestInterrupted:
    """A signal at any moment: a clear message, status 130, no process, key or directory left."""

    LONG = ('--cipher', 'aes-256-cbc,aes-128-cbc', '--tun-mtu', '20000', '--wait', '0')

    @pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    @pytest.mark.parametrize('after', [0.15, 0.25, 0.4, 0.7, 1.2, 2.2])
    def test_at_any_moment(self, place, number, after):
        openvpn(place[0], 'sleep 0.$((mtu / 1600))')
        process = subprocess.Popen(agent(*self.LONG), env=environment(place), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.wait_for_main(process, after)
        process.send_signal(number)
        out, err = process.communicate(timeout=10)
        assert process.returncode == rb.EXIT_INTERRUPTED
        assert b'Interrupted' in err and b'Traceback' not in err
        for line in out.decode().splitlines():
            assert json.loads(line)['schema'] == 1
        assert nothing_left(place)

    @staticmethod
    def wait_for_main(process, after):
        """Until the agent catches signals, which it does before it touches anything, and then some."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with open('/proc/%d/status' % process.pid) as file:
                caught = int(re.search(r'SigCgt:\s*(\w+)', file.read()).group(1), 16)
            if caught >> (signal.SIGTERM - 1) & 1:
                break
            time.sleep(0.002)
        time.sleep(after - 0.15)

    def test_a_second_ctrl_c_changes_nothing(self, place):
        openvpn(place[0], 'sleep 5')
        process = subprocess.Popen(agent(*self.LONG), env=environment(place), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.wait_for_main(process, 0.6)
        for _ in range(5):
            process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
        assert process.returncode == rb.EXIT_INTERRUPTED and b'Traceback' not in err and nothing_left(place)

    def test_kill_9_is_cleaned_up_by_the_next_run(self, place):
        openvpn(place[0], 'sleep 0.$((mtu / 1600))')
        process = subprocess.Popen(agent(*self.LONG), env=environment(place), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.wait_for_main(process, 1.0)
        process.kill()
        process.communicate()
        assert len(os.listdir(str(place[1]))) == 1
        openvpn(place[0])
        assert run(place, *FAST).returncode == 0
        assert nothing_left(place)

    def test_two_runs_at_once_do_not_meet(self, place):
        openvpn(place[0])
        processes = [subprocess.Popen(agent(*FAST), env=environment(place), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE) for _ in range(3)]
        for process in processes:
            out, _ = process.communicate(timeout=60)
            assert process.returncode == 0 and json.loads(out.decode())['status'] == 'ok'
        assert nothing_left(place)


class TestOddSurroundings:
    def test_sigchld_ignored_by_whoever_started_us(self, place):
        openvpn(place[0])
        script = 'import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])'
        process = subprocess.run([sys.executable, '-c', script, *agent(*FAST)], env=environment(place), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, timeout=60)
        assert process.returncode == 0 and lines(process)[0]['status'] == 'ok'

    def test_names_that_anybody_can_make_in_tmp(self, place, tmp_path):
        openvpn(place[0])
        precious = tmp_path / 'precious'
        precious.mkdir()
        (precious / 'file').write_text('x')
        for name in ('routerbench-99999999999999999999-00000000', 'routerbench-999999999-00000000'):
            (place[1] / name).mkdir()
        os.symlink(str(precious), str(place[1] / 'routerbench-999999998-00000000'))
        assert run(place, *FAST).returncode == 0
        assert (precious / 'file').exists()
        assert sorted(os.listdir(str(place[1]))) == ['routerbench-999999998-00000000', 'routerbench-99999999999999999999-00000000']

    def test_no_file_descriptors(self, place):
        openvpn(place[0])
        process = subprocess.run(['sh', '-c', 'ulimit -n 12; exec "$@"', 'sh', *agent('--processes', '8', *FAST)],
                                 env=environment(place), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        assert b'Traceback' not in process.stderr and process.returncode == rb.EXIT_FAILED
        assert all(line['reason'] == 'low-memory' for line in lines(process)) and b'reinstall' not in process.stdout
        assert nothing_left(place)

    def test_no_path_of_the_machine_in_a_line(self, place):
        write_tool(place[0], 'openvpn', """
            case "$1" in --version) echo 'OpenVPN 2.6.14 x'; exit 0;;
            --genkey) echo "Cannot open shared secret file '$3' for write"; exit 1;; esac
            echo 'Options error: You must define key file (--secret)'; exit 1
            """)
        text = run(place, *FAST).stdout.decode()
        assert str(place[1]) not in text and json.loads(text)['reason'] == 'tool-failed'


class TestClock:
    def test_r59_an_unset_clock_gives_no_time(self, place):
        openvpn(place[0])
        script = ('import sys, time; sys.argv = sys.argv[1:]; real = time.time; '
                  'time.time = lambda: 37.0; import runpy; runpy.run_path(sys.argv[0], run_name="__main__")')
        process = subprocess.run([sys.executable, '-c', script, AGENT, *FAST], env=environment(place), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, timeout=60)
        line = lines(process)[0]
        assert line['time'] is None and 'clock-unset' in line['warnings'] and line['mbit_s'] > 0

    def test_a_set_clock_gives_utc(self, place):
        openvpn(place[0])
        assert re.match(r'20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$', lines(run(place, *FAST))[0]['time'])
