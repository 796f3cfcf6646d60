import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { chmod, chown, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openNamespaceRuntime } from "../../../../src/runtime/namespace/namespace-runtime.ts";
import { BARE_BASE } from "../../../../src/runtime/contract/sandbox-spec.ts";
import type { StateView } from "../../../../src/runtime/contract/state-store.ts";
import { type ContractSandbox, run, soon } from "../../../contract/contract-sandbox.ts";
import { isRoot } from "../../../security/support/outside.ts";
import { addScratch, addShell, type ImageLab, openImageLab, put, whiteout } from "../../../support/image-lab.ts";
import { tellChange } from "../../../support/layer-lab.ts";
import { BINARY } from "../../../support/namespace-home.ts";
import { guestOf, tell, viewOf } from "../../../support/raise-lab.ts";

const PROGRAMS =
  "cd /opt/belljar && ls && ls bin && for at in . bin bin/sudo; do touch $at 2>/dev/null && echo $at; done; rm -rf bin; ls bin";
const OURS = "mcp-gateway\nsudo\n";
const WHOLE = `bin\nkernels\n${OURS}${OURS}`;

describe("what an image lacks", () => {
  it("one static program is enough", async () => {
    await using lab = await openImageLab();
    await using sandbox = await lab.sandbox([await lab.layer(addScratch)]);
    const { stdout, exitCode } = await sandbox.guest.run({ argv: ["/scratch"], signal: soon() });
    expect({ exitCode, said: stdout.toString() }).toMatchObject({ exitCode: 0, said: expect.stringMatching(/ in \/\n$/) });
    for (const argv of [["sh", "-c", "true"], ["/bin/bash"], ["python3"]])
      await expect(sandbox.guest.run({ argv, signal: soon() })).rejects.toMatchObject({
        code: "COMMAND_NOT_FOUND",
        message: `run ${argv[0]}: no such command. Check the name and the sandbox's PATH`,
      });
  });

  it("nothing at all is a root with files", async () => {
    await using lab = await openImageLab();
    await using sandbox = await lab.sandbox([]);
    const { files } = sandbox.guest;
    await files.write("/tmp/made", Buffer.from("x"), { signal: soon() });
    expect(String(await files.read("/tmp/made", { maxBytes: 10, signal: soon() }))).toBe("x");
    const names: string[] = [];
    for await (const { path } of files.list("/", { signal: soon() })) names.push(path);
    expect(names.toSorted()).toEqual(["dev", "etc", "home", "opt", "proc", "root", "run", "sys", "tmp", "var"]);
  });

  it("a program whose loader the image lacks says so", async () => {
    await using lab = await openImageLab();
    const layer = await lab.layer((root) => {
      addShell(root);
      put(root, "script", "#!/usr/bin/env python3\n", 0o755);
    });
    await using sandbox = await lab.sandbox([await lab.layer((root) => whiteout(root, "lib64")), layer]);
    for (const name of ["/bin/sh", "/script"])
      await expect(sandbox.guest.run({ argv: [name], signal: soon() })).rejects.toMatchObject({
        code: "COMMAND_NOT_EXECUTABLE",
        message: expect.stringContaining("the interpreter or loader that it names is not there"),
      });
  });

  it("what names need is there, and the image's own comes before it", async () => {
    await using lab = await openImageLab();
    const shell = await lab.layer(addShell);
    const own = await lab.layer((root) => put(root, "etc/hosts", "127.0.0.1 localhost own"));
    await using sandbox = await lab.sandbox([shell]);
    await using other = await lab.sandbox([own, shell]);
    const script =
      "cat /etc/hosts; for at in passwd group resolv.conf nsswitch.conf hostname; do test -s /etc/$at || echo $at; done; ls -ld /tmp /var/tmp";
    expect(await tell(sandbox.guest, script)).toMatch(
      /^127\.0\.0\.1 localhost sandbox\n::1 .*\n127\.0\.0\.1 contract # this sandbox\n(?:drwxrwxrwt.*\n){2}$/,
    );
    expect(await tell(other.guest, script)).toMatch(
      /^127\.0\.0\.1 localhost own\n127\.0\.0\.1 contract # this sandbox\n(?:drwxrwxrwt.*\n){2}$/,
    );
  });

  it("the line of a sandbox that is gone is left out of /etc/hosts, and no other", async () => {
    await using lab = await openImageLab();
    const shell = await lab.layer(addShell);
    const gone = "127.0.0.1 gone # this sandbox\n";
    const hosts = async (text: string): Promise<string> => {
      await using sandbox = await lab.sandbox([await lab.layer((root) => put(root, "etc/hosts", text)), shell]);
      return await tell(sandbox.guest, "cat /etc/hosts");
    };
    const own = "127.0.0.1 contract # this sandbox\n";
    const others = "127.0.0.1 contract\n# this sandbox\n127.0.0.1 x # this sandbox y\n127.0.0.1 gone # this sandbox";
    expect(await hosts(`${gone}1.2.3.4 first\n${gone}${gone}\0\n\n${others}`)).toBe(`1.2.3.4 first\n\0\n\n${others}\n${own}`);
    expect(await hosts(gone)).toBe(own);
    expect(await hosts("")).toBe(own);
    const long = `${gone}${"#".repeat(65_536)}\n`;
    expect(await hosts(long)).toBe(long + own);
  });

  it("is told before: environment, home and folder", async () => {
    await using lab = await openImageLab();
    expect(await lab.runtime.layers.describe(BARE_BASE)).toEqual({
      env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/belljar/bin" },
      home: "/root",
      workspace: "/root",
      cwd: "/",
    });
    expect((await lab.runtime.layers.templates()).map(({ name }) => name)).toEqual(["base"]);
  });
});

