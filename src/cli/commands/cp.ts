import { LOCAL } from "../../sandbox/sandbox.ts";
import { copyIn } from "../../sandbox/workspace/copy-in.ts";
import { copyOut } from "../../sandbox/workspace/copy-out.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { usage } from "../usage.ts";
import { printLine } from "../print.ts";
import { printable } from "../../files/printable.ts";
import { withProgress } from "../progress.ts";

/** A side of a copy: in a sandbox, or on this machine. */
interface Side {
  readonly id?: string;
  readonly path: string;
}

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [from, to] = call.positionals.map(parseSide) as [Side, Side];
  const id = from.id ?? to.id;
  if (id === undefined || (from.id !== undefined && to.id !== undefined)) {
    throw usage("One side must be in a sandbox (ID:PATH), and the other on this machine", "belljar cp --help");
  }
  await using stack = await openStack(call, context);
  const sandbox = await stack.sandboxes.get(LOCAL, id);
  const copy = from.id === undefined ? copyIn : copyOut;
  const copied = copy(sandbox, { from: from.path, to: to.path, signal: context.signal });
  const { files, to: target, skipped } = await withProgress(context.stderr, "Copying", copied);
  for (const path of skipped) printLine(context.stderr, `Left out, because it is not a file, folder or link: ${printable(path)}`);
  if (files !== 1) printLine(context.stderr, `${files} files copied to ${printable(target)}`);
  return 0;
}

/** Parses one side. `ID:PATH` is in a sandbox. A path of this machine with a colon must be written as `./a:b`. */
export function parseSide(text: string): Side {
  const match = /^([a-z0-9]{8}|[a-z0-9]{20}):(.*)$/s.exec(text);
  if (!match) return { path: text };
  return { id: match[1] ?? "", path: match[2] === "" || match[2] === undefined ? "." : match[2] };
}
