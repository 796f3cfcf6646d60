import { chmod, copyFile, link, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { BelljarError } from "../../src/errors.ts";
import type { GuestPath } from "../../src/runtime/guest/guest.ts";
import { idMapKinds } from "./support/id-maps.ts";
import type { Box } from "./support/lab.ts";
import { openBox, openTestRuntime, useLab } from "./support/lab.ts";
import { outside } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

const lab = useLab();
const SECRET = "the-host-keeps-this";
const signal = (): AbortSignal => AbortSignal.timeout(30_000);

/** What a read gives: the text, or the code of the error. */
async function read(box: Box, path: GuestPath, user = "user"): Promise<string> {
  return outcome(box.guest.files.read(path, { user, signal: signal() }).then(String));
}

async function outcome(work: Promise<unknown>): Promise<string> {
  try {
    return String(await work);
  } catch (error) {
    if (error instanceof BelljarError) return error.code;
    throw error;
  }
}

verifies("file-calls-stay-inside", async () => {
  const secret = join(dirname(lab.home), "secret.txt");
  const hostLink = join(dirname(lab.home), "link");
  await writeFile(secret, SECRET, { mode: 0o644 });
  await symlink(secret, hostLink);
  expect((await outside(["cat", hostLink])).out).toBe(SECRET);
  expect((await outside(["cat", `/proc/self/root${secret}`])).out).toBe(SECRET);
  await using box = await lab.box();
  const up = "../".repeat(40);
  const direct = [
    secret,
    `${up}${secret}`,
    `/home/user/${up}${secret}`,
    `/proc/self/root${secret}`,
    `/proc/1/root${secret}`,
    `/proc/self/cwd/${up}${secret}`,
  ];
  await box.guest.files.symlink("/home/user/link", secret, { signal: signal() });
  await box.guest.files.symlink("/home/user/root", "/proc/1/root", { signal: signal() });
  await box.guest.files.symlink("/home/user/magic", "/proc/self/fd", { signal: signal() });
  const descriptors = Array.from({ length: 32 }, (_, fd) => `/home/user/magic/${fd}/${up}${secret}`);
  for (const user of ["root", "user"]) {
    for (const path of [...direct, "/home/user/link", `/home/user/root${secret}`, ...descriptors]) {
      expect({ user, path, got: await read(box, path, user) }).toMatchObject({ got: expect.stringMatching(/^(FILE_|PATH_)/) });
    }
  }
  await expectWritesStayInside(box, secret);
});

/** Through a link that leads to the host's path, through a hard link to a program of the host, by rename, copy and removal. */
async function expectWritesStayInside(box: Box, secret: string): Promise<void> {
  const { files } = box.guest;
  const call = { user: "root", signal: signal() };
  await outcome(files.write("/home/user/link", "changed", { ...call, atomic: false }));
  await outcome(files.write(secret, "changed", call));
  await outcome(files.rename("/etc/hosts", secret, call));
  await outcome(files.remove(dirname(secret), { ...call, recursive: true }));
  await box.run(["ln", "/usr/bin/env", "/usr/bin/hard"], { user: "root" });
  await outcome(files.write("/usr/bin/hard", "changed", { ...call, atomic: false }));
  expect((await outside(["cat", secret])).out).toBe(SECRET);
  expect((await outside(["env", "true"])).code).toBe(0);
}

/** A process that serves a file call runs Belljar's program, which the user of the host may own. */
verifies("file-calls-stay-inside", async () => {
  const folder = dirname(lab.home);
  const [changer, binary] = [join(folder, "own-chmod"), join(folder, "own-native")];
  await copyFile("/usr/bin/chmod", changer);
  expect(await outside([changer, "700", "/proc/self/exe"])).toMatchObject({ code: 0 });
  expect((await stat(changer)).mode & 0o7777).toBe(0o700);
  await copyFile(join(import.meta.dirname, "../../native/build/belljar-native"), binary);
  await chmod(binary, 0o755);
  const before = await stat(binary);
  for (const idMap of idMapKinds()) {
    const runtime = await openTestRuntime(lab.home, join(folder, "run"), { binary, idMap });
    await using box = await openBox(runtime, folder);
    for (const user of ["root", "user"]) {
      for (const change of [{ mode: 0o777 }, { mtime: new Date(0) }])
        await outcome(box.guest.files.setAttributes("/proc/self/exe", { ...change, user, signal: signal() }));
      const { mode, mtimeMs } = await stat(binary);
      expect({ idMap, user, mode, mtimeMs }).toEqual({ idMap, user, mode: before.mode, mtimeMs: before.mtimeMs });
    }
  }
});

verifies("file-calls-have-user-rights", async () => {
  await using box = await lab.box();
  if (lab.isolation.users === "one") await expectOneUser(box);
  else await expectTwoUsers(box);
});

async function expectTwoUsers(box: Box): Promise<void> {
  const { files } = box.guest;
  await files.write("/root/private", SECRET, { user: "root", mode: 0o600, signal: signal() });
  await box.guest.files.symlink("/home/user/trap", "/root/private", { user: "user", signal: signal() });
  for (const path of ["/root/private", "/home/user/trap", "/proc/1/environ"]) expect(await read(box, path)).toBe("FILE_DENIED");
  await files.write("/opt/public", "root's", { user: "root", mode: 0o644, signal: signal() });
  for (const path of ["/opt/public", "/home/user/trap", "/usr/bin/env"]) {
    expect({ path, got: await outcome(files.write(path, "x", { user: "user", atomic: false, signal: signal() })) }).toMatchObject({
      got: "FILE_DENIED",
    });
  }
  expect(await read(box, "/root/private", "root")).toBe(SECRET);
}

/** With one id there is one user, and the isolation says so; the guest's own files stay closed all the same. */
async function expectOneUser(box: Box): Promise<void> {
  expect(await read(box, "/proc/1/environ")).toMatch(/^FILE_/);
  expect((await box.run(["id", "-u"], { user: "root" })).out).toBe((await box.run(["id", "-u"], { user: "user" })).out);
}

verifies("odd-names-are-names", async () => {
  const odd = Buffer.from([...Buffer.from("/home/user/a\nb\t"), 0xff, 0xfe, 0x1b]);
  const onHost = Buffer.concat([Buffer.from(`${dirname(lab.home)}/`), odd.subarray(11)]);
  await writeFile(onHost, "x");
  await link(onHost, `${dirname(lab.home)}/plain`);
  await rm(onHost);
  await using box = await lab.box();
  const { files } = box.guest;
  await files.write(odd, "content", { signal: signal() });
  expect(await read(box, odd)).toBe("content");
  const rows = [];
  for await (const row of files.list("/home/user", { signal: signal() })) rows.push(row.rawPath.toString("latin1"));
  expect(rows).toContain(odd.subarray(11).toString("latin1"));
  await expectLongPathRefused(box);
  await expectSparseFile(box);
  await expectManyFiles(box);
});

async function expectLongPathRefused(box: Box): Promise<void> {
  for (const path of [`/${"a/".repeat(2_048)}`, `/${"b".repeat(4_096)}`, `/home/user/${"c".repeat(256)}`]) {
    expect(await read(box, path)).toMatch(/^(PATH_INVALID|FILE_NOT_FOUND)$/);
    expect(await outcome(box.guest.files.write(path, "x", { parents: false, signal: signal() }))).toMatch(
      /^(PATH_INVALID|FILE_NOT_FOUND)$/,
    );
  }
  expect(await read(box, "/home/user/nul\0byte")).toMatch(/^(PATH_INVALID|ARGUMENTS_INVALID)$/);
}

async function expectSparseFile(box: Box): Promise<void> {
  const five = 5 * 2 ** 30;
  await box.run(["truncate", "-s", String(five), "/home/user/sparse"]);
  expect(await box.guest.files.stat("/home/user/sparse", { signal: signal() })).toMatchObject({ size: five });
  expect(await read(box, "/home/user/sparse")).toBe("FILE_TOO_LARGE");
  await box.guest.files.copy("/home/user/sparse", "/home/user/copy", { signal: signal() });
  expect((await box.run(["du", "-k", "/home/user/copy"])).out).toMatch(/^\d{1,4}\t/);
}

async function expectManyFiles(box: Box): Promise<void> {
  await box.run(["bash", "-c", "mkdir many && cd many && for i in {1..10000}; do : > f$i; done"]);
  let count = 0;
  for await (const _ of box.guest.files.list("/home/user/many", { signal: signal() })) count += 1;
  expect(count).toBe(10_000);
  await box.guest.files.remove("/home/user/many", { recursive: true, signal: signal() });
  expect(await outcome(box.guest.files.stat("/home/user/many", { signal: signal() }))).toBe("FILE_NOT_FOUND");
}
