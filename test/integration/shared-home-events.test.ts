import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { once } from "node:events";
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BelljarError } from "../../src/errors.ts";
import { createRemoteSandboxes } from "../../src/remote/remote-sandboxes.ts";
import type { SandboxEvent, Sandboxes } from "../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import type { EventReader } from "../support/event-reader.ts";
import { openEvents } from "../support/event-reader.ts";
import type { TestHome, TestServer } from "../support/served-home.ts";
import { openTestHome, openTestServer } from "../support/served-home.ts";

const signal = new AbortController().signal;
const isOf = (id: string) => (event: SandboxEvent) => event.type !== "resync" && event.sandbox === id;

describe("the events of a server", () => {
  let home: TestHome;
  let server: TestServer;
  let remote: Sandboxes;

  beforeAll(async () => {
    home = await openTestHome();
    server = await openTestServer(home);
    remote = createRemoteSandboxes({ url: server.url });
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await home?.[Symbol.asyncDispose]();
  });
  const make = async (...options: string[]): Promise<string> =>
    (JSON.parse(await home.belljar("sandbox", "create", "--json", ...options)) as { id: string }).id;

  /** Undefined while it is being started or stopped. */
  const seen = async (id: string): Promise<string | undefined> => {
    try {
      const info = await remote.info(LOCAL, id);
      const links = info.state === "running" ? (await (await remote.get(LOCAL, id)).ports()).links : [];
      return JSON.stringify([info, links]);
    } catch (error) {
      if (error instanceof BelljarError && error.retryable) return undefined;
      throw error;
    }
  };
  const untilDiffers = async (events: EventReader, id: string, before: string | undefined): Promise<void> => {
    for (let now = await seen(id); now === undefined || now === before; now = await seen(id))
      expect(await events.until(isOf(id))).toEqual({ type: "changed", sandbox: id });
  };

  it("tell what another process does in the home", async () => {
    await using events = await openEvents(remote, LOCAL);
    const id = await make();
    expect(await events.until(isOf(id))).toEqual({ type: "created", sandbox: id });
    expect(await remote.info(LOCAL, id)).toMatchObject({ state: "running" });
    for (const [command, ...words] of [["network", "--allow", "example.com"], ["port", "8000", "--public"], ["stop"], ["start"]] as const) {
      const before = await seen(id);
      await home.belljar("sandbox", command, id, ...words);
      await untilDiffers(events, id, before);
    }
    await home.belljar("sandbox", "kill", id);
    const ended = await events.until(({ type }) => type === "ended");
    expect(ended).toEqual({ type: "ended", sandbox: id, reason: "killed" });
    expect(await remote.info(LOCAL, id)).toMatchObject({ state: "ended" });
  });

  it("tell the end of a sandbox by its deadline, which its maker has left alone", async () => {
    await using events = await openEvents(remote, LOCAL);
    const id = await make("--timeout", "2s");
    expect(await events.until((event) => isOf(id)(event) && event.type === "ended")).toMatchObject({ reason: "deadline" });
  });

  it("tell a reader through two servers the same", async () => {
    await using other = await openTestServer(home);
    await using events = await openEvents(createRemoteSandboxes({ url: other.url }), LOCAL);
    const sandbox = await remote.create(LOCAL, {}, signal);
    expect(await events.until(isOf(sandbox.id))).toEqual({ type: "created", sandbox: sandbox.id });
    await sandbox.kill();
    expect(await events.until(({ type }) => type === "ended")).toMatchObject({ sandbox: sandbox.id });
  });

  it("have a resource that a client follows updated when the command line kills its sandbox", async () => {
    const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "legacy" } });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)));
    const id = await make();
    const uri = `belljar://sandboxes/${id}`;
    await client.subscribeResource({ uri });
    await client.listResources();
    const listed = new Promise<void>((resolve) => client.setNotificationHandler("notifications/resources/list_changed", () => resolve()));
    const updated = new Promise<void>((resolve) =>
      client.setNotificationHandler("notifications/resources/updated", async () => {
        const { contents } = await client.readResource({ uri });
        const [content] = contents;
        if (content && "text" in content && content.text.includes('"ended"')) resolve();
      }),
    );
    await home.belljar("sandbox", "kill", id);
    await Promise.all([listed, updated]);
    await client.close();
  });

  it("come as lines of JSON, and end for a client that goes, while others read on", async () => {
    await using others = await openEvents(remote, LOCAL);
    const asked = request(`${server.url}/v1/sandboxes/events`).end();
    const [response] = await once(asked, "response");
    expect(response.headers["content-type"]).toBe("application/x-ndjson");
    const [chunk] = await once(response, "data");
    expect(String(chunk)).toBe('{"type":"resync"}\n');
    response.destroy();
    const id = await make();
    await others.until(isOf(id));
    await home.belljar("sandbox", "kill", id);
    const head = await fetch(`${server.url}/v1/sandboxes/events`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  it("end with the signal, and with the server", async () => {
    await using stopping = await openTestServer(home);
    const sandboxes = createRemoteSandboxes({ url: stopping.url });
    await using aborted = await openEvents(sandboxes, LOCAL);
    await using cut = await openEvents(sandboxes, LOCAL);
    const [first, second] = [aborted.next(), cut.next()];
    aborted.abort();
    expect(await first).toBeUndefined();
    const lost = expect(second).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
    await stopping[Symbol.asyncDispose]();
    await lost;
    await expect(openEvents(sandboxes, LOCAL)).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
  });
});
