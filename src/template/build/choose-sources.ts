import { posix } from "node:path";
import { fromKey, parentKey, showPath } from "../../sandbox/workspace/entry.ts";
import { createPathPattern } from "../../sandbox/workspace/path-pattern.ts";
import { invalidLine, quoted } from "./dockerfile-error.ts";
import { isAtOrBelow, type SourceEntry, type SourceTree, toSourceKey } from "./source-tree.ts";

/** Belongs to the format of layers: such a name would hide another file. */
const WHITEOUT = ".wh.";

/** A file or folder that a source names, with all below it, by the keys of its tree. */
export interface ChosenSource {
  readonly root: string;
  readonly entries: ReadonlyMap<string, SourceEntry>;
}

/** What the sources of a COPY name. Throws `DOCKERFILE_INVALID` for one that leads out, is not there, or is a link. */
export async function chooseSources(tree: SourceTree, sources: readonly string[], line: number): Promise<readonly ChosenSource[]> {
  const chosen: ChosenSource[] = [];
  for (const source of sources) chosen.push(...(await chooseOne(tree, source, line)));
  for (const { root, entries } of chosen) assertCopies(root, entries, line);
  return chosen;
}

async function chooseOne(tree: SourceTree, source: string, line: number): Promise<readonly ChosenSource[]> {
  if (/^[a-z][a-z0-9+.-]*:\/\/|^git@/i.test(source))
    throw invalidLine(line, `${quoted(source)} is no file: fetch it by a RUN, with a network policy that allows it`);
  const path = toSourceKey(source);
  if (path === undefined) throw invalidLine(line, `${quoted(source)} leads out of what is copied from: move it into that folder`);
  const found = /[*?[]/.test(path) ? await findMatches(tree, path) : [{ root: path, entries: await tree.list(path) }];
  const there = found.filter(({ root, entries }) => entries.has(root));
  if (there.length === 0)
    throw invalidLine(line, `${quoted(source)} is not there, or .dockerignore leaves it out. Links to folders are not followed`);
  return there;
}

/** The topmost of all that fit. */
async function findMatches(tree: SourceTree, pattern: string): Promise<readonly ChosenSource[]> {
  const parts = pattern.split("/");
  const fixed = parts
    .slice(
      0,
      parts.findIndex((part) => /[*?[]/.test(part)),
    )
    .join("/");
  const entries = await tree.list(fixed);
  const fits = createPathPattern(`/${fromKey(pattern).toString()}`);
  const matching = [...entries.keys()].filter((key) => key !== "" && fits(`/${key}`) && !fits(`/${parentKey(key)}`));
  return matching.map((root) => ({ root, entries: new Map([...entries].filter(([key]) => isAtOrBelow(key, root))) }));
}

function assertCopies(root: string, entries: ReadonlyMap<string, SourceEntry>, line: number): void {
  const type = entries.get(root)?.type;
  if (type === "link") throw invalidLine(line, `${quoted(showKey(root))} is a link: name what it leads to`);
  if (type === "other") throw invalidLine(line, `${quoted(showKey(root))} is neither a file nor a folder`);
  const hidden = [...entries.keys()].find((key) => posix.basename(key).startsWith(WHITEOUT));
  if (hidden !== undefined) throw invalidLine(line, `${quoted(showKey(hidden))} cannot be copied: its name begins with ${WHITEOUT}`);
}

function showKey(key: string): string {
  return showPath(fromKey(key));
}
