import { hasManyTokens } from "../files/json-tokens.ts";
import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, posix } from "node:path";
import * as z from "zod";
import { parseJson } from "../files/parse-json.ts";
import type { PackageIndex } from "./package-index.ts";
import { packagesFolder, workFolder } from "./package-places.ts";
import { failed, type Installing, runInstaller } from "./run-installer.ts";

/** It has the description of each package too. */
const REPORT_MAX_BYTES = 32 * 1_048_576;
const PACKAGES_MAX = 1_000;
const DISTRIBUTION = /\.(?:whl|zip|tar\.gz)$/;
const PROBE = ["python3", "-m", "pip", "--version"];
const ALWAYS = ["--quiet", "--no-input", "--disable-pip-version-check", "--no-cache-dir", "--no-warn-script-location"];

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

const reportSchema = z.object({
  install: z
    .array(
      z.object({
        metadata: z.object({
          name: z.string().regex(/^[A-Za-z0-9][\w.-]{0,200}$/),
          version: z.string().regex(/^[\w.!+-]{1,100}$/),
        }),
        // Before its release 23.1 pip wrote `sha256=...`.
        download_info: z.object({
          archive_info: z.union([
            z.object({ hashes: z.object({ sha256 }) }).transform(({ hashes }) => hashes.sha256),
            z.object({ hash: z.templateLiteral(["sha256=", sha256]) }).transform(({ hash }) => hash.slice("sha256=".length)),
          ]),
        }),
      }),
    )
    .max(PACKAGES_MAX),
});

export interface PipWish {
  readonly index: PackageIndex;
  readonly mayBuild: boolean;
  /** What is asked, or a lock. */
  readonly from: { readonly requirements: readonly string[] } | { readonly lock: string };
}

/** Installs, and answers with the lock: a line for each package, with its hash. */
export async function installByPip(work: Installing, { index, mayBuild, from }: PipWish): Promise<string> {
  const { sandbox, signal } = work;
  const folder = workFolder(sandbox);
  const [report, lockFile] = [posix.join(folder, "report.json"), posix.join(folder, "lock.txt")];
  await sandbox.guest.files.makeDirectory(folder, { signal, parents: true });
  if ("lock" in from) await sandbox.guest.files.write(lockFile, from.lock, { signal });
  const place = await placeOf(work, index);
  const target = ["--target", packagesFolder(sandbox), "--report", report];
  const wheels = mayBuild ? [] : ["--only-binary", ":all:"];
  const wanted = "lock" in from ? ["--no-deps", "--require-hashes", "-r", lockFile] : ["--", ...from.requirements];
  const argv = ["python3", "-m", "pip", "install", ...ALWAYS, ...target, ...wheels, ...place, ...wanted];
  await runInstaller(work, { installer: "pip", argv, probe: PROBE });
  const text = await sandbox.guest.files.read(report, { signal, maxBytes: REPORT_MAX_BYTES });
  // What pip builds may have written over it.
  const parsed = hasManyTokens(text) ? undefined : reportSchema.safeParse(parseJson(text.toString("utf8")));
  if (!parsed?.success) throw failed(work.named, "pip did not say which packages, with their hashes, it has installed");
  const lines = parsed.data.install.map(
    ({ metadata: { name, version }, download_info: { archive_info } }) => `${name}==${version} --hash=sha256:${archive_info}\n`,
  );
  return lines.toSorted().join("");
}

/** The options that say where packages come from. A folder of the host is copied: the sandbox sees nothing else of the host. */
async function placeOf({ sandbox, signal, named }: Installing, index: PackageIndex): Promise<readonly string[]> {
  if (index.kind === "address") {
    const { protocol, host, href } = index.url;
    return ["--index-url", href, ...(protocol === "http:" ? ["--trusted-host", host] : [])];
  }
  const copy = posix.join(workFolder(sandbox), "wheels");
  await sandbox.guest.files.makeDirectory(copy, { signal, parents: true });
  const entries = await readdir(index.name, { withFileTypes: true }).catch((cause: unknown) => {
    throw failed(named, `the folder of wheels ${index.name} cannot be read`, cause);
  });
  for (const entry of entries) {
    if (!entry.isFile() || !DISTRIBUTION.test(entry.name)) continue;
    await sandbox.guest.files.write(posix.join(copy, entry.name), createReadStream(join(index.name, entry.name)), { signal, mode: 0o444 });
  }
  return ["--no-index", "--find-links", copy];
}
