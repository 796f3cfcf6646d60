import { createHash } from "node:crypto";

const NAME_MAX = 40;
const HASH_CHARACTERS = 6;

/**
 * The names under which callers see the tools of a server, in their order: `<prefix><server>_<tool>`, of letters, digits, `_` and `-`. One that
 * is longer than 40 characters is cut and ends in a hash, as do names that would be the same. So a name does not change with the tools beside
 * it, unless they differ only in what is replaced. Without a prefix a tool has its own name, however long.
 */
export function hubNames(prefix: string, server: string, tools: readonly string[]): readonly string[] {
  const before = prefix === "" ? "" : `${prefix}${server}_`;
  const most = prefix === "" ? Infinity : NAME_MAX;
  const plain = tools.map((tool) => `${before}${tool}`.replaceAll(/[^A-Za-z0-9_-]/g, "_"));
  const counts = new Map<string, number>();
  for (const name of plain) counts.set(name, (counts.get(name) ?? 0) + 1);
  return plain.map((name, index) => (name.length <= most && counts.get(name) === 1 ? name : hashed(name, server, tools[index] ?? "")));
}

function hashed(name: string, server: string, tool: string): string {
  const hash = createHash("sha256").update(JSON.stringify([server, tool]));
  return `${name.slice(0, NAME_MAX - HASH_CHARACTERS - 1)}_${hash.digest("hex").slice(0, HASH_CHARACTERS)}`;
}
