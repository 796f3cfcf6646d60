import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as turn, setTimeout as after } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { errnoOf } from "../../../../src/files/file-error.ts";
import { createKeeperClient } from "../../../../src/runtime/guest/keeper-client.ts";
import { openSocket } from "../../../../src/runtime/guest/open-socket.ts";
import { LayerFolders, raisedName } from "../../../../src/runtime/namespace/states/layer-folders.ts";
import { readStack, writeStack } from "../../../../src/runtime/namespace/states/stack-file.ts";
import type { RunningSandbox } from "../../../../src/runtime/contract/run.ts";
import { type ContractSandbox, createSandbox, soon } from "../../../contract/contract-sandbox.ts";
import { guestOf as guestPid, keeperOf } from "../../../support/home-traces.ts";
import { placeOf, startRun } from "../../../support/namespace-home.ts";
import { guestOf, openRaiseLab, type RaiseLab, tell, viewOf } from "../../../support/raise-lab.ts";

/** How far a process came that took a checkpoint and was killed. */
const STEPS = ["named the layer", "raised it", "gave it its place"] as const;
const KILLS = 8;
const isRoot = process.getuid?.() === 0;
const LOOK = "cat notes first since; ls";

describe.each(["home", "tmpfs"] as const)("with storage %s", (storage) => {
  describe.each(storage === "home" ? STEPS : STEPS.slice(0, 2))("a checkpoint whose taker had %s and died", (step) => {
    it("is settled by the next one", async () => {
      await using lab = await openRaiseLab(storage);
      await using sandbox = await abandoned(lab, step);
      const frozen = await lab.freeze(sandbox);
      expect(frozen).toMatchObject({ way: "clone", layers: { length: step === STEPS[0] ? 2 : 3 } });
      expect(await tell(sandbox.guest, LOOK)).toBe(SHOWN);
      await sandbox.running.stop();
      await lab.states.rewind(sandbox.spec, frozen.layers);
      await using again = await startRun(sandbox, 2);
      expect(await tell(guestOf(again), LOOK)).toBe(SHOWN);
    });

    it("is settled before a comparison, which waits for that", async () => {
      await using lab = await openRaiseLab(storage);
      await using sandbox = await abandoned(lab, step);
      const early = lab.tell(viewOf(sandbox, sandbox.before), viewOf(sandbox));
      await expect(early).rejects.toMatchObject({ code: "RUNTIME_UNAVAILABLE" });
      expect(await lab.states.isSettled(sandbox.spec)).toBe(false);
      await lab.states.settle(sandbox.spec);
      expect(await lab.states.isSettled(sandbox.spec)).toBe(true);
      const changes = await lab.tell(viewOf(sandbox, sandbox.before), viewOf(sandbox));
      expect(changes).toEqual(["added /home/user/since", "changed /home/user/notes"]);
    });

    it("is settled by the next run", async () => {
      await using lab = await openRaiseLab(storage);
      await using sandbox = await abandoned(lab, step);
      await sandbox.running.stop();
      await using again = await startRun(sandbox, 2);
      expect(await tell(guestOf(again), LOOK)).toBe(SHOWN);
      expect((await readStack(sandbox.spec)).raises).toBeUndefined();
    });

    it("leaves nothing when the sandbox is removed", async () => {
      await using lab = await openRaiseLab(storage);
      await using sandbox = await abandoned(lab, step);
      await sandbox.running.kill("killed");
      await lab.runtime.layers.remove(sandbox.spec);
      await lab.letGo();
      expect(await readdir(join(lab.home.path, "layers"))).toEqual([]);
    });
  });

  it("nothing that was written is lost when the keeper is killed at any moment of a checkpoint", { timeout: 90_000 }, async () => {
    await using lab = await openRaiseLab(storage);
    await using sandbox = await createSandbox(lab.open);
    await sandbox.running.stop(); // from the second run on, files in memory outlive their keeper
    for (let round = 1; round <= KILLS; round++) {
      await using running = await startRun(sandbox, round + 1);
      await write(running, round);
      const frozen = lab.freeze(sandbox, { generation: round + 1 }).catch(() => undefined);
      await after(round * 1.5);
      process.kill(keeperOf(sandbox.spec.folder), "SIGKILL");
      await frozen;
      await running.ended;
    }
    await using last = await startRun(sandbox, KILLS + 2);
    expect(await tell(guestOf(last), "cat all; ls each")).toBe(written(KILLS));
  });

  it("nothing is lost when the process that raises is killed at any moment", { timeout: 90_000 }, async () => {
    await using lab = await openRaiseLab(storage);
    await using sandbox = await createSandbox(lab.open);
    let { running } = sandbox;
    let generation = 1;
    for (let round = 1; round <= KILLS; round++) {
      await write(running, round);
      const keeper = keeperOf(sandbox.spec.folder);
      const guest = guestPid(keeper);
      let isOver = false;
      const frozen = lab.freeze(sandbox, { generation }).catch(() => undefined);
      void frozen.finally(() => (isOver = true));
      const cutOff = async (): Promise<void> => {
        let helper: number | undefined;
        while (!isOver && helper === undefined) {
          helper = listed(keeper).find((pid) => pid !== guest);
          await turn();
        }
        if (helper === undefined) return;
        await after(round - 1);
        kill(helper);
      };
      await Promise.all([cutOff(), frozen]);
      const end = (await running.usage().catch(() => undefined)) ? undefined : await running.ended;
      if (end) running = await startRun(sandbox, ++generation);
      expect(await tell(guestOf(running), "cat all; ls each")).toBe(written(round));
    }
    await running.kill("killed");
  });
});

