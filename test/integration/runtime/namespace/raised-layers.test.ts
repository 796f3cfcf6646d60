import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import type { Guest } from "../../../../src/runtime/guest/guest.ts";
import type { FrozenState, StateView } from "../../../../src/runtime/contract/state-store.ts";
import { createSandbox, run, soon } from "../../../contract/contract-sandbox.ts";
import { guestOf, openRaiseLab, tell, viewOf } from "../../../support/raise-lab.ts";
import { isRoot } from "../../../security/support/outside.ts";

describe.each(["home", "tmpfs"] as const)("with storage %s and nothing but the guest alive", (storage) => {
  it("a checkpoint is taken in constant time, and the sandbox goes on as it was", async () => {
    await using lab = await openRaiseLab(storage);
    await using sandbox = await createSandbox(lab.open);
    await run(sandbox.guest, FILL);
    const before = await look(sandbox.guest);
    for (let i = 1; i <= 3; i++) {
      expect(await lab.freeze(sandbox)).toMatchObject({ way: "clone" });
      expect(await look(sandbox.guest)).toBe(before);
    }
    expect(await tell(sandbox.guest, WORK)).toBe("");
  });

  it("each state is put back, told apart from the others and started from", async () => {
    await using lab = await openRaiseLab(storage);
    await using sandbox = await createSandbox(lab.open);
    const states: FrozenState[] = [];
    for (const text of ["one", "two", "three"]) {
      await run(sandbox.guest, `echo ${text} > notes; echo ${text} > ${text}; rm -f .profile`);
      await run(sandbox.guest, `touch /usr/${text}; rm -f /etc/motd`, { user: "root" });
      states.push(await lab.freeze(sandbox));
    }
    const [one, two, three] = states as [FrozenState, FrozenState, FrozenState];
    expect(states.map(({ way, layers }) => [way, layers.length])).toEqual([1, 2, 3].map((height) => ["clone", height]));
    await run(sandbox.guest, "echo now > notes; rm one");
    const diff = (from: StateView, to: StateView) => lab.tell(from, to);
    const view = (frozen?: FrozenState): StateView => viewOf(sandbox, frozen);
    expect(await diff(view(one), view(two))).toEqual(expect.arrayContaining(["changed /home/user/notes", "added /home/user/two"]));
    expect(await diff(view(three), view())).toEqual(["changed /home/user/notes", "removed /home/user/one"]);
    expect(await text(lab.states.read(view(two), Buffer.from("/home/user/notes"), { maxBytes: 100, signal: soon() }))).toBe("two\n");
    await using copied = await lab.copy(sandbox);
    await using fork = await createSandbox(lab.open, { base: { template: "base", layers: copied.layers } });
    expect(await tell(fork.guest, "cat notes; ls")).toBe("now\nnotes\nthree\ntwo\n");
    let generation = 1;
    let { running } = sandbox;
    for (const [text, frozen] of [
      ["two", two],
      ["three", three],
      ["one", one],
    ] as const) {
      await running.stop();
      await lab.states.rewind({ ...sandbox.spec, generation }, frozen.layers);
      running = await lab.runtime.create({ ...sandbox.spec, generation: ++generation }, soon());
      const guest = guestOf(running);
      expect(await tell(guest, "cat notes")).toBe(`${text}\n`);
      await run(guest, "echo later > notes");
      expect(await lab.freeze(sandbox, { generation })).toMatchObject({ way: "clone" });
    }
    await running.kill("killed");
    await lab.runtime.layers.remove({ ...sandbox.spec, generation });
    expect(await tell(fork.guest, "cat notes")).toBe("now\n");
  });

  it("folders that were made before are renamed, removed and made anew", async () => {
    await using lab = await openRaiseLab(storage);
    await using sandbox = await createSandbox(lab.open);
    await run(sandbox.guest, "mkdir -p old/deep gone/deep; echo text > old/deep/file; echo x > gone/deep/x; ln old/deep/file hard");
    await lab.freeze(sandbox);
    const rename = `python3 -c 'import os; os.rename("old", "new"); os.rename("new/deep", "deep")'`;
    expect(await tell(sandbox.guest, `${rename} && cat deep/file hard && rm -r gone && mkdir gone && ls -A gone && ls new`)).toBe(
      "text\ntext\n",
    );
    await lab.freeze(sandbox);
    expect(await tell(sandbox.guest, `python3 -c 'import os; os.rename("deep", "again")' && cat again/file; ls -A gone`)).toBe("text\n");
  });

  it("a stopped sandbox starts again with all of it", async () => {
    await using lab = await openRaiseLab(storage);
    await using sandbox = await createSandbox(lab.open);
    await run(sandbox.guest, FILL);
    const before = await look(sandbox.guest);
    await lab.freeze(sandbox);
    await run(sandbox.guest, "echo since > since");
    await sandbox.running.stop();
    await using again = await lab.runtime.create({ ...sandbox.spec, generation: 2 }, soon());
    const guest = guestOf(again);
    expect(await tell(guest, "cat since; rm since")).toBe("since\n");
    expect(await look(guest)).toBe(before);
  });

  it("a workspace shows what it showed, copied and shared", async () => {
    await using lab = await openRaiseLab(storage);
    const path = await mkdtemp(join(tmpdir(), "belljar-raised-"));
    try {
      await writeFile(join(path, "host"), "host\n");
      for (const mode of ["copy", "rw"] as const) {
        await using sandbox = await createSandbox(lab.open, { workspace: { path, mode } });
        await run(sandbox.guest, "echo inside > /workspace/inside; mkdir -p /workspace/folder; echo x > /workspace/folder/x");
        expect(await lab.freeze(sandbox)).toMatchObject({ way: "clone" });
        expect(await tell(sandbox.guest, "cd /workspace; cat host inside; echo more >> host; cat folder/x host; rm -r folder inside")).toBe(
          "host\ninside\nx\nhost\nmore\n",
        );
      }
      expect(await readdir(path)).toEqual(["host"]);
    } finally {
      await rm(path, { recursive: true, force: true });
    }
  });

  it("with filters of programs' own it is a copy, since no folder from before could be renamed", async () => {
    await using lab = await openRaiseLab(storage);
    await using sandbox = await createSandbox(lab.open, { nestedFilters: true });
    expect(await lab.freeze(sandbox)).toMatchObject({ way: "copy", copyReason: "programs" });
  });

  it.runIf(isRoot)("of one that is paused it is a copy", async () => {
    await using lab = await openRaiseLab(storage);
    await using sandbox = await createSandbox(lab.open);
    await sandbox.running.pause();
    expect(await lab.freeze(sandbox)).toMatchObject({ way: "copy", copyReason: "paused" });
    await sandbox.running.resume();
    expect(await lab.freeze(sandbox)).toMatchObject({ way: "clone" });
  });

  it("the sandbox has its network and its users", async () => {
    await using lab = await openRaiseLab(storage);
    await using sandbox = await createSandbox(lab.open);
    await lab.freeze(sandbox);
    const serve =
      "python3 -m http.server 8123 --bind 127.0.0.1 > /dev/null 2>&1 & sleep 0.1; until python3 -c 'import urllib.request as u; u.urlopen(\"http://127.0.0.1:8123\")' 2> /dev/null; do sleep 0.05; done; kill $!";
    expect(await tell(sandbox.guest, serve)).toBe("");
    expect((await run(sandbox.guest, "id -un; touch /etc/by-root && rm /etc/by-root", { user: "root" })).stdout.toString()).toMatch(
      /^\w+\n$/,
    );
  });

  it("a program that is alive makes it a copy, and is not disturbed", async () => {
    await using lab = await openRaiseLab(storage);
    await using sandbox = await createSandbox(lab.open);
    await run(
      sandbox.guest,
      "mkdir work; echo text > work/file; cd work; (exec 3>> file; while read line; do echo $line >&3; done < ../fifo) > /dev/null 2>&1 & mkfifo fifo 2>/dev/null",
    );
    await run(sandbox.guest, "mkdir -p other; cd other; setsid sleep 1000 > /dev/null 2>&1 &");
    expect(await lab.freeze(sandbox)).toMatchObject({ way: "copy", copyReason: "programs" });
    await run(sandbox.guest, "pkill sleep; pkill -f fifo; sleep 0.1");
  });
});

