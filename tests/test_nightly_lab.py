"""The self-test under a real cron: BusyBox's crond, minute by minute, with mounts that only it sees, so that it finds the openvpn
and the logger of this test where cron's short PATH does not lead. `pytest --lab`; root; about five minutes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

import routerbench as rb
from fakes import write_tool

pytestmark = pytest.mark.lab

CIPHER = 'aes-256-cbc'
KEY = 'openvpn aes-256-cbc SHA1'

# Works for a time of its processor, as long as the real one would by the square of the longest packet.
BURNER = r'''#!%s -S
import sys, time
words = sys.argv[1:]
if words[0] == '--version':
    print('OpenVPN %s x86_64-pc-linux-gnu [SSL (OpenSSL)] [AEAD] [DCO]\nlibrary versions: OpenSSL 3.0.19 27 Jan 2026, LZO 2.10')
    sys.exit()
if words[0] == '--genkey':
    open(words[2], 'w').write('key')
    sys.exit()
given = dict(zip(words[1::2], words[2::2]))
longest = max(int(given['--tun-mtu']), 1600) + 168
if int(given['--verb']):
    print('TESTING ENCRYPT/DECRYPT of packet length=%%d' %% longest)
seconds = (0.02 if given['--cipher'] == 'none' else %s) * (longest / 20168.0) ** 2
while time.process_time() < seconds:
    pass
'''

STARTED = '''
set -e
mount --make-rprivate / 2>/dev/null || :
mount --bind "$1/bin" /usr/local/sbin
mount --bind "$1/locks" /run/lock
mount --bind "$1/stat" /proc/stat
for real in /usr/sbin/openvpn /usr/bin/openvpn /usr/bin/logger; do [ ! -e $real ] || mount --bind /dev/null $real; done
exec "$2" crond -f -c "$1/crontabs" -L "$1/log" -l 0
'''


class Cron:
    """crond in a directory of ours; `fires` is how often the line has brought a result into the journal."""

    def __init__(self, place, busybox):
        self.place, self.busybox = place, busybox
        for name in ('bin', 'locks', 'crontabs', 'my state'):
            os.mkdir(self.path(name))
        with open('/proc/stat') as there, open(self.path('stat'), 'w') as here:  # nobody else ever works on this machine
            here.write(there.read())
        write_tool(self.path('bin'), 'logger', 'echo "$*" >> %s\n' % self.path('syslog'))
        self.openvpn('2.6.14', 0.3)
        self.process = None

    def path(self, *names):
        return os.path.join(self.place, *names)

    def openvpn(self, version, seconds):
        new = self.path('bin', '.openvpn')
        with open(new, 'w') as file:
            file.write(BURNER % (sys.executable, version, seconds))
        os.chmod(new, 0o755)
        os.rename(new, self.path('bin', 'openvpn'))

    def line(self, *words):
        """What `schedule install` would write, but for every minute, and with a file where others have mail."""
        host = rb.LocalHost(environment={})
        line = rb.cron_line(host, rb.CronPlace('/etc/crontabs/root', None), None, words)
        host.close()
        command = line.split(None, 5)[5]
        assert command.endswith(rb.CRON_MARK)
        return '* * * * * %s 2>> %s %s' % (command[:-len(rb.CRON_MARK)], self.path('mail'), rb.CRON_MARK)

    def start(self, *lines):
        with open(self.path('crontabs', 'root'), 'w') as file:
            file.write('\n'.join(lines) + '\n')
        self.process = subprocess.Popen(['unshare', '-m', 'sh', '-c', STARTED, 'sh', self.place, self.busybox], env={'PATH': '/usr/sbin:/usr/bin:/sbin:/bin', 'HOME': '/', 'SHELL': '/bin/sh'},
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            deadline = time.monotonic() + 60  # for a self-test that it has started
            while self.running() and time.monotonic() < deadline:
                time.sleep(0.1)

    def running(self):
        return os.path.exists(self.path('my state', 'baseline.json.running'))

    def text(self, *names):
        try:
            with open(self.path(*names), encoding='utf-8') as file:
                return file.read()
        except FileNotFoundError:
            return ''

    def lines(self):
        return [json.loads(line) for line in self.text('my state', 'journal.jsonl').splitlines()]

    def runs(self):
        """The runs that count, by their ids, in their order."""
        good = [line for line in self.lines() if line['status'] == 'ok' and not set(line['warnings']) & set(rb.NOT_COUNTED)]
        return list(dict.fromkeys(line['run'] for line in good))

    def next_run(self, after):
        """Wait for one more that counts, and until it is over; what it left in the mail and in the journal."""
        deadline = time.monotonic() + 75 * 3  # a night that is disturbed does not count
        while (len(self.runs()) <= after or self.running()) and time.monotonic() < deadline:
            assert self.process.poll() is None, self.text('log')
            time.sleep(0.2)
        assert len(self.runs()) > after, 'crond: %s\nmail: %s\njournal: %s' % (self.text('log'), self.text('mail'), self.text('my state', 'journal.jsonl'))
        time.sleep(1.5)  # for what it says at the end
        return self.text('mail')


def has_crond(busybox):
    """Debian's package `busybox` has none, `busybox-static` has."""
    return bool(busybox) and 'crond' in subprocess.run([busybox, '--list'], stdout=subprocess.PIPE).stdout.decode().split()


