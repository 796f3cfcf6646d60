import { randomBytes } from "node:crypto";
import { BelljarError } from "../errors.ts";
import { cutLimits, policyWithin } from "../sandbox/grants.ts";
import type { CreateOptions, Principal, Sandbox, Sandboxes } from "../sandbox/sandbox.ts";
import type { Build, Language } from "./language.ts";
import { configureLanguages, type LanguagesSettings } from "./configured-languages.ts";
import { findLanguage } from "./language.ts";
import { findLeftFiles, stampFiles } from "./left-files.ts";
import { withLanguage } from "./missing-program.ts";
import { collectFiles } from "./program-files.ts";
import type { BuildOptions } from "./program-run.ts";
import { ProgramRun } from "./program-run.ts";
import type { WarmPrograms } from "./warm/warm-programs.ts";
import { SandboxReaper } from "./sandbox-reaper.ts";
import type { Limits, Program, ProgramPlace, ProgramResult, RunProgramOptions } from "./program.ts";
import { INSIDE } from "../sandbox/sandbox.ts";

/** Runs programs, each in its own fresh sandbox unless the caller names one. Disposing it waits until all fresh sandboxes have ended. */
export interface Interpreter extends AsyncDisposable {
  /** The languages that it runs. */
  readonly languages: readonly Language[];
  /**
   * Rejects with `LANGUAGE_UNAVAILABLE`, `ARGUMENTS_INVALID`, `CANCELLED`, or the error of creating the sandbox: `TEMPLATE_NOT_FOUND` if
   * the language has a template that the principal does not. A failed compilation, a non-zero exit and a timeout are results. The fresh
   * sandbox is killed in the end: a rejection waits for this, a result does not.
   */
  runProgram(principal: Principal, program: Program, options: RunProgramOptions): Promise<ProgramResult>;
}

export interface InterpreterOptions {
  readonly sandboxes: Pick<Sandboxes, "create">;
  /** Limits of a fresh sandbox. A limit that the host cannot enforce is left out. */
  readonly limits?: Limits;
  /** Network policy of fresh sandboxes. Default: `none`. */
  readonly network?: NonNullable<CreateOptions["network"]>;
  readonly timeoutMs?: number;
  readonly maxOutputBytes?: number;
  /** Folder inside the sandboxes with Belljar's own programs. */
  readonly kernels?: string;
  /** Templates of languages, the local user's, and languages that Belljar does not know. Default: those that it knows, each as every sandbox starts. */
  readonly languages?: LanguagesSettings;
  /** The interpreters that wait in fresh sandboxes. Default: each program starts its own. */
  readonly warm?: WarmPrograms;
}

const PROGRAM_LIMITS: Limits = { memoryBytes: 256 * 1_048_576, cpus: 0.5, pids: 64, diskBytes: 256 * 1_048_576, openFiles: 1_024 };
/** Below the minute after which common clients give a call up. */
const TIMEOUT_MS = 50_000;
const MAX_OUTPUT_BYTES = 1_048_576;
/** Time that a fresh sandbox has beyond its program's timeout, so that the program times out before the sandbox ends. */
const GRACE_MS = 30_000;
const CLEAN_UP_MS = 5_000;
const PARALLEL_WRITES = 16;
/** The memory size that a language is told if its memory is unlimited. */
const UNLIMITED_BYTES = 2 * 1_073_741_824;

/** Where programs run that start from a template of their language: what else lies there, and who may write where, is up to that. */
const ownFolder = (): string => `/tmp/belljar-program-${randomBytes(8).toString("hex")}`;

interface GivenSettings extends Required<Omit<InterpreterOptions, "sandboxes" | "warm" | "languages">> {
  readonly languages: readonly Language[];
}

/** The settings for one principal. */
type Settings = GivenSettings & {
  /** Lowers default limits to the limits of the principal. */
  readonly cut: (limits: Limits) => Limits;
};

export function createInterpreter({ sandboxes, warm, ...given }: InterpreterOptions): Interpreter {
  const common: GivenSettings = {
    limits: given.limits ?? PROGRAM_LIMITS,
    timeoutMs: given.timeoutMs ?? TIMEOUT_MS,
    maxOutputBytes: given.maxOutputBytes ?? MAX_OUTPUT_BYTES,
    network: given.network ?? "none",
    kernels: given.kernels ?? INSIDE.kernels,
    languages: configureLanguages(given.languages ?? {}),
  };
  const reaper = new SandboxReaper();
  return {
    languages: common.languages,
    async runProgram(principal, program, options) {
      const settings = await settingsOf(principal, common);
      const build = toBuild(program, options, settings);
      const given = withDefaults(options, settings);
      if (options.sandbox) {
        await using folder = borrowFolder(options.sandbox);
        return await runIn(options.sandbox, { ...build, ...foldersOf(folder.path, options.place) }, given);
      }
      const { language } = build;
      const created = sandboxes.create(principal, freshOptions(language, options, settings), options.signal);
      const sandbox = await created.catch((cause: unknown) => Promise.reject(tellTemplate(language, cause)));
      const place = language.template === undefined ? {} : { folder: ownFolder() };
      return reaper.reapAfter(sandbox, () => runFresh(sandbox, { ...build, ...place }, { ...given, warm: warm?.take(sandbox.id) }));
    },
    [Symbol.asyncDispose]: () => reaper[Symbol.asyncDispose](),
  };
}

