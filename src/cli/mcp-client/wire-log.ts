import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { BelljarError } from "../../errors.ts";
import type { WireRecord } from "../../mcp/client/mcp-client.ts";

/** A file of lines of JSON. */
export interface WireLog {
  readonly add: (record: WireRecord) => void;
  /** Resolves when all is written. Rejects with `FILE_IO` if it is not. */
  close(): Promise<void>;
}

/** Opens a file that only this user may read: arguments and results may hold secrets. Rejects with `FILE_IO` if it cannot be written. */
export async function openWireLog(path: string | undefined): Promise<WireLog | undefined> {
  if (path === undefined) return undefined;
  const stream = createWriteStream(path, { flags: "a", mode: 0o600 });
  let failure: unknown;
  stream.on("error", (cause) => (failure ??= cause));
  const refuse = (cause: unknown): BelljarError =>
    new BelljarError("FILE_IO", `Cannot write ${path}: check the path, and the space`, { cause });
  await once(stream, "open").catch((cause: unknown) => {
    throw refuse(cause);
  });
  return {
    add: (record) => void stream.write(`${JSON.stringify({ at: new Date().toISOString(), ...record })}\n`),
    async close() {
      if (!stream.destroyed && !stream.writableEnded) {
        stream.end();
        await once(stream, "close").catch(() => undefined);
      }
      if (failure !== undefined) throw refuse(failure);
    },
  };
}
