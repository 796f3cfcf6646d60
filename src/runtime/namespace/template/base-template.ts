import { existsSync, realpathSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { INSIDE } from "../../../protocol/inside.ts";
import { templateFolder, type TemplateOptions } from "./build-template.ts";
import { EXTRA_CERTIFICATES, findExtraCertificates } from "./extra-certificates.ts";
import { fingerprintHost } from "./fingerprint.ts";
import { findHidden } from "./hidden-usr.ts";
import { createLayer } from "./layer.ts";
import { buildSkeleton } from "./skeleton.ts";
import type { Template, TemplateBind } from "./template.ts";
import { buildUsrLayer } from "./usr-layer.ts";
import { MCP_GATEWAY, writePrograms } from "./write-programs.ts";

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

export interface BaseTemplateOptions extends TemplateOptions {
  /** The Node to show when it is not under `/usr`; default the running one. */
  readonly nodePath?: string;
  /** Another `/` to build from. */
  readonly hostRoot?: string;
}

/** The template over this host's own `/usr`. */
export async function openBaseTemplate(options: BaseTemplateOptions): Promise<Template> {
  const hostRoot = realpathSync(options.hostRoot ?? "/");
  const fingerprint = fingerprintHost(hostRoot, options);
  const fill = (building: string): Promise<void> => buildLayers(building, hostRoot, options);
  const progress = 'Preparing the template "base" from this machine\'s /usr (once, some seconds)';
  const folder = await templateFolder({ name: "base", fingerprint, fill, progress }, options);
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
    user: INSIDE.user,
    folders: { home: INSIDE.userHome, workspace: INSIDE.userHome, cwd: INSIDE.userHome },
  };
}

/** What commands find in its sandboxes. */
function baseEnvironment(nodePath = process.execPath): Template["env"] {
  return { PATH: nodeBinds(nodePath).length > 0 ? `${INSIDE.node}/bin:${PATH}` : PATH, LANG: "C.UTF-8", ...CACHES, ...SWITCHES };
}

async function buildLayers(building: string, hostRoot: string, options: BaseTemplateOptions): Promise<void> {
  const usr = join(hostRoot, "usr");
  const hidden = findHidden(usr, options.signal ?? new AbortController().signal);
  const results = await Promise.allSettled([hidden, buildRoot(join(building, "root"), hostRoot, options)]);
  for (const result of results) if (result.status === "rejected") throw result.reason;
  const commands = [...(options.programs?.[SUDO] === undefined ? [] : [SUDO]), ...(options.kernels === undefined ? [] : [MCP_GATEWAY])];
  const links = Object.fromEntries(commands.map((name) => [`bin/${name}`, join(INSIDE.executables, name)]));
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

async function buildRoot(path: string, hostRoot: string, options: BaseTemplateOptions): Promise<void> {
  const layer = await createLayer(path, options.canonicalUid);
  await buildSkeleton(layer, hostRoot);
  const extra = await findExtraCertificates(path, hostRoot);
  if (extra.length > 0) await layer.file(EXTRA_CERTIFICATES, Buffer.from(`${extra.join("\n")}\n`));
  await writePrograms(layer, INSIDE.programs.slice(1), options);
}

/** Only a prefix that is Node's own (it has Node's headers): `bin` and `lib` of any other may hold what is nobody's business. */
export function nodeBinds(nodePath: string): readonly TemplateBind[] {
  const prefix = dirname(dirname(realpathSync(nodePath)));
  if (prefix === "/usr" || prefix.startsWith("/usr/") || !existsSync(join(prefix, "include", "node", "node.h"))) return [];
  return ["bin", "lib"].map((name) => ({ from: join(prefix, name), to: `${INSIDE.node}/${name}`, readOnly: true }));
}
