import { createHash } from "node:crypto";
import { z } from "zod";
import { BelljarError } from "../../../errors.ts";
import { NumberedFile } from "../../../files/numbered-file.ts";
import { parseJson } from "../../../files/parse-json.ts";
import { digestOf } from "./canonical.ts";
import { changesBetween, describeItem, type PinChange, type ToldChange } from "./pinned-lists.ts";

/** Characters of a changed definition that are told, of each side. */
const TEXT_MAX = 20_000;
/** Shown before the first difference of a definition that is cut. */
const CONTEXT_MAX = 1_000;
const CHANGES_MAX = 100;

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

export interface PinPlace {
  readonly folder: string;
  readonly owner: string;
  /** Of the server. */
  readonly name: string;
}

/** The name of the numbered file. */
export function pinName({ owner, name }: Omit<PinPlace, "folder">): string {
  return createHash("sha256")
    .update(JSON.stringify([owner, name]))
    .digest("hex")
    .slice(0, 32);
}

/** A damaged file stands for none. */
export function pinFile(place: PinPlace): NumberedFile<Pinned | undefined> {
  return new NumberedFile({
    folder: place.folder,
    name: pinName(place),
    title: `the definitions of the MCP server "${place.name}"`,
    serialise: (value) => JSON.stringify({ version: 1, ...value }),
    parse: (text) => stored.safeParse(parseJson(text)).data,
  });
}

/** Approves what was listed last. Rejects with `MCP_SERVER_CHANGED` if that is not what `digest` stands for. */
export async function approvePinned(place: PinPlace, digest?: string): Promise<Pinned | undefined> {
  const { value } = await pinFile(place).change(undefined, (before) => {
    if (before && digest !== undefined && digestOfLast(before) !== digest) throw changedSince(place.name);
    return before && { ...before, pinned: before.last };
  });
  return value;
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

/** The first of these changes, with both sides. */
export function tellChanges({ pinned, last }: Pinned, changes: readonly PinChange[]): readonly ToldChange[] {
  return changes.slice(0, CHANGES_MAX).map((change): ToldChange => {
    const [before, after] = cutSides(describeItem(pinned.lists, change), describeItem(last.lists, change));
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
