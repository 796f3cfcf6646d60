/** A file of more lines is patched by a program. */
export const LINES_MAX = 2_000_000;

const NEWLINE = "\n";

export function countLines(text: string): number {
  let lines = 0;
  for (let at = text.indexOf(NEWLINE); at >= 0; at = text.indexOf(NEWLINE, at + 1)) lines += 1;
  return lines;
}

/** A file's lines as places in its text: a million of them are one array of numbers. */
export class FileLines {
  readonly count: number;
  /** The last line has no newline in the file. Here it has one, like all others. */
  readonly isOpen: boolean;
  readonly #text: string;
  /** Where each line starts, and where the text ends. */
  readonly #starts: Uint32Array;

  constructor(text: string) {
    this.isOpen = text !== "" && !text.endsWith(NEWLINE);
    this.#text = this.isOpen ? text + NEWLINE : text;
    this.count = countLines(this.#text);
    this.#starts = new Uint32Array(this.count + 1);
    for (let line = 1; line <= this.count; line += 1) this.#starts[line] = this.#text.indexOf(NEWLINE, this.#start(line - 1)) + 1;
  }

  /** Lines with their newlines, from the first to before the last. */
  text(from: number, to: number): string {
    return this.#text.slice(this.#start(from), this.#start(to));
  }

  /** Without its newline. */
  line(index: number): string {
    return this.#text.slice(this.#start(index), this.#start(index + 1) - 1);
  }

  /** Lines that end in CR. */
  countReturns(): number {
    let count = 0;
    for (let line = 1; line <= this.count; line += 1) {
      const end = this.#start(line) - 2;
      if (end >= this.#start(line - 1) && this.#text[end] === "\r") count += 1;
    }
    return count;
  }

  #start(line: number): number {
    return this.#starts[line] ?? this.#text.length;
  }
}
