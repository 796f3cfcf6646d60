interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Changes of a source text. Each line keeps its number, so that stack traces name the author's lines. */
export class Edits {
  readonly #source: string;
  readonly #edits: Edit[] = [];

  constructor(source: string) {
    this.#source = source;
  }

  insert(at: number, text: string): void {
    this.#edits.push({ start: at, end: at, text });
  }

  replace(start: number, end: number, text: string): void {
    const lines = this.#source.slice(start, end).replace(/[^\n]+/g, "");
    this.#edits.push({ start, end, text: text + lines });
  }

  remove(start: number, end: number): void {
    this.replace(start, end, "");
  }

  toString(): string {
    const pieces: string[] = [];
    let at = 0;
    // Of two edits at one place, the earlier call's comes first. Sorted in place: Node 18 has no toSorted.
    this.#edits.sort((a, b) => a.start - b.start);
    for (const { start, end, text } of this.#edits) {
      pieces.push(this.#source.slice(at, start), text);
      at = end;
    }
    return pieces.join("") + this.#source.slice(at);
  }
}
