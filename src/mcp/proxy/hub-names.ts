import { createHash } from "node:crypto";

const NAME_MAX = 40;
const HASH_CHARACTERS = 6;
/** A tool that its server names so has a hash of its own behind that, so that it never takes another one's name. */
const LOOKS_HASHED = /_[0-9a-f]{6}$/;

/**
 * The names under which callers see the tools of a server, in their order: `<prefix><label>_<tool>`, of letters, digits, `_` and `-`. One that
 * is longer than 40 characters is cut and ends in a hash, as do names that would be the same. So a name does not change with the tools beside
 * it, unless they differ only in what is replaced. Without a prefix a tool has its own name, however long.
 */
export function hubNames(prefix: string, label: string, tools: readonly string[]): readonly string[] {
  const before = prefix === "" ? "" : `${prefix}${label}_`;
  const most = prefix === "" ? Infinity : NAME_MAX;
  const plain = tools.map((tool) => `${before}${toPlain(tool)}`);
  const counts = new Map<string, number>();
  for (const name of plain) counts.set(name, (counts.get(name) ?? 0) + 1);
  return plain.map((name, index) => {
    const isItsOwn = name.length <= most && counts.get(name) === 1 && !LOOKS_HASHED.test(name);
    return isItsOwn ? name : `${name.slice(0, NAME_MAX - HASH_CHARACTERS - 1)}_${hashOf([label, tools[index]])}`;
  });
}

/**
 * What stands for each server in names. Where the tools of one could have the names of another's, as those of `files` and `files_private`, the
 * shorter one ends in a hash.
 */
export function serverLabels(names: readonly string[]): ReadonlyMap<string, string> {
  const plain = names.map(toPlain);
  return new Map(
    names.map((name, index) => {
      const own = plain[index] ?? name;
      const isShared = plain.some((other, at) => at !== index && (other === own || other.startsWith(`${own}_`)));
      return [name, isShared ? `${own}_${hashOf([name])}` : own];
    }),
  );
}

function toPlain(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, "_");
}

function hashOf(of: unknown): string {
  return createHash("sha256").update(JSON.stringify(of)).digest("hex").slice(0, HASH_CHARACTERS);
}
