import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type HostRoot, makeHostRoot } from "../../../../test/support/host-root.ts";
import { aptSourcesIfPresent } from "./apt-sources.ts";

const KEYRING = "usr/share/keyrings/debian-archive-keyring.gpg";
const DEBIAN = "PRETTY_NAME=x\nID=debian\nVERSION_CODENAME=bookworm\n";

function makeRelease(text: string): HostRoot {
  const host = makeHostRoot();
  host.file("etc/os-release");
  writeFileSync(join(host.root, "etc/os-release"), text);
  host.file(KEYRING);
  return host;
}

it("names Debian's own hosts for the release, signed by its keys", async () => {
  using host = makeRelease(DEBIAN);
  expect(await aptSourcesIfPresent(host.root)).toBe(
    [
      "Types: deb",
      "URIs: http://deb.debian.org/debian",
      "Suites: bookworm bookworm-updates",
      "Components: main",
      `Signed-By: /${KEYRING}`,
      "",
      "Types: deb",
      "URIs: http://security.debian.org/debian-security",
      "Suites: bookworm-security",
      "Components: main",
      `Signed-By: /${KEYRING}`,
      "",
    ].join("\n"),
  );
});

it("reads a release in quotes", async () => {
  using host = makeRelease('ID="debian"\nVERSION_CODENAME="sid"\n');
  expect(await aptSourcesIfPresent(host.root)).toContain("Suites: sid sid-updates");
});

it.each([
  ["another system", "ID=ubuntu\nVERSION_CODENAME=noble\n"],
  ["one that is like Debian", "ID_LIKE=debian\nID=devuan\nVERSION_CODENAME=daedalus\n"],
  ["a release without a name", "ID=debian\n"],
  ["a name that is none", "ID=debian\nVERSION_CODENAME=book worm\n"],
])("knows no sources for %s", async (_, text) => {
  using host = makeRelease(text);
  expect(await aptSourcesIfPresent(host.root)).toBeUndefined();
});

it("knows no sources without a release or without its keys", async () => {
  using empty = makeHostRoot();
  expect(await aptSourcesIfPresent(empty.root)).toBeUndefined();
  empty.file("etc/os-release");
  writeFileSync(join(empty.root, "etc/os-release"), DEBIAN);
  expect(await aptSourcesIfPresent(empty.root)).toBeUndefined();
});
