"""serve.py ROOT COMMAND [ARGUMENT...]: move into a root, say on stdout which process this is outside,
wait for a line on stdin, and become the command, which is a path.
serve.py ROOT --accept ADDRESS PORT COMMAND...: instead, run the command for every connection, which is
its stdin and stdout, as inetd does. dropbear's own daemon starts itself anew for each connection out of
/proc/self/fd, where qemu-user finds nothing."""

import os
import signal
import socket
import sys

ENVIRONMENT = {'PATH': '/usr/sbin:/usr/bin:/sbin:/bin', 'HOME': '/root'}


def become(command):
    """No looking along PATH here: for that, Python may import what is not there any more."""
    os.execve(command[0], command, ENVIRONMENT)


def reap(_number, _frame):
    """Bury whoever ended, as the first process of a system has to."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def accept(address, port, command):
    """The command for every connection, for ever."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, int(port)))
    listener.listen(16)
    signal.signal(signal.SIGCHLD, reap)
    while True:
        connection = listener.accept()[0]
        if not os.fork():
            os.dup2(connection.fileno(), 0)
            os.dup2(connection.fileno(), 1)
            become(command)
        connection.close()


def main(root, *command):
    number = os.readlink('/proc/self')  # still the /proc of the system outside
    os.chroot(root)
    os.chdir('/')
    print(number, flush=True)
    sys.stdin.readline()
    os.dup2(2, 1)
    if command[0] == '--accept':
        accept(command[1], command[2], command[3:])
    become(command)


if __name__ == '__main__':
    main(*sys.argv[1:])
