import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";
import type { CliHome, StartedCli } from "../support/belljar-cli.ts";

async function startServer(cli: CliHome): Promise<{ readonly server: StartedCli; readonly url: string }> {
  const server = cli.start(["serve", "--port", "0"]);
  const [, url = ""] = await server.says(/serves MCP at (http:\/\/[^/]+)\/mcp/);
  return { server, url };
}

describe("belljar serve", () => {
  it("says how to connect, answers /health and stops on SIGTERM with 0", async () => {
    await using cli = await openCliHome();
    const { server, url } = await startServer(cli);
    await using _running = server;
    await server.says(/claude mcp add --transport http belljar http:/);
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: "ok" });
    server.signal("SIGTERM");
    expect(await server.exit).toMatchObject({ code: 0, stdout: "" });
  });

  it("goes on, and stops with 0, when nobody reads what it says", async () => {
    await using cli = await openCliHome();
    const { server, url } = await startServer(cli);
    await using _running = server;
    server.closeErrors();
    expect((await fetch(`${url}/health`)).status).toBe(200);
    server.signal("SIGTERM");
    expect(await server.exit).toMatchObject({ code: 0 });
  });

  it("says so when its port is in use", async () => {
    await using cli = await openCliHome();
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const address = other.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const result = await cli.run(["serve", "--port", String(port)]);
    other.close();
    expect(result).toMatchObject({ code: 1, stderr: expect.stringMatching(new RegExp(`^belljar: Port ${port} .* is in use`)) });
  });

  it("says so when its second port is in use, and then serves nothing", async () => {
    await using cli = await openCliHome();
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const result = await cli.run(["serve", "--port", "0", "--admin-port", String(port)]);
    other.close();
    expect(result).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(new RegExp(`^belljar: Port ${port} .* is in use.*--admin-port N`)),
    });
  });

  it("refuses an address that others reach", async () => {
    await using cli = await openCliHome();
    expect(await cli.run(["serve", "--host", "0.0.0.0", "--port", "0"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("CONFIG_INVALID"),
    });
  });

  it("is what the CLI works on with BELLJAR_URL", async () => {
    await using cli = await openCliHome();
    await using other = await openCliHome();
    const { server, url } = await startServer(cli);
    await using _running = server;
    const env = { BELLJAR_URL: url };
    const { stdout } = await other.run(["sandbox", "create"], { env });
    const id = stdout.trim();
    expect(await other.run(["exec", id, "--", "sh", "-c", "cat; exit 5"], { env, input: "far\n" })).toEqual({
      code: 5,
      stdout: "far\n",
      stderr: "",
    });
    expect(await other.run(["run", "-", "-l", "python"], { env, input: "print('there')" })).toMatchObject({ code: 0, stdout: "there\n" });
    expect(await other.run(["sandbox", "list", "--json"])).toMatchObject({ stdout: "[]\n" });
    expect(await other.run(["sandbox", "kill", id], { env })).toMatchObject({ code: 0 });
  });

  it("says so when the server cannot be reached", async () => {
    await using cli = await openCliHome();
    const result = await cli.run(["sandbox", "list"], { env: { BELLJAR_URL: "http://127.0.0.1:9" } });
    expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining("SERVER_UNREACHABLE") });
  });
});

describe("one home", () => {
  it("is shared by two servers and the CLI", async () => {
    await using cli = await openCliHome();
    const [one, two] = await Promise.all([startServer(cli), startServer(cli)]);
    await using _one = one.server;
    await using _two = two.server;
    const through = [{ BELLJAR_URL: one.url }, { BELLJAR_URL: two.url }, {}] as const;
    const made = await Promise.all(through.map(async (env) => (await cli.run(["sandbox", "create"], { env })).stdout.trim()));
    for (const env of through) {
      const { stdout } = await cli.run(["sandbox", "list", "--json"], { env });
      const ids = (JSON.parse(stdout) as { id: string }[]).map(({ id }) => id);
      expect(ids.toSorted()).toEqual(made.toSorted());
    }
    const [first = "", second = "", third = ""] = made;
    expect(await cli.run(["exec", first, "--", "echo", "a"], { env: { BELLJAR_URL: two.url } })).toMatchObject({ stdout: "a\n" });
    expect(await cli.run(["exec", third, "--", "echo", "b"], { env: { BELLJAR_URL: one.url } })).toMatchObject({ stdout: "b\n" });
    expect(await cli.run(["sandbox", "kill", second], { env: { BELLJAR_URL: one.url } })).toMatchObject({ code: 0 });
    expect(await cli.run(["exec", second, "--", "true"])).toMatchObject({ code: 125, stderr: expect.stringContaining("SANDBOX_ENDED") });
  });

  it("keeps sandboxes when a server is killed with -9", async () => {
    await using cli = await openCliHome();
    const { server, url } = await startServer(cli);
    await using _running = server;
    const { stdout } = await cli.run(["sandbox", "create"], { env: { BELLJAR_URL: url } });
    const id = stdout.trim();
    server.signal("SIGKILL");
    await server.exit;
    expect(await cli.run(["exec", id, "--", "echo", "alive"])).toMatchObject({ code: 0, stdout: "alive\n" });
  });
});