async function settingsOf(principal: Principal, common: GivenSettings): Promise<Settings> {
  return { ...common, network: await policyWithin(common.network, principal), cut: (limits) => cutLimits(limits, principal) };
}

/** `own`: a folder for this run alone. */
function foldersOf(own: string, place: ProgramPlace | undefined): Pick<Build, "folder" | "cwd" | "outputFolder"> {
  if (!place) return { folder: own };
  return place.hasEntry ? { folder: place.folder, outputFolder: own } : { folder: own, cwd: place.folder, outputFolder: own };
}

async function runFresh(sandbox: Sandbox, build: Build, options: BuildOptions): Promise<ProgramResult> {
  if (!options.tellsRefusals) return runIn(sandbox, build, options);
  using refusals = await sandbox.watchRefusals();
  const result = await runIn(sandbox, build, options);
  return { ...result, refused: await refusals.tell() };
}

async function runIn(sandbox: Sandbox, build: Build, options: BuildOptions): Promise<ProgramResult> {
  if (!options.place?.hasEntry) await writeFiles(sandbox, build, options.signal);
  else if (build.outputFolder !== undefined) await sandbox.guest.files.makeDirectory(build.outputFolder, { signal: options.signal });
  return withLanguage(sandbox, build.language, options.signal, async () => {
    if (!options.bringFiles) return await new ProgramRun(sandbox, build, options).execute();
    const folder = { files: sandbox.guest.files, path: build.folder ?? ".", signal: options.signal };
    const before = await stampFiles(folder);
    const result = await new ProgramRun(sandbox, build, options).execute();
    return { ...result, left: await findLeftFiles(folder, before) };
  });
}

function freshOptions(language: Language, options: RunProgramOptions, settings: Settings): CreateOptions {
  return {
    limits: { ...freshLimits(language, settings), ...options.limits },
    bestEffort: options.limits === undefined,
    network: settings.network,
    ephemeral: true,
    timeoutMs: (options.timeoutMs ?? settings.timeoutMs) + GRACE_MS,
    ...(language.template !== undefined && { template: language.template, isConfigured: true }),
  };
}

/** Whoever asks for a program did not name the template, and may not be able to make it. */
function tellTemplate({ name, template }: Language, cause: unknown): unknown {
  if (template === undefined || !(cause instanceof BelljarError) || cause.code !== "TEMPLATE_NOT_FOUND") return cause;
  const remedy = `make it with \`belljar template import ${template} IMAGE\`, and let others have it with \`belljar template share ${template}\``;
  return new BelljarError(
    "TEMPLATE_NOT_FOUND",
    `The configuration runs ${name} in the template "${template}", and there is none for you: ${remedy}`,
    { cause },
  );
}

/** A temporary folder in a sandbox of the caller, which lives on. */
function borrowFolder(sandbox: Sandbox): AsyncDisposable & { readonly path: string } {
  const path = `/tmp/belljar-run-${randomBytes(8).toString("hex")}`;
  return {
    path,
    async [Symbol.asyncDispose]() {
      try {
        await sandbox.guest.files.remove(path, { recursive: true, signal: AbortSignal.timeout(CLEAN_UP_MS) });
      } catch (error) {
        // The folder cannot be removed if its sandbox has ended, or if a child still writes. It ends with the sandbox at the latest.
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

async function writeFiles({ guest }: Sandbox, { files, folder }: Build, signal: AbortSignal): Promise<void> {
  for (let at = 0; at < files.length; at += PARALLEL_WRITES) {
    const writes = files.slice(at, at + PARALLEL_WRITES).map(async ({ name, content }) => {
      const path = folder === undefined ? name : `${folder}/${name}`;
      await guest.files.write(path, content, { signal, atomic: false });
    });
    const failed = (await Promise.allSettled(writes)).find((outcome) => outcome.status === "rejected");
    if (failed) throw failed.reason;
  }
}

function toBuild(program: Program, { limits }: RunProgramOptions, settings: Settings): Build {
  const { kernels, languages } = settings;
  const language = findLanguage(program.language, languages);
  const { memoryBytes = UNLIMITED_BYTES } = { ...freshLimits(language, settings), ...limits };
  return { program, language, files: collectFiles(language, program), kernels, memoryBytes };
}

function withDefaults(options: RunProgramOptions, settings: Settings): BuildOptions {
  return {
    ...options,
    timeoutMs: options.timeoutMs ?? settings.timeoutMs,
    maxOutputBytes: options.maxOutputBytes ?? settings.maxOutputBytes,
  };
}
