import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync, existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

import { INSIDE } from "../../protocol/inside.ts";

export interface BrowserFolders {
  readonly profile: string;
  /** Of downloads that are not whole yet. */
  readonly unfinished: string;
  readonly cookies: string;
  /** Where whole ones come, and the user looks for them. */
  readonly downloads: string;
}

const SIGKILL = 9;
/** What a Chromium leaves that was killed, or that was on another machine: a fork and a rollback bring them along. */
const LOCKS = ["SingletonLock", "SingletonSocket", "SingletonCookie"];

/** What no flag says. Written once: a person may change it. */
const PREFERENCES = {
  alternate_error_pages: { enabled: false },
  autofill: { credit_card_enabled: false, profile_enabled: false },
  credentials_enable_service: false,
  net: { network_prediction_options: 2 },
  safebrowsing: { enabled: false, enhanced: false },
  search: { suggest_enabled: false },
  signin: { allowed: false },
  translate: { enabled: false },
  webrtc: { ip_handling_policy: "disable_non_proxied_udp" },
};
const LOCAL_STATE = { dns_over_https: { mode: "off", templates: "" }, ssl: { ech_enabled: false } };

export function browserFolders(home = homedir()): BrowserFolders {
  const folder = join(home, INSIDE.browserFolder);
  return {
    profile: join(folder, "profile"),
    unfinished: join(folder, "unfinished"),
    cookies: join(folder, "cookies.json"),
    downloads: join(home, "Downloads"),
  };
}

/** The caller is the only driver of this profile: whoever holds it now was left behind, and goes. */
export function prepareProfile({ profile, unfinished }: BrowserFolders): void {
  mkdirSync(join(profile, "Default"), { recursive: true, mode: 0o700 });
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true, mode: 0o700 });
  if (!existsSync(join(profile, "Local State"))) writeFileSync(join(profile, "Local State"), JSON.stringify(LOCAL_STATE));
  if (!existsSync(join(profile, "Default/Preferences"))) writeFileSync(join(profile, "Default/Preferences"), JSON.stringify(PREFERENCES));
  const locks = readdirSync(profile).filter((name) => LOCKS.includes(name));
  if (locks.length === 0) return;
  killHolders(profile);
  for (const name of locks) rmSync(join(profile, name), { force: true });
}

function killHolders(profile: string): void {
  const mark = `--user-data-dir=${profile}\0`;
  for (const name of readdirSync("/proc").filter((one) => /^\d+$/.test(one))) {
    if (readIfThere(`/proc/${name}/cmdline`).includes(mark)) killIfThere(Number(name));
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    // It has ended meanwhile, or is somebody else's.
    return "";
  }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, SIGKILL);
  } catch {
    // The same.
  }
}
