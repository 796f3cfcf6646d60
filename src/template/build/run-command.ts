import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { BuildParts } from "./build-parts.ts";
import { CommandOutput } from "./command-output.ts";
import { failedLine } from "./dockerfile-error.ts";
import type { RunStep } from "./instructions.ts";
import { ROOT } from "./root-user.ts";
import { maskOf } from "./secret-mask.ts";
import { whileShown } from "./show-secrets.ts";
import { type StageState, toArgv } from "./stage-state.ts";

/** Runs the command of a RUN. Rejects with `COMMAND_FAILED`, with its last output. */
export async function runCommand(parts: BuildParts, sandbox: Sandbox, { state, step }: RunRequest): Promise<void> {
  const user = state.user ?? ROOT;
  const { mounts } = step;
  await whileShown(parts, { files: sandbox.guest.files, mounts, user }, (shown) => execute(parts, sandbox, { state, step, shown }));
}

async function execute(parts: BuildParts, sandbox: Sandbox, { state, step, shown }: ShownRequest): Promise<void> {
  const output = new CommandOutput(parts.log, maskOf(parts.secrets));
  const { exitCode, signal } = await sandbox.guest.run({
    argv: toArgv(step.command, state),
    cwd: state.workdir ?? "/",
    // ENV goes before ARG, as everywhere.
    env: { ...Object.fromEntries(state.args), ...state.env, ...shown },
    user: state.user ?? ROOT,
    maxOutputBytes: 0,
    onOutput: (_stream, chunk) => output.add(chunk),
    signal: parts.signal,
  });
  output.end();
  if (exitCode === 0) return;
  const end = signal ?? `exit code ${exitCode}`;
  throw failedLine("COMMAND_FAILED", step.line, `failed with ${end}; ${output.told}`);
}

interface RunRequest {
  readonly state: StageState;
  readonly step: RunStep;
}

interface ShownRequest extends RunRequest {
  /** Variables with secrets. */
  readonly shown: Readonly<Record<string, string>>;
}
