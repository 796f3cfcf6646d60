import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGateway } from "../../../src/gateway/gateway.ts";
import { createTokenStore } from "../../../src/gateway/auth/token-store.ts";
import { textResult } from "../../../src/catalog/tool-result.ts";
import { createNoSandboxes } from "../no-sandboxes.ts";
import { ASKING_TOOLS } from "./asking-tools.ts";
import { CONTENT_TOOLS } from "./content-tools.ts";
import type { FixtureCatalog, FixtureTool } from "./fixture-catalog.ts";
import { createFixtureCatalog } from "./fixture-catalog.ts";
import { createFixturePrompts } from "./fixture-prompts.ts";
import { fixtureResources } from "./fixture-resources.ts";
import { besideCatalog } from "./protocol-door.ts";
import { PROTOCOL_TOOLS } from "./protocol-tools.ts";

export interface ConformanceServer extends AsyncDisposable {
  readonly url: URL;
  /** Of the caller that the suite is. */
  readonly token: string;
  /** The id of its principal. */
  readonly caller: string | undefined;
  readonly audited: FixtureCatalog["audited"];
}

/** What the conformance suite wants to find, behind the gateway and the catalog that Belljar has, for the holder of a token with a quota. */
export async function openConformanceServer(): Promise<ConformanceServer> {
  const home = await mkdtemp(join(tmpdir(), "bj-"));
  const tokens = createTokenStore(home);
  const { token } = await tokens.create("suite", ["calls-per-minute:100000"]);
  const prompts = createFixturePrompts();
  const triggers: readonly FixtureTool[] = [
    { name: "test_trigger_tool_change", run: async () => (catalog.changed(), textResult("changed")) },
    { name: "test_trigger_prompt_change", run: async () => (prompts.changed(), textResult("changed")) },
  ];
  const catalog = createFixtureCatalog([...CONTENT_TOOLS, ...ASKING_TOOLS, ...triggers]);
  const gateway = createGateway({
    config: { host: "127.0.0.1", port: 0 },
    sandboxes: createNoSandboxes(),
    tools: besideCatalog(catalog, PROTOCOL_TOOLS),
    prompts,
    resources: fixtureResources,
    isolation: () => Promise.reject(new Error("The suite asks for no sandbox")),
    tokens: [tokens],
    version: "1.2.3",
    log: { error: () => undefined },
  });
  const url = new URL("/mcp", await gateway.listen());
  return {
    url,
    token,
    caller: (await tokens.find(token))?.id,
    audited: catalog.audited,
    async [Symbol.asyncDispose]() {
      await gateway.close(0);
      await rm(home, { recursive: true });
    },
  };
}
