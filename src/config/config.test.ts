import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { describeConfig } from "./config-keys.ts";
import { loadConfig } from "./config.ts";
import { ensureHome, ensurePrivateDirectory } from "./private-directory.ts";

const host = { uid: 1000, cpus: 8, homeDirectory: "/home/someone" };
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "belljar-config-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function writeConfig(value: unknown, name = "config.json"): string {
  const path = join(folder, name);
  writeFileSync(path, typeof value === "string" ? value : JSON.stringify(value));
  return path;
}

describe("loadConfig", () => {
  it("has careful defaults", () => {
    const config = loadConfig({ env: {}, host: { ...host, homeDirectory: folder } });
    expect(config).toMatchObject({ home: join(folder, ".belljar"), runtime: "namespace", storage: "auto", host: "127.0.0.1", port: 6060 });
    expect(config.program).toEqual({
      timeoutMs: 50_000,
      memoryBytes: 268_435_456,
      cpus: 0.5,
      pids: 64,
      diskBytes: 268_435_456,
      openFiles: 1024,
      network: "none",
    });
    expect(config.sandbox).toEqual({
      timeoutMs: 3_600_000,
      keep: 604_800_000,
      autoCheckpoint: "auto",
      autoCheckpointKeep: 20,
      keepBytes: 20 * 2 ** 30,
      keepMemoryBytes: 4 * 2 ** 30,
      pauseIdleMs: 0,
      memoryBytes: 2_147_483_648,
      cpus: 2,
      pids: 512,
      diskBytes: 4_294_967_296,
      openFiles: 4096,
      root: true,
      nestedFilters: false,
      network: "none",
    });
  });

  it("gives a sandbox no more cores than the host has", () => {
    expect(loadConfig({ env: {}, host: { ...host, cpus: 1 } }).sandbox.cpus).toBe(1);
  });

  it("puts the file over defaults, the environment over the file and flags over all", () => {
    writeConfig({ port: 1, host: "1.1.1.1", logLevel: "warn", program: { pids: 10, cpus: 1 } });
    const env = { BELLJAR_HOME: folder, BELLJAR_HOST: "2.2.2.2", BELLJAR_PORT: "2", BELLJAR_PROGRAM_PIDS: "20" };
    const config = loadConfig({ env, flags: { port: 3, host: undefined, program: { pids: undefined } }, host });
    expect(config).toMatchObject({ port: 3, host: "2.2.2.2", logLevel: "warn", program: { pids: 20, cpus: 1, openFiles: 1024 } });
  });

  it("reads the named file instead of the file in the home", () => {
    writeConfig({ port: 1 });
    const file = writeConfig({ port: 2 }, "other.json");
    expect(loadConfig({ env: { BELLJAR_HOME: folder }, file, host }).port).toBe(2);
  });

  it("removes a limit with null and with none", () => {
    writeConfig({ program: { memoryBytes: null } });
    const config = loadConfig({ env: { BELLJAR_HOME: folder, BELLJAR_PROGRAM_CPUS: "none" }, host });
    expect(config.program).not.toHaveProperty("memoryBytes");
    expect(config.program).not.toHaveProperty("cpus");
  });

  it("reads sizes and times with their units, in the file and the environment, and plain numbers", () => {
    writeConfig({ sandbox: { memoryBytes: "3g", diskBytes: 1_048_576, timeoutMs: "2h" }, maxOutputBytes: "64k" });
    const env = {
      BELLJAR_HOME: folder,
      BELLJAR_PROGRAM_MEMORY_BYTES: "512m",
      BELLJAR_PROGRAM_TIMEOUT_MS: "45s",
      BELLJAR_EXEC_TIMEOUT_MS: "90",
    };
    expect(loadConfig({ env, host })).toMatchObject({
      sandbox: { memoryBytes: 3 * 2 ** 30, diskBytes: 1_048_576, timeoutMs: 7_200_000 },
      program: { memoryBytes: 2 ** 29, timeoutMs: 45_000 },
      maxOutputBytes: 65_536,
      execTimeoutMs: 90,
    });
  });

  it.each([
    ["lots", '"lots" is not a size such as 512m or 2g'],
    ["1k", "must be at least 16m"],
  ])("says of the size %j what the command line says", (text, problem) => {
    const env = { BELLJAR_HOME: folder, BELLJAR_SANDBOX_MEMORY_BYTES: text };
    expect(() => loadConfig({ env, host })).toThrow(`sandbox.memoryBytes (BELLJAR_SANDBOX_MEMORY_BYTES): ${problem}`);
    writeConfig({ sandbox: { memoryBytes: text } });
    expect(() => loadConfig({ env: { BELLJAR_HOME: folder }, host })).toThrow(problem);
  });

  it("reads WORKSPACE_DIR and lets BELLJAR_WORKSPACE win", () => {
    expect(loadConfig({ env: { WORKSPACE_DIR: "/w:ro" }, host }).workspace).toBe("/w:ro");
    expect(loadConfig({ env: { WORKSPACE_DIR: "/w", BELLJAR_WORKSPACE: "/b" }, host }).workspace).toBe("/b");
  });

  it("counts an empty variable as not set", () => {
    expect(loadConfig({ env: { BELLJAR_PORT: "" }, host }).port).toBe(6060);
  });

  it("names every bad field with its variable", () => {
    writeConfig({ prot: 1, program: { pid: 1 } });
    const env = { BELLJAR_HOME: folder, BELLJAR_PORT: "many", BELLJAR_STORAGE: "zfs" };
    expect(() => loadConfig({ env, host })).toThrow(
      expect.objectContaining({
        code: "CONFIG_INVALID",
        message: expect.stringMatching(
          /storage \(BELLJAR_STORAGE\)[^]*port \(BELLJAR_PORT\)[^]*program\.pid: no such setting[^]*prot: no such setting/,
        ),
      }),
    );
  });

  it.each([
    ["no JSON", "{"],
    ["no object", "[]"],
    ["a home in the home's own file", JSON.stringify({ home: "/elsewhere" })],
  ])("refuses %s", (_, text) => {
    writeConfig(text);
    expect(() => loadConfig({ env: { BELLJAR_HOME: folder }, host })).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
  });

  it("refuses a named file that is missing", () => {
    expect(() => loadConfig({ env: {}, file: join(folder, "none.json"), host })).toThrow(
      expect.objectContaining({ code: "CONFIG_INVALID" }),
    );
  });

  it("asks a user without a home folder for one", () => {
    const homeless = { uid: 4242, cpus: 1 };
    expect(() => loadConfig({ env: {}, host: homeless })).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
    expect(loadConfig({ env: { BELLJAR_HOME: folder }, host: homeless }).home).toBe(folder);
  });

  it("is frozen", () => {
    const config = loadConfig({ env: {}, host });
    expect(Object.isFrozen(config) && Object.isFrozen(config.program) && Object.isFrozen(config.sandbox)).toBe(true);
  });

  it.each([
    [0, { XDG_RUNTIME_DIR: "/run/user/0" }, "/run/belljar"],
    [1000, { XDG_RUNTIME_DIR: "/run/user/1000" }, "/run/user/1000/belljar"],
    [1000, {}, "/tmp/belljar-1000"],
  ])("keeps the sockets of uid %i with %j in %s", (uid, env, expected) => {
    expect(loadConfig({ env, host: { ...host, uid } }).runtimeDirectory).toBe(expected);
  });
});

