import { execFile } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { BelljarError } from "../../../errors.ts";
import { absentIs } from "./copy-rows.ts";
import { EXTRA_CERTIFICATES, findExtraCertificates } from "./extra-certificates.ts";
import { fingerprintHost } from "./fingerprint.ts";
import { findHidden } from "./hidden-usr.ts";
import type { LayerWriter } from "./layer.ts";
import { createLayer } from "./layer.ts";
import { buildSkeleton } from "./skeleton.ts";
import type { Template, TemplateBind } from "./template.ts";
import { buildUsrLayer } from "./usr-layer.ts";
import { INSIDE } from "../../../protocol/inside.ts";

const run = promisify(execFile);
/** Last comes what pip installs for the user: it is found, and covers nothing. */
const PATH = `/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:${INSIDE.userHome}/.local/bin`;
/**
 * Beside the home, which may be a workspace whose changes a person reads. npm puts in who runs it, so that the user never meets
 * what root has written; pip keeps away from a cache of somebody else by itself.
 */
const CACHES = { NPM_CONFIG_CACHE: "/var/cache/${USER}/npm", PIP_CACHE_DIR: "/var/cache/user/pip" };
/**
 * Looks for newer versions would be refused by most network policies, and reported. No system needs protection from pip here, and its
 * five retries keep a refusal back for half a minute.
 */
const SWITCHES = {
  NPM_CONFIG_UPDATE_NOTIFIER: "false",
  PIP_RETRIES: "1",
  PIP_DISABLE_PIP_VERSION_CHECK: "1",
  PIP_BREAK_SYSTEM_PACKAGES: "1",
};
/** Stands where programs expect it, in the place of the host's, which could do nothing inside. */
const SUDO = "sudo";
const BUILDING = ".building-";
const ABANDONED_AFTER_MS = 3_600_000;

export interface BaseTemplateOptions {
  /** `$BELLJAR_HOME`; the layers lie in `templates/base/<fingerprint>`. */
  readonly home: string;
  /** First of the ids that own layers on disk; undefined: everything belongs to the caller. */
  readonly canonicalUid?: number;
  /** Belljar's programs that run inside, copied to `/opt/belljar/kernels` when the folder is there. */
  readonly kernels?: string;
  /** Executables that run inside, copied to `/opt/belljar/bin` under these names. */
  readonly programs?: Readonly<Record<string, string>>;
  /** The Node to show when it is not under `/usr`; default the running one. */
  readonly nodePath?: string;
  /** Another `/` to build from. */
  readonly hostRoot?: string;
  readonly onProgress?: (message: string) => void;
  readonly signal?: AbortSignal;
}

/**
 * The template over this host's own `/usr`, built on first use and reused while the host's fingerprint stays.
 * Any number of processes may ask at once: each sees a whole template, and one of those built wins.
 */
export async function openBaseTemplate(options: BaseTemplateOptions): Promise<Template> {
  const hostRoot = realpathSync(options.hostRoot ?? "/");
  const fingerprint = fingerprintHost(hostRoot, options);
  const folder = join(options.home, "templates", "base", fingerprint);
  if (!existsSync(folder)) await buildTemplate(folder, hostRoot, options);
  const { nodePath = process.execPath } = options;
  return {
    name: "base",
    fingerprint,
    rootLayers: [join(folder, "root")],
    usrLayers: [join(folder, "usr"), join(hostRoot, "usr")],
    env: {
      ...baseEnvironment(nodePath),
      ...(existsSync(join(folder, "root", EXTRA_CERTIFICATES)) && { NODE_EXTRA_CA_CERTS: `/${EXTRA_CERTIFICATES}` }),
    },
    binds: nodeBinds(nodePath),
    user: "user",
  };
}

/** What commands find in its sandboxes. */
function baseEnvironment(nodePath = process.execPath): Template["env"] {
  return { PATH: nodeBinds(nodePath).length > 0 ? `${INSIDE.node}/bin:${PATH}` : PATH, LANG: "C.UTF-8", ...CACHES, ...SWITCHES };
}

