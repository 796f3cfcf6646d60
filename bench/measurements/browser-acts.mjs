import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { hostname } from "node:os";
import { join } from "node:path";
import { compare, NEVER, openHome } from "../harness.mjs";

export const limitMs = 300_000;
const CHROMIUM = "/usr/lib/chromium/chromium";
const MEMORY = "/dev/shm";
const TIMES = { blocks: 4, each: 10 };
const ITEMS = Array.from({ length: 100 }, (_, n) => `<li><a href="#${n}">Item ${n}</a></li>`).join("");
const PAGE = `<title>page</title><h1>page</h1><button id="b" onclick="this.textContent = Number(this.textContent) + 1">0</button><ul>${ITEMS}</ul>`;
const URL_OF_PAGE = `data:text/html,${encodeURIComponent(PAGE)}`;

/** A click and a picture in a sandbox's browser, beside playwright with the same Chromium and flags on the host. */
export async function measure() {
  if (!existsSync(CHROMIUM)) return [{ what: "acts in a browser", omitted: "there is no Chromium" }];
  const home = await openHome({ storage: "tmpfs" });
  const load = (file) => import(`../../dist/lib/browser/${file}`);
  const [{ Browsers }, { NAVIGATE }, { CLICK }, { SCREENSHOT }] = await Promise.all(
    ["browsers.js", "actions/navigate.js", "actions/click.js", "actions/screenshot.js"].map(load),
  );
  const browsers = new Browsers({ idleMs: 600_000 });
  const host = await openOnHost();
  try {
    const session = browsers.of(await home.create({ limits: { pids: 512 } }), "bench");
    const call = (action, args) => session.call(action, args, { signal: NEVER, timeoutMs: 50_000 });
    await call(NAVIGATE, { url: URL_OF_PAGE });
    await host.page.goto(URL_OF_PAGE);
    return [await clicks(host.page, () => call(CLICK, { selector: "#b" })), await pictures(host.page, () => call(SCREENSHOT, {}))];
  } finally {
    await host.close();
    await browsers[Symbol.asyncDispose]();
    await home.close();
  }
}

async function openOnHost() {
  const { chromium } = createRequire(import.meta.url)("playwright-core");
  const { commandLine } = await import("../../dist/lib/browser/flags.js");
  const profile = mkdtempSync(join(MEMORY, "bjb-profile-"));
  const args = commandLine({ profile, hostName: hostname() });
  const viewport = { width: 1280, height: 720 };
  const context = await chromium.launchPersistentContext(profile, { executablePath: CHROMIUM, args, ignoreDefaultArgs: true, viewport });
  return {
    page: context.pages()[0],
    async close() {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

async function clicks(page, measured) {
  const reference = async () => {
    await page.click("#b");
    await page.locator("body").ariaSnapshot({ mode: "ai" });
  };
  const figures = await compare({ reference: silent(reference), measured: silent(measured), ...TIMES });
  const most = Math.round(1.3 * figures.reference.p50 + 10);
  return { what: "click and what changed, without MCP", beside: "playwright's click and text of the page, on the host", most, ...figures };
}

async function pictures(page, measured) {
  const reference = () => page.screenshot({ type: "jpeg" });
  const figures = await compare({ reference: silent(reference), measured: silent(measured), ...TIMES });
  return { what: "picture of 1280 x 720, without MCP", beside: "playwright's, on the host", goal: 1.2, ...figures };
}

/** `compare` takes a number given back for a time. */
const silent = (work) => async () => void (await work());
