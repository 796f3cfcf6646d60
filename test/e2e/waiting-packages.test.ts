import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";
import { whereabouts } from "../support/packed-lab.ts";
import { makeWheel } from "../support/package-lab.ts";
import { until } from "../support/until.ts";

it("a server has sandboxes wait with the packages of a tool, and none once another process has removed the tool", async () => {
  await using cli = await openCliHome();
  const wheels = join(cli.folder, "wheels");
  mkdirSync(wheels);
  const [file, wheel] = makeWheel("tiny", "1.0", "said = 'tiny'\n");
  writeFileSync(join(wheels, file), wheel);
  writeFileSync(join(cli.folder, "where.py"), whereabouts("where"));
  const names = (...path: string[]): readonly string[] => {
    const folder = join(cli.home, ...path);
    return existsSync(folder) ? readdirSync(folder).filter((name) => !name.startsWith(".")) : [];
  };
  const waiting = () => names("waiting").flatMap((key) => names("waiting", key));
  await using server = cli.start(["serve", "--port", "0"], { env: { BELLJAR_POOL_PACKAGES: "1", PIP_INDEX_URL: wheels } });
  const [, url = ""] = await server.says(/(http:\/\/\S+)\/mcp\b/);
  expect(await cli.run(["tool", "add", "where.py"], { env: { BELLJAR_URL: url } })).toMatchObject({ code: 0 });
  await until(() => waiting().length === 2);
  const ready = waiting();
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
  const { content } = await client.callTool({ name: "where", arguments: {} });
  await client.close();
  const [, id = "", program] = /([a-z0-9]{20}) (\S+) tiny/.exec(JSON.stringify(content)) ?? [];
  expect(ready).toContain(id);
  expect(program).toBe("main.py");
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toContain('belljar_pool_creates_total{kind="packages",outcome="taken"} 1');
  expect(await cli.run(["tool", "remove", "where"])).toMatchObject({ code: 0 });
  await until(() => waiting().length === 0);
  await until(() => names("layers").length === 0 && names("snapshots").length === 0);
}, 120_000);
