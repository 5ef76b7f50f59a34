"""The line in cron: where each system wants it, that it is one, that it runs, and that nobody else's line changes."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

import nightly
import routerbench as rb
from fakes import AGENT, write_tool
from nightly import Router

MARK = '# routerbench selftest'
SYSTEMS = {'openwrt': '/etc/crontabs/root', 'freebsd': '/usr/local/etc/cron.d/routerbench', 'linux': '/etc/cron.d/routerbench'}
EVERY_SYSTEM = pytest.mark.parametrize('system', sorted(SYSTEMS))


def make(root, system):
    """A router of that system, with its cron."""
    router = Router(root, system=('FreeBSD', '14.1-RELEASE', 'amd64') if system == 'freebsd' else ('Linux', '5.15.150', 'mips'))
    router.lay('sys/class/net/eth0/address', '02:00:00:00:00:01\n')
    router.lay('sys/class/net/eth0/device/uevent', 'DRIVER=ag71xx\n')  # what is no hardware has no `device`
    if system == 'openwrt':
        router.lay('etc/openwrt_release', "DISTRIB_ID='OpenWrt'\n")
        router.lay('etc/init.d/cron', '#!/bin/sh\necho "$@" >> %s\n' % router.here('/cron-was'), 0o755)
        os.makedirs(router.here('/etc/crontabs'))
    if system == 'linux':
        os.makedirs(router.here('/etc/cron.d'))
    return router


@pytest.fixture
def openwrt(tmp_path):
    return make(tmp_path, 'openwrt')


def crontab(router, system='openwrt'):
    with open(router.here(SYSTEMS[system]), 'rb') as file:
        return file.read()


def marked(content):
    return [line for line in content.decode('utf-8', 'surrogateescape').split('\n') if line.rstrip().endswith(MARK)]


def command_of(line, system='openwrt', cron='busybox'):
    """What cron hands to the shell. Only BusyBox's does nothing about %."""
    fields = line.split(None, 5 if system == 'openwrt' else 6)
    assert system == 'openwrt' or fields[5] == 'root'
    if cron == 'busybox':
        return fields[-1]
    assert not re.search(r'(?<!\\)%', fields[-1])
    return fields[-1].replace('\\%', '%')


def words_of(line, *more):
    """The words of the command that is run, without the test before it."""
    command = command_of(line, *more).partition(' && ')[2]
    words = subprocess.run(['sh', '-c', 'set -- %s\nprintf "%%s\\0" "$@"' % command.replace('# routerbench selftest', '')], stdout=subprocess.PIPE, check=True).stdout
    return words.decode('utf-8', 'surrogateescape').split('\0')[:-1]


