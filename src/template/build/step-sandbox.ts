import { BelljarError } from "../../errors.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { LAYERS_MAX } from "../unpack-image.ts";
import type { BuildParts } from "./build-parts.ts";
import { invalidLine, quoted } from "./dockerfile-error.ts";
import { ROOT } from "./root-user.ts";
import { orAbsent } from "./source-tree.ts";
import type { StageState } from "./stage-state.ts";
import type { StepResult } from "./step-cache.ts";

/** A command of a build that takes longer is ended with its sandbox. */
const STEP_MS = 3_600_000;
/** What builds run in. */
export const BUILD_SANDBOX = { timeoutMs: STEP_MS, onDeadline: "kill", bestEffort: true, ephemeral: true } as const;

/** Does some work in a sandbox that begins with what the stage has come to. It dies with the work, and with this process. */
export async function inSandbox<T>(parts: BuildParts, state: StageState, work: (sandbox: Sandbox) => Promise<T>): Promise<T> {
  const { principal, id, name, runtime, stored, sandboxes, network, isPublicOnly, signal } = parts;
  const { base, layers, env, tookIn } = state;
  const source = { id, name, owner: principal.id, runtime, base, layers, env, tookIn, createdAt: new Date(), cwd: "/" };
  const options = { ...BUILD_SANDBOX, isPublicOnly, template: id, ...(network !== undefined && { network }) };
  const sandbox = await stored.whileTried(principal, source, () => sandboxes.create(principal, options, signal));
  try {
    return await work(sandbox);
  } finally {
    await sandbox.kill();
  }
}

/** What the sandbox has written becomes a layer, on the disk. */
export async function freezeStep(parts: BuildParts, sandbox: Sandbox): Promise<StepResult> {
  const { principal, sandboxes, user, held, signal } = parts;
  const frozen = await sandboxes.freezeForTemplate(principal, sandbox.id, user, signal);
  held(frozen.layers);
  return frozen;
}

/** Makes a folder, if it is not there. */
export function makeFolder(parts: BuildParts, state: StageState, { path, line, owner }: NamedFolder): Promise<StepResult> {
  return inSandbox(parts, state, async (sandbox) => {
    const { files } = sandbox.guest;
    const call = { user: ROOT, signal: parts.signal };
    const found = await orAbsent(files.stat(path, { ...call, follow: true }));
    if (found?.type === "directory") return { layers: state.layers, bytes: 0 };
    if (found) throw invalidLine(line, `${quoted(path)} is no folder`);
    await files.makeDirectory(path, { ...call, mode: 0o755, parents: true });
    if (owner !== undefined) await giveTo(sandbox, { owner, path, signal: parts.signal });
    return freezeStep(parts, sandbox);
  });
}

interface NamedFolder {
  readonly path: string;
  readonly line: number;
  /** Default: root. */
  readonly owner?: string | undefined;
}

/** Rejects with `COMMAND_FAILED` for somebody whom the image does not know. */
async function giveTo({ guest }: Sandbox, { owner, path, signal }: { owner: string; path: string; signal: AbortSignal }): Promise<void> {
  const { exitCode, stderr } = await guest.run({ argv: ["chown", "--", owner, path], cwd: "/", user: ROOT, maxOutputBytes: 1_000, signal });
  if (exitCode !== 0)
    throw new BelljarError("COMMAND_FAILED", `${quoted(path)} cannot be given to ${quoted(owner)}: ${stderr.toString().trim()}`);
}

/** The stage with what a step has written. Throws `IMAGE_TOO_LARGE`. */
export function withResult(state: StageState, { layers, bytes }: StepResult, { maxBytes }: BuildParts): StageState {
  const all = state.bytes + bytes;
  if (all > maxBytes)
    throw new BelljarError(
      "IMAGE_TOO_LARGE",
      `The template would have ${all} bytes of files, and ${maxBytes} are allowed: write less, or raise \`template.maxBytes\``,
    );
  if (layers.length > LAYERS_MAX)
    throw new BelljarError(
      "IMAGE_INVALID",
      `The template would have ${layers.length} layers, and at most ${LAYERS_MAX} can be used: join some RUN lines`,
    );
  return { ...state, layers, bytes: all };
}
