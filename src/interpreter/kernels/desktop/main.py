"""A screen inside a sandbox: an X display with a window manager, and two ports of loopback through which persons see it.

It reads one line of JSON, {"width", "height", "view": {"port", "key"}, "control": {"port", "key"}}, and writes one: {"ready": true},
{"missing": [packages of Debian]} or {"failed": reason}. After that it lives as long as the display, and answers each further line with
{"ready": true}: so whoever did not start it learns that it is there. However it ends, all that it has started
ends with it. Nothing listens but the two ports. Each watcher has an x11vnc of its own, on a pair of sockets: one of the first port's never
takes input. A key keeps pages that a browser inside shows from the ports, for a page may open a WebSocket to any of them.
"""

import ctypes
import hmac
import importlib.util
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from urllib.parse import parse_qs, urlsplit

NUMBER = 99
DISPLAY = f":{NUMBER}"
PAGES = "/usr/share/novnc"
START_SECONDS = 30
RESTART_SECONDS = 1
END_SECONDS = 2
GRACE_SECONDS = 4
LOOK_AGAIN_SECONDS = 0.05
WATCHERS_MAX = 8
PR_SET_PDEATHSIG = 1
PROGRAMS = {"Xvfb": "xvfb", "openbox": "openbox", "x11vnc": "x11vnc", "xdotool": "xdotool", "scrot": "scrot"}
# No file of a home's is read, no program started and nothing sent but what the screen shows.
VNC = ["x11vnc", "-inetd", "-q", "-norc", "-safer", "-nocmds", "-noultraext", "-nopw", "-nowf", "-noscr", "-nobell", "-display", DISPLAY]
VIEW_ONLY = ["-viewonly", "-nosetclipboard", "-nosetprimary", "-noclipboard", "-noprimary"]


class Failed(Exception):
    """The reason is for whoever asked for the screen."""


def main():
    try:
        # Unbuffered: what comes after this line is for the loop below.
        with open(0, "rb", buffering=0, closefd=False) as lines:
            asked = json.loads(lines.readline())
        missing = find_missing()
        if missing:
            return say({"missing": missing})
        run(asked)
    except (Failed, OSError) as reason:
        say({"failed": str(reason)})


def say(answer):
    print(json.dumps(answer), flush=True)


def find_missing():
    missing = [package for program, package in PROGRAMS.items() if shutil.which(program) is None]
    if importlib.util.find_spec("websockify") is None:
        missing.append("websockify")
    if not os.path.exists(f"{PAGES}/vnc.html"):
        missing.append("novnc")
    return missing


def run(asked):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    ports = [
        (patiently(listen, asked["view"]["port"]), asked["view"]["key"], VNC + VIEW_ONLY),
        (patiently(listen, asked["control"]["port"]), asked["control"]["key"], VNC),
    ]
    folder = make_folder()
    patiently(assert_free)
    display = start_display(folder, asked)
    try:
        os.environ["DISPLAY"] = DISPLAY
        windows = Windows(folder)
        if shutil.which("xsetroot"):
            start(["xsetroot", "-solid", "#2e3440"]).wait()
        say({"ready": True})
        serve_until_end(display, windows, ports, folder)
    finally:
        end_all(display)


def patiently(attempt, *given):
    """The ports and the display of an earlier desktop that was killed are free within moments: its parts end one after another."""
    until = time.monotonic() + GRACE_SECONDS
    while True:
        try:
            return attempt(*given)
        except Failed:
            if time.monotonic() > until:
                raise
            time.sleep(LOOK_AGAIN_SECONDS)


def end_all(display):
    """The display first, which takes its lock away. Then all at once, this process too: what lives on would hold the ports."""
    end(display)
    os.killpg(0, signal.SIGKILL)


def end(process):
    """Within seconds, also one that is stuck."""
    process.terminate()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def make_folder():
    folder = os.path.join(os.environ.get("HOME", "/tmp"), ".cache/belljar-desktop")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return folder


def listen(port):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        listener.close()
        raise Failed(f"the port {port} is in use in this sandbox: end what listens there") from error
    listener.listen(16)
    listener.setblocking(False)
    return listener


def assert_free():
    """The kernel knows which display lives. Xvfb with -displayfd looks at no lock, and takes the place of a socket at which nobody listens."""
    path = f"/tmp/.X11-unix/X{NUMBER}"
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as table:
        if any(line.rstrip().endswith(path) for line in table):
            raise Failed(f"another program has the display {DISPLAY}: end it")


