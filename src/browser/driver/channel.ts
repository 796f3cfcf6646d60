import type { Socket } from "node:net";
import type { DriverMessage, ServerMessage } from "../wire.ts";
import { FrameReader, toFrame } from "../frames.ts";
import type { Picture } from "./handler.ts";

/** The driver's end of its channel. What comes before somebody listens waits. */
export class Channel {
  readonly #socket: Socket;
  readonly #early: ServerMessage[] = [];
  #take: ((message: ServerMessage) => void) | undefined;

  constructor(socket: Socket, ended: () => void) {
    this.#socket = socket;
    const reader = new FrameReader();
    socket.on("data", (chunk: Buffer) => {
      for (const { bytes } of reader.push(chunk)) this.#hear(JSON.parse(bytes.toString()) as ServerMessage);
    });
    socket.on("end", ended).on("close", ended).on("error", ended);
  }

  /** The next message, for whoever waits for one before there is somebody to listen. */
  next(): Promise<ServerMessage> {
    const early = this.#early.shift();
    if (early) return Promise.resolve(early);
    return new Promise((resolve) => {
      this.#take = (message) => {
        this.#take = undefined;
        resolve(message);
      };
    });
  }

  listen(take: (message: ServerMessage) => void): void {
    this.#take = take;
    for (const message of this.#early.splice(0)) take(message);
  }

  /** Resolves once it is written. Throws `FrameError` for what is too large. */
  send(message: DriverMessage, picture?: Picture): Promise<void> {
    const frame = toFrame("message", Buffer.from(JSON.stringify(message)));
    const bytes = picture ? Buffer.concat([toFrame("picture", picture.bytes), frame]) : frame;
    return new Promise((resolve) => this.#socket.write(bytes, () => resolve()));
  }

  #hear(message: ServerMessage): void {
    if (this.#take) this.#take(message);
    else this.#early.push(message);
  }
}
