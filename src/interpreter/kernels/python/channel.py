"""The duplex socket to Belljar: one JSON object a line, both ways."""

import io
import os
from _thread import allocate_lock, get_ident

FD = 3
LONGEST_IN = 32 << 20
LONGEST_OUT = 7 << 20
READ_SIZE = 1 << 18


class Channel:
    def __init__(self):
        os.set_inheritable(FD, False)
        os.set_blocking(FD, True)
        self.lock = allocate_lock()
        self.owner = None
        self.waiting = []
        # Larger than any line: a write takes the whole line, and C code keeps account of how much of it was sent.
        # A signal handler of the user that raises can then cut no line.
        self.file = io.BufferedWriter(io.FileIO(FD, "wb", closefd=False), LONGEST_OUT + 1)

    def send(self, line):
        """Writes one line, after those that wait. Ends the process when the channel is closed: nobody can ask for more."""
        self.waiting.append(line)
        if self.owner == get_ident():
            return  # A signal handler of the user printed in the middle of this very method, which writes it below.
        with self.lock:
            self.owner = get_ident()
            try:
                while self.waiting:
                    self.file.write(self.waiting.pop(0).encode("ascii") + b"\n")
                    self.file.flush()
            except OSError:
                os._exit(0)
            finally:
                self.owner = None

    def lines(self):
        """Yields the lines that come, without those that are too long. Ends when the channel is closed."""
        parts, size = [], 0
        while True:
            try:
                read = os.read(FD, READ_SIZE)
            except ConnectionError:
                return
            if not read:
                return
            first, *rest = read.split(b"\n")
            for piece in rest:
                if size + len(first) <= LONGEST_IN:
                    yield b"".join(parts) + first
                parts, size, first = [], 0, piece
            size += len(first)
            if size <= LONGEST_IN:
                parts.append(first)
            else:
                parts = []
