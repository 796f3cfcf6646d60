import type { Writable } from "node:stream";
import { printableText } from "../../files/printable.ts";

/** Prints a model's words as they come, with what could control the terminal escaped. */
export class TextOut {
  readonly #stdout: Writable;
  #isInLine = false;
  #held = "";

  constructor(stdout: Writable) {
    this.#stdout = stdout;
  }

  /** A character of two units may come in two pieces. */
  write(text: string): void {
    const whole = this.#held + text;
    this.#held = /[\uD800-\uDBFF]$/.test(whole) ? whole.slice(-1) : "";
    this.#print(this.#held === "" ? whole : whole.slice(0, -1));
  }

  endLine(): void {
    this.#print(this.#held);
    this.#held = "";
    if (this.#isInLine) this.#stdout.write("\n");
    this.#isInLine = false;
  }

  #print(text: string): void {
    if (text === "") return;
    this.#stdout.write(printableText(text));
    this.#isInLine = !text.endsWith("\n");
  }
}
