import { printable } from "../../../files/printable.ts";

const BYTES_MAX = 8 * 1024;
const LINES_MAX = 10;
const LINE_CHARACTERS_MAX = 500;

/** The end of what a program said on stderr. However much that is, no more than 8 KiB are kept. */
export class LastLines {
  #kept = Buffer.alloc(0);

  add(chunk: Buffer): void {
    this.#kept = Buffer.concat([this.#kept, chunk.subarray(-BYTES_MAX)]).subarray(-BYTES_MAX);
  }

  /** The last ten lines. Characters that could control a terminal are escaped. */
  lines(): readonly string[] {
    const lines = this.#kept.toString("utf8").split(/\r?\n/);
    return lines
      .filter((line) => line.trim() !== "")
      .slice(-LINES_MAX)
      .map((line) => printable(line.slice(0, LINE_CHARACTERS_MAX)));
  }
}
