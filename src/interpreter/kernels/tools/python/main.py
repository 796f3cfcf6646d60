"""A request and its answer: what tools a code holds, what one of them returns or a script does, or which packages the code names.

The host never trusts an answer: it bounds and checks all that comes. The user's code runs in the same process, so it
can always spoil its own answer. What is done here keeps the answer of code that is only careless: these modules have
built-in functions of their own (the loader's doing), bind what every answer needs before the user's code runs, and use
neither `json`, `traceback` nor `sys.stdout`.
"""

import sys
from os import _exit, getpid, path, read

from _belljar import program
from _belljar.channel import open_channel
from _belljar.errors import error_answer, tell
from _belljar.json_text import parse
from _belljar.recovery import flush_prints, recover
from _belljar.values import TooLarge

CHANNEL = 3
READ_SIZE = 1 << 20


def main():
    folder = path.dirname(path.abspath(sys.argv[0]))
    if sys.path and sys.path[0] == folder:
        sys.path[0] = ""  # The kernels' folder is no place for the user's imports.
    begin(sys.argv[1:] == ["orders"])


def begin(has_orders):
    """Never returns. Orders come one after another on the channel; a single one is all that stands on the standard input."""
    if not has_orders:
        serve(CHANNEL, read_all(0))
    from _belljar.orders import serve_orders

    serve_orders(CHANNEL, serve)


def read_all(descriptor):
    parts = []
    while True:
        part = read(descriptor, READ_SIZE)
        if not part:
            return b"".join(parts)
        parts.append(part)


def serve(channel_fd, request_text):
    """Answers one request and ends the process. A process that has imported this module may be forked and call it."""
    request = parse_request(request_text)
    del request_text
    if request is None:
        tell("This program is started by Belljar, which sends one request on stdin\n")
        _exit(2)
    send = open_channel(channel_fd, request.pop("token"))
    owner = getpid()
    answer = answer_to(request, send)
    if getpid() != owner:
        _exit(0)  # A child that the user's code forked came back from it. It has nothing to answer.
    recover()
    flush_prints()
    if not send(answer):
        send(shorter(answer))
    _exit(0)


def shorter(answer):
    """In place of one that is longer than any line that the host reads."""
    if answer["type"] not in ("result", "returned"):
        return {"type": "refused", "line": None, "message": "The schemas of the tools are too large"}
    return error_answer(TooLarge(), "", "")


def parse_request(text):
    """Returns None for what is no request of this version. The token is in nobody's hands afterwards but the channel's."""
    try:
        request = parse(text.decode("utf-8") if isinstance(text, bytes) else text)
    except (ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(request, dict) or request.get("version") != 1 or request.get("do") not in ANSWERS:
        return None
    fields = [request.get("token"), request.get("code"), request.setdefault("name", "tool")]
    if request["do"] == "call":
        fields.append(request.get("function"))
        if not isinstance(request.setdefault("arguments", {}), dict):
            return None
    if request["do"] == "script" and not isinstance(request.get("tools"), list):
        return None
    return request if all(isinstance(each, str) for each in fields) else None


def answer_to(request, send):
    try:
        return ANSWERS[request["do"]](request, send)
    except BaseException as error:
        recover()
        file = program.file_name(request["name"])
        if request["do"] in ("call", "script"):
            return error_answer(error, file, request["code"])
        refused = program.refusal(error, file)
        return {"type": "refused", "line": refused.line, "message": refused.message}


def read_tools(request, send):
    from _belljar.requirements import requirements_of

    requirements = requirements_of(request["code"])
    tools = program.load(request)
    recover()
    from _belljar.describe import describe

    return {"type": "tools", "tools": describe(tools, request["code"]), "requirements": requirements}


def call_tool(request, send):
    from _belljar.call import call

    return call(request, send)


def run_script(request, send):
    from _belljar.script import run_script

    return run_script(request, send)


def find_requirements(request, send):
    from _belljar.requirements import requirements_of

    return {"type": "requirements", "requirements": requirements_of(request["code"])}


ANSWERS = {"read": read_tools, "call": call_tool, "script": run_script, "requirements": find_requirements}

