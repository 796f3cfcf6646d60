import { posix } from "node:path";
import { fromKey, parentKey, showPath } from "../../sandbox/workspace/entry.ts";
import { createPathPattern } from "../../sandbox/workspace/path-pattern.ts";
import { invalidLine, quoted } from "./dockerfile-error.ts";
import { type MatchWork, PATTERN_MAX } from "./match-work.ts";
import { type SourceEntry, type SourceTree, toSourceKey } from "./source-tree.ts";

/** Belongs to the format of layers: such a name would hide another file. */
const WHITEOUT = ".wh.";
const MAGIC = /[*?[]/;
/** Of one step. */
const ENTRIES_MAX = 200_000;

/** A file or folder that a source names, with all below it, by the keys of its tree. */
export interface ChosenSource {
  readonly root: string;
  readonly entries: ReadonlyMap<string, SourceEntry>;
}

/** For messages, and what finding takes. */
export interface Choosing {
  readonly line: number;
  readonly work: MatchWork;
}

/** What the sources of a COPY name. Throws `DOCKERFILE_INVALID` for one that leads out, is not there, or is a link. */
export async function chooseSources(tree: SourceTree, sources: readonly string[], choosing: Choosing): Promise<readonly ChosenSource[]> {
  const chosen: ChosenSource[] = [];
  let count = 0;
  for (const source of sources) {
    for (const found of await chooseOne(tree, source, choosing)) {
      count += found.entries.size;
      if (count > ENTRIES_MAX) throw invalidLine(choosing.line, `it copies more than ${ENTRIES_MAX} files: use several steps`);
      await assertCopies(found, choosing);
      chosen.push(found);
    }
  }
  return chosen;
}

async function chooseOne(tree: SourceTree, source: string, choosing: Choosing): Promise<readonly ChosenSource[]> {
  const { line } = choosing;
  if (/^[a-z][a-z0-9+.-]*:\/\/|^git@/i.test(source))
    throw invalidLine(line, `${quoted(source)} is no file: fetch it by a RUN, with a network policy that allows it`);
  const path = toSourceKey(source);
  if (path === undefined) throw invalidLine(line, `${quoted(source)} leads out of what is copied from: move it into that folder`);
  const found = MAGIC.test(path) ? await findMatches(tree, path, choosing) : [{ root: path, entries: await tree.list(path) }];
  const there = found.filter(({ root, entries }) => entries.has(root));
  if (there.length === 0)
    throw invalidLine(line, `${quoted(source)} is not there, or .dockerignore leaves it out. Links to folders are not followed`);
  return there;
}

/** The topmost of all that fit, each with what lies below it. */
async function findMatches(tree: SourceTree, pattern: string, { line, work }: Choosing): Promise<readonly ChosenSource[]> {
  if (pattern.length > PATTERN_MAX) throw invalidLine(line, `a pattern has ${PATTERN_MAX} characters at most: name a folder above`);
  const parts = pattern.split("/");
  const fixed = parts.slice(
    0,
    parts.findIndex((part) => MAGIC.test(part)),
  );
  const rootOf = findRoots(createPathPattern(`/${fromKey(pattern).toString()}`, work.spend));
  const found = new Map<string, Map<string, SourceEntry>>();
  for (const [key, entry] of await tree.list(fixed.join("/"))) {
    await work.next();
    const root = rootOf(key);
    if (root !== undefined) found.set(root, (found.get(root) ?? new Map<string, SourceEntry>()).set(key, entry));
  }
  return [...found].map(([root, entries]) => ({ root, entries }));
}

/** The topmost that fits of what lies above a key, or it itself. Each is tried once. */
function findRoots(fits: (path: string) => boolean): (key: string) => string | undefined {
  const roots = new Map<string, string | undefined>([["", undefined]]);
  return function rootOf(key) {
    if (!roots.has(key)) roots.set(key, rootOf(parentKey(key)) ?? (fits(`/${key}`) ? key : undefined));
    return roots.get(key);
  };
}

async function assertCopies({ root, entries }: ChosenSource, { line, work }: Choosing): Promise<void> {
  const type = entries.get(root)?.type;
  if (type === "link") throw invalidLine(line, `${quoted(showKey(root))} is a link: name what it leads to`);
  if (type === "other") throw invalidLine(line, `${quoted(showKey(root))} is neither a file nor a folder`);
  for (const key of entries.keys()) {
    await work.next();
    if (posix.basename(key).startsWith(WHITEOUT))
      throw invalidLine(line, `${quoted(showKey(key))} cannot be copied: its name begins with ${WHITEOUT}`);
  }
}

function showKey(key: string): string {
  return showPath(fromKey(key));
}
