import { once } from "node:events";
import type { Readable } from "node:stream";
import type { BusboyInstance } from "@fastify/busboy";
import { Busboy } from "@fastify/busboy";
import { raceLasting } from "../../../../async/race-lasting.ts";
import { BelljarError } from "../../../../errors.ts";

/** A part that holds a file. */
export interface FilePart {
  /** As the client wrote it, with all folders. */
  readonly fileName: string | undefined;
  readonly content: Readable;
}

/** The form's name of a file. All other parts are read and dropped. */
const FIELD = "file";
export const PARTS_MAX = 10_000;
/** Of a file, so much is read ahead of whoever takes it. */
const AHEAD_BYTES = 256 * 1024;
const LIMITS = { parts: PARTS_MAX, fieldSize: 1_024, headerPairs: 16, headerSize: 16_384 };

/**
 * Gives the files of a form to `take`, one after the other. Reads no further than whoever takes them: of the body, at most some pieces lie in memory,
 * whatever the parts' number and size. Rejects with what `take` rejects with, and with `ARGUMENTS_INVALID` for what is no whole form and for too many
 * parts; the content of the part that is being taken then fails.
 */
export async function readFileParts(body: Readable, contentType: string, take: (part: FilePart) => Promise<void>): Promise<void> {
  const parser = createParser(contentType);
  // It may finish while it is written to, at a closing delimiter behind no part.
  const finished = once(parser, "finish");
  finished.catch(() => undefined);
  const queue = new PartQueue(take);
  const broken = new Promise<never>((_resolve, reject) => {
    const fail = (cause: unknown): void => reject(malformed(cause));
    parser.on("error", fail);
    parser.on("partsLimit", () => reject(new BelljarError("ARGUMENTS_INVALID", `A form has at most ${PARTS_MAX} parts`)));
    parser.on("file", (_field, content, fileName: string | undefined) => queue.add({ fileName, content: content.on("error", fail) }));
  });
  const failed = Promise.race([broken, queue.failed]);
  failed.catch(() => undefined);
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      await raceLasting(failed, write(parser, chunk as Buffer));
      await raceLasting(failed, queue.takenButLast());
    }
    parser.end();
    await Promise.race([finished, broken, queue.failed]);
    await queue.taken();
  } catch (error) {
    parser.destroy();
    queue.abandon(error as Error);
    throw error;
  }
}

function createParser(contentType: string): BusboyInstance {
  try {
    const isPartAFile = (field: string | undefined): boolean => field === FIELD;
    return new Busboy({ headers: { "content-type": contentType }, preservePath: true, fileHwm: AHEAD_BYTES, isPartAFile, limits: LIMITS });
  } catch (cause) {
    throw malformed(cause);
  }
}

/** Resolves once the parser, and whoever takes the part, have taken it. */
function write(parser: BusboyInstance, chunk: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    parser.write(chunk, (error) => (error ? reject(malformed(error)) : resolve()));
  });
}

function malformed(cause: unknown): BelljarError {
  const why = cause instanceof Error ? cause.message : "it is malformed";
  return new BelljarError("ARGUMENTS_INVALID", `error parsing multipart form: ${why}`, { cause });
}

/** The parser may have begun several parts; they are taken in turn. */
class PartQueue {
  /** Rejects with the first failure of a taker. */
  readonly failed: Promise<never>;
  readonly #take: (part: FilePart) => Promise<void>;
  readonly #open = new Set<FilePart>();
  #fail: (error: unknown) => void = () => undefined;
  #before: Promise<void> = Promise.resolve();
  #last: Promise<void> = Promise.resolve();

  constructor(take: (part: FilePart) => Promise<void>) {
    this.#take = take;
    this.failed = new Promise((_resolve, reject) => {
      this.#fail = reject;
    });
    this.failed.catch(() => undefined);
  }

  add(part: FilePart): void {
    this.#open.add(part);
    this.#before = this.#last;
    this.#last = this.#before.then(() => this.#take(part)).finally(() => this.#open.delete(part));
    this.#last.catch(this.#fail);
  }

  /** The last one may need more of the body. */
  takenButLast(): Promise<void> {
    return this.#before;
  }

  taken(): Promise<void> {
    return this.#last;
  }

  abandon(error: Error): void {
    for (const { content } of this.#open) content.destroy(error);
  }
}
