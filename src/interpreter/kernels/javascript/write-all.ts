import { writeSync } from "node:fs";

const FULL_WAIT_MS = 2;
/** As they are now: the user's code may change the modules' own. */
const write = writeSync;
const wait = Atomics.wait;
const pause = new Int32Array(new SharedArrayBuffer(4));

/** Writes all of it, to a channel or a pipe. */
export function writeAll(fd: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) {
    try {
      at += write(fd, bytes, at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      // Full, as the host reads nothing now. Synchronous code has no other way to wait for a socket.
      wait(pause, 0, 0, FULL_WAIT_MS);
    }
  }
}
