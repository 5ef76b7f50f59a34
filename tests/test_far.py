"""SshHost and SshClient, through ssh clients that are small scripts: what a far machine is asked and
answers, what is killed and removed there, and that nothing it says is ever run."""

import contextlib
import fnmatch
import os
import shutil
import signal
import stat
import subprocess
import time

import pytest

import routerbench as rb
from fakes import FakeHost, lines_of, machine_host, machine_names, write_tool
from farside import APART, DBCLIENT, OLD_DBCLIENT, OPENSSH, FarSide, has, running, until
from test_cli import GOOD

NOTHING = rb.Survey((), (), (), (), {})
MARK = 'f' * 32
ODD_WORDS = ["it's", '"|', '$(touch PWNED)', '`touch PWNED`', '; touch PWNED', 'a\nb', '\ntouch PWNED\n', '\\', '*', '~', '',
             ' ', '-n', '%s', '\nffffffffffffffffffffffffffffffff k 1\n', '\u00e9', '!x', '#', '$A', 'a&b', '<x', '>PWNED', '{a,b}']


@pytest.fixture
def side(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # so that something that is run by mistake leaves its traces there
    made = FarSide(tmp_path)
    yield made
    made.close()
    assert not [name for _, _, names in os.walk(str(tmp_path)) for name in names if name == 'PWNED']


@pytest.fixture
def far(side):
    """A host that has been asked the usual."""
    return surveyed(side)


def surveyed(side, *words, **client):
    side.client(**client)
    host = side.host(*words)
    host.survey(NOTHING)
    return host


def shells():
    """sh by the shells of this machine that are /bin/sh on some system."""
    return [name for name in ('dash', 'bash', 'busybox') if has(name)]


# `time` is a program, or a word of bash's; a small system may have neither.
TIMERS = ['time', 'uptime', 'local'][subprocess.call(['sh', '-c', 'command -v time'], stdout=subprocess.DEVNULL) != 0:]


def use_shell(side, monkeypatch, name, timer=None):
    """Let /bin/sh at the other end be that shell, and if asked for have no `time` there."""
    path = os.path.join(side.folder, 'sh')
    os.symlink(shutil.which(name), path)
    monkeypatch.setattr(rb, 'STARTED', rb.STARTED.replace('/bin/sh', path))
    side.client(run='[ -z "$talk" ] || exec %s; exec sh -c "$word"' % path)
    host = side.host()
    host.survey(NOTHING)
    host.timer = timer or host.timer
    return host


class TestSession:
    """One login, one shell, answers in frames."""

    def test_one_login_for_all_questions(self, side, far):
        assert far.ask('echo one') == b'one\n' and far.ask('printf two') == b'two'
        assert far.run('true').status == 0 and far.names('/') and len(side.commands()) == 1

    @pytest.mark.parametrize('before', [
        'echo "*** real hardware lab 47.5 ***"; echo "*** real 47.5 ***" >&2',
        'printf "no newline at the end"; printf "nor here" >&2',
        'printf "\\nffffffffffffffffffffffffffffffff b 1\\nffffffffffffffffffffffffffffffff e 1\\n"',
        'printf "caf\\351 \\000 \\033[31m\\n"; printf "caf\\351 \\000 \\033[31m\\n" >&2',
        'seq 20000; seq 20000 >&2', 'echo "answer (y/n)"; echo "type your password: here" >&2'])
    @pytest.mark.parametrize('trail', ['', 'trap "echo bye; echo bye >&2" EXIT'])
    def test_r22_what_a_banner_and_a_profile_print_is_no_answer(self, side, before, trail):
        far = surveyed(side, after=before + '\n' + trail, run='SHELL -c "$word"')
        assert far.ask('echo answer') == b'answer\n'
        ran = far.run('sh', '-c', 'echo out; echo err >&2; exit 3')
        assert (ran.status, ran.out, ran.err) == (3, 'out\n', 'err\n')

    def test_a_background_job_of_the_profile_that_goes_on_printing(self, side):
        far = surveyed(side, after='(i=0; while [ $i -lt 100 ]; do echo noise; echo noise >&2; sleep 0.01; i=$((i+1)); done) &')
        for _ in range(3):
            assert b'answer\n' in far.ask('echo answer')
            assert far.run('sh', '-c', 'exit 3').status == 3

    def test_what_the_router_prints_cannot_end_an_answer(self, far):
        frames = '\n%s e 2\n\n%s k 2\n' % (MARK, MARK)
        assert far.ask("printf '%%s' '%s'" % frames) == frames.encode()
        assert far.run('printf', '%s', frames).out == frames

    @pytest.mark.parametrize('shell', ['sh -v', 'sh -x', 'sh -vx', 'bash -v', 'busybox sh', 'tcsh', 'tcsh -v'])
    def test_login_shells(self, side, shell):
        if not has(shell.split()[0]):
            pytest.skip('no such shell here')
        far = surveyed(side, shell=shell.replace(shell.split()[0], shutil.which(shell.split()[0]), 1))
        assert far.ask('echo answer') == b'answer\n' and far.run('sh', '-c', 'echo out; exit 3')[1:3] == (3, 'out\n')

    def test_a_server_that_echoes_what_it_reads(self, side):
        far = surveyed(side, run='{ tee /dev/fd/3 | exec SHELL -c "$word"; } 3>&1')
        assert far.ask('echo answer').endswith(b'answer\n')
        assert far.run('sh', '-c', 'exit 3').status == 3 and far.private_path('key').count('\n') == 0

    def test_the_mark_is_never_sent_as_it_is(self, side, monkeypatch):
        """So an echo cannot be taken for an answer."""
        sent = []
        real = rb.Job.say
        monkeypatch.setattr(rb.Job, 'say', lambda self, text: sent.append(text) or real(self, text))
        far = surveyed(side)
        far.run('true')
        far.look('/proc/uptime')
        assert len(sent) > 3 and not any(far.mark in text for text in sent)

    def test_a_shell_that_traces_what_it_does(self, side):
        far = surveyed(side, run='exec sh -vx')
        assert far.ask('echo answer') == b'answer\n' and far.run('sh', '-c', 'echo out; exit 3')[1:3] == (3, 'out\n')

    def test_a_flood_on_stderr(self, side):
        started = time.monotonic()
        far = surveyed(side, after='head -c 8000000 /dev/zero | tr "\\0" x >&2')
        assert far.ask('echo answer') == b'answer\n' and time.monotonic() - started < 4
        started = time.monotonic()
        ran = far.run('sh', '-c', 'echo first >&2; head -c 8000000 /dev/zero | tr "\\0" x >&2; echo last >&2; echo out; exit 3', limit=10)
        assert (ran.status, ran.out) == (3, 'out\n') and len(ran.err) <= rb.KEPT_HEAD + rb.KEPT_TAIL
        assert ran.err.startswith('first\n') and ran.err.endswith('last\n') and time.monotonic() - started < 4

    def test_a_flood_on_stdout(self, far):
        ran = far.run('sh', '-c', 'head -c 9000000 /dev/zero | tr "\\0" x; exit 3', limit=10)
        assert ran.status == 3 and ran.out[:2] == ran.out[-2:] == 'xx'

    @pytest.mark.parametrize('shell', shells())
    def test_bin_sh_may_be_any(self, side, monkeypatch, shell):
        far = use_shell(side, monkeypatch, shell)
        ran = far.run('sh', '-c', 'echo out; echo err >&2; exit 3')
        assert (ran.status, ran.out, ran.err) == (3, 'out\n', 'err\n')
        (far.names('/proc/self'), far.find('dd'), far.look('/proc/uptime'))
        with open(os.path.join(far.near.environment['TMPDIR'], 'kept'), 'w') as file:
            file.write('x')
        path = far.private_path('key')
        assert far.names(os.path.dirname(os.path.dirname(path))) == sorted(['kept', os.path.basename(os.path.dirname(path))])


class TestFiles:
    CONTENTS = [b'', b'\0', b'\n', b'\n\n', b'no end', b'a\0b\nc\0', b"it's\n", b'$(touch PWNED)\n`touch PWNED`\n', b'caf\xe9\xff\n',
                b'\nffffffffffffffffffffffffffffffff e 2\n', b'\r\n', bytes(range(256)) * 300]

    @pytest.mark.parametrize('asked', ['at once', 'later'])
    def test_whatever_is_in_them(self, side, asked):
        folder = os.path.join(side.folder, 'odd')
        os.mkdir(folder)
        paths = [os.path.join(folder, str(i)) for i in range(len(self.CONTENTS))]
        for path, content in zip(paths, self.CONTENTS):
            with open(path, 'wb') as file:
                file.write(content)
        side.client()
        far = side.host()
        far.survey(NOTHING._replace(files=(folder + '/*',) if asked == 'at once' else ()))
        commands = far.count
        assert [far.read_bytes(path) for path in paths] == self.CONTENTS
        assert far.read_bytes(paths[-1], 10) == self.CONTENTS[-1][:10]
        assert (far.count == commands) == (asked == 'at once')
        with pytest.raises(rb.Absent):
            far.read_bytes(folder + '/none')
        assert far.text(folder + '/none') == '' and far.text(paths[3]) == ''

    def test_a_path_is_only_a_path(self, side, far):
        for word in ODD_WORDS:
            name = 'x' + word.replace('/', '')
            path = os.path.join(side.folder, name)
            with open(path, 'w') as file:
                file.write('content of ' + name)
            assert far.text(path) == ('content of ' + name).rstrip('\n') and far.look(path) == [('content of ' + name).split('\n')[0]]
            os.unlink(path)

    def test_names_with_anything_but_a_newline(self, side, far):
        folder = os.path.join(side.folder, "it's $(touch PWNED)\"|")
        os.mkdir(folder)
        words = sorted('x' + word.replace('/', '') for word in ODD_WORDS if '\n' not in word)
        for word in words:
            with open(os.path.join(folder, word), 'w'):
                pass
        assert far.names(folder) == words
        assert far.names(side.folder + '/none') == [] and far.names(side.tmp) == []

    def test_find(self, side, far):
        write_tool(side.bin, 'tool', '')
        write_tool(side.folder, "it's", '')
        assert far.find('tool') == side.bin + '/tool' and far.find('no-such-tool') is None
        assert far.find(side.folder + "/it's") == side.folder + "/it's"
        assert [far.find(word) for word in ('$(touch PWNED)', '; touch PWNED', "'")] == [None] * 3

    def test_look_tells_first_lines_as_they_are_now(self, side, far):
        path = os.path.join(side.folder, 'sensor')
        assert far.look() == [] and far.look(path) == ['']
        for content, seen in (('48000\n', '48000'), ('717000', '717000'), ('one\ntwo\n', 'one'), ('\n', ''), ('', '')):
            with open(path, 'w') as file:
                file.write(content)
            assert far.look(path, side.folder + '/none', path) == [seen, '', seen]

    def test_one_look_is_one_exchange(self, far):
        before = far.count
        far.look('/proc/stat', '/proc/uptime', '/proc/loadavg')
        assert far.count == before + 1


class TestRun:
    @pytest.mark.parametrize('argv,status', [
        (('true',), 0), (('false',), 1), (('sh', '-c', 'exit 255'), 255), (('no-such-tool',), 127), (('/',), 126),
        (('sh', '-c', 'kill -9 $$'), 137), (('sh', '-c', 'kill -15 $$'), 143)])
    @pytest.mark.parametrize('timer', TIMERS)
    def test_status(self, far, argv, status, timer):
        far.timer = timer
        assert far.run(*argv).status == status

    def test_arguments_arrive_as_they_are(self, far):
        assert far.run('printf', '[%s]', *ODD_WORDS).out == ''.join('[%s]' % word for word in ODD_WORDS)

    def test_a_name_is_no_command(self, far):
        for word in ('$(touch PWNED)', '; touch PWNED', '`touch PWNED`', "'; touch PWNED; '"):
            assert far.run(word).status == 127

    def test_nothing_on_stdin_and_the_c_locale(self, far):
        assert far.run('sh', '-c', 'cat; echo "$LC_ALL"', limit=5).out == 'C\n'

    def test_bytes_that_are_no_text(self, far):
        ran = far.run('printf', 'a\\000b\\351\\n')
        assert ran.out == 'a\0b\ufffd\n'

    @pytest.mark.parametrize('name', shells())
    @pytest.mark.parametrize('timer', TIMERS)
    def test_timers(self, side, monkeypatch, name, timer):
        far = use_shell(side, monkeypatch, name, timer)
        ran = far.run('sh', '-c', 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; sleep 0.2; exit 3', limit=20)
        assert ran.status == 3 and ran.out == ran.err == ''
        assert 0.19 <= ran.seconds < 3 and 0.005 < ran.user + ran.system <= ran.seconds

    @pytest.mark.parametrize('tools,uptime,timer', [(('time',), True, 'time'), ((), True, 'uptime'), ((), False, 'local')])
    def test_r25_without_time_the_routers_uptime_or_our_clock(self, side, monkeypatch, tools, uptime, timer):
        monkeypatch.setattr(rb, 'SYSTEM_PATH', (side.bin,))
        for tool in tools:
            write_tool(side.bin, tool, '"$@"; s=$?; printf "real\\t0m 14.20s\\nuser\\t0m 0.05s\\nsys\\t0m 2.90s\\n" >&2; exit $s')
        for tool in ('sh', 'cat', 'dd', 'uname', 'sleep'):
            os.symlink('/bin/' + tool, os.path.join(side.bin, tool))
        side.client(before='PATH=%s' % side.bin)
        far = side.host()
        far.survey(NOTHING._replace(files=('/proc/uptime',) if uptime else (), tools=('time',)))
        ran = far.run('sleep', '0.2')
        assert far.timer == timer and ran.status == 0
        assert ran.seconds == 14.2 if timer == 'time' else 0.15 < ran.seconds < 2

    def test_what_a_command_prints_is_not_what_time_says(self, far):
        for timer in TIMERS:
            far.timer = timer
            ran = far.run('sh', '-c', 'echo "real 99.5"; echo "real 99.5" >&2; echo "status 77"; echo "uptime 1 999" >&2; exit 3')
            assert ran.status == 3 and ran.seconds < 5
            assert (ran.out, ran.err) == ('real 99.5\nstatus 77\n', 'real 99.5\nuptime 1 999\n')

    def test_several_at_once(self, far):
        started = time.monotonic()
        rans = far.run_all([('sh', '-c', 'sleep 0.3; echo %d; exit %d' % (i, i)) for i in range(4)], 10)
        assert time.monotonic() - started < 2
        assert [ran.status for ran in rans] == [0, 1, 2, 3] and all(0.25 < ran.seconds < 2 for ran in rans)
        assert sorted(rans[0].out.split()) == ['0', '1', '2', '3'] and [ran.argv[0] for ran in rans] == ['sh'] * 4

    def test_the_status_of_each_of_several_that_end_together(self, far):
        for timer in TIMERS:
            far.timer = timer
            for _ in range(4):
                rans = far.run_all([('sh', '-c', 'exit %d' % i) for i in range(12)], 10)
                assert [ran.status for ran in rans] == list(range(12)) and all(ran.out == ran.err == '' for ran in rans)

    def test_tick(self, far):
        ticks = []
        far.run('sleep', '1.15', tick=ticks.append)
        assert len(ticks) == 2 and ticks[0] < 0.5

    def test_questions_in_between(self, far):
        """The sensors are read while a command runs."""
        seen = []
        ran = far.run('sh', '-c', 'echo out; echo err >&2; sleep 0.4; echo out; exit 3', tick=lambda _: seen.extend(far.look('/proc/uptime')))
        assert seen and float(seen[0].split()[0]) > 0
        assert (ran.status, ran.out, ran.err) == (3, 'out\nout\n', 'err\n')


class TestLimits:
    def test_what_takes_too_long_is_killed_there(self, side, far):
        mark = '600.%d' % os.getpid()
        started = time.monotonic()
        ran = far.run('sleep', mark, limit=0.3)
        assert ran.timed_out and 0.3 <= time.monotonic() - started < 2 and until(lambda: not running(mark))
        assert far.ask('echo answer') == b'answer\n' and len(side.commands()) == 1

    def test_one_that_ignores_signals(self, far):
        mark = 'mark-%d' % os.getpid()
        ran = far.run('sh', '-c', 'trap "" HUP INT TERM PIPE; echo $$; while :; do sleep 0.05; done', mark, limit=0.3)
        assert ran.timed_out and until(lambda: not running(mark))

    def test_of_several_the_late_ones_only(self, far):
        mark = '600.1%d' % os.getpid()
        rans = far.run_all([('sh', '-c', 'exit 3'), ('sleep', mark)], 0.4)
        assert rans[0].status == 3 and rans[1].timed_out and until(lambda: not running(mark))

    def test_an_interruption_kills_it_there(self, far):
        mark = '600.3%d' % os.getpid()

        def interrupt(_elapsed):
            raise rb.Interrupted()
        with pytest.raises(rb.Interrupted):
            far.run('sleep', mark, tick=interrupt)
        assert until(lambda: not running(mark))
        far.close()

    @pytest.mark.skipif(not has('setsid'), reason='needs setsid, to set the router\'s processes apart')
    def test_closing_ends_what_runs_and_removes_what_was_made(self, side):
        far = surveyed(side, run=APART)
        mark = '600.4%d' % os.getpid()
        assert far.private_path('key').startswith(side.tmp)
        with pytest.raises(rb.Interrupted):
            far.run('sh', '-c', 'exec sleep %s' % mark, tick=lambda _: (_ for _ in ()).throw(rb.Interrupted()))
        far.close()
        far.close()
        assert until(lambda: not running(mark)) and side.left() == []

    @pytest.mark.skipif(not has('setsid'), reason='needs setsid, to set the router\'s processes apart')
    def test_a_client_that_is_killed_leaves_nothing_there(self, side):
        far = surveyed(side, run=APART)
        mark = '600.5%d' % os.getpid()
        folder = os.path.dirname(far.private_path('key'))
        assert os.path.isdir(folder)
        with contextlib.suppress(rb.Unmeasurable):  # the last words may still arrive
            far.run('sleep', mark, limit=20, tick=lambda _: until(lambda: running(mark)) and os.kill(far.job.process.pid, signal.SIGKILL))
        with pytest.raises(rb.Unmeasurable) as error:
            far.ask(':')
        assert error.value.reason == 'connection-lost'
        assert until(lambda: not running(mark)) and until(lambda: not os.path.exists(folder))


class TestPrivate:
    def test_only_for_us_and_gone_at_the_end(self, side, far):
        path = far.private_path('key')
        folder = os.path.dirname(path)
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700 and os.listdir(folder) == [] and os.path.dirname(folder) == side.tmp
        assert far.private_path('other') == folder + '/other'
        with open(path, 'w') as file:
            file.write('secret')
        assert far.text(path) == 'secret'
        far.close()
        assert side.left() == []

    @pytest.mark.parametrize('word', [word for word in ODD_WORDS if word])
    def test_a_directory_for_temporary_files_with_any_name(self, side, word):
        place = os.path.join(side.folder, 't' + word.replace('/', ''))
        os.mkdir(place)
        side.near.environment['TMPDIR'] = place
        far = surveyed(side)
        path = far.private_path('key')
        assert os.path.dirname(os.path.dirname(path)) == place
        assert far.run('sh', '-c', 'umask; echo x > "$1"', 'sh', path).status == 0 and far.text(path) == 'x'
        far.close()
        assert os.listdir(place) == []

    @pytest.mark.parametrize('place', ['/no/such/directory', '', '/proc'])
    def test_the_next_place_where_the_first_is_no_good(self, side, place):
        side.near.environment['TMPDIR'] = place
        far = surveyed(side)
        folder = os.path.dirname(far.private_path('key'))
        assert os.path.dirname(folder) in ('/tmp', '/var/tmp', '/dev/shm') and os.path.isdir(folder)
        assert place == '/proc' or far.run('sh', '-c', 'echo "$TMPDIR"').out == '/tmp\n'
        far.close()
        assert not os.path.exists(folder)

    def test_no_room_anywhere(self, side, monkeypatch):
        write_tool(side.bin, 'dd', 'exit 1')
        far = surveyed(side)
        with pytest.raises(rb.NoSpace):
            far.private_path('key')
        assert side.left() == []


class TestLost:
    def failing(self, side, **client):
        side.client(**client)
        far = side.host()
        started = time.monotonic()
        with pytest.raises(rb.Unmeasurable) as error:
            far.survey(NOTHING)
        return far, error.value, time.monotonic() - started

    def test_in_the_middle_of_the_first_answer(self, side):
        far, error, seconds = self.failing(side, run='SHELL -c "$word" | { head -c 20; kill -9 $$; }')
        assert error.reason in ('connection-lost', 'no-shell') and seconds < 2

    def test_in_the_middle_of_a_later_answer_and_then_for_good(self, side):
        far = surveyed(side)
        for question in (lambda: far.ask('echo half; kill -9 $$'), lambda: far.ask('echo more'), lambda: far.run('true'),
                         lambda: far.look('/proc/stat'), lambda: far.private_path('key')):
            with pytest.raises(rb.Unmeasurable) as error:
                question()
            assert error.value.reason == 'connection-lost'
        assert len(side.commands()) == 1  # nobody logs in a second time, to another shell

    def test_while_a_command_runs(self, side):
        far = surveyed(side)
        shell = int(far.ask('echo $$'))
        started = time.monotonic()

        def kill(_elapsed):
            with contextlib.suppress(ProcessLookupError):
                os.kill(shell, signal.SIGKILL)
        with pytest.raises(rb.Unmeasurable) as error:
            far.run('sleep', '3', tick=kill)
        assert error.value.reason == 'connection-lost' and time.monotonic() - started < 2

    def test_no_answer_at_all(self, side, monkeypatch):
        monkeypatch.setattr(rb, 'CONNECT_SECONDS', 0.4)
        far, error, seconds = self.failing(side, before='exec sleep 600')
        assert error.reason == 'connection-timeout' and 0.4 <= seconds < 2
        with pytest.raises(rb.Unmeasurable):
            far.ask(':')
        assert len(side.commands()) == 1

    def test_no_answer_any_more(self, side):
        far = surveyed(side)
        with pytest.raises(rb.Unmeasurable) as error:
            far.ask('sleep 600', 0.3)
        assert error.value.reason == 'connection-lost'

    @pytest.mark.parametrize('version', [OPENSSH, OLD_DBCLIENT, DBCLIENT])
    @pytest.mark.parametrize('prompt,reason', [
        ("Host '192.0.2.1' is not in the trusted hosts file.\\nDo you want to continue connecting? (y/n) ", 'hostkey-unknown'),
        ('Are you sure you want to go on? (y/n) \\n', 'hostkey-unknown'),
        ("root@192.0.2.1's password: ", 'auth-required'), ('Password:', 'auth-required'),
        ("Enter passphrase for key 'id_rsa': ", 'auth-required')])
    def test_r18_a_prompt_ends_it_at_once(self, side, version, prompt, reason):
        warning = "dbclient: Ignoring unknown configuration option 'BatchMode=yes'\\n" if version == OLD_DBCLIENT else ''
        far, error, seconds = self.failing(side, version=version, before='printf "%s%s" >&2; exec sleep 600' % (warning, prompt))
        assert error.reason == reason and seconds < 2 and error.status == 'failed'

    def test_an_old_dbclient_reads_no(self, side):
        """It takes the first line that it is sent for the answer to its question."""
        far, error, seconds = self.failing(side, version=OLD_DBCLIENT, before=r'''
            printf "Do you want to continue connecting? (y/n) " >&2; read -r line; printf '%s' "$line" > "$0.read"
            case "$line" in [yY]*) ;; *) refuse "dbclient: Exited: Didn't validate host key" 1;; esac''')
        assert error.reason == 'hostkey-unknown' and seconds < 2
        if os.path.exists(side.bin + '/ssh.read'):
            with open(side.bin + '/ssh.read') as file:
                assert file.read() in ('', ':')

    @pytest.mark.parametrize('before', ['exit 0', 'exit 255', 'kill -9 $$', 'echo rubbish; exit 1'])
    def test_an_ssh_that_ends_without_a_word(self, side, before):
        far, error, seconds = self.failing(side, before=before)
        assert error.status == 'failed' and error.reason in rb.REASONS and seconds < 2

    def test_a_login_shell_that_is_none(self, side, monkeypatch):
        monkeypatch.setattr(rb, 'CONNECT_SECONDS', 0.3)
        for run in ('echo "This account is not available."; exit 1', 'cat', 'exec yes'):
            _, error, seconds = self.failing(side, run=run)
            assert error.reason in ('no-shell', 'connection-timeout') and seconds < 3

    def test_r23_a_login_shell_that_stumbles(self, side):
        _, error, _ = self.failing(side, run='refuse "Ambiguous output redirect." 1')
        assert error.reason == 'remote-shell'


class TestClient:
    @pytest.mark.parametrize('text,version', [
        (OPENSSH, 'OpenSSH_9.2p1'), ('OpenSSH_for_Windows_8.1p1, LibreSSL 3.0.2', 'OpenSSH_for_Windows_8.1p1'),
        (OLD_DBCLIENT, 'Dropbear 2022.83'), (DBCLIENT, 'Dropbear 2024.86'), ('Dropbear SSH client v2019.78', 'Dropbear 2019.78')])
    def test_version(self, side, text, version):
        side.client(version=text)
        client = rb.SshClient(side.near, ())
        assert client.version() == version and client.dropbear() == version.startswith('Dropbear')

    def test_neither_of_the_two(self, side):
        side.client(version='plink: Release 0.78')
        with pytest.raises(rb.Unmeasurable) as error:
            rb.SshClient(side.near, ()).version()
        assert error.value.reason == 'tool-broken'

    @pytest.mark.parametrize('legacy', [False, True])
    def test_none_at_all(self, side, legacy):
        far = side.host('no-such-ssh', legacy=legacy)
        with pytest.raises(rb.Unmeasurable) as error:
            far.survey(NOTHING)
        assert (error.value.reason, error.value.status) == ('tool-missing', 'skipped') and 'install' in error.value.detail

    def test_dbclient_where_there_is_no_ssh(self):
        for tools, word in ((('ssh', 'dbclient'), 'ssh'), (('dbclient',), 'dbclient'), ((), 'ssh')):
            assert rb.SshClient(FakeHost(answers=dict.fromkeys(tools, '')), ()).words == (word,)

    @pytest.mark.parametrize('version,there,not_there', [
        (OPENSSH, ('BatchMode=yes', 'ControlMaster=no', 'ControlPath=none', 'Compression=no', 'ClearAllForwardings=yes'), ('-2', '-y', '-1')),
        (OLD_DBCLIENT, (), ('BatchMode=yes', '-y', '-2')), (DBCLIENT, ('BatchMode=yes',), ('-y', '-2'))])
    def test_r18_r19_r21_the_options_of_every_command(self, side, version, there, not_there):
        side.client(version=version)
        client = rb.SshClient(side.near, ())
        for argv in (client.command(rb.Destination('r'), 'cmd'), client.command(rb.Destination('r', 2222), 'cmd', 'aes128-cbc', True)):
            assert set(there) <= set(argv) and not set(not_there) & set(argv) and argv[-2:] == ('r', 'cmd')
        assert argv[argv.index('-p') + 1] == '2222' and argv[argv.index('-c') + 1] == 'aes128-cbc'

    def test_our_options_stand_before_the_users(self, side):
        """OpenSSH takes the first of two."""
        side.client()
        argv = rb.SshClient(side.near, ('ssh', '-i', 'key', '-o', 'ControlPath=~/mux')).command(rb.Destination('r'), 'cmd')
        assert argv.index('ControlPath=none') < argv.index('ControlPath=~/mux') < argv.index('r') and '-i' in argv

    def test_the_log_is_only_asked_for_where_it_is_read(self, side):
        side.client()
        client = rb.SshClient(side.near, ())
        assert 'LogLevel=INFO' in client.command(rb.Destination('r'), 'cmd') and 'LogLevel=DEBUG1' in client.command(rb.Destination('r'), 'cmd', verbose=True)

    @pytest.mark.parametrize('reason,offer,expected', [
        ('hostkey-algorithm', ('ssh-rsa',), '-o HostKeyAlgorithms=+ssh-rsa -o PubkeyAcceptedAlgorithms=+ssh-rsa'),
        ('hostkey-algorithm', ('ssh-dss',), ''), ('hostkey-algorithm', (), ''), ('no-answer', ('ssh-rsa',), ''),
        ('kex-algorithm', ('diffie-hellman-group1-sha1', 'diffie-hellman-group14-sha1'), '-o KexAlgorithms=+diffie-hellman-group14-sha1'),
        ('mac-algorithm', ('hmac-md5', 'hmac-sha1'), '-o MACs=+hmac-sha1'),
        ('cipher-unavailable', ('3des-cbc', 'aes128-cbc', 'aes256-cbc'), '-o Ciphers=+aes256-cbc'),
        ('auth-required', (), '-o PubkeyAcceptedAlgorithms=+ssh-rsa')])
    def test_no_more_weakness_than_a_server_needs(self, side, reason, offer, expected):
        side.client()
        client = rb.SshClient(side.near, ())
        options = client.legacy_for(reason, offer)
        assert ' '.join(options) == expected
        client.legacy = options
        assert client.legacy_for(reason, offer) == ()

    def test_dbclient_has_no_such_options(self, side):
        side.client(version=DBCLIENT)
        assert rb.SshClient(side.near, ()).legacy_for('hostkey-algorithm', ('ssh-rsa',)) == ()


class TestLegacy:
    """--legacy-ssh."""

    RSA = '''case "$*" in *HostKeyAlgorithms=+ssh-rsa*PubkeyAcceptedAlgorithms=+ssh-rsa*) ;; *)
        refuse 'Unable to negotiate with 192.0.2.1 port 22: no matching host key type found. Their offer: ssh-rsa';; esac
        '''
    KEX = '''case "$*" in *KexAlgorithms=+diffie-hellman-group14-sha1*) ;; *)
        refuse 'Unable to negotiate with 192.0.2.1 port 22: no matching key exchange method found. Their offer: diffie-hellman-group14-sha1';; esac
        '''

    def test_r17_not_without_being_asked(self, side):
        side.client(before=self.RSA)
        with pytest.raises(rb.Unmeasurable) as error:
            side.host().survey(NOTHING)
        assert error.value.reason == 'hostkey-algorithm' and len(side.commands()) == 1
        assert '--legacy-ssh' in error.value.detail and '192.0.2.1' not in error.value.detail
        assert '-o HostKeyAlgorithms=+ssh-rsa -o PubkeyAcceptedAlgorithms=+ssh-rsa' in error.value.detail

    @pytest.mark.parametrize('before,logins', [(RSA, 2), (KEX, 2), (RSA + KEX, 3), (KEX + RSA, 3)])
    def test_r17_one_weakness_after_the_other(self, side, before, logins):
        side.client(before=before)
        far = side.host(legacy=True)
        far.survey(NOTHING)
        assert far.ask('echo answer') == b'answer\n' and len(side.commands()) == logins
        assert sum('--legacy-ssh' in note for note in side.notes) == logins - 1 and far.client.legacy

    @pytest.mark.parametrize('then,reason', [
        ('refuse "root@192.0.2.1: Permission denied (publickey)."', 'auth-required'),
        ('refuse "Host key verification failed."', 'hostkey-unknown'), ('printf "(y/n) " >&2; exec sleep 600', 'hostkey-unknown'),
        ('printf "password: " >&2; exec sleep 600', 'auth-required'), ('exec sleep 600', 'connection-timeout')])
    def test_what_fails_after_it_keeps_its_own_reason(self, side, monkeypatch, then, reason):
        monkeypatch.setattr(rb, 'CONNECT_SECONDS', 0.7)
        side.client(before=self.RSA + then)
        far = side.host(legacy=True)
        started = time.monotonic()
        with pytest.raises(rb.Unmeasurable) as error:
            far.survey(NOTHING)
        assert error.value.reason == reason and time.monotonic() - started < (2 if 'timeout' in reason else 0.7)

    def test_nothing_that_would_help(self, side):
        side.client(before='refuse "ssh: connect to host 192.0.2.1 port 22: Connection refused"')
        with pytest.raises(rb.Unmeasurable) as error:
            side.host(legacy=True).survey(NOTHING)
        assert error.value.reason == 'connection-refused' and len(side.commands()) == 1


class TestTimes:
    @pytest.mark.parametrize('report,expected', [
        ('\nreal\t0m14.203s\nuser\t0m0.050s\nsys\t0m2.900s\nstatus 0\n', (0, 14.203, 0.001, 0.05, 2.9)),
        ('real\t2m 44.80s\nuser\t0m 0.05s\nsys\t0m 2.90s\nstatus 3\n', (3, 164.8, 0.01, 0.05, 2.9)),
        ('0.05user 2.90system 0:14.20elapsed 20%CPU (0avgtext+0avgdata 2000maxresident)k\n0inputs+0outputs\nstatus 0\n', (0, 14.2, 0.01, 0.05, 2.9)),
        ('Command exited with non-zero status 3\n0.00user 0.00system 0:00.20elapsed 0%CPU\nstatus 3\n', (3, 0.2, 0.01, 0.0, 0.0)),
        ('       14.20 real         0.05 user         2.90 sys\nstatus 0\n', (0, 14.2, 0.01, 0.05, 2.9)),
        ('real 14\nuser 0\nsys 3\nstatus 0\n', (0, 14.0, 1.0, 0.0, 3.0)),
        ('0m0.00s 0m0.00s\n0m0.05s 0m2.90s\nuptime 1000.10 1014.30\nstatus 0\n', (0, 14.2, 0.02, 0.05, 2.9)),
        ('uptime 1.00 1.50\n0m0.05s 0m2.90s\nuptime 1000.10 1014.30\nstatus 0\n', (0, 14.2, 0.02, 0.05, 2.9)),
        ('0m0.000000s 0m0.010000s\n1m0.050000s 0m2.900000s\nstatus 137\n', (137, None, None, 60.05, 2.9)),
        ('sh: time: not found\nstatus 127\n', (127, None, 1.0, 0.0, 0.0)),
        ('real\t0m 0.00s\nuser\t0m 0.00s\nsys\t0m 0.00s\nstatus 0\n', (0, None, 0.01, 0.0, 0.0)), ('', (255, None, 1.0, 0.0, 0.0))])
    def test_far_times(self, report, expected):
        times = rb.far_times(report)
        assert times.status == expected[0] and times[3:] == pytest.approx(expected[3:])
        assert times.real == (None if expected[1] is None else pytest.approx(expected[1]))
        assert expected[2] in (None, times.resolution)

    @pytest.mark.parametrize('cost,real,resolution,elapsed,seconds', [
        (None, 14.2, 0.01, 14.5, 14.2), (None, None, 1.0, 14.5, 14.5),  # not calibrated
        (0.1, None, 1.0, 14.5, 14.4), (0.1, None, 1.0, 0.05, rb.SHORTEST_SECONDS),  # no clock there
        (0.1, 14.2, 0.01, 14.305, 14.205), (0.1, 14.2, 0.01, 14.295, 14.195),  # ours tells more
        (0.1, 14.2, 0.01, 99.0, 14.21), (0.1, 14.2, 0.01, 14.2, 14.19),  # but not outside what theirs allows
        (0.1, 14.0, 1.0, 14.6, 14.5), (0.1, 0.0, 0.01, 0.1, rb.SHORTEST_SECONDS)])
    def test_whose_clock(self, cost, real, resolution, elapsed, seconds):
        far = rb.SshHost(None, None, None, None)
        far.cost = cost
        assert far._seconds(rb.FarTimes(0, real, resolution, 0, 0), elapsed) == pytest.approx(seconds)

    def test_calibrate(self, side):
        far = surveyed(side, after='sleep 0.3')
        assert far.cost is None and far.rtt is None
        far.calibrate()
        assert 0 < far.rtt < far.cost < 0.3  # the login is none of it
        count = far.count
        far.calibrate()
        assert far.count == count

    def test_a_command_is_timed_without_the_way(self, side):
        far = surveyed(side)
        far.calibrate()
        far.cost += 0.1  # as if the way were longer
        far.timer = 'local'
        assert 0.05 < far.run('sleep', '0.2').seconds < 0.2


class Recorder(FakeHost, rb.SshHost):
    """A FakeHost behind an ssh client that keeps what it is asked beyond the survey."""

    def __init__(self, directory):
        FakeHost.__init__(self, directory)
        self.client = rb.SshClient(FakeHost(answers={'ssh': lambda argv: rb.Ran(argv, 0, err=OPENSSH)}), ())
        self.asked = []

    def survey(self, wanted):
        self.wanted = wanted

    def uname(self):
        return FakeHost(self.directory).uname()

    def _ask(self, kind, name, patterns):
        if not any(fnmatch.fnmatchcase(name, pattern) and name.count('/') == pattern.count('/') for pattern in patterns):
            self.asked.append((kind, name))

    def read_bytes(self, path, limit=1 << 18):
        self._ask('file', path, self.wanted.files + self.wanted.programs)
        return super().read_bytes(path, limit)

    def names(self, path):
        self._ask('folder', path, self.wanted.folders)
        return super().names(path)

    def find(self, command):
        self._ask('tool', command, self.wanted.tools)
        return super().find(command)

    def run_all(self, commands, limit, tick=rb.no_tick):
        for argv in commands:
            if tuple(argv) not in self.wanted.commands[self.uname()[0]]:
                self.asked.append(('command', ' '.join(argv)))
        return super().run_all(commands, limit, tick)

    def look(self, *paths):
        return FakeHost.look(self, *paths)


class TestSurvey:
    @pytest.mark.parametrize('name', machine_names())
    def test_it_brings_all_that_is_asked_of_any_machine(self, name):
        host = Recorder(machine_host(name).directory)
        machine = rb.machine_of(host)
        facts = machine.facts()
        rb.notes_on(host, facts)
        states = rb.test_states(rb.Context(host, machine, rb.Options(), rb.Listener()))
        assert [asked for asked in host.asked if asked != ('command', 'openvpn --version')] == []
        assert facts == rb.machine_of(machine_host(name)).facts() and len(states) == len(rb.TESTS)

    def test_it_finds_what_this_machine_says_of_itself(self, side):
        far = surveyed(side)
        there, here = rb.machine_of(far).facts(), rb.machine_of(side.near).facts()
        moving = ('mhz', 'mhz_source') if here.mhz_source == '/proc/cpuinfo' else ()
        assert there._replace(**{key: None for key in moving}) == here._replace(**{key: None for key in moving})

    def test_a_command_of_it_is_run_once(self, side):
        write_tool(side.bin, 'dmesg', 'echo called >> "$0.log"; echo log; echo noise >&2; exit 3')
        far = surveyed(side)
        rb.machine_of(far)
        assert far.run('dmesg')[1:3] == (3, 'log\n') and far.run('dmesg').status == 3
        with open(side.bin + '/dmesg.log') as file:
            assert file.read() == 'called\n'

    def test_info_takes_the_survey_and_two_more_exchanges(self, side, monkeypatch, capfd):
        write_tool(side.bin, 'openvpn', GOOD.replace('BODY', ''))
        side.client()
        asked = []
        real = rb.SshHost._answer
        monkeypatch.setattr(rb.SshHost, '_answer', lambda self, script, limit: asked.append(script) or real(self, script, limit))
        rb.info_on(side.host(), rb.read_arguments(['info', '--on', 'root@192.0.2.1']), None)
        out = capfd.readouterr()[0]
        assert 1 <= len(asked) <= 3 and '"ready": true' in out and '192.0.2.1' not in out

    def test_a_name_of_the_device_that_is_a_command(self, side, monkeypatch):
        monkeypatch.setattr(rb.LinuxMachine, 'virtual', lambda self: None)
        for name in ('$(touch PWNED)', '"| rm -rf x', '`touch PWNED`', "x'; touch PWNED; '"):
            far = surveyed(side)
            far.seen['f', '/tmp/sysinfo/model'] = (name + '\n').encode()
            assert rb.machine_of(far).facts().device == name
            far.private_path('key')
            far.close()

    def test_r30_it_needs_next_to_nothing(self, side, monkeypatch):
        """No stat, nproc, timeout, date, nohup, od, awk, ls, head or setsid, as in BusyBox builds of routers."""
        monkeypatch.setattr(rb, 'SYSTEM_PATH', (side.bin,))
        for tool in ('sh', 'dd', 'cat', 'uname', 'rm', 'mkdir', 'true', 'kill'):
            os.symlink('/bin/' + tool, os.path.join(side.bin, tool))
        side.client(before='PATH=%s' % side.bin)
        far = side.host()
        machine = rb.machine_of(far)
        assert machine.facts() == rb.machine_of(side.near).facts()._replace(mhz=machine.facts().mhz, mhz_source=machine.facts().mhz_source)
        assert machine.ticks() and far.timer == 'uptime' and far.run('sh', '-c', 'exit 3').status == 3 and far.find('awk') is None
        far.calibrate()
        path = far.private_path('key')
        assert far.run('dd', 'if=/dev/zero', 'of=' + path, 'bs=10', 'count=1').status == 0 and far.names(os.path.dirname(path)) == ['key']
        assert far.run_all([('sh', '-c', 'while :; do :; done')], 0.2)[0].timed_out
        far.close()
        assert side.left() == []


class TestOpenvpnThere:
    """What was written for this machine works on one far away."""

    FAST = dict(ciphers=('aes-256-cbc',), tun_mtu=3000, budget=0.3, wait=0.0)

    def test_a_line(self, side):
        write_tool(side.bin, 'openvpn', GOOD.replace('BODY', 'sleep 0.0$((mtu / 1600))'))
        side.client()
        status, lines = lines_of(side.host(), **self.FAST)
        assert (status, lines[0].status, lines[0].tool, lines[0].extra['clock']) == (0, 'ok', 'OpenVPN 2.6.14', TIMERS[0])
        assert lines[0].mbit == pytest.approx(rb.work_mbit(3168), abs=0.001) and 0.005 < lines[0].seconds < 1

    def test_the_key_is_gone_afterwards(self, side):
        write_tool(side.bin, 'openvpn', GOOD.replace('BODY', 'sleep 0.03; [ -d "$(dirname "$secret")" ] && ls -l "$secret" >> "$0.keys"'))
        far = surveyed(side)
        assert lines_of(far, **self.FAST)[0] == 0
        far.close()
        assert side.left() == [] and os.path.exists(side.bin + '/openvpn.keys')

    @pytest.mark.parametrize('body,reason', [('kill -9 $$', 'killed'), ('echo Killed >&2; exit 137', 'killed'), ('exit 7', 'tool-failed')])
    def test_r61_killed_for_want_of_memory(self, side, body, reason):
        write_tool(side.bin, 'openvpn', GOOD.replace('BODY', body))
        side.client()
        status, lines = lines_of(side.host(), **self.FAST)
        assert (status, lines[0].status, lines[0].reason, lines[0].mbit_s) == (rb.EXIT_FAILED, 'failed', reason, None)

    def test_missing(self, side, monkeypatch):
        monkeypatch.setattr(rb, 'SYSTEM_PATH', (side.bin,))
        write_tool(side.bin, 'opkg', '')
        for tool in ('sh', 'cat', 'dd', 'uname', 'true'):
            os.symlink('/bin/' + tool, os.path.join(side.bin, tool))
        side.client(before='PATH=%s' % side.bin)
        status, lines = lines_of(side.host(), **self.FAST)
        assert (status, lines[0].status, lines[0].reason) == (rb.EXIT_NOTHING, 'skipped', 'tool-missing')
        assert 'opkg install' in lines[0].detail

    def test_a_connection_that_is_lost_in_between(self, side):
        write_tool(side.bin, 'openvpn', GOOD.replace('BODY', 'sleep 0.03; [ "$mtu" -lt 3000 ] || { kill -9 $(cat "$0.shell"); sleep 5; }'))
        far = surveyed(side)
        with open(side.bin + '/openvpn.shell', 'wb') as file:
            file.write(far.ask('echo $$'))
        status, lines = lines_of(far, **self.FAST)
        assert status == rb.EXIT_FAILED and [line.reason for line in lines] == ['connection-lost']
