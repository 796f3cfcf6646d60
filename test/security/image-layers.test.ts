import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { BARE_BASE } from "../../src/runtime/contract/sandbox-spec.ts";
import { run, soon } from "../contract/contract-sandbox.ts";
import { addScratch, addShell, type ImageLab, openImageLab, put, whiteout } from "../support/image-lab.ts";
import { idMapKinds } from "./support/id-maps.ts";
import { verifies } from "./verifies.ts";

type Fill = (root: string) => void;

/** Puts something else in the place of a path of the image. */
const link = (path: string, target: string): Fill => place(path, (at) => symlinkSync(target, at));
const file = (path: string, content = "a file"): Fill => place(path, (at) => writeFileSync(at, content, { mode: 0o755 }));
const pipe = (path: string): Fill => place(path, (at) => execFileSync("mkfifo", [at]));
const folder = (path: string): Fill => place(path, (at) => mkdirSync(at));
const hidden =
  (path: string): Fill =>
  (root) =>
    whiteout(root, path);
/** Long enough to keep a reader for minutes. */
const huge = (path: string): Fill => place(path, (at) => {
  writeFileSync(at, "");
  truncateSync(at, 2 ** 40);
}); // prettier-ignore
const opaque = (path: string): Fill => place(path, (at) => {
  mkdirSync(at);
  execFileSync("python3", ["-c", "import os, sys; os.setxattr(sys.argv[1], 'user.overlay.opaque', b'y')", at]);
}); // prettier-ignore

function place(path: string, make: (at: string) => void): Fill {
  return (root) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    make(join(root, path));
  };
}

/** `outside` is a folder of the host. */
const attacks = (outside: string): readonly (readonly [string, Fill])[] => [
  ...["opt", "opt/belljar", "dev", "proc", "etc", "etc/hosts", "etc/passwd", "etc/group", "tmp", "run", "sys", "root"].flatMap((path) =>
    ([
      [`${path} leads out`, link(path, outside)],
      [`${path} leads up and out`, link(path, `../../../../../../../..${outside}`)],
      [`${path} leads to /etc`, link(path, "/etc")],
      [`${path} leads to the root`, link(path, "/")],
      [`${path} leads through /proc`, link(path, `/proc/1/root${outside}`)],
      [`${path} leads to itself`, link(path, `/${path}`)],
      [`${path} is a file`, file(path)],
      [`${path} is a pipe`, pipe(path)],
      [`${path} is hidden`, hidden(path)],
    ] as const),
  ),
  ["etc/hosts is a folder", folder("etc/hosts")],
  ["etc/passwd is a folder", folder("etc/passwd")],
  ["etc/passwd is huge", huge("etc/passwd")],
  ["etc/group is huge", huge("etc/group")],
  ["etc/hosts is huge", huge("etc/hosts")],
  ["opt is opaque", opaque("opt")],
  ["opt/belljar is opaque", opaque("opt/belljar")],
  ["dev/null is a file", file("dev/null")],
  ["the programs are the image's", (root) => put(root, "opt/belljar/bin/sudo", "#!/bin/sh\necho stolen\n", 0o755)],
]; // prettier-ignore

const LOOK = `
test -c /dev/null && test -r /proc/self/status && ls /opt/belljar
touch /opt/belljar/bin/sudo /opt/belljar/x 2>/dev/null && echo changed
mv /opt /away 2>/dev/null && echo moved
for at in /etc/hosts /opt/secret /etc/secret /tmp/secret /run/secret /root/secret; do
  test -f $at && test "$(stat -L -c %s $at)" -lt 10000 && cat $at
done
echo end`;

/** What a hostile layer gets. */
async function attack(lab: ImageLab, layers: readonly string[]): Promise<string> {
  await using sandbox = await lab.sandbox(layers);
  const sudo = await sandbox.guest.run({ argv: ["/opt/belljar/bin/sudo", "/scratch"], signal: soon() });
  const { stdout } = await run(sandbox.guest, LOOK);
  await sandbox.guest.files.stat("/", { signal: soon() });
  return `${sudo.stdout.toString().split(",")[0] ?? ""} ${stdout.toString()}`;
}

