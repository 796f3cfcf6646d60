import type { Writable } from "node:stream";

const PATIENCE_MS = 1000;

/** Says on stderr what is being waited for once it takes over a second. */
export async function withProgress<T>(stderr: Writable, what: string, work: Promise<T>): Promise<T> {
  const timer = setTimeout(() => stderr.write(`${what} ...\n`), PATIENCE_MS);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}
