import { describe, expect, it } from "vitest";
import { createGuest } from "../../src/runtime/guest/create-guest.ts";
import type { Guest } from "../../src/runtime/guest/guest.ts";
import type { RunningSandbox } from "../../src/runtime/contract/run.ts";
import type { FrozenState, StateStore } from "../../src/runtime/contract/state-store.ts";
import { piecesOf, tarArchive } from "../support/tar-archive.ts";
import { type ContractFeatures, type ContractSandbox, createSandbox, itNeeds, type OpenRuntime, run, soon } from "./contract-sandbox.ts";

/** Frozen states of what a sandbox wrote: they are kept, started from, and put back. */
export function statesContract(open: OpenRuntime, features: ContractFeatures): void {
  describe("a frozen state", () => {
    itNeeds(features, "states")("is what a sandbox had written at that moment, and another one starts with it", async () => {
      await using sandbox = await createSandbox(open);
      await using kept = await freezeText(sandbox, "first");
      await write(sandbox.guest, "second");
      for (const _ of [1, 2]) {
        await using fork = await createSandbox(open, { base: { template: "base", layers: kept.layers } });
        expect(await contentOf(fork.guest)).toBe("first");
        await write(fork.guest, "fork's own");
      }
      expect(await contentOf(sandbox.guest)).toBe("second");
    });

    itNeeds(features, "states")("has folders, links, modes, owners, attributes, holes and removals as they were", async () => {
      await using sandbox = await createSandbox(open);
      const seen = (guest: Guest) => look(guest);
      await run(sandbox.guest, MAKE_ALL);
      const before = await seen(sandbox.guest);
      await using kept = await freeze(sandbox);
      await run(sandbox.guest, "chmod -R u+rwx all; rm -rf all");
      await using fork = await createSandbox(open, { base: { template: "base", layers: kept.layers } });
      expect(await seen(fork.guest)).toBe(before);
      expect((await run(fork.guest, "ls -d .profile")).exitCode).not.toBe(0);
    });

    itNeeds(features, "states")("is taken in the way that the runtime tells beforehand", async () => {
      await using sandbox = await createSandbox(open);
      await using kept = await freezeText(sandbox, "kept");
      expect(need(sandbox.runtime.layers.states).way(sandbox.spec)).toBe(kept.way);
      expect(kept.copyReason).toBe(kept.way === "copy" ? "durable" : undefined);
      expect((await sandbox.runtime.probe()).states).not.toBe("none");
    });

    itNeeds(features, "states")("lies on files of the host that have a mark, and keep it", async () => {
      await using sandbox = await createSandbox(open);
      const states = need(sandbox.runtime.layers.states);
      const mark = states.markBase(sandbox.spec.base.template);
      expect(mark).toMatch(/^.{1,100}$/);
      expect(states.markBase(sandbox.spec.base.template)).toBe(mark);
      expect(states.markBase("no such template")).toBeUndefined();
    });

    itNeeds(features, "states")("is there when its sandbox is gone, and goes with its last user", async () => {
      const { runtime, kept } = await (async () => {
        await using sandbox = await createSandbox(open);
        return { ...sandbox, kept: await freezeText(sandbox, "kept") };
      })();
      const states = need(runtime.layers.states);
      {
        await using fork = await createSandbox(open, { base: { template: "base", layers: kept.layers } });
        await states.letGo(kept.layers, USER);
        expect(await contentOf(fork.guest)).toBe("kept");
        await fork.running.kill("killed");
        await fork.runtime.layers.remove(fork.spec);
      }
      const lost = { code: "SANDBOX_FILES_LOST" };
      await expect(states.hold(kept.layers, USER)).rejects.toMatchObject(lost);
      await expect(createSandbox(open, { base: { template: "base", layers: kept.layers } })).rejects.toMatchObject(lost);
    });

    itNeeds(features, "states")("of a stopped sandbox is the same", async () => {
      await using sandbox = await createSandbox(open);
      await write(sandbox.guest, "stopped");
      await sandbox.running.stop();
      await using kept = await freeze(sandbox, { isRunning: false });
      expect(kept.copyReason).toBe(kept.way === "copy" ? "stopped" : undefined);
      await using fork = await createSandbox(open, { base: { template: "base", layers: kept.layers } });
      expect(await contentOf(fork.guest)).toBe("stopped");
    });

    itNeeds(features, "states")("can lie on others, and each is deleted in any order", async () => {
      await using first = await createSandbox(open);
      const states = need(first.runtime.layers.states);
      const one = await freezeText(first, "one");
      await using second = await createSandbox(open, { base: { template: "base", layers: one.layers } });
      await run(second.guest, "rm notes; mkdir -p deep/er; echo two > deep/er/file");
      const two = await freeze(second);
      await states.letGo(one.layers, USER);
      await first.running.kill("killed");
      await first.runtime.layers.remove(first.spec);
      await using third = await createSandbox(open, { base: { template: "base", layers: two.layers } });
      await second.running.kill("killed");
      await second.runtime.layers.remove(second.spec);
      await two[Symbol.asyncDispose]();
      expect(
        (
          await run(
            third.guest,
            'cat deep/er/file; ls notes; python3 -c \'import os; os.rename("deep", "moved"); os.rename("moved/er", "er")\' && cat er/file',
          )
        ).stdout.toString(),
      ).toBe("two\ntwo\n");
    });

    itNeeds(features, "states")("is put back, as often as one likes, and what was written since is gone", async () => {
      await using sandbox = await createSandbox(open);
      const states = need(sandbox.runtime.layers.states);
      await using kept = await freezeText(sandbox, "first");
      let { running } = sandbox;
      for (const generation of [2, 3]) {
        await run(guestOf(running), "rm -rf notes; mkdir notes; echo x > notes/x; echo y > other");
        await running.stop();
        await states.rewind(sandbox.spec, kept.layers);
        running = await sandbox.runtime.create({ ...sandbox.spec, generation }, soon());
        expect(await contentOf(guestOf(running))).toBe("first");
        expect((await run(guestOf(running), "ls other")).exitCode).not.toBe(0);
      }
      await running.stop();
      running = await sandbox.runtime.create({ ...sandbox.spec, generation: 4 }, soon());
      expect(await contentOf(guestOf(running))).toBe("first");
      await running.kill("killed");
    });

    itNeeds(features, "states")("of the sandbox's own is put back, with nothing and with a program alive", async () => {
      await using sandbox = await createSandbox(open);
      const states = need(sandbox.runtime.layers.states);
      const points: Kept[] = [];
      try {
        for (const text of ["one", "two", "three"]) {
          await run(sandbox.guest, `echo ${text} > notes; mkdir -p ${text}/folder; rm -rf .profile`);
          if (text === "two") await run(sandbox.guest, "sleep 1000 > /dev/null 2>&1 & echo $! > /tmp/pid");
          points.push(await freeze(sandbox, { isOwn: true }));
          if (text === "two") await run(sandbox.guest, "kill $(cat /tmp/pid); while [ -e /proc/$(cat /tmp/pid) ]; do sleep 0.01; done");
        }
        let { running } = sandbox;
        for (const [i, text] of ["one", "two", "three"].entries()) {
          await running.stop();
          await states.rewind({ ...sandbox.spec, generation: i + 1 }, points[i]?.layers ?? []);
          running = await sandbox.runtime.create({ ...sandbox.spec, generation: i + 2 }, soon());
          const { stdout } = await run(guestOf(running), "cat notes; ls -d */folder | wc -l");
          expect(stdout.toString()).toBe(`${text}\n${i + 1}\n`);
        }
        await running.kill("killed");
      } finally {
        for (const point of points) await point[Symbol.asyncDispose]();
      }
    });

    itNeeds(features, "states")("is not put back while a run lives", async () => {
      await using sandbox = await createSandbox(open);
      await using kept = await freezeText(sandbox, "first");
      await write(sandbox.guest, "second");
      await expect(need(sandbox.runtime.layers.states).rewind(sandbox.spec, kept.layers)).rejects.toMatchObject({
        code: "RUNTIME_UNAVAILABLE",
      });
      expect(await contentOf(sandbox.guest)).toBe("second");
    });

    itNeeds(features, "states")("is made of a layer of an image, on which sandboxes start, and goes with its last user", async () => {
      const states = need((await open()).layers.states);
      const hidden = { name: "etc/.wh.hostname" };
      const entries = [{ name: "etc/from-image", content: "of the image" }, { name: "etc/profile", type: "folder" } as const, hidden];
      const archive = tarArchive(...entries);
      const limits = { user: USER, maxBytes: 100, maxEntries: 4 };
      const { layer, ...counts } = await states.unpack({ tar: piecesOf(archive, 700), ...limits }, soon());
      expect(counts).toEqual({ bytes: 12, entries: 4, skipped: 0 }); // one more: the folder of all of them
      {
        await using sandbox = await createSandbox(open, { base: { template: "base", layers: [layer] } });
        const { stdout } = await run(sandbox.guest, "cat /etc/from-image; ls -d /etc/hostname /etc/profile");
        expect(stdout.toString()).toBe("of the image/etc/profile\n");
        await write(sandbox.guest, "own");
        await using kept = await freeze(sandbox);
        expect(kept.layers.at(-1)).toBe(layer);
      }
      await states.letGo([layer], USER);
      expect(await states.has([layer])).toBe(false);
      await expect(states.unpack({ tar: piecesOf(archive), ...limits, maxBytes: 11 }, soon())).rejects.toMatchObject({
        code: "IMAGE_TOO_LARGE",
      });
    });

    itNeeds(features, "states")("is not made when its caller has gone", async () => {
      await using sandbox = await createSandbox(open);
      const request = { run: sandbox.spec, isRunning: true, durable: false, isOwn: false, user: USER };
      const frozen = need(sandbox.runtime.layers.states).freeze(request, AbortSignal.abort());
      await expect(frozen).rejects.toMatchObject({ code: "CANCELLED" });
    });
  });

  it.skipIf(features.states)(`is refused where states are not frozen${features.states ? " (skipped: they are)" : ""}`, async () => {
    const { layers } = await open();
    expect(layers.states).toBeUndefined();
    await expect(layers.describe({ template: "base", layers: ["none"] })).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
  });
}

