import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { CHROMIUM, hasChromium } from "../browser-server.mjs";
import { compare, NEVER, openHome, SETTLE_MS } from "../harness.mjs";
import { openPooled } from "../pooled.mjs";

export const limitMs = 300_000;
const MEMORY = "/dev/shm";
const URL = `data:text/html,${encodeURIComponent("<title>page</title><h1>page</h1>")}`;

/** A browser in a fresh sandbox, beside playwright with the same Chromium and flags on the host. */
export async function measure() {
  if (!hasChromium) return [{ what: "a browser", omitted: "there is no Chromium" }];
  const home = await openHome({ storage: "tmpfs" });
  const [{ Browsers }, { NAVIGATE }, { commandLine }] = await Promise.all(
    ["browsers.js", "actions/navigate.js", "flags.js"].map((file) => import(`../../dist/lib/browser/${file}`)),
  );
  const browsers = new Browsers({ idleMs: 600_000 });
  const navigate = (sandbox) =>
    timed(
      () => browsers.of(sandbox, "bench").call(NAVIGATE, { url: URL }, { signal: NEVER, timeoutMs: 50_000 }),
      () => sandbox.kill(),
    );
  const reference = () => onHost(commandLine);
  const beside = "playwright.launch and goto on the host";
  try {
    const fresh = await compare({ reference, measured: async () => navigate(await home.create()), blocks: 4, each: 5 });
    const waited = await fromPool(home, { reference, navigate });
    return [
      { what: "first navigation of a browser in a fresh sandbox", beside, goal: 1.3, ...fresh },
      { what: "first navigation in a fresh sandbox that has waited with a driver (pool.browser)", beside, goal: 1.3, ...waited },
    ];
  } finally {
    await browsers[Symbol.asyncDispose]();
    await home.close();
  }
}

/** The sandbox after it is ready too: its making is no part of this. */
async function fromPool({ config }, { reference, navigate }) {
  const pool = await openPooled({ ...config, pool: { ...config.pool, programs: 0, browser: true } });
  try {
    const measured = async () => {
      await pool.full();
      const sandbox = await pool.take();
      await pool.full();
      await pause(SETTLE_MS);
      return navigate(sandbox);
    };
    return await compare({ reference, measured, blocks: 4, each: 5 });
  } finally {
    await pool.close();
  }
}

/** With a profile that was just made. */
async function onHost(commandLine) {
  const { chromium } = createRequire(import.meta.url)("playwright-core");
  const profile = mkdtempSync(join(MEMORY, "bjb-profile-"));
  const args = commandLine({ profile, hostName: hostname(), network: "sandbox" });
  const took = await timed(
    async () => {
      const context = await chromium.launchPersistentContext(profile, { executablePath: CHROMIUM, args, ignoreDefaultArgs: true });
      await context.pages()[0].goto(URL);
      return context;
    },
    (context) => context.close(),
  );
  rmSync(profile, { recursive: true, force: true });
  return took;
}

async function timed(work, after) {
  const started = performance.now();
  const made = await work();
  const took = performance.now() - started;
  await after(made);
  return took;
}
