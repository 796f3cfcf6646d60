import { closeSync, constants, fstatSync, ftruncateSync, openSync, rmSync, writeSync } from "node:fs";
import type { Sign } from "./audit-chain.ts";
import { FIRST_MAC } from "./audit-chain.ts";
import { toHead, toLine } from "./audit-line.ts";

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/** A segment that only this process writes. Each line is chained to the previous line. */
export class SegmentFile {
  readonly path: string;
  readonly #descriptor: number;
  readonly #sign: Sign;
  #size = 0;
  #sequence = 0;
  #mac = FIRST_MAC;

  /** Creates the file. Only this user can read it. */
  constructor(path: string, sign: Sign) {
    this.path = path;
    this.#sign = sign;
    this.#descriptor = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  }

  get size(): number {
    return this.#size;
  }

  /** Sequence number of the last line. */
  get sequence(): number {
    return this.#sequence;
  }

  get mac(): string {
    return this.#mac;
  }

  /** Chains the first line to the last line of another segment. Call it before the first line. */
  follow(mac: string): void {
    this.#mac = mac;
  }

  /** False once somebody has removed the file. Later lines would be lost. */
  get isThere(): boolean {
    return fstatSync(this.#descriptor).nlink > 0;
  }

  /**
   * Appends all lines or none: if the disk is full, a partial write is cut off again. It is synchronous, because a write to the page cache
   * takes microseconds. The thread pool would cost a call more than all other work of the catalog.
   */
  append(texts: readonly string[]): void {
    let [sequence, mac, lines] = [this.#sequence, this.#mac, ""];
    for (const text of texts) {
      sequence += 1;
      const head = toHead(sequence, text);
      mac = this.#sign(mac, head);
      lines += toLine(head, mac);
    }
    this.#write(Buffer.from(lines));
    this.#sequence = sequence;
    this.#mac = mac;
  }

  #write(bytes: Buffer): void {
    try {
      for (let written = 0; written < bytes.length;) written += writeSync(this.#descriptor, bytes, written);
      this.#size += bytes.length;
    } catch (cause) {
      ftruncateSync(this.#descriptor, this.#size);
      throw cause;
    }
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  /** Removes a segment that could not be begun. */
  discard(): void {
    this.close();
    rmSync(this.path, { force: true });
  }
}
