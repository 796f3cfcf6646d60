import { readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { ifPresent } from "../files/file-error.ts";
import type { Sign } from "./audit-chain.ts";
import { FIRST_MAC } from "./audit-chain.ts";

/** The last line that the writer of a segment has reported to the index. */
export interface SegmentMark {
  /** Sequence number of that line. */
  readonly sequence: number;
  readonly lineMac: string;
  /** `closed`: no more lines follow. */
  readonly state: "open" | "closed";
}

export interface Removal {
  readonly atMs: number;
  readonly why: "age" | "size";
}

export interface IndexEntry {
  readonly number: number;
  readonly file: string;
  readonly mac: string;
  readonly mark?: SegmentMark;
  readonly removed?: Removal;
}

/** The index on disk. `entries` holds only entries with a correct MAC. */
export interface IndexState {
  /** All entries up to this number were removed. */
  readonly base: { readonly number: number; readonly mac: string; readonly atMs?: number };
  readonly entries: readonly IndexEntry[];
  /** Faults of the index, in words. */
  readonly problems: readonly string[];
}

const ROUNDS_MAX = 100;
const MAC = "[0-9a-f]{64}";
const ENTRY = new RegExp(`^(\\d{8}T\\d{9}Z-[0-9a-f]{12}-\\d{1,9}\\.jsonl) (${MAC})$`);
const MARK = new RegExp(`^(\\d{1,15}) (${MAC}) (open|closed) (${MAC})$`);
const REMOVAL = new RegExp(`^(\\d{1,15}) (age|size) (${MAC})$`);
const BASE = new RegExp(`^(${MAC}) (\\d{1,15}) (${MAC})$`);

export function toEntryText(sign: Sign, number: number, { file, previous }: { readonly file: string; readonly previous: string }): string {
  return `${file} ${sign(previous, `entry ${number} ${file}`)}`;
}

/** Returns the MAC of an entry or a base, without checking it. */
export function parseChained(text: string): string | undefined {
  return ENTRY.exec(text)?.[2] ?? BASE.exec(text)?.[1];
}

export function toMarkText(sign: Sign, number: number, { sequence, lineMac, state }: SegmentMark): string {
  return `${sequence} ${lineMac} ${state} ${sign(lineMac, `mark ${number} ${sequence} ${state}`)}`;
}

export function toRemovalText(sign: Sign, { number, file }: Pick<IndexEntry, "number" | "file">, { atMs, why }: Removal): string {
  return `${atMs} ${why} ${sign(FIRST_MAC, `removed ${number} ${file} ${atMs} ${why}`)}`;
}

export function toBaseText(sign: Sign, number: number, { mac, atMs }: { readonly mac: string; readonly atMs: number }): string {
  return `${mac} ${atMs} ${sign(mac, `base ${number} ${atMs}`)}`;
}

export async function readIndexState(folder: string, sign: Sign): Promise<IndexState> {
  const links = await readLinks(folder);
  const problems: string[] = [];
  const base = readBase(links, sign, problems);
  const numbers = [...links.keys()].filter((name) => /^[1-9]\d{0,14}$/.test(name)).map(Number);
  const living = numbers.filter((number) => number > base.number).toSorted((one, other) => one - other);
  const entries: IndexEntry[] = [];
  let before: { readonly number: number; readonly mac: string } = base;
  for (const number of living) {
    if (number !== before.number + 1) problems.push(`entries ${before.number + 1} to ${number - 1} of the index are missing`);
    const text = links.get(String(number)) ?? "";
    const [, file = "", mac = FIRST_MAC] = ENTRY.exec(text) ?? [];
    const fits = text === toEntryText(sign, number, { file, previous: before.mac });
    if (fits) entries.push(readEntry({ number, file, mac }, { links, sign, problems }));
    else problems.push(`entry ${number} of the index does not fit the one before it, or the key`);
    before = { number, mac };
  }
  return { base, entries, problems };
}

interface Reading {
  readonly links: ReadonlyMap<string, string>;
  readonly sign: Sign;
  readonly problems: string[];
}

function readBase(links: ReadonlyMap<string, string>, sign: Sign, problems: string[]): IndexState["base"] {
  const numbers = [...links.keys()].flatMap((name) => Number(/^base-([1-9]\d{0,14})$/.exec(name)?.[1] ?? 0));
  const number = Math.max(0, ...numbers);
  if (number === 0) return { number, mac: FIRST_MAC };
  const text = links.get(`base-${number}`) ?? "";
  const [, mac = FIRST_MAC, at] = BASE.exec(text) ?? [];
  if (text !== toBaseText(sign, number, { mac, atMs: Number(at) })) problems.push(`base ${number} of the index does not fit the key`);
  return { number, mac, atMs: Number(at) };
}

function readEntry(entry: IndexEntry, { links, sign, problems }: Reading): IndexEntry {
  const { number } = entry;
  const marked = links.get(`${number}.mark`);
  const [, sequence, lineMac = "", state] = MARK.exec(marked ?? "") ?? [];
  const mark: SegmentMark = { sequence: Number(sequence), lineMac, state: state === "closed" ? "closed" : "open" };
  const removal = links.get(`${number}.removed`);
  const [, at, why] = REMOVAL.exec(removal ?? "") ?? [];
  const removed: Removal = { atMs: Number(at), why: why === "age" ? "age" : "size" };
  const isMarkRight = marked === toMarkText(sign, number, mark);
  const isRemovalRight = removal === toRemovalText(sign, entry, removed);
  if (marked !== undefined && !isMarkRight) problems.push(`the mark of ${entry.file} in the index does not fit the key`);
  if (removal !== undefined && !isRemovalRight) problems.push(`the removal of ${entry.file} in the index does not fit the key`);
  return { ...entry, ...(isMarkRight && { mark }), ...(isRemovalRight && { removed }) };
}

/** Reads all links as of one moment. If links disappear meanwhile (a base replaces entries), it reads them again. */
async function readLinks(folder: string): Promise<ReadonlyMap<string, string>> {
  for (let round = 1; ; round += 1) {
    const names = (await ifPresent(folder, readdir(folder, { withFileTypes: true }))) ?? [];
    const links = names.filter((entry) => entry.isSymbolicLink() && !entry.name.endsWith(".new"));
    const texts = await Promise.all(links.map(({ name }) => ifPresent(folder, readlink(join(folder, name)))));
    const found = links.flatMap(({ name }, position) => (texts[position] === undefined ? [] : [[name, texts[position]] as const]));
    if (found.length === links.length || round === ROUNDS_MAX) return new Map(found);
  }
}