it("where no room is left for new layers it is a copy, and with room again it is none", async () => {
  await using lab = await openRaiseLab("tmpfs");
  await using sandbox = await createSandbox(lab.open, { limits: { diskBytes: 8 * 2 ** 20 } });
  const fill =
    "mkdir full; head -c 64M /dev/zero > full/large; i=0; while [ $i -lt 30000 ] && : > full/$i; do i=$((i + 1)); done; : > full/last";
  expect((await run(sandbox.guest, fill)).stderr.toString()).toContain("No space left");
  expect(await lab.freeze(sandbox)).toMatchObject({ way: "copy", copyReason: "programs" });
  expect(await tell(sandbox.guest, "rm -r full; echo text > file; ls")).toBe("file\n");
  expect(await lab.freeze(sandbox)).toMatchObject({ way: "clone" });
  expect(await tell(sandbox.guest, "cat file; echo more >> file; cat file")).toBe("text\ntext\nmore\n");
});

/** All that a root has: folders, links, removals, owners, `/tmp`, the programs of Belljar and what lies over the root. */
const FILL = [
  "mkdir -p a/b/c empty; echo text > a/b/c/file; ln a/b/c/file a/hard; ln -s b a/link; chmod 500 a/b; rm -f .profile",
  "touch -d @1234567890 a/old; truncate -s 10M a/sparse; mkfifo a/fifo; echo t > /tmp/t; rm -rf empty; mkdir empty",
].join("; ");

function look(guest: Guest): Promise<string> {
  const tree =
    "find . /tmp /opt \\( -type d -printf '%p %m %u %g\\n' -o -printf '%p %y %m %u %g %s %l\\n' \\) | LC_ALL=C sort; cat a/b/c/file a/hard; stat -c %Y a/old";
  return tell(guest, `${tree}; ls -A / /dev /dev/pts /proc/self; cat /etc/hosts; grep -c . /proc/self/mountinfo`);
}

const WORK = [
  "set -e; echo more >> a/hard; test -w /dev/null; test -c /dev/null; echo x > /dev/shm/x; python3 -c 'import pty; pty.openpty()'",
  "ps -e > /dev/null; touch /tmp/again; ! touch /opt/belljar/x 2> /dev/null; ! touch /proc/sys/kernel/core_pattern 2> /dev/null",
  "! ls /storage /stage /root/storage 2> /dev/null; ! mv /opt /moved 2> /dev/null",
].join("; ");
