import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { absentIs } from "./copy-rows.ts";

const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";

/**
 * Where apt inside finds packages for the release that `/usr` is: the hosts of the named set `debian`. The host's own sources
 * may name mirrors and hold passwords, so none is copied. Undefined where the host is no Debian release with its keys.
 */
export async function aptSourcesIfPresent(hostRoot: string): Promise<string | undefined> {
  const release = (await absentIs(undefined, readFile(join(hostRoot, "etc/os-release"), "utf8"))) ?? "";
  const codename = /^VERSION_CODENAME="?([a-z]+)"?$/m.exec(release)?.[1];
  if (codename === undefined || !/^ID="?debian"?$/m.test(release) || !existsSync(join(hostRoot, KEYRING))) return undefined;
  const source = (uri: string, suites: string): string =>
    `Types: deb\nURIs: ${uri}\nSuites: ${suites}\nComponents: main\nSigned-By: ${KEYRING}\n`;
  return [
    source("http://deb.debian.org/debian", `${codename} ${codename}-updates`),
    source("http://security.debian.org/debian-security", `${codename}-security`),
  ].join("\n");
}
