import { printable } from "../../files/printable.ts";
import { LIVE_STATES, LOCAL } from "../../sandbox/sandbox.ts";
import type { Candidate, CommandCall, CommandContext } from "../command.ts";
import { COMPLETION_SCRIPTS } from "../completion-scripts.ts";
import { openStack } from "../compose/open-stack.ts";
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
  const live = more === "sandboxes" ? await liveSandboxes(call, context) : [];
  for (const { word, about } of [...candidates, ...live]) context.stdout.write(`${printable(word)}\t${printable(about)}\n`);
  if (more === "files") context.stdout.write(":files\n");
  return 0;
}

/** By name and by id. One page is enough to choose from. */
async function liveSandboxes(call: CommandCall, context: CommandContext): Promise<readonly Candidate[]> {
  const start = call.rest.at(-1) ?? "";
  await using stack = await openStack(call, context);
  const { sandboxes } = await stack.sandboxes.list(LOCAL, { filter: { state: LIVE_STATES } });
  const all = sandboxes.flatMap(({ id, name, state }) => [
    ...(name === undefined ? [] : [{ word: name, about: `${id} ${state}` }]),
    { word: id, about: [name, state].filter(Boolean).join(" ") },
  ]);
  return all.filter(({ word }) => word.startsWith(start));
}
