import { createHash } from "node:crypto";
import { z } from "zod";
import { BelljarError } from "../../../errors.ts";
import { highestNumbers, NumberedFile } from "../../../files/numbered-file.ts";
import { parseJson } from "../../../files/parse-json.ts";
import { namesNow } from "../../../files/read-now.ts";
import { digestOf } from "../../../files/canonical.ts";
import { changesBetween, describeItem, type PinChange, TOO_LARGE, type ToldChange } from "./pinned-lists.ts";

/** Characters of a changed definition that are told, of each side. */
const TEXT_MAX = 20_000;
/** Shown before the first difference of a definition that is cut. */
const CONTEXT_MAX = 1_000;
const CHANGES_MAX = 100;
/** Characters of definitions that are looked at to tell changes, which takes a tenth of a second in one go. */
const LOOKED_MAX = 1_048_576;
/** To find out that a definition is too large is work too. */
const TOO_LARGE_COSTS = 262_144;

const side = z.object({ digests: z.record(z.string(), z.string()), lists: z.record(z.string(), z.unknown()).optional() });
const stored = z.object({ version: z.literal(1), identity: z.string(), pinned: side, last: side });

/** Definitions of one moment. */
export type PinnedSide = z.output<typeof side>;

/** The definitions of one server. */
export interface Pinned {
  /** Of what runs: another program has other definitions. */
  readonly identity: string;
  /** As they were approved. */
  readonly pinned: PinnedSide;
  /** As the server listed them last. */
  readonly last: PinnedSide;
}

/** Servers of one name. Each program has a file of its own: that of another project may have the same name. */
export interface PinsOf {
  readonly folder: string;
  readonly owner: string;
  /** Of the servers. */
  readonly name: string;
}

export interface PinPlace extends PinsOf {
  /** The name of the numbered file. */
  readonly file: string;
}

/** What a file says that nobody can make sense of. */
export const DAMAGED = "damaged";

export function pinPlace(of: PinsOf, identity: string): PinPlace {
  return { ...of, file: `${keyOf(of)}-${hash(identity)}` };
}

/** A damaged file stands for `DAMAGED`. */
export function pinFile({ folder, name, file }: PinPlace): NumberedFile<Pinned | typeof DAMAGED | undefined> {
  return new NumberedFile({
    folder,
    name: file,
    title: `the definitions of the MCP server "${name}"`,
    serialise: (value) => JSON.stringify(value === DAMAGED ? {} : { version: 1, ...value }),
    parse: (text) => stored.safeParse(parseJson(text)).data ?? DAMAGED,
  });
}

function placesOf(of: PinsOf): readonly PinPlace[] {
  const files = [...highestNumbers(namesNow(of.folder)).keys()].filter((file) => file.startsWith(`${keyOf(of)}-`));
  return files.map((file) => ({ ...of, file }));
}

/** For a name that nobody has any more: of all programs that ever had it. */
export async function forgetNamed(of: PinsOf): Promise<void> {
  for (const place of placesOf(of)) await pinFile(place).remove();
}

/** Of the servers of one name that which has changed, else any. Undefined if nothing was listed. */
export function findPinned(of: PinsOf, digest?: string): { readonly place: PinPlace; readonly pinned: Pinned } | undefined {
  const found = placesOf(of).flatMap((place) => {
    const { value } = pinFile(place).readNow(undefined);
    return value && value !== DAMAGED ? [{ place, pinned: value }] : [];
  });
  const listed = found.filter(({ pinned }) => digest === undefined || digestOfLast(pinned) === digest);
  return listed.find(({ pinned }) => changesOf(pinned).length > 0) ?? listed[0];
}

/** Approves what was listed last. Rejects with `MCP_SERVER_CHANGED` if that is not what `digest` stands for. */
export async function approvePinned(place: PinPlace, digest?: string): Promise<Pinned | undefined> {
  const { value } = await pinFile(place).change(undefined, (before) => {
    if (before === undefined || before === DAMAGED) return before;
    if (digest !== undefined && digestOfLast(before) !== digest) throw changedSince(place.name);
    return { ...before, pinned: before.last };
  });
  return value === DAMAGED ? undefined : value;
}

/** The same for the server that `findPinned` finds. */
export async function approveNamed(of: PinsOf, digest?: string): Promise<void> {
  const found = findPinned(of, digest);
  if (found) await approvePinned(found.place, digest);
  else if (findPinned(of)) throw changedSince(of.name);
}

function keyOf({ owner, name }: PinsOf): string {
  return hash(JSON.stringify([owner, name]));
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

/** For an approval of what is not there any more. */
export function changedSince(server: string): BelljarError {
  return new BelljarError("MCP_SERVER_CHANGED", `The MCP server "${server}" has changed since you looked: look at it again`);
}

/** Stands for what was listed last. */
export function digestOfLast({ last }: Pick<Pinned, "last">): string {
  return digestOf(last.digests);
}

export function changesOf({ pinned, last }: Pinned): readonly PinChange[] {
  return changesBetween(pinned.digests, last.digests);
}

/** The first of these changes, with both sides. Once very much has been looked at, the others are named alone. */
export function tellChanges({ pinned, last }: Pick<Pinned, "pinned" | "last">, changes: readonly PinChange[]): readonly ToldChange[] {
  let left = LOOKED_MAX;
  return changes.slice(0, CHANGES_MAX).map((change): ToldChange => {
    if (left <= 0) return change;
    const sides = [describeItem(pinned.lists, change), describeItem(last.lists, change)] as const;
    for (const side of sides) left -= side === TOO_LARGE ? TOO_LARGE_COSTS : (side?.length ?? 0);
    const [before, after] = cutSides(...sides);
    return { ...change, ...(before !== undefined && { before }), ...(after !== undefined && { after }) };
  });
}

/** Both sides. Of long ones what is the same at their start is left out, for somebody decides about the rest; what is left out is said. */
function cutSides(before: string | undefined, after: string | undefined): readonly (string | undefined)[] {
  const isLong = [before, after].some((text) => (text?.length ?? 0) > TEXT_MAX);
  const start = isLong ? Math.max(0, sameStart(before ?? "", after ?? "") - CONTEXT_MAX) : 0;
  return [before, after].map((text) => {
    if (text === undefined) return undefined;
    const left = text.length - start - TEXT_MAX;
    const head = start > 0 ? `(cut: ${start} characters that are the same)\n` : "";
    return `${head}${text.slice(start, start + TEXT_MAX)}${left > 0 ? `\n(cut: ${left} more characters)` : ""}`;
  });
}

function sameStart(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return at;
}
