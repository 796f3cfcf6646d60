import type { CodeTool } from "../../../catalog/tool.ts";
import type { ScriptTool } from "../../../dynamic/harness/ask-harness.ts";
import { BelljarError } from "../../../errors.ts";
import { signature, type SignatureLanguage } from "./signatures.ts";

/** Characters of all signatures of one answer; about 8,000 tokens. */
const SHOWN_MAX = 32_000;
const NAMES_MAX = 20;
/** Parts and properties of schemas that are looked at for one answer. */
const WORK_MAX = 200_000;

export interface Described {
  readonly tools: readonly CodeTool[];
  /** Of each of them. */
  readonly paths: readonly ScriptTool[];
}

/**
 * The signatures of what is asked for: a server, all of whose tools are meant, a path as `memo.add`, or a full name. Throws `TOOL_NOT_FOUND` for
 * a name that stands for nothing.
 */
export function describeTools({ tools, paths }: Described, wanted: readonly string[], language: SignatureLanguage): string {
  const chosen = new Set<number>();
  for (const name of wanted) {
    const found = paths.flatMap(([full, path], index) => (full === name || path === name || path?.startsWith(`${name}.`) ? [index] : []));
    if (found.length === 0) throw unknown(name, paths);
    for (const index of found) chosen.add(index);
  }
  const lines: string[] = [];
  const work = { left: WORK_MAX };
  let room = SHOWN_MAX;
  for (const index of chosen) {
    const [tool, path] = [tools[index], paths[index]];
    if (!tool || !path) continue;
    const text = signature(tool, path, { language, work });
    room -= text.length;
    if (room < 0 || work.left <= 0) break;
    lines.push(text);
  }
  const left = chosen.size - lines.length;
  return [...lines, ...(left > 0 ? [`[${left} more are left out: name fewer]`] : [])].join("\n\n");
}

function unknown(name: string, paths: readonly ScriptTool[]): BelljarError {
  const servers = [...new Set(paths.flatMap(([, path]) => path?.split(".", 1) ?? []))];
  const known =
    servers.length === 0
      ? ""
      : ` There are the servers ${servers.slice(0, NAMES_MAX).join(", ")}${servers.length > NAMES_MAX ? ", ..." : ""}.`;
  const advice = "Find tools by words with search_tools";
  return new BelljarError("TOOL_NOT_FOUND", `There is no server and no tool ${JSON.stringify(name.slice(0, 100))}.${known} ${advice}`);
}
