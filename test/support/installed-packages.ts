import { execFile } from "node:child_process";
import { relative } from "node:path";
import { promisify } from "node:util";

const STAMP = "node_modules/.installed-lock";
const INSTALL = "npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=1";
/** Those who need them at the same time wait for one another. */
const ONCE = `cmp -s package-lock.json ${STAMP} || { ${INSTALL} && cp package-lock.json ${STAMP}; }`;

/** Installs the packages of a folder once for each lock file. Answers why they cannot be had. */
export async function installPackages(folder: string, limitSeconds = 240): Promise<string | undefined> {
  try {
    await promisify(execFile)("timeout", ["--kill-after=5", String(limitSeconds), "flock", folder, "sh", "-c", ONCE], { cwd: folder });
    return undefined;
  } catch (error) {
    return `the packages of ${relative(".", folder)} cannot be installed: ${reasonOf(String(error))}`;
  }
}

/** Npm says the reason below its code. */
function reasonOf(error: string): string {
  const said = error.split("\n").filter((line) => /^npm error \S/.test(line));
  return (said.length > 0 ? said.slice(0, 2) : [error.split("\n", 1)[0] ?? ""]).join(" ").replaceAll("npm error ", "");
}
