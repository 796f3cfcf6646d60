import { isAbsolute } from "node:path";
import { fileURLToPath } from "node:url";
import { BelljarError } from "../errors.ts";
import type { CreateOptions } from "../sandbox/sandbox.ts";
import type { Installer } from "./requirements.ts";

type Network = NonNullable<CreateOptions["network"]>;

export interface PackageSettings {
  /** Of Python: the address of an index, or a folder of wheels on this host. Absent: PyPI. */
  readonly indexUrl?: string | undefined;
  /** Absent: npm's own. */
  readonly registryUrl?: string | undefined;
}

/** Where packages come from. */
export type PackageIndex =
  | { readonly kind: "address"; readonly name: string; readonly url: URL; readonly network: Network }
  /** A folder of the host, of which each install gets a copy. */
  | { readonly kind: "folder"; readonly name: string; readonly network: "none" };

const STANDARD: Readonly<Record<Installer, string>> = { pip: "https://pypi.org/simple", npm: "https://registry.npmjs.org/" };
/** Hosts whose packages come from further ones too. */
const SETS: ReadonlyMap<string, string> = new Map([
  ["https://pypi.org", "pypi"],
  ["https://registry.npmjs.org", "npm"],
]);

/** Throws `TOOL_DEPENDENCIES_FAILED` for a setting that no packages can come from. */
export function indexOf(installer: Installer, { indexUrl, registryUrl }: PackageSettings): PackageIndex {
  const setting = installer === "pip" ? "tools.indexUrl" : "tools.registryUrl";
  const text = (installer === "pip" ? indexUrl : registryUrl) ?? STANDARD[installer];
  if (installer === "pip" && isAbsolute(text)) return { kind: "folder", name: text, network: "none" };
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (installer === "pip" && url?.protocol === "file:") return { kind: "folder", name: fileURLToPath(url), network: "none" };
  if (!url || !["http:", "https:"].includes(url.protocol)) throw unusable(setting, "is not an address that begins with https://");
  if (url.username !== "" || url.password !== "")
    throw unusable(setting, "has a user or a password in it, which packages that are installed could read");
  return { kind: "address", name: url.href, url, network: { allow: [ruleFor(url)] } };
}

function ruleFor({ origin, protocol, hostname, port }: URL): string {
  const standardPort = protocol === "https:" ? "443" : "80";
  return SETS.get(origin) ?? `${protocol}//${hostname}:${port === "" ? standardPort : port}`;
}

function unusable(setting: string, why: string): BelljarError {
  return new BelljarError("TOOL_DEPENDENCIES_FAILED", `The setting ${setting} ${why}: ask whoever runs Belljar to change it`);
}
