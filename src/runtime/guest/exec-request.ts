import { posix } from "node:path";
import { BelljarError } from "../../errors.ts";
import { parseExit } from "../../protocol/exit.ts";
import type { Field } from "../../protocol/fields.ts";
import { EXIT_FLAG, FLAG, OPERATION } from "../../protocol/wire.ts";
import type { ExecExit, ExecOptions, KeepOptions } from "./guest.ts";
import type { Environment } from "./link.ts";
import type { Request } from "./operation.ts";
import { signalName } from "./signals.ts";

/** The guest's own limit (docs/guest-protocol.md). */
export const CHANNELS_MAX = 16;
const TIMEOUT_MAX_MS = 0xffff_ffff;

/** As what a command is kept. */
export interface Keeping extends Pick<KeepOptions, "stays" | "note"> {
  readonly name: string;
}

/** Throws `ARGUMENTS_INVALID` for an empty command, a bad number of channels, or a bad name of a variable. */
export function execRequest(env: Environment, options: Omit<ExecOptions, "signal">, keeping?: Keeping): Request {
  if (options.argv.length === 0) throw new BelljarError("ARGUMENTS_INVALID", "The command is empty; name a program");
  const { channels = 0, timeoutMs, terminal } = options;
  if (!Number.isInteger(channels) || channels < 0 || channels > CHANNELS_MAX) {
    throw new BelljarError("ARGUMENTS_INVALID", `A command can have 0 to ${CHANNELS_MAX} extra channels, not ${channels}`);
  }
  const input = terminal ? FLAG.TERMINAL : options.stdin === false ? FLAG.NO_STDIN : 0;
  const flags = input | (keeping?.stays ? FLAG.STAYS : 0);
  return {
    operation: OPERATION.EXEC,
    fields: [
      ...options.argv.map((argument) => ["ARG", argument] as const),
      ...envFields(withFolder(env, options.cwd), options.env),
      ["CWD", options.cwd],
      ["USER", options.user],
      ["TIMEOUT_MS", timeoutMs === undefined ? undefined : wireTimeout(timeoutMs)],
      ["CHANNELS", channels || undefined],
      ["FLAGS", flags || undefined],
      ["ROWS", terminal?.rows],
      ["COLS", terminal?.cols],
      ["NAME", keeping?.name],
      ["VALUE", keeping?.note],
    ],
  };
}

/** On the wire, 0 means no timeout. A caller without any time left gets 1 ms. */
function wireTimeout(timeoutMs: number): number {
  return Math.max(1, Math.min(Math.ceil(timeoutMs), TIMEOUT_MAX_MS));
}

/** A PWD among the defaults is the path of the folder where commands start. Whoever names another folder starts there by that path. */
function withFolder(env: Environment, cwd: string | undefined): Environment {
  const { PWD: start } = env;
  return start === undefined || cwd === undefined ? env : { ...env, PWD: posix.resolve(start, cwd) };
}

function envFields(defaults: Environment, env: Environment = {}): Field[] {
  return Object.entries({ ...defaults, ...env }).map(([name, value]) => {
    if (name === "" || name.includes("="))
      throw new BelljarError("ARGUMENTS_INVALID", `"${name}" cannot name a variable; use letters, digits and _`);
    return ["ENV", `${name}=${value}`];
  });
}

export function execExit(payload: Buffer): ExecExit {
  const exit = parseExit(payload);
  return {
    exitCode: exit.signal === 0 ? exit.code : undefined,
    signal: exit.signal === 0 ? undefined : signalName(exit.signal),
    timedOut: (exit.flags & EXIT_FLAG.TIMED_OUT) !== 0,
    durationMs: Number(exit.durationUs) / 1_000,
    cpuMs: Number(exit.cpuUs) / 1_000,
    memoryPeakBytes: Number(exit.memoryPeakBytes),
  };
}
