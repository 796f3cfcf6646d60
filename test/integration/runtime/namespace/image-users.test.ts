import { describe, expect, it } from "vitest";
import type { SandboxSpec } from "../../../../src/runtime/contract/sandbox-spec.ts";
import { type ContractSandbox, soon } from "../../../contract/contract-sandbox.ts";
import { idMapKinds } from "../../../security/support/id-maps.ts";
import { addScratch, addShell, type ImageLab, openImageLab, put, whiteout } from "../../../support/image-lab.ts";

const ACCOUNTS = "root:x:0:0:root:/root:/bin/ash\napp:x:1234:4321::/srv/app:/bin/app\n99:x:5:5::/five:/bin/five\nfar:x:70000:1::/:\n";
const GROUPS = "root:x:0:\nweb:x:77:app,other\nadm:x:78:\nfar:x:70000:app\nown:x:65535:app\n";

function fill(root: string): void {
  addScratch(root);
  put(root, "etc/passwd", ACCOUNTS);
  put(root, "etc/group", GROUPS);
}

async function say(
  { guest }: ContractSandbox,
  options: { readonly user?: string; readonly argv?: readonly string[] } = {},
): Promise<string> {
  const { stdout, stderr } = await guest.run({ argv: ["/scratch"], signal: soon(), ...options });
  return (stdout.toString() + stderr.toString()).trim();
}

/** With one id all users are that one: what is told of ids says nothing then. */
function withoutIds(line: string): string {
  return line.replace(/^[^,]*,[^,]*,/, "ids,");
}

const told = (name: string, home: string, shell: string): string => ` HOME=${home} USER=${name} LOGNAME=${name} SHELL=${shell} in /`;
const APP = told("app", "/srv/app", "/bin/app");
const ROWS = [
  ["root", `0:0, 0,${told("root", "/root", "/bin/ash")}`],
  ["0", `0:0, 0,${told("root", "/root", "/bin/ash")}`],
  ["app", `1234:4321, 77 4321,${APP}`],
  ["1234", `1234:4321, 77 4321,${APP}`],
  ["1234:9", `1234:9, 9,${APP}`],
  ["app:adm", `1234:78, 78,${APP}`],
  ["777", `777:0, 0,${told("777", "/", "/bin/sh")}`],
  ["777:adm", `777:78, 78,${told("777", "/", "/bin/sh")}`],
  ["65534:65534", `65534:65534, 65534,${told("65534", "/", "/bin/sh")}`],
  // Digits are an id, whatever an image calls its accounts.
  ["99", `99:0, 0,${told("99", "/", "/bin/sh")}`],
  ["user", `1000:1000, 1000,${told("user", "/home/user", "/bin/sh")}`],
] as const;
const REFUSED = [
  "nobody-here",
  "app:no-group",
  "app:",
  ":0",
  "",
  "70000",
  "65535",
  "app:65535",
  "far",
  "4294967295",
  "4294967296",
  "-1",
  "a".repeat(200),
];

