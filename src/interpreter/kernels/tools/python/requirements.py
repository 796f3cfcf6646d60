"""The packages that a code names, found in its text alone: in `<requirements>` and in a PEP 723 block.

The code is not run, and each line is looked at once.
"""

from _belljar.errors import source_lines
from _belljar.program import Refused

OPEN, CLOSE = "<requirements>", "</requirements>"
BLOCK_START, BLOCK_END = "# /// script", "# ///"
MOST = 100
LONGEST = 200
ESCAPES = {'"': '"', "\\": "\\", "t": "\t", "n": "\n", "b": "\b", "f": "\f", "r": "\r"}


def requirements_of(code):
    lines = source_lines(code)
    found = {}
    for line, text in [*tagged(lines), *scripted(lines)]:
        found.setdefault(checked(text, line), line)
        if len(found) > MOST:
            raise Refused("There are more than %d requirements" % MOST, line)
    return list(found)


def checked(text, line):
    if text.startswith("-"):
        raise Refused("A requirement names a package; `%s` is an option of pip" % text[:LONGEST], line)
    if len(text) > LONGEST or not text.isprintable():
        raise Refused("A requirement is one line of at most %d letters" % LONGEST, line)
    return text


def tagged(lines):
    """What stands between the tags, in a text or in comments. A tag that is never closed is a mere mention."""
    found, held = [], None
    for number, line in enumerate(lines, 1):
        rest = line
        if held is None:
            before, opened, rest = line.partition(OPEN)
            if not opened:
                continue
            held, mark = [], "#" if before.lstrip().startswith("#") else ""
        inside, closed, _ = rest.partition(CLOSE)
        text = without_comment(inside.strip()[len(mark) :] if inside.strip().startswith(mark) else inside)
        if text:
            held.append((number, text))
        if closed:
            found.extend(held)
            held = None
    return found


def without_comment(line):
    return (" " + line.strip()).partition(" #")[0].strip()


def scripted(lines):
    """The `dependencies` of the PEP 723 block. It ends at the last closing line of its comments, as the PEP has it."""
    blocks, at = [], 0
    while at < len(lines):
        start, at = at, at + 1
        if lines[start] != BLOCK_START:
            continue
        end = None
        while at < len(lines) and (lines[at] == "#" or lines[at].startswith("# ")):
            end = at if lines[at] == BLOCK_END else end
            at += 1
        if end is not None:
            blocks.append((start, end))
    if len(blocks) > 1:
        raise Refused("There is more than one `# /// script` block", blocks[1][0] + 1)
    return [each for start, end in blocks for each in dependencies([line[2:] for line in lines[start + 1 : end]], start + 2)]


def dependencies(lines, first):
    """Reads one list of texts, and passes over whatever else TOML can say. tomllib came with Python 3.11."""
    for index, line in enumerate(lines):
        if line.lstrip().startswith("["):
            return []  # A table: what follows belongs to a tool.
        key, equals, value = line.partition("=")
        if equals and key.strip().strip("'\"") == "dependencies":
            return TomlList([value, *lines[index + 1 :]], first + index).items()
    return []


class TomlList:
    def __init__(self, lines, first):
        self.text = "\n".join(lines)
        self.at = 0
        self.line = first

    def items(self):
        found = []
        self.take("[")
        while self.next() != "]":
            found.append((self.line, self.string()))
            if self.next() != "]":
                self.take(",")
        self.take("]")
        if self.text[self.at :].partition("\n")[0].partition("#")[0].strip():
            self.fail()
        return found

    def next(self):
        """The next letter that is no space and stands in no comment."""
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
                continue
            if letter not in " \t\r\n":
                return letter
            self.line += letter == "\n"
            self.at += 1
        return ""

    def take(self, letter):
        if self.next() != letter:
            self.fail()
        self.at += 1

    def string(self):
        mark = self.next()
        if mark not in ("'", '"') or self.text.startswith(mark * 3, self.at):
            self.fail()
        parts, at = [], self.at + 1
        while self.text[at : at + 1] != mark:
            letter = self.text[at : at + 1]
            if letter in ("", "\n"):
                self.fail()
            if letter == "\\" and mark == '"':
                at += 1
                letter = ESCAPES.get(self.text[at : at + 1]) or self.fail()
            parts.append(letter)
            at += 1
        self.at = at + 1
        return "".join(parts).strip()

    def fail(self):
        raise Refused("The dependencies of a `# /// script` block are a list of texts: dependencies = [\"package>=1\"]", self.line)
