"""A router for the self-test's tests: a directory with real files, an openvpn that only tells how long it took, a
clock that only moves when told. Run as a program it is the agent on such a router, for what has to be a process."""

import json
import os
import re
import stat
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE] if __name__ == '__main__' else []

import routerbench as rb  # noqa: E402
from fakes import FakeOpenvpn  # noqa: E402

KEY = 'openvpn aes-256-cbc SHA1'
CIPHER = ('openvpn', '--cipher', 'aes-256-cbc')
ONE_RUN = 4.0  # seconds of a run at its usual speed
LocalHost = rb.LocalHost


def openvpn(slow=1.0, version='2.6'):
    """An openvpn that takes `slow` times as long as usual: a number, or a function that gives one."""
    byte = ONE_RUN / rb.total_bytes(20168)
    costs = {'AES-256-CBC': (0.0, 0.0, byte), 'AES-128-CBC': (0.0, 0.0, byte / 2), 'none': (0.0, 0.0, byte / 50)}
    return FakeOpenvpn(version, costs, slow if callable(slow) else lambda: slow)


class Router(LocalHost):
    """LocalHost with its files below a directory; only what lies there as a program is really run."""

    def __init__(self, root, tool=None, system=('Linux', '5.15.150', 'mips'), user=0, environment=None):
        super().__init__(str(root), environment or {'PATH': '/usr/bin:/bin', 'HOME': '/root'})
        self.tool, self.system, self.user = tool or openvpn(), system, user
        self.logged, self.ran, self.yielded = [], [], False
        self.answers = {'logger': lambda argv: rb.Ran(argv, 0)}
        self.wall, self.elapsed, self.others = 1.8e9, 0.0, 0.0
        for path, text in (('tmp/private/key', 'a key'), ('etc/os-release', 'ID="openwrt"\nNAME="OpenWrt"\nVERSION="23.05.3"\nPRETTY_NAME="OpenWrt 23.05.3"\n'), ('run/lock/.here', ''),
                           ('proc/cpuinfo', 'system type : Example\ncpu model : MIPS 24Kc V7.4\nprocessor : 0\n')):
            if not os.path.exists(self._path(path)):
                self.lay(path, text)

    def lay(self, path, content, mode=0o644):
        """Put a file there; its path here."""
        path = self._path(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(path, mode)
        return path

    def now(self):
        return self.wall + self.elapsed

    def clock(self):
        return self.elapsed

    def used(self):
        return 0.0

    def sleep(self, seconds):
        self._look()
        self.elapsed += seconds

    def read_bytes(self, path, limit=1 << 18):
        if path == '/proc/stat':
            busy = round(100 * self.elapsed * self.others)
            return ('cpu  %d 0 0 %d 0 0 0 0 0 0\n' % (busy, 1e6)).encode()
        return super().read_bytes(path, limit)

    def private_path(self, name):
        return '/tmp/private/' + name

    def uname(self):
        return self.system

    def is_root(self):
        return self.user == 0

    def only_one(self, name):
        return True  # the lock is held until a process ends

    def yield_to_others(self):
        self.yielded = True

    def _program(self, name):
        """The program that lies below the directory."""
        places = [name] if '/' in name else [os.path.join(place, name) for place in self.environment['PATH'].split(':')]
        return next((self._path(place) for place in places if os.access(self._path(place), os.X_OK)), None)

    def find(self, command):
        known = command in self.answers or command == 'openvpn' and self.tool
        return '/usr/bin/' + command if known else super().find(command)

    def run_all(self, commands, limit, tick=rb.no_tick, silence=0.0):
        self._look()
        rans = [self._answer(tuple(argv)) for argv in commands]
        if max(ran.seconds for ran in rans) > rb.FIRST_TICK:
            tick(rb.FIRST_TICK)
        self.elapsed += max(ran.seconds for ran in rans)
        return rans

    def _answer(self, argv):
        self.ran.append(argv)
        if argv[0] == 'openvpn' and self.tool:
            return self.tool(argv)
        if argv[0] in self.answers:
            self.logged += [argv] * (argv[0] == 'logger')
            return self.answers[argv[0]](argv)
        program = self._program(argv[0])
        if not program:
            return rb.Ran(argv, 127, err='%s: not found' % argv[0])
        done = subprocess.run([program, *argv[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20)
        return rb.Ran(argv, done.returncode, done.stdout.decode('utf-8', 'replace'), done.stderr.decode('utf-8', 'replace'))

    def feed(self, argv, text):
        raise AssertionError('the system\'s own %s is not for tests' % argv[0])

    # what a test asks

    def call(self, *words):
        """Run a command of the agent here; its exit status."""
        arguments = rb.read_arguments(words)
        command = {'selftest': rb.selftest_command, 'schedule': rb.schedule_command, 'info': rb.info_command}[arguments.command]
        return command(self, arguments, None if arguments.quiet else rb.Terminal(self.environment, self.clock))

    def night(self, *words):
        """Run the self-test, a day after the last."""
        self.elapsed += 86400
        return self.call('selftest', *(words or CIPHER))

    def usual_places(self):
        return rb.usual_places(self)

    def here(self, path):
        return self._path(path)

    def state(self):
        return rb.parse_state(self.text(self.usual_places().baseline))

    def keep(self, state):
        self.lay(self.usual_places().baseline, rb.state_text(state))

    def journal(self):
        """The lines of the journal, strictly: each is one object with all keys, and ends."""
        data = self.read_bytes(self.usual_places().journal, 1 << 24) if self.exists(self.usual_places().journal) else b''
        assert data.endswith(b'\n') or not data
        found = [json.loads(line.decode()) for line in data.splitlines()]
        assert all(list(one) == list(rb.Line._fields) for one in found)
        return [rb.Line(**one) for one in found]

    def learned(self, nights=rb.BASELINE_NIGHTS, **about):
        """Let it know what is usual; what a line depends on may have been another then."""
        self.night()
        one = self.state().series[KEY]
        known = one._replace(rates=one.rates * nights, about=dict(one.about, **about))
        self.keep(rb.State({KEY: known}, {}))
        os.unlink(self.here(self.usual_places().journal))
        self.logged.clear()
        return self

    def leftovers(self):
        """Temporary files and markers."""
        return [os.path.join(place, name) for place, _, names in os.walk(self.root) for name in names
                if re.search(r'\.new|\.running|\.tmp', name)]


def process(root, *words, wait=True, **environment):
    """The agent as a process on such a router."""
    started = subprocess.Popen([sys.executable, os.path.abspath(__file__), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=dict({'PATH': '/usr/bin:/bin', 'ROUTER': str(root)}, **environment))
    if not wait:
        return started
    out, err = started.communicate(timeout=30)
    return started.returncode, out.decode(), err.decode()


class Waiting:
    """An openvpn that does not end before a file is there. HOLD names it; `NAME.PID` says that it was begun."""

    def __init__(self, router, path):
        self.router, self.path, self.tool = router, path, openvpn()

    def __call__(self, argv):
        if '--test-crypto' in argv and not os.path.exists(self.path):
            with open('%s.%d' % (self.path, os.getpid()), 'w'):
                pass
            while not os.path.exists(self.path):
                super(Router, self.router).sleep(0.01)
        return self.tool(argv)


class ProcessRouter(Router):
    """What the environment says about it: SLOW, HOLD."""

    def __init__(self):
        super().__init__(os.environ['ROUTER'], environment=dict(os.environ))
        self.tool = openvpn(float(os.environ.get('SLOW', 1)))
        if 'HOLD' in os.environ:
            self.tool = Waiting(self, os.environ['HOLD'])

    def only_one(self, name):
        return LocalHost.only_one(self, name)


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


if __name__ == '__main__':
    rb.LocalHost = ProcessRouter
    sys.exit(rb.main())