describe.each(isRoot ? (["home", "tmpfs", "btrfs"] as const) : (["home", "tmpfs"] as const))("with storage %s", (storage) => {
  /** An image of two layers, the upper one of which changes and hides what is in the lower one, and has files in the place of mounts. */
  async function start(lab: ImageLab): Promise<ContractSandbox> {
    const lower = await lab.layer((root) => {
      addShell(root);
      for (const name of ["app/a", "app/gone", "opt/tool/run", "usr/share/text"]) put(root, name, `${name} of the lower layer\n`);
    });
    const upper = await lab.layer((root) => {
      put(root, "app/a", "changed\n");
      whiteout(root, "app/gone");
      for (const name of ["opt/belljar", "dev"]) put(root, name, "gives way");
    });
    return lab.sandbox([upper, lower]);
  }
  const LOOK = "cat /app/a; ls /app; ls /opt; cat /usr/share/text; test ! -e /notes || cat /notes";
  const SHOWN = "changed\na\nbelljar\ntool\nusr/share/text of the lower layer\n";

  it("checkpoints, forks, stops and rollbacks keep the image, what was written and Belljar's own programs", async () => {
    await using lab = await openImageLab({ storage });
    await using sandbox = await start(lab);
    const { runtime, states } = lab;
    expect(await tell(sandbox.guest, LOOK)).toBe(SHOWN);
    expect(
      await tell(
        sandbox.guest,
        "echo one > /notes; chmod 700 /opt; echo x > /opt/own; rm /app/a; mv /app /moved; mv /moved /app; echo changed > /app/a",
      ),
    ).toBe("");
    const one = await lab.freeze(sandbox);
    expect(one.way).toBe("clone");
    const after = `changed\na\nbelljar\nown\ntool\nusr/share/text of the lower layer\none\n`;
    const check = async (guest: ContractSandbox["guest"], shown: string): Promise<void> => {
      expect(await tell(guest, LOOK)).toBe(shown);
      expect(await tell(guest, PROGRAMS)).toBe(WHOLE);
      expect(await tell(guest, "stat -c %a /opt")).toBe("700\n");
      expect(await tell(guest, "mv /opt /away 2>/dev/null || mv /opt/belljar /opt/away 2>/dev/null || echo held")).toBe("held\n");
    };
    await check(sandbox.guest, after);
    expect(await tell(sandbox.guest, "echo two > /notes")).toBe("");
    const two = await lab.freeze(sandbox, { isOwn: false });
    await using fork = await lab.sandbox(two.layers);
    await check(fork.guest, after.replace("one", "two"));
    await sandbox.running.stop();
    await states.rewind(sandbox.spec, one.layers);
    const running = await runtime.create({ ...sandbox.spec, generation: 2 }, soon());
    await check(guestOf(running), after);
    await running.kill("killed");
    await runtime.layers.remove({ ...sandbox.spec, generation: 2 });
  });

  it("a comparison tells what was written, and nothing of the image or of Belljar's own programs", async () => {
    await using lab = await openImageLab({ storage });
    await using sandbox = await start(lab);
    const changes = async (from: StateView, to: StateView): Promise<readonly string[]> => {
      const told: string[] = [];
      for await (const change of lab.states.compare(from, to, soon())) told.push(tellChange(change));
      return told.toSorted();
    };
    const begin = { ...viewOf(sandbox), layers: sandbox.spec.base.layers ?? [] };
    expect(await changes(begin, viewOf(sandbox))).toEqual(["changed file /etc/hosts"]);
    expect(await tell(sandbox.guest, "echo one > /notes; echo x > /opt/own; rm /usr/share/text; ls /opt/belljar")).toBe("bin\nkernels\n");
    const told = ["added file /notes", "added file /opt/own", "changed file /etc/hosts", "removed file /usr/share/text"];
    expect(await changes(begin, viewOf(sandbox))).toEqual(told);
    const frozen = await lab.freeze(sandbox);
    expect(await changes(begin, viewOf(sandbox, frozen))).toEqual(told);
    expect(await changes(viewOf(sandbox, frozen), viewOf(sandbox))).toEqual([]);
  });
});

