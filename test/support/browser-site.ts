import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

export const SITE_PROGRAM = join(import.meta.dirname, "../fixtures/browser-site/server.mjs");

export interface BrowserSite extends AsyncDisposable {
  readonly url: string;
}

/** The site of hard cases, on loopback of this machine. */
export async function openBrowserSite(): Promise<BrowserSite> {
  const child = spawn(process.execPath, [SITE_PROGRAM], { stdio: ["ignore", "pipe", "inherit"] });
  const [url] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}
