import { closeSync, constants, fstatSync, ftruncateSync, openSync, rmSync, writeSync } from "node:fs";
import type { Sign } from "./audit-chain.ts";
import { FIRST_MAC } from "./audit-chain.ts";
import { toHead, toLine } from "./audit-line.ts";

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/** A segment that this process writes, and no other one: lines after lines, each chained to the one before. */
export class SegmentFile {
  readonly path: string;
  readonly #descriptor: number;
  readonly #sign: Sign;
  #size = 0;
  #sequence = 0;
  #mac = FIRST_MAC;

  /** Makes the file, for this user alone. */
  constructor(path: string, sign: Sign) {
    this.path = path;
    this.#sign = sign;
    this.#descriptor = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  }

  get size(): number {
    return this.#size;
  }

  /** Of the last line. */
  get sequence(): number {
    return this.#sequence;
  }

  get mac(): string {
    return this.#mac;
  }

  /** To be called before the first line, which is then chained to the last one of another segment. */
  follow(mac: string): void {
    this.#mac = mac;
  }

  /** False once somebody has removed it: what is written then is lost. */
  get isThere(): boolean {
    return fstatSync(this.#descriptor).nlink > 0;
  }

  /**
   * All lines or none: what a full disk took of them is cut off again. Into the page cache, in a few microseconds; the thread pool's
   * turns would cost a call more than all else at its door.
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

  /** For one that could not be begun. */
  discard(): void {
    this.close();
    rmSync(this.path, { force: true });
  }
}
