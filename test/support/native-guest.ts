import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encodeFields, Fields, type Field } from "../../src/protocol/fields.ts";
import { encodeFrame, FrameDecoder } from "../../src/protocol/frames.ts";
import { encodeHead } from "../../src/protocol/head.ts";
import { parseExit, type Exit } from "../../src/protocol/exit.ts";
import { FRAME, OPERATION } from "../../src/protocol/wire.ts";

const NATIVE = join(import.meta.dirname, "../../native");

/** `guest-main` serves without a jail; the sanitized one dies of every memory error and undefined step. */
export type Build = "guest-main" | "guest-main-sanitized";

export interface Frame {
  readonly type: keyof typeof FRAME;
  readonly channel: number;
  readonly payload: Buffer;
}

/** Several test files may ask at once: the lock lets one of them build. */
export function buildNativeTests(): void {
  execFileSync("flock", [NATIVE, "make", "-s", "-C", NATIVE, "guest-tests", "checked"], { stdio: "inherit" });
}

export function nativeTestPath(name: string): string {
  return join(NATIVE, "build", name);
}

/** A guest of its own, on a socket in a folder of its own. */
export class NativeGuest implements AsyncDisposable {
  readonly folder: string;
  readonly services: string;
  readonly #process: ChildProcess;
  readonly #exited: Promise<unknown[]>;
  readonly #secret: string | undefined;
  #isEnding = false;
  #stderr = "";

  private constructor(folder: string, process: ChildProcess, secret: string | undefined) {
    this.#secret = secret;
    this.folder = folder;
    this.services = join(folder, "services");
    this.#process = process;
    this.#exited = once(process, "exit");
    process.stderr?.on("data", (chunk: Buffer) => (this.#stderr += chunk.toString()));
  }

  static async open(build: Build, secret?: string): Promise<NativeGuest> {
    const folder = mkdtempSync(join(tmpdir(), "belljar-guest-"));
    const args = [join(folder, "guest.sock"), join(folder, "services"), ...(secret === undefined ? [] : [secret])];
    const child = spawn(nativeTestPath(build), args, { env: {}, stdio: ["ignore", "pipe", "pipe"] });
    const guest = new NativeGuest(folder, child, secret);
    await once(child.stdout, "data");
    return guest;
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  /** Any bytes at all, as a broken or hostile host may send them. */
  async raw(bytes: Uint8Array): Promise<RawStream> {
    const socket = connect(this.path("guest.sock"));
    const stream = new RawStream(socket);
    await once(socket, "connect");
    socket.write(bytes);
    return stream;
  }

  call(operation: keyof typeof OPERATION, fields: readonly Field[] = []): Promise<RawStream> {
    return this.raw(encodeHead(OPERATION[operation], fields));
  }

  /** All frames of an operation that needs nothing more from the host. */
  async ask(operation: keyof typeof OPERATION, fields: readonly Field[] = []): Promise<Frame[]> {
    return (await this.call(operation, fields)).rest();
  }

  shutDown(graceMs: number): Promise<Frame[]> {
    this.#isEnding = true;
    return this.ask("SHUTDOWN", [
      ["TIMEOUT_MS", graceMs],
      ["SECRET", this.#secret],
    ]);
  }

  /** Ends it and all that it started; throws when it did not end well, with what the sanitizers said. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isEnding) await this.shutDown(0);
    const [code] = await this.#exited;
    rmSync(this.folder, { recursive: true, force: true });
    if (code !== 0) throw new Error(`the guest ended with ${String(code)}: ${this.#stderr}`);
  }
}

export class RawStream {
  readonly socket: Socket;
  readonly #frames: Frame[] = [];
  #ended = false;
  #wake = (): void => {};

  constructor(socket: Socket) {
    this.socket = socket;
    const decoder = new FrameDecoder((type, channel, payload) => void this.#frames.push({ type: nameOf(type), channel, payload }));
    socket.on("data", (chunk) => {
      decoder.push(chunk);
      this.#wake();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#ended = true;
      this.#wake();
    });
  }

  send(type: keyof typeof FRAME, channel: number, payload?: Uint8Array): this {
    this.socket.write(encodeFrame(FRAME[type], channel, payload));
    return this;
  }

  grant(channel: number, bytes: number): this {
    const credit = Buffer.alloc(4);
    credit.writeUInt32BE(bytes);
    return this.send("CREDIT", channel, credit);
  }

  /** The next frame; undefined once the guest has closed the stream. */
  async next(): Promise<Frame | undefined> {
    while (this.#frames.length === 0 && !this.#ended) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.#frames.shift();
  }

  /** All frames until the guest closes. */
  async rest(): Promise<Frame[]> {
    const frames: Frame[] = [];
    for (let frame = await this.next(); frame; frame = await this.next()) frames.push(frame);
    return frames;
  }

  async until(type: keyof typeof FRAME): Promise<Frame> {
    for (let frame = await this.next(); frame; frame = await this.next()) if (frame.type === type) return frame;
    throw new Error(`the stream ended without ${type}`);
  }

  close(): void {
    this.socket.destroy();
  }
}

function nameOf(type: number): keyof typeof FRAME {
  const name = (Object.keys(FRAME) as (keyof typeof FRAME)[]).find((key) => FRAME[key] === type);
  if (!name) throw new Error(`unknown frame ${type}`);
  return name;
}

export function fieldsOf(frame: Frame | undefined): Fields {
  if (!frame) throw new Error("no frame");
  return Fields.parse(frame.payload);
}

/** `[code, text]` of the ERROR that these frames end with. */
export function errorOf(frames: readonly Frame[]): readonly [number, string] {
  const last = frames.at(-1);
  if (last?.type !== "ERROR") throw new Error(`no error but ${last?.type ?? "nothing"}`);
  return [last.payload.readUInt16BE(0), last.payload.toString("utf8", 4)];
}

export function exitOf(frames: readonly Frame[]): Exit {
  const last = frames.at(-1);
  if (last?.type !== "EXIT") throw new Error(`no exit but ${last?.type ?? "nothing"}`);
  return parseExit(last.payload);
}

/** All bytes of one channel. */
export function dataOf(frames: readonly Frame[], channel: number): string {
  return Buffer.concat(
    frames.filter((frame) => frame.type === "DATA" && frame.channel === channel).map((frame) => frame.payload),
  ).toString();
}

export function argv(...args: string[]): Field[] {
  return args.map((arg) => ["ARG", arg] as const);
}

export function shell(script: string): Field[] {
  return argv("/bin/sh", "-c", script);
}

/** A head with any version, operation and claimed length. */
export function rawHead(version: number, operation: number, length: number, fields: readonly Field[] = []): Buffer {
  const head = Buffer.from([0x42, 0x4a, version, operation, 0, 0, 0, 0]);
  head.writeUInt32BE(length, 4);
  return Buffer.concat([head, encodeFields(fields)]);
}
