import { isAnothers } from "../../../catalog/approve-call.ts";
import type { CodeTool, ToolContext } from "../../../catalog/tool.ts";
import { BelljarError } from "../../../errors.ts";
import type { Described } from "./describe-tools.ts";

export interface ScriptToApprove {
  readonly language: string;
  readonly code: string;
  /** How often it calls tools, by their names or paths. */
  readonly calls: Readonly<Record<string, number>>;
}

/** The calls of one script that a person has approved with it. */
export interface ApprovedCalls {
  /** Whether this call is one of them, which is then used. Throws `APPROVAL_NEEDED` for a tool that needs one and has none left. */
  use(tool: CodeTool): boolean;
}

/** Asks a person once for the whole script, if it calls tools that need it. Rejects as `ToolContext.approve`, and with `TOOL_NOT_FOUND`. */
export async function approveScript(context: ToolContext, described: Described, script: ScriptToApprove): Promise<ApprovedCalls> {
  const left = new Map<string, number>();
  let atMachine = false;
  for (const [name, count] of Object.entries(script.calls)) {
    const tool = findTool(described, name);
    if (!tool.needsApproval) continue;
    left.set(tool.name, Math.max(count, left.get(tool.name) ?? 0));
    atMachine ||= isAnothers(tool, context.principal);
  }
  if (left.size > 0) {
    const calls = Object.fromEntries([...left].toSorted(([a], [b]) => (a < b ? -1 : 1)));
    await context.approve({ language: script.language, code: script.code, calls }, tellScript(script, calls), { atMachine });
  }
  return {
    use({ name, needsApproval }) {
      if (!needsApproval) return false;
      const count = left.get(name) ?? 0;
      if (count === 0) throw notApproved(name, script.calls);
      left.set(name, count - 1);
      return true;
    },
  };
}

function findTool({ tools, paths }: Described, name: string): CodeTool {
  const index = paths.findIndex(([full, path]) => full === name || path === name);
  const tool = tools[index];
  if (tool) return tool;
  throw new BelljarError("TOOL_NOT_FOUND", `\`calls\` names ${JSON.stringify(name)}, and the script has no such tool`);
}

function notApproved(name: string, calls: Readonly<Record<string, number>>): BelljarError {
  const given = { ...calls, [name]: 1 };
  const advice = `name it with how often the script calls it, as "calls": ${JSON.stringify(given)}, and run the script again`;
  return new BelljarError("APPROVAL_NEEDED", `A person must approve calls of ${name}, beyond those of \`calls\`: ${advice}`);
}

function tellScript({ language, code }: ScriptToApprove, calls: Readonly<Record<string, number>>): string {
  const lines = Object.entries(calls).map(([name, count]) => `- ${name}, ${count === 1 ? "once" : `at most ${count} times`}`);
  return `A model wants to run a script that calls, with arguments of its own choice:\n${lines.join("\n")}\n\nIt is in ${language}:\n${code}`;
}
