"""IPython's shell as the runner of cells: magics, `!command`, `object?` and the displays that it knows."""

import os
import signal
import sys
import warnings

from subprocess import DEVNULL, PIPE, STDOUT, Popen, TimeoutExpired

from IPython.core import page
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from _belljar.display import known_forms, line_of
from _belljar.errors import traceback_text
from _belljar.loop import run_until_done


class Shell:
    def __init__(self, cells):
        config = Config()
        config.HistoryManager.enabled = False
        config.InteractiveShell.colors = "NoColor"
        config.InteractiveShell.xmode = "Plain"
        CHANNEL.append(cells.output)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.shell = Interactive.instance(
                config=config, user_module=sys.modules["__main__"], user_ns=cells.namespace, display_pub_class=Publisher, displayhook_class=Hook
            )
        for name in ("exit", "quit"):
            self.shell.user_ns.pop(name, None)
            self.shell.builtin_trap.auto_builtins.pop(name, None)
        warnings.filterwarnings("ignore", message="To exit: use", category=UserWarning)
        self.shell.loop_runner = run_until_done
        self.shell.set_hook("show_in_pager", page.as_hook(page.display_page), 99)

    def run(self, source, number):
        """Results leave through the hook below. Raises what the cell raised."""
        self.shell.execution_count = number
        result = self.shell.run_cell(source, store_history=True)
        error = result.error_before_exec or result.error_in_exec
        shown, self.shell.shown = self.shell.shown, []
        if not isinstance(error, KeyboardInterrupt):
            for other in shown:
                if other is not error:
                    sys.stderr.write(traceback_text(other, True))
        if error is not None:
            raise error

    def format(self, value):
        return self.shell.display_formatter.format(value)


CHANNEL = []
GRACE_S = 2


class Interactive(InteractiveShell):
    """Errors that IPython would print are kept. The kernel tells them itself, with their names and without colours."""

    shown = []

    def _showtraceback(self, etype, evalue, stb):
        self.shown.append(evalue)

    def show_usage_error(self, exc):
        self.shown.append(exc)

    def showsyntaxerror(self, *args, **options):
        self.shown.append(sys.exc_info()[1])

    def system(self, cmd):
        """Runs `!command` without a terminal. An interrupt reaches the command and ends the cell."""
        argv = ["/bin/sh", "-c", self.var_expand(cmd, depth=1)]
        child = Popen(argv, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, start_new_session=True)
        try:
            while True:
                read = child.stdout.read1(1 << 16)
                if not read:
                    break
                sys.stdout.buffer.write(read)
            self.user_ns["_exit_code"] = child.wait()
        except BaseException:
            end_group(child)
            raise

    system_piped = system


class Publisher(DisplayPublisher):
    def publish(self, data, metadata=None, **_options):
        CHANNEL[0].message(line_of("display", data, metadata))

    def clear_output(self, wait=False):
        """What was sent stays."""


class Hook(DisplayHook):
    def write_output_prompt(self):
        """Results have no prompt."""

    def compute_format_data(self, result):
        data, metadata = super().compute_format_data(result)
        if data:
            data = {**data, **known_forms(result)}
        return data, metadata

    def write_format_data(self, format_dict, md_dict=None):
        CHANNEL[0].message(line_of("result", format_dict, md_dict))

    def finish_displayhook(self):
        self._is_active = False


def end_group(child):
    """Interrupts a command and all that it started, then kills what stays."""
    try:
        os.killpg(child.pid, signal.SIGINT)
        child.wait(GRACE_S)
    except (ProcessLookupError, TimeoutExpired):
        pass
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
