import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, rm, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { clearFolder } from "../../../../src/runtime/namespace/clear-folder.ts";
import { encodeClearSpec } from "../../../../src/runtime/namespace/jail-spec.ts";
import { runFolder } from "../../../../src/runtime/namespace/run-paths.ts";
import type { Run } from "../../../../src/runtime/contract/run.ts";
import { type ContractSandbox, createSandbox, soon } from "../../../contract/contract-sandbox.ts";
import { freeze, hideSocket } from "../../../support/freeze.ts";
import { guestOf, keeperOf, untilThere } from "../../../support/home-traces.ts";
import { BINARY, guestIn, type Home, makeHome, placeOf, startRun } from "../../../support/namespace-home.ts";

/** A sandbox that was stopped, in a home of its own. */
async function stopOne(home: Home): Promise<ContractSandbox> {
  const runtime = await home.open("home");
  const sandbox = await createSandbox(async () => runtime);
  await sandbox.guest.files.write("kept", "x", { signal: soon() });
  await sandbox.running.stop();
  return sandbox;
}

/** Nobody can write the end of this run until the folder that this makes is removed. */
async function blockEnd(run: Run): Promise<string> {
  const blocker = join(runFolder(run), "end.json.new");
  await rm(blocker, { force: true });
  await mkdir(blocker, { recursive: true });
  return blocker;
}

async function expectKept(sandbox: ContractSandbox, generation: number): Promise<void> {
  await using again = await startRun(sandbox, generation);
  expect((await guestIn(again).files.read("kept", { signal: soon() })).toString()).toBe("x");
}

const failed = { code: "RUNTIME_FAILED" };

it("a lost run whose end cannot be written is not told as over, and leaves the files that a stop kept", async () => {
  await using home = await makeHome();
  await using sandbox = await stopOne(home);
  const second = { ...sandbox.spec, generation: 2 };
  const running = await startRun(sandbox, 2);
  await running.release();
  const blocker = await blockEnd(second);
  process.kill(keeperOf(sandbox.spec.folder), "SIGKILL");
  const clear = clearFolder(BINARY, encodeClearSpec(placeOf(home, second), { keeper: "gone", removesLayers: false }));
  await expect(clear).rejects.toMatchObject({ ...failed, message: expect.stringContaining("write the reason of the sandbox's end") });
  await expect(sandbox.runtime.clear(second)).rejects.toMatchObject(failed);
  await rmdir(blocker);
  expect(await sandbox.runtime.clear(second)).toMatchObject({ kept: true });
  await expectKept(sandbox, 3);
});

it("a run that ends by itself, and whose end cannot be written, leaves the files that a stop kept", async () => {
  await using home = await makeHome();
  await using sandbox = await stopOne(home);
  await using second = await startRun(sandbox, 2);
  await using watched = await sandbox.runtime.open({ ...sandbox.spec, generation: 2 });
  for (let answers = 0; answers < 2; answers += 1) await watched?.usage(); // by then the keeper has the watch, which begins with the first
  const blocker = await blockEnd({ ...sandbox.spec, generation: 2 });
  await second.release();
  process.kill(guestOf(keeperOf(sandbox.spec.folder)), "SIGKILL");
  expect(await watched?.ended).toMatchObject({ reason: "killed", kept: true });
  await rmdir(blocker);
  await expectKept(sandbox, 3);
});

it("a start that has no room for its end tells so, and leaves the files that a stop kept", async () => {
  await using home = await makeHome();
  await using sandbox = await stopOne(home);
  const second = { ...sandbox.spec, generation: 2 };
  const blocker = await blockEnd(second);
  await expect(startRun(sandbox, 2)).rejects.toMatchObject({ message: expect.stringContaining("reserve the room for the sandbox's end") });
  await expect(sandbox.runtime.clear(second)).rejects.toMatchObject(failed);
  await rmdir(blocker);
  expect(await sandbox.runtime.clear(second)).toMatchObject({ kept: true });
  await expectKept(sandbox, 3);
});

it.each(['{"reason":"unheard of","at":1,"kept":true}', "null"])(
  "the end of a first run that says %j is told as over to nobody, and its files stay",
  async (text) => {
    await using home = await makeHome();
    await using sandbox = await stopOne(home);
    const end = join(runFolder(sandbox.spec), "end.json");
    await writeFile(end, text);
    await expect(sandbox.runtime.clear(sandbox.spec)).rejects.toMatchObject(failed);
    await rm(end);
    expect(await sandbox.runtime.clear(sandbox.spec)).toMatchObject({ reason: "host_lost" });
    await expectKept(sandbox, 2);
  },
);

it.each(["", " ".repeat(127) + "\n"])("an end that a power cut has left as %j is none, and the files stay", async (text) => {
  await using home = await makeHome();
  await using sandbox = await stopOne(home);
  await writeFile(join(runFolder(sandbox.spec), "end.json"), text);
  expect(await sandbox.runtime.clear(sandbox.spec)).toMatchObject({ reason: "host_lost" });
  await expectKept(sandbox, 2);
});

it("a run whose silent keeper is gone was killed, whoever writes its end", async () => {
  await using home = await makeHome();
  const runtime = await home.open("home");
  await using sandbox = await createSandbox(async () => runtime);
  await using watched = await runtime.open(sandbox.spec);
  for (let answers = 0; answers < 2; answers += 1) await watched?.usage(); // by then the keeper has the watch
  const keeper = keeperOf(sandbox.spec.folder);
  const place = placeOf(home, sandbox.spec);
  await using _frozen = await freeze(keeper);
  // Who cannot find the keeper waits for its lock. It is killed there, so that somebody else finds the keeper gone.
  await using _hidden = await hideSocket(join(place.sockets, "keeper"));
  const killer = spawn(BINARY, ["clear"], { stdio: ["pipe", "ignore", "inherit"], env: {} });
  killer.stdin.end(encodeClearSpec(place, { keeper: "silent", removesLayers: true }));
  await untilThere(place.folder, "end.json.killed");
  killer.kill("SIGKILL");
  await once(killer, "exit");
  process.kill(keeper, "SIGKILL");
  expect(await watched?.ended).toMatchObject({ reason: "killed" });
  expect(await readdir(place.folder)).toEqual(["end.json"]);
});
