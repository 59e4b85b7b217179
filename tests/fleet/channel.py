"""Section 2 of docs/protocol.md with Python's own ssl: keys, certificates, and
connections that carry frames. For tests."""
import select
import socket
import ssl
import struct
import subprocess
import time

ALPHABET = ('0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'
            '.-:+=^!/*?&<>()[]{}@%$#')
ED25519 = b'\x30\x05\x06\x03\x2b\x65\x70'  # the algorithm, in DER


def z85(key):
    text = ''
    for word in struct.unpack('>8I', key):
        text += ''.join(ALPHABET[word // 85 ** k % 85] for k in range(4, -1, -1))
    return text


def z85_bytes(text):
    words = [0] * 8
    for k, letter in enumerate(text):
        words[k // 5] = 85 * words[k // 5] + ALPHABET.index(letter)
    return struct.pack('>8I', *words)


def public_key(path):
    """The 32 bytes behind 'public' in a file of pricer keygen."""
    with open(path) as file:
        return z85_bytes(next(line.split()[1] for line in file
                              if line.startswith('public ')))


def key_of(certificate):
    """The key in a certificate (DER): what follows the algorithm and a bit
    string's head."""
    at = certificate.rindex(ED25519 + b'\x03\x21\x00')
    return certificate[at + 10:at + 42]


def der(tag, *parts):
    body = b''.join(parts)
    size = bytes([len(body)]) if len(body) < 128 else \
        b'\x82' + struct.pack('>H', len(body))
    return bytes([tag]) + size + body


def anchor(key):
    """A certificate, not signed, that makes a key an authority for itself."""
    name = der(0x30, der(0x31, der(0x30, b'\x06\x03\x55\x04\x03',
                                   der(0x0c, key.hex().encode()))))
    until = der(0x30, der(0x17, b'700101000000Z'), der(0x18, b'99991231235959Z'))
    facts = der(0x30, b'\x02\x01\x01', ED25519, name, until, name,
                der(0x30, ED25519, der(0x03, b'\x00', key)))
    return der(0x30, facts, ED25519, der(0x03, b'\x00', bytes(64)))


def context(server, path, admitted=()):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server
                          else ssl.PROTOCOL_TLS_CLIENT)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.check_hostname = False
    made.load_cert_chain(path)
    if server:
        made.verify_mode = ssl.CERT_REQUIRED
        made.num_tickets = 0
        for key in admitted:
            made.load_verify_locations(cadata=anchor(key))
    else:
        made.verify_mode = ssl.CERT_NONE  # the key is looked at instead
    return made


def where(address):
    host, port = address[len('tcp://'):].rsplit(':', 1)
    return host.strip('[]'), int(port)


class Channel:
    """One connection; `key` is the other side's once it is known. `admit`, where
    there is one, is asked before the first heartbeat, and raises ConnectionError
    for a key that is turned away."""

    def __init__(self, raw, tls, server, admit=None):
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        raw.setblocking(False)
        self.socket = tls.wrap_socket(raw, server_side=server,
                                      do_handshake_on_connect=False)
        self.key, self.server, self.open = None, server, False
        self.input, self.output = bytearray(), bytearray()
        self.admit, self.longest = admit, 64 << 20
        self.said = self.heard = time.monotonic()

    def fileno(self):
        return self.socket.fileno()

    def shake(self):
        if self.key is None:
            try:
                self.socket.do_handshake()
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            self.key = key_of(self.socket.getpeercert(binary_form=True))
            if self.server:
                if self.admit:
                    self.admit(self)
                self.open = True
                self.send(b'')  # the first heartbeat: you are let in

    def send(self, payload):
        self.output += struct.pack('>I', len(payload)) + payload

    def flush(self):
        while self.output:
            try:
                done = self.socket.send(self.output[:65536])
            except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
                return
            self.said = time.monotonic()
            del self.output[:done]

    def step(self):
        """Do what can be done without waiting; the frames that came. After 5 s of
        silence, and of a handshake, the connection ends."""
        self.shake()
        if self.key is None:
            self.expect_sound()
            return []
        if self.open and time.monotonic() > self.said + 1:
            self.send(b'')
        if self.open:
            self.flush()
        frames = []
        while True:
            try:
                data = self.socket.recv(65536)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                self.expect_sound()
                break
            if not data:
                raise ConnectionError('closed')
            self.heard = time.monotonic()
            self.input += data
            while len(self.input) >= 4:
                size, = struct.unpack_from('>I', self.input)
                if size > self.longest:
                    raise ConnectionError('a frame that is too long')
                if len(self.input) < 4 + size:
                    break
                self.open = True
                if size:
                    frames.append(bytes(self.input[4:4 + size]))
                del self.input[:4 + size]
        return frames

    def expect_sound(self):
        if time.monotonic() > self.heard + 5:
            raise ConnectionError('silence')

    def close(self):
        self.socket.close()


def connect(address, path, key):
    """A channel to the owner of a key: waits until it is let in."""
    made = Channel(socket.create_connection(where(address), 10),
                   context(False, path), False)
    end = time.monotonic() + 10
    try:
        while not made.open:
            made.step()
            if made.key not in (None, key):
                raise ConnectionError('another key')
            if time.monotonic() > end:
                raise TimeoutError(address)
            select.select([made], [], [], .01)
    except BaseException:
        made.close()
        raise
    return made


class Listener:
    """Accepts; admits the keys it is told."""

    def __init__(self, address, path):
        self.socket = socket.create_server(where(address), backlog=100)
        self.socket.setblocking(False)
        self.path, self.channels = path, []
        self.admit(())

    def admit(self, keys):
        self.keys = set(keys)
        self.context = context(True, self.path, keys)
        for channel in list(self.channels):
            if channel.key is not None and channel.key not in self.keys:
                self.drop(channel)

    def drop(self, channel):
        channel.close()
        self.channels.remove(channel)

    def let_in(self, channel):
        """One connection a key: the older one stays if it was heard within 2 s."""
        if channel.key not in self.keys:
            raise ConnectionError('not admitted')
        for other in [c for c in self.channels if c.open and
                      c.key == channel.key and c is not channel]:
            if time.monotonic() < other.heard + 2:
                raise ConnectionError('connected already')
            self.drop(other)

    def files(self):
        return [self.socket] + self.channels

    def step(self):
        """[(channel, frame)]"""
        try:
            while True:
                raw, _ = self.socket.accept()
                self.channels.append(Channel(raw, self.context, True,
                                             self.let_in))
        except (BlockingIOError, ConnectionError):
            pass
        got = []
        for channel in list(self.channels):
            try:
                if channel in self.channels:
                    got += [(channel, frame) for frame in channel.step()]
            except OSError:  # ssl.SSLError is one
                self.drop(channel)
        return got

    def close(self):
        for channel in list(self.channels):
            self.drop(channel)
        self.socket.close()


def keygen(build, path):
    """A new key; its 32 bytes."""
    subprocess.run([build + '/pricer', 'keygen', path], check=True,
                   capture_output=True)
    return public_key(path)
