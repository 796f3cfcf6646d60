import { once } from "node:events";
import { open } from "node:fs/promises";
import { BelljarError } from "../../errors.ts";
import type { WireRecord } from "../../mcp/client/mcp-client.ts";

/** A file of lines of JSON. */
export interface WireLog {
  readonly add: (record: WireRecord) => void;
  /** Resolves when all is written. Rejects with `FILE_IO` if it is not. */
  close(): Promise<void>;
}

/**
 * Opens a file to append to, which from then on only this user may read: arguments and results may hold secrets. Rejects with `FILE_IO` if
 * it cannot be written.
 */
export async function openWireLog(path: string): Promise<WireLog> {
  const refuse = (cause: unknown): BelljarError =>
    new BelljarError("FILE_IO", `Cannot write ${path}: check the path, and the space`, { cause });
  const stream = await openStream(path).catch((cause: unknown) => {
    throw refuse(cause);
  });
  let failure: unknown;
  stream.on("error", (cause) => (failure ??= cause));
  return {
    add: (record) => void stream.write(`${JSON.stringify({ at: new Date().toISOString(), ...record })}\n`),
    async close() {
      if (!stream.closed) {
        stream.end();
        await once(stream, "close").catch(() => undefined);
      }
      if (failure !== undefined) throw refuse(failure);
    },
  };
}

async function openStream(path: string): Promise<ReturnType<Awaited<ReturnType<typeof open>>["createWriteStream"]>> {
  const handle = await open(path, "a", 0o600);
  // A file that was there already keeps its mode. A pipe or a terminal has none that matters.
  if ((await handle.stat()).isFile()) await handle.chmod(0o600);
  return handle.createWriteStream();
}
