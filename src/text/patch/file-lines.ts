/** Maximum number of lines of a file that is patched here. */
export const LINES_MAX = 2_000_000;

const NEWLINE = "\n";

export function countLines(text: string): number {
  let lines = 0;
  for (let at = text.indexOf(NEWLINE); at >= 0; at = text.indexOf(NEWLINE, at + 1)) lines += 1;
  return lines;
}

/** The lines of a file, stored as positions in its text. A million lines need only one array of numbers. */
export class FileLines {
  readonly count: number;
  /** True if the file's last line has no newline. In this object it has one, like all other lines. */
  readonly isOpen: boolean;
  readonly #text: string;
  /** The start of each line, and the end of the text. */
  readonly #starts: Uint32Array;

  constructor(text: string) {
    this.isOpen = text !== "" && !text.endsWith(NEWLINE);
    this.#text = this.isOpen ? text + NEWLINE : text;
    this.count = countLines(this.#text);
    this.#starts = new Uint32Array(this.count + 1);
    for (let line = 1; line <= this.count; line += 1) this.#starts[line] = this.#text.indexOf(NEWLINE, this.#start(line - 1)) + 1;
  }

  /** Returns lines with their newlines, from `from` up to but not including `to`. */
  text(from: number, to: number): string {
    return this.#text.slice(this.#start(from), this.#start(to));
  }

  /** Returns one line without its newline. */
  line(index: number): string {
    return this.#text.slice(this.#start(index), this.#start(index + 1) - 1);
  }

  /** Counts the lines that end in CR. */
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