class TestEverySystem:
    @EVERY_SYSTEM
    def test_install_show_remove(self, tmp_path, capfd, system):
        router = make(tmp_path, system)
        assert router.call('schedule', 'show') == 1
        assert capfd.readouterr() == ('', 'No self-test is in cron; `routerbench.py schedule install` puts one there.\n')
        assert router.call('schedule', 'install') == 0
        out, err = capfd.readouterr()
        content = crontab(router, system)
        assert err == '' and content.decode() == out and len(marked(content)) == 1 and content.count(b'\n') == 1
        assert router.call('schedule', 'show') == 0 and capfd.readouterr() == (out, '')
        assert router.call('schedule', 'remove') == 0 and capfd.readouterr() == ('', '')
        assert router.call('schedule', 'show') == 1
        if system != 'openwrt':
            assert not router.exists(SYSTEMS[system])
        assert router.leftovers() == []

    @EVERY_SYSTEM
    def test_twice_writes_nothing(self, tmp_path, capfd, system):
        router = make(tmp_path, system)
        router.call('schedule', 'install')
        path = router.here(SYSTEMS[system])
        os.utime(path, (1, 1))
        before = os.stat(path)
        runs = len(router.ran)
        assert router.call('schedule', 'install') == 0
        after = os.stat(path)
        assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
        assert not [argv for argv in router.ran[runs:] if 'cron' in argv[0]]

    @EVERY_SYSTEM
    def test_the_line(self, tmp_path, system):
        router = make(tmp_path, system)
        router.call('schedule', 'install')
        [line] = marked(crontab(router, system))
        user = '' if system == 'openwrt' else 'root '
        minute, hour = re.match(r'([0-9]{1,2}) ([345]) \* \* \* %s\[ -e \S+ \] && /' % user, line).groups()
        assert 0 <= int(minute) < 60 and (int(hour), int(minute)) == rb.cron_minute(router)
        assert words_of(line, system) == [sys.executable, AGENT, 'selftest'] and os.path.isabs(sys.executable)

    @EVERY_SYSTEM
    def test_modes(self, tmp_path, system):
        router = make(tmp_path, system)
        router.call('schedule', 'install')
        assert nightly.mode_of(router.here(SYSTEMS[system])) == (0o600 if system == 'openwrt' else 0o644)

    def test_the_mode_of_the_old_file_stays(self, openwrt):
        openwrt.lay(SYSTEMS['openwrt'], '# mine\n', 0o640)
        openwrt.call('schedule', 'install')
        assert nightly.mode_of(openwrt.here(SYSTEMS['openwrt'])) == 0o640

    @EVERY_SYSTEM
    def test_other_options_replace_the_line(self, tmp_path, system):
        router = make(tmp_path, system)
        router.call('schedule', 'install')
        router.call('schedule', 'install', 'openvpn', '--at', '23:05', '--cipher', 'aes-128-gcm')
        [line] = marked(crontab(router, system))
        assert line.startswith('5 23 * * * ') and words_of(line, system)[3:] == ['openvpn', '--cipher', 'aes-128-gcm']

    def test_r56_cron_is_told(self, openwrt):
        openwrt.call('schedule', 'install')
        with open(openwrt.here('/cron-was')) as file:
            assert file.read() == 'enable\nrestart\n'
        openwrt.call('schedule', 'remove')
        with open(openwrt.here('/cron-was')) as file:
            assert file.read().endswith('restart\n')

    def test_r56_no_service_to_tell(self, openwrt):
        os.unlink(openwrt.here('/etc/init.d/cron'))
        assert openwrt.call('schedule', 'install') == 0 and len(marked(crontab(openwrt))) == 1

    def test_removing_what_is_not_there_writes_nothing(self, openwrt):
        path = openwrt.lay(SYSTEMS['openwrt'], b'1 2 * * * mine')
        before = os.stat(path)
        assert openwrt.call('schedule', 'remove') == 0
        assert crontab(openwrt) == b'1 2 * * * mine' and os.stat(path).st_ino == before.st_ino
        assert not openwrt.exists('/cron-was')

    def test_removing_without_a_file(self, openwrt):
        assert openwrt.call('schedule', 'remove') == 0 and not openwrt.exists(SYSTEMS['openwrt'])

    def test_a_cron_d_file_with_a_line_of_somebody_stays(self, tmp_path):
        router = make(tmp_path, 'linux')
        router.call('schedule', 'install')
        with open(router.here(SYSTEMS['linux']), 'ab') as file:
            file.write(b'MAILTO=me\n')
        router.call('schedule', 'remove')
        assert crontab(router, 'linux') == b'MAILTO=me\n'

    def test_a_directory_that_cannot_be_written(self, tmp_path):
        """Said, without a traceback: by main()."""
        router = make(tmp_path, 'openwrt')
        shutil.rmtree(router.here('/etc/crontabs'))
        router.lay('/etc/crontabs', 'a file')
        status, out, err = nightly.process(tmp_path, 'schedule', 'install')
        assert status == rb.EXIT_FAILED and out == '' and err.startswith('routerbench: cannot go on: ') and err.count('\n') == 1

    @EVERY_SYSTEM
    def test_what_is_half_written_is_nothing_to_cron(self, tmp_path, monkeypatch, system):
        """cronie and FreeBSD's cron read every file in cron.d, BusyBox's every one in crontabs, but those with a dot in front."""
        names = []
        real = os.replace
        monkeypatch.setattr(os, 'replace', lambda old, new: (names.append(old), real(old, new)))
        router = make(tmp_path, system)
        router.call('schedule', 'install')
        assert len(names) == 1
        assert os.path.basename(names[0]).startswith('.') or os.path.dirname(names[0]) != os.path.dirname(router.here(SYSTEMS[system]))


