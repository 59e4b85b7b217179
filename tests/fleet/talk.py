"""One side of a connection of docs/protocol.md, with a key of a fleet: as a node
that says what it likes, or as a server. For tests."""
import select
import socket
import struct
import time

import msgpack

from channel import context, public_key, where

HELLO, SLICE, OPEN, SHARE, SUM, RESULT, REFUSAL = range(1, 8)


class Talk:
    def __init__(self, tls):
        self.socket, self.held, self.said = tls, bytearray(), 0
        tls.settimeout(10)

    def send(self, *messages):
        """Messages, or bytes that are none."""
        data = bytearray()
        for message in messages:
            body = message if isinstance(message, bytes) else \
                msgpack.packb(message)
            data += struct.pack('>I', len(body)) + body
        self.socket.sendall(data)
        self.said = time.monotonic()

    def read(self, timeout):
        """The messages that come, once any do."""
        if not self.socket.pending():
            select.select([self.socket], [], [], timeout)
        self.socket.settimeout(.001)
        try:
            while True:
                more = self.socket.recv(1 << 16)
                if not more:
                    raise ConnectionError
                self.held += more
        except TimeoutError:
            pass
        self.socket.settimeout(10)
        found = []
        while len(self.held) >= 4:
            size, = struct.unpack_from('>I', self.held)
            if len(self.held) < 4 + size:
                break
            if size:
                found.append(msgpack.unpackb(bytes(self.held[4:4 + size])))
                self.frame = bytes(self.held[4:4 + size])
            del self.held[:4 + size]
        if time.monotonic() > self.said + 1:
            self.send(b'')
        return found

    def until(self, kind, seconds=20):
        """The next message of a kind."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for message in self.read(.2):
                if message[1] == kind:
                    return message
        raise TimeoutError(f'no message of type {kind}')


def as_node(fleet, number):
    raw = socket.create_connection(where(fleet.addresses['server']), 10)
    return Talk(context(False, fleet.key(number)).wrap_socket(raw))


def as_server(fleet, number):
    """Wait for a node, in the place of the server."""
    with socket.create_server(where(fleet.addresses['server'])) as listener:
        listener.settimeout(20)
        tls = context(True, fleet.key('server'),
                      [public_key(fleet.key(number) + '.pub')])
        talk = Talk(tls.wrap_socket(listener.accept()[0], server_side=True))
    talk.send(b'')
    return talk


def learn_slice(fleet, number):
    """The slice of a node, from a server that runs."""
    talk = as_node(fleet, number)
    talk.send([2, HELLO, b'', 0, False, 1, 1, [], 0])
    message = talk.until(SLICE)
    talk.socket.close()
    return message
