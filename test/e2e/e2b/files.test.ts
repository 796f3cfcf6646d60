import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:http";
import { buffer } from "node:stream/consumers";
import { Readable } from "node:stream";
import type { WatchHandle } from "e2b";
import { FilesystemEventType, FileType, Sandbox } from "e2b";
import { expect, it } from "vitest";
import { encodeMessage } from "../../../src/gateway/e2b/envd/connect/envelope.ts";
import { openE2bLab } from "../../support/e2b-lab.ts";
import { openE2bInside } from "../../support/e2b-inside.ts";
import { headersOf } from "../../support/e2b-sandbox.ts";

const isRoot = process.getuid?.() === 0;

it("writes, reads, lists, moves and removes files for E2B's SDK", async () => {
  await using lab = await openE2bLab();
  const sandbox = await Sandbox.create(lab.options);
  const { files } = sandbox;
  const inside = await openE2bInside(lab);

  // Written and read in every form that the SDK has.
  expect(await files.write("hello.txt", "hi ü")).toMatchObject({ name: "hello.txt", path: "/home/user/hello.txt", type: "file" });
  expect(await files.read("hello.txt")).toBe("hi ü");
  const bytes = Uint8Array.from({ length: 300_000 }, (_, at) => (at * 7) % 251);
  for (const options of [{}, { useOctetStream: true }, { gzip: true }]) {
    await files.write("deep/er/bytes.bin", bytes.slice().buffer, options);
    expect(Buffer.from(await files.read("deep/er/bytes.bin", { format: "bytes" })).equals(bytes)).toBe(true);
  }
  expect(Buffer.from(await files.read("deep/er/bytes.bin", { format: "bytes", gzip: true })).equals(bytes)).toBe(true);
  const streamed = await files.read("deep/er/bytes.bin", { format: "stream" });
  expect((await buffer(Readable.fromWeb(streamed as never))).equals(bytes)).toBe(true);
  await files.write("stream.bin", new Blob([bytes]).stream());
  expect((await files.read("stream.bin", { format: "blob" })).size).toBe(bytes.length);
  await files.write("empty", "");
  expect([await files.read("empty"), await files.read("empty", { format: "bytes" })]).toEqual(["", new Uint8Array(0)]);
  const many = await files.write([
    { path: "a b.txt", data: "1" },
    { path: "/tmp/x/ü'\".txt", data: "2" },
    { path: "../user/%41.txt", data: "3" },
  ]);
  expect(many.map(({ path }) => path)).toEqual(["/home/user/a b.txt", "/tmp/x/ü'\".txt".replaceAll('"', "%22"), "/home/user/%41.txt"]);
  expect(await files.read("%41.txt")).toBe("3");

  // Entries, exactly.
  const info = await files.getInfo("hello.txt");
  expect(info).toMatchObject({
    name: "hello.txt",
    type: FileType.FILE,
    path: "/home/user/hello.txt",
    size: 5,
    mode: 0o644,
    permissions: "-rw-r--r--",
    owner: "user",
    group: "user",
  });
  expect(Number(info.modifiedTime)).toBeGreaterThan(Date.now() - 600_000);
  await inside.run(
    sandbox.sandboxId,
    "cd ~; mkdir links; ln -s ../hello.txt links/file; ln -s ../deep links/folder; ln -s nowhere links/broken; mkfifo links/pipe; chmod 4750 hello.txt",
  );
  const links = await files.list("links");
  expect(links.map(({ name, type, permissions, symlinkTarget, mode }) => [name, type, permissions, symlinkTarget, mode])).toEqual([
    ["file", FileType.FILE, "Lrwxrwxrwx", "/home/user/hello.txt", 0o750],
    ["folder", FileType.DIR, "Lrwxrwxrwx", "/home/user/deep", 0o755],
  ]);
  expect(await files.getInfo("links/broken")).toMatchObject({ type: undefined, symlinkTarget: "/home/user/links/broken" });
  expect((await files.getInfo("hello.txt")).permissions).toBe("urwxr-x---");
  expect((await files.getInfo("/tmp")).permissions).toBe("dtrwxrwxrwx");
  await files.write([
    { path: "tree/a-1/x", data: "" },
    { path: "tree/a/y", data: "" },
    { path: "tree/b", data: "" },
  ]);
  const below = async (depth: number): Promise<string[]> =>
    (await files.list("~/tree", { depth })).map(({ path }) => path.replace("/home/user/tree/", ""));
  expect(await below(1)).toEqual(["a", "a-1", "b"]);
  expect(await below(9)).toEqual(["a", "a/y", "a-1", "a-1/x", "b"]);
  await inside.run(sandbox.sandboxId, "ln -s tree ~/way");
  expect((await files.list("way")).map(({ path }) => path)).toEqual(["/home/user/way/a", "/home/user/way/a-1", "/home/user/way/b"]);

  // Folders, names, removal.
  expect([await files.makeDir("m/n"), await files.makeDir("m/n")]).toEqual([true, false]);
  await expect(files.makeDir("empty")).rejects.toMatchObject({ name: "InvalidArgumentError" });
  expect(await files.rename("empty", "new/place/moved")).toMatchObject({ path: "/home/user/new/place/moved", type: FileType.FILE });
  await expect(files.rename("empty", "never/there")).rejects.toMatchObject({ name: "FileNotFoundError" });
  expect([await files.exists("empty"), await files.exists("never"), await files.exists("new/place/moved")]).toEqual([false, false, true]);
  await files.remove("new");
  await files.remove("new");
  expect(await files.exists("new")).toBe(false);
  for (const refused of [() => files.read("nothing"), () => files.list("nothing"), () => files.getInfo("nothing")])
    await expect(refused()).rejects.toMatchObject({ name: "FileNotFoundError" });
  await expect(files.read("nothing")).rejects.toThrow("path '/home/user/nothing' does not exist");
  await expect(files.read("m")).rejects.toThrow("path '/home/user/m' is a directory");
  await expect(files.list("hello.txt")).rejects.toMatchObject({ name: "InvalidArgumentError" });

  // Users: with their rights, and their homes.
  await expect(files.read("x", { user: "nobody-here" })).rejects.toThrow(
    "error looking up user 'nobody-here': user: unknown user nobody-here",
  );
  await expect(files.list("x", { user: "nobody-here" })).rejects.toThrow("invalid username: 'nobody-here'");
  for (const user of ["0", "1000:0", "user:root"])
    await expect(files.read("x", { user }), user).rejects.toMatchObject({ name: "AuthenticationError" });
  // In a sandbox that was made without root its one user owns all of its files.
  const outcomeOf = (work: Promise<unknown>): Promise<string> => work.then(() => "done", String);
  expect(await outcomeOf(files.write("/etc/hostname", "mine"))).toMatch(isRoot ? /permission denied/ : /^done$/);
  await files.write("r.txt", "r", { user: "root" });
  expect(await files.getInfo("r.txt", { user: "root" })).toMatchObject({ path: "/root/r.txt", ...(isRoot && { owner: "root" }) });
  expect(await outcomeOf(files.read("/root/r.txt"))).toMatch(isRoot ? /permission denied/ : /^done$/);
  expect((await files.read("/proc/meminfo")).startsWith("MemTotal")).toBe(true);
});

