import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { connectSocket } from "./open-socket.ts";

async function openFolder() {
  const folder = await mkdtemp(join(tmpdir(), "bj-sock-"));
  const connect = (name: string, signal = new AbortController().signal) =>
    connectSocket({ path: join(folder, name), pausedPath: join(folder, "paused"), signal });
  return { folder, connect, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

it("rejects with the kernel's own error if nobody listens", async () => {
  await using place = await openFolder();
  await expect(place.connect("gone")).rejects.toThrow(expect.objectContaining({ code: "ENOENT" }));
  await writeFile(join(place.folder, "file"), "");
  await expect(place.connect("file")).rejects.toThrow(expect.objectContaining({ code: "ECONNREFUSED" }));
});

it("says that a sandbox is paused if its socket has the paused name", async () => {
  await using place = await openFolder();
  await writeFile(join(place.folder, "paused"), "");
  await expect(place.connect("gone")).rejects.toThrow(expect.objectContaining({ code: "SANDBOX_PAUSED" }));
});

it("connects, and not once its signal has aborted", async () => {
  await using place = await openFolder();
  const server = createServer((socket) => socket.end("hi")).listen(join(place.folder, "open"));
  await once(server, "listening");
  const [bytes] = (await once(await place.connect("open"), "data")) as [Buffer];
  expect(bytes.toString()).toBe("hi");
  await expect(place.connect("open", AbortSignal.abort())).rejects.toThrow(/abort/i);
  server.close();
});
