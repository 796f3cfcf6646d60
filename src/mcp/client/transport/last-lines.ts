import { printable } from "../../../files/printable.ts";

const FOR_AN_ERROR = { bytes: 8 * 1024, lines: 10 };
const LINE_CHARACTERS_MAX = 500;

/** The end of what a program said on stderr. However much that is, no more is kept than the bounds say. */
export class LastLines {
  readonly #most: typeof FOR_AN_ERROR;
  #kept = Buffer.alloc(0);

  /** Default: as much as an error shows, ten lines. */
  constructor(most = FOR_AN_ERROR) {
    this.#most = most;
  }

  add(chunk: Buffer): void {
    const { bytes } = this.#most;
    this.#kept = Buffer.concat([this.#kept, chunk.subarray(-bytes)]).subarray(-bytes);
  }

  /** The last lines. Characters that could control a terminal are escaped. */
  lines(): readonly string[] {
    const lines = this.#kept.toString("utf8").split(/\r?\n/);
    return lines
      .filter((line) => line.trim() !== "")
      .slice(-this.#most.lines)
      .map((line) => printable(line.slice(0, LINE_CHARACTERS_MAX)));
  }
}