const USER = "contract";
/** As an ordinary user with one id, attributes of others are not there. */
const MAKE_ALL = [
  "rm -f .profile",
  "mkdir -p all/sub 'all/with space' && cd all",
  "echo content > file && ln file hard && ln -s ../nowhere link && mkfifo fifo && chmod 6755 file && chmod 500 sub",
  "truncate -s 300M sparse && printf end >> sparse",
  `touch "$(printf '%0255d' 0)" "$(printf 'new\\nline')" && touch -d @1234567890.123456789 old`,
  'python3 -c \'import os; os.setxattr("file", "user.colour", b"blue")\'',
].join("; ");

function look(guest: Guest): Promise<string> {
  const list =
    "cd all && find . -mindepth 1 \\( -type d -printf '%p %m %u %g %T@\\n' -o -printf '%p %y %m %u %g %s %n %T@ %l\\n' \\) | LC_ALL=C sort; cat file; du -k sparse | awk '{print ($1 < 1024)}'";
  const more = 'python3 -c \'import os; print(os.getxattr("file", "user.colour"), os.stat("file").st_ino == os.stat("hard").st_ino)\'';
  return run(guest, `${list}; ${more}`).then(({ stdout }) => stdout.toString());
}

function need(states: StateStore | undefined): StateStore {
  if (!states) throw new Error("The runtime has no states");
  return states;
}

type Kept = FrozenState & AsyncDisposable;

/** For everybody and on the disk, or for its sandbox alone. */
async function freeze({ runtime, spec }: ContractSandbox, { isRunning = true, isOwn = false } = {}): Promise<Kept> {
  const states = need(runtime.layers.states);
  const frozen = await states.freeze({ run: spec, isRunning, durable: !isOwn, isOwn, user: USER }, soon());
  return { ...frozen, [Symbol.asyncDispose]: () => states.letGo(frozen.layers, USER) };
}

async function freezeText(sandbox: ContractSandbox, text: string): Promise<Kept> {
  await write(sandbox.guest, text);
  return freeze(sandbox);
}

async function write(guest: Guest, text: string): Promise<void> {
  await guest.files.write("notes", text, { signal: soon() });
}

async function contentOf(guest: Guest): Promise<string> {
  return (await guest.files.read("notes", { signal: soon() })).toString();
}

function guestOf(running: RunningSandbox): Guest {
  return createGuest((signal) => running.connect(signal), { ended: running.ended });
}
