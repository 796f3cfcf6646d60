import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { Client, SSEClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { findChromium, openPage } from "../support/chromium.ts";
import { openTestHome, openTestServer, type TestHome } from "../support/served-home.ts";
import { shownData, shownText } from "../support/shown-result.ts";

const START = resolve(import.meta.dirname, "../../examples/memo/start.mjs");
const chromium = findChromium();
const reason = chromium === undefined ? "there is no chromium on the PATH: apt install chromium" : undefined;

/** The example as a person starts it, on free ports. */
async function openExample(home: TestHome, ...more: readonly string[]) {
  const folder = join(home.path, "memos");
  const ports = ["port", "page-port", "mcp-port", "admin-port"].flatMap((name) => [`--${name}`, "0"]);
  const child = spawn(process.execPath, [START, ...ports, "--folder", folder, ...more], {
    env: home.env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const told: Record<string, string> = {};
  for await (const line of createInterface({ input: child.stdout })) {
    const [, what = "", url = ""] = /^(Memo|Back end|MCP): (\S+)$/.exec(line) ?? [];
    told[what] = url;
    if (what === "MCP") break;
  }
  const stop = async (): Promise<unknown> => {
    child.kill("SIGINT");
    return (await exited)[0];
  };
  return {
    page: String(told["Memo"]),
    backEnd: String(told["Back end"]),
    mcp: String(told["MCP"]),
    folder,
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new SSEClientTransport(new URL(url)));
  return client;
}

const idOf = (memo: object): string => String(shownData(memo)["id"]);
const call = (client: Client, name: string, args: Record<string, unknown> = {}) => client.callTool({ name, arguments: args });

/** Runs the example until it ends by itself. */
async function refused(home: TestHome, argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const free = ["port", "page-port"].flatMap((name) => [`--${name}`, "0"]);
  const child = spawn(process.execPath, [START, ...free, "--folder", join(home.path, "memos"), ...argv], {
    env: { ...home.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { stdout, stderr, code };
}

describe("examples/memo", () => {
  it("shows its options", async () => {
    await using home = await openTestHome();
    expect(await refused(home, ["--help"])).toMatchObject({ code: 0, stdout: expect.stringContaining("--page-port N") });
  });

  it("tells a person's mistakes in a line", async () => {
    await using home = await openTestHome();
    await using server = await openTestServer(home);
    const taken = new URL(server.url).port;
    for (const [argv, said] of [
      [["--prot", "1"], "See: node examples/memo/start.mjs --help"],
      [["--port", "x"], "--port x is no port"],
      [["--port", taken], `Port ${taken} is in use: choose another with --port N`],
      [["--folder", "/proc/memos"], "The folder /proc/memos cannot be used"],
      [["--belljar", "nowhere"], "nowhere is no address of a server"],
      [["--belljar", "http://127.0.0.1:1"], "No server answers at http://127.0.0.1:1"],
      [["--mcp-port", taken, "--admin-port", "0"], "belljar serve ended before it served"],
    ] as const) {
      const { code, stderr } = await refused(home, argv);
      expect([argv, code, stderr]).toEqual([argv, 1, expect.stringContaining(said)]);
      expect(stderr).not.toContain("    at ");
    }
    const wrong = await refused(home, ["--belljar", server.url], { BELLJAR_TOKEN: "wrong" });
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining("refuses the token") });
    expect(wrong.stderr).not.toContain("    at ");
  }, 60_000);

  it("has tools that write, change and remove memos from their sandboxes, with a rule for the back end's address alone", async () => {
    await using home = await openTestHome();
    await using example = await openExample(home);
    const client = await connect(example.mcp);
    const { tools } = await client.listTools();
    const own = tools.map(({ name }) => name).filter((name) => name.startsWith("memo_"));
    expect(own.toSorted()).toEqual(["memo_create", "memo_delete", "memo_get", "memo_list", "memo_update"]);
    const text = `quotes " and ' and \\, a line\nand 🎈`;
    const id = idOf(await call(client, "memo_create", { title: "Milk", text }));
    expect(await (await fetch(`${example.backEnd}/memos/${id}`)).json()).toMatchObject({ title: "Milk", text });
    expect(shownData(await call(client, "memo_get", { id }))).toMatchObject({ id, title: "Milk", text });
    expect(shownData(await call(client, "memo_update", { id, title: "Oat milk" }))).toMatchObject({ id, title: "Oat milk", text });
    expect(shownData(await call(client, "memo_list"))).toMatchObject({ result: [{ id, title: "Oat milk" }] });
    expect(shownData(await call(client, "memo_delete", { id }))).toMatchObject({ id });
    const gone = await call(client, "memo_get", { id });
    expect(gone).toMatchObject({ isError: true });
    expect(shownText(gone)).toContain(`There is no memo ${id}`);
    expect(await readdir(example.folder)).toEqual([]);
    await client.close();
    const { network } = JSON.parse(await home.belljar("tool", "get", "memo.create", "--json")) as { readonly network: unknown };
    expect(network).toEqual({ allow: [new URL(example.backEnd).host] });
    expect(await example.stop()).toBe(0);
    expect(JSON.parse(await home.belljar("tool", "list", "--json"))).toEqual([]);
  }, 120_000);

  it("has a back end that pages of other sites cannot ask", async () => {
    await using home = await openTestHome();
    await using example = await openExample(home);
    const ask = async (headers: Record<string, string>, body = '{"title": "x"}') =>
      (await fetch(`${example.backEnd}/memos`, { method: "POST", headers, body })).status;
    const json = { "content-type": "application/json" };
    expect(await ask({ ...json, origin: "http://evil.example" })).toBe(403);
    expect(await ask({ "content-type": "text/plain" })).toBe(415);
    expect(await ask(json, "{")).toBe(400);
    expect(await ask(json, '{"text": "no title"}')).toBe(400);
    expect(await ask(json, JSON.stringify({ title: "x", text: "y".repeat(100_000) }))).toBe(413);
    expect((await fetch(`${example.backEnd}/memos/..%2f..%2fetc`)).status).toBe(404);
    expect(await readdir(example.folder)).toEqual([]);
    expect(await ask({ ...json, origin: example.page })).toBe(201);
  }, 60_000);

  it.skipIf(reason !== undefined)(
    `works with a server that runs already, and shows on its page what an MCP client of that wrote${reason === undefined ? "" : ` (skipped: ${reason})`}`,
    async () => {
      await using home = await openTestHome();
      await using server = await openTestServer(home, 0, "--sse");
      await using example = await openExample(home, "--belljar", server.url);
      const client = await connect(example.mcp);
      await using page = await openPage(String(chromium), example.page);
      await page.until(`!document.getElementById("empty").hidden`);
      const markup = `<img src=x onerror="document.title='run'">`;
      const id = idOf(await call(client, "memo_create", { title: "Buy oat milk", text: `Two bottles, and bread.\n${markup}` }));
      const shown = await page.until(`document.querySelector('li[data-id="${id}"]')?.innerText`);
      expect(shown).toContain("Buy oat milk");
      expect(shown).toContain(markup);
      await page.evaluate(`(() => {
        const form = document.getElementById("new");
        form.title.value = "Call Ada";
        form.text.value = "About the engine";
        form.requestSubmit();
      })()`);
      await page.until(`document.querySelectorAll("li").length === 2`);
      expect(shownData(await call(client, "memo_list"))).toMatchObject({ result: [{ title: "Call Ada" }, { title: "Buy oat milk" }] });
      // That of its README.
      const picture = process.env["BELLJAR_TEST_SCREENSHOT"];
      if (picture !== undefined) await writeFile(picture, await page.screenshot());
      await call(client, "memo_delete", { id });
      await page.until(`document.querySelectorAll("li").length === 1`);
      expect(await page.evaluate("document.title")).toBe("Memo");
      await client.close();
    },
    120_000,
  );
});
