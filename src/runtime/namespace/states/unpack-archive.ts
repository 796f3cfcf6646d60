import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { BelljarError } from "../../../errors.ts";
import { unavailable } from "../spawner.ts";

/** Of `native/jail/jail.h`, `layers.h` and `unpack.h`. */
const EXIT = { ALIVE: 3, FULL: 5, MALFORMED: 7, TOO_LARGE: 8 } as const;
/** So long the archive may give nothing, or the program take nothing. */
const SILENCE_MS = 120_000;
const SAID_MAX = 1_000;

export interface ArchiveRequest {
  readonly tar: AsyncIterable<Uint8Array>;
  /** What `native/jail/unpack.c` reads before the archive. */
  readonly spec: Buffer;
}

export interface ArchiveCounts {
  readonly bytes: number;
  readonly entries: number;
  readonly skipped: number;
}

interface End {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * A process of its own unpacks the archive. Rejects, once it has ended, with `IMAGE_INVALID`, `IMAGE_TOO_LARGE`, `DISK_FULL`,
 * `RUNTIME_UNAVAILABLE`, `RUNTIME_FAILED` or `CANCELLED`, and with what the archive rejects with.
 */
export async function unpackArchive(
  binary: string,
  { tar, spec }: ArchiveRequest,
  signal: AbortSignal,
  silenceMs: number = SILENCE_MS,
): Promise<ArchiveCounts> {
  const child = spawn(binary, ["unpack"], { stdio: ["pipe", "pipe", "pipe"], env: {}, cwd: "/" });
  if (child.pid === undefined) throw unavailable((await once(child, "error"))[0]); // it has no pipes
  const ended = endOf(child);
  const kill = (): void => void child.kill("SIGKILL");
  const source = new Source(tar, { silent: kill, silenceMs });
  signal.addEventListener("abort", kill, { once: true });
  if (signal.aborted) kill();
  try {
    child.stdin.write(spec);
    // A process that ends takes no more of the archive. How it went, the process and the source tell.
    pipeline(Readable.from(source.chunks()), child.stdin).catch(() => undefined);
    const end = await ended;
    if (signal.aborted) throw notUnpacked(signal);
    if (source.isSilent) throw failed(`nothing of it came or was taken for ${silenceMs / 1_000} s`);
    if (source.failure) throw source.failure.cause;
    return parseEnd(end);
  } finally {
    source.close();
    signal.removeEventListener("abort", kill);
  }
}

/** The archive as the process reads it, and whether it comes and goes. */
class Source {
  readonly #tar: AsyncIterable<Uint8Array>;
  readonly #timer: NodeJS.Timeout;
  isSilent = false;
  failure: { readonly cause: unknown } | undefined;

  constructor(tar: AsyncIterable<Uint8Array>, { silent, silenceMs }: { readonly silent: () => void; readonly silenceMs: number }) {
    this.#tar = tar;
    this.#timer = setTimeout(() => {
      this.isSilent = true;
      silent();
    }, silenceMs);
  }

  /** The next chunk is asked for once the process has taken the last one. */
  chunks(): AsyncIterable<Uint8Array> {
    const source = this.#tar[Symbol.asyncIterator]();
    // It has no `throw`, so that what fails here is the archive, and never whoever reads.
    const chunks = {
      next: () => this.#next(source),
      return: async () => (await source.return?.()) ?? { done: true as const, value: undefined },
    };
    return { [Symbol.asyncIterator]: () => chunks };
  }

  async #next(source: AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array>> {
    try {
      const next = await source.next();
      if (next.done || next.value.length > 0) this.#timer.refresh();
      return next;
    } catch (cause) {
      this.failure = { cause };
      throw cause;
    }
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}

function endOf(child: ChildProcessWithoutNullStreams): Promise<End> {
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].on("data", (chunk: Buffer) => void (said[name] = (said[name] + chunk.toString()).slice(0, SAID_MAX)));
  return new Promise((resolve, reject) => {
    child.once("error", (cause) => reject(unavailable(cause)));
    child.once("close", (code) => resolve({ code, ...said }));
  });
}

function parseEnd({ code, stdout, stderr }: End): ArchiveCounts {
  const text = stderr.trim();
  const [, bytes, entries, skipped] = /^(\d{1,16}) (\d{1,16}) (\d{1,16})\n$/.exec(stdout) ?? [];
  if (code === 0 && bytes !== undefined) return { bytes: Number(bytes), entries: Number(entries), skipped: Number(skipped) };
  if (code === EXIT.MALFORMED) throw new BelljarError("IMAGE_INVALID", `A layer of the image cannot be unpacked: ${text}`);
  if (code === EXIT.TOO_LARGE)
    throw new BelljarError(
      "IMAGE_TOO_LARGE",
      `A layer of the image is larger than is allowed: ${text}. Raise the limit, or use a smaller image`,
    );
  if (code === EXIT.FULL) throw new BelljarError("DISK_FULL", `No space is left for a layer of the image (${text}): free some`);
  if (code === EXIT.ALIVE) throw new BelljarError("RUNTIME_UNAVAILABLE", "Another process works on the layer: try again");
  throw failed(text || (code === null ? "it was killed" : `exit code ${code}`));
}

function failed(what: string): BelljarError {
  return new BelljarError("RUNTIME_FAILED", `A layer of the image could not be unpacked: ${what}`);
}

export function notUnpacked(signal: AbortSignal): BelljarError {
  return new BelljarError("CANCELLED", "The layer was not unpacked: its caller cancelled", { cause: signal.reason });
}