OTHERS = [b'', b'# mine\n', b'1 2 * * * mine\n', b'no newline at the end', b'a\r\nb\r\n', b'caf\xe9 \xff\xfe\n', 'UTF-8 \u00e9\n'.encode(), b'\t# blanks \t \n',
          b'# it says # routerbench selftest in the middle\n', b'# routerbench selftest, and more\n', b'*/5 * * * * date +\\%s > /tmp/x\n', b'\n\n# blank lines before\n',
          b'a\n\n\n', b'a\n\nb\n\n', b'@reboot x\nMAILTO=""\nPATH=/bin\n', b'nul \0 byte\n', b'form\x0cfeed \x85 \x1c\x1d\n', b'\xe2\x80\xa8 line separator\n']


class TestOtherLines:
    """Untouched byte for byte, but for the newline that a last line lacks."""

    @pytest.mark.parametrize('others', OTHERS)
    def test_kept(self, openwrt, others):
        openwrt.lay(SYSTEMS['openwrt'], others)
        openwrt.call('schedule', 'install')
        content = crontab(openwrt)
        ended = others + b'\n' * (not others.endswith(b'\n') and bool(others))
        [line] = marked(content)
        assert content.replace(line.encode() + b'\n', b'') == ended
        before = os.stat(openwrt.here(SYSTEMS['openwrt']))
        openwrt.call('schedule', 'install')
        assert os.stat(openwrt.here(SYSTEMS['openwrt'])).st_ino == before.st_ino
        assert openwrt.call('schedule', 'install', '--at', '5:07') == 0 and len(marked(crontab(openwrt))) == 1
        openwrt.call('schedule', 'remove')
        assert crontab(openwrt) == ended

    def test_it_stays_in_its_place(self, openwrt):
        openwrt.lay(SYSTEMS['openwrt'], 'a\n0 0 * * * old %s\nb\n' % MARK)
        openwrt.call('schedule', 'install')
        lines = crontab(openwrt).decode().split('\n')
        assert (lines[0], lines[2:]) == ('a', ['b', '']) and lines[1].endswith(MARK) and 'old' not in lines[1]

    @pytest.mark.parametrize('end', ['\n', '\r\n', ' \n', ''])
    def test_several_become_one(self, openwrt, end):
        openwrt.lay(SYSTEMS['openwrt'], ('a\n0 0 * * * old %s\nb\n1 1 * * * older %s' % (MARK, MARK)).encode() + end.encode())
        openwrt.call('schedule', 'install')
        content = crontab(openwrt)
        assert len(marked(content)) == 1 and content.count(MARK.encode()) == 1 and b'old' not in content
        openwrt.call('schedule', 'remove')
        assert crontab(openwrt) == b'a\nb\n'

    def test_a_line_that_is_switched_off_is_no_schedule(self, openwrt, capfd):
        openwrt.lay(SYSTEMS['openwrt'], '#17 4 * * * /usr/bin/routerbench selftest %s\n' % MARK)
        assert openwrt.call('schedule', 'show') == 1
        openwrt.call('schedule', 'install')
        assert len([line for line in marked(crontab(openwrt)) if not line.startswith('#')]) == 1

    def test_a_long_crontab(self, openwrt):
        others = b''.join(b'%d %d * * * job-%06d\n' % (n % 60, n % 24, n) for n in range(60000))
        openwrt.lay(SYSTEMS['openwrt'], others)
        openwrt.call('schedule', 'install')
        openwrt.call('schedule', 'remove')
        assert crontab(openwrt) == others


