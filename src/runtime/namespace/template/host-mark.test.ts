import { statSync } from "node:fs";
import { expect, it } from "vitest";
import { type HostRoot, makeHostRoot } from "../../../../test/support/host-root.ts";
import { markHost } from "./host-mark.ts";

/** The times of files move in steps of some milliseconds on older kernels. */
function untilLater({ file, root }: HostRoot): void {
  const now = (): bigint => {
    file("probe");
    return statSync(`${root}/probe`, { bigint: true }).ctimeNs;
  };
  const before = now();
  while (now() === before);
}

it.each([
  ["a program", "usr/bin/tool"],
  ["a library of this machine's own", "usr/local/lib/a"],
  ["a package", "var/lib/dpkg/status"],
  ["a package whose database is a folder behind a link", "usr/lib/sysimage/rpm/rpmdb.sqlite"],
  ["a package of a host with musl", "lib/apk/db/installed"],
  ["the release of the host", "etc/os-release"],
  ["a Node that is not below /usr", "opt/node/bin/npm"],
])("changes with %s", (_, path) => {
  using host = makeHostRoot();
  for (const folder of ["usr/bin", "usr/local/lib", "usr/lib/sysimage/rpm", "var/lib/dpkg", "lib/apk/db", "etc"]) host.folder(folder);
  host.link("var/lib/rpm", "../../usr/lib/sysimage/rpm");
  for (const file of ["opt/node/bin/node", "opt/node/include/node/node.h"]) host.file(file);
  const mark = () => markHost({ hostRoot: host.root, nodePath: `${host.root}/opt/node/bin/node` });
  const before = mark();
  expect(before).toMatch(/^[0-9a-f]{20}$/);
  expect(mark()).toBe(before);
  untilLater(host);
  host.file(path);
  expect(mark()).not.toBe(before);
});

it("changes with another folder in the place of /usr", () => {
  using host = makeHostRoot();
  using other = makeHostRoot();
  for (const { folder } of [host, other]) folder("usr/bin");
  expect(markHost({ hostRoot: host.root })).not.toBe(markHost({ hostRoot: other.root }));
});

it("stays the same for what sandboxes do not see, and for what lies too deep", () => {
  using host = makeHostRoot();
  for (const folder of ["etc", "usr/share/doc/a"]) host.folder(folder);
  const mark = () => markHost({ hostRoot: host.root });
  const before = mark();
  for (const path of ["etc/hostname", "var/log/a", "home/ada/a", "opt/a/b", "usr/share/doc/a/b"]) host.file(path);
  expect(mark()).toBe(before);
});
