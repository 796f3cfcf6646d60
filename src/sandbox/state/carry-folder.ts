import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { settleWithin } from "../../async/settle-within.ts";
import { BelljarError } from "../../errors.ts";
import { printableText } from "../../files/printable.ts";
import { INSIDE } from "../../protocol/inside.ts";
import type { ExecProcess, Guest } from "../../runtime/guest/guest.ts";

/** Much longer is what a hostile program says in tar's place. */
const COMPLAINT_MAX = 2_000;
/** A folder of the host may change while it is read. tar says so with this code, and its archive is whole. */
const CHANGED_MEANWHILE = 1;
/** Attributes of an overlay that a program inside has mounted are that overlay's own. */
const ATTRIBUTES = ["--xattrs", "--xattrs-include=user.*", "--xattrs-exclude=user.overlay.*"];
const OUT = ["tar", "--create", "--file=-", "--sparse", "--numeric-owner", "--ignore-failed-read", ...ATTRIBUTES, "."];
/** So long whoever unpacks may take when nothing more comes. */
const ENDS_MS = 10_000;
const INTO = ["tar", "--extract", "--file=-", "--preserve-permissions", "--numeric-owner", ...ATTRIBUTES];

export interface CarryRequest {
  readonly from: Guest;
  readonly to: Guest;
  /** The same in both sandboxes. */
  readonly path: string;
  readonly signal: AbortSignal;
}

/**
 * Copies what a folder of one sandbox shows into the same folder of another one, by tar inside both, so nothing is read or written with a
 * right that a sandbox has not: what its root cannot read is left out. Keeps modes, owners, holes, names of one file and attributes.
 */
export async function carryFolder({ from, to, path, signal }: CarryRequest): Promise<void> {
  await using out = await start(from, { argv: OUT, path, signal });
  await using into = await start(to, { argv: INTO, path, signal });
  out.stdin.end();
  into.stdout.resume();
  let isCut = false;
  const carried = pipeline(out.stdout, into.stdin, { signal }).catch(async () => {
    isCut = true;
    out.kill();
    // It may have all that it needs, and set the attributes of folders last.
    if ((await settleWithin(into.exited.catch(ignore), { timeoutMs: ENDS_MS })) === "late") into.kill();
  });
  const [, read, written] = await Promise.all([carried, complaintOf(out, [0, CHANGED_MEANWHILE]), complaintOf(into, [0])]);
  // An archive has an end of its own: behind it tar reads no more, and whoever writes there is cut off.
  const complaint = written ?? (isCut ? undefined : read);
  if (complaint !== undefined) throw new BelljarError("COMMAND_FAILED", `The folder ${path} could not be taken in: ${complaint}`);
}

function ignore(): void {}

interface TarRequest {
  readonly argv: readonly string[];
  readonly path: string;
  readonly signal: AbortSignal;
}

async function start(guest: Guest, { argv, path, signal }: TarRequest): Promise<ExecProcess> {
  const options = { argv, cwd: path, signal };
  try {
    return await guest.exec({ ...options, user: INSIDE.root });
  } catch (cause) {
    if (!(cause instanceof BelljarError)) throw cause;
    if (cause.code === "COMMAND_NOT_FOUND") throw new BelljarError("NOT_SUPPORTED", "This sandbox's template has no tar", { cause });
    if (cause.code !== "USER_UNKNOWN") throw cause;
    return guest.exec(options); // there is one user, who has all
  }
}

/** Undefined when it did what it should. */
async function complaintOf(tar: ExecProcess, good: readonly number[]): Promise<string | undefined> {
  const [text, { exitCode, signal }] = await Promise.all([readStart(tar.stderr), tar.exited]);
  if (exitCode !== undefined && good.includes(exitCode)) return undefined;
  return printableText(text).trim() || `tar ended with ${signal ?? `code ${exitCode}`}`;
}

async function readStart(stream: Readable): Promise<string> {
  let text = "";
  for await (const chunk of stream as AsyncIterable<Buffer>) if (text.length < COMPLAINT_MAX) text += chunk.toString();
  return text.slice(0, COMPLAINT_MAX);
}