class TestUsersCrontab:
    """Plain Linux without root: by the crontab command, here a double on PATH."""

    DOUBLE = '''
    store=%(store)s
    echo "$*" >> "$store.log"
    if [ -e "$store.broken" ]; then echo "crontab: error while reading: Input/output error" >&2; exit 1; fi
    case "$1" in
    -l) [ -e "$store" ] || { echo "no crontab for user" >&2; exit 1; }
        cat "$store" ;;
    -) cat > "$store" ;;
    *) exit 2 ;;
    esac
    '''

    @pytest.fixture
    def host(self, tmp_path):
        if os.path.exists('/etc/crontabs') or os.path.exists('/etc/openwrt_release'):
            pytest.skip('this system has BusyBox\'s crontabs')
        (tmp_path / 'bin').mkdir()
        write_tool(tmp_path / 'bin', 'crontab', self.DOUBLE % {'store': tmp_path / 'store'})

        class User(rb.LocalHost):
            def is_root(self):
                return False
        host = User(environment={'PATH': '%s:/usr/bin:/bin' % (tmp_path / 'bin'), 'HOME': '/'})
        host.store = tmp_path / 'store'
        host.log = lambda: (tmp_path / 'store.log').read_text().splitlines()
        yield host
        host.close()

    @staticmethod
    def call(host, *words):
        return rb.schedule_command(host, rb.read_arguments(('schedule',) + words), None)

    def test_install_show_remove(self, host, capfd):
        assert rb.cron_place(host) == rb.CronPlace(None, None)
        assert self.call(host, 'show') == 1
        assert self.call(host, 'install') == 0
        out = capfd.readouterr().out
        assert host.store.read_text() == out and re.match(r'\d+ [345] \* \* \* \[', out) and out.endswith(MARK + '\n')
        assert self.call(host, 'show') == 0 and capfd.readouterr().out == out
        assert self.call(host, 'remove') == 0 and host.store.read_text() == '' and self.call(host, 'show') == 1

    def test_twice_writes_nothing(self, host):
        self.call(host, 'install')
        self.call(host, 'install')
        assert host.log().count('-') == 1

    def test_removing_what_is_not_there_writes_nothing(self, host):
        host.store.write_text('mine')
        self.call(host, 'remove')
        assert '-' not in host.log() and host.store.read_text() == 'mine'

    @pytest.mark.parametrize('others', [one for one in OTHERS if b'\0' not in one])
    def test_other_lines(self, host, others):
        host.store.write_bytes(others)
        self.call(host, 'install')
        ended = others + b'\n' * (not others.endswith(b'\n') and bool(others))
        assert len(marked(host.store.read_bytes())) == 1
        self.call(host, 'remove')
        assert host.store.read_bytes() == ended

    def test_a_crontab_that_cannot_be_read_is_not_replaced(self, host):
        """`no crontab for user` is an empty one; any other failure is not."""
        host.store.write_text('mine\n')
        broken = str(host.store) + '.broken'
        open(broken, 'w').close()
        try:
            self.call(host, 'install')
        except (OSError, rb.RouterbenchError):
            pass
        assert '-' not in host.log() and host.store.read_text() == 'mine\n'

    def test_a_reader_that_fails_once(self, host, tmp_path):
        """It fails to read, and would write."""
        host.store.write_text('mine\n')
        write_tool(tmp_path / 'bin', 'crontab', 'if [ "$1" = -l ]; then echo "crontab: fork: Cannot allocate memory" >&2; exit 1; fi\ncat > %s\n' % host.store)
        with pytest.raises((OSError, rb.RouterbenchError)):
            self.call(host, 'install')
        assert host.store.read_text() == 'mine\n'

    def test_a_long_crontab_is_kept_or_refused(self, host):
        others = b''.join(b'%d %d * * * job-%06d\n' % (n % 60, n % 24, n) for n in range(6000))
        host.store.write_bytes(others)
        try:
            self.call(host, 'install')
        except (OSError, rb.RouterbenchError):
            pass
        assert host.store.read_bytes().startswith(others)

    def test_a_writer_that_fails_is_said(self, host, tmp_path):
        write_tool(tmp_path / 'bin', 'crontab', '[ "$1" = -l ] && exit 0\ncat > /dev/null; echo "you are not allowed to use this program" >&2; exit 1\n')
        with pytest.raises(rb.RouterbenchError, match='not allowed'):
            self.call(host, 'install')

    def test_no_crontab_command(self, tmp_path):
        class User(rb.LocalHost):
            def is_root(self):
                return False

            def find(self, command):
                return None if command == 'crontab' else super().find(command)

            def start(self, argv, talk=False):
                return super().start(('/no/such/crontab',) if argv[0] == 'crontab' else argv, talk)
        host = User(environment={'PATH': str(tmp_path)})
        with pytest.raises(rb.RouterbenchError, match='crontab'):
            self.call(host, 'install')
        host.close()


