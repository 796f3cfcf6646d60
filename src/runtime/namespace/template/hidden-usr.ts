import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { BelljarError } from "../../../errors.ts";
import { absentIs } from "./copy-rows.ts";

const run = promisify(execFile);

/** Shown of `/usr`, beside folders named after a machine (`x86_64-w64-mingw32`: cross compilers). `/usr/etc` may hold secrets. */
const USR_SHOWN = new Set(["bin", "games", "include", "lib", "lib32", "lib64", "libexec", "libx32", "local", "sbin", "share", "src"]);
const MACHINE = /^[a-z0-9_]+(-[a-z0-9_]+){1,3}$/;
const LOCAL_SHOWN = new Set(["bin", "include", "lib", "libexec", "sbin", "share"]);
const MAX_LISTED_BYTES = 64 * 1024 * 1024;

/**
 * What a sandbox must not see of the host's `/usr`, relative to it: what is not in the lists above, what the whole world may not read,
 * what is neither file, folder nor link, and what lies under another mount. An id map would show the first kind to the sandbox's root.
 */
export async function findHidden(usr: string, signal: AbortSignal): Promise<readonly string[]> {
  const unlisted = [...(await namesBut(usr, "", isUsrShown)), ...(await namesBut(usr, "local", (name) => LOCAL_SHOWN.has(name)))];
  const found = [...unlisted, ...(await mountsUnder(usr)), ...(await findUnreadable(usr, signal))];
  return withoutNested([...new Set(found)]);
}

function isUsrShown(name: string): boolean {
  return USR_SHOWN.has(name) || MACHINE.test(name);
}

async function namesBut(usr: string, folder: string, isShown: (name: string) => boolean): Promise<readonly string[]> {
  const names = await absentIs([], readdir(join(usr, folder)));
  return names.filter((name) => !isShown(name)).map((name) => join(folder, name));
}

/** An overlay shows what lies below a mount of the host's, which nobody can look through. */
async function mountsUnder(usr: string): Promise<readonly string[]> {
  const table = await readFile("/proc/self/mountinfo", "utf8");
  const points = table.split("\n").map((line) => unescape(line.split(" ")[4] ?? ""));
  return points.filter((point) => point.startsWith(`${usr}/`)).map((point) => point.slice(usr.length + 1));
}

function unescape(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

const UNREADABLE = "( ! -type f ! -type d ! -type l ) -o ( -type f ! -perm -0004 ) -o ( -type d ! -perm -0005 )".split(" ");

async function findUnreadable(usr: string, signal: AbortSignal): Promise<readonly string[]> {
  const argv = [usr, "-xdev", "-mindepth", "1", "(", ...UNREADABLE, ")", "-printf", "%P\\0", "-prune"];
  const { stdout } = await run("find", argv, { env: { PATH: "/usr/bin:/bin", LC_ALL: "C" }, maxBuffer: MAX_LISTED_BYTES, signal });
  return stdout
    .split("\0")
    .filter((path) => path !== "")
    .map(nameable);
}

/** A name that is not UTF-8 cannot be repeated here, so the folder around it goes. */
function nameable(path: string): string {
  if (!path.includes("\uFFFD")) return path;
  if (dirname(path) === ".")
    throw new BelljarError(
      "RUNTIME_FAILED",
      `A file at the top of the host's /usr has a name that is not UTF-8 and may not be shown; remove it: ${path}`,
    );
  return nameable(dirname(path));
}

function withoutNested(paths: readonly string[]): readonly string[] {
  const all = new Set(paths);
  const isNested = (path: string): boolean => path !== "." && (all.has(path) || isNested(dirname(path)));
  return paths.filter((path) => !isNested(dirname(path))).toSorted();
}