verifies(
  "image-layers-contained",
  async () => {
    for (const idMap of idMapKinds()) {
      await using lab = await openImageLab({ idMap });
      const outside = join(lab.path, "outside");
      for (const name of ["secret", "hosts", "passwd", "belljar/bin/sudo"]) put(outside, name, "secret of the host\n", 0o666);
      const image = await lab.layer((root) => {
        addShell(root);
        addScratch(root);
      });
      // Whoever reads a layer by its paths follows its links.
      put(lab.path, "naive/x");
      link("etc", outside)(join(lab.path, "naive"));
      expect(readFileSync(join(lab.path, "naive/etc/hosts"), "utf8")).toBe("secret of the host\n");
      const whole = expect.stringMatching(/^(?:0:0|1000:1000) bin\nkernels\n(?:127\.0\.0\.1 .*\n|::1 .*\n|a file.*\n)*end\n$/);
      for (const [name, fill] of attacks(outside)) {
        const got = await attack(lab, [await lab.layer(fill), image]).catch((error: unknown) => String(error));
        expect({ name, got }).toEqual({ name, got: whole });
      }
      expect((await readdir(outside)).toSorted()).toEqual(["belljar", "hosts", "passwd", "secret"]);
      for (const name of ["secret", "hosts", "passwd", "belljar/bin/sudo"])
        expect(await readFile(join(outside, name), "utf8")).toBe("secret of the host\n");
      rmSync(join(lab.path, "naive"), { recursive: true });
    }
  },
  240_000,
);

const HOSTILE = "user:x:0:0::/:\nevil:x:0:0::/:\nzero:x:00:0::/:\n";

verifies("root-off-holds", async () => {
  for (const idMap of idMapKinds()) {
    await using lab = await openImageLab({ idMap });
    const layer = await lab.layer((root) => {
      addScratch(root);
      put(root, "etc/passwd", HOSTILE);
    });
    const get = async (user: string | undefined, root: boolean): Promise<readonly unknown[]> => {
      await using sandbox = await lab.sandbox([layer], { root, ...(user !== undefined && { user }) });
      const { guest } = sandbox;
      const code = (error: { readonly code: string }): string => error.code;
      const say = (argv: readonly string[]) =>
        guest.run({ argv, signal: soon() }).then(({ stdout }) => stdout.toString().split(",")[0], code);
      const written = guest.files.write("/etc/shadow", Buffer.from("x"), { signal: soon() }).then(() => "written", code);
      return [await say(["/scratch"]), await say(["/opt/belljar/bin/sudo", "/scratch"]), await written];
    };
    for (const user of ["evil", "user", "0", "00", "zero", "0:1000", "evil:1000"]) {
      const isRoot = expect.stringMatching(idMap === "single" ? /^1000:/ : /^0:/);
      expect({ user, got: await get(user, true) }).toEqual({ user, got: [isRoot, isRoot, "written"] });
      expect({ user, got: await get(user, false) }).toEqual({ user, got: ["USER_UNKNOWN", "USER_UNKNOWN", "USER_UNKNOWN"] });
    }
    expect(await get(undefined, false)).toEqual(["USER_UNKNOWN", "USER_UNKNOWN", "USER_UNKNOWN"]);
    const [command, sudo] = await get("1234:0", false);
    expect([command, sudo]).toEqual([expect.stringMatching(idMap === "single" ? /^1000:/ : /^1234:0$/), ""]);
  }
});

verifies("image-layers-contained", async () => {
  await using lab = await openImageLab();
  const image = await lab.layer((root) => {
    addShell(root);
    put(root, "data/kept", "the image's");
    link("srv", "/opt/belljar")(root);
    link("home", "/proc/1/root")(root);
  });
  const path = join(lab.path, "workspace");
  put(path, "mine", "mine");
  for (const place of ["/srv/project", "/home/project", "/workspace"]) {
    const inside = { ...(await lab.runtime.layers.describe(BARE_BASE)), workspace: place, cwd: place };
    await using sandbox = await lab.sandbox([image], { inside, workspace: { path, mode: "copy" } });
    expect((await run(sandbox.guest, "pwd -P; cat mine; ls /opt/belljar; cat /data/kept")).stdout.toString()).toBe(
      `${place}\nminebin\nkernels\nthe image's`,
    );
  }
});

verifies("image-layers-contained", async () => {
  await using lab = await openImageLab();
  const path = join(lab.path, "workspace");
  put(path, "hosts", "the host's\n", 0o666);
  const inside = { ...(await lab.runtime.layers.describe(BARE_BASE)), workspace: "/workspace", cwd: "/workspace" };
  for (const [at, target] of [
    ["etc/hosts", "/workspace/hosts"],
    ["etc", "/workspace"],
  ] as const) {
    await using sandbox = await lab.sandbox([await lab.layer(link(at, target)), await lab.layer(addShell)], {
      inside,
      workspace: { path, mode: "rw" },
      user: "user",
    });
    expect((await run(sandbox.guest, "cat /etc/hosts")).stdout.toString()).toBe("the host's\n");
  }
  expect(readFileSync(join(path, "hosts"), "utf8")).toBe("the host's\n");
});
