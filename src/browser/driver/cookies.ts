import { existsSync, readFileSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import type { BrowserContext, Cookie } from "playwright-core";
import type { BrowserFolders } from "./profile.ts";

/**
 * Chromium writes cookies down half a minute late, and those of a session never. So all of them lie in a file while a state of the sandbox is
 * taken, and when the browser has ended: whoever starts one on these files has them.
 */
export async function keepCookies(context: BrowserContext, { cookies }: BrowserFolders): Promise<void> {
  await writeFile(cookies, JSON.stringify(await context.cookies()), { mode: 0o600 });
}

/** From now on the profile's own are newer. */
export function forgetCookies({ cookies }: BrowserFolders): void {
  rmSync(cookies, { force: true });
}

export async function restoreCookies(context: BrowserContext, folders: BrowserFolders): Promise<void> {
  if (!existsSync(folders.cookies)) return;
  const kept = readCookies(folders.cookies);
  forgetCookies(folders);
  // One that is not valid any more must not keep the others from coming.
  for (const cookie of kept) await context.addCookies([cookie]).catch(() => undefined);
}

function readCookies(path: string): readonly Cookie[] {
  try {
    const read: unknown = JSON.parse(readFileSync(path, "utf8"));
    return Array.isArray(read) ? (read as Cookie[]) : [];
  } catch {
    // The sandbox's user may have written anything there.
    return [];
  }
}