it.skipIf(!isRoot)(
  `one that fails half-way ends the run, and the next one shows all that was written${isRoot ? "" : " (skipped: needs root)"}`,
  async () => {
    await using lab = await openRaiseLab("home");
    await using sandbox = await createSandbox(lab.open);
    await write(sandbox.running, 1);
    const layer = join(sandbox.spec.folder, "layers", "root");
    execFileSync("chattr", ["+i", layer]); // what was written cannot change its place
    try {
      await expect(lab.freeze(sandbox)).rejects.toMatchObject({
        code: "RUNTIME_FAILED",
        message: expect.stringContaining("its files are kept") as string,
      });
      expect(await sandbox.running.ended).toMatchObject({ reason: "stopped", kept: true });
    } finally {
      execFileSync("chattr", ["-i", layer]);
    }
    await using again = await startRun(sandbox, 2);
    await write(again, 2);
    expect(await lab.freeze(sandbox, { generation: 2 })).toMatchObject({ way: "clone", layers: { length: 1 } });
    expect(await tell(guestOf(again), "cat all; ls each")).toBe(written(2));
  },
);

const SHOWN = "two\nfirst\nsince\nfirst\nnotes\nsince\n";

/** Quicker than a look at all processes. */
function listed(keeper: number): readonly number[] {
  return readFileSync(`/proc/${keeper}/task/${keeper}/children`, "utf8").split(" ").filter(Boolean).map(Number);
}

/** It may have been quicker. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (cause) {
    if (errnoOf(cause) !== "ESRCH") throw cause;
  }
}

async function write(running: RunningSandbox, round: number): Promise<void> {
  expect(await tell(guestOf(running), `echo ${round} >> all; mkdir -p each; touch each/${round}`)).toBe("");
}

function written(rounds: number): string {
  const numbers = Array.from({ length: rounds }, (_, i) => `${i + 1}\n`);
  return [...numbers, ...numbers].join("");
}

/** A checkpoint of `one`; then one of `two` that was cut off; then more was written. */
async function abandoned(
  lab: RaiseLab,
  step: (typeof STEPS)[number],
): Promise<ContractSandbox & { readonly before: Awaited<ReturnType<RaiseLab["freeze"]>> }> {
  const sandbox = await createSandbox(lab.open);
  await tell(sandbox.guest, "rm -f .profile .bashrc; echo one > notes; echo first > first");
  const before = await lab.freeze(sandbox);
  await tell(sandbox.guest, "echo two > notes");
  await abandon(lab, sandbox, step);
  await tell(sandbox.guest, "echo since > since");
  return { ...sandbox, before };
}

async function abandon({ home }: RaiseLab, { spec }: ContractSandbox, step: (typeof STEPS)[number]): Promise<void> {
  const folders = new LayerFolders(home.path, join(home.path, "pool"));
  const { id, kind } = await folders.begin("home", `sandbox-${spec.id}`);
  await writeStack(spec, { ...(await readStack(spec)), raises: id });
  if (step === STEPS[0]) return;
  const keeper = createKeeperClient(async (signal) => openSocket(join(placeOf(home, spec).sockets, "keeper"), signal));
  expect(await keeper.raise(id, { onlyTells: false }, soon())).toEqual(["root"]);
  if (step === STEPS[2]) await rename(join(spec.folder, "layers", raisedName(id)), folders.files({ id, kind }));
}
