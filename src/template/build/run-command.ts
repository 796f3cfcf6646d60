import { BelljarError } from "../../errors.ts";
import { printableText } from "../../files/printable.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { BuildParts } from "./build-parts.ts";
import type { RunStep } from "./instructions.ts";
import { ROOT } from "./root-user.ts";
import { type StageState, toArgv } from "./stage-state.ts";

/** Of one command, to whoever follows the build. */
const LOGGED_MAX = 4_194_304;
/** Of the last output, in an error. */
const TOLD_MAX = 2_000;

/** Runs the command of a RUN. Rejects with `COMMAND_FAILED`, with its last output. */
export async function runCommand(parts: BuildParts, sandbox: Sandbox, { state, step }: RunRequest): Promise<void> {
  const output = new Output(parts.log);
  const { exitCode, signal } = await sandbox.guest.run({
    argv: toArgv(step.command, state),
    cwd: state.workdir,
    // ENV goes before ARG, as everywhere.
    env: { ...Object.fromEntries(state.args), ...state.env },
    user: state.user ?? ROOT,
    maxOutputBytes: 0,
    onOutput: (_stream, chunk) => output.add(chunk),
    signal: parts.signal,
  });
  output.end();
  if (exitCode === 0) return;
  const end = signal ?? `exit code ${exitCode}`;
  const last = output.last === "" ? "it wrote nothing" : `its last output:\n${output.last}`;
  throw new BelljarError("COMMAND_FAILED", `Line ${step.line} of the Dockerfile failed with ${end}; ${last}`);
}

interface RunRequest {
  readonly state: StageState;
  readonly step: RunStep;
}

/** Whatever a program writes: what could steer a terminal is taken out, and its amount is bounded. */
class Output {
  readonly #log: BuildParts["log"];
  readonly #decoder = new TextDecoder();
  #logged = 0;
  #last = "";

  constructor(log: BuildParts["log"]) {
    this.#log = log;
  }

  get last(): string {
    return this.#last.trim();
  }

  add(chunk: Buffer): void {
    this.#take(this.#decoder.decode(chunk, { stream: true }));
  }

  end(): void {
    this.#take(this.#decoder.decode());
  }

  #take(text: string): void {
    const shown = printableText(text.replaceAll(/\r\n?/g, "\n"));
    this.#last = (this.#last + shown).slice(-TOLD_MAX);
    if (this.#logged >= LOGGED_MAX) return;
    this.#logged += shown.length;
    this.#log(this.#logged < LOGGED_MAX ? shown : "\n[more output is not shown]\n");
  }
}
