import { describe, expect, it } from "vitest";
import { createCatalog } from "../../catalog/catalog.ts";
import { fixedTools } from "../../catalog/tool-source.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import { openFakeSandboxes } from "../../../test/support/fake-sandboxes.ts";
import { portTools } from "./port-tools.ts";

async function openPorts() {
  const home = await openFakeSandboxes();
  const catalog = createCatalog({
    sources: [fixedTools(portTools(async ({ port, token = "" }) => ({ url: `http://${port}/?${token}`, pathUrl: `/ports/${port}` })))],
    sandboxes: home.sandboxes,
    defaultSandbox: () => ({ name: "default", options: {} }),
  });
  return {
    call: (name: string, args: unknown) => catalog.call(LOCAL, name, args, { signal: AbortSignal.timeout(10_000) }),
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
}

describe("the ports tools", () => {
  it("give the same URL for a port each time, and say when nothing listens", async () => {
    await using ports = await openPorts();
    const made = await ports.call("register_port", { port: 8000 });
    expect(made.structured).toMatchObject({
      port: 8000,
      url: expect.stringMatching(/^http:\/\/8000\/\?.{43}$/),
      path_url: "/ports/8000",
    });
    expect(made).toMatchObject({ structured: { listening: false } });
    expect((await ports.call("register_port", { port: 8000 })).structured).toEqual(made.structured);
    const listed = await ports.call("list_ports", {});
    expect(listed.structured).toMatchObject({ ports: [{ port: 8000, address: null }], truncated: false });
  });

  it("refuse what is no port, and sandboxes of others", async () => {
    await using ports = await openPorts();
    for (const args of [{ port: 0 }, { port: 65_536 }, { port: "8o" }, {}, { port: 80, public: true }]) {
      expect(await ports.call("register_port", args)).toMatchObject({ isError: true });
    }
    expect(await ports.call("list_ports", { sandbox: "z".repeat(20) })).toMatchObject({ isError: true });
  });
});
