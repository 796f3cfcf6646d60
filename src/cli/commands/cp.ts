import type { Sandbox } from "../../sandbox/sandbox.ts";
import { archiveIn, archiveOut } from "../../sandbox/workspace/copy-archive.ts";
import { copyIn } from "../../sandbox/workspace/copy-in.ts";
import { copyOut } from "../../sandbox/workspace/copy-out.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { startedSandbox } from "../started-sandbox.ts";
import { usage } from "../usage.ts";
import { formatBytes, printLine } from "../print.ts";
import { printable } from "../../files/printable.ts";
import type { ByteProgress } from "../progress.ts";
import { openByteProgress } from "../progress.ts";

const HELP = "belljar cp --help";

/** A side of a copy: in a sandbox, or on this machine. */
interface Side {
  readonly id?: string;
  readonly path: string;
}

interface Copy {
  readonly from: Side;
  readonly to: Side;
  readonly context: CommandContext;
  readonly progress: ByteProgress;
}

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [from, to] = call.positionals.map(parseSide) as [Side, Side];
  const id = from.id ?? to.id;
  if (id === undefined || (from.id !== undefined && to.id !== undefined)) {
    throw usage("One side must be in a sandbox (ID:PATH), and the other on this machine", HELP);
  }
  await using stack = await openStack(call, context);
  const sandbox = await startedSandbox(stack, id, context);
  using progress = openByteProgress(context.stderr, "Copying");
  const copy = { from, to, context, progress };
  await (isStream(from) || isStream(to) ? copyArchive(sandbox, copy) : copyFiles(sandbox, copy));
  return 0;
}

/** A tar archive, on stdin or stdout. */
async function copyArchive(sandbox: Sandbox, { from, to, context, progress }: Copy): Promise<void> {
  const { stdin, stdout, signal } = context;
  const terminal = isStream(from) ? stdin : stdout;
  if (terminal.isTTY) throw usage("- is a tar archive, and a terminal can neither read nor write one: use a pipe or a file", HELP);
  const options = { signal, onBytes: progress.add };
  if (isStream(from)) await archiveIn(sandbox, stdin, { path: to.path, ...options });
  else await archiveOut(sandbox, stdout, { path: from.path, ...options });
}

async function copyFiles(sandbox: Sandbox, { from, to, context, progress }: Copy): Promise<void> {
  const copy = from.id === undefined ? copyIn : copyOut;
  const copied = await copy(sandbox, { from: from.path, to: to.path, signal: context.signal, onBytes: progress.add });
  progress[Symbol.dispose]();
  for (const path of copied.skipped) printLine(context.stderr, `Left out, because it is not a file, folder or link: ${printable(path)}`);
  if (copied.files !== 1)
    printLine(context.stderr, `${copied.files} files (${formatBytes(progress.total())}) copied to ${printable(copied.to)}`);
}

function isStream({ id, path }: Side): boolean {
  return id === undefined && path === "-";
}

/** Parses one side. `ID:PATH` is in a sandbox, whose name may stand for the id. A path of this machine with a colon is `./a:b`. */
export function parseSide(text: string): Side {
  const match = /^([A-Za-z0-9][A-Za-z0-9._-]{0,62}):(.*)$/s.exec(text);
  if (!match) return { path: text };
  return { id: match[1] ?? "", path: match[2] === "" || match[2] === undefined ? "." : match[2] };
}
