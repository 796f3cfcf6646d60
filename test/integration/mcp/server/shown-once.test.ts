import { Client } from "@modelcontextprotocol/client";
import { PassThrough } from "node:stream";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { expect, it } from "vitest";
import { serveMcpStdio } from "../../../../src/mcp/server/stdio.ts";
import { LOCAL } from "../../../../src/sandbox/sandbox.ts";
import { shownData, shownText } from "../../../support/shown-result.ts";
import { openToolCaller } from "../../../support/tool-caller.ts";

/** A client of the built-in tools, as a host is one: it sees what goes over the wire and nothing else. */
async function openClient() {
  const caller = await openToolCaller();
  const [input, output] = [new PassThrough(), new PassThrough()];
  const caught = { tools: caller.catalog, version: "1", caller: { principal: LOCAL }, input, output, onError: () => undefined };
  const server = serveMcpStdio(caught);
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioServerTransport(output, input));
  return {
    sandboxes: caller.sandboxes,
    list: async () => (await client.listTools()).tools,
    call: (name: string, args: object) => client.callTool({ name, arguments: { ...args } }),
    async [Symbol.asyncDispose]() {
      await server.close();
      await caller[Symbol.asyncDispose]();
    },
  };
}

it("shows a schema of the answer for data alone", async () => {
  await using client = await openClient();
  const withSchema = (await client.list()).filter(({ outputSchema }) => outputSchema !== undefined).map(({ name }) => name);
  expect(withSchema).toEqual(expect.arrayContaining(["process_list", "sandbox_list", "list_ports", "file_info"]));
  for (const name of ["run_command", "read_file", "edit_file", "execute_code", "list_directory", "search_content", "git_diff"]) {
    expect(withSchema).not.toContain(name);
  }
});

it("sends text and pictures without a structure, the facts of a command in the last line", async () => {
  await using client = await openClient();
  const ran = await client.call("run_command", { command: "echo out; echo err >&2; exit 3" });
  expect(shownText(ran)).toMatch(/^out\n--- stderr ---\nerr\n\[exit_code: 3, duration_ms: \d+\]$/);
  await client.call("write_file", { path: "a", content: "one\ntwo\n" });
  expect(shownText(await client.call("read_file", { path: "a" }))).toBe("one\ntwo\n");
  const png = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex").toString("base64");
  await client.call("write_file", { path: "a.png", content: png, encoding: "base64" });
  const picture = await client.call("read_file", { path: "a.png" });
  expect(shownText(picture)).toMatch(/16 bytes\n\[image\]$/);
  expect(picture.content).toContainEqual({ type: "image", data: png, mimeType: "image/png" });
});

it("sends data as its structure and the same as JSON, and nothing more", async () => {
  await using client = await openClient();
  await client.call("run_command", { command: "true" });
  expect(shownData(await client.call("sandbox_list", {}))).toMatchObject({ sandboxes: [{ state: "running" }] });
  expect(shownData(await client.call("process_list", {}))).toEqual({ processes: [] });
  expect(shownData(await client.call("file_info", { path: "." }))).toMatchObject({ type: "directory" });
});

it("says first that the sandbox is a new one, in a text and in data", async () => {
  await using client = await openClient();
  const end = async () => {
    const { sandboxes } = shownData(await client.call("sandbox_list", {})) as { sandboxes: readonly { sandboxID: string }[] };
    for (const { sandboxID } of sandboxes) await client.call("sandbox_kill", { id: sandboxID });
  };
  await client.call("run_command", { command: "true" });
  await end();
  expect(shownText(await client.call("run_command", { command: "echo on" }))).toMatch(/^Note: this is a new sandbox.*\non\n/);
  await end();
  const listed = await client.call("process_list", {});
  expect(shownData(listed)).toEqual({ note: expect.stringMatching(/^Note: this is a new sandbox/), processes: [] });
  expect(Object.keys(shownData(listed))[0]).toBe("note");
});
