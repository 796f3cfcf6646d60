import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { BelljarError } from "../errors.ts";
import { errnoOf, ifPresent } from "../files/file-error.ts";
import type { HomeKeyOptions } from "../files/home-key.ts";
import { isExchanged, loadHomeKey } from "../files/home-key.ts";
import type { AuditSigner } from "./audit-chain.ts";
import { createSigner } from "./audit-chain.ts";
import type { AuditHome } from "./audit-place.ts";
import { auditKeyOptions, indexFolder, segmentsFolder } from "./audit-place.ts";
import type { IndexEntry } from "./index-state.ts";
import { SegmentIndex } from "./segment-index.ts";
import type { CheckedLines } from "./verify-segment.ts";
import { checkLines } from "./verify-segment.ts";

/** The state of one segment. */
export interface VerifiedSegment {
  readonly file: string;
  readonly lines: number;
  /**
   * `changed`: a line has a wrong MAC. `cut`: the end is missing. `missing`: the index knows the segment, but the file does not exist.
   * `unknown`: the index does not know it. `apart`: it does not continue the segment that it names as its predecessor.
   */
  readonly problem?: "changed" | "cut" | "missing" | "unknown" | "apart";
  /** The first changed line, from 1. */
  readonly brokenLine?: number;
  /** The last line is incomplete: its writer was killed while writing, or is writing now. */
  readonly isTorn?: true;
  /** The writer has not closed the segment: it runs, or was killed. Nobody can tell whether lines after the last mark are missing. */
  readonly isOpen?: true;
}

export interface VerifiedAudit {
  readonly segments: readonly VerifiedSegment[];
  /** Faults of the index, in words. */
  readonly indexProblems: readonly string[];
  /** Number of segments that Belljar has removed according to `audit.keep`. */
  readonly removed: number;
  readonly isIntact: boolean;
  /** The key of the check. Undefined while there is no audit. */
  readonly key?: { readonly id: string; readonly isInKeyring: boolean };
}

/**
 * Checks the whole audit of a home with its key: all lines, all segments and the index. Other processes may write meanwhile.
 * Rejects with `AUDIT_DAMAGED` if there are segments but no key, or if the keyring remembers another key.
 */
export async function verifyAudit(place: AuditHome): Promise<VerifiedAudit> {
  const folder = segmentsFolder(place.home);
  const files = await listSegments(folder);
  const keyPlace = auditKeyOptions(place);
  const key = await loadHomeKey(keyPlace);
  if (!key && files.length > 0)
    throw new BelljarError(
      "AUDIT_DAMAGED",
      `The key in ${indexFolder(place.home)} is missing, so no line can be checked: put the folder back from a backup`,
    );
  if (!key) return NOTHING;
  if (await isExchanged(keyPlace, key)) throw keyExchanged(keyPlace);
  const found = await new Verification(folder, createSigner(key), indexFolder(place.home)).run(files);
  return { ...found, key: { id: key.id, isInKeyring: key.isInKeyring ?? false } };
}

function keyExchanged({ folder, pin }: HomeKeyOptions): BelljarError {
  return new BelljarError(
    "AUDIT_DAMAGED",
    `${folder} has another key than the OS keyring remembers, so anybody may have written these lines: put the folder back from a backup, ` +
      `or, if you began a new audit yourself, run: secret-tool clear application belljar key '${pin}'`,
  );
}

const NOTHING: VerifiedAudit = { segments: [], indexProblems: [], removed: 0, isIntact: true };

/** Returns the names of the segments in order of time, or an empty list if the folder does not exist. */
export async function listSegments(folder: string): Promise<readonly string[]> {
  const names = (await ifPresent(folder, readdir(folder))) ?? [];
  return names.filter((name) => name.endsWith(".jsonl")).toSorted();
}

class Verification {
  readonly #folder: string;
  readonly #signer: AuditSigner;
  readonly #index: SegmentIndex;
  readonly #checked = new Map<string, CheckedLines>();

  constructor(folder: string, signer: AuditSigner, index: string) {
    this.#folder = folder;
    this.#signer = signer;
    this.#index = new SegmentIndex(index, signer.index);
  }

