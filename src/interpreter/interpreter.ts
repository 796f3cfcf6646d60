import { randomBytes } from "node:crypto";
import { BelljarError } from "../errors.ts";
import type { Principal, Sandbox, Sandboxes } from "../sandbox/sandbox.ts";
import type { Build, Language } from "./language.ts";
import { findLanguage } from "./language.ts";
import { findAvailableLanguages } from "./available-languages.ts";
import { collectFiles } from "./program-files.ts";
import type { Place } from "./program-run.ts";
import { ProgramRun } from "./program-run.ts";
import type { Limits, Program, ProgramFile, ProgramResult, RunProgramOptions } from "./program.ts";

/** Runs programs, each in its own fresh sandbox unless the caller names one. */
export interface Interpreter {
  /**
   * Rejects with `LANGUAGE_UNAVAILABLE`, `ARGUMENTS_INVALID`, `CANCELLED`, or whatever kept the sandbox from being made.
   * A failed compilation, a non-zero exit and a timeout are results.
   */
  runProgram(principal: Principal, program: Program, options: RunProgramOptions): Promise<ProgramResult>;
}

export interface InterpreterOptions {
  readonly sandboxes: Pick<Sandboxes, "create">;
  /** Of a fresh sandbox, as far as the host enforces them. */
  readonly limits?: Limits;
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

/** A place that is cleaned up when it is disposed. */
type OwnedPlace = Place & AsyncDisposable;

type Settings = Required<Omit<InterpreterOptions, "sandboxes">>;

export function createInterpreter({ sandboxes, ...given }: InterpreterOptions): Interpreter {
  const settings: Settings = {
    limits: given.limits ?? PROGRAM_LIMITS,
    timeoutMs: given.timeoutMs ?? TIMEOUT_MS,
    maxOutputBytes: given.maxOutputBytes ?? MAX_OUTPUT_BYTES,
    kernels: given.kernels ?? "/opt/belljar/kernels",
  };
  return {
    async runProgram(principal, program, options) {
      const language = findLanguage(program.language);
      const files = collectFiles(language, program);
      await using place = options.sandbox
        ? borrowPlace(options.sandbox)
        : await openPlace(sandboxes, principal, { language, options, settings });
      await writeFiles(place, files, options.signal);
      const build = toBuild(files, settings, { ...freshLimits(language, settings.limits), ...options.limits });
      try {
        return await new ProgramRun({ place, language, program, options: withDefaults(options, settings) }).execute(build);
      } catch (cause) {
        throw await explainMissing(cause, language, place.sandbox, options.signal);
      }
    },
  };
}

/** A fresh sandbox, killed when the place is disposed. */
async function openPlace(
  sandboxes: Pick<Sandboxes, "create">,
  principal: Principal,
  { language, options, settings }: { language: Language; options: RunProgramOptions; settings: Settings },
): Promise<OwnedPlace> {
  const sandbox = await sandboxes.create(
    principal,
    {
      limits: { ...freshLimits(language, settings.limits), ...options.limits },
      bestEffort: options.limits === undefined,
      network: "none",
      ephemeral: true,
      timeoutMs: (options.timeoutMs ?? settings.timeoutMs) + GRACE_MS,
    },
    options.signal,
  );
  return { sandbox, folder: undefined, [Symbol.asyncDispose]: () => sandbox.kill() };
}

/** A folder of its own in a sandbox that lives on. */
function borrowPlace(sandbox: Sandbox): OwnedPlace {
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

function freshLimits(language: Language, limits: Limits): Limits {
  const raised = Object.entries(language.needs ?? {}).map(([name, need]) => {
    const limit = limits[name as keyof Limits];
    return [name, limit === undefined ? undefined : Math.max(limit, need)];
  });
  return { ...limits, ...Object.fromEntries(raised) };
}

async function writeFiles({ sandbox, folder }: Place, files: readonly ProgramFile[], signal: AbortSignal): Promise<void> {
  for (let at = 0; at < files.length; at += PARALLEL_WRITES) {
    const writes = files.slice(at, at + PARALLEL_WRITES).map(async ({ name, content }) => {
      const path = folder === undefined ? name : `${folder}/${name}`;
      await sandbox.guest.files.write(path, content, { signal, atomic: false });
    });
    const failed = (await Promise.allSettled(writes)).find((outcome) => outcome.status === "rejected");
    if (failed) throw failed.reason;
  }
}

function toBuild(files: readonly ProgramFile[], { kernels }: Settings, { memoryBytes = UNLIMITED_BYTES }: Limits): Build {
  const names = files.map(({ name }) => (name.startsWith("-") ? `./${name}` : name));
  return { entry: names[0] ?? "", files: names, kernels, memoryBytes };
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
