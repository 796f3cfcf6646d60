import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "./json-object.ts";
import type { ServerHandlers } from "./server-handlers.ts";
import { openSession } from "./server-session.ts";
import { ProgramTransport } from "./transport/program-transport.ts";

const target = { kind: "stdio", name: "near", command: "none", args: [], env: {}, ownEnv: {}, cwd: undefined } as const;

/** A program in this process, of the older era. It is gone, without an exit code, as soon as it was told that the client is ready. */
class GoneAtOnce extends ProgramTransport {
  readonly pid = null;
  readonly #asked: JsonObject[] = [];
  readonly #stdin = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      this.#answer(JSON.parse(chunk.toString()) as JsonObject);
      done();
    },
  });

  /** The abilities that the client named. */
  get abilities(): unknown {
    return this.#asked.map(({ params }) => (params as JsonObject | undefined)?.["capabilities"]).find((found) => found !== undefined);
  }

  async start(): Promise<void> {}
  async close(): Promise<void> {}
  ending(): undefined {}
  protected stdin(): Writable {
    return this.#stdin;
  }

  #answer(message: JsonObject): void {
    this.#asked.push(message);
    const { id, method } = message;
    if (method === "notifications/initialized") return this.onclose?.();
    const greeting = { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: { name: "near", version: "1" } };
    const body = method === "initialize" ? { result: greeting } : { error: { code: -32_601, message: "no" } };
    this.heard(Buffer.from(`${JSON.stringify({ jsonrpc: "2.0", id, ...body })}\n`));
  }
}

async function abilitiesWith(handlers: ServerHandlers): Promise<unknown> {
  const program = new GoneAtOnce("near");
  await using _session = await openSession(target, { version: "1", startTimeoutMs: 60_000, handlers, openProgram: () => program });
  return program.abilities;
}

describe("a session", () => {
  it("has ended where the server was gone before anybody had the session", async () => {
    const openProgram = (): ProgramTransport => new GoneAtOnce("near");
    await using session = await openSession(target, { version: "1", startTimeoutMs: 60_000, openProgram });
    await session.ended;
    expect(session.hasEnded()).toBe(true);
  });

  it.each([
    [undefined, { form: { applyDefaults: true } }],
    [["form", "url"], { form: { applyDefaults: true }, url: {} }],
    [["url"], { url: {} }],
  ] as const)("tells the server that %j can be answered", async (elicitModes, elicitation) => {
    const elicit = async (): Promise<JsonObject> => ({ action: "cancel" });
    expect(await abilitiesWith({ elicit, ...(elicitModes && { elicitModes }) })).toEqual({ elicitation });
  });

  it("tells a server that nobody answers", async () => {
    expect(await abilitiesWith({})).toEqual({});
  });
});

it("says of an address why it is not reached, and not what the SDK did", async () => {
  await using closed = createServer().listen(0, "127.0.0.1");
  await once(closed, "listening");
  const { port } = closed.address() as AddressInfo;
  await closed[Symbol.asyncDispose]();
  for (const kind of ["http", "any"] as const) {
    const far = { kind, name: "far", url: new URL(`http://127.0.0.1:${port}/mcp`), headers: {}, callTimeoutMs: undefined } as const;
    await expect(openSession(far, { version: "0", startTimeoutMs: 10_000 }), kind).rejects.toMatchObject({
      code: "SERVER_UNREACHABLE",
      message: `The server "far" cannot be reached: connect ECONNREFUSED 127.0.0.1:${port}`,
    });
  }
});
