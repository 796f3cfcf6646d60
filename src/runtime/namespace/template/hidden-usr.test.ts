import { join } from "node:path";
import { expect, it } from "vitest";
import { type HostRoot, makeHostRoot } from "../../../../test/support/host-root.ts";
import { findHidden } from "./hidden-usr.ts";

const NEVER = new AbortController().signal;
const hiddenOf = (host: HostRoot) => findHidden(join(host.root, "usr"), NEVER);

it("shows the usual folders of /usr and /usr/local, and those of cross compilers, and no others", async () => {
  using host = makeHostRoot();
  const shown = [
    "bin",
    "games",
    "include",
    "lib",
    "lib32",
    "lib64",
    "libexec",
    "libx32",
    "sbin",
    "share",
    "src",
    "x86_64-w64-mingw32",
    "a-b",
  ];
  const local = ["bin", "include", "lib", "libexec", "sbin", "share"];
  for (const name of shown) host.folder(`usr/${name}`);
  for (const name of local) host.folder(`usr/local/${name}`);
  expect(await hiddenOf(host)).toEqual([]);
  for (const name of ["etc", "secret", "a-b-c-d-e", "X-y", "-a"]) host.folder(`usr/${name}`);
  for (const name of ["etc", "games", "src", "a-b"]) host.folder(`usr/local/${name}`);
  expect(await hiddenOf(host)).toEqual(["-a", "X-y", "a-b-c-d-e", "etc", "local/a-b", "local/etc", "local/games", "local/src", "secret"]);
});

it("hides what the whole world may not read, and of a folder the folder alone", async () => {
  using host = makeHostRoot();
  host.file("usr/bin/plain");
  host.file("usr/bin/secret", 0o640);
  host.file("usr/bin/execute-only", 0o711);
  host.file("usr/lib/closed/a", 0o600);
  host.folder("usr/lib/closed", 0o750);
  host.file("usr/lib/blind/a", 0o600);
  host.folder("usr/lib/blind", 0o751);
  host.file("usr/lib/open/a b", 0o600);
  host.link("usr/lib/link", "/root");
  expect(await hiddenOf(host)).toEqual(["bin/execute-only", "bin/secret", "lib/blind", "lib/closed", "lib/open/a b"]);
});

it("hides the folder around a name that is not UTF-8, if it may not be shown", async () => {
  using host = makeHostRoot();
  host.file("usr/lib/a/b/plain");
  const { writeFileSync } = await import("node:fs");
  const odd = (folder: string, mode: number) =>
    writeFileSync(Buffer.concat([Buffer.from(join(host.root, folder, "/")), Buffer.from([0xff])]), "", { mode });
  odd("usr/lib", 0o644);
  odd("usr/lib/a/b", 0o600);
  expect(await hiddenOf(host)).toEqual(["lib/a/b"]);
  odd("usr", 0o600);
  await expect(hiddenOf(host)).rejects.toThrow(expect.objectContaining({ code: "RUNTIME_FAILED" }));
});

it("needs no /usr/local", async () => {
  using host = makeHostRoot();
  host.folder("usr/etc");
  expect(await hiddenOf(host)).toEqual(["etc"]);
});
