import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";
import { findChromium } from "../support/chromium.ts";
import { until } from "../support/until.ts";

it.skipIf(findChromium() === undefined)(
  "a server of the toolset browser has drivers wait in its sandboxes, and a page comes by one",
  async () => {
    await using cli = await openCliHome();
    const waiting = (): readonly string[] => {
      const folder = join(cli.home, "waiting");
      const keys = existsSync(folder) ? readdirSync(folder).filter((name) => !name.startsWith(".")) : [];
      return keys.flatMap((key) => readdirSync(join(folder, key)).filter((name) => !name.startsWith(".")));
    };
    await using server = cli.start(["serve", "--port", "0", "--toolsets", "shell,browser"], { env: { BELLJAR_POOL_SANDBOXES: "2" } });
    const [, url = ""] = await server.says(/(http:\/\/\S+)\/mcp\b/);
    await until(() => waiting().length === 2);
    const ready = waiting();
    const client = new Client({ name: "test", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
    const call = async (name: string, args: Record<string, unknown>): Promise<string> =>
      JSON.stringify(await client.callTool({ name, arguments: args }));
    const drivers = () => call("run_command", { command: "pgrep -fa browser-driver.mjs" });
    const before = await drivers();
    const [, pid] = /"(\d+) node \S+browser-driver\.mjs .* --wait\\n/.exec(before) ?? [];
    expect(pid, before).toBeDefined();
    expect(await call("browser_navigate", { url: "data:text/html,<title>one page</title>" })).toContain("one page");
    expect(await drivers()).toContain(`${pid} node`);
    const { sandboxes } = (await (await fetch(`${url}/v1/sandboxes`)).json()) as { readonly sandboxes: readonly { readonly id: string }[] };
    expect(ready).toContain(sandboxes[0]?.id);
    await client.close();
  },
  120_000,
);
