import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Host } from "../support/hosts/host.ts";
import { HOSTS } from "../support/hosts/hosts.ts";
import { installHosts } from "../support/hosts/installed-hosts.ts";
import { CASES, LONG_FILE, PICTURE, makeProject, toPrice } from "../support/hosts/job-project.ts";
import { LIMIT_SECONDS, runHost } from "../support/hosts/run-host.ts";
import type { Json, ScriptedModel, Shown, ShownTool } from "../support/hosts/scripted-model.ts";
import { openScriptedModel } from "../support/hosts/scripted-model.ts";
import type { Step } from "../support/hosts/small-job.ts";
import { createJob, ownName } from "../support/hosts/small-job.ts";
import type { TestHome } from "../support/served-home.ts";
import { CLI, openTestHome } from "../support/served-home.ts";

const TOOLS_MOST = 21;
/** What a host says of each tool by itself comes on top of Belljar's 4,700. */
const TOKENS_MOST = 5_100;
const CHARACTERS_A_TOKEN = 4;
/** Of the file's own characters; the bench has the figure. */
const FILE_MOST = 1.1;

const whyNot = await installHosts();

describe.each(HOSTS)("$title", (host) => {
  const reason = whyNot(host);
  describe.skipIf(reason !== undefined)(`does a small job${reason === undefined ? "" : ` (skipped: ${reason})`}`, () => {
    let job: DoneJob;
    beforeAll(
      async () => {
        job = await doSmallJob(host);
      },
      (LIMIT_SECONDS + 20) * 1_000,
    );
    afterAll(() => job?.home[Symbol.asyncDispose]());
    const text = (name: string): string => textOf(host, job.shown.get(name));

    it(`passes the default list of tools on ${host.keepsBack ? "once the model searches for them" : "at once"}`, () => {
      const [first = [], tools = []] = [job.model.prompts[0], job.model.prompts.at(-1)].map((prompt) =>
        prompt?.tools.filter(({ name }) => ownName(name) !== undefined),
      );
      expect(first.length).toBe(host.keepsBack ? 0 : tools.length);
      expect(tools.length).toBeLessThanOrEqual(TOOLS_MOST);
      expect(tools.map(({ name }) => ownName(name))).toEqual(
        expect.arrayContaining(["run_command", "read_file", "edit_file", "call_tool"]),
      );
      expect(new Set(tools.map(({ name }) => name)).size).toBe(tools.length);
      for (const { description, schema } of tools) {
        expect(description.length).toBeGreaterThan(20);
        expect(schema).toMatchObject({ type: "object", properties: expect.anything() });
      }
      const characters = tools.reduce((sum, tool) => sum + JSON.stringify(withoutArgument(tool, host.adds)).length, 0);
      expect(characters / CHARACTERS_A_TOKEN).toBeLessThanOrEqual(TOKENS_MOST);
    });

    it("passes on whose copy the files are, and what the network allows", () => {
      const { words = "" } = job.model.prompts.at(-1) ?? {};
      expect(words).toContain("Belljar gives you a computer");
      for (const said of [words, text("read")]) {
        expect(/Files: .* is a copy of [^.]*\./.exec(said)?.[0]).toContain(job.project);
        expect(said).toContain("`belljar apply`");
        expect(said).toMatch(/Network: .*allowed\.test/);
      }
      expect(text("list")).not.toMatch(/Files: |Network: /);
    });

    it("shows a file of 300 lines in 1.1 times its characters, once", () => {
      const shown = job.shown.get("read");
      expect(text("read")).toContain(LONG_FILE);
      expect((shown?.texts.join("").length ?? 0) / LONG_FILE.length).toBeLessThanOrEqual(FILE_MOST);
      expect(job.model.prompts.at(-1)?.body.split("export const part150 ").length).toBe(2);
    });

    it("shows what is in the folder, and what an edit changed", () => {
      for (const name of ["parts.ts", "price.sh", "check.sh", "notes.txt", "logo.png"]) expect(text("list")).toContain(name);
      expect(text("list")).not.toContain(".git");
      expect(text("edit")).toContain("-price=12\n+price=14");
    });

    it("shows both ends of a long output, and its last line names the call that reads on", () => {
      expect(text("check")).toMatch(/^ok 1\n/);
      expect(text("check")).toContain(`ok ${CASES}\nall is well\n`);
      expect(lastLine(text("check"))).toMatch(/exit_code: 0.*read on with read_file \{/);
      const [, last = ""] = /ok (\d+)\n\[\.\.\. \d+ bytes cut/.exec(text("check")) ?? [];
      expect(text("read on")).toMatch(new RegExp(`^ok ${Number(last) + 1}\n`));
    });

    it("shows a picture as a picture", () => {
      expect(job.shown.get("picture")?.pictures).toEqual([{ type: "image/png", data: PICTURE }]);
      expect(text("picture")).toContain("image/png");
    });

    it("shows first what the network refused, which rule is missing and how to ask for it", () => {
      expect(text("network")).toMatch(/^Network: refused/);
      expect(text("network")).toMatch(/\n- blocked\.test.*; the missing rule is blocked\.test/);
      expect(text("network")).toMatch(/\nThe person can allow it: belljar sandbox network \w+ --allow blocked\.test/);
      expect(text("network")).toContain("exit_code: 0");
    });

    it("leaves what it made for the person, who brings it back beside changes of their own", async () => {
      const belljar = (...args: readonly string[]) =>
        promisify(execFile)(process.execPath, [CLI, ...args], { cwd: job.project, env: job.home.env });
      await writeFile(join(job.project, "notes.txt"), "Notes\nof the person\n");
      await writeFile(join(job.project, "price.sh"), toPrice(12, "# The end.\n"));
      const { stdout } = await belljar("diff");
      expect(stdout).toContain("-price=12\n+price=14");
      expect(stdout).not.toContain("notes.txt");
      await belljar("apply", "--yes");
      expect(await readFile(join(job.project, "price.sh"), "utf8")).toBe(toPrice(14, "# The end.\n"));
      expect(await readFile(join(job.project, "notes.txt"), "utf8")).toBe("Notes\nof the person\n");
    });
  });
});

interface DoneJob {
  readonly home: TestHome;
  readonly project: string;
  readonly model: Pick<ScriptedModel, "prompts">;
  readonly shown: ReadonlyMap<string, Shown>;
}

/** What the person brings back lies in the home. */
async function doSmallJob(host: Host): Promise<DoneJob> {
  const home = await openTestHome();
  try {
    const project = join(home.path, "project");
    await Promise.all([mkdir(join(home.path, "tmp")), makeProject(project)]);
    const job = createJob(stepsOf(host));
    await using model = await openScriptedModel(host.face, (prompt) => job.answer(prompt));
    const server = { command: process.execPath, args: [CLI, "mcp", "--workspace", project, "--network", "allowed.test"] };
    await runHost(host, { home: home.path, project, modelUrl: model.url, server });
    return { home, project, model, shown: job.shown };
  } catch (error) {
    await home[Symbol.asyncDispose]();
    throw error;
  }
}

function stepsOf(host: Host): readonly Step[] {
  return [
    { name: "read", call: () => ["read_file", { path: "parts.ts" }] },
    { name: "list", call: () => ["list_directory", { path: "." }] },
    { name: "edit", call: () => ["edit_file", { path: "price.sh", edits: [{ old_string: "price=12", new_string: "price=14" }] }] },
    { name: "check", call: () => ["run_command", { command: "sh check.sh" }] },
    { name: "read on", call: (shown) => namedCall(textOf(host, shown.get("check"))) },
    { name: "picture", call: () => ["read_file", { path: "logo.png" }] },
    { name: "network", call: () => ["run_command", { command: "curl -s http://blocked.test/ > /dev/null || true" }] },
  ];
}

/** Its schema without an argument that the host adds to every tool. */
function withoutArgument(tool: ShownTool, argument = ""): ShownTool {
  const { properties, ...schema } = tool.schema as { readonly properties: Json };
  return { ...tool, schema: { ...schema, properties: { ...properties, [argument]: undefined } } };
}

/** The call that the last line of a cut result names. */
function namedCall(text: string): readonly [tool: string, args: Json] {
  const [, tool, args] = /read on with (\w+) (\{.*\})\]$/.exec(lastLine(text)) ?? [];
  if (tool === undefined || args === undefined) throw new Error(`The last line names no call: ${lastLine(text)}`);
  return [tool, JSON.parse(args) as Json];
}

/** The texts of a result, without what the host puts around them. */
function textOf({ unwrap = (text) => text }: Host, shown: Shown | undefined): string {
  return (shown?.texts ?? [])
    .map(unwrap)
    .filter((text) => text !== "")
    .join("\n");
}

const lastLine = (text: string): string => text.trimEnd().split("\n").at(-1) ?? "";
