import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { hostname } from "node:os";
import { join } from "node:path";
import { CHROMIUM, hasChromium } from "../browser-server.mjs";
import { compare, NEVER, openHome } from "../harness.mjs";

export const limitMs = 300_000;
const MEMORY = "/dev/shm";
const PAGE = "<title>page</title><h1>page</h1>";

/** A browser in a fresh sandbox, beside playwright with the same Chromium and flags on the host. */
export async function measure() {
  if (!hasChromium) return [{ what: "a browser", omitted: "there is no Chromium" }];
  const home = await openHome({ storage: "tmpfs" });
  const [{ Browsers }, { NAVIGATE }] = await Promise.all(
    ["browsers.js", "actions/navigate.js"].map((file) => import(`../../dist/lib/browser/${file}`)),
  );
  const browsers = new Browsers({ idleMs: 600_000 });
  try {
    return [await firstNavigate(home, { browsers, NAVIGATE })];
  } finally {
    await browsers[Symbol.asyncDispose]();
    await home.close();
  }
}

/** Each time in a sandbox that was just made, and on the host with a profile that was just made. */
async function firstNavigate(home, { browsers, NAVIGATE }) {
  const { chromium } = createRequire(import.meta.url)("playwright-core");
  const { commandLine } = await import("../../dist/lib/browser/flags.js");
  const url = `data:text/html,${encodeURIComponent(PAGE)}`;
  const timed = async (work, after) => {
    const started = performance.now();
    const made = await work();
    const took = performance.now() - started;
    await after(made);
    return took;
  };
  const onHost = async () => {
    const profile = mkdtempSync(join(MEMORY, "bjb-profile-"));
    const args = commandLine({ profile, hostName: hostname(), network: "sandbox" });
    const took = await timed(
      async () => {
        const context = await chromium.launchPersistentContext(profile, { executablePath: CHROMIUM, args, ignoreDefaultArgs: true });
        await context.pages()[0].goto(url);
        return context;
      },
      (context) => context.close(),
    );
    rmSync(profile, { recursive: true, force: true });
    return took;
  };
  const inside = async () => {
    const sandbox = await home.create({ limits: { pids: 512 } });
    return timed(
      () => browsers.of(sandbox, "bench").call(NAVIGATE, { url }, { signal: NEVER, timeoutMs: 50_000 }),
      () => sandbox.kill(),
    );
  };
  const figures = await compare({ reference: onHost, measured: inside, blocks: 4, each: 5 });
  return {
    what: "first navigation of a browser in a fresh sandbox",
    beside: "playwright.launch and goto on the host",
    goal: 1.3,
    ...figures,
  };
}
