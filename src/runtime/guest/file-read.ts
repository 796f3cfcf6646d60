import { Readable } from "node:stream";
import { BelljarError } from "../../errors.ts";
import { Fields, malformed } from "../../protocol/fields.ts";
import { FRAME, OPERATION } from "../../protocol/wire.ts";
import { ByteQueue } from "./byte-queue.ts";
import { fileInfo } from "./file-info.ts";
import type { FileCall, FileInfo, FileRange, GuestPath } from "./guest.ts";
import type { Link } from "./link.ts";
import { ignore, openOperation, unexpected, type FrameHandler, type Operation } from "./operation.ts";

const READ_DEFAULT_BYTES = 16_777_216;

export interface OpenFile {
  readonly info: FileInfo;
  readonly content: Readable;
}

/** Resolves once the guest has described the file. Reading its content uses the transport's back-pressure. */
export async function openFile(link: Link, path: GuestPath, options: FileCall & FileRange): Promise<OpenFile> {
  const session = new ReadSession(path);
  const fields = [
    ["PATH", path],
    ["USER", options.user],
    ["OFFSET", options.offset],
    ["LIMIT", options.limit],
  ] as const;
  await openOperation(link, { operation: OPERATION.READ, fields }, session, options.signal);
  return session.opening;
}

class ReadSession implements FrameHandler {
  readonly opening: Promise<OpenFile>;
  readonly #path: GuestPath;
  readonly #content: Readable;
  #settle: { readonly resolve: (file: OpenFile) => void; readonly reject: (error: Error) => void } | undefined;
  #operation: Operation | undefined;
  #isOpen = false;
  #isWhole = false;

  constructor(path: GuestPath) {
    this.#path = path;
    this.opening = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.#content = new Readable({
      read: () => this.#operation?.resume(),
      destroy: (error, done) => {
        this.#operation?.close();
        done(error);
      },
    });
    this.#content.on("error", ignore);
  }

  opened(operation: Operation): void {
    this.#operation = operation;
  }

  frame(type: number, _channel: number, payload: Buffer): void {
    if (!this.#isOpen) return this.#start(type, payload);
    if (type === FRAME.DATA && !this.#isWhole) return this.#data(payload);
    if (type === FRAME.END && !this.#isWhole) {
      this.#isWhole = true;
      return undefined;
    }
    if (type === FRAME.REPLY && this.#isWhole) return this.#done();
    throw unexpected(type);
  }

  #start(type: number, payload: Buffer): void {
    if (type !== FRAME.ENTRY) throw unexpected(type);
    const info = fileInfo(Fields.parse(payload), this.#path);
    this.#isOpen = true;
    this.#settle?.resolve({ info, content: this.#content });
  }

  #data(payload: Buffer): void {
    if (payload.length > 0 && !this.#content.push(payload)) this.#operation?.pause();
  }

  /** Only the REPLY ends the content, so that a file that an error cut short is never taken for a whole one. */
  #done(): void {
    this.#operation?.close();
    this.#content.push(null);
  }

  failed(error: BelljarError): void {
    this.#content.destroy(error);
    this.#settle?.reject(error);
  }
}

/** Reads into memory. Rejects with `FILE_TOO_LARGE` beyond `maxBytes`, without reading on. */
export async function readFile(
  link: Link,
  path: GuestPath,
  options: FileCall & FileRange & { readonly maxBytes?: number },
): Promise<Buffer> {
  const maxBytes = options.maxBytes ?? READ_DEFAULT_BYTES;
  const limit = Math.min(options.limit ?? maxBytes + 1, maxBytes + 1);
  const { content } = await openFile(link, path, { ...options, limit });
  const queue = new ByteQueue();
  for await (const chunk of content as AsyncIterable<Buffer>) {
    queue.append(chunk);
    if (queue.byteLength > limit) throw malformed("more bytes of a file than were asked for");
    if (queue.byteLength > maxBytes) throw tooLarge(path, maxBytes);
  }
  return queue.takeAll();
}

function tooLarge(path: GuestPath, maxBytes: number): BelljarError {
  return new BelljarError("FILE_TOO_LARGE", `${path.toString()} is larger than ${maxBytes} bytes; read a part of it, or raise the bound`);
}
