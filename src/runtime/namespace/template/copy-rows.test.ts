import { readlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type HostRoot, makeHostRoot, modeOf, pathsBelow, textOf } from "../../../../test/support/host-root.ts";
import { absentIs, copyRowsIfPresent, expandRow } from "./copy-rows.ts";
import { createLayer } from "./layer.ts";

/** What lies in the layer after the rows were copied from the host's `/etc`. */
async function copy(host: HostRoot, ...rows: readonly string[]): Promise<readonly string[]> {
  const layer = await createLayer(host.layer, undefined);
  await copyRowsIfPresent(
    { from: join(host.root, "etc"), layer, into: "etc" },
    rows.map((path) => ({ path })),
  );
  return pathsBelow(host.layer);
}

it.each<readonly [string, readonly string[], readonly string[]]>([
  ["magic", ["magic", "magic.mime", "a"], ["magic"]],
  ["java-*", ["java-17", "java-", "java", "xjava-17"], ["java-17"]],
  ["python3.*", ["python3.11", "python3"], ["python3.11"]],
  ["a/*.conf", ["x.conf", ".conf", "x.confs"], ["a/x.conf", "a/.conf"]],
  ["a*b", ["ab", "a1b", "a"], ["ab", "a1b"]],
])("takes the row %s for the names that it means", (row, names, paths) => {
  expect(expandRow(row, names)).toEqual(paths);
});

it("copies what the rows name, with modes that nobody but root may write", async () => {
  using host = makeHostRoot();
  for (const path of ["magic", "ssl/certs/a.pem", "ssl/certs/deep/b.pem", "ssl/private/key.pem", "shadow"]) host.file(`etc/${path}`);
  host.file("etc/alternatives/tool", 0o777);
  expect(await copy(host, "magic", "ssl/certs", "alternatives", "not-here", "not/here/either")).toEqual([
    "etc/alternatives/tool",
    "etc/magic",
    "etc/ssl/certs/a.pem",
    "etc/ssl/certs/deep/b.pem",
  ]);
  expect(textOf(join(host.layer, "etc/ssl/certs/a.pem"))).toBe("etc/ssl/certs/a.pem");
  expect(modeOf(join(host.layer, "etc/alternatives/tool"))).toBe(0o755);
});

it("copies nothing that the whole world may not read, and nothing below a folder that it may not enter", async () => {
  using host = makeHostRoot();
  host.file("etc/secret", 0o640);
  host.file("etc/open/secret", 0o600);
  host.file("etc/open/plain");
  host.file("etc/closed/a");
  host.folder("etc/closed", 0o754);
  host.file("etc/blind/a");
  host.folder("etc/blind", 0o751);
  host.file("etc/outer/inner/a");
  host.folder("etc/outer", 0o750);
  expect(await copy(host, "secret", "open", "closed", "blind", "closed/a", "outer/inner", "outer/inner/a")).toEqual(["etc/open/plain"]);
  // Whoever knows the name may read a file in a folder that shows no names.
  expect(await copy(host, "blind/a")).toContain("etc/blind/a");
});

it("follows no link: not in place of a folder, and not of a row", async () => {
  using host = makeHostRoot();
  host.file("etc/real/a");
  host.link("etc/alias", "real");
  expect(await copy(host, "alias/a")).toEqual([]);
  expect(await copy(host, "alias")).toEqual(["etc/alias"]);
  expect(readlinkSync(join(host.layer, "etc/alias"))).toBe("real");
});

it.each([
  ["/usr/bin/vim", true],
  ["/etc/alternatives/vim", true],
  ["/lib/a", true],
  ["/lib64/a", true],
  ["/bin/a", true],
  ["/sbin/a", true],
  ["/var/lib/a", true],
  ["../ssl/a", true],
  ["../../usr/a", true],
  ["../../home/ada/a", false],
  ["/home/ada/a", false],
  ["/usr/../home/ada", false],
  ["/usrlocal/a", false],
  ["/var/log/a", false],
  ["/usr", false],
])("copies a link to %s: %s", async (target, isCopied) => {
  using host = makeHostRoot();
  host.link("etc/folder/link", target);
  host.link("etc/row", target.replace(/^\.\.\//, ""));
  expect(await copy(host, "folder", "row")).toEqual(isCopied ? ["etc/folder/link", "etc/row"] : []);
});

it("copies no socket, pipe or device", async () => {
  using host = makeHostRoot();
  host.file("etc/folder/a");
  const { createServer } = await import("node:net");
  const server = createServer().listen(join(host.root, "etc/folder/socket"));
  await new Promise((resolve) => server.once("listening", resolve));
  expect(await copy(host, "folder", "folder/socket")).toEqual(["etc/folder/a"]);
  server.close();
});

it("takes only what is not there for absent", async () => {
  const failing = (code: string) => Promise.reject(Object.assign(new Error(code), { code }));
  expect([await absentIs(1, failing("ENOENT")), await absentIs(1, failing("ENOTDIR")), await absentIs(1, Promise.resolve(2))]).toEqual([
    1, 1, 2,
  ]);
  await expect(absentIs(1, failing("EACCES"))).rejects.toThrow("EACCES");
  await expect(absentIs(1, Promise.reject(new Error("other")))).rejects.toThrow("other");
});
