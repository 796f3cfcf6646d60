import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { BelljarError } from "../../../errors.ts";
import { absentIs } from "./copy-rows.ts";

const run = promisify(execFile);
const BUILDING = ".building-";
const ABANDONED_AFTER_MS = 3_600_000;

export interface TemplateOptions {
  /** `$BELLJAR_HOME`; the layers lie in `templates/<name>/<fingerprint>`. */
  readonly home: string;
  /** First of the ids that own layers on disk; undefined: everything belongs to the caller. */
  readonly canonicalUid?: number;
  /** Belljar's programs that run inside, copied to `/opt/belljar/kernels` when the folder is there. */
  readonly kernels?: string;
  /** Executables that run inside, copied to `/opt/belljar/bin` under these names. */
  readonly programs?: Readonly<Record<string, string>>;
  readonly onProgress?: (message: string) => void;
  readonly signal?: AbortSignal;
}

export interface TemplateBuild {
  readonly name: string;
  readonly fingerprint: string;
  /** Fills an empty folder, which gets its name when it is full. */
  readonly fill: (building: string) => Promise<void>;
  /** What takes a while. */
  readonly progress?: string;
}

/**
 * The folder of a template's layers, built on first use and reused while the fingerprint stays. Any number of processes may ask at once: each
 * sees a whole template, and one of those built wins.
 */
export async function templateFolder(build: TemplateBuild, options: TemplateOptions): Promise<string> {
  const parent = join(options.home, "templates", build.name);
  const folder = join(parent, build.fingerprint);
  if (existsSync(folder)) return folder;
  if (build.progress !== undefined) options.onProgress?.(build.progress);
  await makePrivate(join(options.home, "templates"));
  await makePrivate(parent);
  await removeAbandoned(parent);
  const building = await mkdtemp(join(parent, BUILDING));
  try {
    await build.fill(building);
    await publish(building, folder);
  } catch (cause) {
    throw failed(build.name, { parent, cause, isCancelled: options.signal?.aborted ?? false });
  } finally {
    await rm(building, { recursive: true, force: true });
  }
  return folder;
}

interface Failure {
  readonly parent: string;
  readonly cause: unknown;
  readonly isCancelled: boolean;
}

function failed(name: string, { parent, cause, isCancelled }: Failure): BelljarError {
  if (cause instanceof BelljarError) return cause;
  if (isCancelled) return new BelljarError("CANCELLED", `Building the template "${name}" was cancelled.`, { cause });
  return new BelljarError(
    isFull(cause) ? "DISK_FULL" : "RUNTIME_FAILED",
    `The template "${name}" could not be built in ${parent}: ${cause instanceof Error ? cause.message : String(cause)}`,
    { cause },
  );
}

/** What a builder that was killed left behind. A build takes seconds; a live one that loses its folder to a stopped clock fails and can be repeated. */
async function removeAbandoned(parent: string): Promise<void> {
  for (const name of (await readdir(parent)).filter((entry) => entry.startsWith(BUILDING))) {
    const age = Date.now() - ((await absentIs(undefined, stat(join(parent, name))))?.mtimeMs ?? Date.now());
    if (age > ABANDONED_AFTER_MS) await rm(join(parent, name), { recursive: true, force: true });
  }
}

/** Layers show root-only files of other ids: nobody else on the host walks into them. */
async function makePrivate(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
}

/** On disk before it has its name: after a power cut the name stands for a whole template or is not there. */
async function publish(building: string, folder: string): Promise<void> {
  await run("sync", ["-f", "--", building], { env: { PATH: "/usr/bin:/bin" } });
  try {
    await rename(building, folder);
  } catch (error) {
    // Another process was first; its template is as good.
    if (!(await absentIs(undefined, stat(folder)))) throw error;
  }
}

function isFull(cause: unknown): boolean {
  const { code } = cause as NodeJS.ErrnoException;
  return code === "ENOSPC" || code === "EDQUOT";
}