async function buildTemplate(folder: string, hostRoot: string, options: BaseTemplateOptions): Promise<void> {
  options.onProgress?.('Preparing the template "base" from this machine\'s /usr (once, some seconds)');
  const parent = dirname(folder);
  await makePrivate(join(options.home, "templates"));
  await makePrivate(parent);
  await removeAbandoned(parent);
  const building = await mkdtemp(join(parent, BUILDING));
  try {
    await buildLayers(building, hostRoot, options);
    await publish(building, folder);
  } catch (cause) {
    if (cause instanceof BelljarError) throw cause;
    if (options.signal?.aborted) throw new BelljarError("CANCELLED", 'Building the template "base" was cancelled.', { cause });
    throw new BelljarError(
      isFull(cause) ? "DISK_FULL" : "RUNTIME_FAILED",
      `The template "base" could not be built in ${parent}: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
  } finally {
    await rm(building, { recursive: true, force: true });
  }
}

/** What a builder that was killed left behind. A build takes seconds; a live one that loses its folder to a stopped clock fails and can be repeated. */
async function removeAbandoned(parent: string): Promise<void> {
  for (const name of (await readdir(parent)).filter((entry) => entry.startsWith(BUILDING))) {
    const age = Date.now() - ((await absentIs(undefined, stat(join(parent, name))))?.mtimeMs ?? Date.now());
    if (age > ABANDONED_AFTER_MS) await rm(join(parent, name), { recursive: true, force: true });
  }
}

/** Layers show root-only files of other ids: nobody else on the host walks into them. */
async function makePrivate(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
}

async function buildLayers(building: string, hostRoot: string, options: BaseTemplateOptions): Promise<void> {
  const usr = join(hostRoot, "usr");
  const hidden = findHidden(usr, options.signal ?? new AbortController().signal);
  const results = await Promise.allSettled([hidden, buildRoot(join(building, "root"), hostRoot, options)]);
  for (const result of results) if (result.status === "rejected") throw result.reason;
  const links: Record<string, string> = options.programs?.[SUDO] === undefined ? {} : { [`bin/${SUDO}`]: join(INSIDE.executables, SUDO) };
  await buildUsrLayer(await createLayer(join(building, "usr"), options.canonicalUid), {
    usr,
    hidden: await hidden,
    links,
    ownsFolders: options.canonicalUid === undefined,
  });
  await writeFile(join(building, "template.json"), `${JSON.stringify({ name: "base", hidden: await hidden }, undefined, 2)}\n`, {
    mode: 0o600,
  });
}

async function buildRoot(path: string, hostRoot: string, { canonicalUid, kernels, programs = {} }: BaseTemplateOptions): Promise<void> {
  const layer = await createLayer(path, canonicalUid);
  await buildSkeleton(layer, hostRoot);
  const extra = await findExtraCertificates(path, hostRoot);
  if (extra.length > 0) await layer.file(EXTRA_CERTIFICATES, Buffer.from(`${extra.join("\n")}\n`));
  if (kernels !== undefined) await copyKernelsIfPresent(layer, kernels);
  for (const [name, from] of Object.entries(programs)) await layer.copy(join("opt/belljar/bin", name), from, { mode: 0o755 });
}

/** A copy and no bind: a bind would show in the sandbox's mount table where Belljar lies on the host. */
async function copyKernelsIfPresent(layer: LayerWriter, kernels: string): Promise<void> {
  for (const entry of await absentIs([], readdir(kernels, { withFileTypes: true }))) {
    if (entry.isFile()) await layer.file(join("opt/belljar/kernels", entry.name), await readFile(join(kernels, entry.name)));
  }
}

/** On disk before it has its name: after a power cut the name stands for a whole template or is not there. */
async function publish(building: string, folder: string): Promise<void> {
  await run("sync", ["-f", "--", building], { env: { PATH: "/usr/bin:/bin" } });
  try {
    await rename(building, folder);
  } catch (error) {
    // Another process was first; its template is as good.
    if (!(await absentIs(undefined, stat(folder)))) throw error;
  }
}

/** Only a prefix that is Node's own (it has Node's headers): `bin` and `lib` of any other may hold what is nobody's business. */
export function nodeBinds(nodePath: string): readonly TemplateBind[] {
  const prefix = dirname(dirname(realpathSync(nodePath)));
  if (prefix === "/usr" || prefix.startsWith("/usr/") || !existsSync(join(prefix, "include", "node", "node.h"))) return [];
  return ["bin", "lib"].map((name) => ({ from: join(prefix, name), to: `${INSIDE.node}/${name}`, readOnly: true }));
}

function isFull(cause: unknown): boolean {
  const { code } = cause as NodeJS.ErrnoException;
  return code === "ENOSPC" || code === "EDQUOT";
}
