import { expect, it } from "vitest";
import { createCatalog } from "../../../src/catalog/catalog.ts";
import { fixedTools } from "../../../src/catalog/tool-source.ts";
import { createInterpreter } from "../../../src/interpreter/interpreter.ts";
import { createShellSessions } from "../../../src/interpreter/lasting/shell-sessions.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { builtinTools } from "../../../src/tools/builtin-tools.ts";
import { LateCommands } from "../../../src/tools/shell/late-commands.ts";
import { addScratch, addShell, layerOf, type LayerFill } from "../../support/image-lab.ts";
import { addImage, BlobStore, writeLayout } from "../../support/image-maker.ts";
import { openTemplateHome } from "../../support/template-home.ts";
import { createTestTexts } from "../../support/test-texts.ts";
import { textOf, toCalled } from "../../support/tool-caller.ts";

const signal = new AbortController().signal;
const texts = createTestTexts();

/** All tools, on a sandbox of an image with these files. */
async function openTools(fill: LayerFill) {
  const home = await openTemplateHome();
  const { sandboxes, templates } = home;
  const config = { execTimeoutMs: 60_000, maxOutputBytes: 1_048_576, listMax: 1_000 };
  const interpreter = createInterpreter({ sandboxes });
  const [shells, late] = [createShellSessions(config), new LateCommands()];
  const tools = builtinTools({ interpreter, sandboxes, shells, late, texts, config, templates: async () => templates });
  const catalog = createCatalog({ sources: [fixedTools(tools)], sandboxes, defaultSandbox: () => ({ name: "default", options: {} }) });
  const store = new BlobStore();
  const image = addImage(store, { layers: [{ plain: await layerOf(fill) }], config: { config: { Env: ["PATH=/bin"] } } });
  await using layout = await writeLayout(store, [image]);
  await templates.make(LOCAL, { name: "image", image: layout.path }, signal);
  const { id } = await sandboxes.create(LOCAL, { template: "image" }, signal);
  return {
    call: async (name: string, args: object) => toCalled(await catalog.call(LOCAL, name, { ...args, sandbox: id }, { signal })),
    async [Symbol.asyncDispose]() {
      await late[Symbol.asyncDispose]();
      await shells[Symbol.asyncDispose]();
      await interpreter[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

const REMEDY = "use a template of an image that has it, or of a snapshot of a sandbox in which it is installed";

/** No shell tells what else is there. */
const UNSEEN = "it has no shell either, which could tell what else it has";

it("each tool says what it lacks in an image of one program", async () => {
  await using tools = await openTools((root) => addScratch(root));
  const lacks: readonly (readonly [tool: string, args: object, program: string])[] = [
    ["run_command", { command: "true" }, "shell (bash or sh)"],
    ["run_command", { command: "true", background: true }, "bash"],
    ["shell_run", { command: "true" }, "bash"],
    ["run_code", { code: "1", lang: "python" }, `Python ("python3"); ${UNSEEN}`],
    ["run_code", { code: "1", lang: "bash" }, `Bash ("bash"); ${UNSEEN}`],
    ["execute_code", { entrypoint_code: "1", language: "perl" }, `Perl ("perl"); ${UNSEEN}`],
    ["git_status", {}, "git"],
    ["npm_run", { script: "build" }, "npm"],
  ];
  for (const [tool, args, program] of lacks) {
    const result = await tools.call(tool, args);
    expect(result.isError, tool).toBe(true);
    expect(textOf(result), tool).toContain(`The template "image" has no ${program}. To have it, ${REMEDY}`);
  }
});

it("runs commands by sh where an image has no bash, and files need no program of it", async () => {
  await using tools = await openTools(addShell);
  expect((await tools.call("run_command", { command: "echo $((1 + 1))" })).value).toMatchObject({ stdout: "2\n", exit_code: 0 });
  await tools.call("write_file", { path: "/srv/a.txt", content: "one\n" });
  await tools.call("edit_file", { path: "/srv/a.txt", edits: [{ old_string: "one", new_string: "two" }] });
  expect((await tools.call("read_file", { path: "/srv/a.txt" })).value).toMatchObject({ content: "two\n" });
});
