import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { ToolResult } from "../../src/catalog/tool.ts";
import type { UserTools } from "../../src/dynamic/user-tools.ts";
import { createOwnerGrants } from "../../src/gateway/auth/owner-grants.ts";
import { createTokenStore } from "../../src/gateway/auth/token-store.ts";
import type { Principal } from "../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { openSecretLab } from "../support/secret-lab.ts";
import { openTestUserTools } from "../support/test-user-tools.ts";
import { verifies } from "./verifies.ts";

const signal = AbortSignal.timeout(600_000);
const GIVES = ["tools:publish", "tools:share"];

const COUNT = `
count = 0

@mcp.tool
def count_up() -> int:
    global count
    count += 1
    return count
`;

const WAIT = `
import time

@mcp.tool
async def wait(seconds: int, ctx: Context) -> str:
    await ctx.report_progress(1)
    time.sleep(seconds)
    return "waited"
`;

const ASK = "import urllib.request\n\n@mcp.tool\ndef ask(url: str) -> str:\n    return urllib.request.urlopen(url).read().decode()\n";

interface Calling {
  readonly principal: Principal;
  readonly args?: object;
  readonly progress?: () => void;
}

function call(tools: UserTools, name: string, { principal, args = {}, progress = () => undefined }: Calling): Promise<ToolResult> {
  const context = { principal, clientId: "client", signal, progress, log: () => undefined, runs: () => undefined };
  return tools.source.find({ principal }, name)?.run(context as never, args) ?? Promise.reject(new TypeError(`no tool ${name}`));
}

async function live(home: string): Promise<readonly string[]> {
  const folder = join(home, "sandboxes");
  const ids = (await readdir(folder)).filter((name) => /^[a-z0-9]{20}$/.test(name));
  const ended = await Promise.all(
    ids.map((id) =>
      readFile(join(folder, id, "tombstone.json")).then(
        () => true,
        () => false,
      ),
    ),
  );
  return ids.filter((_, index) => !ended[index]);
}

verifies(
  "shared-tools-have-their-owners-rights",
  async () => {
    await using lab = await openSecretLab();
    const tokens = createTokenStore(lab.home);
    const owners = createOwnerGrants({ tokens });
    await using tools = await openTestUserTools({ path: lab.home, sandboxes: lab.sandboxes, owners, lookMs: 20 });
    const made = await tokens.create("alice", GIVES);
    const alice = (await tokens.find(made.token)) ?? expect.unreachable();
    const bob: Principal = { id: "token:bob", name: "bob", grants: {} };
    const share = async (code: string, more: object = {}): Promise<void> => {
      const { name } = await tools.add(alice, { spec: { language: "python", code, network: "all", ...more } }, signal, { publish: true });
      await tools.share(alice, name, true);
    };
    await share(COUNT, { reuse: "session" });
    await share(WAIT);

    expect((await call(tools, "count_up", { principal: bob })).value, "while the owner has a token").toBe("1");
    expect(await live(lab.home), "the session's sandbox waits for its next call").toHaveLength(1);
    const narrow = await tokens.create("alice", ["network:none"]);
    let started = (): void => undefined;
    const running = new Promise<void>((resolve) => (started = resolve));
    const calling = call(tools, "wait", { principal: bob, args: { seconds: 600 }, progress: started });
    const outcome = expect(calling).rejects.toMatchObject({ code: "TOOL_CLOSED" });
    await running;
    await tokens.revoke(made.id);
    for (const name of ["count_up", "wait"])
      await expect(call(tools, name, { principal: bob, args: name === "wait" ? { seconds: 0 } : {} })).rejects.toMatchObject({
        code: "TOOL_CLOSED",
      });
    await outcome;
    await expect.poll(() => live(lab.home), { timeout: 60_000 }).toEqual([]);

    const wide = await tokens.create("alice", ["network:all"]);
    expect((await call(tools, "wait", { principal: bob, args: { seconds: 0 } })).value, "another token that allows it").toBe("waited");
    for (const { id } of [wide, narrow]) await tokens.revoke(id);
    await expect(call(tools, "wait", { principal: bob, args: { seconds: 0 } })).rejects.toMatchObject({ code: "TOOL_CLOSED" });

    const origin = await lab.http("inside.test", (_request, response) => void response.end("answered"));
    const spec = { language: "python", code: ASK, network: { allow: [origin.authority] } } as const;
    await tools.add(LOCAL, { spec }, signal, { publish: true });
    await tools.share(LOCAL, "ask", true);
    const confined: Principal = { ...bob, grants: { network: "none" } };
    const asked = await call(tools, "ask", { principal: confined, args: { url: origin.url } });
    expect(asked.value, "a tool has its owner's network, whoever calls").toBe("answered");
    const widest: Principal = { ...bob, grants: { network: { allow: [origin.authority] } } };
    const stranger =
      (await tokens.find((await tokens.create("eve", [...GIVES, `network:${origin.authority}`])).token)) ?? expect.unreachable();
    await tools.remove(LOCAL, "ask");
    await tools.add(stranger, { spec }, signal, { publish: true });
    await tools.share(stranger, "ask", true);
    expect((await call(tools, "ask", { principal: stranger, args: { url: origin.url } })).value, "the owner's own call").toBe("answered");
    expect(await call(tools, "ask", { principal: widest, args: { url: origin.url } }), "its caller's grants give it nothing").toMatchObject(
      {
        isError: true,
      },
    );
  },
  120_000,
);

verifies(
  "shared-tools-keep-their-owners-names",
  async () => {
    await using lab = await openSecretLab();
    await using tools = await openTestUserTools({ path: lab.home, sandboxes: lab.sandboxes });
    const bob: Principal = { id: "token:bob", name: "bob", grants: {} };
    await lab.store.set(LOCAL.id, "crown-jewels", "value");
    const host = "vault.example.com";
    const secrets = { KEY: { secret: "crown-jewels", hosts: [host] } };
    const spec = { language: "python", code: COUNT, network: { allow: [host] }, secrets } as const;
    await tools.add(LOCAL, { name: "jewels", spec }, signal, { publish: true });
    await tools.share(LOCAL, "jewels", true);
    await lab.store.remove(LOCAL.id, "crown-jewels");
    const failed = async (principal: Principal): Promise<string> =>
      call(tools, "count_up", { principal }).then(
        () => expect.unreachable(),
        (cause: unknown) => String(cause),
      );
    expect(await failed(LOCAL), "the owner is told").toContain("crown-jewels");
    const told = await failed(bob);
    expect(told).toContain("could not be started");
    expect(told).not.toMatch(/crown|jewels|vault|KEY/);
    const { lastErrors } = await tools.get(LOCAL, "jewels");
    expect(lastErrors[0]?.message, "the owner learns why the caller's call failed").toContain("crown-jewels");
  },
  120_000,
);