it("a sandbox that is started again has the programs of this release", async () => {
  await using lab = await openImageLab();
  await using sandbox = await lab.sandbox([await lab.layer(addShell)]);
  expect(await tell(sandbox.guest, "ls /opt/belljar/bin; echo x > /opt/x")).toBe(OURS);
  await sandbox.running.stop();
  const tool = join(lab.path, "tool");
  await writeFile(tool, "#!/bin/sh\necho new\n");
  const places = { home: lab.path, runtimeDirectory: join(lab.path, "run"), binary: BINARY };
  const newer = await openNamespaceRuntime({ ...places, storage: "home", programs: { tool } });
  const spec = { ...sandbox.spec, generation: 2 };
  const running = await newer.create(spec, soon());
  expect(await tell(guestOf(running), "ls /opt /opt/belljar/bin; /opt/belljar/bin/tool")).toBe(
    "/opt:\nbelljar\nx\n\n/opt/belljar/bin:\nsudo\ntool\nnew\n",
  );
  await running.kill("killed");
  await newer.layers.remove(spec);
});

describe("a workspace in a sandbox of an image", () => {
  const USER = { uid: 1001, gid: 1001 };

  async function withFolder(use: (path: string) => Promise<void>): Promise<void> {
    const path = await mkdtemp(join(tmpdir(), "bj-"));
    await writeFile(join(path, "mine"), "mine", { mode: 0o644 });
    await chmod(path, 0o755);
    if (isRoot) for (const at of [path, join(path, "mine")]) await chown(at, USER.uid, USER.gid);
    try {
      await use(path);
    } finally {
      await rm(path, { recursive: true });
    }
  }

  it.each([
    ["copy", "/workspace", "root"],
    ["copy", "/srv/some/project", "root"],
    ["copy", "/srv/some/project", "user"],
    ["ro", "/srv/some/project", "root"],
    ["rw", "/srv/some/project", "user"],
    ["rw", "/workspace", "user"],
  ] as const)("%s at %s, for %s", async (mode, place, user) => {
    await using lab = await openImageLab();
    const layer = await lab.layer((root) => {
      addShell(root);
      mkdirSync(join(root, "data"));
      symlinkSync("data", join(root, "srv")); // a path of the image that is none any more
      writeFileSync(join(root, "workspace"), "a file of the image");
    });
    await withFolder(async (path) => {
      const inside = { ...(await lab.runtime.layers.describe(BARE_BASE)), workspace: place, cwd: place };
      await using sandbox = await lab.sandbox([layer], { workspace: { path, mode }, inside, user });
      expect(await tell(sandbox.guest, "pwd -P; readlink -f /workspace; cat /workspace/mine")).toBe(`${place}\n${place}\nmine`);
      expect(String(await sandbox.guest.files.read("mine", { maxBytes: 10, signal: soon() }))).toBe("mine");
      const { exitCode } = await run(sandbox.guest, "echo new > made && mkdir folder && echo more >> mine");
      expect(exitCode === 0).toBe(mode !== "ro");
      expect((await readdir(path)).toSorted()).toEqual(mode === "rw" ? ["folder", "made", "mine"] : ["mine"]);
    });
  });
});
