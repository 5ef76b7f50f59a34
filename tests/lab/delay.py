"""delay.py ADDRESS PORT TO MILLISECONDS: pass connections on to address TO, same port, and let each
answer come that much later. It stands in for a long way where the kernel has no sch_netem."""

import queue
import socket
import sys
import threading
import time


def fill(source, pending, delay):
    """Note what comes in, and when it is due, until nothing comes any more."""
    data = b'-'
    while data:
        try:
            data = source.recv(1 << 16)
        except OSError:
            data = b''
        pending.put((time.monotonic() + delay, data))


def pump(source, sink, delay):
    """Bytes from source to sink, each `delay` seconds late."""
    pending = queue.Queue(1024)
    threading.Thread(target=fill, args=(source, pending, delay), daemon=True).start()
    try:
        while True:
            due, data = pending.get()
            time.sleep(max(0.0, due - time.monotonic()))
            if not data:
                break
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        source.close()


def pass_on(connection, address, delay):
    """One connection; making it takes a round trip as well."""
    time.sleep(delay)
    try:
        server = socket.create_connection(address)
    except OSError:
        connection.close()
        return
    back = threading.Thread(target=pump, args=(server, connection, delay), daemon=True)
    back.start()
    pump(connection, server, 0.0)
    back.join()
    server.close()
    connection.close()


def main(address, port, server, milliseconds):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, int(port)))
    listener.listen(16)
    while True:
        arguments = (listener.accept()[0], (server, int(port)), float(milliseconds) / 1000)
        threading.Thread(target=pass_on, args=arguments, daemon=True).start()


if __name__ == '__main__':
    main(*sys.argv[1:])
