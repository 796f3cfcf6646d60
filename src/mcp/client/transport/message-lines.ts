import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { deserializeMessage } from "@modelcontextprotocol/client";
import { BelljarError } from "../../../errors.ts";
import { GrowingBytes } from "./growing-bytes.ts";

/** The most bytes of one message, on a program's streams and over HTTP. */
export const MESSAGE_MAX_BYTES = 10 * 1_048_576;

const LINE_END = 0x0a;

/** Messages of MCP that come as lines. What is no message is passed over, as the lines of a log are. */
export class MessageLines {
  readonly #input = new GrowingBytes();

  /** The messages that end in this chunk. Throws `RESULT_TOO_LARGE` for a line that is larger than a message may be. */
  *read(chunk: Buffer): Generator<JSONRPCMessage, void, undefined> {
    let from = 0;
    for (let end = chunk.indexOf(LINE_END); end !== -1; end = chunk.indexOf(LINE_END, from)) {
      const message = toMessage(this.#endLine(chunk.subarray(from, end)));
      from = end + 1;
      if (message) yield message;
    }
    this.#append(chunk.subarray(from));
  }

  /** Drops the line that has not ended. */
  clear(): void {
    this.#input.clear();
  }

  #endLine(rest: Buffer): string {
    if (this.#input.length === 0 && rest.length <= MESSAGE_MAX_BYTES) return rest.toString("utf8");
    this.#append(rest);
    return this.#input.take().toString("utf8");
  }

  #append(part: Buffer): void {
    if (this.#input.length + part.length > MESSAGE_MAX_BYTES)
      throw new BelljarError("RESULT_TOO_LARGE", `A message has over ${MESSAGE_MAX_BYTES} bytes`);
    this.#input.append(part);
  }
}

function toMessage(line: string): JSONRPCMessage | undefined {
  try {
    return deserializeMessage(line);
  } catch {
    return undefined;
  }
}