class TestMinute:
    @pytest.mark.parametrize('text,start', [('03:17', '17 3 '), ('0:00', '0 0 '), ('23:59', '59 23 '), ('5:07', '7 5 ')])
    def test_at(self, openwrt, text, start):
        assert openwrt.call('schedule', 'install', '--at', text) == 0
        assert marked(crontab(openwrt))[0].startswith(start + '* * * ')

    @pytest.mark.parametrize('text', ['24:00', '3:60', '3', '3:5', '03:17:00', '', '-1:00', '3:17pm', '*:00', '3:17\n', '\u0663:17', '1 * * * * x'])
    def test_at_what_is_no_time(self, openwrt, capfd, text):
        with pytest.raises(SystemExit) as ended:
            openwrt.call('schedule', 'install', '--at=' + text)
        assert ended.value.code == rb.EXIT_USAGE and 'a time of day is wanted' in capfd.readouterr().err
        assert not openwrt.exists(SYSTEMS['openwrt'])

    def test_of_this_machine(self, tmp_path):
        assert rb.cron_minute(make(tmp_path / 'a', 'openwrt')) == rb.cron_minute(make(tmp_path / 'b', 'openwrt'))

    @pytest.mark.parametrize('path,content', [
        ('sys/class/net/tun0/address', ''), ('sys/class/net/ppp0/address', '\n'), ('sys/class/net/veth12ab/address', '7a:01:02:03:04:05\n'),
        ('sys/class/net/wg0/address', '00:00:00:00:00:00\n'), ('sys/class/net/docker0/address', '02:42:ac:11:00:02\n')])
    def test_an_interface_that_comes_and_goes_changes_nothing(self, openwrt, path, content):
        """A tunnel that is up today: the schedule stays as it is."""
        openwrt.call('schedule', 'install')
        before = crontab(openwrt)
        openwrt.lay(path, content)
        openwrt.call('schedule', 'install')
        assert crontab(openwrt) == before

    def test_a_fleet_does_not_start_at_once(self, tmp_path):
        router = make(tmp_path, 'openwrt')
        found = []
        for number in range(150):
            router.lay('sys/class/net/eth0/address', '02:00:00:00:%02x:%02x\n' % divmod(number, 256))
            found.append(rb.cron_minute(router))
        assert all(3 <= hour <= 5 and 0 <= minute < 60 for hour, minute in found)
        assert len(set(found)) > 75 and max(map(found.count, found)) < 9

    def test_freebsd_by_its_name(self, tmp_path):
        router = make(tmp_path, 'freebsd')
        found = set()
        for name in ('fw1', 'fw2', 'fw3', 'fw4'):
            router.answers['hostname'] = lambda argv, name=name: rb.Ran(argv, 0, name + '\n')
            found.add(rb.cron_minute(router))
        assert len(found) > 1


