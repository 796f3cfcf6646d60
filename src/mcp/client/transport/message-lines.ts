import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { deserializeMessage } from "@modelcontextprotocol/client";
import { BelljarError } from "../../../errors.ts";
import { countTokens, type TokenBound } from "../../../files/json-tokens.ts";
import { GrowingBytes } from "./growing-bytes.ts";

/** The most bytes of one message, on a program's streams and over HTTP. */
export const MESSAGE_MAX_BYTES = 10 * 1_048_576;
/** Its JSON: a list of ten thousand tools has as many tokens, and is read in a tenth of a second. The SDK looks at entries near the top many times. */
export const MESSAGE_TOKENS: TokenBound = { max: 500_000, entry: 25 };

const LINE_END = 0x0a;
const OPENING = 0x7b;

/** Messages of MCP that come as lines. What is no message is passed over, as the lines of a log are. */
export class MessageLines {
  readonly #input = new GrowingBytes();
  #tokens = 0;

  /** The tokens of all JSON that came as lines. */
  get tokens(): number {
    return this.#tokens;
  }

  /** The messages that end in this chunk. Throws `RESULT_TOO_LARGE` for a line that is larger than a message may be, or has more values. */
  *read(chunk: Buffer): Generator<JSONRPCMessage, void, undefined> {
    let from = 0;
    for (let end = chunk.indexOf(LINE_END); end !== -1; end = chunk.indexOf(LINE_END, from)) {
      const message = this.#toMessage(this.#endLine(chunk.subarray(from, end)));
      from = end + 1;
      if (message) yield message;
    }
    this.#append(chunk.subarray(from));
  }

  /** Drops the line that has not ended. */
  clear(): void {
    this.#input.clear();
  }

  #endLine(rest: Buffer): Buffer {
    if (this.#input.length === 0 && rest.length <= MESSAGE_MAX_BYTES) return rest;
    this.#append(rest);
    return this.#input.take();
  }

  #append(part: Buffer): void {
    if (this.#input.length + part.length > MESSAGE_MAX_BYTES)
      throw new BelljarError("RESULT_TOO_LARGE", `A message has over ${MESSAGE_MAX_BYTES} bytes`);
    this.#input.append(part);
  }

  #toMessage(line: Buffer): JSONRPCMessage | undefined {
    if (firstOf(line) !== OPENING) return undefined;
    const tokens = countTokens(line, MESSAGE_TOKENS);
    this.#tokens += tokens;
    if (tokens > MESSAGE_TOKENS.max) throw new BelljarError("RESULT_TOO_LARGE", "A message has more values than are read in a moment");
    try {
      return deserializeMessage(line.toString("utf8"));
    } catch {
      return undefined;
    }
  }
}

/** The first byte that is no blank. */
function firstOf(line: Buffer): number | undefined {
  return line.find((byte) => byte !== 0x20 && byte !== 0x09 && byte !== 0x0d);
}
