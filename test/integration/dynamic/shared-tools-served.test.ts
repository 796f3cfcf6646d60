import { expect, it } from "vitest";
import { openOAuthIssuer } from "../../support/oauth-issuer.ts";
import { openTestHome, openTestServer, type TestServer } from "../../support/served-home.ts";

const AUDIENCE = "https://belljar.example.com/mcp";
const LIMIT_MS = 120_000;
const code = (answer: string): string => `# ---\n# { "description": "Answers" }\n# ---\nprintf ${answer}`;

async function ask(
  { url }: TestServer,
  token: string,
  request: string,
  body?: object,
): Promise<{ readonly status: number; readonly text: string }> {
  const [method = "", path = ""] = request.split(" ");
  const headers = { authorization: `Bearer ${token}`, ...(body && { "content-type": "application/json" }) };
  const response = await fetch(new URL(path, url), { method, headers, ...(body && { body: JSON.stringify(body) }) });
  return { status: response.status, text: await response.text() };
}

async function share(server: TestServer, token: string, name: string): Promise<void> {
  const added = await ask(server, token, "POST /v1/tools", { name, language: "shell", code: code(name), publish: true });
  expect(added, added.text).toMatchObject({ status: 201 });
  expect((await ask(server, token, `PATCH /v1/tools/${name}`, { isShared: true })).status).toBe(200);
}

const callOf = async (server: TestServer, token: string, name: string): Promise<string> =>
  (await ask(server, token, "POST /tools/call", { name, arguments: {} })).text;

it(
  "belljar serve closes a shared tool when its owner's token is revoked, and that of an OAuth owner whom it has not seen",
  async () => {
    await using home = await openTestHome();
    await using issuer = await openOAuthIssuer({ audience: AUDIENCE });
    const oauth = { BELLJAR_OAUTH_ISSUER: issuer.issuer, BELLJAR_OAUTH_AUDIENCE: AUDIENCE };
    const open = (): Promise<TestServer> => openTestServer({ ...home, env: { ...home.env, ...oauth } });
    const scopes = ["--scope", "tools:publish", "--scope", "tools:share"];
    const printed = await home.belljar("token", "create", "carol", ...scopes);
    const [carol = "", id = ""] = /belljar_([a-z0-9]{10})_[\w-]+/.exec(printed) ?? [];
    const ann = await issuer.token({ sub: "ann", scope: "belljar belljar:tools:publish belljar:tools:share" });
    const bob = await issuer.token({ sub: "bob" });
    {
      await using server = await open();
      await share(server, carol, "of_carol");
      await share(server, ann, "of_ann");
      expect(await callOf(server, bob, "of_carol")).toContain('"of_carol"');
      expect(await callOf(server, bob, "of_ann")).toContain('"of_ann"');
      await home.belljar("token", "revoke", id);
      expect(await callOf(server, bob, "of_carol")).toContain("TOOL_CLOSED");
    }
    await using server = await open();
    expect(await callOf(server, bob, "of_ann")).toContain("TOOL_CLOSED");
    expect((await ask(server, ann, "GET /v1/tools")).status).toBe(200);
    expect(await callOf(server, bob, "of_ann")).toContain('"of_ann"');
  },
  LIMIT_MS,
);

it(
  "belljar serve counts what runs code over REST and as MCP Box does as calls",
  async () => {
    await using home = await openTestHome();
    const printed = await home.belljar("token", "create", "dan", "--scope", "tools:publish", "--scope", "calls-per-minute:4");
    const [dan = ""] = /belljar_[\w-]+/.exec(printed) ?? [];
    await using server = await openTestServer(home);
    const body = { language: "shell", code: code("counted"), tests: [{ arguments: {}, expect: { text: "counted" } }] };
    const statuses = [
      await ask(server, dan, "POST /v1/tools", { name: "counted", ...body }),
      await ask(server, dan, "POST /v1/tools/counted/test"),
      await ask(server, dan, "POST /v1/tools/counted/publish"),
      await ask(server, dan, "GET /v1/tools/counted"),
    ].map(({ status }) => status);
    expect(statuses).toEqual([201, 200, 200, 200]);
    expect(await callOf(server, dan, "counted")).toContain('"counted"');
    for (const request of ["POST /v1/tools/counted/test", "POST /v1/tools/counted/publish", "PUT /v1/tools/counted", "POST /v1/tools"]) {
      const more = request.endsWith("test") || request.endsWith("publish") ? undefined : body;
      expect((await ask(server, dan, request, more)).text, request).toContain("QUOTA_EXCEEDED");
    }
    expect((await ask(server, dan, "GET /v1/tools")).status, "a list runs nothing").toBe(200);
  },
  LIMIT_MS,
);
