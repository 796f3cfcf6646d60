import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import type { FakeHost } from "../../src/runtime/fake/fake-runtime.ts";
import { fakeRuntime } from "../../src/runtime/fake/fake-runtime.ts";
import type { Runtime } from "../../src/runtime/contract/runtime.ts";
import type { LocalSandboxes } from "../../src/sandbox/local-sandboxes-options.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import { byName } from "./by-name.ts";

export const DEFAULTS = { timeoutMs: 3_600_000, memoryBytes: 2 ** 25, cpus: 1, pids: 10 };
const config = { sandbox: DEFAULTS, listMax: 100, tombstoneRetentionMs: 60_000 };

export interface OpenHome {
  readonly runtime?: Runtime;
  readonly config?: Partial<typeof config>;
  readonly home?: string;
}

/** What each test has anew. */
export interface FakeHome {
  readonly home: string;
  readonly host: FakeHost;
  /** What the sandboxes of the home have reported. */
  readonly problems: string[];
  /** One process of Belljar on the home; several see the same sandboxes. */
  readonly openHome: (more?: OpenHome) => LocalSandboxes;
  readonly folderOf: (id: string) => string;
  /** Changes the record on disk, as if another process had written it so. */
  readonly rewriteRecord: (id: string, change: Record<string, unknown>) => void;
}

/** A home on the fake runtime for each test of a file. */
export function useFakeHome(): FakeHome {
  const folderOf = (id: string): string => join(at.home, "sandboxes", id);
  const at = {
    home: "",
    host: new Map() as FakeHost,
    problems: [] as string[],
    openHome: (more: OpenHome = {}) =>
      createLocalSandboxes({
        home: more.home ?? at.home,
        runtimes: byName(more.runtime ?? fakeRuntime({ host: at.host, limits: ["memoryBytes", "pids"] })),
        config: { ...config, ...more.config },
        report: (problem) => at.problems.push(problem),
      }),
    folderOf,
    rewriteRecord: (id: string, change: Record<string, unknown>): void => {
      const path = join(folderOf(id), "sandbox.json");
      writeFileSync(path, JSON.stringify({ ...(JSON.parse(readFileSync(path, "utf8")) as object), ...change }));
    },
  };
  beforeEach(() => {
    Object.assign(at, { home: mkdtempSync(join(tmpdir(), "belljar-home-")), host: new Map(), problems: [] });
  });
  afterEach(async () => {
    await Promise.all([...at.host.values()].map((sandbox) => sandbox.finish("killed")));
    rmSync(at.home, { recursive: true });
  });
  return at;
}
