"""The other end of an ssh connection, without one: ssh clients that are small scripts, run what they are
given in a shell of this machine, and say what real ones say."""

import os
import shutil
import time

import routerbench as rb
from fakes import context_of, write_tool

WHERE = rb.Destination('root@192.0.2.1')
OPENSSH, OLD_DBCLIENT, DBCLIENT = 'OpenSSH_9.2p1 Debian-2, OpenSSL 3.0.11 19 Sep 2023', 'Dropbear v2022.83', 'Dropbear v2024.86'

# $word is the command for the other end, $talk is set for the shell that answers questions. What a case
# adds: `before` the login, `shell` and `after` it, `agree`s on what ciphers, and `only` for one kind of command.
CLIENT = r'''
case "$1" in
-V) printf '%s\n' 'VERSION' >&2; exit 0;;
-Q) printf '%s\n' ssh-rsa ssh-ed25519 diffie-hellman-group14-sha1 hmac-sha1 aes128-cbc aes256-cbc; exit 0;;
esac
printf '%s\n' "$*" >> "$0.log"
FAKE_CIPHER=chacha20-poly1305@openssh.com; debug=; previous=
for word; do
    [ "$previous" != -c ] || FAKE_CIPHER=$word
    case "$word" in LogLevel=DEBUG1) debug=1;; esac
    destination=$previous; previous=$word
done
export FAKE_CIPHER
talk=; [ "$word" != 'exec /bin/sh' ] || talk=1
agree() { [ -z "$debug" ] || for way in 'server->client' 'client->server'; do
    printf 'debug1: kex: %s cipher: %s MAC: %s compression: %s\n' "$way" "$1" "$2" "${3:-none}" >&2; done; }
refuse() { printf '%s\n' "$1" >&2; exit "${2:-255}"; }
[ -z "$debug" ] || printf '%s\n' 'VERSION' 'debug1: Remote protocol version 2.0, remote software version dropbear_2022.83' >&2
BEFORE
AGREE
[ -z "$debug" ] || printf '%s\n' 'Authenticated to 192.0.2.1 ([192.0.2.1]:22) using "publickey".' 'debug1: Sending command' >&2
AFTER
RUN
'''
# The far shell in a session of its own, so that it outlives a client that is killed, as at a real server.
APART = r'''
mkfifo "$0.$$"; setsid SHELL -c "$word" < "$0.$$" & exec cat > "$0.$$"
'''


class FarSide:
    """Tools and temporary files of both ends, and the near one's host."""

    def __init__(self, folder, **environment):
        self.folder, self.bin, self.tmp = str(folder), os.path.join(str(folder), 'bin'), os.path.join(str(folder), 'tmp')
        os.mkdir(self.bin)
        os.mkdir(self.tmp)
        self.notes = []
        self.near = rb.LocalHost(environment=dict({'PATH': self.bin + ':/usr/bin:/bin', 'TMPDIR': self.tmp, 'HOME': '/'}, **environment))
        self.hosts = []

    def client(self, before='', after='', agree='agree "$FAKE_CIPHER" hmac-sha1', run='exec SHELL -c "$word"', shell='sh',
               version=OPENSSH, name='ssh'):
        """Write the ssh client."""
        body = CLIENT
        for key, text in (('BEFORE', before), ('AGREE', agree), ('AFTER', after), ('RUN', run), ('SHELL', shell), ('VERSION', version)):
            body = body.replace(key, text)
        return write_tool(self.bin, name, body)

    def host(self, *words, **more):
        """A SshHost behind that client; it asks nothing yet."""
        legacy = more.pop('legacy', False)
        host = rb.SshHost(self.near, rb.SshClient(self.near, words, legacy), more.pop('where', WHERE), self.notes.append)
        self.hosts.append(host)
        return host

    def commands(self, name='ssh'):
        """What the client was called with, one line each."""
        try:
            with open(os.path.join(self.bin, name + '.log')) as file:
                return file.read().splitlines()
        except OSError:
            return []

    def left(self):
        """What lies in the directory for temporary files, after a moment in which it may go."""
        until(lambda: not os.listdir(self.tmp), 2)
        return os.listdir(self.tmp)

    def close(self):
        for host in self.hosts:
            host.close()
        self.near.close()


def until(true, limit=5.0):
    """Wait for a moment until it is so; whether it is."""
    deadline = time.monotonic() + limit
    while not true() and time.monotonic() < deadline:
        time.sleep(0.01)
    return bool(true())


def running(mark):
    """The processes that have this in their command line."""
    found = []
    for pid in os.listdir('/proc'):
        try:
            with open('/proc/%s/cmdline' % pid, 'rb') as file:
                found += [pid] if pid.isdigit() and int(pid) != os.getpid() and mark.encode() in file.read() else []
        except OSError:
            pass
    return found


def has(name):
    """Whether this machine has a tool."""
    return shutil.which(name) is not None


# `time` of a router that sends 100 MB in so many seconds, whatever this machine needs for it.
def slow_time(side, *seconds):
    """A `time` that reports the seconds of AES128, of AES256 and of anything else, in proportion to the blocks."""
    aes128, aes256, other = (seconds + seconds[-1:] * 2)[:3]
    write_tool(side.bin, 'time', r'''
        "$@"; status=$?
        for word; do case "$word" in count=*) blocks=${word#count=};; esac; done
        case "$FAKE_CIPHER" in aes128*) whole=%s;; aes256*) whole=%s;; *) whole=%s;; esac
        awk "BEGIN { printf \"real\t%%dm %%.2fs\nuser\t0m 0.05s\nsys\t0m 2.90s\n\", int($whole * ${blocks:-200} / 12000), ($whole * ${blocks:-200} / 200) %% 60 }" >&2
        exit $status
        ''' % (aes128, aes256, other))


def transfers_of(host, **options):
    """(exit status, lines) of `run ssh` on that host, without a wait for idleness."""
    context = context_of(host, **dict({'wait': 0.0}, **options))
    lines = []
    session = rb.Session(context, context.machine.facts(), lines.append)
    return session.run(['ssh']), lines
