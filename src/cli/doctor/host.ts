import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { packageRoot } from "../compose/package-root.ts";

/** Facts of a host that explain why sandboxes cannot be created. */
export interface Host {
  readonly platform: NodeJS.Platform;
  readonly isRoot: boolean;
  readonly hasNativeBinary: boolean;
  /** True in a container, recognised by the files of container managers. */
  readonly inContainer: boolean;
  readonly userNamespaces: {
    /** user.max_user_namespaces */
    readonly max: number | undefined;
    /** Debian's kernel.unprivileged_userns_clone */
    readonly unprivileged: number | undefined;
    /** Ubuntu's kernel.apparmor_restrict_unprivileged_userns */
    readonly apparmorRestricted: number | undefined;
  };
  readonly hasNewuidmap: boolean;
}

export async function readHost(): Promise<Host> {
  const [max, unprivileged, apparmorRestricted] = await Promise.all([
    readNumber("/proc/sys/user/max_user_namespaces"),
    readNumber("/proc/sys/kernel/unprivileged_userns_clone"),
    readNumber("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
  ]);
  return {
    platform: process.platform,
    isRoot: process.getuid?.() === 0,
    hasNativeBinary: existsSync(nativeBinary()),
    inContainer: existsSync("/.dockerenv") || existsSync("/run/.containerenv"),
    userNamespaces: { max, unprivileged, apparmorRestricted },
    hasNewuidmap: (process.env["PATH"] ?? "").split(":").some((folder) => existsSync(join(folder, "newuidmap"))),
  };
}

export function nativeBinary(): string {
  return join(packageRoot(), "native/build/belljar-native");
}

/** Returns undefined for a setting that this kernel does not have. */
async function readNumber(path: string): Promise<number | undefined> {
  try {
    return Number((await readFile(path, "utf8")).trim());
  } catch {
    return undefined;
  }
}
