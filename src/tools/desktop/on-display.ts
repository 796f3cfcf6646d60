import type { ToolContext } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import { withProgram } from "../../interpreter/missing-program.ts";
import type { Guest, Sandbox } from "../../sandbox/sandbox.ts";
import type { Point } from "./computer-arguments.ts";
import { DISPLAY, type DesktopFacts, findDesktop } from "./display.ts";

/** The display of a call's sandbox. */
export interface OpenDisplay extends Pick<DesktopFacts, "width" | "height"> {
  readonly sandboxId: string;
  /** Runs xdotool. Rejects with `ACTION_FAILED` if it says that it could not. Its `releases` are done then. */
  act(args: readonly string[], options?: ActOptions): Promise<string>;
  /** Runs another program, whose picture is its output. */
  picture(argv: readonly [string, ...string[]], maxBytes: number): Promise<Pick<RunResult, "stdout" | "truncated">>;
}

export interface ActOptions {
  /** What xdotool is told if it did not come to its end: an xdotool that was ended midway releases nothing, and X repeats a key that is down. */
  readonly releases?: readonly string[];
  /** What it may take besides the time of its own steps. */
  readonly timeoutMs?: number;
}

type RunResult = Awaited<ReturnType<Guest["run"]>>;

const TIMEOUT_MS = 10_000;
const RELEASE_MS = 2_000;
const OUTPUT_MAX_BYTES = 4_096;
const REASON_MAX = 300;

/** Rejects with `DESKTOP_UNAVAILABLE` where no desktop was started. */
export async function openDisplay({
  context,
  sandbox: id,
}: {
  readonly context: ToolContext;
  readonly sandbox: string | undefined;
}): Promise<OpenDisplay> {
  const { signal } = context;
  const sandbox = await context.sandbox(id);
  const { width, height } = await findDesktop(sandbox, signal);
  const run = runsOn(sandbox, signal);
  return {
    sandboxId: sandbox.id,
    width,
    height,
    async act(args, { timeoutMs = TIMEOUT_MS, releases = [] } = {}) {
      try {
        return await use(run, args, { timeoutMs, maxOutputBytes: OUTPUT_MAX_BYTES });
      } catch (cause) {
        await release(sandbox, releases);
        throw cause;
      }
    },
    async picture(argv, maxOutputBytes) {
      const result = await run(argv, { timeoutMs: TIMEOUT_MS, maxOutputBytes });
      if (result.timedOut || (!result.truncated && result.exitCode !== 0)) throw failed(argv[0], result);
      return result;
    },
  };
}

interface Limits {
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
}

type Run = (argv: readonly [string, ...string[]], limits: Limits) => Promise<RunResult>;

async function use(run: Run, args: readonly string[], limits: Limits): Promise<string> {
  const result = await run(["xdotool", ...args], limits);
  // It goes on after a key that it does not know, and says so here alone.
  if (result.exitCode !== 0 || result.stderr.length > 0) throw failed("xdotool", result);
  return result.stdout.toString();
}

/** The caller may have gone: this has a time of its own. */
async function release(sandbox: Sandbox, releases: readonly string[]): Promise<void> {
  if (releases.length === 0) return;
  const run = runsOn(sandbox, AbortSignal.timeout(2 * RELEASE_MS));
  await Promise.allSettled([run(["xdotool", ...releases], { timeoutMs: RELEASE_MS, maxOutputBytes: OUTPUT_MAX_BYTES })]);
}

function runsOn(sandbox: Sandbox, signal: AbortSignal): Run {
  return ([program, ...args], options) =>
    withProgram(sandbox, { program, debianPackage: program }, () =>
      sandbox.guest.run({ argv: [program, ...args], env: { DISPLAY }, signal, ...options }),
    );
}

function failed(program: string, { timedOut, stderr, exitCode }: RunResult): BelljarError {
  if (timedOut) return new BelljarError("ACTION_TIMEOUT", `${program} did not end in time; take a screenshot to see what was done`);
  const reason = stderr.toString().trim().replaceAll(/\s+/g, " ").slice(0, REASON_MAX) || `it ended with ${exitCode ?? "a signal"}`;
  return new BelljarError("ACTION_FAILED", `${program}: ${reason}. If the desktop has ended, desktop_start starts another one`);
}

/** Throws `ARGUMENTS_INVALID` for a point beside the display, which X would move to its edge. */
export function assertInside({ width, height }: Pick<OpenDisplay, "width" | "height">, points: readonly Point[]): void {
  const outside = points.find(([x, y]) => x >= width || y >= height);
  if (!outside) return;
  const text = `The point ${outside.join(", ")} is not on the display, which has ${width}x${height} pixels; coordinates are pixels of the screenshot as it came`;
  throw new BelljarError("ARGUMENTS_INVALID", text);
}
