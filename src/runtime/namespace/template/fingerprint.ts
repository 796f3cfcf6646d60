import { createHash } from "node:crypto";
import { existsSync, lstatSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { TemplateOptions } from "./build-template.ts";
import { expandRow } from "./copy-rows.ts";
import { ETC_ROWS, VAR_ROWS } from "./etc-table.ts";

/** Raise it whenever what is built changes: rows, generated files, masks, owners. */
const FORMAT = 9;

/** Of `/usr`, with those that a machine changes by hand. */
export const USR_FOLDERS = [
  "bin",
  "etc",
  "include",
  "lib",
  "lib64",
  "libexec",
  "sbin",
  "share",
  "src",
  "local",
  "local/bin",
  "local/etc",
  "local/include",
  "local/lib",
  "local/libexec",
  "local/sbin",
  "local/share",
].map((name) => join("usr", name));

/** Package databases: their change is the sign that files deep in `/usr` changed. */
export const DATABASES = ["var/lib/dpkg/status", "var/lib/rpm", "var/lib/pacman/local"];

type FingerprintOptions = Pick<TemplateOptions, "canonicalUid" | "kernels" | "programs">;

/**
 * Names what the base template would hold, from about a hundred `lstat` calls and without reading a file, because every start asks for it.
 * It sees packages come and go and settings change; a file made deep in `/usr` by hand it does not see.
 */
export function fingerprintHost(hostRoot: string, options: FingerprintOptions): string {
  const hostPaths = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", ...USR_FOLDERS, ...DATABASES, ...rowPaths(hostRoot)];
  return fingerprint(
    hostRoot,
    hostPaths.map((name) => join(hostRoot, name)),
    options,
  );
}

/** The same of a template that has nothing of the host but Belljar's own programs. */
export function fingerprintPrograms(options: FingerprintOptions): string {
  return fingerprint("", [], options);
}

function fingerprint(hostRoot: string, hostPaths: readonly string[], { canonicalUid, kernels, programs = {} }: FingerprintOptions): string {
  const hash = createHash("sha256");
  hash.update(JSON.stringify([FORMAT, hostRoot, canonicalUid ?? process.getuid?.(), programs]));
  const kernelPaths = kernels === undefined ? [] : names(kernels, true).map((name) => join(kernels, name));
  for (const path of [...hostPaths, ...kernelPaths, ...Object.values(programs)]) {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    hash.update(`${path}\0${stat ? `${stat.mode} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}` : "-"}\n`);
  }
  return hash.digest("hex").slice(0, 20);
}

function rowPaths(hostRoot: string): readonly string[] {
  const literal = [...ETC_ROWS.map(({ path }) => join("etc", path)), ...VAR_ROWS.map(({ path }) => join("var", path))];
  return literal.flatMap((path) => (path.includes("*") ? expandRow(path, names(join(hostRoot, dirname(path)))) : [path]));
}

function names(folder: string, recursive = false): readonly string[] {
  return existsSync(folder) ? readdirSync(folder, { encoding: "utf8", recursive }).toSorted() : [];
}
