import type { CallLogLevel, Progress } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import type { Principal, Sandbox } from "../../sandbox/sandbox.ts";
import { codeError } from "../edit-problem.ts";
import type { CallTool } from "../harness/harness-calls.ts";
import { askHarness, type Harnessed, type HarnessOptions } from "../harness/ask-harness.ts";
import type { HarnessAnswer, ToldTool } from "../harness/harness-messages.ts";
import { packagesFolder } from "../../packages/package-places.ts";
import { installerOf, mayNamePackages } from "../packages/named-packages.ts";
import { readShellTool, shellCall } from "../shell-tool.ts";
import type { PackageLock } from "../../packages/package-lock.ts";
import type { ReadTool, UnitSpec } from "../unit.ts";
import { endWaiting, harnessOf, type HarnessPlace } from "./harness-programs.ts";
import { runScript } from "./run-script.ts";
import { type RunScript, SCRIPT_CALLS } from "./script.ts";
import { ServingHarnesses } from "./serving-harnesses.ts";
import type { SessionKey } from "./session-sandboxes.ts";
import type { ToolSandboxes, ToolWork } from "./tool-sandboxes.ts";

const MAX_OUTPUT_BYTES = 262_144;
/** Reading code takes no longer than its imports. */
const READ_MS = 20_000;

export interface UnitRunnerOptions {
  readonly sandboxes: ToolSandboxes;
  /** Of a call of a unit that names none. */
  readonly timeoutMs: number;
  /** The interpreters that wait in fresh sandboxes. Absent: each call starts its own. */
  readonly warm?: HarnessPlace["warm"];
}

/** Of which unit a spec is: what its author calls it. */
export interface NamedSpec {
  /** The principal's id. */
  readonly owner: string;
  readonly name: string;
  readonly spec: UnitSpec;
  readonly lock?: PackageLock | undefined;
}

export interface UnitCall {
  readonly tool: ReadTool;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
  readonly session?: SessionKey | undefined;
  /** Called once the call has its sandbox. */
  readonly entered?: (sandbox: Sandbox) => void;
  readonly progress?: (progress: Progress) => void;
  readonly log?: (level: CallLogLevel, message: string) => void;
  /** Absent: the code calls no other tools. */
  readonly callTool?: CallTool;
}

export type CallAnswer = Extract<HarnessAnswer, { type: "result" | "error" }>;

export interface CallOutcome {
  readonly answer: CallAnswer;
  /** What the code printed. */
  readonly printed: Harnessed["printed"];
}

/** Runs units' code, in sandboxes of whoever asks. Disposing it ends them. */
export class UnitRunner implements AsyncDisposable {
  readonly #options: UnitRunnerOptions;
  readonly #serving = new ServingHarnesses();

  constructor(options: UnitRunnerOptions) {
    this.#options = options;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#options.sandboxes[Symbol.asyncDispose]();
  }

  /** The packages that the code names. It is not run, and where nothing in it could be such a name no sandbox is asked. Rejects as `read`. */
  async requirements(principal: Principal, unit: NamedSpec, signal: AbortSignal): Promise<readonly string[]> {
    const { name, spec } = unit;
    const installer = installerOf(spec.language);
    if (!installer || !mayNamePackages(installer, spec.code)) return [];
    const answer = await this.#ask(principal, unit, "requirements", signal);
    if (answer.type === "requirements") return answer.requirements;
    throw answer.type === "refused" ? codeError(name, answer) : strange(answer);
  }

  /**
   * The tools of the code. It runs to the end of its file, in a sandbox without network and secrets. Rejects with `TOOL_INVALID`, with the
   * line and the reason.
   */
  async read(principal: Principal, unit: NamedSpec, signal: AbortSignal): Promise<readonly ToldTool[]> {
    const { name, spec } = unit;
    if (spec.language === "shell") return readScript(name, spec);
    const answer = await this.#ask(principal, unit, "read", signal);
    if (answer.type === "tools") return answer.tools;
    throw answer.type === "refused" ? codeError(name, answer) : strange(answer);
  }

