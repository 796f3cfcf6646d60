import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fakeRuntime } from "../../../src/runtime/fake/fake-runtime.ts";
import type { Runtime } from "../../../src/runtime/contract/runtime.ts";
import { createLocalSandboxes } from "../../../src/sandbox/local-sandboxes.ts";
import { LOCAL, type SandboxInfo, type Sandboxes } from "../../../src/sandbox/sandbox.ts";
import { byName } from "../../support/by-name.ts";
import { useFakeHome } from "../../support/fake-home.ts";
import { findSpeakers } from "../../support/freeze.ts";
import { makeHome } from "../../support/namespace-home.ts";

const signal = new AbortController().signal;
/** So many are looked at together. */
const MANY = 16;
/** A list remembers what it read of folders that are older. */
const SETTLED_MS = 200;
const at = useFakeHome();

async function statesOf(sandboxes: Sandboxes): Promise<Readonly<Record<string, SandboxInfo["state"]>>> {
  return Object.fromEntries((await sandboxes.list(LOCAL)).sandboxes.map(({ id, state }) => [id, state]));
}

it("asks one by itself that its runtime tells nothing of, and no other one", async () => {
  const plain = fakeRuntime({ host: at.host });
  await using maker = at.openHome({ runtime: plain });
  const ids: string[] = [];
  for (let made = 0; made < MANY; made += 1) ids.push((await maker.create(LOCAL, {}, signal)).id);
  const opened: string[] = [];
  const looked: number[] = [];
  const runtime: Runtime = {
    ...plain,
    open: (run) => (opened.push(run.id), plain.open(run)),
    async look(runs) {
      looked.push(runs.length);
      return runs.map(({ id }) => (id === ids[3] ? undefined : { phase: "paused", deadlineAction: "kill" }));
    },
  };
  await using reader = at.openHome({ runtime });
  const states = await statesOf(reader);
  expect([looked, opened]).toEqual([[MANY], [ids[3]]]);
  expect(ids.map((id) => states[id])).toEqual(ids.map((_, index) => (index === 3 ? "running" : "paused")));
  await (await maker.get(LOCAL, ids[0] ?? "")).kill();
  await statesOf(reader);
  expect([looked.length, opened.length]).toEqual([1, MANY]); // so few are asked by themselves
});

it("tells what other processes did between two lists, and that a keeper was killed", async () => {
  await using home = await makeHome();
  const open = async () => {
    const config = { sandbox: { timeoutMs: 600_000 }, listMax: 100, tombstoneRetentionMs: 60_000 };
    return createLocalSandboxes({ home: home.path, runtimes: byName(await home.open("home")), config });
  };
  await using maker = await open();
  await using reader = await open();
  const made = await Promise.all(Array.from({ length: MANY + 4 }, () => maker.create(LOCAL, {}, signal)));
  const [stopped, killed, lost, removed, ...others] = made.map(({ id }) => id);
  const isYoung = (id: string) => Date.now() - statSync(join(home.path, "sandboxes", id)).ctimeMs < SETTLED_MS;
  const untilRemembered = async () => {
    do await statesOf(reader);
    while (made.some(({ id }) => isYoung(id)));
    await statesOf(reader);
  };
  await untilRemembered();
  expect(new Set(Object.values(await statesOf(reader)))).toEqual(new Set(["running"]));
  await (await maker.get(LOCAL, stopped ?? "")).stop();
  await (await maker.get(LOCAL, killed ?? "")).kill();
  process.kill(findSpeakers(join(home.path, "sandboxes", lost ?? "")).keeper, "SIGKILL");
  const expected = { [stopped ?? ""]: "stopped", [killed ?? ""]: "ended", [lost ?? ""]: "ended", [removed ?? ""]: "running" };
  const rest = Object.fromEntries(others.map((id) => [id, "running"]));
  expect(await statesOf(reader)).toEqual({ ...expected, ...rest });
  await untilRemembered();
  await (await maker.get(LOCAL, stopped ?? "")).start(signal);
  expect(await statesOf(reader)).toEqual({ ...expected, ...rest, [stopped ?? ""]: "running" });
  await (await maker.get(LOCAL, stopped ?? "")).kill();
  await (await maker.get(LOCAL, removed ?? "")).kill();
  expect(await statesOf(reader)).toEqual({ ...expected, ...rest, [stopped ?? ""]: "ended", [removed ?? ""]: "ended" });
  await Promise.all(others.map(async (id) => (await maker.get(LOCAL, id)).kill()));
});
