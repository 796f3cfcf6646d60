import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";
import { SERVER_CODE } from "../support/hub-lab.ts";
import { runInTerminal } from "../support/person-terminal.ts";

/** Asks through the proxy of its sandbox, as programs that know `http_proxy` do. */
const THROUGH = `
import { get } from "node:http";
const through = (url) => new Promise((resolve, reject) => {
  const { hostname, port } = new URL(process.env.http_proxy);
  get({ hostname, port, path: url, headers: { host: new URL(url).host } }, (answer) => {
    let body = "";
    answer.on("data", (chunk) => (body += chunk)).on("end", () => resolve(answer.statusCode === 200 ? body : "refused: " + answer.statusCode));
  }).on("error", reject);
});
TOOLS.through = async ({ path }) => text(await through(path));
`;
const NODE = ["node", "--input-type=module", "-e", SERVER_CODE + THROUGH];

async function openHost(answer: string) {
  const server = createServer((_request, response) => response.end(answer));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { port, [Symbol.dispose]: () => void server.close() };
}

it("runs a server, asks about each place that it is refused, and writes a rule for each yes alone", async () => {
  await using cli = await openCliHome();
  using host = await openHost("hello from the host");
  await using person = runInTerminal(cli, ["server", "add", "memo", "--network", "kept.example", "--learn", "--", ...NODE]);
  await person.shows(/memo runs, and has \d+ tools: count,[^]*learn> $/);
  person.type(`through path=http://localhost:${host.port}/\n`);
  await person.shows(
    new RegExp(`- localhost:${host.port}: no-rule[^]*Allow localhost:${host.port} \\(this may be on this machine[^]*\\[y,n\\] $`),
  );
  person.type("n\n");
  await person.shows(/\[y,n\] n\r\nlearn> $/);
  person.type(`through path=http://localhost:${host.port}/\n`);
  // What was declined is not asked again.
  await person.shows(/\[y,n\] n\r\nlearn> through [^]*refused: 403\r\nlearn> $/);
  person.type(`through path=http://127.0.0.1:${host.port}/\n`);
  await person.shows(new RegExp(`Allow 127\\.0\\.0\\.1:${host.port} [^]*\\[y,n\\] $`));
  person.type("y\n");
  await person.shows(/memo is started anew, with "network": [^]*learn> $/);
  person.type(`through path=http://127.0.0.1:${host.port}/\n`);
  await person.shows(/hello from the host\r\nlearn> $/);
  person.type("done\n");
  expect(await person.end()).toMatchObject({ code: 0, shown: expect.stringMatching(/learn> done\nmemo\n$/) as unknown });
  expect((await cli.run(["server", "info", "memo"])).stdout).toMatch(
    new RegExp(`^network +kept\\.example, 127\\.0\\.0\\.1:${host.port}$`, "m"),
  );
  expect(JSON.parse((await cli.run(["sandbox", "list", "--json"])).stdout)).toEqual([]);
}, 60_000);

it("asks about what stops a server's start, and adds none that the person leaves", async () => {
  await using cli = await openCliHome();
  using host = await openHost("begin");
  const code = `${SERVER_CODE}${THROUGH}
if ((await through("http://localhost:${host.port}/")) !== "begin") { console.error("no start"); process.exit(1); }`;
  const argv = ["server", "add", "memo", "--learn", "--", "node", "--input-type=module", "-e", code];
  await using leaving = runInTerminal(cli, argv);
  await leaving.shows(/Allow localhost:\d+ [^]*\[y,n\] $/);
  leaving.type("\u0004");
  expect(await leaving.end()).toMatchObject({ code: 1, shown: expect.stringContaining("Nothing is added") as unknown });
  expect((await cli.run(["server", "list"])).stdout).toBe("");
  await using staying = runInTerminal(cli, argv);
  await staying.shows(/Allow localhost:\d+ [^]*\[y,n\] $/);
  staying.type("y\n");
  await staying.shows(/memo runs, and has [^]*learn> $/);
  staying.type("done\n");
  expect(await staying.end()).toMatchObject({ code: 0 });
  expect((await cli.run(["server", "info", "memo"])).stdout).toMatch(/^network +localhost:\d+$/m);
}, 60_000);

it("is refused where nobody can be asked, and where there is nothing to learn", async () => {
  await using cli = await openCliHome();
  expect(await cli.run(["server", "add", "memo", "--learn", "--", ...NODE])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("names the rules that are missing") as unknown,
  });
  expect(await cli.run(["server", "add", "memo", "--learn", "--", ...NODE], { env: { BELLJAR_URL: "http://127.0.0.1:1" } })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("without BELLJAR_URL") as unknown,
  });
  const cases: readonly (readonly [argv: readonly string[], problem: string])[] = [
    [["--network", "all", "--", ...NODE], "the whole Internet"],
    [["--isolation", "none", "--", ...NODE], "in no sandbox"],
    [["--url", "https://x.test"], "in no sandbox"],
  ];
  for (const [argv, problem] of cases) {
    await using person = runInTerminal(cli, ["server", "add", "memo", "--learn", ...argv]);
    expect(await person.end()).toMatchObject({ code: 2, shown: expect.stringContaining(problem) as unknown });
  }
  expect((await cli.run(["server", "list"])).stdout).toBe("");
}, 60_000);
