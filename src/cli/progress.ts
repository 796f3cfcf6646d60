import type { Writable } from "node:stream";
import { formatBytes } from "./print.ts";

const PATIENCE_MS = 1000;
const REDRAW_MS = 200;

type Screen = Writable & { readonly isTTY?: boolean };

/** Prints on stderr what the command waits for, if the work takes over a second, and `until` has not aborted by then. */
export async function withProgress<T>(stderr: Writable, what: string, work: Promise<T>, until?: AbortSignal): Promise<T> {
  const timer = setTimeout(() => until?.aborted !== true && stderr.write(`${what} ...\n`), PATIENCE_MS);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}

/** What has been carried so far. On a terminal it is shown, and taken away when this is disposed. */
export interface ByteProgress extends Disposable {
  readonly add: (bytes: number) => void;
  readonly total: () => number;
}

/** After a second a terminal shows how much has been carried; others are told once that it takes long. */
export function openByteProgress(stderr: Screen, what: string): ByteProgress {
  let total = 0;
  let drawing: NodeJS.Timeout | undefined;
  const draw = (): void => void stderr.write(`\r${what}: ${formatBytes(total)} ...\u001B[K`);
  const patience = setTimeout(() => {
    if (!stderr.isTTY) return void stderr.write(`${what} ...\n`);
    draw();
    drawing = setInterval(draw, REDRAW_MS);
  }, PATIENCE_MS);
  return {
    add: (bytes) => void (total += bytes),
    total: () => total,
    [Symbol.dispose]() {
      clearTimeout(patience);
      clearInterval(drawing);
      if (drawing) stderr.write("\r\u001B[K");
      drawing = undefined;
    },
  };
}
