import { accessSync, chmodSync, constants, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkWorkspace, parseWorkspace } from "./parse-workspace.ts";

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "belljar-parse-")));
  mkdirSync(join(root, "work"));
  mkdirSync(join(root, "home"));
});
afterEach(() => rmSync(root, { recursive: true }));

/** Of this host, by this user. */
function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const parse = (text: string) => parseWorkspace(text, { home: join(root, "home"), cwd: root });
const refusal = expect.objectContaining({ name: "BelljarError", code: "WORKSPACE_INVALID" });

describe("parseWorkspace", () => {
  it.each([
    ["work", "copy"],
    ["work:copy", "copy"],
    ["work:ro", "ro"],
    ["./work/:rw", "rw"],
  ] as const)("reads %s", async (text, mode) => {
    expect(await parse(text)).toEqual({ path: join(root, "work"), mode });
  });

  it("follows links once and names the real folder", async () => {
    symlinkSync("work", join(root, "link"));
    expect((await parse("link")).path).toBe(join(root, "work"));
  });

  it("keeps the person's spelling beside it, by the path as it was written or by PWD", async () => {
    mkdirSync(join(root, "work/sub"));
    symlinkSync("work", join(root, "link"));
    const [path, home] = [join(root, "work"), join(root, "home")];
    const parseAt = (text: string, cwd: string, pwd?: string) => parseWorkspace(text, { home, cwd, pwd });
    expect(await parse("link:ro")).toEqual({ path, mode: "ro", spelling: join(root, "link") });
    expect(await parseAt(".", path, join(root, "link"))).toEqual({ path, mode: "copy", spelling: join(root, "link") });
    expect(await parseAt("sub", path, join(root, "link"))).toMatchObject({ path: join(path, "sub"), spelling: join(root, "link/sub") });
    expect(await parseAt("..", join(path, "sub"), join(root, "link/sub"))).toMatchObject({ path, spelling: join(root, "link") });
    expect(await parseAt(path, root, root)).toEqual({ path, mode: "copy" });
  });

  it("believes no PWD that leads elsewhere, is no plain path, or would break a line", async () => {
    symlinkSync("work", join(root, "link"));
    symlinkSync("home", join(root, "other"));
    symlinkSync("work", join(root, "li\nnk"));
    symlinkSync("..", join(root, "work/up"));
    const [path, home] = [join(root, "work"), join(root, "home")];
    const hostile = ["other", "none", "li\nnk", "link/.", "link/", "work/up/work/../link", "li\0nk"].map((name) => `${root}/${name}`);
    for (const pwd of ["", ".", "link", `/${root}/link`, "a".repeat(5_000), ...hostile])
      expect(await parseWorkspace(".", { home, cwd: path, pwd }), pwd).toEqual({ path, mode: "copy" });
    // As programs read it, `..` is the folder above the real one, and not the one above the link.
    mkdirSync(join(root, "a/b/c"), { recursive: true });
    symlinkSync("a/b/c", join(root, "deep"));
    expect(await parseWorkspace("..", { home, cwd: join(root, "a/b/c"), pwd: join(root, "deep") })).toEqual({
      path: join(root, "a/b"),
      mode: "copy",
    });
  });

  const isRoot = process.getuid?.() === 0;
  it.skipIf(isRoot)(`refuses a folder that this user may not read${isRoot ? " (skipped: root may)" : ""}`, async () => {
    for (const mode of [0o300, 0o600]) {
      chmodSync(join(root, "work"), mode);
      await expect(parse("work")).rejects.toEqual(refusal);
    }
  });

  it("keeps colons that are part of the name", async () => {
    mkdirSync(join(root, "a:b"));
    mkdirSync(join(root, "c:ro"));
    expect(await parse("a:b")).toEqual({ path: join(root, "a:b"), mode: "copy" });
    expect(await parse("c:ro:copy")).toEqual({ path: join(root, "c:ro"), mode: "copy" });
  });

  it.each([
    "",
    ":ro",
    "none",
    "work:rx",
    "nul\0",
    "/",
    "/proc",
    "/proc/self",
    "/sys",
    "/dev/shm",
    "/etc/ssl",
    "/usr/lib",
    "/tmp",
    "/root",
    "/home",
  ])("refuses %j", async (text) => {
    await expect(parse(text)).rejects.toThrow(refusal);
  });

  it.each(["/", "/home", "/root", "/var", "/var/lib", "/opt", "/srv", "/mnt", "/media", "/tmp"].filter((path) => isReadable(path)))(
    "refuses %s as too wide, and only that",
    async (path) => {
      await expect(parse(path)).rejects.toThrow(/is too wide for a workspace/);
    },
  );

  it.each(
    ["/proc", "/sys", "/dev", "/etc", "/usr", "/bin", "/boot", "/run", "/proc/self/fd", "/dev/shm"].filter((path) => isReadable(path)),
  )("refuses %s as the host's own, with all below it", async (path) => {
    await expect(parse(path)).rejects.toThrow(/belongs to the host's system/);
  });

  it("says what a workspace looks like for a text that names no folder", async () => {
    for (const text of ["", ":ro", "a\0b"]) await expect(parse(text)).rejects.toThrow(/is written DIR/);
    await expect(parse("gone")).rejects.toThrow(/cannot be used \(ENOENT\): name a folder that/);
    await expect(parse(`work/${"a/".repeat(2048)}`)).rejects.toThrow(/below 4,096 bytes/);
  });

  it("refuses the place of a home that is not made yet", async () => {
    mkdirSync(join(root, "wide"));
    const early = (text: string) => parseWorkspace(text, { home: join(root, "wide/home"), cwd: root });
    await expect(early("wide")).rejects.toThrow(/must not hold each other/);
    expect((await early("work")).path).toBe(join(root, "work"));
  });

  it("refuses a file, a link to the system, the home, what is in it and what holds it", async () => {
    writeFileSync(join(root, "file"), "");
    symlinkSync("/etc", join(root, "link"));
    mkdirSync(join(root, "home", "sandboxes"));
    for (const text of ["file", "link", "home", "home/sandboxes", "."]) await expect(parse(text)).rejects.toThrow(refusal);
  });

  it("takes a folder whose name only starts like a forbidden one", async () => {
    mkdirSync(join(root, "home-work"));
    expect((await parse("home-work")).path).toBe(join(root, "home-work"));
  });
});

describe("checkWorkspace", () => {
  it("takes a real path and refuses a link, a relative path and the system", async () => {
    symlinkSync("work", join(root, "link"));
    const check = (path: string) => checkWorkspace({ path, mode: "rw" }, join(root, "home"));
    await check(join(root, "work"));
    for (const path of [join(root, "link"), "work", "/etc"]) await expect(check(path)).rejects.toThrow(refusal);
    await expect(check("work")).rejects.toThrow(/needs an absolute path/);
    await expect(check(join(root, "link"))).rejects.toThrow(/must be named by its real path/);
  });
});