def fetched(place):
    """The busybox of the package busybox-static, unpacked and not installed; None if apt cannot get it."""
    os.mkdir(place)
    if subprocess.call(['apt-get', '-q', 'download', 'busybox-static'], cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        return None
    subprocess.check_call(['dpkg-deb', '-x', os.path.join(place, os.listdir(place)[0]), place])
    return next((path for path in (os.path.join(place, name, 'busybox') for name in ('bin', 'usr/bin')) if os.path.exists(path)), None)


@pytest.fixture
def cron(tmp_path):
    why = 'needs root' if os.geteuid() else None if shutil.which('apt-get') else 'needs apt'
    if not why and subprocess.call(['unshare', '-m', 'true'], stderr=subprocess.DEVNULL):
        why = 'needs mount namespaces'
    busybox = None
    if not why:
        busybox = shutil.which('busybox') if has_crond(shutil.which('busybox')) else fetched(str(tmp_path / 'package'))
        why = None if has_crond(busybox) else 'needs a busybox with crond'
    if why:
        (pytest.fail if os.environ.get('CI') == 'true' else pytest.skip)('the lab ' + why)
    (tmp_path / 'cron').mkdir()
    made = Cron(str(tmp_path / 'cron'), busybox)
    yield made
    made.stop()


def test_crond_fires_it_and_a_regression_is_said_once(cron):
    words = rb.selftest_words(rb.read_arguments(['selftest', 'openvpn', '--cipher', CIPHER, '--budget', '5', '--wait', '0', '--journal', cron.path('my state', 'journal.jsonl'),
                                                 '--baseline', cron.path('my state', 'baseline.json')]))
    probe = cron.path('percent')
    cron.start('# somebody else\'s', '* * * * * echo a\\%%b \'c\\%%d\' > %s' % probe, cron.line(*words))

    assert cron.next_run(0) == ''
    [line] = [line for line in cron.lines() if line['status'] == 'ok'][-1:]
    assert (line['test'], line['cipher'], line['tool']) == ('openvpn', CIPHER, 'OpenVPN 2.6.14')
    assert cron.text('percent') == 'a%b c\\%d\n'  # BusyBox's cron leaves % to the shell: test_schedule.py relies on that

    baseline = cron.path('my state', 'baseline.json')
    state = rb.parse_state(cron.text('my state', 'baseline.json'))
    rates = tuple(round(line['mbit_s'] * (1 - 0.04 * (night % 5) / 4), 3) for night in range(rb.BASELINE_NIGHTS))
    known = rb.State({KEY: state.series[KEY]._replace(rates=rates)}, {})
    with open(baseline + '.test', 'w') as file:
        file.write(rb.state_text(known))
    os.rename(baseline + '.test', baseline)
    cron.openvpn('2.6.15', 0.7)

    seen = len(cron.runs())
    assert cron.next_run(seen) == ''
    for more in range(1, 8):  # the second, unless this machine is so uneven that slow nights disagree
        report = cron.next_run(seen + more)
        if report:
            break
    assert report.count('\n') == 1, [(line['mbit_s'], line['warnings']) for line in cron.lines()]
    assert KEY in report and 'slower than usual' in report and '; since then: tool OpenVPN 2.6.14 -> OpenVPN 2.6.15' in report
    assert cron.next_run(seen + more + 1) == report
    assert cron.text('syslog').count('slower') == 1 and cron.text('syslog').startswith('-t routerbench -p user.warning -- ' + KEY)
    assert os.listdir(cron.path('locks')) and cron.text('crontabs', 'root').startswith("# somebody else's\n")
