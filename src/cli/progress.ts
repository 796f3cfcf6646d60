import type { Writable } from "node:stream";

const PATIENCE_MS = 1000;

/** Prints on stderr what the command waits for, if the work takes over a second. */
export async function withProgress<T>(stderr: Writable, what: string, work: Promise<T>): Promise<T> {
  const timer = setTimeout(() => stderr.write(`${what} ...\n`), PATIENCE_MS);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}