describe("languages", () => {
  const read = (languages: unknown) => loadConfig({ env: {}, flags: { home: folder, languages } }).languages;

  it("are read from a file, and as JSON from the environment", () => {
    const languages = { python: { template: "python-3.11" }, "c++": {}, lua: { command: ["lua", "-W"], extension: ".lua" } };
    expect(read(languages)).toEqual(languages);
    expect(loadConfig({ env: { BELLJAR_HOME: folder, BELLJAR_LANGUAGES: JSON.stringify(languages) } }).languages).toEqual(languages);
    expect(loadConfig({ env: { BELLJAR_HOME: folder } }).languages).toEqual({});
  });

  it.each([
    [{ Python: {} }, /languages\.Python/],
    [{ lua: { image: "lua" } }, /languages\.lua\.image: no such setting/],
    [{ lua: { command: [] } }, /languages\.lua\.command/],
    [{ lua: { command: "lua" } }, /languages\.lua\.command/],
    [{ lua: { command: ["a\0b"] } }, /languages\.lua\.command\.0: must not hold a NUL byte/],
    [{ lua: { extension: "lua" } }, /languages\.lua\.extension: must be a dot and/],
    [{ lua: { extension: ".tar/../x" } }, /languages\.lua\.extension/],
    [
      Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`l${index}`, {}])),
      /languages \(BELLJAR_LANGUAGES\): must be at most 50/,
    ],
    ["lua", /languages \(BELLJAR_LANGUAGES\): must be a JSON object/],
    ["[]", /languages \(BELLJAR_LANGUAGES\)/],
  ])("refuses %j", (languages, problem) => {
    const message = expect.stringMatching(problem) as string;
    expect(() => read(languages)).toThrow(expect.objectContaining({ code: "CONFIG_INVALID", message }));
  });
});

describe("describeConfig", () => {
  it("describes every key in plain JSON", () => {
    const keys = describeConfig();
    expect(JSON.parse(JSON.stringify(keys))).toHaveLength(keys.length);
    expect(keys.filter((key) => key.description === "" || key.type === "")).toEqual([]);
  });

  it("names variable, type and default of a nested key", () => {
    expect(describeConfig()).toContainEqual({
      path: ["program", "pids"],
      env: ["BELLJAR_PROGRAM_PIDS"],
      type: "integer | none",
      default: 64,
      description: "Maximum number of processes and threads of a one-shot program",
    });
  });

  it("does not depend on the host", () => {
    expect(describeConfig().find((key) => key.path[0] === "home")?.default).toBe("~/.belljar");
  });
});

describe("ensurePrivateDirectory", () => {
  it("creates a folder that it then accepts", () => {
    const path = join(folder, "a", "b");
    ensurePrivateDirectory(path);
    expect(() => ensurePrivateDirectory(path)).not.toThrow();
  });

  it("refuses a link, a foreign owner and an open folder", () => {
    symlinkSync(folder, join(folder, "link"));
    mkdirSync(join(folder, "open"), { mode: 0o755 });
    for (const [path, uid] of [["link"], ["open"], ["", 4242]] as const) {
      expect(() => ensurePrivateDirectory(join(folder, path), uid)).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
    }
  });
});

describe("ensureHome", () => {
  it("creates the folder and its parents, once", () => {
    const path = join(folder, "above", "home");
    ensureHome(path);
    expect(() => ensureHome(path)).not.toThrow();
  });

  it("refuses a foreign owner, a file, and a path that cannot become a folder", () => {
    writeFileSync(join(folder, "file"), "");
    const bad = [[folder, 4242], [join(folder, "file")], [join(folder, "file", "below")], ["/proc/none/home"]] as const;
    for (const [path, uid] of bad) expect(() => ensureHome(path, uid)).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
  });
});
