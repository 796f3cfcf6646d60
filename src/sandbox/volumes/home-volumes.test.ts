import { mkdtempSync, realpathSync } from "node:fs";
import { mkdir, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { fakeRuntime } from "../../runtime/fake/fake-runtime.ts";
import type { Principal } from "../principal.ts";
import { HomeVolumes } from "./home-volumes.ts";

const OWNER: Principal = { id: "token:a", name: "a" };
const HOUR_MS = 3_600_000;
const WISH = { name: "data", quotaBytes: 2 ** 20 };
let home: string;
let records: { id: string; volumes?: readonly { id: string; name: string; path: string }[] }[];

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "bj-")));
  records = [];
});
afterEach(() => rm(home, { recursive: true, force: true }));

function open(): HomeVolumes {
  const runtime = fakeRuntime();
  return new HomeVolumes({ home, choose: () => runtime, runtimes: new Map([["fake", runtime]]), records: async () => records });
}

it("makes one volume of a name, whichever process asks, and a later one has another id", async () => {
  const made = await Promise.allSettled(Array.from({ length: 8 }, () => open().create(OWNER, WISH)));
  const [first, ...more] = made.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  expect([first?.name, more]).toEqual(["data", []]);
  expect(made.filter((one) => one.status === "rejected").map(({ reason }) => (reason as { code: string }).code)).toEqual(
    Array.from({ length: 7 }, () => "VOLUME_NAME_TAKEN"),
  );
  expect(await readdir(join(home, "volumes"))).toHaveLength(1);
  await open().remove(OWNER, "data");
  expect(await readdir(join(home, "volumes"))).toEqual([]);
  const later = await open().create(OWNER, WISH);
  expect(later.id).not.toBe(first?.id);
  await expect(open().getLinked(first?.id ?? "")).rejects.toMatchObject({ code: "VOLUME_NOT_FOUND" });
});

it("shows nobody another owner's, nor an agent another project's", async () => {
  const agent = (folder: string): Principal => ({ ...OWNER, project: { folder, sees: "own" } });
  const made = await open().create(agent("/work"), WISH);
  for (const other of [{ id: "token:b", name: "b" }, agent("/play")])
    for (const text of [made.id, made.name]) await expect(open().get(other, text)).rejects.toMatchObject({ code: "VOLUME_NOT_FOUND" });
  expect((await open().get(OWNER, "data")).id).toBe(made.id);
  expect((await open().list(agent("/work"))).map(({ id }) => id)).toEqual([made.id]);
});

it("is not removed while a sandbox has it, also one whose record comes at the last moment", async () => {
  const volumes = open();
  const { id } = await volumes.create(OWNER, WISH);
  const user = { id: "s", volumes: [{ id, name: "data", path: "/mnt" }] };
  records = [user];
  await expect(volumes.remove(OWNER, id)).rejects.toMatchObject({ code: "VOLUME_IN_USE" });
  let looks = 0;
  const late = new HomeVolumes({
    home,
    choose: () => fakeRuntime(),
    runtimes: new Map([["fake", fakeRuntime()]]),
    records: async () => (looks++ === 0 ? [] : [user]),
  });
  await expect(late.remove(OWNER, id)).rejects.toMatchObject({ code: "VOLUME_IN_USE" });
  expect((await volumes.get(OWNER, id)).id).toBe(id);
  expect(await volumes.mountsOf(user)).toEqual([{ folder: join(home, "volumes", id.slice(0, 20)), at: "/mnt" }]);
});

it("ends the removals of processes that have died, and none that goes on", async () => {
  const volumes = open();
  const { id } = await volumes.create(OWNER, WISH);
  const folder = join(home, "volumes", id.slice(0, 20));
  const aside = join(home, "volumes", `.gone-${id}`);
  await mkdir(join(folder, ".gone-part/tree/deep"), { recursive: true });
  await volumes.sweep();
  expect(await readdir(folder)).toContain(".gone-part");
  await volumes.sweep(Date.now() + 2 * HOUR_MS);
  expect(await readdir(folder)).not.toContain(".gone-part");

  await rename(folder, aside);
  records = [{ id: "s", volumes: [{ id, name: "data", path: "/mnt" }] }];
  await volumes.sweep(Date.now() + 2 * HOUR_MS);
  expect((await volumes.get(OWNER, id)).id, "a sandbox has it").toBe(id);
  await rename(folder, aside);
  records = [];
  await volumes.sweep();
  expect(await readdir(join(home, "volumes"))).toEqual([`.gone-${id}`]);
  await volumes.sweep(Date.now() + 2 * HOUR_MS);
  expect(await readdir(join(home, "volumes"))).toEqual([]);
});

it("tells no error with a path of the host, and follows no link", async () => {
  const volumes = open();
  const volume = await volumes.create(OWNER, WISH);
  const files = await volumes.files(volume);
  const tree = join(home, "volumes", volume.id.slice(0, 20), "tree");
  await writeFile(join(home, "outside"), "outside");
  await symlink(home, join(tree, "link"));
  await symlink(join(home, "outside"), join(tree, "file"));
  const signal = new AbortController().signal;
  const attempts = [
    () => files.open("link/outside"),
    () => files.open("file"),
    () => files.list("link"),
    () => files.makeFolder("link/made", { force: true }),
    () => files.write("link/made", (async function* () {})(), {}, signal),
    () => files.remove("link/outside"),
    () => files.update("link/outside", { mode: 0 }),
    () => files.stat("../../../outside"),
    () => files.remove("/"),
  ];
  for (const attempt of attempts) {
    const failure = await attempt().then(
      () => "none",
      (cause: unknown) => String(cause),
    );
    expect(failure, String(attempt)).toMatch(/^BelljarError: /);
    expect(failure).not.toContain(home);
  }
  expect((await readdir(home)).toSorted()).toEqual(["outside", "volumes"]);
});
