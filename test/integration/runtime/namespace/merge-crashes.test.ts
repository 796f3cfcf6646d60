import { mkdir, readdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createKeeperClient } from "../../../../src/runtime/guest/keeper-client.ts";
import { openSocket } from "../../../../src/runtime/guest/open-socket.ts";
import { createLayerId, raisedName } from "../../../../src/runtime/namespace/states/layer-folders.ts";
import { gapsOf } from "../../../../src/runtime/namespace/states/merge-plan.ts";
import { readStack, writeStack } from "../../../../src/runtime/namespace/states/stack-file.ts";
import { type ContractSandbox, createSandbox, soon } from "../../../contract/contract-sandbox.ts";
import { keeperOf } from "../../../support/home-traces.ts";
import { fillers, foldersOf, freezeEach, waitForMerged, WIDTH } from "../../../support/merge-lab.ts";
import { placeOf, startRun } from "../../../support/namespace-home.ts";
import { guestOf, openRaiseLab, type RaiseLab, tell } from "../../../support/raise-lab.ts";

/** How far a process came that merged layers and was killed. */
const MERGING = ["named the layer", "made its folder", "made a part of it"] as const;
/** How far one came whose raise takes a merged layer. */
const TAKING = ["named the raise", "moved the merged layer", "raised it"] as const;
const KILLS = 8;
const LOOK = "cat notes; LC_ALL=C ls";

describe.each(["home", "tmpfs"] as const)("with storage %s", (storage) => {
  describe.each(storage === "home" ? MERGING : MERGING.slice(0, 2))("a merge whose process had %s and died", (step) => {
    it("is begun again, and nothing of the first one is left", async () => {
      await using lab = await openRaiseLab(storage);
      await using sandbox = await createSandbox(lab.open);
      await freezeEach(lab, sandbox, fillers(WIDTH - 1));
      const layer = await abandonMerge(lab, sandbox, step);
      const shown = await tell(sandbox.guest, "LC_ALL=C ls");
      await lab.freeze(sandbox);
      expect((await waitForMerged(lab, sandbox)).layer).not.toBe(layer);
      expect(await lab.freeze(sandbox)).toMatchObject({ way: "clone", layers: { length: 2 } });
      expect(await tell(sandbox.guest, "LC_ALL=C ls")).toBe(shown);
      await expect.poll(() => readdir(join(lab.home.path, "layers"))).not.toContain(layer);
    });

    it("leaves nothing when the sandbox is removed", async () => {
      await using lab = await openRaiseLab(storage);
      await using sandbox = await createSandbox(lab.open);
      await freezeEach(lab, sandbox, fillers(WIDTH - 1));
      await abandonMerge(lab, sandbox, step);
      await expectNothing(lab, sandbox);
    });
  });

  describe.each(storage === "home" ? TAKING : [TAKING[0], TAKING[2]])(
    "a checkpoint that takes a merged layer, whose taker had %s and died",
    (step) => {
      const height = step === "raised it" ? 2 : 1;

      it("is settled by the next one", async () => {
        await using lab = await openRaiseLab(storage);
        await using sandbox = await abandonedRaise(lab, step);
        const { layer } = sandbox.merges;
        const next = await lab.freeze(sandbox);
        expect(next).toMatchObject({ way: "clone", layers: { length: height + 1 } });
        expect(next.layers.at(-1)).toBe(layer);
        expect((await readStack(sandbox.spec)).merges).toBeUndefined();
        expect(await tell(sandbox.guest, LOOK)).toBe(sandbox.shown);
        await lab.letGo();
        const left = (): Promise<readonly string[]> => readdir(join(lab.home.path, "layers"));
        await expect.poll(async () => (await left()).filter((id) => sandbox.merges.of.includes(id))).toEqual([]);
        await sandbox.running.stop();
        await using again = await startRun(sandbox, 2);
        expect(await tell(guestOf(again), LOOK)).toBe(sandbox.shown);
      });

      it("is settled by the next run", async () => {
        await using lab = await openRaiseLab(storage);
        await using sandbox = await abandonedRaise(lab, step);
        await sandbox.running.stop();
        await using again = await startRun(sandbox, 2);
        expect(await tell(guestOf(again), LOOK)).toBe(sandbox.shown);
        expect(await lab.freeze(sandbox, { generation: 2 })).toMatchObject({ way: "clone", layers: { length: height + 1 } });
        expect(await tell(guestOf(again), LOOK)).toBe(sandbox.shown);
      });

      it("leaves nothing when the sandbox is removed", async () => {
        await using lab = await openRaiseLab(storage);
        await using sandbox = await abandonedRaise(lab, step);
        await expectNothing(lab, sandbox);
      });
    },
  );

  it("what a taker has not let go of that died is let go of by the next one", async () => {
    await using lab = await openRaiseLab(storage);
    await using sandbox = await createSandbox(lab.open);
    await freezeEach(lab, sandbox, fillers(WIDTH));
    const { of } = await waitForMerged(lab, sandbox);
    await lab.freeze(sandbox);
    expect((await readStack(sandbox.spec)).past).toEqual(of);
    for (const id of of) await foldersOf(lab).addUser(id, `sandbox-${sandbox.spec.id}`);
    await lab.freeze(sandbox);
    expect((await readStack(sandbox.spec)).past).toBeUndefined();
    await lab.letGo();
    await expect.poll(() => readdir(join(lab.home.path, "layers"))).toEqual(expect.not.arrayContaining([of[0], of.at(-1)]));
    expect(await tell(sandbox.guest, "ls filler-* | wc -l")).toBe(`${WIDTH}\n`);
  });

  it("nothing is lost when the keeper is killed at any moment of a raise that takes a merged layer", { timeout: 180_000 }, async () => {
    await using lab = await openRaiseLab(storage);
    await using sandbox = await createSandbox(lab.open);
    await sandbox.running.stop(); // from the second run on, files in memory outlive their keeper
    let count = 0;
    for (let round = 1; round <= KILLS; round++) {
      const generation = round + 1;
      await using running = await startRun(sandbox, generation);
      do {
        await tell(guestOf(running), `echo ${++count} >> all; touch each-${count}`);
        await lab.freeze(sandbox, { generation });
      } while (!(await readStack(sandbox.spec)).merges);
      await waitForMerged(lab, sandbox);
      await tell(guestOf(running), `echo ${++count} >> all; touch each-${count}`);
      const frozen = lab.freeze(sandbox, { generation }).catch(() => undefined);
      await after(round * 2);
      process.kill(keeperOf(sandbox.spec.folder), "SIGKILL");
      await frozen;
      await running.ended;
    }
    await using last = await startRun(sandbox, KILLS + 2);
    const numbers = Array.from({ length: count }, (_, i) => `${i + 1}\n`).join("");
    expect(await tell(guestOf(last), "cat all; ls each-* | wc -l")).toBe(`${numbers}${count}\n`);
    await last.kill("killed");
  });
});