it("keeps metadata with files, and tells of changes as they come and when asked", async () => {
  await using lab = await openE2bLab();
  const sandbox = await Sandbox.create(lab.options);
  const { files } = sandbox;
  const inside = await openE2bInside(lab);

  const written = await files.write("m.txt", "1", { metadata: { "Key-One": "a value", two: "" } });
  expect(written.metadata).toEqual({ "key-one": "a value", two: "" });
  expect((await files.getInfo("m.txt")).metadata).toEqual({ "key-one": "a value", two: "" });
  await inside.run(
    sandbox.sandboxId,
    `python3 -c "import os; os.setxattr('/home/user/m.txt', 'user.e2b.set', b'inside'); os.setxattr('/home/user/m.txt', 'user.other', b'x')"`,
  );
  const [listed] = (await files.list(".")).filter(({ name }) => name === "m.txt");
  expect(listed?.metadata).toEqual({ "key-one": "a value", two: "", set: "inside" });
  expect((await files.rename("m.txt", "n.txt")).metadata).toEqual(listed?.metadata);
  await files.write("n.txt", "2", { metadata: { three: "3" }, useOctetStream: true });
  expect((await files.getInfo("n.txt")).metadata).toEqual({ three: "3" });
  await files.write("n.txt", "3");
  expect((await files.getInfo("n.txt")).metadata).toBeUndefined();
  await files.write(
    [
      { path: "o", data: "" },
      { path: "p", data: "" },
    ],
    { metadata: { both: "yes" } },
  );
  expect([(await files.getInfo("o")).metadata, (await files.getInfo("p")).metadata]).toEqual([{ both: "yes" }, { both: "yes" }]);
  await inside.run(sandbox.sandboxId, "ln -s o ~/link");
  await files.write("link", "through", { metadata: { via: "link" } });
  expect(await files.getInfo("o")).toMatchObject({ size: 7, metadata: { via: "link" } });
  await expect(
    files.write("/dev/shm/kept-nowhere", "x", { metadata: { k: "v" } }).then(() => files.getInfo("/dev/shm/kept-nowhere")),
  ).resolves.toMatchObject({ metadata: { k: "v" } });

  await files.makeDir("w");
  await using all = await watch(sandbox, "w", { recursive: true, includeEntry: true });
  await using flat = await watch(sandbox, "w");
  await files.write("w/f.txt", "1");
  await all.sees(FilesystemEventType.CREATE, "f.txt");
  const { entry } = await all.sees(FilesystemEventType.WRITE, "f.txt");
  expect(entry).toMatchObject({ path: "/home/user/w/f.txt", type: FileType.FILE, size: 1 });
  await files.write("w/new/deep.txt", "1");
  await all.sees(FilesystemEventType.CREATE, "new");
  await all.sees(FilesystemEventType.CREATE, "new/deep.txt");
  await inside.run(sandbox.sandboxId, "chmod 600 ~/w/f.txt; echo more >> ~/w/f.txt");
  await all.sees(FilesystemEventType.CHMOD, "f.txt");
  await files.rename("w/f.txt", "w/g.txt");
  expect(await flat.sees(FilesystemEventType.RENAME, "f.txt")).not.toHaveProperty("entry.path");
  await files.remove("w/g.txt");
  await flat.sees(FilesystemEventType.REMOVE, "g.txt");
  const names = [...all.events, ...flat.events].map(({ name }) => name);
  expect(names.filter((name) => name.includes(".belljar"))).toEqual([]);
  expect(flat.events.some(({ name }) => name.startsWith("new/"))).toBe(false);
  for (const [path, name] of [
    ["nothing", "FileNotFoundError"],
    ["n.txt", "InvalidArgumentError"],
  ] as const)
    await expect(sandbox.files.watchDir(path, () => undefined)).rejects.toMatchObject({ name });

  // As the synchronous SDK of Python asks.
  const rpc = async (
    method: string,
    body: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ status: number; body: Readonly<Record<string, unknown>> }> => {
    const answer = await lab.ask(`/filesystem.Filesystem/${method}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headersOf(sandbox), ...headers },
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: (await answer.json()) as Readonly<Record<string, unknown>> };
  };
  const created = await rpc("CreateWatcher", { path: "w", recursive: true, include_entry: true });
  const watcherId = String(created.body["watcherId"]);
  await files.write("w/polled", "1");
  await all.sees(FilesystemEventType.WRITE, "polled");
  // The other watch has seen it; this one may be a moment behind.
  const polled: unknown[] = [];
  while (polled.length < 2)
    polled.push(...((await rpc("GetWatcherEvents", { watcher_id: watcherId })).body["events"] as readonly unknown[]));
  expect(polled).toMatchObject([
    { name: "polled", type: "EVENT_TYPE_CREATE", entry: { size: "1" } },
    { name: "polled", type: "EVENT_TYPE_WRITE" },
  ]);
  expect((await rpc("GetWatcherEvents", { watcherId })).body).toEqual({ events: [] });
  expect((await rpc("RemoveWatcher", { watcherId })).body).toEqual({});
  expect(await rpc("GetWatcherEvents", { watcherId })).toMatchObject({ status: 404, body: { code: "not_found" } });
  expect(await rpc("CreateWatcher", { path: "n.txt" })).toMatchObject({ status: 400, body: { code: "invalid_argument" } });
  expect(await rpc("MakeDir", { path: "w" })).toMatchObject({ status: 409, body: { code: "already_exists" } });
  expect(await rpc("Stat", { path: "nothing" })).toMatchObject({ status: 404, body: { code: "not_found" } });
  const nobody = { authorization: `Basic ${Buffer.from("nobody:").toString("base64")}` };
  expect(await rpc("Stat", { path: "/" }, nobody)).toMatchObject({ status: 200 });
  expect(await rpc("Stat", { path: "." }, nobody)).toMatchObject({ status: 404, body: { message: "path '/nonexistent' does not exist" } });
  expect(await rpc("ListDir", { path: ".", depth: -1 })).toMatchObject({ status: 400, body: { code: "invalid_argument" } });
  expect(await rpc("Stat", { path: "a\0b" })).toMatchObject({ status: 400, body: { code: "invalid_argument" } });
  expect(await rpc("Stat", { path: "x" }, { "x-access-token": "wrong" })).toMatchObject({ status: 401, body: { code: "unauthenticated" } });
});

type Seen = { readonly type: FilesystemEventType; readonly name: string; readonly entry?: unknown };

async function watch(sandbox: Sandbox, path: string, options: { readonly recursive?: boolean; readonly includeEntry?: boolean } = {}) {
  const events: Seen[] = [];
  let told = (): void => undefined;
  const handle: WatchHandle = await sandbox.files.watchDir(
    path,
    (event) => {
      events.push(event);
      told();
    },
    { ...options, timeoutMs: 0 },
  );
  return {
    events,
    /** Resolves with it once it came, or at once when it has come already. */
    sees: (type: FilesystemEventType, name: string): Promise<Seen> =>
      new Promise((resolve) => {
        told = () => {
          const found = events.find((event) => event.type === type && event.name === name);
          if (found) resolve(found);
        };
        told();
      }),
    [Symbol.asyncDispose]: () => handle.stop(),
  };
}

it("ends a stream of changes whose client is too slow for them, in E2B's form", async () => {
  await using lab = await openE2bLab();
  const sandbox = await Sandbox.create(lab.options);
  const asked = request(`${lab.url}/filesystem.Filesystem/WatchDir`, {
    method: "POST",
    headers: { ...(headersOf(sandbox) as Record<string, string>), "content-type": "application/connect+json" },
  });
  asked.end(encodeMessage({ path: "/dev/shm" }));
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  await once(answer, "readable"); // it watches, and nobody reads on
  const changes = "import os\nfor n in 'ab': open(n*250,'w').close()\nfor i in range(60000):\n  for n in 'ab': os.chmod(n*250,0o600+i%2)";
  await sandbox.commands.run(`python3 -c "${changes}"`, { cwd: "/dev/shm", timeoutMs: 60_000 });
  let end = "";
  for await (const chunk of answer) end = `${end}${(chunk as Buffer).toString("latin1")}`.slice(-2_000);
  expect(end).toMatch(/"error":\{"code":"[a-z_]+","message":"More has changed at once than could be told/);
});
