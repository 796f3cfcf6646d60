import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { BelljarError } from "../../errors.ts";

/** Returns the folder of package.json, for the source, the library and the bundle. */
export function packageRoot(from: string = import.meta.dirname): string {
  if (existsSync(join(from, "package.json"))) return from;
  const parent = dirname(from);
  if (parent === from) throw new BelljarError("INTERNAL", "Belljar's package.json is missing: install it again");
  return packageRoot(parent);
}

export function readPackage(): { readonly version: string } {
  const { version } = JSON.parse(readFileSync(join(packageRoot(), "package.json"), "utf8")) as { version: string };
  return { version };
}
