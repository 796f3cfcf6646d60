import { mkdtemp, readdir, realpath, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { openRuntime } from "../../src/runtime/registry.ts";
import type { LocalSandboxes } from "../../src/sandbox/local-sandboxes-options.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { findRemains, findTraces, NO_TRACES } from "../support/home-traces.ts";
import { byName } from "../support/by-name.ts";
import { listed } from "../support/listed.ts";

const binary = resolve(import.meta.dirname, "../../native/build/belljar-native");
const config = { sandbox: { timeoutMs: 600_000 }, listMax: 100, tombstoneRetentionMs: 600_000 };
const signal = new AbortController().signal;

interface Place extends AsyncDisposable {
  readonly root: string;
  readonly home: string;
  readonly sandboxes: LocalSandboxes;
  /** What the home and the machine hold once a create was refused. */
  left(): Promise<unknown>;
}

async function openPlace(): Promise<Place> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "bj-")));
  const place = { home: join(root, "home"), runtimeDirectory: join(root, "run"), storage: "home", binary } as const;
  const sandboxes = createLocalSandboxes({ home: place.home, runtimes: byName(await openRuntime("namespace", place)), config });
  await (await sandboxes.create(LOCAL, {}, signal)).kill();
  return {
    root,
    home: place.home,
    sandboxes,
    async left() {
      await sandboxes.sweep(); // waits for what is being cleared behind the caller's back
      const ids = await readdir(join(place.home, "sandboxes"));
      return {
        live: await listed(sandboxes, LOCAL, { state: ["running"] }),
        ...findTraces({ ...place, marker: root, ids }),
        remains: findRemains(place.home),
      };
    },
    async [Symbol.asyncDispose]() {
      await sandboxes[Symbol.asyncDispose]();
      await rm(root, { recursive: true });
    },
  };
}

const NOTHING = { live: [], ...NO_TRACES, remains: [] };

it.each(["root", "usr"])("a template whose layer %s has gone is refused by its step and leaves nothing", async (layer) => {
  await using place = await openPlace();
  const [version = ""] = await readdir(join(place.home, "templates/base"));
  const [path, aside] = [join(place.home, "templates/base", version, layer), join(place.root, "aside")];
  await rename(path, aside);
  const refusal = { code: "RUNTIME_FAILED", message: expect.stringContaining(`jail: open ${path}: No such file or directory`) };
  await expect(place.sandboxes.create(LOCAL, {}, signal)).rejects.toMatchObject(refusal);
  expect(await place.left()).toEqual(NOTHING);
  await rename(aside, path);
  await (await place.sandboxes.create(LOCAL, {}, signal)).kill();
  expect(await place.left()).toEqual(NOTHING);
});
