import { posix } from "node:path";
import * as z from "zod";
import { parseJson } from "../files/parse-json.ts";
import type { PackageIndex } from "./package-index.ts";
import { LOCK_BYTES_MAX } from "./package-lock.ts";
import { packagesFolder, workFolder } from "./package-places.ts";
import { failed, type Installing, runInstaller } from "./run-installer.ts";

const PROBE = ["npm", "--version"];
/** A registry that is not there is told of soon: by itself npm waits for over a minute. */
const RETRIES = ["--fetch-retries", "2", "--fetch-retry-mintimeout", "500", "--fetch-retry-maxtimeout", "2000"];
const ALWAYS = [...RETRIES, "--no-audit", "--no-fund", "--no-update-notifier", "--no-progress", "--loglevel", "error"];
const LOCK = "package-lock.json";

/** Of a package that is named by a hash alone: no folder, no address of git. */
const lockSchema = z.object({
  lockfileVersion: z.number(),
  packages: z
    .record(z.string(), z.object({ dependencies: z.record(z.string(), z.string()).optional(), integrity: z.string().optional() }))
    .refine((packages) => Object.entries(packages).every(([path, { integrity }]) => path === "" || integrity !== undefined)),
});

export interface NpmWish {
  readonly index: Extract<PackageIndex, { kind: "address" }>;
  readonly mayBuild: boolean;
  /** What is asked, or a lock. */
  readonly from: { readonly requirements: readonly string[] } | { readonly lock: string };
}

/** Installs, and answers with the lock: the `package-lock.json`. */
export async function installByNpm(work: Installing, { index, mayBuild, from }: NpmWish): Promise<string> {
  const { sandbox, signal } = work;
  const { files } = sandbox.guest;
  const [folder, cache] = [packagesFolder(sandbox), posix.join(workFolder(sandbox), "npm")];
  const lock = posix.join(folder, LOCK);
  await files.makeDirectory(folder, { signal, parents: true });
  const dependencies = "lock" in from ? parse(work, from.lock).packages[""]?.dependencies : {};
  await files.write(posix.join(folder, "package.json"), JSON.stringify({ private: true, dependencies }), { signal });
  if ("lock" in from) await files.write(lock, from.lock, { signal });
  const scripts = mayBuild ? [] : ["--ignore-scripts"];
  const options = [...ALWAYS, ...scripts, "--registry", index.url.href, "--cache", cache];
  const argv = "lock" in from ? ["npm", "ci", ...options] : ["npm", "install", ...options, "--", ...from.requirements];
  await runInstaller(work, { installer: "npm", argv, cwd: folder, probe: PROBE });
  // Node looks for packages beside the code, which lies in the home.
  await files.symlink(posix.join(posix.dirname(folder), "node_modules"), posix.join(folder, "node_modules"), { signal });
  const text = (await files.read(lock, { signal, maxBytes: LOCK_BYTES_MAX })).toString("utf8");
  parse(work, text);
  return text;
}

function parse({ named }: Installing, text: string): z.output<typeof lockSchema> {
  const parsed = lockSchema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw failed(named, "npm did not say which packages, with their hashes, it has installed");
}
