import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createGuest } from "../../../../src/runtime/guest/create-guest.ts";
import type { Guest } from "../../../../src/runtime/guest/guest.ts";
import { openNamespaceRuntime } from "../../../../src/runtime/namespace/namespace-runtime.ts";
import type { RunningSandbox } from "../../../../src/runtime/contract/run.ts";
import { createSandbox, run, soon } from "../../../contract/contract-sandbox.ts";

const BINARY = join(import.meta.dirname, "../../../../native/build/belljar-native");
/** Beyond the height at which layers are merged. */
const ROUNDS = 36;

/** Each round hides something that the rounds before have made, in every way that there is. */
const round = (i: number): string =>
  [
    `mkdir -p all/kept all/turns && echo ${i} >> all/grows && echo ${i} > all/kept/${i} && rm -f all/kept/${i - 3}`,
    `rm -rf all/turns/${i % 3}`,
    i % 2 === 0 ? `mkdir all/turns/${i % 3} && echo ${i} > all/turns/${i % 3}/file` : `echo ${i} > all/turns/${i % 3}`,
    `rm -rf all/again && mkdir all/again && echo ${i} > all/again/${i} && ln -f all/again/${i} all/again/second`,
    `sudo rm -rf /opt/made /etc/hosts.d && rm -f .profile && chmod ${i % 2 === 0 ? 700 : 755} all/kept`,
  ].join(" && ");

const LOOK = `cd all && find . \\( -type d -printf '%p %m\\n' -o -printf '%p %y %m %n %l\\n' \\) | LC_ALL=C sort; cat grows kept/* turns/* turns/*/file again/* 2>/dev/null; ls -d ../.profile 2>&1`;

async function look(guest: Guest): Promise<string> {
  return (await run(guest, LOOK)).stdout.toString();
}

it("a sandbox is frozen and put back as often as one likes, and shows what it had", async () => {
  const home = await mkdtemp(join(tmpdir(), "belljar-stack-"));
  try {
    const runtime = await openNamespaceRuntime({ home, runtimeDirectory: join(home, "run"), storage: "home", binary: BINARY });
    const states = runtime.layers.states;
    if (!states) throw new Error("The runtime has no states");
    await using sandbox = await createSandbox(async () => runtime);
    const guestOf = (running: RunningSandbox): Guest => createGuest((signal) => running.connect(signal), { ended: running.ended });
    let { running } = sandbox;
    let layers: readonly string[] = [];
    const heights: number[] = [];
    for (let i = 1; i <= ROUNDS; i++) {
      expect((await run(guestOf(running), round(i).replace("sudo ", ""))).stderr.toString()).toBe("");
      const before = await look(guestOf(running));
      const frozen = await states.freeze(
        { run: { ...sandbox.spec, generation: i }, isRunning: true, durable: false, isOwn: false, user: `round-${i}` },
        soon(),
      );
      heights.push(frozen.layers.length);
      await running.stop();
      await states.rewind({ ...sandbox.spec, generation: i }, frozen.layers);
      await states.letGo(layers, `round-${i - 1}`);
      ({ layers } = frozen);
      running = await runtime.create({ ...sandbox.spec, generation: i + 1 }, soon());
      expect(await look(guestOf(running))).toBe(before);
    }
    expect(Math.max(...heights)).toBeLessThan(ROUNDS);
    expect(heights.at(-1)).toBeLessThan(heights[ROUNDS - 6] ?? 0);
    await running.kill("killed");
    await runtime.layers.remove({ ...sandbox.spec, generation: ROUNDS + 1 });
    await states.letGo(layers, `round-${ROUNDS}`);
    expect(await readdir(join(home, "layers"))).toEqual([]);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});