  /** `files` must be listed before the index is read, so that later segments are not reported as unknown. */
  async run(files: readonly string[]): Promise<VerifiedAudit> {
    const state = await this.#index.read();
    const living = state.entries.filter(({ removed }) => !removed);
    const found: VerifiedSegment[] = [];
    for (const entry of living) found.push(...(await this.#verify(entry)));
    const known = new Set(state.entries.map(({ file }) => file));
    for (const file of files.filter((name) => !known.has(name))) found.push(...(await this.#verifyUnknown(file)));
    const segments = found.map((segment) => this.#withLink(segment)).toSorted((one, other) => (one.file < other.file ? -1 : 1));
    const removed = state.base.number + state.entries.length - living.length;
    const isIntact = state.problems.length === 0 && segments.every(({ problem }) => problem === undefined);
    return { segments, indexProblems: state.problems, removed, isIntact };
  }

  async #verify(entry: IndexEntry): Promise<readonly VerifiedSegment[]> {
    const { file, mark } = entry;
    const checked = await this.#check(file, mark);
    if (!checked) return (await this.#now(entry)) ? [{ file, lines: 0, problem: "missing" }] : [];
    if (!mark && checked.lines > 1) {
      const now = await this.#now(entry);
      if (!now) return [];
      if (now.mark) return this.#verify(now);
    }
    this.#checked.set(file, checked);
    return [toVerified(entry, checked)];
  }

  /** A segment with at most its first line is no fault: a process was killed while it began the segment. */
  async #verifyUnknown(file: string): Promise<readonly VerifiedSegment[]> {
    const checked = await this.#check(file);
    if (!checked) return [];
    const isBegun = checked.brokenLine === undefined && checked.lines + Number(checked.isTorn) <= 1;
    if (isBegun) return [{ file, lines: checked.lines, isOpen: true, ...(checked.isTorn && { isTorn: true }) }];
    const isKnownNow = (await this.#index.read()).entries.some((entry) => entry.file === file);
    return isKnownNow ? [] : [{ file, lines: checked.lines, problem: "unknown" }];
  }

  /** Returns undefined if the file does not exist. */
  #check(file: string, mark?: IndexEntry["mark"]): Promise<CheckedLines | undefined> {
    const path = join(this.#folder, file);
    return checkLines(path, file, { sign: this.#signer.line, ...(mark && { mark }) }).catch((cause: unknown) => {
      if (errnoOf(cause) === "ENOENT") return undefined;
      throw cause;
    });
  }

  /** Reads the entry again. Returns undefined if its segment was removed. */
  async #now({ number }: IndexEntry): Promise<IndexEntry | undefined> {
    return (await this.#index.read()).entries.find((entry) => entry.number === number && !entry.removed);
  }

  /** Checks a segment that continues another. The last line of its predecessor must name it, and its first line must be chained to it. */
  #withLink(segment: VerifiedSegment): VerifiedSegment {
    const checked = this.#checked.get(segment.file);
    const before = checked?.after === undefined ? undefined : this.#checked.get(checked.after);
    if (!checked || !before || segment.problem || before.brokenLine !== undefined) return segment;
    return before.next === segment.file && before.mac === checked.previous ? segment : { ...segment, problem: "apart" };
  }
}

function toVerified({ file, mark }: IndexEntry, { lines, brokenLine, isTorn, hasMark }: CheckedLines): VerifiedSegment {
  const isClosed = mark?.state === "closed";
  /** Highest allowed line: without a mark only the first line, in a closed segment the line of its mark. */
  const most = mark ? (isClosed ? mark.sequence : Infinity) : 1;
  const firstBroken = brokenLine ?? (lines + Number(isTorn) > most ? most + 1 : undefined);
  return {
    file,
    lines,
    ...(firstBroken !== undefined && { problem: "changed", brokenLine: firstBroken }),
    ...(firstBroken === undefined && mark && !hasMark && { problem: "cut" }),
    ...(isTorn && { isTorn }),
    ...(!isClosed && { isOpen: true }),
  };
}
