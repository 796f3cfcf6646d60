import type { Readable, Writable } from "node:stream";
import { ReceiveWindow, SendWindow } from "../../protocol/credit.ts";
import { FRAME, GUEST_CREDIT_BYTES, HOST_CREDIT_BYTES, PAYLOAD_MAX_BYTES } from "../../protocol/wire.ts";
import type { Peer } from "./peer.ts";

/** Bytes from a pipe to the host, within the channel's credit. */
export class OutputPump {
  readonly #peer: Peer;
  readonly #channel: number;
  readonly #source: Readable;
  readonly #window = new SendWindow(GUEST_CREDIT_BYTES);
  readonly #onProgress: () => void;
  #held: Buffer | undefined;
  #sourceEnded = false;
  #endSent = false;

  constructor(peer: Peer, channel: number, source: Readable, onProgress: () => void = () => {}) {
    this.#peer = peer;
    this.#channel = channel;
    this.#source = source;
    this.#onProgress = onProgress;
    source.on("data", (chunk: Buffer) => this.#take(chunk));
    source
      .on("close", () => this.#sourceGone())
      .on("end", () => this.#sourceGone())
      .on("error", () => {});
    source.resume();
  }

  get isEnded(): boolean {
    return this.#endSent;
  }

  /** Waits for credit, so what is in the pipe cannot be sent yet. */
  get isBlocked(): boolean {
    return this.#held !== undefined;
  }

  grant(bytes: number): void {
    this.#window.grant(bytes);
    this.#flush();
  }

  end(): void {
    if (this.#endSent) return;
    this.#endSent = true;
    this.#peer.send(FRAME.END, this.#channel);
  }

  /** Node resumes a child's pipes when it exits, so a chunk may come while another one is held. */
  #take(chunk: Buffer): void {
    this.#held = this.#held ? Buffer.concat([this.#held, chunk]) : chunk;
    this.#source.pause();
    this.#flush();
  }

  #sourceGone(): void {
    this.#sourceEnded = true;
    this.#flush();
  }

  #flush(): void {
    while (this.#held) {
      const held = this.#held;
      const size = this.#window.take(Math.min(held.length, PAYLOAD_MAX_BYTES));
      if (size === 0) return;
      this.#held = size < held.length ? held.subarray(size) : undefined;
      this.#peer.send(FRAME.DATA, this.#channel, held.subarray(0, size));
    }
    if (this.#sourceEnded) this.end();
    else this.#source.resume();
    this.#onProgress();
  }
}

/** Bytes from the host to a pipe; credit goes back as the pipe takes them. */
export class InputPump {
  readonly #peer: Peer;
  readonly #channel: number;
  readonly #sink: Writable | undefined;
  readonly #window = new ReceiveWindow(HOST_CREDIT_BYTES);

  constructor(peer: Peer, channel: number, sink: Writable | undefined) {
    this.#peer = peer;
    this.#channel = channel;
    this.#sink = sink;
    sink?.on("error", () => {});
  }

  receive(payload: Buffer): void {
    this.#window.receive(payload.length);
    if (this.#sink?.writable) this.#sink.write(payload, () => this.#taken(payload.length));
    else this.#taken(payload.length);
  }

  end(): void {
    this.#sink?.end();
  }

  #taken(bytes: number): void {
    const credit = this.#window.take(bytes);
    if (credit === 0) return;
    const payload = Buffer.alloc(4);
    payload.writeUInt32BE(credit);
    this.#peer.send(FRAME.CREDIT, this.#channel, payload);
  }
}

type FrameRoute = (type: number, channel: number, payload: Buffer) => void;

/** Routes the frames of multiplexed channels to their pumps. */
export function routeFrames(outputs: readonly (OutputPump | undefined)[], inputs: readonly (InputPump | undefined)[]): FrameRoute {
  return (type, channel, payload) => {
    if (type === FRAME.DATA) inputs[channel]?.receive(payload);
    else if (type === FRAME.END) inputs[channel]?.end();
    else if (type === FRAME.CREDIT) outputs[channel]?.grant(payload.readUInt32BE());
  };
}
