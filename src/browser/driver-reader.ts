import * as z from "zod";
import { FrameError, FrameReader } from "./frames.ts";
import { DriverMessage } from "./wire.ts";

/** One thing that a driver said. */
export interface Said {
  readonly message: DriverMessage;
  /** It came right before. */
  readonly picture: Buffer | undefined;
}

/** What a driver sent is no message. Nothing after it is read. */
export class WireError extends Error {
  override readonly name = "WireError";
}

/** Reads what a driver sends, whoever that is. It holds one unfinished frame and one picture at most. */
export class DriverReader {
  readonly #frames = new FrameReader();
  #picture: Buffer | undefined;

  /** Throws `WireError`. */
  *push(chunk: Buffer): Generator<Said> {
    try {
      for (const { kind, bytes } of this.#frames.push(chunk)) {
        if (kind === "picture") this.#hold(bytes);
        else yield this.#read(bytes);
      }
    } catch (cause) {
      if (cause instanceof FrameError || cause instanceof SyntaxError || cause instanceof z.ZodError)
        throw new WireError("What a driver sent is no message", { cause });
      throw cause;
    }
  }

  #hold(bytes: Buffer): void {
    if (this.#picture) throw new FrameError("A picture belongs to no message");
    this.#picture = bytes;
  }

  #read(bytes: Buffer): Said {
    const message = DriverMessage.parse(JSON.parse(bytes.toString("utf8")));
    const picture = this.#picture;
    this.#picture = undefined;
    const names = message.type === "answer" && message.picture !== undefined;
    if (names !== (picture !== undefined)) throw new FrameError("A picture and its message do not fit");
    return { message, picture };
  }
}
