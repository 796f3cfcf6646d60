import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { findIdMap } from "./id-map.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "belljar-ids-"));
  write("etc/passwd", "root:x:0:0::/root:/bin/sh\nada:x:1001:1001::/home/ada:/bin/sh\n");
  write("etc/subuid", "ada:100000:65536\n");
  write("etc/subgid", "ada:200000:65536\n");
  for (const name of ["newuidmap", "newgidmap"]) write(`usr/bin/${name}`, "", 0o755);
});
afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
  chmodSync(join(root, path), mode);
}

const find = (uid: number | undefined = 1001, forced?: Parameters<typeof findIdMap>[0]) => findIdMap(forced, { uid, root });
const helpers = () => ({ newuidmap: join(root, "usr/bin/newuidmap"), newgidmap: join(root, "usr/bin/newgidmap") });

it("gives root's sandboxes ids of their own", () => {
  expect(find(0)).toEqual({ kind: "slot" });
});

it("gives a user's sandboxes the ids that the host's files give the user", () => {
  expect(find()).toEqual({ kind: "subids", subuid: 100_000, subgid: 200_000, ...helpers() });
});

it("gives one id to a user whom the files give none", () => {
  expect(find(1002)).toEqual({ kind: "single" });
  rmSync(join(root, "etc"), { recursive: true });
  expect(find()).toEqual({ kind: "single" });
});

it.each(["etc/subuid", "etc/subgid", "usr/bin/newuidmap", "usr/bin/newgidmap"])("gives one id where there is no %s", (path) => {
  rmSync(join(root, path));
  expect(find()).toEqual({ kind: "single" });
});

it("takes the first range that is long enough, by the user's name or number", () => {
  write("etc/subuid", "adam:1:65536\nada:300000:65535\n1001:400000:65536\nada:500000:99999\n");
  expect(find()).toMatchObject({ kind: "subids", subuid: 400_000 });
  write("etc/passwd", "");
  expect(find()).toEqual({ kind: "single" });
  write("etc/subgid", "1001:7:65536\n");
  expect(find()).toMatchObject({ kind: "subids", subuid: 400_000, subgid: 7 });
});

it.each(["usr/bin", "usr/local/bin", "bin"])("finds the programs that map ids in %s, if they may be run", (folder) => {
  rmSync(join(root, "usr/bin/newuidmap"));
  write(`${folder}/newuidmap`, "", 0o644);
  expect(find()).toEqual({ kind: "single" });
  write(`${folder}/newuidmap`, "", 0o755);
  expect(find()).toMatchObject({ newuidmap: join(root, folder, "newuidmap") });
});

it("can be forced to the map of a lesser host", () => {
  expect(find(0, "single")).toEqual({ kind: "single" });
  expect(find(1001, "single")).toEqual({ kind: "single" });
  expect(find(1001, "subids")).toMatchObject({ kind: "subids" });
  expect(find(1001, "slot")).toEqual({ kind: "slot" });
});
