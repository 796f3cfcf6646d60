import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect } from "vitest";
import { NAVIGATE } from "../../src/browser/actions/navigate.ts";
import { Browsers } from "../../src/browser/browsers.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { chromiumProcesses, patiently, untilNoBrowser } from "../support/browser-lab.ts";
import { byName } from "../support/by-name.ts";
import { BINARY, KERNELS, makeHome } from "../support/namespace-home.ts";
import { verifies } from "./verifies.ts";

const WORKER = join(import.meta.dirname, "../fixtures/browser-worker.mjs");
const config = { sandbox: { timeoutMs: 600_000, pids: 512 }, listMax: 100, tombstoneRetentionMs: 600_000 };

verifies(
  "browser-leaves-nothing",
  async () => {
    await using home = await makeHome();
    const runtime = await home.open("home", "run", KERNELS);
    await using sandboxes = createLocalSandboxes({ home: home.path, runtimes: byName(runtime), config });
    const sandbox = await sandboxes.create(LOCAL, {}, patiently().signal);
    const places = { home: home.path, runtimeDirectory: join(home.path, "run"), binary: BINARY, storage: "home", kernels: KERNELS };
    const drive = async () => {
      const worker = spawn(process.execPath, [WORKER, JSON.stringify({ ...places, config, id: sandbox.id })], {
        stdio: ["pipe", "pipe", "inherit"],
      });
      await once(worker.stdout, "data");
      return { worker, gone: once(worker, "close") };
    };
    const none = async (): Promise<void> => {
      await untilNoBrowser(sandbox);
      expect(await chromiumProcesses(sandbox)).toEqual([]);
    };
    const open = (browsers: Browsers) => browsers.of(sandbox, "test").call(NAVIGATE, { url: "data:text/html,x" }, patiently());

    // Of another process that lives: it has the browser, and is not robbed of it.
    const killed = await drive();
    expect((await chromiumProcesses(sandbox)).length).toBeGreaterThan(2);
    await using browsers = new Browsers({ idleMs: 600_000 });
    await expect(open(browsers)).rejects.toMatchObject({
      code: "BROWSER_UNAVAILABLE",
      message: expect.stringContaining("Another Belljar process"),
    });
    killed.worker.kill("SIGKILL");
    await killed.gone;
    await none();

    const ended = await drive();
    ended.worker.stdin.end();
    await ended.gone;
    await none();

    await open(browsers);
    await sandbox.guest.run({ argv: ["pkill", "-9", "-f", "browser-driver"], signal: patiently().signal });
    await none();

    await open(browsers);
    await sandbox.stop();
    const again = await sandbox.start(patiently().signal);
    expect(await chromiumProcesses(again)).toEqual([]);
    expect((await browsers.of(again, "test").call(NAVIGATE, { url: "data:text/html,<title>again</title>" }, patiently())).value.title).toBe(
      "again",
    );
    await again.kill();
  },
  120_000,
);
