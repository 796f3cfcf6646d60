import { spawn } from "node:child_process";
import { pbkdf2 } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, watch } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openOwnListeners } from "../../../src/network/own-listeners.ts";

const HOST = "127.0.0.1";
let directory: string;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), "bj-own-"))));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Another process that holds a claim as Belljar does. */
async function openHolder(port: number | "new") {
  const script = `require("node:net").createServer(() => {}).listen({ path: ${JSON.stringify(join(directory, `${port}-0123456789ab`))} }, () => console.log("ready"))`;
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  const exited = once(child, "exit");
  return {
    child,
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

it("knows the claims of all processes that share the folder, until they are released", async () => {
  const [one, other] = [openOwnListeners(directory), openOwnListeners(directory)];
  const claimed = await one.claim({ host: HOST, port: 6060 });
  expect([await one.has(6060), await other.has(6060), await other.has(606), await other.has(60_601)]).toEqual([true, true, false, false]);
  await claimed[Symbol.asyncDispose]();
  expect([await one.has(6060), await other.has(6060)]).toEqual([false, false]);
  expect(readdirSync(directory)).toEqual([]);
});

it("binds a claim's socket under another name, so that the final name always has a listener", async () => {
  const names: string[] = [];
  const watcher = watch(directory);
  const appeared = new Promise<void>((resolve) => {
    watcher.on("change", (_event, name) => {
      names.push(String(name));
      if (String(name).startsWith("6060-")) resolve();
    });
  });
  await using _claimed = await openOwnListeners(directory).claim({ host: HOST, port: 6060 });
  await appeared;
  watcher.close();
  expect(names[0]).not.toMatch(/^6060-/);
  expect(readdirSync(directory)).toEqual([names.at(-1)]);
});

it("keeps the claim of a frozen process, and forgets that of a killed process", async () => {
  const holder = await openHolder(7070);
  const listeners = openOwnListeners(directory);
  holder.child.kill("SIGSTOP");
  expect(await listeners.has(7070)).toBe(true);
  await holder.kill();
  expect(readdirSync(directory)).toHaveLength(1);
  expect(await listeners.has(7070)).toBe(false);
  expect(readdirSync(directory)).toEqual([]);
});

it("removes the socket of a process that was killed before its claim", async () => {
  const holder = await openHolder("new");
  const listeners = openOwnListeners(directory);
  expect(await listeners.has(7070)).toBe(false);
  expect(readdirSync(directory)).toEqual(["new-0123456789ab"]);
  await holder.kill();
  expect(await listeners.has(7070)).toBe(false);
  expect(readdirSync(directory)).toEqual([]);
});

it("claims a port even if another process removes its socket before it is ready", async () => {
  // The rename of the socket waits for a thread of the pool behind these.
  const busy = (): Promise<unknown>[] => Array.from({ length: 8 }, () => promisify(pbkdf2)("", "", 200_000, 32, "sha512"));
  // On a busy machine the rename may still be quicker. Then the test tries again.
  for (let isTaken = false; !isTaken;) {
    const work = busy();
    const claiming = openOwnListeners(directory).claim({ host: HOST, port: 7070 });
    work.push(...busy());
    const progress = { isOver: false };
    void claiming.finally(() => (progress.isOver = true));
    while (!isTaken && !progress.isOver) {
      isTaken = takeUnready();
      await setImmediate();
    }
    await using _claimed = await claiming;
    await Promise.all(work);
    expect(await openOwnListeners(directory).has(7070)).toBe(true);
    expect(readdirSync(directory)).toHaveLength(1);
  }
}, 120_000);

/** Removes an unready socket. Returns false if there was none. */
function takeUnready(): boolean {
  const unready = readdirSync(directory).find((name) => name.startsWith("new-"));
  try {
    if (unready !== undefined) rmSync(join(directory, unready));
    return unready !== undefined;
  } catch {
    return false; // It has been renamed meanwhile.
  }
}

it("keeps its own claims if somebody removes the folder", async () => {
  const listeners = openOwnListeners(directory);
  await using claimed = await listeners.claim({ host: HOST, port: 0 });
  rmSync(directory, { recursive: true });
  expect(await listeners.has(claimed.port)).toBe(true);
});

it("chooses a free port for port 0", async () => {
  await using claimed = await openOwnListeners(directory).claim({ host: HOST, port: 0 });
  const server = createServer().listen(claimed.port, HOST);
  await once(server, "listening");
  server.close();
});
