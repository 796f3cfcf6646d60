import { EventEmitter, once } from "node:events";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";
import { TemplateFiles } from "../../src/template/template-files.ts";
import { addShell, layerOf, put } from "../support/image-lab.ts";
import { addImage, BlobStore, writeLayout } from "../support/image-maker.ts";
import { CLI, openTestHome } from "../support/served-home.ts";
import { storeTemplate } from "../support/store-template.ts";

const LANGUAGES = { ash: { template: "small", command: ["sh", "-e"], extension: ".ash" } };

async function writeImage() {
  const store = new BlobStore();
  const plain = await layerOf((root) => {
    addShell(root);
    put(root, "note", "of the image");
  });
  return writeLayout(store, [addImage(store, { layers: [{ plain }] })]);
}

it("a configured language runs in its template from the command line, and doctor knows whether that is there", async () => {
  await using image = await writeImage();
  await using cli = await openCliHome();
  await mkdir(cli.home, { recursive: true, mode: 0o700 });
  await writeFile(join(cli.home, "config.json"), JSON.stringify({ languages: LANGUAGES }));
  await writeFile(join(cli.folder, "hello.ash"), 'cat /note; echo; echo "$0 $1"');
  const run = () => cli.run(["run", "hello.ash", "--", "you"]);
  const check = async (env = {}) => {
    const { checks } = JSON.parse((await cli.run(["doctor", "--json"], { env })).stdout) as {
      readonly checks: readonly { readonly id: string }[];
    };
    return checks.find(({ id }) => id === "languages");
  };
  expect(await run()).toMatchObject({
    code: 125,
    stderr: expect.stringMatching(/runs ash in the template "small".*belljar template import small IMAGE.*TEMPLATE_NOT_FOUND/s) as string,
  });
  expect(await check()).toMatchObject({ state: "absent", remedy: "belljar template import small IMAGE" });
  expect(await cli.run(["template", "import", "small", image.path])).toMatchObject({ code: 0 });
  const answer = { code: 0, stdout: "of the image\nhello.ash you\n" };
  expect(await run()).toMatchObject(answer);
  const project = join(cli.folder, "project");
  await mkdir(project);
  await copyFile(join(cli.folder, "hello.ash"), join(project, "hello.ash"));
  expect(await cli.run(["run", "hello.ash", "--workspace", ".:ro", "--", "you"], { cwd: project })).toMatchObject(answer);
  expect(await check()).toMatchObject({ state: "partial", remedy: expect.stringContaining("belljar template share small") as string });
  await using server = cli.start(["serve", "--port", "0"]);
  const [, url = ""] = await server.says(/serves MCP at (http:\/\/[^/]+)\/mcp/);
  expect(await check({ BELLJAR_URL: url })).toBeUndefined();
  expect(await cli.run(["run", "hello.ash", "--lang", "cobol"])).toMatchObject({
    stderr: expect.stringMatching(/expected one of python, .*, ash/) as string,
  });
  // Its files have owners inside, whose folders an ordinary user cannot remove.
  expect(await cli.run(["template", "remove", "small"])).toMatchObject({ code: 0 });
  await writeFile(join(cli.home, "config.json"), JSON.stringify({ languages: { ash: {} } }));
  expect(await run()).toMatchObject({
    code: 125,
    stderr: expect.stringContaining("languages.ash.command: Belljar does not know ash") as string,
  });
});

it("a model is told the configured languages, and the log which have no template", async () => {
  await using home = await openTestHome();
  // A language runs in the local user's template alone.
  const stored = join(home.path, ".belljar");
  const { id } = await storeTemplate(stored, { owner: "token:bob", name: "small" });
  await new TemplateFiles(stored, () => undefined).share(id, true);
  const env = { ...home.env, BELLJAR_LANGUAGES: JSON.stringify({ ...LANGUAGES, awk: { command: ["awk", "-f"] } }) };
  const transport = new StdioClientTransport({ command: process.execPath, args: [CLI, "mcp"], env, cwd: home.path, stderr: "pipe" });
  let said = "";
  transport.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  const { tools } = await client.listTools();
  expect(tools.find(({ name }) => name === "execute_code")?.description).toContain("ruby, perl, java, ash, awk.");
  while (!said.includes("Programs in ash cannot run")) await once(transport.stderr ?? new EventEmitter(), "data");
  const run = async (language: string, code: string) =>
    JSON.stringify(await client.callTool({ name: "execute_code", arguments: { language, entrypoint_code: code } }));
  expect(await run("awk", "BEGIN { print 6 * 7 }")).toContain("42");
  expect(await run("ash", "true")).toContain("TEMPLATE_NOT_FOUND");
  await client.close();
  expect(said).not.toContain("Programs in awk");
});
