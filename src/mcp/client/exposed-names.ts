import { createHash } from "node:crypto";

/** What models' providers take as the name of a tool. */
const CHARACTERS_MAX = 64;
const HASH_CHARACTERS = 8;

interface ServerTool {
  readonly server: string;
  readonly tool: string;
}

/** A tool that is named so by its server has a hash of its own behind that, so that it never takes another one's name. */
const LOOKS_HASHED = /_[0-9a-f]{8}$/;

/**
 * One name for each tool, of letters, digits, `_` and `-`, in the order of the tools. No two are the same: where shortening or replacing
 * makes them so, they end in a hash. A name is looked up and never split, so servers and tools may have `_` and `-` in theirs.
 */
export function exposeNames(tools: readonly ServerTool[]): readonly string[] {
  const plain = tools.map(({ server, tool }) => `${server}__${tool}`.replaceAll(/[^A-Za-z0-9_-]/g, "_"));
  const counts = new Map<string, number>();
  for (const name of plain) counts.set(name, (counts.get(name) ?? 0) + 1);
  const taken = new Set<string>();
  return plain.map((name, index) => {
    if (counts.get(name) === 1 && name.length <= CHARACTERS_MAX && !LOOKS_HASHED.test(name)) return name;
    let hashed = withHash(name, tools[index], 0);
    for (let again = 1; taken.has(hashed); again += 1) hashed = withHash(name, tools[index], again);
    taken.add(hashed);
    return hashed;
  });
}

function withHash(name: string, { server, tool }: Partial<ServerTool> = {}, again: number): string {
  const hash = createHash("sha256").update(JSON.stringify(again === 0 ? [server, tool] : [server, tool, again]));
  return `${name.slice(0, CHARACTERS_MAX - HASH_CHARACTERS - 1)}_${hash.digest("hex").slice(0, HASH_CHARACTERS)}`;
}
