import { randomBytes } from "node:crypto";
import { posix } from "node:path";
import * as z from "zod";
import { BelljarError } from "../../errors.ts";
import { withProgram } from "../../interpreter/missing-program.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { toAbsolute } from "../sandbox-path.ts";
import { LAUNCH, SEGMENT_BYTES, SUPERVISE, SUPERVISOR } from "./background-scripts.ts";

/**
 * Background processes live in their sandbox alone: a supervisor beside each, and a folder with what is known of it. So any
 * Belljar process finds them, and none has to live for them. Whatever stands in the folders may be a hostile program's.
 */
export interface BackgroundProcess {
  readonly id: string;
  readonly command: string;
  readonly cwd: string;
  readonly startedAt: string;
  /** Leader of its process group; undefined when it is not known any more. */
  readonly pid: number | undefined;
  /** `lost`: it ended without anybody seeing how, as in a copy of its sandbox. */
  readonly state: "running" | "exited" | "lost";
  readonly exitCode: number | undefined;
  readonly inputIsOpen: boolean;
  /** Size of each kept output file, by number. */
  readonly segments: ReadonlyMap<number, number>;
}

export interface StartOptions {
  readonly command: string;
  /** Absolute, or relative to the workspace. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Whoever it runs as; by default the user, whom its supervisor is too. */
  readonly user?: string | undefined;
  readonly signal: AbortSignal;
}

const FOLDER = "/var/tmp/.belljar/processes";
const SUPERVISOR_USER = "user";
const RUNNING_MAX = 32;
const KEPT_MAX = 64;
/** SIGUSR1, which the supervisor takes so. */
const CLOSE_INPUT = 10;
const ROWS_MAX = 4_096;
const COMMAND_KEPT = 2_000;
const RECORD_MAX_BYTES = 65_536;
const LAUNCH_TIMEOUT_MS = 10_000;

const Id = /^[a-z0-9]{10}$/;
const Record = z.object({ command: z.string().max(COMMAND_KEPT), cwd: z.string().max(4_096), started_at: z.string().max(40) });

export function folderOf(id: string): string {
  return `${FOLDER}/${id}`;
}

/** Resolves when it runs. Rejects with `PROCESS_LIMIT`, `FILE_NOT_FOUND` (cwd), `COMMAND_NOT_FOUND` (no bash). */
export async function startBackground(sandbox: Sandbox, options: StartOptions): Promise<BackgroundProcess> {
  await assertFolder(sandbox, options.cwd, options.signal);
  const recorded = await recordBackground(sandbox, options);
  const pid = await launch(sandbox, recorded.id, options);
  return { ...recorded, pid, state: "running", exitCode: undefined, inputIsOpen: true, segments: new Map() };
}

/** Makes the folder of a new background process. Rejects with `PROCESS_LIMIT`. */
export async function recordBackground(
  sandbox: Sandbox,
  { command: whole, cwd: folder, signal }: Omit<StartOptions, "env" | "user">,
): Promise<Pick<BackgroundProcess, "id" | "command" | "cwd" | "startedAt">> {
  await makeRoom(sandbox, signal);
  const id = randomBytes(16).toString("hex").slice(0, 10);
  const [command, cwd, startedAt] = [whole.slice(0, COMMAND_KEPT), toAbsolute(sandbox, folder), new Date().toISOString()];
  const record = JSON.stringify({ command, cwd, started_at: startedAt });
  await sandbox.guest.files.write(`${folderOf(id)}/record.json`, record, { mode: 0o600, signal });
  return { id, command, cwd, startedAt };
}

async function launch(sandbox: Sandbox, id: string, { command, cwd, env, user, signal }: StartOptions): Promise<number> {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const argv = ["bash", "-c", LAUNCH, "belljar-launch", SUPERVISE, id, fromHome(sandbox, cwd), ...variables];
  await sandbox.guest.files.write(`${folderOf(id)}/command`, asUser(command, user), { mode: 0o600, signal });
  const launching = { argv, cwd: folderOf(id), timeoutMs: LAUNCH_TIMEOUT_MS, signal };
  const result = await withProgram(sandbox, { program: "bash" }, () => sandbox.guest.run(launching));
  const pid = Number(result.stdout.toString());
  if (Number.isInteger(pid) && pid > 0) return pid;
  const reason = result.stderr.toString().trim().slice(0, 500);
  throw new BelljarError("RUNTIME_FAILED", `The command could not be started in the background${reason && `: ${reason}`}`);
}

