import { findLanguage } from "../../interpreter/language.ts";
import type { WarmPrograms } from "../../interpreter/warm/warm-programs.ts";
import { READ_BY_PYTHON } from "../../interpreter/lasting/read-at-start.ts";
import { type ExecProcess, INSIDE, type Sandbox } from "../../sandbox/sandbox.ts";
import type { HarnessProgram } from "../harness/ask-harness.ts";
import type { ServingHarnesses } from "./serving-harnesses.ts";
import type { ToolLanguage, UnitSpec } from "../unit.ts";

interface Starts {
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const node: Starts = { argv: ["node", `${INSIDE.kernels}/javascript-tools.mjs`] };

/** A shell script is read by the host, and runs as it is. */
export type HarnessLanguage = Exclude<ToolLanguage, "shell">;

const HARNESSES: Readonly<Record<HarnessLanguage, Starts>> = {
  python: { argv: ["python3", `${INSIDE.kernels}/python-tools.py`], env: findLanguage("python").env ?? {} },
  javascript: node,
  typescript: node,
};

export interface HarnessPlace {
  readonly sandbox: Sandbox;
  /** The folder of its packages, which Node finds by itself. */
  readonly packages?: string | undefined;
  /** The interpreters that wait. */
  readonly warm?: Pick<WarmPrograms, "take"> | undefined;
  /** Of a sandbox that is used again. */
  readonly serving?: ServingHarnesses | undefined;
}

/** `name`: of the unit, for the file's name in tracebacks. */
export function harnessOf(
  { language, code, secrets }: Pick<UnitSpec, "code" | "secrets"> & { readonly language: HarnessLanguage },
  name: string,
  { sandbox, packages, warm, serving }: HarnessPlace,
): HarnessProgram {
  const { argv, env } = HARNESSES[language];
  const isLikeWaiting = language === "python" && !Object.keys(secrets ?? {}).some(isReadAtStart);
  const start = async (args: readonly string[], signal: AbortSignal): Promise<ExecProcess> => {
    const paths = packages !== undefined && language === "python" && { PYTHONPATH: packages };
    const waiting = isLikeWaiting ? warm?.take(sandbox.id) : undefined;
    if (waiting) return waiting.asHarness(args, { env: { ...(await sandbox.environment()), ...env, ...paths }, signal });
    await endWaiting({ sandbox, warm });
    return sandbox.guest.exec({ argv: [...argv, ...args], channels: 1, signal, env: { ...env, ...paths } });
  };
  const program = { code: { language, code, name } };
  if (!serving || language !== "python") return { ...program, start: (signal) => start([], signal) };
  return { ...program, start: (signal) => serving.begin(sandbox, { start: (life) => start(["orders"], life), signal }) };
}

/** An interpreter that waits there for another program would take memory from the code. */
export async function endWaiting({ sandbox, warm }: Pick<HarnessPlace, "sandbox" | "warm">): Promise<void> {
  await warm?.take(sandbox.id)?.discard();
}

function isReadAtStart(name: string): boolean {
  return READ_BY_PYTHON.test(name);
}
