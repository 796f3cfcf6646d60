import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { openOnce } from "../async/open-once.ts";
import { openHomeKey } from "../files/home-key.ts";
import type { AuditSigner } from "./audit-chain.ts";
import { createSigner } from "./audit-chain.ts";
import type { AuditKeep } from "./audit-keep.ts";
import { keepSegments, segmentBytes, SEGMENT_MS } from "./audit-keep.ts";
import { serialiseFields } from "./audit-line.ts";
import type { AuditHome } from "./audit-place.ts";
import { auditKeyOptions, indexFolder, segmentsFolder } from "./audit-place.ts";
import { AuditReserve } from "./audit-reserve.ts";
import { SegmentFile } from "./segment-file.ts";
import { SegmentIndex } from "./segment-index.ts";

export interface AuditStoreOptions extends AuditHome {
  readonly keep: AuditKeep;
  readonly now: () => Date;
  /** Called for each removed segment, with the fields of an audit line. */
  readonly removed: (fields: Readonly<Record<string, unknown>>) => void;
}

interface Opened {
  readonly signer: AuditSigner;
  readonly index: SegmentIndex;
}

interface Current {
  readonly file: SegmentFile;
  readonly name: string;
  readonly number: number;
  readonly begunMs: number;
}

/** Interval of the marks in the index. Lines that a killed process wrote after its last mark can be cut off without notice. */
const MARK_MS = 1_000;
/** Interval of the checks whether somebody has removed the current segment. */
const LOOK_MS = 1_000;
const KEEP_EVERY_MS = 3_600_000;
/** Most processes live for one command. A first segment causes the removal of old ones only if its number is a multiple of this. */
const KEEP_EVERY_SEGMENTS = 16;

/** The segments that this process writes, one after the other, and its part of the index. */
export class AuditStore {
  readonly reserve: AuditReserve;
  readonly #options: AuditStoreOptions;
  readonly #writer = randomBytes(6).toString("hex");
  readonly #open = openOnce(() => this.#openKey());
  #current: Current | undefined;
  #isBeginning = false;
  #part = 0;
  #seenMs = 0;
  #markTimer: NodeJS.Timeout | undefined;
  #keepTimer: NodeJS.Timeout | undefined;
  #marking: Promise<void> = Promise.resolve();
  #keeping: Promise<void> | undefined;

  constructor(options: AuditStoreOptions) {
    this.#options = options;
    this.reserve = new AuditReserve(join(indexFolder(options.home), "reserve"));
  }

  /** Creates the key, the folders and the reserve, or rejects. From now on, old segments are removed every hour. */
  async prepare(): Promise<void> {
    await this.#open();
    this.reserve.fill();
    this.#keepTimer ??= setInterval(() => void this.keep(), KEEP_EVERY_MS).unref();
  }

