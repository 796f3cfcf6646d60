"""Data frames of pandas as data: columns and rows, bounded."""

TABLE = "application/vnd.belljar.table+json"
MOST_ROWS = 200
MOST_COLUMNS = 200
LONGEST_CELL = 1000


def table_bundle(frame):
    part = frame.iloc[:MOST_ROWS, :MOST_COLUMNS]
    columns = [name_of(column) for column in part.columns]
    rows = [[plain(cell) for cell in row] for row in part.itertuples(index=False, name=None)] or [[] for _ in part.index]
    if not is_counted(frame.index):
        names = [("index" if name is None else name_of(name)) for name in frame.index.names]
        columns = names + columns
        keys = [key if isinstance(key, tuple) else (key,) for key in part.index]
        rows = [[plain(cell) for cell in key] + row for key, row in zip(keys, rows)]
    table = {"columns": columns, "rows": rows, "total_rows": len(frame)}
    if len(frame.columns) > MOST_COLUMNS:
        table["total_columns"] = len(frame.columns)
    return {TABLE: table}


def is_counted(index):
    """An index of 0, 1, 2 ... says nothing that the place of a row does not say."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1 and index.name is None


def name_of(column):
    return " / ".join(str(part) for part in column) if isinstance(column, tuple) else str(column)[:LONGEST_CELL]


def plain(value):
    """A value that JSON has, or its text."""
    if type(value).__name__ == "MaskedConstant":
        return None
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    if value is None or isinstance(value, (bool, str)):
        return value[:LONGEST_CELL] if isinstance(value, str) else value
    if isinstance(value, int):
        return value if -(1 << 53) <= value <= 1 << 53 else str(value)
    if isinstance(value, float):
        return value if value - value == 0 else None if value != value else str(value)
    if type(value).__name__ in ("NaTType", "NAType"):
        return None
    return (value.isoformat() if hasattr(value, "isoformat") else str(value))[:LONGEST_CELL]
