import { randomBytes } from "node:crypto";
import { BelljarError } from "../errors.ts";
import { cutLimits, policyWithin } from "../sandbox/grants.ts";
import type { CreateOptions, Principal, Sandbox, Sandboxes } from "../sandbox/sandbox.ts";
import type { Build, Language } from "./language.ts";
import { findLanguage } from "./language.ts";
import { findAvailableLanguages } from "./available-languages.ts";
import { collectFiles } from "./program-files.ts";
import type { ProgramFolder, Task } from "./program-run.ts";
import { ProgramRun } from "./program-run.ts";
import { SandboxReaper } from "./sandbox-reaper.ts";
import type { Limits, Program, ProgramFile, ProgramResult, RunProgramOptions } from "./program.ts";

/** Runs programs, each in its own fresh sandbox unless the caller names one. Disposing it waits until all those sandboxes are gone. */
export interface Interpreter extends AsyncDisposable {
  /**
   * Rejects with `LANGUAGE_UNAVAILABLE`, `ARGUMENTS_INVALID`, `CANCELLED`, or whatever kept the sandbox from being made.
   * A failed compilation, a non-zero exit and a timeout are results. A result does not wait for the fresh sandbox's end, which has
   * begun; a rejection does.
   */
  runProgram(principal: Principal, program: Program, options: RunProgramOptions): Promise<ProgramResult>;
}

export interface InterpreterOptions {
  readonly sandboxes: Pick<Sandboxes, "create">;
  /** Of a fresh sandbox, as far as the host enforces them. */
  readonly limits?: Limits;
  /** What fresh sandboxes may reach. Default: `none`. */
  readonly network?: NonNullable<CreateOptions["network"]>;
  readonly timeoutMs?: number;
  readonly maxOutputBytes?: number;
  /** Where the sandboxes see Belljar's own small programs. */
  readonly kernels?: string;
}

const PROGRAM_LIMITS: Limits = { memoryBytes: 256 * 1_048_576, cpus: 0.5, pids: 64, diskBytes: 256 * 1_048_576, openFiles: 1_024 };
const TIMEOUT_MS = 60_000;
const MAX_OUTPUT_BYTES = 1_048_576;
/** The sandbox outlives its program by so much, so that a timeout is the program's and not the sandbox's. */
const GRACE_MS = 30_000;
const CLEAN_UP_MS = 5_000;
const PARALLEL_WRITES = 16;
/** What a language is told that it has where nothing limits it. */
const UNLIMITED_BYTES = 2 * 1_073_741_824;

type GivenSettings = Required<Omit<InterpreterOptions, "sandboxes">>;

/** As one principal has them. */
type Settings = GivenSettings & {
  /** No default is larger than what the principal may have. */
  readonly cut: (limits: Limits) => Limits;
};

export function createInterpreter({ sandboxes, ...given }: InterpreterOptions): Interpreter {
  const common: GivenSettings = {
    limits: given.limits ?? PROGRAM_LIMITS,
    timeoutMs: given.timeoutMs ?? TIMEOUT_MS,
    maxOutputBytes: given.maxOutputBytes ?? MAX_OUTPUT_BYTES,
    network: given.network ?? "none",
    kernels: given.kernels ?? "/opt/belljar/kernels",
  };
  const reaper = new SandboxReaper();
  return {
    async runProgram(principal, program, options) {
      const settings = await settingsOf(principal, common);
      const language = findLanguage(program.language);
      const files = collectFiles(language, program);
      const task = {
        language,
        program,
        files,
        options: withDefaults(options, settings),
        build: toBuild(files, language, options, settings),
      };
      if (options.sandbox) {
        await using place = borrowFolder(options.sandbox);
        return await runIn(place, task);
      }
      const sandbox = await sandboxes.create(principal, freshOptions(language, options, settings), options.signal);
      return reaper.reapAfter(sandbox, () => runIn({ sandbox, folder: undefined }, task));
    },
    [Symbol.asyncDispose]: () => reaper[Symbol.asyncDispose](),
  };
}