describe.each(idMapKinds())("with the id map %s", (idMap) => {
  const open = (): Promise<ImageLab> => openImageLab({ idMap });
  const seen = (line: string): string => (idMap === "single" ? withoutIds(line) : line);

  it("commands and files belong to the user that the specification names, as an image says it", async () => {
    await using lab = await open();
    const layer = await lab.layer(fill);
    for (const [user, line] of ROWS) {
      await using sandbox = await lab.sandbox([layer], { user });
      expect({ user, said: seen(await say(sandbox)) }).toEqual({ user, said: seen(line) });
      const { files } = sandbox.guest;
      await files.write("/tmp/made", Buffer.from("x"), { signal: soon() });
      const { uid, gid } = await files.stat("/tmp/made", { signal: soon() });
      expect({ user, owner: `${uid}:${gid}` }).toEqual({ user, owner: idMap === "single" ? "1000:1000" : line.split(",")[0] });
    }
  });

  it("a command names any user in the same way", async () => {
    await using lab = await open();
    await using sandbox = await lab.sandbox([await lab.layer(fill)]);
    expect(seen(await say(sandbox))).toBe(seen(ROWS[0][1]));
    for (const [user, line] of ROWS) expect({ user, said: seen(await say(sandbox, { user })) }).toEqual({ user, said: seen(line) });
  });

  it("a user that means nobody is told, whoever names it", async () => {
    await using lab = await open();
    const layer = await lab.layer(fill);
    await using other = await lab.sandbox([layer]);
    for (const user of REFUSED) {
      await expect(say(other, { user }), user).rejects.toMatchObject({ code: "USER_UNKNOWN" });
      await expect(other.guest.files.stat("/", { user, signal: soon() }), user).rejects.toMatchObject({ code: "USER_UNKNOWN" });
    }
    await using sandbox = await lab.sandbox([layer], { user: "nobody-here" });
    const watching = sandbox.guest.files.watch("/", { signal: soon() });
    await expect(watching).rejects.toMatchObject({ code: "USER_UNKNOWN" });
    await expect(say(sandbox)).rejects.toMatchObject({ code: "USER_UNKNOWN", message: expect.stringContaining('no user "nobody-here"') });
    await expect(sandbox.guest.files.stat("/", { signal: soon() })).rejects.toMatchObject({ code: "USER_UNKNOWN" });
  });

  it("an image without /etc/passwd has root, user and every id", async () => {
    await using lab = await open();
    const layer = await lab.layer((root) => {
      addScratch(root);
      whiteout(root, "etc/passwd");
      whiteout(root, "etc/group");
    });
    await using sandbox = await lab.sandbox([layer]);
    const rows = [
      ["root", `0:0, 0,${told("root", "/root", "/bin/sh")}`],
      ["0", `0:0, 0,${told("0", "/", "/bin/sh")}`],
      ["user", `1000:1000, 1000,${told("user", "/home/user", "/bin/sh")}`],
      ["12:34", `12:34, 34,${told("12", "/", "/bin/sh")}`],
    ] as const;
    for (const [user, line] of rows) expect({ user, said: seen(await say(sandbox, { user })) }).toEqual({ user, said: seen(line) });
    await expect(say(sandbox, { user: "daemon" })).rejects.toMatchObject({ code: "USER_UNKNOWN" });
  });

  it("an image whose root is another id keeps nobody from ending its programs", async () => {
    await using lab = await open();
    const layer = await lab.layer((root) => {
      addShell(root);
      put(root, "etc/passwd", "root:x:1234:1234::/:/bin/sh\n");
    });
    await using sandbox = await lab.sandbox([layer], { user: "0" });
    await using running = await sandbox.guest.exec({ argv: ["sleep", "1000"], signal: soon() });
    for (const output of [running.stdout, running.stderr]) output.resume();
    await sandbox.guest.signalProcess(running.pid, 9, { signal: soon() });
    expect(await running.exited).toMatchObject({ signal: "SIGKILL" });
  });

  it.skipIf(idMap === "single")("sudo is for root and the sandbox's own user (skipped with one id: all are that one)", async () => {
    await using lab = await open();
    const layer = await lab.layer(fill);
    const argv = ["/opt/belljar/bin/sudo", "/scratch"];
    const refusal = "sudo: only root and the sandbox's own user may use sudo here";
    const sudo = async (spec: Partial<SandboxSpec>, user?: string): Promise<string> => {
      await using sandbox = await lab.sandbox([layer], spec);
      return await say(sandbox, { argv, ...(user !== undefined && { user }) });
    };
    const isRoot = expect.stringMatching(/^0:0, 0, HOME=\/root USER=root /);
    expect(await sudo({ user: "app" })).toEqual(isRoot);
    expect(await sudo({ user: "777:5" })).toEqual(isRoot);
    expect(await sudo({})).toEqual(isRoot);
    expect(await sudo({ user: "app" }, "user")).toBe(refusal);
    expect(await sudo({}, "app")).toBe(refusal);
  });

  it("commands start in the folder that the specification names, or else in the home, or else in the root", async () => {
    await using lab = await open();
    const layer = await lab.layer((root) => {
      fill(root);
      put(root, "srv/app/kept");
      put(root, "work/kept");
    });
    const { env } = await lab.runtime.layers.describe({ template: "bare" });
    const inside = { env, home: "/srv/app", workspace: "/srv/app" };
    for (const [user, cwd, start, near] of [
      ["app", "/work", "/work", "kept"],
      ["app", "/nowhere", "/srv/app", "kept"],
      ["777", "/nowhere", "/", "work/kept"],
    ] as const) {
      await using sandbox = await lab.sandbox([layer], { user, inside: { ...inside, cwd } });
      expect(await say(sandbox)).toMatch(new RegExp(` in ${start}$`));
      expect(await sandbox.guest.files.stat(near, { signal: soon() })).toMatchObject({ type: "file" });
    }
  });
});
