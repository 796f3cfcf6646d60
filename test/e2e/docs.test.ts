import { execFile } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const PAGES = ["README.md", ...readdirSync(join(ROOT, "docs/guides")).map((name) => `docs/guides/${name}`)];

/** The languages of blocks that are run, with the command that takes one. */
const COMMANDS = { sh: ["bash", "-euc"], js: [process.execPath, "--input-type=module", "--eval"] } as const;

interface Block {
  readonly language: keyof typeof COMMANDS;
  readonly page: string;
  readonly line: number;
  readonly script: string;
  /** Why it is not run here. */
  readonly reason: string | undefined;
}

/** Blocks of shell and of programs that use the library, each with the mark `<!-- not run: reason -->` above it, if there is one. */
function blocksOf(page: string): readonly Block[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  return [...text.matchAll(/(?:<!-- not run: ([^>]+) -->\n)?```(sh|bash|shell|console|js)\n([^]*?)```/g)].map((match) => ({
    page,
    line: text.slice(0, match.index).split("\n").length,
    language: match[2] === "js" ? "js" : "sh",
    script: match[3] ?? "",
    reason: match[1],
  }));
}

/** What a program's lines say that they print. */
function toldOutput(script: string): string {
  return [...script.matchAll(/^.*console\.log\(.* \/\/ (.*)$/gm)].map(([, told]) => `${told}\n`).join("");
}

const blocks = PAGES.flatMap(blocksOf);
const run = promisify(execFile);

describe("blocks of the docs", () => {
  it("are there", () => {
    expect(blocks.length).toBeGreaterThan(5);
    expect(blocks.some(({ reason }) => reason === undefined)).toBe(true);
  });

  it.each(blocks.filter(({ reason }) => reason === undefined))("of $page, line $line, work as they stand", async ({ language, script }) => {
    await using cli = await openCliHome();
    const text = script.replaceAll("node bin/belljar.js", `"${process.execPath}" "${join(ROOT, "bin/belljar.js")}"`);
    const env = { ...process.env, BELLJAR_HOME: cli.home, BELLJAR_STORAGE: "home", BELLJAR_SECRETS_KEY: "file" };
    const [program, ...options] = COMMANDS[language];
    // A program finds the library of the folder that it starts in.
    const { stderr, stdout } = await run(program, [...options, text], { cwd: language === "js" ? ROOT : cli.folder, env });
    const told = language === "js" ? toldOutput(script) : stdout;
    expect(stdout).toBe(told);
    // A refusal of the network is what a page wants to show.
    expect(stderr).not.toMatch(/belljar: (?!Network: refused|- |The person can allow it)/);
  });
});
