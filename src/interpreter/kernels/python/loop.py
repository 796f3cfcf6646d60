"""The event loop of cells that await. It stays between runs, and turns only during one."""

import asyncio

LOOPS = []


def run_until_done(coroutine):
    if not LOOPS or LOOPS[0].is_closed():
        LOOPS[:] = [asyncio.new_event_loop()]
    loop = LOOPS[0]
    asyncio.set_event_loop(loop)
    task = loop.create_task(coroutine)
    try:
        return loop.run_until_complete(task)
    except KeyboardInterrupt:
        where = drop(loop, task)
        if where is None:
            raise
        raise KeyboardInterrupt().with_traceback(where) from None
    except BaseException:
        drop(loop, task)
        raise


def drop(loop, task):
    """Lets a cut-off cell clean up after itself, and returns where it stood. A second interrupt ends that too."""
    if not task.done():
        task.cancel()
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError as cancelled:
            return cancelled.__traceback__
    if not task.cancelled():
        task.exception()  # It is raised by the caller; asyncio need not tell that nobody looked at it.
    return None
