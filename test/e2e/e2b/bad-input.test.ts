import { Sandbox } from "e2b";
import { expect, it } from "vitest";
import type { E2bLab } from "../../support/e2b-lab.ts";
import { openE2bLab } from "../../support/e2b-lab.ts";

/** The status, which the body repeats, and the message. */
async function answer(lab: E2bLab, path: string, init: RequestInit = {}): Promise<string> {
  const response = await lab.askAsOwner(path, init);
  const { code, message } = (await response.json()) as { readonly code: unknown; readonly message: unknown };
  expect([code, typeof message], path).toEqual([response.status, "string"]);
  return `${response.status} ${String(message)}`;
}

const ALL = "0.0.0.0/0";

it("refuses what it cannot keep or read in E2B's form", async () => {
  await using lab = await openE2bLab();
  const { sandboxId: id } = await Sandbox.create(lab.options);
  const create = (body: unknown): Promise<string> =>
    answer(lab, "/v2/sandboxes", { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) });
  const wishes: readonly (readonly [unknown, RegExp])[] = [
    ["", /^400 /],
    ["{", /^400 .*well-formed JSON/],
    ["[]", /^400 /],
    ["null", /^400 /],
    [{}, /^400 templateID: missing/],
    [{ templateID: "" }, /^400 /],
    [{ templateID: 7 }, /^400 /],
    [{ templateID: "x".repeat(201) }, /^400 /],
    [{ templateID: "../base" }, /^404 template/],
    [{ templateID: "base", timeout: 0 }, /^400 timeout: Timeout must be greater than 0/],
    [{ templateID: "base", timeout: -1 }, /^400 timeout: Timeout must be greater than 0/],
    [{ templateID: "base", timeout: 1.5 }, /^400 /],
    [{ templateID: "base", timeout: 1e12 }, /^400 /],
    [{ templateID: "base", timeout: "60" }, /^400 /],
    [{ templateID: "base", metadata: { a: 1 } }, /^400 /],
    [{ templateID: "base", metadata: { ["k".repeat(200)]: "" } }, /^400 /],
    [{ templateID: "base", metadata: { a: "\0" } }, /^400 /],
    [{ templateID: "base", envVars: { "a b": "1" } }, /^400 /],
    [{ templateID: "base", iam: { tokens: { t: { audience: "a", tokenType: "JWT-SVID" } } } }, /^400 .*iam/],
    [{ templateID: "base", network: { httpsPorts: [443] } }, /^400 .*httpsPorts/],
    [{ templateID: "base", network: { egressProxy: { address: "p:1" } } }, /^400 .*egressProxy/],
    [{ templateID: "base", network: { rules: { h: [{ transform: { headers: { a: "b" } } }] } } }, /^400 .*transform/],
    [{ templateID: "base", network: { denyOut: ["1.1.1.1"] } }, /^400 .*denyOut/],
    [{ templateID: "base", network: { allowOut: ["example.com"] } }, /^400 When specifying allowed domains/],
    [{ templateID: "base", network: { denyOut: [ALL], allowOut: Array(257).fill("a.example.com") } }, /^400 /],
    [{ templateID: "base", network: { maskRequestHost: "a b" } }, /^400 /],
    [{ templateID: "base", autoPauseMemory: false }, /^400 .*autoPause/],
    [{ templateID: "base", autoPause: true, autoPauseMemory: false, autoResume: { enabled: true } }, /^400 .*autoResume/],
  ];
  for (const [body, refusal] of wishes) expect(await create(body), JSON.stringify(body).slice(0, 80)).toMatch(refusal);
  const plain = { method: "POST", body: "{}", headers: { "content-type": "text/plain" } };
  expect(await answer(lab, "/v2/sandboxes", plain)).toMatch(/^415 /);
  expect(await answer(lab, "/v2/sandboxes", { method: "POST", body: `{"templateID":"base","x":"${"x".repeat(5_000_000)}"}` })).toMatch(
    /^413 /,
  );

  const made = Buffer.from(`2026-01-01T00:00:00.000Z__${id}__asc`).toString("base64url");
  for (const query of ["nextToken=x", "nextToken=%00", `nextToken=${made}`, `nextToken=${"a".repeat(900)}`])
    for (const path of ["/v2/sandboxes", "/snapshots"]) expect(await answer(lab, `${path}?${query}`), query).toBe("400 Invalid next token");
  for (const query of [
    "metadata=a%3D%2525",
    "metadata=%2525E0%3Da",
    "metadata=a&metadata=b",
    "state=ended",
    "order=x",
    "limit=0",
    "limit=9x",
  ])
    expect(await answer(lab, `/v2/sandboxes?${query}`), query).toMatch(/^400 /);
  for (const query of ["startedAfter=now", "template=base:v1"]) expect(await answer(lab, `/v2/sandboxes?${query}`), query).toMatch(/^400 /);
  expect(await answer(lab, "/sandboxes?metadata=a%3D%2525")).toMatch(/^400 /);
  expect(await answer(lab, "/sandboxes/metrics")).toMatch(/^400 /);
  expect(await answer(lab, `/sandboxes/metrics?sandbox_ids=${Array(101).fill(id).join(",")}`)).toMatch(/^400 /);
  expect(await answer(lab, `/sandboxes/${id}/metrics?start=yesterday`)).toMatch(/^400 /);

  const names = [id.slice(0, 8), id.toUpperCase(), `${id}x`, `-${id}`, `${id}-`, `${id}-a-b`, "..%2f", "x".repeat(200), "%00", "a%2Fb"];
  for (const name of names) expect(await answer(lab, `/sandboxes/${name}`), name).toMatch(/^404 /);
  const post = (path: string, body: unknown): Promise<string> =>
    answer(lab, `/sandboxes/${id}${path}`, { method: "POST", body: JSON.stringify(body) });
  for (const [path, body] of [
    ["/timeout", {}],
    ["/timeout", { timeout: "1" }],
    ["/timeout", { timeout: 1e15 }],
    ["/connect", { timeout: 0 }],
    ["/connect", { memory: "no" }],
    ["/pause", { memory: 1 }],
    ["/pause", []],
    ["/refreshes", { duration: -1 }],
    ["/fork", { count: "2" }],
    ["/snapshots", { name: 7 }],
  ] as const)
    expect(await post(path, body), `${path} ${JSON.stringify(body)}`).toMatch(/^400 /);
  expect(await answer(lab, `/sandboxes/${id}/network`, { method: "PUT", body: '{"denyOut":"all"}' })).toMatch(/^400 /);
  expect(await answer(lab, "/sandboxes", { method: "DELETE" })).toMatch(/^404 /);

  const apiKey = await lab.makeKey("limited", ["sandboxes:1"]);
  await Sandbox.create({ ...lab.options, apiKey });
  const full = await lab.ask("/v2/sandboxes", {
    method: "POST",
    headers: { "x-api-key": apiKey, "content-type": "application/json" },
    body: '{"templateID":"base"}',
  });
  expect([full.status, full.headers.get("retry-after"), await full.json()]).toMatchObject([
    429,
    expect.stringMatching(/^[1-9]\d*$/) as string,
    { code: 429, message: expect.stringContaining("quota of 1 sandboxes") as string },
  ]);
  await expect(Sandbox.create({ ...lab.options, apiKey })).rejects.toMatchObject({ name: "RateLimitError" });
});
