import { BelljarError } from "../../errors.ts";
import type { Isolation, IsolationCheck } from "../../runtime/contract/runtime.ts";
import { type HostIsolation, unavailable } from "../../sandbox/runtimes.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openStack, probeRuntimes, readConfig } from "../compose/open-stack.ts";
import { readHost } from "../doctor/host.ts";
import { hostChecks } from "../doctor/host-checks.ts";
import { printable } from "../../files/printable.ts";
import { coloursFor } from "../colours.ts";
import { printJson, printLine } from "../print.ts";
import { withProgress } from "../progress.ts";
import { columnsOf } from "../terminal/columns-of.ts";
import { wrapText } from "../terminal/wrap-text.ts";

const MARKS = { enforced: "ok     ", partial: "partial", absent: "MISSING" } as const;
const COLOURS = { enforced: "green", partial: "yellow", absent: "red" } as const;

/**
 * The exit code is 0 if sandboxes of the standard runtime can be created here, else 1. With --e2b it is 0 if clients of E2B find the server by
 * its URL, and by names if the configuration has a domain.
 */
export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  return isSet(call, "e2b") ? tryE2b(call, context) : tryMachine(call, context);
}

async function tryE2b(call: CommandCall, context: CommandContext): Promise<number> {
  const { checkE2b } = await import("../doctor/e2b-check.ts");
  const config = readConfig(call, context);
  const checks = await withProgress(context.stderr, "Asking the server as E2B's clients do", checkE2b(config, context.env["E2B_API_KEY"]));
  if (isSet(call, "json")) printJson(context.stdout, { checks });
  else printChecks(checks, reportTo(context.stdout));
  const needed = config.tls.domain === undefined ? checks.filter(({ id }) => id === "e2b-url") : checks;
  return needed.every(({ state }) => state === "enforced") ? 0 : 1;
}

async function tryMachine(call: CommandCall, context: CommandContext): Promise<number> {
  const isolation = await withProgress(context.stderr, "Trying what this machine enforces", examine(call, context));
  if (isSet(call, "json")) printJson(context.stdout, isolation);
  else printReports(isolation, reportTo(context.stdout));
  return isolation.available ? 0 : 1;
}

async function examine(call: CommandCall, context: CommandContext): Promise<HostIsolation> {
  const config = readConfig(call, context);
  if (config.url !== undefined) {
    await using stack = await openStack(call, context);
    return stack.isolation();
  }
  const host = hostChecks(await readHost());
  try {
    const isolation = await probeRuntimes(config, context.stderr);
    const suspects = isolation.available ? host.filter(({ id }) => id !== "container") : host;
    return { ...isolation, checks: mergeChecks(isolation.checks, suspects) };
  } catch (error) {
    if (!(error instanceof BelljarError)) throw error;
    return unavailable(config.runtime, [{ id: "runtime", state: "absent", detail: error.message }, ...host]);
  }
}

/** Joins the checks of the runtime and of the host. If both have a check, the runtime's counts, with the host's remedy if it has none. */
function mergeChecks(tried: readonly IsolationCheck[], host: readonly IsolationCheck[]): readonly IsolationCheck[] {
  const remedies = new Map(host.map((check) => [check.id, check.remedy]));
  const filled = tried.map((check) => {
    const remedy = check.state === "enforced" ? undefined : (check.remedy ?? remedies.get(check.id));
    return remedy === undefined ? check : { ...check, remedy };
  });
  const known = new Set(tried.map(({ id }) => id));
  return [...filled, ...host.filter(({ id }) => !known.has(id))];
}

interface Report {
  readonly print: (text: string) => void;
  /** A line that a person may copy: no line break comes into it. */
  readonly printWhole: (text: string) => void;
  /** A check's line, with its mark in colour. */
  readonly check: (state: IsolationCheck["state"], text: string) => void;
}

function reportTo(stdout: CommandContext["stdout"]): Report {
  const colours = coloursFor(stdout);
  const columns = columnsOf(stdout);
  return {
    print: (text) => printLine(stdout, wrapText(text, columns)),
    printWhole: (text) => printLine(stdout, text),
    check(state, text) {
      const mark = `  ${MARKS[state]}`;
      const rest = wrapText(`${mark}  ${printable(text)}`, columns).slice(mark.length);
      stdout.write(`  ${colours[COLOURS[state]](MARKS[state])}${rest}\n`);
    },
  };
}

function printReports({ others = [], ...standard }: HostIsolation, report: Report): void {
  printReport(standard, report);
  for (const other of others) {
    report.print("");
    printReport(other, report);
  }
}

const STATES: Readonly<Record<Isolation["states"], string>> = {
  clone: "at once, however much a sandbox wrote (clone)",
  copy: "what a sandbox wrote is copied (copy), but see `checkpoints` above",
  none: "not supported",
};

function printReport(isolation: Isolation, report: Report): void {
  const { print } = report;
  print(`Runtime ${isolation.runtime}: ${isolation.available ? "sandboxes can be made here" : "NO sandbox can be made here"}\n`);
  printChecks(isolation.checks, report);
  if (!isolation.available) return;
  print("");
  print(`Snapshots and checkpoints: ${STATES[isolation.states]}`);
  print(`Limits enforced: ${isolation.limits.join(", ") || "none"}`);
  print(
    `Users inside: ${isolation.users === "two" ? "root and user" : "one id for both names"}; terminals: ${yesNo(isolation.terminals)}; pause: ${yesNo(isolation.pause)}`,
  );
}

function printChecks(checks: readonly IsolationCheck[], { print, printWhole, check }: Report): void {
  const width = Math.max(...checks.map(({ id }) => id.length));
  const told = new Map<string, string>();
  for (const { id, state, detail, remedy } of checks) {
    check(state, `${id.padEnd(width)}  ${detail}`);
    if (remedy === undefined) continue;
    const first = told.get(remedy);
    for (const line of first === undefined ? remedy.split("\n") : [`As for ${first}`])
      (line.startsWith(" ") ? printWhole : print)(`${" ".repeat(width + 13)}-> ${line}`);
    told.set(remedy, first ?? id);
  }
}

function yesNo(value: boolean): string {
  return value ? "yes" : "no";
}
