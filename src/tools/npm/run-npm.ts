import * as z from "zod";
import type { ToolContext, TextResult } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import type { OutputWindows } from "../../interpreter/output-window.ts";
import { withProgram } from "../../interpreter/missing-program.ts";
import { openOutputWindows } from "../../interpreter/output-window.ts";
import type { ExecExit, RunOptions, Sandbox } from "../../sandbox/sandbox.ts";
import { tellUsedUp, watchUsedUp } from "../../sandbox/used-up.ts";
import { openOutputProgress } from "../output-progress.ts";
import { commandText } from "../output-text.ts";
import { showOutput } from "../shown-output.ts";

export interface NpmCall {
  readonly sandbox: Sandbox;
  /** Its id as the call named it; absent: the default sandbox. */
  readonly sandboxId?: string | undefined;
  /** Absent: the workspace. */
  readonly path: string | undefined;
  readonly args: readonly string[];
  readonly timeoutMs: number;
  readonly env?: Readonly<Record<string, string>>;
}

export const NPM_OUTPUT = z.object({
  stdout: z.string(),
  stderr: z.string(),
  exit_code: z.number().int().nullable().describe("null when a signal ended npm"),
  duration_ms: z.number(),
  timed_out: z.boolean(),
  truncated: z.boolean().describe("The middle of a long output was cut"),
});

const HELD_BYTES = 1_048_576;

export interface NpmRun {
  readonly exit: ExecExit;
  readonly windows: OutputWindows;
  /** What the sandbox had no more of, in words. */
  readonly usedUp: readonly string[];
}

/** npm asks nobody and says nothing of itself. */
const ENV = { NPM_CONFIG_UPDATE_NOTIFIER: "false", NPM_CONFIG_FUND: "false", NPM_CONFIG_AUDIT: "false", NPM_CONFIG_YES: "true" };

/** Runs npm to its end and tells the caller how it goes on. Rejects with `COMMAND_NOT_FOUND` where there is no npm. */
export async function runNpm(context: ToolContext, { sandbox, path, args, timeoutMs, env }: NpmCall): Promise<NpmRun> {
  const windows = openOutputWindows(HELD_BYTES);
  using progress = openOutputProgress((told) => context.progress(told));
  const findUsedUp = await watchUsedUp(sandbox);
  const request: RunOptions = {
    argv: ["npm", ...args],
    env: { ...ENV, ...env },
    signal: context.signal,
    timeoutMs,
    maxOutputBytes: 0,
    ...(path !== undefined && { cwd: path }),
    onOutput: (stream, chunk) => {
      windows[stream].push(chunk);
      progress.push(chunk);
    },
  };
  const exit = await withProgram(sandbox, { program: "npm", debianPackage: "npm" }, () => sandbox.guest.run(request));
  return { exit, windows, usedUp: tellUsedUp(await findUsedUp(exit)) };
}

/** A script's own exit code is a result. */
export async function npmResult(context: ToolContext, call: NpmCall): Promise<TextResult> {
  const { exit, windows, usedUp } = await runNpm(context, call);
  const { truncated, rest, ...streams } = await showOutput(context, windows, { sandbox: call.sandbox, sandboxId: call.sandboxId });
  const { exitCode = null, timedOut, durationMs } = exit;
  const facts = { exit_code: exitCode, duration_ms: Math.round(durationMs), timed_out: timedOut, truncated };
  return textResult({ ...streams, ...facts }, commandText(streams, facts, ...usedUp, ...rest));
}
