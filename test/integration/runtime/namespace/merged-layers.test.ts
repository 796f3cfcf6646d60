import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { STACK_FULL } from "../../../../src/runtime/namespace/states/raised-layers.ts";
import { readStack } from "../../../../src/runtime/namespace/states/stack-file.ts";
import { createSandbox, run } from "../../../contract/contract-sandbox.ts";
import { fillers, freezeEach, waitForMerged, WIDTH } from "../../../support/merge-lab.ts";
import { startRun } from "../../../support/namespace-home.ts";
import { guestOf, openRaiseLab, tell, viewOf } from "../../../support/raise-lab.ts";

const MANY = 110;

describe.each(["home", "tmpfs"] as const)("with storage %s", (storage) => {
  it("each of very many checkpoints is a raise, and each state stays what it was", { timeout: 180_000 }, async () => {
    await using lab = await openRaiseLab(storage);
    await using sandbox = await createSandbox(lab.open);
    await run(sandbox.guest, "rm -f .profile .bashrc .bash_logout");
    const script = (i: number): string => `cd /home/user; echo ${i} > now; echo ${i} > own-${i}; rm -f own-${i - 3}`;
    const states = await freezeEach(
      lab,
      sandbox,
      Array.from({ length: MANY }, (_, i) => script(i)),
    );
    expect(new Set(states.map(({ way }) => way))).toEqual(new Set(["clone"]));
    // A machine that is busy merges late, but before the stack is full.
    expect(Math.max(...states.map(({ layers }) => layers.length))).toBeLessThanOrEqual(STACK_FULL + 1);
    for (const i of [4, 7, 50, 108])
      expect(await lab.tell(viewOf(sandbox, states[i]), viewOf(sandbox, states[i + 1]))).toEqual([
        `added /home/user/own-${i + 1}`,
        "changed /home/user/now",
        `removed /home/user/own-${i - 2}`,
      ]);
    expect(await lab.tell(viewOf(sandbox, states[109]), viewOf(sandbox))).toEqual([]);
    let { running } = sandbox;
    for (const [round, i] of [3, 60, 109].entries()) {
      await running.stop();
      await lab.states.rewind({ ...sandbox.spec, generation: round + 1 }, states[i]?.layers ?? []);
      running = await startRun(sandbox, round + 2);
      const own = [i - 2, i - 1, i].map((n) => `own-${n}\n`).toSorted();
      expect(await tell(guestOf(running), "cat now; LC_ALL=C ls")).toBe(`${i}\nnow\n${own.join("")}`);
    }
    await running.kill("killed");
  });

  it("one layer shows all that several showed", async () => {
    await using lab = await openRaiseLab(storage);
    await using sandbox = await createSandbox(lab.open);
    await freezeEach(lab, sandbox, CHANGES);
    const before = await tell(sandbox.guest, LOOK);
    const last = await lab.freeze(sandbox);
    const { layer, of } = await waitForMerged(lab, sandbox);
    expect(await tell(sandbox.guest, LOOK)).toBe(before);
    const taken = await lab.freeze(sandbox);
    expect(taken.layers).toEqual([taken.layers[0], ...last.layers.slice(0, last.layers.indexOf(of[0] ?? "")), layer]);
    expect(await tell(sandbox.guest, LOOK)).toBe(before);
    expect(await lab.tell(viewOf(sandbox, last), viewOf(sandbox, taken))).toEqual([]);
    await sandbox.running.stop();
    await using again = await startRun(sandbox, 2);
    expect(await tell(guestOf(again), LOOK)).toBe(before);
    await using copied = await lab.copy({ ...sandbox, spec: { ...sandbox.spec, generation: 2 } });
    await using fork = await createSandbox(lab.open, { base: { template: "base", layers: copied.layers } });
    expect(await tell(fork.guest, LOOK)).toBe(before);
  });

  it("what is written after a merge is in no state from before it", async () => {
    await using lab = await openRaiseLab(storage);
    await using sandbox = await createSandbox(lab.open);
    const [first] = await freezeEach(lab, sandbox, [
      "cd /home/user; echo old > file; ln file same; mkdir folder; echo old > folder/file",
      ...fillers(WIDTH - 1),
    ]);
    await waitForMerged(lab, sandbox);
    await lab.freeze(sandbox);
    await run(
      sandbox.guest,
      "echo more >> file; chmod 600 same; touch folder/file; setfattr -n user.x -v y folder 2> /dev/null; rm -r folder",
      {
        user: "root",
      },
    );
    await sandbox.running.stop();
    await lab.states.rewind(sandbox.spec, first?.layers ?? []);
    await using again = await startRun(sandbox, 2);
    expect(await tell(guestOf(again), "cat file folder/file; stat -c %a same")).toBe("old\nold\n644\n");
  });

  it("checkpoints are removed in any order, and leave nothing", async () => {
    await using lab = await openRaiseLab(storage);
    const layers = join(lab.home.path, "layers");
    {
      await using sandbox = await createSandbox(lab.open);
      const states = await freezeEach(lab, sandbox, fillers(3 * WIDTH));
      const shown = await tell(sandbox.guest, "LC_ALL=C ls");
      for (const { layers: used } of shuffled(states)) await lab.states.letGo(used, "raised");
      const { below, merges } = await readStack(sandbox.spec);
      await expect.poll(() => readdir(layers).then(sorted)).toEqual(sorted([...below, ...(merges ? [merges.layer] : [])]));
      expect(await tell(sandbox.guest, "LC_ALL=C ls")).toBe(shown);
      await lab.freeze(sandbox);
      expect(await tell(sandbox.guest, "LC_ALL=C ls")).toBe(shown);
    }
    await lab.letGo();
    await expect.poll(() => readdir(layers)).toEqual([]);
  });

  it("a state from before a merge stays after all others and the sandbox's present layers are gone", async () => {
    await using lab = await openRaiseLab(storage);
    await using sandbox = await createSandbox(lab.open);
    const [, middle] = await freezeEach(lab, sandbox, fillers(WIDTH));
    await waitForMerged(lab, sandbox);
    await lab.freeze(sandbox);
    await lab.states.hold(middle?.layers ?? [], "kept");
    await lab.letGo();
    await sandbox.running.stop();
    await lab.states.rewind(sandbox.spec, middle?.layers ?? []);
    await using again = await startRun(sandbox, 2);
    expect(await tell(guestOf(again), "ls filler-*")).toBe("filler-0\nfiller-1\n");
    await lab.states.letGo(middle?.layers ?? [], "kept");
  });
});

