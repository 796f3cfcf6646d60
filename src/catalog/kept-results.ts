import { randomBytes } from "node:crypto";
import { BelljarError } from "../errors.ts";
import type { Principal } from "../sandbox/sandbox.ts";
import { characterStart } from "./result.ts";
import type { ByteRange, KeepOptions, KeptPart } from "./tool.ts";

/** What is kept of results that were cut, for their owners and projects alone, and of tokens of one owner for those that have no fewer toolsets. */
export interface KeptResults {
  /** Answers the URI under which the text can be read. What no longer fits pushes the oldest out. */
  keep(principal: Principal, text: string, options?: KeepOptions): string;
  /** A part of it; one that has gone, or is another owner's, rejects with `RESOURCE_NOT_FOUND`. */
  read(principal: Principal, id: string, range: ByteRange): KeptPart;
  list(principal: Principal): readonly { readonly id: string; readonly uri: string; readonly bytes: number; readonly keptAt: Date }[];
}

export interface KeptLimits {
  /** Of one text; what is longer loses its end. */
  readonly textBytes: number;
  readonly ownerBytes: number;
  readonly ownerTexts: number;
  readonly totalBytes: number;
  readonly maxAgeMs: number;
}

const MIB = 1_048_576;
const LIMITS: KeptLimits = { textBytes: 8 * MIB, ownerBytes: 16 * MIB, ownerTexts: 1_000, totalBytes: 64 * MIB, maxAgeMs: 3_600_000 };
/** What one read answers when it names no limit, and at most. */
const PART_BYTES = 262_144;

interface Kept {
  readonly owner: string;
  readonly project?: string;
  readonly toolsets?: readonly string[];
  readonly bytes: Buffer;
  readonly isOutside: boolean;
  readonly keptAt: Date;
}

/** In memory: a result is gone with the server, and after an hour. */
export function createKeptResults(limits: Partial<KeptLimits> = {}, now: () => Date = () => new Date()): KeptResults {
  return new MemoryResults({ ...LIMITS, ...limits }, now);
}

class MemoryResults implements KeptResults {
  readonly #limits: KeptLimits;
  readonly #now: () => Date;
  /** Oldest first. */
  readonly #kept = new Map<string, Kept>();

  constructor(limits: KeptLimits, now: () => Date) {
    this.#limits = limits;
    this.#now = now;
  }

  keep({ id: owner, grants, project }: Principal, text: string, { isOutside = false }: KeepOptions = {}): string {
    const whole = Buffer.from(text);
    const { textBytes } = this.#limits;
    const bytes = whole.length > textBytes ? Buffer.from(whole.subarray(0, characterStart(whole, textBytes))) : whole;
    const id = randomBytes(16).toString("hex");
    this.#kept.set(id, {
      owner,
      bytes,
      isOutside,
      keptAt: this.#now(),
      ...(project && { project: project.folder }),
      ...(grants?.toolsets && { toolsets: grants.toolsets }),
    });
    this.#dropOld(owner);
    return toUri(id);
  }

  read(principal: Principal, id: string, { offset = 0, limit = PART_BYTES }: ByteRange): KeptPart {
    this.#dropExpired();
    const kept = this.#kept.get(id);
    if (!kept || !mayRead(principal, kept))
      throw new BelljarError("RESOURCE_NOT_FOUND", `No result "${id.slice(0, 40)}"; results are kept for an hour`);
    const { bytes, isOutside } = kept;
    const start = characterEnd(bytes, offset);
    const end = characterEnd(bytes, Math.min(bytes.length, start + Math.min(limit, PART_BYTES)));
    return {
      text: bytes.toString("utf8", start, end),
      offset: start,
      bytes: end - start,
      total: bytes.length,
      ...(isOutside && { isOutside }),
    };
  }

  list(principal: Principal) {
    this.#dropExpired();
    return [...this.#kept]
      .filter(([, kept]) => mayRead(principal, kept))
      .map(([id, { bytes, keptAt }]) => ({ id, uri: toUri(id), bytes: bytes.length, keptAt }));
  }

  #dropOld(owner: string): void {
    this.#dropExpired();
    const own = (kept: Kept): boolean => kept.owner === owner;
    this.#dropBeyond(this.#limits.ownerTexts, own, () => 1);
    this.#dropBeyond(this.#limits.ownerBytes, own, ({ bytes }) => bytes.length);
    this.#dropBeyond(
      this.#limits.totalBytes,
      () => true,
      ({ bytes }) => bytes.length,
    );
  }

  /** The oldest of those that count, until the rest weighs no more than `most`. */
  #dropBeyond(most: number, counts: (kept: Kept) => boolean, weigh: (kept: Kept) => number): void {
    const counted = [...this.#kept].filter(([, kept]) => counts(kept));
    let sum = counted.reduce((weight, [, kept]) => weight + weigh(kept), 0);
    for (const [id, kept] of counted) {
      if (sum <= most) return;
      sum -= weigh(kept);
      this.#kept.delete(id);
    }
  }

  #dropExpired(): void {
    const oldest = this.#now().getTime() - this.#limits.maxAgeMs;
    for (const [id, { keptAt }] of this.#kept) {
      if (keptAt.getTime() > oldest) return;
      this.#kept.delete(id);
    }
  }
}

/** What another token's tools answered is not for one that may not call them. */
function mayRead(principal: Principal, { owner, project, toolsets }: Kept): boolean {
  const { id, grants, project: of } = principal;
  if (id !== owner || (of?.sees === "own" && of.folder !== project)) return false;
  return grants?.toolsets === undefined || (toolsets?.every((name) => grants.toolsets?.includes(name)) ?? false);
}

function toUri(id: string): string {
  return `belljar://results/${id}`;
}

/** The nearest end of a UTF-8 character at or after `at`, so that parts that follow each other lose nothing. */
function characterEnd(bytes: Buffer, at: number): number {
  let end = Math.min(at, bytes.length);
  while (end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end += 1;
  return end;
}
