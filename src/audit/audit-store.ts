import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
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
  /** Of what was removed: one line of the audit. */
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

/** What a killed process may have written since it last said so in the index. */
const MARK_MS = 1_000;
/** A segment that was removed under its writer is given up after so long. */
const LOOK_MS = 1_000;
const KEEP_EVERY_MS = 3_600_000;
/** A process that only begins a segment looks after the old ones this seldom: most live for one command. */
const KEEP_EVERY_SEGMENTS = 16;

/** The segments that this process writes, one after the other, and its part of the index. */
export class AuditStore {
  readonly reserve: AuditReserve;
  readonly #options: AuditStoreOptions;
  readonly #writer = randomBytes(6).toString("hex");
  #opening: Promise<Opened> | undefined;
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

  /** The key, the folders and the reserve are there, or it rejects as the file system does. From now on old segments are removed. */
  async prepare(): Promise<void> {
    await this.#open();
    this.reserve.fill();
    this.#keepTimer ??= setInterval(() => void this.keep(), KEEP_EVERY_MS).unref();
  }

  /** Where the next lines go: made with the first ones, and followed by another one when it is full or old. */
  async segment(): Promise<SegmentFile> {
    const current = this.#current;
    const nowMs = this.#nowMs();
    if (!current || this.#isLost(current, nowMs)) return this.#begin();
    if (current.file.size < segmentBytes(this.#options.keep) && nowMs - current.begunMs < SEGMENT_MS) return current.file;
    // A disk without room for another one may still have some for lines.
    return this.#handOver(current).catch(() => current.file);
  }

  /** To be called after lines were written: soon the index knows how far this segment has come. */
  noteWritten(): void {
    this.#markTimer ??= setTimeout(() => {
      this.#markTimer = undefined;
      if (this.#current) void this.#markOf(this.#current, "open").catch(() => undefined);
    }, MARK_MS).unref();
  }

  /** Removes what is too old or too much; several calls at once are one. Never rejects: what cannot be removed now is later. */
  keep(): Promise<void> {
    this.#keeping ??= this.#keep()
      .catch(() => undefined)
      .finally(() => (this.#keeping = undefined));
    return this.#keeping;
  }

  /** The segment is whole, and the index knows it. Lines that come later begin another one. */
  async close(): Promise<void> {
    clearTimeout(this.#markTimer);
    clearInterval(this.#keepTimer);
    this.#markTimer = this.#keepTimer = undefined;
    const current = this.#current;
    // Lines that come meanwhile must not stand behind the last mark.
    this.#current = undefined;
    await this.#keeping;
    if (!current) return;
    // Where the index has no room, verifying says so: nothing is lost.
    await this.#markOf(current, "closed").catch(() => undefined);
    current.file.close();
  }

  /** Into the segment that is open. None is while one follows another: nothing may stand behind the line that names the next one. */
  appendAtExit(texts: readonly string[]): void {
    if (!this.#isBeginning) this.#current?.file.append(texts);
  }

  /** Asking the file system each time would cost as much as writing. */
  #isLost({ file }: Current, nowMs: number): boolean {
    if (nowMs - this.#seenMs < LOOK_MS) return false;
    this.#seenMs = nowMs;
    return !file.isThere;
  }

  #nowMs(): number {
    return this.#options.now().getTime();
  }

  #open(): Promise<Opened> {
    this.#opening ??= this.#openKey().catch((cause: unknown) => {
      this.#opening = undefined;
      throw cause;
    });
    return this.#opening;
  }

  async #openKey(): Promise<Opened> {
    const { home } = this.#options;
    await mkdir(segmentsFolder(home), { recursive: true, mode: 0o700 });
    const signer = createSigner(await openHomeKey(auditKeyOptions(this.#options)));
    return { signer, index: new SegmentIndex(indexFolder(home), signer.index) };
  }

  /** The old segment ends with the name of the new one, which begins with the MAC of that line. */
  async #handOver(old: Current): Promise<SegmentFile> {
    const file = await this.#begin(old);
    await this.#markOf(old, "closed").catch(() => undefined);
    old.file.close();
    return file;
  }

  /** First the file with its first line, then its entry, then its mark: whatever a killed process leaves of these can be told. */
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

  /** One after the other: a mark never says less than the one before. */
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
