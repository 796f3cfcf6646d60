"""Values in the forms of E2B's clients, for runs that ask for them. A value that is too large for a form is shown without it, never a part of it."""

from _belljar.tables import plain

DATA, CHART, JSON = "e2b/data", "e2b/chart", "application/json"
MOST_CELLS = 50_000
MOST_POINTS = 10_000
LONGEST = 2 << 20
PARTS = (str, int, float, bool, type(None))


class TooLarge(Exception):
    """It has more parts than one message may have."""


def data_form(value):
    """Lists and dictionaries as JSON, where JSON has all that is in them."""
    try:
        return {JSON: value} if is_json(value, Room(MOST_CELLS)) else {}
    except TooLarge:
        return {}


def frame_form(frame):
    """The columns of a data frame as lists, without its index."""
    if frame.shape[0] * frame.shape[1] > MOST_CELLS:
        return {}
    room = Room(MOST_CELLS)
    try:
        return {DATA: {str(name): [cell_of(cell, room) for cell in frame.iloc[:, at]] for at, name in enumerate(frame.columns)}}
    except TooLarge:
        return {}


def figure_form(figure):
    from _belljar.e2b_charts import chart_of

    try:
        chart = chart_of(figure, Room(MOST_POINTS))
    except TooLarge:
        return {}
    return {} if chart is None else {CHART: chart}


class Room:
    """What still fits into a message."""

    def __init__(self, parts):
        self.parts = parts
        self.length = LONGEST

    def take(self, value=None):
        self.parts -= 1
        self.length -= len(value) if isinstance(value, str) else 8
        if self.parts < 0 or self.length < 0:
            raise TooLarge


def cell_of(cell, room):
    shown = cell if isinstance(cell, str) else plain(cell)
    room.take(shown)
    return shown


def is_json(value, room):
    """Walks without recursion: a list may hold itself, which uses up the room."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        kind = type(each)
        if kind is list or kind is tuple:
            room.take()
            waiting.extend(each)
        elif kind is dict:
            room.take()
            for key in each:
                if type(key) not in PARTS:
                    return False
                room.take(key)
            waiting.extend(each.values())
        elif kind in PARTS:
            room.take(each)
        else:
            return False
        if len(waiting) > MOST_CELLS:
            raise TooLarge
    return True
