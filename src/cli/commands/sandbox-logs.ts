import type { Sandbox } from "../../sandbox/sandbox.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import { printable } from "../../files/printable.ts";
import type { BackgroundProcess } from "../../tools/shell/background-processes.ts";
import { findBackground, listBackground } from "../../tools/shell/background-processes.ts";
import { LINE_MAX, readLog } from "../../tools/shell/background-log.ts";
import { coloursFor } from "../colours.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { printLine } from "../print.ts";
import { parseCount } from "../values.ts";

interface Wishes {
  readonly follow: boolean;
  readonly lines: number | undefined;
  readonly signal: AbortSignal;
}

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [id = "", wanted] = call.positionals;
  const tail = textOption(call, "tail");
  const lines = tail === undefined || tail === "all" ? undefined : parseCount("tail", tail);
  const wishes = { follow: isSet(call, "follow"), lines, signal: context.signal };
  await using stack = await openStack(call, context);
  const sandbox = await stack.sandboxes.get(LOCAL, id);
  const found = await chosen(sandbox, wanted, context.signal);
  const [only] = found;
  if (!only)
    printLine(context.stderr, `No background process has run in ${sandbox.id}. An agent starts them with run_command and background.`);
  else if (found.length === 1) await printRaw(sandbox, only, { ...wishes, stdout: context.stdout });
  else await Promise.all(found.map((one) => printMarked(sandbox, one, { ...wishes, stdout: context.stdout })));
  return 0;
}

/** The named one, or all; `PROCESS` may be the beginning of an id. */
async function chosen(sandbox: Sandbox, wanted: string | undefined, signal: AbortSignal): Promise<readonly BackgroundProcess[]> {
  const known = await listBackground(sandbox, signal);
  if (wanted === undefined) return known;
  const begun = known.filter(({ id }) => id.startsWith(wanted));
  return begun.length === 1 ? begun : [await findBackground(sandbox, wanted, signal)];
}

type Printing = Wishes & { readonly stdout: CommandContext["stdout"] };

/** As the process wrote it: that is what was asked for. */
async function printRaw(sandbox: Sandbox, { id }: BackgroundProcess, { stdout, ...wishes }: Printing): Promise<void> {
  for await (const text of readLog(sandbox, { id, ...wishes })) stdout.write(text);
}

/** Each line behind its process, made printable: no process can write in another one's name. A very long line is broken. */
async function printMarked(sandbox: Sandbox, { id, command }: BackgroundProcess, { stdout, ...wishes }: Printing): Promise<void> {
  const mark = coloursFor(stdout).cyan(`${id} ${printable(command).slice(0, 20)} |`);
  let rest = "";
  for await (const text of readLog(sandbox, { id, ...wishes })) {
    const lines = (rest + text).split("\n");
    rest = (lines.at(-1) ?? "").length < LINE_MAX ? (lines.pop() ?? "") : "";
    for (const line of lines) stdout.write(`${mark} ${printable(line.replace(/\r$/, ""))}\n`);
  }
  if (rest !== "") stdout.write(`${mark} ${printable(rest)}\n`);
}
