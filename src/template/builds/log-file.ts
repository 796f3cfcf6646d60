import { createWriteStream, type WriteStream } from "node:fs";
import { open } from "node:fs/promises";
import { finished } from "node:stream/promises";
import { ifPresent } from "../../files/file-error.ts";

const LOG_MAX_BYTES = 4_194_304;
const PAGE_BYTES = 65_536;
const CUT = "\n[more of the log is not kept]\n";

/** Writes the log of a build, up to a bound. A log that cannot be written fails no build. */
export class LogFile {
  readonly #stream: WriteStream;
  #room = LOG_MAX_BYTES;

  constructor(path: string) {
    this.#stream = createWriteStream(path, { flags: "wx", mode: 0o600 });
    this.#stream.on("error", () => undefined);
  }

  write(text: string): void {
    if (this.#room <= 0 || text === "") return;
    this.#room -= Buffer.byteLength(text);
    this.#stream.write(this.#room > 0 ? text : CUT);
  }

  /** All of it can be read from then on. */
  async end(): Promise<void> {
    this.#stream.end();
    await finished(this.#stream).catch(() => undefined);
  }
}

/** A part of a log from this byte on, that ends with a whole character. Empty: there is no more yet. */
export async function readLog(path: string, offset: number): Promise<{ readonly text: string; readonly nextOffset: number }> {
  const bytes = (await ifPresent(path, readPart(path, offset))) ?? Buffer.alloc(0);
  const part = bytes.subarray(0, endOfText(bytes));
  return { text: part.toString("utf8"), nextOffset: offset + part.length };
}

async function readPart(path: string, offset: number): Promise<Buffer> {
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(PAGE_BYTES), 0, PAGE_BYTES, offset);
  return buffer.subarray(0, bytesRead);
}

/** Before a character whose last bytes are missing. */
function endOfText(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    const isLead = byte >= 0xc0;
    if (isLead) return lengthBy(byte) > back ? bytes.length - back : bytes.length;
    if (byte < 0x80) break;
  }
  return bytes.length;
}

function lengthBy(lead: number): number {
  if (lead >= 0xf0) return 4;
  return lead >= 0xe0 ? 3 : 2;
}
