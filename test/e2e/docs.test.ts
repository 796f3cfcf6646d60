import { execFile } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const PAGES = ["README.md", ...readdirSync(join(ROOT, "docs/guides")).map((name) => `docs/guides/${name}`)];

interface Block {
  readonly page: string;
  readonly line: number;
  readonly script: string;
  /** Why it is not run here. */
  readonly reason: string | undefined;
}

/** Shell blocks, each with the mark `<!-- not run: reason -->` above it, if there is one. */
function blocksOf(page: string): readonly Block[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  return [...text.matchAll(/(?:<!-- not run: ([^>]+) -->\n)?```(?:sh|bash|shell|console)\n([^]*?)```/g)].map((match) => ({
    page,
    line: text.slice(0, match.index).split("\n").length,
    script: match[2] ?? "",
    reason: match[1],
  }));
}

const blocks = PAGES.flatMap(blocksOf);
const run = promisify(execFile);

describe("shell blocks of the docs", () => {
  it("are there", () => {
    expect(blocks.length).toBeGreaterThan(5);
    expect(blocks.some(({ reason }) => reason === undefined)).toBe(true);
  });

  it.each(blocks.filter(({ reason }) => reason === undefined))("of $page, line $line, work as they stand", async ({ script }) => {
    await using cli = await openCliHome();
    const text = script.replaceAll("node bin/belljar.js", `"${process.execPath}" "${join(ROOT, "bin/belljar.js")}"`);
    const env = { ...process.env, BELLJAR_HOME: cli.home, BELLJAR_STORAGE: "home", BELLJAR_SECRETS_KEY: "file" };
    const { stderr } = await run("bash", ["-euc", text], { cwd: cli.folder, env });
    // A refusal of the network is what a page wants to show.
    expect(stderr).not.toMatch(/belljar: (?!Network: refused|- |The person can allow it)/);
  });
});