  /** Returns the segment for the next lines. It begins a new segment for the first lines, and when the current one is full or old. */
  async segment(): Promise<SegmentFile> {
    const current = this.#current;
    const nowMs = this.#nowMs();
    if (!current || this.#isLost(current, nowMs)) return this.#begin();
    if (current.file.size < segmentBytes(this.#options.keep) && nowMs - current.begunMs < SEGMENT_MS) return current.file;
    // A disk without room for another segment may still have room for lines.
    return this.#handOver(current).catch(() => current.file);
  }

  /** Call it after writing lines. It soon writes a mark with the last line into the index. */
  noteWritten(): void {
    this.#markTimer ??= setTimeout(() => {
      this.#markTimer = undefined;
      if (this.#current) void this.#markOf(this.#current, "open").catch(() => undefined);
    }, MARK_MS).unref();
  }

  /** Removes old and surplus segments. Concurrent calls share one run. Never rejects: a failed removal is repeated later. */
  keep(): Promise<void> {
    this.#keeping ??= this.#keep()
      .catch(() => undefined)
      .finally(() => (this.#keeping = undefined));
    return this.#keeping;
  }

  /** Closes the segment, and marks it as closed in the index. Later lines begin a new segment. */
  async close(): Promise<void> {
    clearTimeout(this.#markTimer);
    clearInterval(this.#keepTimer);
    this.#markTimer = this.#keepTimer = undefined;
    const current = this.#current;
    // Lines that come meanwhile must not be written behind the last mark.
    this.#current = undefined;
    await this.#keeping;
    if (!current) return;
    // If the index has no room, the segment counts as open when it is verified. No line is lost.
    await this.#markOf(current, "closed").catch(() => undefined);
    current.file.close();
  }

  /** Appends to the current segment, but not during a change of segments: no line may follow the line that names the next segment. */
  appendAtExit(texts: readonly string[]): void {
    if (!this.#isBeginning) this.#current?.file.append(texts);
  }

  /** Rate-limited, because asking the file system costs as much as writing. */
  #isLost({ file }: Current, nowMs: number): boolean {
    if (nowMs - this.#seenMs < LOOK_MS) return false;
    this.#seenMs = nowMs;
    return !file.isThere;
  }

  #nowMs(): number {
    return this.#options.now().getTime();
  }

  async #openKey(): Promise<Opened> {
    const { home } = this.#options;
    await mkdir(segmentsFolder(home), { recursive: true, mode: 0o700 });
    const signer = createSigner(await openHomeKey(auditKeyOptions(this.#options)));
    return { signer, index: new SegmentIndex(indexFolder(home), signer.index) };
  }

  /** Ends the old segment with a line that names the new one. The new segment's first line is chained to that line. */
  async #handOver(old: Current): Promise<SegmentFile> {
    const file = await this.#begin(old);
    await this.#markOf(old, "closed").catch(() => undefined);
    old.file.close();
    return file;
  }

  /** Writes the file with its first line, then its index entry, then its mark. Verifying knows each state that a killed process leaves. */
  async #begin(old?: Current): Promise<SegmentFile> {
    this.#isBeginning = true;
    try {
      return await this.#beginAfter(old);
    } finally {
      this.#isBeginning = false;
    }
  }

  async #beginAfter(old?: Current): Promise<SegmentFile> {
    const { signer, index } = await this.#open();
    const folder = segmentsFolder(this.#options.home);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const name = this.#nextName();
    const file = new SegmentFile(join(folder, name), signer.line);
    try {
      old?.file.append([this.#line("next", { next: name })]);
      if (old) file.follow(old.file.mac);
      file.append([this.#line("segment", { file: name, previous: file.mac, ...(old && { after: old.name }), key: signer.keyId })]);
      const begun = { file, name, number: await index.place(name), begunMs: this.#nowMs() };
      await this.#markOf(begun, "open");
      this.#current = begun;
      this.#seenMs = begun.begunMs;
    } catch (cause) {
      file.discard();
      throw cause;
    }
    if (old || this.#current.number % KEEP_EVERY_SEGMENTS === 0) void this.keep();
    return file;
  }

  #line(kind: string, fields: Readonly<Record<string, unknown>>): string {
    return serialiseFields({ at: this.#options.now().toISOString(), kind, ...fields });
  }

  #nextName(): string {
    this.#part += 1;
    const stamp = this.#options.now().toISOString().replaceAll(/[-:.]/g, "");
    return `${stamp}-${this.#writer}-${this.#part}.jsonl`;
  }

  /** Writes marks one after the other, so that a mark never goes backwards. */
  #markOf({ file, number }: Current, state: "open" | "closed"): Promise<void> {
    const write = async (): Promise<void> => {
      const { index } = await this.#open();
      await index.mark(number, { sequence: file.sequence, lineMac: file.mac, state });
    };
    const marked = this.#marking.then(write);
    this.#marking = marked.catch(() => undefined);
    return marked;
  }

  async #keep(): Promise<void> {
    const { index } = await this.#open();
    const { home, keep } = this.#options;
    const removed = await keepSegments({ folder: segmentsFolder(home), index, keep, own: this.#current?.name, nowMs: this.#nowMs() });
    for (const fields of removed) this.#options.removed({ ...fields });
  }
}
