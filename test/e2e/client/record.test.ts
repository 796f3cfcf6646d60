import { join } from "node:path";
import { expect, it } from "vitest";
import { openCliHome } from "../../support/belljar-cli.ts";
import { richServer, writeMcpConfig } from "../../support/mcp-config.ts";
import { openServers, textOf } from "../../support/mcp-client.ts";

const BELLJAR = join(import.meta.dirname, "../../../bin/belljar.js");
const belljar = (...args: readonly string[]): object => ({ command: process.execPath, args: [BELLJAR, ...args] });

it.each(["modern", "legacy"] as const)("a server of the %s era is recorded for a host, and played without it", async (era) => {
  await using cli = await openCliHome();
  const config = writeMcpConfig(cli.folder, { rich: richServer(era) });
  const file = join(cli.folder, "recorded.jsonl");
  const onElicit = async () => ({ action: "accept", content: { name: "Ann" } });
  const use = async (server: object) => {
    await using client = await openServers({ rich: server }, { onElicit });
    const told: number[] = [];
    const onProgress = ({ progress }: { readonly progress: number }): void => void told.push(progress);
    const call = async (tool: string, args: object = {}) =>
      // The SDK tells of the rounds of a question as progress.
      textOf(await client.callTool({ server: "rich", tool, arguments: { ...args } }, tool === "steps" ? { onProgress } : {}));
    const { tools } = await client.listTools();
    const answers = [await call("add", { a: 1, b: 2 }), await call("steps", { count: 2 }), await call("ask"), await call("pid")];
    const missing = await call("add", { a: 5 }).catch(({ code }: { code: string }) => code);
    return { era: client.servers[0]?.era, tools: tools.length, answers, told, missing };
  };
  const recorded = await use(belljar("client", "record", "rich", file, "--config", config));
  expect(recorded).toMatchObject({
    era,
    answers: ["3", "done", '{"name":"Ann"}', expect.stringMatching(/^\d+$/)],
    told: [1, 2],
    missing: "5",
  });
  expect(await use(belljar("client", "replay", file))).toEqual(recorded);
  await using client = await openServers({ rich: belljar("client", "replay", file) });
  await expect(client.callTool({ server: "rich", tool: "add", arguments: { a: 77 } })).rejects.toMatchObject({
    code: "SERVER_REFUSED",
    message: expect.stringContaining("The recording has no answer to tools/call with these arguments") as unknown,
  });
});

it("plays what --wire wrote, of the server that is named", async () => {
  await using cli = await openCliHome();
  const config = writeMcpConfig(cli.folder, { rich: richServer(), old: richServer("legacy") });
  const file = join(cli.folder, "wire.jsonl");
  for (const server of ["rich", "old"])
    expect((await cli.run(["client", "call", server, "add", "a=2", "--config", config, "--wire", file])).code).toBe(0);
  const played = writeMcpConfig(cli.folder, { again: belljar("client", "replay", file, "--server", "old") });
  expect((await cli.run(["client", "call", "again", "add", "a=2", "--config", played])).stdout).toBe("2\n");
  expect((await cli.run(["client", "call", "again", "add", "a=3", "--config", played])).code).toBe(1);
  expect(await cli.run(["client", "replay", file])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("name one of them") as unknown,
  });
});

it("tells the host how a recorded server ended, and records no server that is no program", async () => {
  await using cli = await openCliHome();
  const dead = { command: "sh", args: ["-c", "echo 'no db' >&2; exit 3"] };
  const config = writeMcpConfig(cli.folder, { dead, far: { url: "http://127.0.0.1:1/mcp" } });
  await using recording = cli.start(["client", "record", "dead", join(cli.folder, "a"), "--config", config]);
  expect(await recording.exit).toMatchObject({ code: 4, stderr: expect.stringMatching(/exit code 3\n {2}no db/) as unknown });
  const far = await cli.run(["client", "record", "far", join(cli.folder, "b"), "--config", config]);
  expect(far).toMatchObject({ code: 2, stderr: expect.stringContaining("--wire FILE") as unknown });
});
