import { posix } from "node:path";
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { BelljarError } from "../../errors.ts";
import { printableText } from "../../files/printable.ts";
import type { ExecOptions } from "../../runtime/guest/guest.ts";
import type { ExecProcess, Sandbox } from "../sandbox.ts";

/** Much longer is what a hostile program says in tar's place. */
const COMPLAINT_MAX = 2000;

export interface ArchiveOptions {
  /** A file or folder of the sandbox for `archiveOut`, a folder of it for `archiveIn`. */
  readonly path: string;
  readonly signal: AbortSignal;
  readonly onBytes?: (count: number) => void;
}

/** Writes a tar archive of a file or folder to `out`, which stays open. `tar` runs inside: what it reads and says is the sandbox's. */
export async function archiveOut(sandbox: Sandbox, out: Writable, { path, signal, onBytes }: ArchiveOptions): Promise<void> {
  const base = posix.basename(path) || ".";
  const [folder, name] = base === "." || base === ".." ? [path, "."] : [posix.dirname(path), base];
  await using tar = await startTar(sandbox, { argv: ["tar", "-cf", "-", "-C", folder || "/", "--", name], signal });
  tar.stdin.end();
  await finish(tar, pipeline(tar.stdout, counting(onBytes), out, { end: false, signal }));
}

/**
 * Unpacks a tar archive into a folder of the sandbox. `tar` runs inside, as its user: the archive cannot do more than that user may. It
 * starts in the folder, because `tar -C` looks for the folder only after it has read from the archive.
 */
export async function archiveIn(sandbox: Sandbox, input: Readable, { path, signal, onBytes }: ArchiveOptions): Promise<void> {
  await using tar = await startTar(sandbox, { argv: ["tar", "-xf", "-", "--no-same-owner"], cwd: path, signal });
  tar.stdout.resume();
  const failed = new AbortController();
  // The producer of the archive may write for hours after tar has failed.
  void tar.exited.then(
    ({ exitCode }) => exitCode !== 0 && failed.abort(),
    () => failed.abort(),
  );
  await finish(tar, pipeline(input, counting(onBytes), tar.stdin, { signal: AbortSignal.any([signal, failed.signal]) }));
}

async function startTar(sandbox: Sandbox, options: ExecOptions): Promise<ExecProcess> {
  try {
    return await sandbox.guest.exec(options);
  } catch (cause) {
    if (!(cause instanceof BelljarError) || cause.code !== "COMMAND_NOT_FOUND") throw cause;
    throw new BelljarError("NOT_SUPPORTED", "This sandbox's template has no tar: copy to or from a file instead of -", { cause });
  }
}

/** tar may end before all is carried; why it did says more than the broken stream. */
async function finish(tar: ExecProcess, carried: Promise<void>): Promise<void> {
  const [complaint, exit, carry] = await Promise.all([
    readStart(tar.stderr),
    tar.exited,
    carried.then(
      () => undefined,
      (cause: unknown) => ({ cause }),
    ),
  ]);
  if (exit.exitCode !== 0) {
    const why = printableText(complaint).trim() || `it ended with ${exit.signal ?? `code ${exit.exitCode}`}`;
    throw new BelljarError("COMMAND_FAILED", `tar in the sandbox failed: ${why}`);
  }
  if (carry) throw carry.cause;
}

async function readStart(stream: Readable): Promise<string> {
  let text = "";
  for await (const chunk of stream as AsyncIterable<Buffer>) if (text.length < COMPLAINT_MAX) text += chunk.toString();
  return text.slice(0, COMPLAINT_MAX);
}

function counting(onBytes: ArchiveOptions["onBytes"]) {
  return async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      onBytes?.(chunk.length);
      yield chunk;
    }
  };
}
