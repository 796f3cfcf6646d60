import { BelljarError } from "../../errors.ts";
import type { Isolation, IsolationCheck } from "../../runtime/runtime.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openConfiguredRuntime, openStack, readConfig } from "../compose/open-stack.ts";
import { withNetworkCheck } from "../doctor/network-check.ts";
import { readHost } from "../doctor/host.ts";
import { hostChecks } from "../doctor/host-checks.ts";
import { printJson, printLine } from "../print.ts";
import { withProgress } from "../progress.ts";

const MARKS = { enforced: "ok     ", partial: "partial", absent: "MISSING" } as const;

/** Exit code 0 when sandboxes can be made here, 1 when not. */
export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const isolation = await withProgress(context.stderr, "Trying what this machine enforces", examine(call, context));
  if (isSet(call, "json")) printJson(context.stdout, isolation);
  else printReport(isolation, (text) => printLine(context.stdout, text));
  return isolation.available ? 0 : 1;
}

async function examine(call: CommandCall, context: CommandContext): Promise<Isolation> {
  const config = readConfig(call, context);
  if (config.url !== undefined) {
    await using stack = await openStack(call, context);
    return stack.isolation();
  }
  const host = hostChecks(await readHost());
  try {
    const runtime = await openConfiguredRuntime(config, context.stderr);
    const isolation = withNetworkCheck(await runtime.probe());
    const suspects = isolation.available ? host.filter(({ id }) => id !== "container") : host;
    return { ...isolation, checks: mergeChecks(isolation.checks, suspects) };
  } catch (error) {
    if (!(error instanceof BelljarError)) throw error;
    return { ...NOTHING, runtime: config.runtime, checks: [{ id: "runtime", state: "absent", detail: error.message }, ...host] };
  }
}

const NOTHING: Isolation = { runtime: "", available: false, checks: [], limits: [], users: "one", terminals: false, pause: false };

/** What was tried stands; the host's own look adds lines, and remedies where the trial names none. */
function mergeChecks(tried: readonly IsolationCheck[], host: readonly IsolationCheck[]): readonly IsolationCheck[] {
  const remedies = new Map(host.map((check) => [check.id, check.remedy]));
  const filled = tried.map((check) => {
    const remedy = check.state === "enforced" ? undefined : (check.remedy ?? remedies.get(check.id));
    return remedy === undefined ? check : { ...check, remedy };
  });
  const known = new Set(tried.map(({ id }) => id));
  return [...filled, ...host.filter(({ id }) => !known.has(id))];
}

function printReport(isolation: Isolation, print: (text: string) => void): void {
  print(`Runtime ${isolation.runtime}: ${isolation.available ? "sandboxes can be made here" : "NO sandbox can be made here"}\n`);
  const width = Math.max(...isolation.checks.map(({ id }) => id.length));
  for (const { id, state, detail, remedy } of isolation.checks) {
    print(`  ${MARKS[state]}  ${id.padEnd(width)}  ${detail}`);
    for (const line of remedy?.split("\n") ?? []) print(`${" ".repeat(width + 13)}-> ${line}`);
  }
  if (!isolation.available) return;
  print("");
  print(`Limits enforced: ${isolation.limits.join(", ") || "none"}`);
  print(
    `Users inside: ${isolation.users === "two" ? "root and user" : "one id for both names"}; terminals: ${yesNo(isolation.terminals)}; pause: ${yesNo(isolation.pause)}`,
  );
}

function yesNo(value: boolean): string {
  return value ? "yes" : "no";
}
