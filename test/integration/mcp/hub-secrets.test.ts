import type { IncomingMessage, ServerResponse } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { outside } from "../../security/support/outside.ts";
import { type HubLab, hubServer, openHubLab, SERVER_CODE } from "../../support/hub-lab.ts";
import { openSecretLab, type Origin, type SecretLab } from "../../support/secret-lab.ts";
import { textOf } from "../../support/tools-lab.ts";

const [HELD, RAW, WRITTEN] = ["sk-held-0123456789abcdef", "raw-0123456789abcdef", "written-0123456789abcdef"];
const [ARGUED, SENT] = ["argued-0123456789abcdef", "sent-0123456789abcdef"];

let on: SecretLab;
let api: Origin;
let lab: HubLab;
beforeAll(async () => {
  on = await openSecretLab();
  await on.store.set(LOCAL.id, "held", HELD);
  await on.store.set(LOCAL.id, "plain", RAW);
  api = await on.https("api.secret.test", (request: IncomingMessage, response: ServerResponse) =>
    response.end(`it came with ${request.headers.authorization}`),
  );
  const network = { allow: [api.authority] };
  lab = await openHubLab(
    {
      one: hubServer({ network, secrets: { held: { env: "API_KEY", hosts: [api.authority] }, plain: { env: "PLAIN", deliver: "raw" } } }),
      written: hubServer({ env: { SOME_TOKEN: WRITTEN } }),
      argued: argued(),
      sent: { url: "http://127.0.0.1:1/mcp", headers: { "X-Auth": SENT } },
      other: hubServer(),
      absent: hubServer({ secrets: { absent: { env: "ABSENT", deliver: "raw" } } }),
      gone: hubServer({ network, secrets: { gone: { env: "GONE", hosts: [api.authority] } } }),
      closed: hubServer({ secrets: { held: { env: "API_KEY", hosts: ["api.secret.test"] } } }),
      twice: hubServer({ env: { PLAIN: "x" }, secrets: { plain: { env: "PLAIN", deliver: "raw" } } }),
      both: hubServer({ secrets: { plain: { env: "PLAIN", deliver: "raw", hosts: ["api.secret.test"] } } }),
      bare: hubServer({ isolation: "none", secrets: { plain: { env: "PLAIN", deliver: "raw" } } }),
      dies: { command: "sh", args: ["-c", "echo cannot log in with $SOME_TOKEN >&2; exit 3"], env: { SOME_TOKEN: WRITTEN } },
    },
    { on },
  );
  await lab.until(() => Object.values(lab.states()).every((state) => state !== "starting"));
}, 120_000);
afterAll(async () => {
  await lab?.[Symbol.asyncDispose]();
  await on?.[Symbol.asyncDispose]();
}, 60_000);

/** With a key among its arguments that nothing but its name tells. */
function argued(): object {
  const run = 'exec node --input-type=module -e "$CODE" -- "$@"';
  return { command: "sh", args: ["-c", run, "sh", "--key", ARGUED], env: { CODE: SERVER_CODE } };
}

const env = async (server: string): Promise<Record<string, string>> =>
  (JSON.parse(textOf(await lab.call(`mcp_${server}_where`, { path: "/" }))) as { env: Record<string, string> }).env;
const problem = (name: string): string | undefined => lab.hub.servers(LOCAL).find((server) => server.name === name)?.error?.message;

it("gives a server a placeholder, whose value goes to the host that the entry names", async () => {
  expect((await env("one"))["API_KEY"]).toMatch(/^belljar_secret_/);
  const said = textOf(await lab.call("mcp_one_fetch", { url: `${api.url}/`, variable: "API_KEY" }));
  expect(api.requests.at(-1)?.headers.authorization).toBe(`Bearer ${HELD}`);
  expect(said).toMatch(/it came with Bearer belljar_secret_/);
});

it("gives a value itself where the entry says so, to that server alone", async () => {
  expect((await env("one"))["PLAIN"]).toBe(RAW);
  for (const server of ["other", "written"]) expect(JSON.stringify(await env(server))).not.toContain(RAW);
  expect((await env("written"))["SOME_TOKEN"]).toBe(WRITTEN);
});

it("shows no key in logs, errors and infos, also one that is written in the entry", async () => {
  for (const [server, variable] of [
    ["one", "PLAIN"],
    ["written", "SOME_TOKEN"],
  ] as const) {
    expect(textOf(await lab.call(`mcp_${server}_say`, { variable }))).toBe("said");
    const { isError, ...failed } = await lab.call(`mcp_${server}_fail`, { variable });
    expect(isError).toBe(true);
    expect(textOf(failed)).toMatch(/it needs \[(?:secret plain|key 1)\]/);
    await lab.hub.restart(LOCAL, server);
    expect(lab.hub.logs(LOCAL, server).join("\n")).toMatch(/the key is \[(?:secret plain|key 1)\]/);
  }
  expect(problem("dies")).toMatch(/exit code 3[^]*cannot log in with \[key 1\]/);
  const shown = JSON.stringify([
    lab.hub.servers(LOCAL),
    lab.problems,
    ...["one", "written", "dies"].map((name) => lab.hub.logs(LOCAL, name)),
  ]);
  for (const value of [HELD, RAW, WRITTEN]) expect(shown).not.toContain(value);
});

it("gives what a named file says to that server alone: not to others, to what is shown, or to arguments of the host's processes", async () => {
  expect(textOf(await lab.call("mcp_argued_where", { path: "/" }))).toContain(`"args":["${ARGUED}"]`);
  const shown = ["argued", "sent", "written"].map((name) => lab.hub.details(LOCAL, name));
  expect(shown[0]).toMatchObject({ runs: expect.stringMatching(/--key \[key\]$/) as unknown });
  const text = JSON.stringify([shown, lab.hub.servers(LOCAL), lab.problems, lab.audited]);
  const others = await Promise.all(["one", "other"].map((name) => lab.call(`mcp_${name}_where`, { path: "/" })));
  const commands = (await outside(["sh", "-c", "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $f; echo '#end'; done 2>/dev/null"])).out;
  for (const value of [ARGUED, SENT, WRITTEN]) for (const where of [text, JSON.stringify(others)]) expect(where).not.toContain(value);
  for (const value of [SENT, WRITTEN]) expect(commands).not.toContain(value);
  const having = commands.split("#end\n").filter((command) => command.includes(ARGUED));
  expect(having.length, "the search finds what is there").toBeGreaterThan(0);
  for (const command of having) expect(command, "the server's own program").toMatch(/^node --input-type=module /);
});

it("leaves no value in the home", async () => {
  const holding = async (text: string): Promise<string> => (await outside(["grep", "-rlaF", text, on.home])).out;
  expect(await holding("belljar_secret_"), "the search finds what is there").not.toBe("");
  for (const value of [HELD, RAW, WRITTEN, ARGUED, SENT]) expect(await holding(value)).toBe("");
});

it("does not start a server without its secret, and says how to store it", () => {
  expect(problem("absent")).toMatch(/there is no secret absent: store it with `belljar secret set absent`/);
  expect(problem("gone")).toMatch(/server "gone".*No secret gone: store it with `belljar secret set gone`/);
  expect(problem("closed")).toMatch(/server "closed".*add the rule https:\/\/api.secret.test/);
});

it("refuses an entry that leaves open which value it means", () => {
  expect(problem("twice")).toContain("PLAIN is given twice");
  expect(problem("both")).toContain('secrets.plain: names the hosts that it is for, or has deliver: "raw"');
  expect(problem("bare")).toContain("secrets: has no effect");
});
