import type { Readable } from "node:stream";
import { BelljarError } from "../../errors.ts";
import { Fields, type Field } from "../../protocol/fields.ts";
import { encodeFrame } from "../../protocol/frames.ts";
import { FLAG, FRAME, OPERATION, PAYLOAD_MAX_BYTES } from "../../protocol/wire.ts";
import type { GuestPath, WriteFileOptions } from "./guest.ts";
import type { Link } from "./link.ts";
import { ignore, openOperation, unexpected, type FrameHandler, type Operation, type Request } from "./operation.ts";

/** Content up to this size is sent with the head, in one write. */
const ONE_WRITE_MAX_BYTES = PAYLOAD_MAX_BYTES;
const CONTENT = 0;

export type WriteResult = { readonly size: number };

/** If the content is a stream, it is read to its end, or destroyed if the write fails. */
export async function writeFile(
  link: Link,
  path: GuestPath,
  content: string | Uint8Array | Readable,
  options: WriteFileOptions,
): Promise<WriteResult> {
  const session = new WriteSession();
  const request = { operation: OPERATION.WRITE, fields: writeFields(path, options) };
  if (typeof content !== "string" && !(content instanceof Uint8Array))
    return writeStream(link, { ...request, content, signal: options.signal }, session);
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  if (bytes.length <= ONE_WRITE_MAX_BYTES) {
    const frames = [...(bytes.length > 0 ? [encodeFrame(FRAME.DATA, CONTENT, bytes)] : []), encodeFrame(FRAME.END, CONTENT)];
    await openOperation(link, { ...request, frames }, session, options.signal);
    return session.written;
  }
  await openOperation(link, request, session, options.signal);
  await session.send(bytes);
  return session.finish();
}

interface StreamWrite extends Request {
  readonly content: Readable;
  readonly signal: AbortSignal;
}

async function writeStream(link: Link, { content, signal, ...request }: StreamWrite, session: WriteSession): Promise<WriteResult> {
  const stop = (): void => void content.destroy();
  try {
    session.awaitContent();
    await openOperation(link, request, session, signal);
    void session.written.catch(stop);
    for await (const chunk of content) await session.send(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
    return await session.finish();
  } catch (error) {
    content.destroy();
    session.close();
    throw session.error ?? error;
  }
}

function writeFields(path: GuestPath, options: WriteFileOptions): readonly Field[] {
  const isInPlace = options.append === true || options.offset !== undefined;
  if (isInPlace && options.atomic === true) {
    throw new BelljarError("ARGUMENTS_INVALID", "An atomic write replaces the whole file; leave out `append` and `offset`, or `atomic`");
  }
  const flags =
    ((options.atomic ?? !isInPlace) ? FLAG.ATOMIC : 0) |
    (options.append ? FLAG.APPEND : 0) |
    (options.exclusive ? FLAG.EXCLUSIVE : 0) |
    ((options.parents ?? true) ? FLAG.PARENTS : 0) |
    (options.offset === undefined ? 0 : FLAG.KEEP_REST) |
    (options.sparse ? FLAG.SPARSE : 0);
  return [
    ["PATH", path],
    ["USER", options.user],
    ["MODE", options.mode],
    ["OFFSET", options.offset],
    ["FLAGS", flags],
  ];
}

class WriteSession implements FrameHandler {
  readonly written: Promise<WriteResult>;
  error: BelljarError | undefined;
  #operation: Operation | undefined;
  #settle: { readonly resolve: (result: WriteResult) => void; readonly reject: (error: Error) => void } | undefined;
  #wake: () => void = ignore;
  /** True while the content's stream has no bytes ready, and the guest has all earlier bytes. */
  #awaitsContent = false;

  constructor() {
    this.written = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.written.catch(ignore);
  }

  opened(operation: Operation): void {
    this.#operation = operation;
  }

  frame(type: number, _channel: number, payload: Buffer): void {
    if (type !== FRAME.REPLY) throw unexpected(type);
    const size = Fields.parse(payload).needNumber("SIZE");
    this.close();
    this.#settle?.resolve({ size });
  }

  failed(error: BelljarError): void {
    this.error = error;
    this.#settle?.reject(error);
    this.#wake();
  }

  close(): void {
    this.#operation?.close();
    this.#wake();
  }

  /** Resolves when the transport has taken the bytes, so at most one piece waits here. Rejects with the error of a failed operation. */
  async send(bytes: Uint8Array): Promise<void> {
    this.#awaitsContent = false;
    for (let at = 0; at < bytes.length && this.#operation?.isOpen; at += PAYLOAD_MAX_BYTES) {
      await this.#sendPiece(bytes.subarray(at, at + PAYLOAD_MAX_BYTES));
    }
    this.awaitContent();
    if (this.error) throw this.error;
  }

  awaitContent(): void {
    this.#awaitsContent = true;
  }

  isOurTurn(): boolean {
    return this.#awaitsContent;
  }

  #sendPiece(piece: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#operation?.data(CONTENT, piece, () => resolve());
    });
  }

  finish(): Promise<WriteResult> {
    this.#awaitsContent = false;
    this.#operation?.end(CONTENT);
    return this.written;
  }
}
