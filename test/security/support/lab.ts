import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { createGuest } from "../../../src/runtime/guest/create-guest.ts";
import type { Guest, RunOptions } from "../../../src/runtime/guest/guest.ts";
import type { NamespaceRuntimeOptions } from "../../../src/runtime/namespace/namespace-host.ts";
import { openNamespaceRuntime } from "../../../src/runtime/namespace/namespace-runtime.ts";
import type { RunningSandbox } from "../../../src/runtime/contract/run.ts";
import type { Isolation, Runtime } from "../../../src/runtime/contract/runtime.ts";
import type { SandboxSpec } from "../../../src/runtime/contract/sandbox-spec.ts";
import type { Outcome } from "./outside.ts";
import { outside, removeFolder } from "./outside.ts";
import { makeSharingHome } from "../../support/share-base.ts";
import { runOf, WITH_WORKSPACE } from "../../support/run-of.ts";

const ROOT = join(import.meta.dirname, "../../..");
const ATTACKS = join(ROOT, "test/fixtures/attacks");
const MEBIBYTE = 1 << 20;

export type BoxOptions = Partial<
  Pick<SandboxSpec, "limits" | "required" | "workspace" | "deadline" | "ephemeral" | "nestedFilters" | "root">
>;
export type RunInside = Partial<Pick<RunOptions, "user" | "input" | "timeoutMs" | "cwd" | "env" | "maxOutputBytes" | "signal">>;

/** A live sandbox; disposing it kills it. */
export interface Box extends AsyncDisposable {
  readonly guest: Guest;
  readonly running: RunningSandbox;
  readonly folder: string;
  /** A non-zero exit is a result. */
  run(argv: readonly string[], options?: RunInside): Promise<Outcome>;
  /** Puts an attack program into the sandbox and says where. */
  install(attack: string): Promise<string>;
}

export interface Lab {
  readonly runtime: Runtime;
  readonly isolation: Isolation;
  readonly home: string;
  /** Where the attack program lies on the host, built when it is C. */
  attack(name: string): string;
  box(options?: BoxOptions): Promise<Box>;
}

/** A home and a runtime for the tests of one file, and the attacks they use. */
export function useLab(attacks: readonly string[] = [], parent = tmpdir()): Lab {
  let folder = "";
  let runtime: Runtime | undefined;
  let isolation: Isolation | undefined;
  beforeAll(async () => {
    folder = await mkdtemp(join(parent, "belljar-security-"));
    await Promise.all(attacks.map((name) => buildAttack(name, folder)));
    runtime = await openTestRuntime(join(folder, "home"), join(folder, "run"));
    isolation = await runtime.probe();
  });
  afterAll(() => removeFolder(folder));
  return {
    get runtime() {
      return ready(runtime);
    },
    get isolation() {
      return ready(isolation);
    },
    get home() {
      return join(folder, "home");
    },
    attack: (name) => join(folder, name),
    box: (options = {}) => openBox(ready(runtime), folder, options),
  };
}

/** `given`: what this host would not choose by itself. */
export async function openTestRuntime(
  home: string,
  runtimeDirectory: string,
  given: Pick<Partial<NamespaceRuntimeOptions>, "idMap" | "binary"> = {},
): Promise<Runtime> {
  makeSharingHome(home);
  await mkdir(runtimeDirectory, { recursive: true, mode: 0o700 });
  return openNamespaceRuntime({
    home,
    runtimeDirectory,
    storage: "auto",
    kernels: join(ROOT, "dist/kernels"),
    binary: join(ROOT, "native/build/belljar-native"),
    ...given,
  });
}

function ready<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("the lab is used before its tests run");
  return value;
}

async function buildAttack(name: string, folder: string): Promise<void> {
  const target = join(folder, name);
  const { code, err } = await outside(["cc", "-O1", "-o", target, join(ATTACKS, `${name}.c`)]);
  if (code !== 0) throw new Error(`${name} was not built: ${err}`);
}

export function sandboxSpec(folder: string, id: string, options: BoxOptions): SandboxSpec {
  return {
    ...runOf(id, folder),
    base: { template: "base" },
    hostname: id,
    limits: { memoryBytes: 256 * MEBIBYTE, pids: 64, diskBytes: 64 * MEBIBYTE, openFiles: 1024 },
    required: [],
    ephemeral: true,
    ...(options.workspace && { inside: WITH_WORKSPACE }),
    ...options,
  };
}

export function newId(): string {
  return [...randomBytes(20)].map((byte) => (byte % 36).toString(36)).join("");
}

/** A sandbox below `labFolder`, which holds the home and the built attacks. */
export async function openBox(runtime: Runtime, labFolder: string, options: BoxOptions = {}): Promise<Box> {
  const id = newId();
  const folder = join(labFolder, "home", "sandboxes", id);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const running = await runtime.create(sandboxSpec(folder, id, options), AbortSignal.timeout(30_000));
  const guest = createGuest((signal) => running.connect(signal), { ended: running.ended });
  return {
    guest,
    running,
    folder,
    run: (argv, runOptions) => runInside(guest, argv, runOptions),
    install: (attack) => installAttack(guest, labFolder, attack),
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}

async function runInside(guest: Guest, argv: readonly string[], options: RunInside = {}): Promise<Outcome> {
  const result = await guest.run({ argv, signal: AbortSignal.timeout(30_000), ...options });
  return { code: result.exitCode, out: result.stdout.toString(), err: result.stderr.toString() };
}

async function installAttack(guest: Guest, labFolder: string, attack: string): Promise<string> {
  const path = `/home/user/${attack}`;
  const input = await readFile(join(labFolder, attack));
  const { code, err } = await runInside(guest, ["sh", "-c", 'cat > "$0" && chmod 755 "$0"', path], { input });
  if (code !== 0) throw new Error(`${attack} was not installed: ${err}`);
  return path;
}
