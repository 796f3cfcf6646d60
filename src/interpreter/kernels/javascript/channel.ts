import { Buffer } from "node:buffer";
import { writeAll } from "./write-all.ts";

const MESSAGE_BYTES = 7 * 1024 * 1024;
const TEXT_CHARACTERS = 16 * 1024;
const HELD_CHARACTERS = 64 * 1024;
/** As it is now: the user's code may change the global one. */
const toJson = JSON.stringify.bind(JSON);
const NEWLINE = Buffer.from("\n");

export type TextStream = "stdout" | "stderr";
export type MimeData = Readonly<Record<string, unknown>>;

export type Message =
  | { readonly type: "started"; readonly run: string }
  | { readonly type: "prepared"; readonly run: string }
  | { readonly type: TextStream; readonly text: string }
  | { readonly type: "display"; readonly data: MimeData; readonly metadata?: MimeData }
  | { readonly type: "result"; readonly data: MimeData }
  | { readonly type: "error"; readonly name: string; readonly message: string; readonly traceback: string }
  | { readonly type: "done"; readonly run: string; readonly execution_count: number };

/** The way to the host: a JSON line a message, written at once and in order. */
export class Channel {
  readonly #fd: number;
  #isWriting = false;
  #isOpen = false;
  #held: Message[] = [];
  #heldCharacters = 0;

  constructor(fd: number) {
    this.#fd = fd;
  }

  /** A run begins; what was printed since the last one belongs to it. */
  open(run: string): void {
    this.#isOpen = true;
    this.#write({ type: "started", run });
    const held = this.#held;
    this.#held = [];
    this.#heldCharacters = 0;
    for (const message of held) this.#write(message);
  }

  /** Said between two runs. */
  prepared(run: string): void {
    this.#write({ type: "prepared", run });
  }

  /** Between runs, text is kept for the next one, to a bound; what else comes there is dropped. */
  send(message: Message): void {
    if (this.#isOpen) this.#write(message);
  }

  sendText(type: TextStream, text: string): void {
    for (let at = 0; at < text.length;) {
      const end = pieceEnd(text, at);
      this.#sendPiece({ type, text: text.slice(at, end) });
      at = end;
    }
  }

  close(run: string, executionCount: number): void {
    this.#isOpen = false;
    this.#write({ type: "done", run, execution_count: executionCount });
  }

  #sendPiece(message: Message & { readonly text: string }): void {
    if (this.#isOpen) return this.#write(message);
    this.#heldCharacters += message.text.length;
    if (this.#heldCharacters <= HELD_CHARACTERS) this.#held.push(message);
  }

  #write(message: Message): void {
    // An interrupt broke off the last message, perhaps within its line.
    if (this.#isWriting) writeAll(this.#fd, NEWLINE);
    const line = toLine(message);
    this.#isWriting = true;
    writeAll(this.#fd, line);
    this.#isWriting = false;
  }
}

function toLine(message: Message): Buffer {
  const line = Buffer.from(`${toJson(message)}\n`);
  if (line.length <= MESSAGE_BYTES) return line;
  const note = `(${line.length} bytes, too large to show: at most ${MESSAGE_BYTES} are)`;
  return Buffer.from(`${toJson({ type: message.type === "result" ? "result" : "display", data: { "text/plain": note } })}\n`);
}

/** A piece ends between two characters, not within one of two halves. */
function pieceEnd(text: string, start: number): number {
  const end = Math.min(start + TEXT_CHARACTERS, text.length);
  const isHigh = end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800;
  return isHigh ? end - 1 : end;
}
