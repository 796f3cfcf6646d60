import type { Duplex } from "node:stream";
import { encodeFields, type Field } from "../../protocol/fields.ts";
import { encodeFrame, FrameDecoder } from "../../protocol/frames.ts";
import { HeadDecoder, type Head } from "../../protocol/head.ts";
import { FRAME } from "../../protocol/wire.ts";
import { errorPayload } from "./failure.ts";

type FrameListener = (type: number, channel: number, payload: Buffer) => void;

/** The guest's side of one stream: a head in, frames both ways. */
export class Peer {
  readonly #stream: Duplex;
  readonly #head = new HeadDecoder();
  readonly #decoder: FrameDecoder;
  readonly #early: Parameters<FrameListener>[] = [];
  readonly #onGone = new Set<() => void>();
  #listener: FrameListener | undefined;
  #serve: ((head: Head) => void) | undefined;
  isGone = false;

  constructor(stream: Duplex, serve: (head: Head) => void) {
    this.#stream = stream;
    this.#serve = serve;
    this.#decoder = new FrameDecoder((...frame) => this.#receive(...frame));
    stream.on("data", (chunk: Buffer) => this.#guard(() => this.#push(chunk)));
    stream
      .on("end", () => this.#gone())
      .on("close", () => this.#gone())
      .on("error", () => this.#gone());
  }

  #push(chunk: Buffer): void {
    if (!this.#serve) return this.#decoder.push(chunk);
    const whole = this.#head.push(chunk);
    if (!whole) return undefined;
    const serve = this.#serve;
    this.#serve = undefined;
    serve(whole.head);
    return this.#decoder.push(whole.rest);
  }

  #receive(...frame: Parameters<FrameListener>): void {
    if (this.#listener) this.#listener(...frame);
    else this.#early.push(frame);
  }

  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.fail(error);
    }
  }

  #gone(): void {
    if (this.isGone) return;
    this.isGone = true;
    this.#decoder.stop();
    this.#stream.destroy();
    for (const tell of this.#onGone) tell();
  }

  /** Frames that came before the operation listened are handed over first. */
  listen(listener: FrameListener): void {
    this.#listener = listener;
    for (const frame of this.#early.splice(0)) this.#guard(() => listener(...frame));
  }

  /** Called when the host went away, or the operation is over. */
  onGone(tell: () => void): void {
    if (this.isGone) tell();
    else this.#onGone.add(tell);
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  send(type: number, channel: number, payload?: Uint8Array): boolean {
    return this.isGone || this.#stream.write(encodeFrame(type, channel, payload));
  }

  /** Resolves when the host took it; for answers of any length. */
  async sendSlowly(type: number, channel: number, payload?: Uint8Array): Promise<void> {
    if (this.send(type, channel, payload)) return;
    await new Promise<void>((resolve) => {
      this.onGone(resolve);
      this.#stream.once("drain", () => {
        this.#onGone.delete(resolve);
        resolve();
      });
    });
  }

  row(type: number, fields: readonly Field[]): Promise<void> {
    return this.sendSlowly(type, 0, encodeFields(fields));
  }

  started(fields: readonly Field[]): void {
    this.send(FRAME.STARTED, 0, encodeFields(fields));
  }

  reply(fields: readonly Field[] = []): void {
    this.last(FRAME.REPLY, encodeFields(fields));
  }

  fail(error: unknown): void {
    this.last(FRAME.ERROR, errorPayload(error));
  }

  /** Sends the last frame. What the host still sends is read and dropped until it goes. */
  last(type: number, payload: Uint8Array): void {
    this.send(type, 0, payload);
    this.#listener = () => {};
    this.#stream.end();
    this.#stream.resume();
  }

  /** No last frame: the end of both directions said it. */
  finish(): void {
    this.#listener = () => {};
    this.#stream.end();
    this.#stream.resume();
  }

  close(): void {
    this.#stream.destroy();
    this.#gone();
  }
}
