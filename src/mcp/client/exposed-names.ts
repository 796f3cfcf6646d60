import { createHash } from "node:crypto";

/** What models' providers take as the name of a tool. */
const CHARACTERS_MAX = 64;
const HASH_CHARACTERS = 8;

interface ServerTool {
  readonly server: string;
  readonly tool: string;
}

/**
 * One name for each tool, of letters, digits, `_` and `-`, in the order of the tools. No two are the same: where shortening or replacing
 * makes them so, they end in a hash. A name is looked up and never split, so servers and tools may have `_` and `-` in theirs.
 */
export function exposeNames(tools: readonly ServerTool[]): readonly string[] {
  const plain = tools.map(({ server, tool }) => `${server}__${tool}`.replaceAll(/[^A-Za-z0-9_-]/g, "_"));
  const counts = new Map<string, number>();
  for (const name of plain) counts.set(name, (counts.get(name) ?? 0) + 1);
  return plain.map((name, index) => {
    if (counts.get(name) === 1 && name.length <= CHARACTERS_MAX) return name;
    const hash = createHash("sha256").update(JSON.stringify([tools[index]?.server, tools[index]?.tool]));
    return `${name.slice(0, CHARACTERS_MAX - HASH_CHARACTERS - 1)}_${hash.digest("hex").slice(0, HASH_CHARACTERS)}`;
  });
}