def start_display(folder, asked):
    reading, writing = os.pipe()
    screen = f"{asked['width']}x{asked['height']}x24"
    argv = ["Xvfb", DISPLAY, "-screen", "0", screen, "-dpi", "96", "-noreset", "-nolisten", "tcp", "-displayfd", str(writing)]
    log = os.path.join(folder, "display.log")
    with open(log, "wb") as output:
        display = start(argv, pass_fds=(writing,), stderr=output)
    os.close(writing)
    if not tells_number(reading):
        display.kill()
        with open(log, encoding="utf-8", errors="replace") as output:
            raise Failed(f"Xvfb did not start: {' '.join(output.read()[-400:].split())}")
    return display


def tells_number(reading):
    """Xvfb writes its number and then a line break, and ends if nobody reads that."""
    until = time.monotonic() + START_SECONDS
    with open(reading, "rb", buffering=0) as told:
        text = b""
        while not text.endswith(b"\n"):
            ready, _, _ = select.select([told], [], [], max(0, until - time.monotonic()))
            chunk = told.read(16) if ready else b""
            if chunk == b"":
                return False
            text += chunk
    return True


def start(argv, **options):
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **options}
    return subprocess.Popen(argv, preexec_fn=end_with_parent, **options)


def end_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class Windows:
    """The window manager. One that ends is started again: its own menu can end it."""

    def __init__(self, folder):
        self.log = os.path.join(folder, "windows.log")
        self.begin()

    def begin(self):
        self.since = time.monotonic()
        self.process = None
        try:
            with open(self.log, "wb") as output:
                self.process = start(["openbox"], stderr=output)
        except OSError:
            pass  # no room for a file or a process now: it is tried again

    def is_gone(self):
        return self.process is None or self.process.poll() is not None

    def look(self):
        if self.is_gone() and time.monotonic() - self.since > RESTART_SECONDS:
            self.begin()


def serve_until_end(display, windows, ports, folder):
    """A port without watchers costs a socket: what serves it starts with the first one."""
    waking, waker = os.pipe()
    os.set_blocking(waking, False)
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker)
    serving = {}
    asking = [sys.stdin.fileno()]
    while display.poll() is None:
        idle = {port[0]: port for port in ports if port not in serving.values()}
        ready, _, _ = select.select([waking, *asking, *idle], [], [], 2 * RESTART_SECONDS if windows.is_gone() else None)
        if waking in ready:
            os.read(waking, 4096)
            reap(serving)
        windows.look()
        if asking and asking[0] in ready and not answer(asking[0]):
            asking = []
        for listener in ready:
            if listener in idle:
                try:
                    serving[serve(idle[listener], folder)] = idle[listener]
                except OSError:
                    drop_waiting(listener)  # no process can be started now


def answer(asking):
    """Whether there may be more to answer."""
    lines = os.read(asking, 4096)
    if b"\n" in lines:
        say({"ready": True})
    return lines != b""


def reap(serving):
    for pid in list(serving):
        if os.waitpid(pid, os.WNOHANG)[0] == pid:
            drop_waiting(serving.pop(pid)[0])


def drop_waiting(listener):
    """Whoever waits for a server that has failed is let go, or it would be started for them again and again."""
    while True:
        try:
            listener.accept()[0].close()
        except OSError:
            return


def serve(port, folder):
    pid = os.fork()
    if pid > 0:
        return pid
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        end_with_parent()
        serve_watchers(port, folder)
    finally:
        os._exit(0)


def serve_watchers(port, folder):
    import multiprocessing

    from websockify.websocketproxy import ProxyRequestHandler, WebSocketProxy

    listener, key, vnc = port

    class Watcher(ProxyRequestHandler):
        def validate_connection(self):
            given = parse_qs(urlsplit(self.path).query).get("key", [""])[0]
            if not hmac.compare_digest(given.encode(), key.encode()):
                self.send_error(403)
                raise self.server.EClose("wrong key")

        def new_websocket_client(self):
            place = take_place(folder, listener)
            if place is None:
                raise self.CClose(1013, f"{WATCHERS_MAX} persons watch already")
            self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            ours, theirs = socket.socketpair()
            screen = start(vnc, stdin=theirs, stdout=theirs)
            theirs.close()
            ours.setblocking(False)
            try:
                self.do_proxy(ours)
            finally:
                ours.close()
                end(screen)
                place.close()

    multiprocessing.set_start_method("fork", force=True)
    WebSocketProxy(RequestHandlerClass=Watcher, listen_fd=listener.fileno(), web=PAGES, file_only=True).start_server()


def take_place(folder, listener):
    """One of a few files, locked: however its holder ends, it is free again."""
    import fcntl

    for number in range(WATCHERS_MAX):
        place = open(os.path.join(folder, f"watcher-{listener.getsockname()[1]}-{number}"), "wb")
        try:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return place
        except OSError:
            place.close()
    return None


if __name__ == "__main__":
    main()
