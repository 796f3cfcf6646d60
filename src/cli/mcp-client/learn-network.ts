import { homedir } from "node:os";
import { BelljarError } from "../../errors.ts";
import type { HubScope } from "../../mcp/proxy/hub-file.ts";
import type { HubServer } from "../../mcp/proxy/hub-server.ts";
import { readStoredServer } from "../../mcp/proxy/sources/stored-entry.ts";
import { checkNetworkPolicy, reachesInside } from "../../network/check-policy.ts";
import type { NetworkPolicy } from "../../network/policy.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { lookOnHost } from "../compose/look-on-host.ts";
import { plural, printLine, printProblems } from "../print.ts";
import { usage } from "../usage.ts";
import { type AskLine, askYesNo, withLines } from "./read-lines.ts";
import { renderResult } from "./render-content.ts";
import { splitWords } from "./split-words.ts";
import { openTrials, type TrialServer } from "./trial-server.ts";

const HELP = "belljar server add --help";
const HINT = "Call its tools as TOOL KEY=VALUE ..., press Enter to look again, write done to add it, or end with Ctrl+D and add nothing.";
const TOOLS_SHOWN = 20;

type Entry = Readonly<Record<string, unknown>>;

interface Learning {
  readonly context: CommandContext;
  readonly ask: AskLine;
  /** Rules that the person did not agree to. */
  readonly declined: Set<string>;
}

/** Throws `USAGE` where nobody can be asked. */
export function assertCanLearn({ stdin, stderr }: CommandContext): void {
  if (stdin.isTTY === true && stderr.isTTY === true) return;
  const advice = "add it without --learn and call its tools: `belljar server logs NAME` names the rules that are missing, for --network";
  throw usage(`--learn asks in a terminal, and here is none: ${advice}`, HELP);
}

/**
 * Runs a server in its sandbox, as the hub does, while the person at the terminal calls its tools. Each rule that would allow what its network has
 * refused is asked for by itself, and with each yes the server starts anew. Gives the entry with the rules that the person agreed to; the caller adds
 * it. Rejects with `USAGE` for a server without a network of its own, with `CANCELLED` if the person leaves, and with the server's own error if
 * it does not start with what the person allows.
 */
export async function learnNetwork(
  { name, entry }: { readonly name: string; readonly entry: Entry },
  call: CommandCall,
  context: CommandContext,
): Promise<Entry> {
  assertCanLearn(context);
  await using trials = await openTrials(call, context);
  return await withLines(context, undefined, async (ask) => {
    const learning: Learning = { context, ask, declined: new Set() };
    let learned = entry;
    for (;;) {
      const server = await readServer(name, learned, context);
      await using trial = await trials.open(server);
      tellTrial(name, trial, context);
      const rules = await tryOut(trial, learning);
      if (rules.length === 0) return learned;
      learned = { ...learned, network: withRules(server.settings.network, rules) };
      printLine(context.stderr, `${name} is started anew, with "network": ${JSON.stringify(learned["network"])}`);
    }
  });
}

async function readServer(name: string, entry: Entry, { env }: CommandContext): Promise<HubServer> {
  const scope: HubScope = { env, workspaceFolder: process.cwd(), userHome: homedir(), inputs: new Map(), lookOnHost };
  const server = await readStoredServer(name, { entry, origin: "machine" }, scope);
  if (!server) throw usage(`The server "${name}" is disabled: there is nothing to learn`, HELP);
  const { target, settings } = server;
  if (target.kind !== "stdio" || settings.isolation === "none")
    throw usage(`The server "${name}" runs in no sandbox, so nothing refuses it a place: leave --learn out`, HELP);
  if (settings.network === "all") throw usage(`The server "${name}" may reach the whole Internet: leave --learn or --network out`, HELP);
  return server;
}

function tellTrial(name: string, { problem, tools }: TrialServer, { stderr }: CommandContext): void {
  if (problem) return printProblems(stderr, [problem.message]);
  const more = tools.length > TOOLS_SHOWN ? ", ..." : "";
  const list = tools.length === 0 ? "" : `: ${tools.slice(0, TOOLS_SHOWN).join(", ")}${more}`;
  printLine(stderr, `${name} runs, and has ${plural(tools.length, "tool")}${list}\n${HINT}`);
}

/** Until the person agrees to rules, which it gives, or has seen enough: then there are none. */
async function tryOut(trial: TrialServer, learning: Learning): Promise<readonly string[]> {
  for (;;) {
    const agreed = await askRules(trial, learning);
    if (agreed.length > 0) return agreed;
    if (trial.problem) throw trial.problem;
    const line = (await learning.ask("learn> "))?.trim();
    if (line === undefined) throw left();
    if (line === "done") return [];
    if (line !== "") await callTool(trial, line, learning.context);
  }
}

async function askRules(trial: TrialServer, { context, ask, declined }: Learning): Promise<readonly string[]> {
  const missed = await trial.missed();
  const rules = missed.rules.filter((rule) => !declined.has(rule));
  if (rules.length === 0) return [];
  printLine(context.stderr, `Its network refused:\n${missed.lines.join("\n")}`);
  const agreed: string[] = [];
  for (const rule of rules) {
    const reply = await askYesNo(ask, `Allow ${rule}${warningFor(rule)}?`);
    if (reply === undefined) throw left();
    if (reply === "y") agreed.push(rule);
    else declined.add(rule);
  }
  return agreed;
}

/** A rule that names a port leads wherever the name does; any other one to the public Internet alone. */
function warningFor(rule: string): string {
  const inside = reachesInside({ allow: [rule] }, { inside: undefined, within: "none" });
  return inside.length === 0 ? "" : " (this may be on this machine or in its own network)";
}

async function callTool(trial: TrialServer, line: string, { stdout, stderr, signal }: CommandContext): Promise<void> {
  try {
    const [tool = "", ...words] = splitWords(line);
    const result = await trial.call(tool, words);
    printLine(result["isError"] === true ? stderr : stdout, renderResult(result));
  } catch (cause) {
    if (!(cause instanceof BelljarError) || signal.aborted) throw cause;
    printProblems(stderr, [cause.message]);
  }
}

function withRules(network: NetworkPolicy, rules: readonly string[]): NetworkPolicy {
  const before = typeof network === "string" ? [] : network.allow;
  return checkNetworkPolicy({ allow: [...before, ...rules] });
}

function left(): BelljarError {
  return new BelljarError("CANCELLED", "Nothing is added");
}
