import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { type HubLab, openHubLab, SERVER_CODE } from "../../support/hub-lab.ts";
import { makeWheel, openPackageLab, type PackageLab } from "../../support/package-lab.ts";
import { textOf } from "../../support/tools-lab.ts";

const PYTHON = readFileSync(join(import.meta.dirname, "../../fixtures/hub-server.py"), "utf8");

/** It needs a package, and a program beside it. */
const HELPED = `import "beside";\nimport { execFileSync } from "node:child_process";\nexecFileSync("helper");\n${SERVER_CODE}`;

let folder: string;
let index: PackageLab;
let lab: HubLab;
beforeAll(async () => {
  index = await openPackageLab();
  folder = await mkdtemp(join(tmpdir(), "bj-hub-"));
  await writeFile(join(folder, "note"), "a note");
  index.offerPrograms("@scope/server-memory", "1.0.0", { "mcp-server-memory": SERVER_CODE });
  index.offerPrograms("several", "1.0.0", { one: SERVER_CODE, two: SERVER_CODE });
  index.offerPrograms("helped", "1.2.0", { helped: HELPED, helper: "" }, { dependencies: { beside: "^1" } });
  index.offerNpm("beside", "1.0.0", "");
  index.offerNpm("library", "1.0.0", "");
  index.offer(...wheel("pyserver", "1.0"));
  lab = await openHubLab(
    {
      memory: { command: "npx", args: ["-y", "@scope/server-memory", "--flag", "-x"], env: { TOKEN: "t0ken" } },
      again: { command: "/opt/homebrew/bin/npx", args: ["--yes", "@scope/server-memory"] },
      chosen: { command: "npx", args: ["-y", "--package=several@^1", "two"] },
      helped: { command: "npm", args: ["exec", "-y", "helped@1.2.0"] },
      python: { command: "uvx", args: ["pyserver@1.0", "--word"], env: { TOKEN: "t0ken" } },
      from: { command: "uvx", args: ["--from", "pyserver", "other-name"] },
      vague: { command: "npx", args: ["-y", "several"] },
      library: { command: "npx", args: ["-y", "library"] },
      absent: { command: "npx", args: ["-y", "no-such-package"] },
      strange: { command: "npx", args: ["-y", "github:user/repository"] },
      nothing: { command: "uvx", args: ["--from", "pyserver", "nothing"] },
      mounted: { command: "npx", args: ["-y", "@scope/server-memory", "/workspace"], mounts: [{ host: folder }], cwd: "/workspace" },
      wrong: { command: "npx", args: ["-c", "echo"] },
      asit: { command: "npx", args: ["--version"], template: "base" },
    },
    { packages: index },
  );
  await lab.until(() => Object.values(lab.states()).every((state) => state !== "starting"));
}, 180_000);
afterAll(async () => {
  await lab?.[Symbol.asyncDispose]();
  await index?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
}, 60_000);

/** With a program of its own name and another one. */
function wheel(name: string, version: string): readonly [string, Buffer] {
  const points = `[console_scripts]\n${name} = ${name}:main\nother-name = ${name}:main\n`;
  return makeWheel(name, version, PYTHON, { [`${name}-${version}.dist-info/entry_points.txt`]: points });
}

const json = async (tool: string, args: object = {}): Promise<Record<string, unknown>> => JSON.parse(textOf(await lab.call(tool, args)));
const problem = (name: string): string | undefined => lab.hub.servers(LOCAL).find((server) => server.name === name)?.error?.message;

it("runs what npx starts from a layer, without a network line and without a network", async () => {
  expect(lab.states()).toMatchObject({ memory: "ready", again: "ready", chosen: "ready", helped: "ready" });
  const { env } = await json("mcp_memory_where", { path: "/" });
  expect(env).toMatchObject({ TOKEN: "t0ken" });
  expect(textOf(await lab.call("mcp_memory_reach", { port: new URL(index.settings.registryUrl).port }))).not.toBe("reached");
});

it("passes the arguments behind the package, and none of the launcher's", async () => {
  expect(await json("mcp_memory_where", { path: "/" })).toMatchObject({ args: ["--flag", "-x"] });
  expect(await json("mcp_python_where")).toMatchObject({ argv: ["--word"] });
});

it("runs what uvx starts, by the program's name, with the packages beside it", async () => {
  expect(lab.states()).toMatchObject({ python: "ready", from: "ready" });
  const { env, reached } = await json("mcp_python_where", { port: Number(new URL(index.settings.indexUrl).port) });
  expect(env).toMatchObject({ TOKEN: "t0ken" });
  expect(reached).not.toBe("reached");
});

it("says why a package cannot be started, and where packages come from", () => {
  expect(problem("vague")).toMatch(/several programs[^]*"one", "two"; write --package=several PROGRAM/);
  expect(problem("library")).toContain("The package library has no program");
  expect(problem("absent")).toMatch(/no-such-package from http:\/\/npm.test[^]*404[^]*tools.registryUrl/);
  expect(problem("wrong")).toContain('the option "-c" of npx is not taken');
  expect(problem("strange")).toContain('"github:user/repository" is no package of the index');
  expect(problem("nothing")).toMatch(/The package pyserver has no program "nothing"[^]*"pyserver", "other-name"/);
  expect(problem("asit"), "with a template nothing is prepared").toContain('The server "asit" ended with exit code 0 before it answered');
});

it("installs a package once for all servers and starts of an owner", async () => {
  expect(index.asked.filter((path) => path.endsWith("/server-memory/-/1.0.0.tgz"))).toHaveLength(1);
  const asked = index.asked.length;
  expect(textOf(await lab.call("mcp_memory_count", {}, { clientId: "other" }))).toBe("1");
  expect(index.asked).toHaveLength(asked);
});

it("shows a prepared server the folder that its entry names", async () => {
  expect(textOf(await lab.call("mcp_mounted_read", { path: "/workspace/note" }))).toBe("a note");
  expect(await json("mcp_mounted_where", { path: "/" })).toMatchObject({ cwd: "/workspace" });
});