function sorted(names: readonly string[]): readonly string[] {
  return names.toSorted();
}

/** Always the same order, with no system in it. */
function shuffled<Item>(items: readonly Item[]): readonly Item[] {
  return items
    .map((item, i) => ({ item, at: (i * 7 + 3) % items.length }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

const SET = (path: string, value: string): string => `python3 -c 'import os; os.setxattr("${path}", "user.mark", b"${value}")'`;
/** Everything that a layer can have over another one: each changes what those before it have made. */
const CHANGES = [
  "mkdir -p /t/a/b /t/gone/deep; echo z > /t/removed; mkdir -p /t/opaque /t/kept; echo 1 > /t/a/b/file; ln /t/a/b/file /t/hard; ln -s a /t/link; echo x > /t/gone/deep/x; echo x > /t/opaque/x; echo k > /t/kept/k; mkdir -p /usr/own/deep; echo x > /usr/own/deep/x; chown -R 1000 /t/a",
  `${SET("/t/a/b/file", "one")}; ${SET("/t/kept", "one")}; truncate -s 1M /t/sparse; echo end >> /t/sparse; mkfifo /t/fifo; chmod 4755 /t/hard; touch -d @1234567890 /t/old`,
  "rm /t/removed; rm -r /t/gone; rm -r /t/opaque; mkdir /t/opaque; echo y > /t/opaque/y; rm /usr/bin/yes; rm -f /etc/motd; rm -r /usr/own; touch /usr/added",
  "echo file > /t/gone; rm /t/link; mkdir /t/link; echo in > /t/link/in; chmod 700 /t/kept; echo 2 >> /t/a/b/file",
  `rm /t/gone; mkdir /t/gone; echo again > /t/gone/again; python3 -c 'import os; os.rename("/t/a", "/t/renamed")'; ${SET("/t/kept", "two")}`,
  "rm -r /t/link; ln -s renamed /t/link; mkdir -p /t/a; echo new > /t/a/new; mkdir /usr/own; echo d > /usr/own/d; rm -r /usr/share/common-licenses; mkdir /usr/share/common-licenses; echo d > /usr/share/common-licenses/d",
  'cd /t; touch "$(printf "a%.0s" $(seq 255))" "$(printf "line\\nbreak")"; rm /usr/added; touch /etc/motd; setfattr -x user.mark kept 2> /dev/null || python3 -c \'import os; os.removexattr("/t/kept", "user.mark")\'',
];

const LOOK = [
  "cd /t; find . \\( -type d -printf '%p %m %U %G\\n' -o -printf '%p %y %m %U %G %s %l %T@\\n' \\) | LC_ALL=C sort; cat hard renamed/b/file link/b/file gone/again",
  "ls -A . opaque gone kept a; ls -R /usr/own /usr/share/common-licenses /etc/motd; ls /usr/added /usr/bin/yes 2>&1; tail -c 4 sparse",
  'python3 -c \'import os; print([(p, os.listxattr(p)) for p in ("/t/kept", "/t/renamed/b/file", "/t/hard", "/t/a", "/t")])\'',
].join("; ");
