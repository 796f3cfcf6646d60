import { mkdtempSync, realpathSync } from "node:fs";
import { mkdir, readdir, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { BelljarError } from "../../errors.ts";
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

it("gives an owner no more volumes than its most, however many are made at once", async () => {
  const make = (index: number) => open().create(OWNER, { ...WISH, name: `v${index}` });
  for (let index = 0; index < 96; index++) await make(index);
  const made = await Promise.allSettled(Array.from({ length: 12 }, (_, index) => make(100 + index)));
  const own = await open().list(OWNER);
  expect(own.length).toBeLessThanOrEqual(100);
  expect(made.filter(({ status }) => status === "fulfilled")).toHaveLength(own.length - 96);
  expect(await readdir(join(home, "volumes")), "what was made too much is gone").toHaveLength(own.length);
  const codes = made.flatMap((one) => (one.status === "rejected" ? [(one.reason as { readonly code: string }).code] : []));
  expect([...new Set(codes)]).toEqual(["QUOTA_EXCEEDED"]);
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
    () => files.list("link", 1, signal),
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

it("lists what hostile programs have named and dated, within bounds, and ends for a client that goes", async () => {
  await rm(home, { recursive: true });
  home = mkdtempSync("/dev/shm/bj-"); // which keeps any time, as XFS and btrfs do
  const volumes = open();
  const volume = await volumes.create(OWNER, WISH);
  const files = await volumes.files(volume);
  const tree = join(home, "volumes", volume.id.slice(0, 20), "tree");
  await writeFile(join(tree, "late"), "");
  await utimes(join(tree, "late"), 1e15, 1e15);
  const signal = new AbortController().signal;
  const [late] = await files.list("/", 1, signal);
  expect(late?.mtime.toISOString()).toBe("9999-12-31T23:59:59.999Z");
  await expect(files.list("/", 1, AbortSignal.abort())).rejects.toMatchObject({ code: "CANCELLED" });
  const deep = Array.from({ length: 15 }, () => "d".repeat(250)).join("/");
  await mkdir(join(tree, deep), { recursive: true });
  await Promise.all(Array.from({ length: 1_200 }, (_, index) => symlink("t".repeat(4_000), join(tree, deep.slice(0, -251), `l${index}`))));
  await expect(files.list(deep.slice(0, -251), 1, signal)).rejects.toMatchObject({ code: "FILE_TOO_LARGE" });
});

it("gives several uploads at once no more room than one, and forgets what failed", async () => {
  const volumes = open();
  const volume = await volumes.create(OWNER, { name: "small", quotaBytes: 2 ** 20 });
  const files = await volumes.files(volume);
  const signal = new AbortController().signal;
  async function* bytes(): AsyncIterable<Uint8Array> {
    for (let i = 0; i < 6; i++) yield Buffer.alloc(2 ** 17);
  }
  const ends = await Promise.allSettled(["a", "b", "c"].map((name) => files.write(name, bytes(), {}, signal)));
  const written = ends.filter(({ status }) => status === "fulfilled").length;
  expect(written).toBeLessThan(2);
  const codes = ends.flatMap((end) => (end.status === "rejected" ? [(end.reason as { readonly code: string }).code] : []));
  expect([...new Set(codes)]).toEqual(["DISK_FULL"]);
  const left = await files.list("/", 1, signal);
  expect(left).toHaveLength(written);
  for (const { path } of left) await files.remove(path);
  expect(await files.write("a", bytes(), {}, signal)).toMatchObject({ size: 6 * 2 ** 17 });
});

it("shows nothing of a file that is being uploaded, counts it, and sweeps what a process left that was killed meanwhile", async () => {
  const volumes = open();
  const volume = await volumes.create(OWNER, { name: "small", quotaBytes: 2 ** 20 });
  const folder = join(home, "volumes", volume.id.slice(0, 20));
  const signal = new AbortController().signal;
  let [began, end] = [(): void => undefined, (): void => undefined];
  const hasBegun = new Promise<void>((resolve) => (began = resolve));
  const mayEnd = new Promise<void>((resolve) => (end = resolve));
  async function* half(): AsyncIterable<Uint8Array> {
    yield Buffer.alloc(2 ** 19);
    began();
    await mayEnd;
  }
  const files = await volumes.files(volume);
  const upload = files.write("file", half(), {}, signal);
  await hasBegun;
  const beside = open();
  const others = await beside.files(volume);
  expect([await others.list("/", 1, signal), await readdir(join(folder, "tree"))]).toEqual([[], []]);
  const rest = (async function* () {
    yield Buffer.alloc(2 ** 19 + 1);
  })();
  await expect(others.write("other", rest, {}, signal), "of what comes there is no room for others").rejects.toMatchObject({
    code: "DISK_FULL",
  });
  await beside.sweep(Date.now() + 2 * HOUR_MS);
  expect((await readdir(folder)).toSorted()).toEqual(["tree", "volume.json"]);
  end();
  await expect(upload).rejects.toBeInstanceOf(BelljarError);
  expect(await others.write("file", half(), {}, signal)).toMatchObject({ size: 2 ** 19 });
  await expect(others.write("file", half(), { force: false }, signal)).rejects.toMatchObject({ code: "FILE_EXISTS" });
  expect((await readdir(folder)).toSorted()).toEqual(["tree", "volume.json"]);
});
