import { readlink } from "node:fs/promises";
import { join } from "node:path";
import { BelljarError } from "../../../errors.ts";
import { copyRowsIfPresent } from "./copy-rows.ts";
import { aptSourcesIfPresent } from "./apt-sources.ts";
import { ETC_FILES, HOME_FILES } from "./etc-files.ts";
import { ETC_ROWS, VAR_ROWS } from "./etc-table.ts";
import type { LayerWriter } from "./layer.ts";
import { INSIDE } from "../../../protocol/inside.ts";

const USER = INSIDE.userId;

/** Folders of `/` with their modes. `/proc`, `/dev` and `/usr` are where the jail mounts. */
const FOLDERS: Readonly<Record<string, number>> = {
  usr: 0o755,
  proc: 0o555,
  sys: 0o555,
  dev: 0o755,
  tmp: 0o1777,
  run: 0o755,
  "run/belljar": 0o755,
  "run/lock": 0o1777,
  boot: 0o755,
  media: 0o755,
  mnt: 0o755,
  srv: 0o755,
  home: 0o755,
  root: 0o700,
  opt: 0o755,
  "opt/belljar": 0o755,
  "opt/belljar/kernels": 0o755,
  "opt/belljar/bin": 0o755,
  "opt/belljar/node": 0o755,
  "opt/belljar/node/bin": 0o755,
  "opt/belljar/node/lib": 0o755,
  etc: 0o755,
  "etc/skel": 0o755,
  "etc/profile.d": 0o755,
  "etc/ssl": 0o755,
  "etc/ssl/private": 0o700,
  "etc/default": 0o755,
  "etc/opt": 0o755,
  "etc/apt": 0o755,
  "etc/apt/apt.conf.d": 0o755,
  "etc/apt/auth.conf.d": 0o755,
  "etc/apt/preferences.d": 0o755,
  "etc/apt/sources.list.d": 0o755,
  "etc/dpkg": 0o755,
  "etc/dpkg/dpkg.cfg.d": 0o755,
  var: 0o755,
  "var/tmp": 0o1777,
  "var/backups": 0o755,
  "var/local": 0o755,
  "var/opt": 0o755,
  "var/mail": 0o1777,
  "var/spool": 0o755,
  "var/cache": 0o755,
  "var/cache/apt": 0o755,
  "var/cache/apt/archives": 0o755,
  "var/cache/apt/archives/partial": 0o700,
  "var/cache/debconf": 0o755,
  "var/cache/fontconfig": 0o755,
  "var/cache/ldconfig": 0o700,
  "var/cache/man": 0o755,
  "var/cache/root": 0o700,
  "var/log": 0o755,
  "var/log/apt": 0o755,
  "var/lib": 0o755,
  "var/lib/apt": 0o755,
  "var/lib/apt/lists": 0o755,
  "var/lib/apt/lists/partial": 0o700,
  "var/lib/apt/periodic": 0o755,
  "var/lib/dpkg": 0o755,
  "var/lib/dpkg/info": 0o755,
  "var/lib/dpkg/parts": 0o755,
  "var/lib/dpkg/triggers": 0o755,
  "var/lib/dpkg/updates": 0o755,
  "var/lib/misc": 0o755,
  "var/lib/python": 0o755,
};

const LINKS: Readonly<Record<string, string>> = {
  workspace: INSIDE.userHome,
  "var/run": "/run",
  "var/lock": "/run/lock",
  "etc/mtab": "/proc/mounts",
};

/** Links of the host's `/` that make it a merged-/usr system, and whether one can do without. */
const USR_LINKS: readonly (readonly [name: string, required: boolean])[] = [
  ["bin", true],
  ["sbin", true],
  ["lib", true],
  ["lib32", false],
  ["lib64", false],
  ["libx32", false],
];

/** Fills the layer of `/`: folders, links, the sandbox's own `/etc`, `/var` and homes. Rejects when the host is not a merged-/usr one. */
export async function buildSkeleton(layer: LayerWriter, hostRoot: string): Promise<void> {
  await linkIntoUsr(layer, hostRoot);
  for (const [path, mode] of Object.entries(FOLDERS)) await layer.folder(path, { mode });
  for (const [path, target] of Object.entries(LINKS)) await layer.link(path, target);
  for (const [name, content] of Object.entries(ETC_FILES)) await layer.file(join("etc", name), content);
  await copyRowsIfPresent({ from: join(hostRoot, "etc"), layer, into: "etc" }, ETC_ROWS);
  const sources = await aptSourcesIfPresent(hostRoot);
  if (sources !== undefined) await layer.file("etc/apt/sources.list.d/debian.sources", sources);
  await copyRowsIfPresent({ from: join(hostRoot, "var"), layer, into: "var" }, VAR_ROWS);
  await fillHomes(layer);
}

async function linkIntoUsr(layer: LayerWriter, hostRoot: string): Promise<void> {
  for (const [name, required] of USR_LINKS) {
    const target = await usrTarget(join(hostRoot, name));
    if (target !== undefined) await layer.link(name, target);
    else if (required) throw notMerged(name);
  }
}

/** `usr/...` when the path is a link into `/usr`. */
async function usrTarget(path: string): Promise<string | undefined> {
  const target = await readlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "EINVAL" || error.code === "ENOENT") return undefined;
    throw error;
  });
  const relative = target?.replace(/^\//, "");
  return relative !== undefined && /^usr\/[a-z0-9]+$/.test(relative) ? relative : undefined;
}

function notMerged(name: string): BelljarError {
  return new BelljarError(
    "RUNTIME_UNAVAILABLE",
    `The template "base" needs a host whose /${name} is a link into /usr (a merged /usr), and here it is not. On Debian install the package usrmerge, or use another runtime.`,
  );
}

async function fillHomes(layer: LayerWriter): Promise<void> {
  await layer.folder("home/user", { owner: USER });
  await layer.folder("var/cache/user", { owner: USER });
  for (const [name, content] of Object.entries(HOME_FILES)) {
    await layer.file(join("etc/skel", name), content);
    await layer.file(join("root", name), content);
    await layer.file(join("home/user", name), content, { owner: USER });
  }
}