async function abandonMerge(lab: RaiseLab, { spec }: ContractSandbox, step: (typeof MERGING)[number]): Promise<string> {
  const folders = foldersOf(lab);
  const stack = await readStack(spec);
  const layer = createLayerId();
  await writeStack(spec, { ...stack, merges: { layer, of: stack.below } });
  if (step === MERGING[0]) return layer;
  await folders.begin("home", `sandbox-${spec.id}`, layer);
  if (step === MERGING[1]) return layer;
  const upper = join(folders.files({ id: layer, kind: "home" }), "root", "upper");
  await mkdir(upper, { recursive: true });
  await writeFile(join(upper, "part"), "part");
  return layer;
}

/** A merged layer is there; then a raise that takes it was cut off; then more was written. */
async function abandonedRaise(lab: RaiseLab, step: (typeof TAKING)[number]) {
  const sandbox = await createSandbox(lab.open);
  await tell(sandbox.guest, "rm -f .profile .bashrc .bash_logout");
  await freezeEach(lab, sandbox, fillers(WIDTH));
  const merges = await waitForMerged(lab, sandbox);
  await tell(sandbox.guest, "echo before > notes");
  await abandonRaise(lab, sandbox, step);
  await tell(sandbox.guest, "echo since >> notes");
  const names = Array.from({ length: WIDTH }, (_, i) => `filler-${i}\n`).join("");
  return { ...sandbox, merges, shown: `before\nsince\n${names}notes\n` };
}

async function abandonRaise(lab: RaiseLab, { spec }: ContractSandbox, step: (typeof TAKING)[number]): Promise<void> {
  const folders = foldersOf(lab);
  const stack = await readStack(spec);
  const { merges, below } = stack;
  if (!merges) throw new Error("no layers are merged");
  const { id } = await folders.begin("home", `sandbox-${spec.id}`);
  await writeStack(spec, { ...stack, raises: id, takesMerged: true });
  if (step === TAKING[0]) return;
  const { kind } = await folders.facts(merges.layer);
  if (kind === "home") await rename(folders.files({ id: merges.layer, kind }), join(spec.folder, "layers", raisedName(merges.layer)));
  if (step === TAKING[1]) return;
  const merged = gapsOf(await Promise.all(below.map((one) => folders.facts(one))), merges);
  const keeper = createKeeperClient(async (signal) => openSocket(join(placeOf(lab.home, spec).sockets, "keeper"), signal));
  expect(await keeper.raise(id, { onlyTells: false, merged }, soon())).toEqual(["root"]);
}

async function expectNothing(lab: RaiseLab, { running, spec }: ContractSandbox): Promise<void> {
  await running.kill("killed");
  await lab.runtime.layers.remove(spec);
  await lab.letGo();
  await expect.poll(() => readdir(join(lab.home.path, "layers"))).toEqual([]);
}
