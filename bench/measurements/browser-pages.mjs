import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { compare, NEVER, openHome, ROOT } from "../harness.mjs";

export const limitMs = 300_000;
const CHROMIUM = "/usr/lib/chromium/chromium";
const SITE = join(ROOT, "test/fixtures/browser-site/server.mjs");
const PORT = 8_000;
const MOST_MS = 60;
const MOST_TOKENS = 6_000;
const CHARACTERS_A_TOKEN = 4;
const PAGES = [
  { path: "/table", title: "a table of 250 rows x 8" },
  { path: "/shop", title: "a page of a shop with 120 products" },
];

/** What a browser in a sandbox shows of a page, as text, beside playwright's own text on the host. */
export async function measure() {
  if (!existsSync(CHROMIUM)) return [{ what: "pages in a browser", omitted: "there is no Chromium" }];
  const home = await openHome({ storage: "tmpfs" });
  const load = (file) => import(`../../dist/lib/browser/${file}`);
  const [{ Browsers }, { NAVIGATE }, { SNAPSHOT }] = await Promise.all(
    ["browsers.js", "actions/navigate.js", "actions/snapshot.js"].map(load),
  );
  const browsers = new Browsers({ idleMs: 600_000 });
  const { chromium } = createRequire(import.meta.url)("playwright-core");
  const onHost = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
  const site = spawn(process.execPath, [SITE], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const [line] = await once(site.stdout, "data");
    const origin = String(line).trim();
    const sandbox = await home.create({ limits: { pids: 512 } });
    await serveSite(sandbox);
    const session = browsers.of(sandbox, "bench");
    const call = async (action, args) => (await session.call(action, args, { signal: NEVER, timeoutMs: 50_000 })).value;
    const rows = [];
    for (const page of PAGES) rows.push(...(await snapshots(page, { call, NAVIGATE, SNAPSHOT, onHost, origin })));
    return rows;
  } finally {
    site.kill();
    await onHost.close();
    await browsers[Symbol.asyncDispose]();
    await home.close();
  }
}

async function serveSite({ guest }) {
  const argv = ["node", "--input-type=module", "-e", readFileSync(SITE, "utf8"), "-", String(PORT)];
  const site = await guest.exec({ argv, stdin: false, signal: NEVER });
  site.exited.catch(() => undefined);
  site.stderr.resume();
  await once(site.stdout, "data");
  site.stdout.resume();
}

async function snapshots({ path, title }, { call, NAVIGATE, SNAPSHOT, onHost, origin }) {
  await call(NAVIGATE, { url: `http://127.0.0.1:${PORT}${path}` });
  const page = await onHost.newPage();
  await page.goto(origin + path);
  const theirs = () => page.locator("body").ariaSnapshot({ mode: "ai" });
  const ours = async () => (await call(SNAPSHOT, {})).text;
  const [measured, reference] = [await ours(), await theirs()].map((text) => always(Math.ceil(text.length / CHARACTERS_A_TOKEN)));
  const times = await compare({ reference: async () => void (await theirs()), measured: async () => void (await ours()) });
  await page.close();
  const beside = "playwright's own, on the host";
  return [
    { what: `snapshot of ${title}, without MCP`, beside, most: MOST_MS, ...times },
    { what: "the same in tokens, about", unit: "tokens", beside, most: MOST_TOKENS, measured, reference },
  ];
}

const always = (value) => ({ p50: value, p95: value, p99: value, n: 1 });
