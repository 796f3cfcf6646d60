/** What measurements of browsers share: a browser in a sandbox, asked over MCP, and playwright with the same Chromium and flags on the host. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { hostname } from "node:os";
import { join } from "node:path";
import { NEVER, ROOT, openHome } from "./harness.mjs";
import { openServe } from "./mcp-client.mjs";

export const CHROMIUM = "/usr/lib/chromium/chromium";
const MEMORY = "/dev/shm";
const SITE = join(ROOT, "test/fixtures/browser-site/server.mjs");
const SITE_PORT = 8_000;

export const hasChromium = existsSync(CHROMIUM);

/** `belljar serve` on a home of its own, and a sandbox with the site of the tests. */
export async function openBrowserServer() {
  const home = await openHome({ storage: "tmpfs" });
  const sandbox = await home.create({ limits: { pids: 512 } });
  await serveSite(sandbox);
  const server = await openServe(home.env, "--toolsets", "browser");
  let id = 0;
  return {
    site: `http://127.0.0.1:${SITE_PORT}`,
    /** Resolves with the text of the tool's result. */
    async call(name, args = {}) {
      const answer = await server.client.post("tools/call", { name, arguments: { sandbox: sandbox.id, ...args } }, (id += 1));
      const { result } = JSON.parse(answer.slice(answer.indexOf("{")));
      return result.content.map(({ text = "" }) => text).join("\n");
    },
    async close() {
      await server.close();
      await home.close();
    },
  };
}

async function serveSite({ guest }) {
  const argv = ["node", "--input-type=module", "-e", readFileSync(SITE, "utf8"), "-", String(SITE_PORT)];
  const site = await guest.exec({ argv, stdin: false, signal: NEVER });
  site.exited.catch(() => undefined);
  site.stderr.resume();
  await once(site.stdout, "data");
  site.stdout.resume();
}

/** The same site on the host, and a page of playwright's there. */
export async function openHostBrowser() {
  const { chromium } = createRequire(import.meta.url)("playwright-core");
  const { commandLine } = await import("../dist/lib/browser/flags.js");
  const profile = mkdtempSync(join(MEMORY, "bjb-profile-"));
  const args = commandLine({ profile, hostName: hostname(), network: "sandbox" });
  const viewport = { width: 1280, height: 720 };
  const context = await chromium.launchPersistentContext(profile, { executablePath: CHROMIUM, args, ignoreDefaultArgs: true, viewport });
  const server = spawn(process.execPath, [SITE], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(server.stdout, "data");
  return {
    page: context.pages()[0],
    site: String(line).trim(),
    async close() {
      server.kill();
      await context.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}
