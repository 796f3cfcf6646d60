import { expect, it } from "vitest";
import { loadConfig } from "../../config/config.ts";
import { configureLanguages } from "../../interpreter/configured-languages.ts";
import { readIsolatorConfig } from "./isolator-config.ts";

/** As the server is delivered. */
const DELIVERED = {
  isolatorPath: "./isolator",
  defaultTimeoutSeconds: 60,
  defaultMemoryMB: 256,
  defaultCpus: 0.5,
  defaultPidsLimit: 64,
  defaultNetworkMode: "none",
  defaultCapDrop: ["ALL"],
  defaultReadOnlyRootfs: true,
  defaultContainerWorkdir: "/workspace",
  languageSettings: {
    python: { image: "python:3.11-alpine" },
    go: { image: "golang:1.21-alpine" },
    javascript: { image: "node:20-alpine" },
  },
  promptsDir: "./prompts",
};

const read = (file: unknown) => readIsolatorConfig(typeof file === "string" ? file : JSON.stringify(file), "/srv/isolator");
const load = (settings: object) => loadConfig({ env: {}, flags: { home: "/nonexistent", ...settings } });

it("takes over the file as it is delivered, and says what became of each setting", () => {
  const { settings, taken, left, images } = read(DELIVERED);
  const config = load(settings);
  expect(config.program).toMatchObject({ timeoutMs: 60_000, memoryBytes: 2 ** 28, cpus: 0.5, pids: 64, network: "none" });
  expect(config.snippetsDirectory).toBe("/srv/isolator/prompts");
  expect(configureLanguages(config.languages).filter(({ template }) => template !== undefined)).toMatchObject([
    { name: "python", template: "python-3.11-alpine" },
    { name: "javascript", template: "node-20-alpine" },
    { name: "go", template: "golang-1.21-alpine" },
  ]);
  expect(images.map(({ template, image }) => [template, image])).toEqual([
    ["python-3.11-alpine", "python:3.11-alpine"],
    ["golang-1.21-alpine", "golang:1.21-alpine"],
    ["node-20-alpine", "node:20-alpine"],
  ]);
  const told = [...taken, ...left].map((line) => line.split(/[:. ]/, 1)[0]);
  expect(new Set(told)).toEqual(new Set(Object.keys(DELIVERED)));
  expect(taken).toContain('defaultTimeoutSeconds: program.timeoutMs = "1m"');
  expect(taken).toContain('languageSettings.go (golang:1.21-alpine): languages.go.template = "golang-1.21-alpine"');
  expect(left).toContain("isolatorPath: Belljar makes sandboxes itself");
});

it.each([
  [
    { defaultMemoryMB: 0, defaultCpus: 0, defaultPidsLimit: -1 },
    { memoryBytes: undefined, cpus: undefined, pids: undefined },
  ],
  [{ defaultTimeoutSeconds: 0.25 }, { timeoutMs: 250 }],
  [{ defaultNetworkMode: "bridge" }, { network: "all" }],
  [{ defaultNetworkMode: "host" }, { network: "none" }],
  [{ defaultNetworkMode: "container:db" }, { network: "none" }],
])("reads %j as %j", (file, program) => {
  const { settings, taken, left } = read(file);
  const loaded = load(settings).program;
  for (const [key, value] of Object.entries(program)) expect(loaded[key as keyof typeof loaded], key).toBe(value);
  expect(taken.length + left.length).toBe(Object.keys(file).length);
});

it("names a template for each image, and none twice", () => {
  const digest = "0123456789abcdef".repeat(4);
  const languages = {
    python: "python:3.11",
    py: "python:3.12",
    ruby: "docker.io/library/python:3.11",
    perl: `ghcr.io/Team/perl@sha256:${digest}`.toLowerCase(),
    bash: "127.0.0.1:5000/deep/path/bash",
    c: "python:3.11",
    go: `r.example.com/${"a".repeat(100)}/go:1`,
  };
  const { settings, images, left } = read({ languageSettings: languages });
  expect(load(settings).languages).toEqual({
    python: { template: "python-3.11" },
    ruby: { template: "python-3.11-2" },
    perl: { template: "ghcr.io-team-perl-0123456789ab" },
    bash: { template: "127.0.0.1-5000-deep-path-bash-latest" },
    c: { template: "python-3.11" },
    go: { template: `${"a".repeat(58)}-go-1` },
  });
  expect(left).toEqual(["languageSettings.py (python:3.12): another name of python, which is taken"]);
  expect(images.map(({ network }) => network.split(",")[0])).toEqual([
    "docker.io",
    "docker.io",
    "ghcr.io",
    "127.0.0.1:5000",
    "r.example.com",
  ]);
});

it("drops nothing in silence", () => {
  const { settings, left } = read({
    defaultCpus: 1,
    "new\u001b[2Jsetting": true,
    languageSettings: { rust: { image: "rust:1" }, python: { image: "python:3", entrypoint: "main.py" } },
    ["x".repeat(1000)]: 1,
    constructor: 2,
  });
  expect(load(settings).languages).toEqual({ python: { template: "python-3" } });
  expect(left).toEqual([
    "new\u001b[2Jsetting: Belljar does not know it",
    "languageSettings.rust (rust:1): Belljar does not know it: add languages.NAME with a command and a template",
    "languageSettings.python.entrypoint: Belljar does not know it",
    `${"x".repeat(60)}...: Belljar does not know it`,
    "constructor: Belljar does not know it",
  ]);
  const many = read({ defaultCpus: 1, ...Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`k${index}`, 1])) });
  expect(many.left).toHaveLength(51);
  expect(many.left.at(-1)).toBe("4950 more that Belljar does not know");
});

it.each([
  ["", /holds no JSON object/],
  ["[]", /holds no JSON object/],
  ["null", /holds no JSON object/],
  ["{", /holds no JSON object/],
  ["[".repeat(1_000_000), /holds no JSON object/],
  [{}, /has none of the settings isolatorPath, /],
  [{ program: { pids: 4 }, ["__proto__"]: {} }, /has none of the settings/],
  [{ defaultMemoryMB: 4 }, /defaultMemoryMB: must be from 16 to \d+, or 0 for no limit/],
  [{ defaultMemoryMB: "256" }, /defaultMemoryMB: /],
  [{ defaultTimeoutSeconds: 0, defaultPidsLimit: 3 }, /defaultTimeoutSeconds: .*\n {2}defaultPidsLimit: must be from 8/],
  [{ defaultCpus: 1e9 }, /defaultCpus: /],
  [{ defaultNetworkMode: 7 }, /defaultNetworkMode: /],
  [{ promptsDir: "" }, /promptsDir: /],
  [{ languageSettings: ["python"] }, /languageSettings/],
  [{ languageSettings: { python: {} } }, /languageSettings\.python: /],
  [{ languageSettings: { python: "Python Image; rm -rf /" } }, /languageSettings\.python: .* names no image/],
])("refuses %j", (file, problem) => {
  const message = expect.stringMatching(problem) as string;
  expect(() => read(file)).toThrow(expect.objectContaining({ code: "CONFIG_INVALID", message }));
});