/** The supervisor's shell stands in the home. */
function fromHome(sandbox: Sandbox, folder: string): string {
  return posix.isAbsolute(folder) ? folder : posix.relative(sandbox.inside.home, toAbsolute(sandbox, folder)) || ".";
}

/** The supervisor stays the user's, so that its files do. A stop of its group reaches the command through sudo. */
function asUser(command: string, user: string | undefined): string {
  if (user === undefined || user === SUPERVISOR_USER) return command;
  return `exec sudo -u ${quote(user)} -- bash -c ${quote(command)}`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

async function assertFolder(sandbox: Sandbox, cwd: string, signal: AbortSignal): Promise<void> {
  const { type } = await sandbox.guest.files.stat(cwd, { follow: true, signal });
  if (type !== "directory") throw new BelljarError("FILE_NOT_DIRECTORY", `"${cwd}" is no folder; give one to start in`);
}

/** Rejects with `PROCESS_LIMIT` where one more may not run beside so many. */
export function assertFew(running: number): void {
  if (running < RUNNING_MAX) return;
  throw new BelljarError("PROCESS_LIMIT", `${RUNNING_MAX} background processes run already; stop one with process {"action":"stop"}`);
}

/** Forgets the oldest that have ended, so that the records stay few. */
async function makeRoom(sandbox: Sandbox, signal: AbortSignal): Promise<void> {
  const known = await listBackground(sandbox, signal);
  assertFew(known.filter(({ state }) => state === "running").length);
  const ended = known.filter(({ state }) => state !== "running");
  for (const { id } of ended.slice(0, Math.max(0, known.length - KEPT_MAX + 1))) {
    await sandbox.guest.files.remove(folderOf(id), { recursive: true, signal });
  }
}

/** All that are known, oldest first. */
export async function listBackground(sandbox: Sandbox, signal: AbortSignal): Promise<readonly BackgroundProcess[]> {
  const folders = await listFolders(sandbox, { path: FOLDER, depth: 2, signal });
  const found = await describe(sandbox, [...folders], signal);
  return found.toSorted((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
}

/** Rejects with `PROCESS_NOT_FOUND`. */
export async function findBackground(sandbox: Sandbox, id: string, signal: AbortSignal): Promise<BackgroundProcess> {
  const files = Id.test(id) ? (await listFolders(sandbox, { path: folderOf(id), depth: 1, signal })).get("") : undefined;
  const [found] = files ? await describe(sandbox, [[id, files]], signal) : [];
  if (found) return found;
  const hint = `process {"action":"list"} shows which there are, and \`belljar sandbox logs\` all their output`;
  throw new BelljarError("PROCESS_NOT_FOUND", `No background process "${id.slice(0, 40)}" in this sandbox; ${hint}`);
}

/** Signals its whole group. One that has just ended needs no signal. */
export async function signalBackground(
  sandbox: Sandbox,
  { pid }: BackgroundProcess,
  signalNumber: number,
  signal: AbortSignal,
): Promise<void> {
  const leader = (await sandbox.guest.processes(signal)).find((row) => row.pid === pid && row.pgid === pid);
  if (leader) await ifPresent(sandbox.guest.signalProcess(leader.pid, signalNumber, { group: true, signal }));
}

/** Ends what it reads, as Ctrl-D would. */
export async function closeInput(sandbox: Sandbox, { id }: BackgroundProcess, signal: AbortSignal): Promise<void> {
  const rows = await sandbox.guest.processes(signal);
  const supervisors = rows.filter(({ argv }) => argv[3] === SUPERVISOR && argv[4] === id).map(({ pid }) => pid);
  // Its carrier of output is a copy of it and its child.
  const supervisor = rows.find(({ pid, ppid }) => supervisors.includes(pid) && !supervisors.includes(ppid));
  if (supervisor) await ifPresent(sandbox.guest.signalProcess(supervisor.pid, CLOSE_INPUT, { signal }));
}

async function ifPresent(signalling: Promise<void>): Promise<void> {
  try {
    await signalling;
  } catch (error) {
    if (!(error instanceof BelljarError && error.code === "PROCESS_NOT_FOUND")) throw error;
  }
}

/** Sizes by name. What is no file has size -1: a pipe must not be read. */
type Files = ReadonlyMap<string, number>;

interface Listing {
  readonly path: string;
  readonly depth: number;
  readonly signal: AbortSignal;
}

/** The files by folder; "" is the listed folder itself. Absent folders are empty. */
async function listFolders(sandbox: Sandbox, { path, depth, signal }: Listing): Promise<ReadonlyMap<string, Files>> {
  const folders = new Map<string, Map<string, number>>();
  let rows = 0;
  try {
    for await (const row of sandbox.guest.files.list(path, { depth, signal })) {
      if ((rows += 1) > ROWS_MAX) break;
      const slash = row.path.lastIndexOf("/");
      const [folder, name] = [row.path.slice(0, Math.max(0, slash)), row.path.slice(slash + 1)];
      if (row.type === "directory" || (depth > 1 && !Id.test(folder))) continue;
      folders.set(folder, (folders.get(folder) ?? new Map<string, number>()).set(name, row.type === "file" ? row.size : -1));
    }
  } catch (error) {
    if (!(error instanceof BelljarError && ABSENT.has(error.code))) throw error;
  }
  return folders;
}

/**
 * The exit is looked at before and after the process table: a supervisor writes it before it ends, so that one which is in neither
 * place ended without a word.
 */
async function describe(
  sandbox: Sandbox,
  folders: readonly (readonly [string, Files])[],
  signal: AbortSignal,
): Promise<readonly BackgroundProcess[]> {
  const seen = await Promise.all(folders.map(([id, files]) => readFolder(sandbox, { id, files, signal })));
  const known = seen.filter((one) => one !== undefined);
  const isOver = known.every(({ exitCode }) => exitCode !== undefined);
  const live = isOver ? new Set<string>() : await findSupervisors(sandbox, signal);
  return Promise.all(
    known.map(async ({ supervisor, ...one }) => {
      if (one.exitCode !== undefined) return { ...one, state: "exited" as const, inputIsOpen: false };
      if (live.has(`${one.id} ${supervisor}`)) return { ...one, state: "running" as const };
      const exitCode = await readExit(sandbox, one.id, signal);
      return { ...one, exitCode, state: exitCode === undefined ? ("lost" as const) : ("exited" as const), inputIsOpen: false };
    }),
  );
}

/** `ID PID` of each that lives. */
async function findSupervisors(sandbox: Sandbox, signal: AbortSignal): Promise<ReadonlySet<string>> {
  const processes = await sandbox.guest.processes(signal);
  return new Set(processes.filter(({ argv }) => argv[3] === SUPERVISOR).map(({ argv, pid }) => `${argv[4]} ${pid}`));
}

async function readFolder(sandbox: Sandbox, { id, files, signal }: { id: string; files: Files; signal: AbortSignal }) {
  const read = (name: string) => ((files.get(name) ?? -1) < 0 ? "" : readText(sandbox, `${folderOf(id)}/${name}`, signal));
  const record = parseRecord(await read("record.json"));
  if (!record) return undefined;
  const [supervisor, pid = 0] = (await read("pids")).split(" ").map(Number);
  return {
    id,
    command: record.command,
    cwd: record.cwd,
    startedAt: record.started_at,
    supervisor,
    pid: Number.isInteger(pid) && pid > 1 ? pid : undefined,
    exitCode: files.has("exit") ? await readExit(sandbox, id, signal) : undefined,
    inputIsOpen: files.has("in"),
    segments: toSegments(files),
  };
}

async function readExit(sandbox: Sandbox, id: string, signal: AbortSignal): Promise<number | undefined> {
  const text = await readText(sandbox, `${folderOf(id)}/exit`, signal);
  return /^\d{1,3}$/.test(text) ? Number(text) : undefined;
}

function parseRecord(text: string): z.output<typeof Record> | undefined {
  try {
    return Record.safeParse(JSON.parse(text)).data;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function toSegments(files: Files): ReadonlyMap<number, number> {
  const numbered = [...files].flatMap(([name, size]) => {
    const number = /^out\.(\d{1,9})$/.exec(name)?.[1];
    return number === undefined || size < 0 ? [] : [[Number(number), Math.min(size, SEGMENT_BYTES)] as const];
  });
  return new Map(numbered.toSorted(([a], [b]) => a - b));
}

/** What is absent, or is not what was written there, is empty. */
async function readText(sandbox: Sandbox, path: string, signal: AbortSignal): Promise<string> {
  try {
    return (await sandbox.guest.files.read(path, { maxBytes: RECORD_MAX_BYTES, signal })).toString();
  } catch (error) {
    if (error instanceof BelljarError && ABSENT.has(error.code)) return "";
    throw error;
  }
}

const ABSENT = new Set(["FILE_NOT_FOUND", "FILE_IS_DIRECTORY", "FILE_NOT_DIRECTORY", "FILE_DENIED", "FILE_TOO_LARGE"]);
