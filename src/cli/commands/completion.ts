import { printable } from "../../files/printable.ts";
import { LIVE_STATES, LOCAL } from "../../sandbox/sandbox.ts";
import type { Candidate, CommandCall, CommandContext, Completion } from "../command.ts";
import { COMPLETION_SCRIPTS } from "../completion-scripts.ts";
import { openStack, readConfig } from "../compose/open-stack.ts";
import { usage } from "../usage.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [shell = ""] = call.positionals;
  if (shell === "words") return printWords(call, context);
  const script = Object.hasOwn(COMPLETION_SCRIPTS, shell) ? COMPLETION_SCRIPTS[shell] : undefined;
  if (script === undefined) throw usage(`Unknown shell "${shell}"; expected one of bash, zsh, fish`, "belljar completion --help");
  context.stdout.write(script);
  return 0;
}

/** What the scripts ask: a word and what it is on each line, and `:files` if files of this machine may stand there. */
async function printWords(call: CommandCall, context: CommandContext): Promise<number> {
  const { candidates, more } = call.completion ?? { candidates: [] };
  const start = call.rest.at(-1) ?? "";
  const known = (await knownWords(more, call, context)).filter(({ word }) => word.startsWith(start));
  for (const { word, about } of [...candidates, ...known]) context.stdout.write(`${printable(word)}\t${printable(about)}\n`);
  if (more === "files") context.stdout.write(":files\n");
  return 0;
}

/** What only the home knows. */
async function knownWords(more: Completion["more"], call: CommandCall, context: CommandContext): Promise<readonly Candidate[]> {
  if (more === "sandboxes") return liveSandboxes(call, context);
  if (more === "tools") return ownTools(call, context);
  return more === "tokens" ? knownTokens(call, context) : [];
}

async function ownTools(call: CommandCall, context: CommandContext): Promise<readonly Candidate[]> {
  await using stack = await openStack(call, context);
  const { tools } = await (await stack.userTools()).list(LOCAL);
  return tools.map(({ name, state, language }) => ({ word: name, about: `${state} ${language}` }));
}

async function knownTokens(call: CommandCall, context: CommandContext): Promise<readonly Candidate[]> {
  const { createTokenStore } = await import("../../gateway/auth/token-store.ts");
  const tokens = await createTokenStore(readConfig(call, context).home).list();
  return tokens.map(({ id, name, scopes }) => ({ word: id, about: `${name} ${scopes.join(" ")}`.trimEnd() }));
}

/** By name and by id. One page is enough to choose from. */
async function liveSandboxes(call: CommandCall, context: CommandContext): Promise<readonly Candidate[]> {
  await using stack = await openStack(call, context);
  const { sandboxes } = await stack.sandboxes.list(LOCAL, { filter: { state: LIVE_STATES } });
  return sandboxes.flatMap(({ id, name, state }) => [
    ...(name === undefined ? [] : [{ word: name, about: `${id} ${state}` }]),
    { word: id, about: [name, state].filter(Boolean).join(" ") },
  ]);
}
