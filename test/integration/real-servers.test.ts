import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { openHubLab } from "../support/hub-lab.ts";
import { installPackages } from "../support/installed-packages.ts";

const FOLDER = resolve(import.meta.dirname, "../servers");
/** Debian's wrapper around it needs files that no sandbox has. */
const CHROMIUM = "/usr/lib/chromium/chromium";
const MIB = 1_048_576;
/** An ordinary user's sandboxes have what the host gives them. */
const isRoot = process.getuid?.() === 0;
const LIMITS = isRoot ? { limits: { memoryBytes: 1_536 * MIB, pids: 1_024 } } : {};

const problem = await installPackages(FOLDER);

function server(path: string, args: readonly string[] = [], more: object = {}): object {
  const mounts = [{ host: FOLDER, path: "/workspace", mode: "ro" }];
  return { command: "node", args: [`/workspace/node_modules/${path}`, ...args], mounts, ...more };
}

/** The text of what a tool of the one server answers. */
async function ask(entry: object, ...calls: readonly (readonly [tool: string, args: object])[]): Promise<readonly string[]> {
  await using lab = await openHubLab({ one: entry });
  await lab.until(() => lab.states()["one"] !== "starting");
  expect([lab.states()["one"], ...lab.problems.filter((told) => !told.includes("left out"))]).toEqual(["ready"]);
  const answers: string[] = [];
  for (const [tool, args] of calls) {
    const { content, isError } = await lab.call(`mcp_one_${tool}`, args, { clientId: "c" });
    answers.push(`${isError ? "error: " : ""}${content.map((part) => (part.type === "text" ? part.text : part.type)).join("\n")}`);
  }
  return answers;
}

describe.skipIf(problem !== undefined)(`servers from npm, each in a sandbox of its own ${problem ?? ""}`, () => {
  it("runs server-everything: texts, pictures and progress", async () => {
    const entry = server("@modelcontextprotocol/server-everything/dist/index.js");
    const [echo, image] = await ask(entry, ["echo", { message: "hello" }], ["get-tiny-image", {}]);
    expect(echo).toContain("hello");
    expect(image).toMatch(/^image$/m);
  });

  it("runs server-filesystem on a folder of its sandbox", async () => {
    const entry = server("@modelcontextprotocol/server-filesystem/dist/index.js", ["/tmp"]);
    const path = `/tmp/${randomUUID()}`;
    const [, read, outside] = await ask(
      entry,
      ["write_file", { path, content: "kept here" }],
      ["read_text_file", { path }],
      ["read_text_file", { path: "/etc/passwd" }],
    );
    expect(existsSync(path)).toBe(false);
    expect(read).toBe("kept here");
    expect(outside).toMatch(/^error: .*outside allowed directories/);
  });

  it("runs server-memory, which keeps what it is told for its client", async () => {
    const entry = server("@modelcontextprotocol/server-memory/dist/index.js", [], { env: { MEMORY_FILE_PATH: "/tmp/memory.jsonl" } });
    const entities = [{ name: "Ann", entityType: "person", observations: ["likes tea"] }];
    const [, found] = await ask(entry, ["create_entities", { entities }], ["search_nodes", { query: "tea" }]);
    expect(found).toContain("Ann");
  });

  it("runs server-sequential-thinking", async () => {
    const entry = server("@modelcontextprotocol/server-sequential-thinking/dist/index.js");
    const thought = { thought: "first", nextThoughtNeeded: true, thoughtNumber: 1, totalThoughts: 2 };
    const [answer] = await ask(entry, ["sequentialthinking", thought]);
    expect(answer).toContain('"thoughtNumber": 1');
  });

  it.skipIf(!existsSync(CHROMIUM))("runs @playwright/mcp with a browser", async () => {
    const flags = ["--headless", "--isolated", "--no-sandbox", "--executable-path", CHROMIUM];
    const entry = server("@playwright/mcp/cli.js", flags, LIMITS);
    const [page] = await ask(entry, ["browser_navigate", { url: "data:text/html,<h1>Hello from inside</h1>" }]);
    expect(page).toContain("Hello from inside");
  });
});
