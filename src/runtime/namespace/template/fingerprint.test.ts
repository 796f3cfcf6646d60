import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeHostRoot } from "../../../../test/support/host-root.ts";
import { fingerprintHost } from "./fingerprint.ts";

it("tells templates of other owners, hosts and programs apart, and no more", () => {
  const root = mkdtempSync(join(tmpdir(), "bj-print-"));
  const prints = [
    fingerprintHost(root, { canonicalUid: 1 }),
    fingerprintHost(root, { canonicalUid: 2 }),
    fingerprintHost(`${root}/`, { canonicalUid: 1 }),
    fingerprintHost(root, { canonicalUid: 1, programs: { node: "/none" } }),
    fingerprintHost(root, { canonicalUid: 1, programs: { rg: "/none" } }),
  ];
  expect(new Set(prints).size).toBe(5);
  expect(fingerprintHost(root, { canonicalUid: 1 })).toBe(prints[0]);
  rmSync(root, { recursive: true });
});

it.each([
  ["a merged folder", "lib64"],
  ["a program", "usr/bin/tool"],
  ["a library of this machine's own", "usr/local/lib/a"],
  ["a setting", "etc/magic"],
  ["a setting whose name has a version", "etc/java-17"],
  ["a package", "var/lib/dpkg/status"],
  ["a package of another family", "var/lib/rpm/a"],
  ["a kernel", "kernels/python.py"],
  ["a program that is copied", "programs/rg"],
])("changes with %s", (_, path) => {
  using host = makeHostRoot();
  for (const folder of ["usr/bin", "usr/local/lib", "etc", "var/lib/dpkg", "var/lib/rpm", "kernels", "programs"]) host.folder(folder);
  const print = () => fingerprintHost(host.root, { kernels: join(host.root, "kernels"), programs: { rg: join(host.root, "programs/rg") } });
  const before = print();
  host.file(path);
  expect(print()).not.toBe(before);
});

it("stays the same for what no sandbox sees, and where there are no kernels", () => {
  using host = makeHostRoot();
  host.folder("etc");
  const print = () => fingerprintHost(host.root, { kernels: join(host.root, "kernels") });
  const before = print();
  for (const path of ["etc/shadow", "home/ada/a", "var/log/a", "opt/a"]) host.file(path);
  expect(print()).toBe(before);
  expect(before).toMatch(/^[0-9a-f]{20}$/);
});
