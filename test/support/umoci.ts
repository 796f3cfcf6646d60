import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "./image-maker.ts";
import { findIdMap } from "../../src/runtime/namespace/id-map.ts";
import { asSubids } from "./unpack-lab.ts";
import { compileTellAll, type ToldEntry } from "./tell-all.ts";

const [SKOPEO, UMOCI] = ["/usr/bin/skopeo", "/usr/bin/umoci"];

export const hasUmoci = existsSync(SKOPEO) && existsSync(UMOCI);

/** Copies the one image of a layout by skopeo, unpacks the copy by umoci, and tells all of its root. An ordinary user's has the ids of its sandboxes. */
export async function tellByUmoci(layout: string): Promise<readonly ToldEntry[]> {
  await using folder = await temporaryFolder();
  const [copy, bundle, program] = ["copy", "bundle", "tell-all"].map((name) => join(folder.path, name)) as [string, string, string];
  mkdirSync(copy);
  run([SKOPEO, "copy", "--insecure-policy", "--quiet", `oci:${layout}`, `oci:${copy}:image`]);
  compileTellAll(program);
  run([UMOCI, "unpack", "--image", `${copy}:image`, bundle]);
  try {
    return JSON.parse(run([program, join(bundle, "rootfs")])) as ToldEntry[];
  } finally {
    run(["rm", "-r", copy, bundle]);
  }
}

/** With all ids that files may belong to. */
function run(argv: readonly string[]): string {
  const map = findIdMap();
  const [program = "", ...args] = [...(map.kind === "subids" ? asSubids(map) : []), ...argv];
  return execFileSync(program, args, { encoding: "utf8", maxBuffer: 1e9, stdio: ["ignore", "pipe", "pipe"] });
}
