import { printableText } from "../../files/printable.ts";
import type { EchoMask } from "../../network/secrets/echo-mask.ts";
import type { BuildLog } from "../templates.ts";

/** Of one command, to whoever follows the build. */
const LOGGED_MAX = 4_194_304;
/** Of the last output, in an error. */
const TOLD_MAX = 2_000;

/** Whatever a program writes: secrets are masked, what could steer a terminal is taken out, and its amount is bounded. */
export class CommandOutput {
  readonly #log: BuildLog;
  readonly #mask: EchoMask;
  readonly #decoder = new TextDecoder();
  #logged = 0;
  #last = "";

  constructor(log: BuildLog, mask: EchoMask) {
    this.#log = log;
    this.#mask = mask;
  }

  /** Its end, for an error. */
  get told(): string {
    const last = this.#last.trim();
    return last === "" ? "it wrote nothing" : `its last output:\n${last}`;
  }

  add(chunk: Buffer): void {
    this.#take(this.#decoder.decode(this.#mask.push(chunk), { stream: true }));
  }

  end(): void {
    this.#take(this.#decoder.decode(this.#mask.end()));
  }

  #take(text: string): void {
    const shown = printableText(text.replaceAll(/\r\n?/g, "\n"));
    this.#last = (this.#last + shown).slice(-TOLD_MAX);
    if (this.#logged >= LOGGED_MAX) return;
    this.#logged += shown.length;
    this.#log(this.#logged < LOGGED_MAX ? shown : "\n[more output is not shown]\n");
  }
}
