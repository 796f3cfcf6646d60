"""What runs say, in order: texts of both streams, pictures, results, errors."""

import codecs
import io
import os
from _json import encode_basestring_ascii as quote
from _thread import RLock, allocate_lock, start_new_thread
from time import monotonic

from _belljar import interrupts

LONGEST_TEXT = 1 << 16
MOST_HELD = 1 << 16
WINDOW_S = 0.01
LINES_AT_ONCE = 32


class Output:
    """Each line of text goes out at once. Of very many, those of some milliseconds go out together."""

    def __init__(self, channel):
        self.channel = channel
        self.lock = RLock()
        self.never = allocate_lock()
        self.never.acquire()
        self.parts, self.size = [], 0
        self.running = self.forked = self.armed = False
        self.window, self.lines = 0.0, 0

    def begin(self, token):
        with self.lock:
            self.channel.send('{"type":"started","run":"%s"}' % token)
            self.running = True
            self.flush()

    def prepared(self, token):
        with self.lock:
            self.parts, self.size = [], 0
            self.channel.send('{"type":"prepared","run":"%s"}' % token)

    def end(self, token, count):
        with self.lock:
            self.flush()
            self.channel.send('{"type":"done","run":"%s","execution_count":%d}' % (token, count))
            self.running = False

    def text(self, kind, text):
        with self.lock:
            if not self.running and self.size + len(text) > MOST_HELD:
                text = text[: max(0, MOST_HELD - self.size)]
            self.parts.append((kind, text))
            self.size += len(text)
            if self.size >= LONGEST_TEXT or ("\n" in text and self._may_go()):
                self.flush()
        interrupts.deliver()

    def message(self, line):
        """Sends one message, after the texts before it."""
        with self.lock:
            self.flush()
            if self.running and not self.forked:
                self.channel.send(line)
        interrupts.deliver()

    def flush(self):
        with self.lock:
            if not self.running:
                return
            parts, self.parts, self.size = self.parts, [], 0
            while parts:
                kind, texts = parts[0][0], []
                while parts and parts[0][0] == kind:
                    texts.append(parts.pop(0)[1])
                self._send(kind, "".join(texts))

    def _send(self, kind, text):
        for start in range(0, len(text), LONGEST_TEXT):
            self.channel.send('{"type":"%s","text":%s}' % (kind, quote(text[start : start + LONGEST_TEXT])))

    def _may_go(self):
        """False when many lines went in this window of time: a thread that lives for one window sends the rest."""
        now = monotonic()
        if now - self.window > WINDOW_S:
            self.window, self.lines = now, 0
        self.lines += 1
        if self.lines <= LINES_AT_ONCE:
            return True
        if not self.armed:
            try:
                start_new_thread(self._flush_late, ())
            except RuntimeError:
                return True
            self.armed = True
        return False

    def _flush_late(self):
        self.never.acquire(timeout=WINDOW_S)
        with self.lock:
            self.armed = False
            self.flush()

    def before_fork(self):
        self.lock.acquire()
        self.flush()

    def after_fork(self):
        self.lock.release()

    def after_fork_in_child(self):
        """Only its parent answers. A child's text goes to the pipes, as that of any other program."""
        self.forked = True
        self.running = False
        self.parts, self.size = [], 0
        self.lock = RLock()
        try:
            os.close(self.channel.file.fileno())
        except OSError:
            pass


class Bytes(io.BufferedIOBase):
    """`sys.stdout.buffer`."""

    def __init__(self, stream):
        self.stream = stream
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(self, data):
        self.stream.write(self.decoder.decode(bytes(data)))
        return len(data)

    def writable(self):
        return True

    def fileno(self):
        return self.stream.fileno()

    def flush(self):
        self.stream.flush()

    def close(self):
        self.flush()


class Stream(io.TextIOBase):
    """`sys.stdout` and `sys.stderr`."""

    encoding = "utf-8"
    errors = "backslashreplace"
    mode = "w"
    line_buffering = True

    def __init__(self, output, kind, fd):
        self.output = output
        self.kind = kind
        self.fd = fd
        self.name = "<%s>" % kind
        self.buffer = Bytes(self)

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError("write() argument must be str, not %s" % type(text).__name__)
        if self.output.forked:
            write_all(self.fd, text.encode("utf-8", "backslashreplace"))
        elif text:
            self.output.text(self.kind, str(text))
        return len(text)

    def flush(self):
        self.output.flush()
        interrupts.deliver()

    def writable(self):
        return True

    def fileno(self):
        return self.fd

    def reconfigure(self, **_options):
        self.flush()

    def close(self):
        self.flush()


def write_all(fd, data):
    while data:
        data = data[os.write(fd, data) :]