class TestWords:
    """What is in the line is what was asked for, as a shell under cron reads it."""

    def installed(self, router, *words, cron='busybox'):
        router.call('schedule', 'install', *words)
        return words_of(marked(crontab(router))[0], 'openwrt', cron)

    def test_only_what_is_not_as_usual(self, openwrt):
        assert self.installed(openwrt, '--wait', '10m', '--budget', '300')[2:] == ['selftest']

    @pytest.mark.parametrize('words', [
        ['openvpn'], ['openvpn', 'openssl'], ['--cipher', 'aes-256-gcm,aes-128-cbc'], ['--auth', 'SHA256'], ['--wait', '0s'], ['--wait', '90s', '--budget', '1000s'],
        ['--budget', '0.5s'], ['--format', 'prometheus', '--output', '/var/prometheus/routerbench.prom'], ['--format', 'line']])
    def test_as_given(self, openwrt, words):
        assert self.installed(openwrt, *words)[2:] == ['selftest', *words]

    @pytest.mark.parametrize('wait', ['0', '1', '90s', '1h', '123456', '1234567', '300h', '12.25', '0.0001'])
    def test_times_arrive_as_they_were(self, openwrt, wait):
        words = self.installed(openwrt, '--wait', wait, '--budget', wait if float(rb.parse_clock(wait)) else '1')
        given = rb.read_arguments(words[2:])
        assert given.wait == rb.parse_clock(wait) and given.budget == (rb.parse_clock(wait) or 1)

    def test_whole_paths(self, openwrt, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        words = self.installed(openwrt, '--journal', 'j.jsonl', '--baseline', '../b.json', '--output', './x/y.prom', '--format', 'prometheus')
        given = rb.read_arguments(words[2:])
        assert given.journal == str(tmp_path / 'j.jsonl') and given.baseline == str(tmp_path.parent / 'b.json') and given.output == str(tmp_path / 'x/y.prom')

    @pytest.mark.parametrize('cron', ['busybox', 'vixie'])
    @pytest.mark.parametrize('name', ['plain', 'my disk', "it's", '100%', 'a % b', 'my disk 100%', '$HOME', '`id`', 'a;b', 'a&b', 'a#b', ' # c', '"x"', 'back\\slash', 'caf\u00e9', '*',
                                      '-x', '%d%%', "'%'"])
    def test_names_that_need_quotes(self, openwrt, name, cron):
        words = self.installed(openwrt, '--journal', '/mnt/%s/j' % name, cron=cron)
        assert words[2:] == ['selftest', '--journal', '/mnt/%s/j' % name]

    @pytest.mark.parametrize('name', ['a\nb', '\n* * * * * root id'])
    def test_a_name_with_a_line_end_makes_no_line(self, openwrt, name):
        try:
            openwrt.call('schedule', 'install', '--journal', '/mnt/' + name)
        except (OSError, ValueError, rb.RouterbenchError, SystemExit):
            return
        content = crontab(openwrt)
        assert content.count(b'\n') == 1

    def test_the_command_of_a_package(self, openwrt, tmp_path):
        for command in ('/usr/bin/routerbench', '/usr/local/my bin/routerbench'):
            openwrt.environment['ROUTERBENCH_COMMAND'] = command
            assert self.installed(openwrt, 'openvpn') == [command, 'selftest', 'openvpn']
            assert '[ -x ' in marked(crontab(openwrt))[0]

    def test_an_installed_program_is_its_own_command(self, openwrt, tmp_path, monkeypatch):
        path = write_tool(tmp_path, 'routerbench', 'exit 0\n')
        monkeypatch.setattr(rb, '__file__', path)
        assert self.installed(openwrt) == [path, 'selftest']

    def test_r54_the_interpreter_by_its_whole_path(self, openwrt, monkeypatch):
        monkeypatch.setattr(sys, 'executable', '/usr/local/bin/python3.11')
        assert self.installed(openwrt)[0] == '/usr/local/bin/python3.11'


CRON_SHELLS = [('/bin/sh', '-c'), ('busybox', 'ash', '-c')]


class TestTheLineRuns:
    """By a shell, in the environment that cron gives."""

    ENVIRONMENT = ['env', '-i', 'PATH=/usr/bin:/bin', 'HOME=/', 'SHELL=/bin/sh']

    def command(self, router, *words):
        router.call('schedule', 'install', *words)
        return command_of(marked(crontab(router))[0])

    def run(self, shell, command, before=()):
        if not shutil.which(shell[0]):
            pytest.skip('no ' + shell[0])
        return subprocess.run([*before, *self.ENVIRONMENT, shutil.which(shell[0]), *shell[1:], command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60, cwd='/')

    @pytest.mark.parametrize('shell', CRON_SHELLS)
    def test_r55_it_leaves_a_line_in_the_journal(self, openwrt, tmp_path, shell, capfd):
        """A cipher that nobody has takes no time; a line about that is a line."""
        place = tmp_path / 'my disk'
        command = self.command(openwrt, 'openvpn', '--cipher', 'no-such', '--wait', '0', '--journal', str(place / 'j'), '--baseline', str(place / 'b'))
        done = self.run(shell, command)
        assert done.returncode == rb.EXIT_NOTHING and done.stdout == b'' and done.stderr.count(b'\n') == 1, done.stderr
        lines = (place / 'j').read_text().splitlines()
        assert len(lines) == 1 and json.loads(lines[0])['status'] == 'skipped'
        assert os.listdir(str(place)) == ['j']

    @pytest.mark.parametrize('shell', CRON_SHELLS)
    def test_a_command_with_odd_letters(self, openwrt, tmp_path, shell, capfd):
        (tmp_path / "my bin's").mkdir()
        openwrt.environment['ROUTERBENCH_COMMAND'] = write_tool(tmp_path / "my bin's", 'routerbench', 'for one; do printf "%s\\n" "$one"; done\n')
        done = self.run(shell, self.command(openwrt, 'openvpn', '--journal', '/mnt/a $b `c`'))
        assert (done.returncode, done.stderr) == (0, b'')
        assert done.stdout.decode().splitlines() == ['selftest', 'openvpn', '--journal', '/mnt/a $b `c`']

    @pytest.mark.parametrize('shell', CRON_SHELLS)
    @pytest.mark.parametrize('packaged', [True, False])
    def test_silence_where_the_program_has_gone(self, openwrt, tmp_path, shell, packaged, monkeypatch, capfd):
        if packaged:
            openwrt.environment['ROUTERBENCH_COMMAND'] = str(tmp_path / 'gone')
        else:
            monkeypatch.setattr(rb, '__file__', str(tmp_path / 'gone.py'))
        done = self.run(shell, self.command(openwrt))
        assert done.stdout == done.stderr == b''

    @pytest.mark.skipif(os.geteuid() != 0, reason='needs root')
    @pytest.mark.parametrize('shell', CRON_SHELLS)
    def test_r55_openvpn_only_in_usr_local_sbin(self, openwrt, tmp_path, shell, capfd):
        (tmp_path / 'bin').mkdir()
        write_tool(tmp_path / 'bin', 'openvpn', 'echo "OpenVPN 9.8.7 made-up [SSL (OpenSSL)]"; echo "library versions: OpenSSL 3.0.19 27 Jan 2026"; exit 0\n')
        (tmp_path / 'locks').mkdir()
        command = self.command(openwrt, 'openvpn', '--cipher', 'aes-256-cbc', '--wait', '0', '--journal', str(tmp_path / 'j'), '--baseline', str(tmp_path / 'b'))
        script = 'mount --make-rprivate / 2>/dev/null; mount --bind %s /usr/local/sbin && mount --bind %s /run/lock && exec "$@"' % (tmp_path / 'bin', tmp_path / 'locks')
        if not shutil.which('unshare') or subprocess.call(['unshare', '-m', 'sh', '-c', script, 'sh', 'true'], stderr=subprocess.DEVNULL) or not os.path.isdir('/run/lock'):
            pytest.skip('no mount namespaces here')
        self.run(shell, command, ['unshare', '-m', 'sh', '-c', script, 'sh'])
        [line] = (tmp_path / 'j').read_text().splitlines()
        assert json.loads(line)['tool'] == 'OpenVPN 9.8.7' or 'reason' in json.loads(line) and json.loads(line)['reason'] == 'output-unknown'


class TestInfo:
    @EVERY_SYSTEM
    def test_says_that_there_is_none(self, tmp_path, capfd, system):
        router = make(tmp_path, system)

        def notes():
            capfd.readouterr()
            assert router.call('info', '--quiet') == 0
            return json.loads(capfd.readouterr().out)['notes']
        assert any('schedule install' in note for note in notes())
        router.call('schedule', 'install')
        assert not any('schedule install' in note for note in notes())
        router.call('schedule', 'remove')
        assert any('schedule install' in note for note in notes())

    def test_r59_and_that_the_clock_is_unset(self, openwrt, capfd):
        openwrt.wall = 37.0
        openwrt.call('info', '--quiet')
        assert any('The clock is not set' in note for note in json.loads(capfd.readouterr().out)['notes'])


class TestUsage:
    @pytest.mark.parametrize('words', [(), ('nosuch',), ('install', 'nosuch'), ('install', '--wait', 'soon'), ('install', '--format', 'xml'), ('install', '--accept')])
    def test_wrong(self, openwrt, capfd, words):
        with pytest.raises(SystemExit) as ended:
            openwrt.call('schedule', *words)
        assert ended.value.code == rb.EXIT_USAGE

    @pytest.mark.parametrize('words', [('--at', '3:17', 'install', 'openvpn'), ('install', '--at', '3:17', 'openvpn'), ('install', 'openvpn', '--at', '3:17'), ('install', '--at=3:17', 'openvpn'),
                                       ('--quiet', 'install', 'openvpn', '--at', '3:17')])
    def test_in_any_order(self, openwrt, words):
        openwrt.call('schedule', *words)
        [line] = marked(crontab(openwrt))
        assert line.startswith('17 3 ') and words_of(line)[3:] == ['openvpn']