  /** What the code does wrong is an answer. Rejects if it gives none. */
  async call(
    principal: Principal,
    { owner, name, spec, lock }: NamedSpec,
    { session, signal, entered, ...call }: UnitCall,
  ): Promise<CallOutcome> {
    const { timeoutMs = this.#options.timeoutMs } = spec;
    const options = { timeoutMs, maxOutputBytes: MAX_OUTPUT_BYTES, ...call };
    const serving = session === undefined ? undefined : this.#serving;
    const begun = beginCall({ name, spec }, call, options, (sandbox) => ({ ...this.#placeIn(sandbox, lock), serving }));
    const work: Work = (sandbox, owned) => {
      entered?.(sandbox);
      return begun(sandbox, owned);
    };
    const { answer, printed } = await this.#options.sandboxes.use(principal, { owner, spec, lock, timeoutMs, signal, session, work });
    if (answer.type === "result" || answer.type === "error") return { answer, printed };
    throw answer.type === "refused" ? codeError(name, answer) : strange(answer);
  }

  readonly script: RunScript = async (principal, { language, code, tools, callTool, timeoutMs, signal }) => {
    const { answer, printed } = await this.#options.sandboxes.use(principal, {
      owner: principal.id,
      spec: {},
      timeoutMs,
      signal,
      work: (sandbox, owned) => {
        const harness = harnessOf({ language, code }, "script", this.#placeIn(sandbox, undefined));
        const order = { do: "script", tools, concurrent: SCRIPT_CALLS.concurrent } as const;
        const bounds = { timeoutMs, maxOutputBytes: MAX_OUTPUT_BYTES, bounds: SCRIPT_CALLS };
        return askHarness(sandbox, harness, order, { ...bounds, signal: owned, callTool });
      },
    });
    if (answer.type === "returned" || answer.type === "error") return { answer, printed };
    throw strange(answer);
  };

  // eslint-disable-next-line max-params -- as `read`, and what it does
  async #ask(
    principal: Principal,
    { owner, name, spec, lock }: NamedSpec,
    order: "requirements" | "read",
    signal: AbortSignal,
  ): Promise<HarnessAnswer> {
    const { language, limits } = spec;
    if (language === "shell") throw new TypeError("A shell tool has no harness");
    const { answer } = await this.#options.sandboxes.use(principal, {
      owner,
      spec: limits === undefined ? {} : { limits },
      lock,
      timeoutMs: READ_MS,
      signal,
      work: (sandbox, owned) => {
        const harness = harnessOf({ ...spec, language }, name, this.#placeIn(sandbox, lock));
        return askHarness(sandbox, harness, { do: order }, { signal: owned, timeoutMs: READ_MS, maxOutputBytes: MAX_OUTPUT_BYTES });
      },
    });
    return answer;
  }

  #placeIn(sandbox: Sandbox, lock: PackageLock | undefined): HarnessPlace {
    return { sandbox, packages: lock && packagesFolder(sandbox), warm: this.#options.warm };
  }
}

type Work = ToolWork<Harnessed>["work"];

/** Throws before a sandbox is made for what cannot be called. */
// eslint-disable-next-line max-params -- what is called, how, and where
function beginCall(
  { name, spec }: Pick<NamedSpec, "name" | "spec">,
  { tool, arguments: args }: Pick<UnitCall, "tool" | "arguments">,
  options: Omit<HarnessOptions, "signal">,
  placeIn: (sandbox: Sandbox) => HarnessPlace,
): Work {
  const { language } = spec;
  if (language === "shell") {
    const script = shellCall(tool, spec.code, args);
    return async (sandbox, signal) => {
      await endWaiting(placeIn(sandbox));
      return runScript(sandbox, tool, script, { ...options, signal });
    };
  }
  const harness = (sandbox: Sandbox) => harnessOf({ ...spec, language }, name, placeIn(sandbox));
  const order = { do: "call", function: tool.function, arguments: args } as const;
  return (sandbox, signal) => askHarness(sandbox, harness(sandbox), order, { ...options, signal });
}

function readScript(name: string, { code }: UnitSpec): readonly ToldTool[] {
  const read = readShellTool(code, name);
  if (read.kind === "refused") throw codeError(name, read);
  return read.tools;
}

/** The code has spoken in the place of its harness. */
function strange({ type }: HarnessAnswer): BelljarError {
  return new BelljarError("TOOL_FAILED", `The code answered with "${type}", which nobody asked for`);
}