async function settingsOf(principal: Principal, common: GivenSettings): Promise<Settings> {
  return { ...common, network: await policyWithin(common.network, principal), cut: (limits) => cutLimits(limits, principal) };
}

type RunTask = Omit<Task, "place"> & { readonly files: readonly ProgramFile[]; readonly build: Build };

async function runIn(place: ProgramFolder, { files, build, ...task }: RunTask): Promise<ProgramResult> {
  const { signal } = task.options;
  await writeFiles(place, files, signal);
  try {
    return await new ProgramRun({ ...task, place }).execute(build);
  } catch (cause) {
    throw await explainMissing(cause, task.language, place.sandbox, signal);
  }
}

function freshOptions(language: Language, options: RunProgramOptions, settings: Settings): CreateOptions {
  return {
    limits: { ...freshLimits(language, settings), ...options.limits },
    bestEffort: options.limits === undefined,
    network: settings.network,
    ephemeral: true,
    timeoutMs: (options.timeoutMs ?? settings.timeoutMs) + GRACE_MS,
  };
}

/** A folder of its own in a sandbox that lives on. */
function borrowFolder(sandbox: Sandbox): ProgramFolder & AsyncDisposable {
  const folder = `/tmp/belljar-run-${randomBytes(8).toString("hex")}`;
  return {
    sandbox,
    folder,
    async [Symbol.asyncDispose]() {
      try {
        await sandbox.guest.files.remove(folder, { recursive: true, signal: AbortSignal.timeout(CLEAN_UP_MS) });
      } catch (error) {
        // A folder that cannot be removed (its sandbox ended, or a child still writes) goes with its sandbox.
        if (!(error instanceof BelljarError)) throw error;
      }
    },
  };
}

function freshLimits(language: Language, { limits, cut }: Settings): Limits {
  const raised = Object.entries(language.needs ?? {}).map(([name, need]) => {
    const limit = limits[name as keyof Limits];
    return [name, limit === undefined ? undefined : Math.max(limit, need)];
  });
  return cut({ ...limits, ...Object.fromEntries(raised) });
}

async function writeFiles({ sandbox, folder }: ProgramFolder, files: readonly ProgramFile[], signal: AbortSignal): Promise<void> {
  for (let at = 0; at < files.length; at += PARALLEL_WRITES) {
    const writes = files.slice(at, at + PARALLEL_WRITES).map(async ({ name, content }) => {
      const path = folder === undefined ? name : `${folder}/${name}`;
      await sandbox.guest.files.write(path, content, { signal, atomic: false });
    });
    const failed = (await Promise.allSettled(writes)).find((outcome) => outcome.status === "rejected");
    if (failed) throw failed.reason;
  }
}

function toBuild(files: readonly ProgramFile[], language: Language, { limits }: RunProgramOptions, settings: Settings): Build {
  const names = files.map(({ name }) => (name.startsWith("-") ? `./${name}` : name));
  const { memoryBytes = UNLIMITED_BYTES } = { ...freshLimits(language, settings), ...limits };
  return { entry: names[0] ?? "", files: names, kernels: settings.kernels, memoryBytes };
}

async function explainMissing(cause: unknown, language: Language, sandbox: Sandbox, signal: AbortSignal): Promise<unknown> {
  if (!(cause instanceof BelljarError) || cause.code !== "COMMAND_NOT_FOUND") return cause;
  const names = await findAvailableLanguages(sandbox, signal);
  const rest = names.length > 0 ? `it has ${names.join(", ")}` : "it has no language that Belljar knows";
  return new BelljarError("LANGUAGE_UNAVAILABLE", `This template has no ${language.title} ("${language.command}"); ${rest}`, { cause });
}

function withDefaults(options: RunProgramOptions, settings: Settings) {
  return {
    ...options,
    timeoutMs: options.timeoutMs ?? settings.timeoutMs,
    maxOutputBytes: options.maxOutputBytes ?? settings.maxOutputBytes,
  };
}
