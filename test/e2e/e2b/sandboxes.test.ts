import { Sandbox } from "e2b";
import { expect, it } from "vitest";
import { openE2bLab } from "../../support/e2b-lab.ts";
import type { E2bLab } from "../../support/e2b-lab.ts";

interface Entry {
  readonly sandboxID: string;
}

/** All ids, page by page. */
async function idsOf(lab: E2bLab, opts: NonNullable<Parameters<typeof Sandbox.list>[0]> = {}): Promise<readonly string[]> {
  const paginator = Sandbox.list({ ...lab.options, ...opts });
  const ids: string[] = [];
  while (paginator.hasNext) ids.push(...(await paginator.nextItems()).map(({ sandboxId }) => sandboxId));
  return ids;
}

it("makes, tells, lists, extends and kills sandboxes for E2B's SDK", async () => {
  await using lab = await openE2bLab();
  const metadata = { "a b": "c&d", k: "100%" };
  const one = await Sandbox.create({ ...lab.options, metadata, envs: { GREETING: "hello" }, timeoutMs: 60_000 });
  const info = await one.getInfo();
  expect(info).toMatchObject({
    sandboxId: one.sandboxId,
    templateId: "base",
    name: "base",
    metadata,
    state: "running",
    envdVersion: "0.6.13",
    allowInternetAccess: true,
    sandboxDomain: new URL(lab.url).host,
    lifecycle: { onTimeout: "kill", autoResume: false },
    volumeMounts: [],
  });
  expect(info.endAt.getTime() - info.startedAt.getTime()).toBe(60_000);
  expect([info.cpuCount > 0, info.memoryMB > 0]).toEqual([true, true]);

  // Connecting never shortens; a timeout does.
  await Sandbox.connect(one.sandboxId, { ...lab.options, timeoutMs: 1_000 });
  expect((await one.getInfo()).endAt).toEqual(info.endAt);
  await Sandbox.connect(one.sandboxId, { ...lab.options, timeoutMs: 600_000 });
  expect((await one.getInfo()).endAt.getTime()).toBeGreaterThan(info.endAt.getTime() + 500_000);
  await one.setTimeout(30_000);
  expect((await one.getInfo()).endAt.getTime()).toBeLessThan(info.endAt.getTime() + 30_000);
  const refreshed = await lab.askAsOwner(`/sandboxes/${one.sandboxId}/refreshes`, { method: "POST", body: '{"duration":3600}' });
  expect([refreshed.status, (await one.getInfo()).endAt.getTime() > info.endAt.getTime() + 3_000_000]).toEqual([204, true]);

  const two = await Sandbox.create("code-interpreter-v1", { ...lab.options, metadata: { k: "2" } });
  const mcp = await Sandbox.create("mcp-gateway", lab.options);
  const all = [mcp.sandboxId, two.sandboxId, one.sandboxId];
  expect(await idsOf(lab, { limit: 1 })).toEqual(all);
  expect(await idsOf(lab, { limit: 2, order: "asc" })).toEqual(all.toReversed());
  expect(await idsOf(lab, { query: { metadata: { "a b": "c&d", k: "100%" } } })).toEqual([one.sandboxId]);
  expect(await idsOf(lab, { query: { metadata: { "a b": "c&d", k: "2" } } })).toEqual([]);
  expect(await idsOf(lab, { query: { template: "code-interpreter-v1" } })).toEqual([two.sandboxId]);
  expect(await idsOf(lab, { query: { template: "nothing" } })).toEqual([]);
  expect(await idsOf(lab, { query: { state: ["paused"] } })).toEqual([]);
  const { startedAt } = await two.getInfo();
  expect(await idsOf(lab, { query: { startedAfter: startedAt } })).toEqual([mcp.sandboxId, two.sandboxId]);
  const page = await lab.askAsOwner("/v2/sandboxes?limit=1&state=running,paused&metadata=k%3D2");
  expect([page.headers.get("x-total-running"), page.headers.get("x-next-token")]).toEqual(["1", null]);
  const first = (await (await lab.askAsOwner("/sandboxes?metadata=k%3D2")).json()) as readonly Entry[];
  expect(first.map(({ sandboxID }) => sandboxID)).toEqual([two.sandboxId]);

  const [sample] = await one.getMetrics();
  expect(sample).toMatchObject({ cpuCount: info.cpuCount, memCache: 0 });
  expect([sample?.memUsed ?? 0, sample?.memTotal ?? 0].every((bytes) => bytes > 0)).toBe(true);
  expect(await one.getMetrics({ start: new Date(0), end: new Date(1_000) })).toEqual([]);
  const several = (await (await lab.askAsOwner(`/sandboxes/metrics?sandbox_ids=${all.join(",")},${"x".repeat(20)}`)).json()) as {
    readonly sandboxes: object;
  };
  expect(Object.keys(several.sandboxes).toSorted()).toEqual(all.toSorted());

  expect(await one.kill()).toBe(true);
  expect(await one.kill()).toBe(false);
  const gone = await lab.askAsOwner(`/sandboxes/${one.sandboxId}`);
  expect([gone.status, await gone.json()]).toMatchObject([
    404,
    { code: 404, message: expect.stringMatching(/^Sandbox \w{20} ended at \d{4}-.*Z \(killed\)/) as string },
  ]);
  expect(await idsOf(lab)).toEqual([mcp.sandboxId, two.sandboxId]);
  await expect(Sandbox.create("desktop", lab.options)).rejects.toThrow(/404: .*desktop.*belljar template/);
  await expect(Sandbox.create("no-such", lab.options)).rejects.toThrow(/404: template "no-such" not found/);
});

it("gives clients of earlier releases what they ask by the first paths", async () => {
  await using lab = await openE2bLab();
  const made = await lab.askAsOwner("/sandboxes", {
    method: "POST",
    body: '{"templateID":"base","secure":true,"allow_internet_access":true}',
  });
  const sandbox = (await made.json()) as Record<string, string> & Entry;
  expect([made.status, sandbox]).toMatchObject([201, { templateID: "base", clientID: "belljar", domain: new URL(lab.url).host }]);
  // An id may carry the client's.
  const path = `/sandboxes/${sandbox.sandboxID}-${sandbox["clientID"]}`;
  const { startedAt, endAt } = (await (await lab.askAsOwner(path)).json()) as { readonly startedAt: string; readonly endAt: string };
  expect(Date.parse(endAt) - Date.parse(startedAt)).toBe(15_000);
  const connected = await lab.askAsOwner(`${path}/connect`, { method: "POST", body: '{"timeout":60}' });
  expect([connected.status, await connected.json()]).toEqual([200, sandbox]);
  expect((await lab.askAsOwner(`${path}/resume`, { method: "POST" })).status, "it runs").toBe(409);
  for (const route of [`${path}/logs?start=0&limit=10`, `/v2${path}/logs?direction=forward`])
    expect((await (await lab.askAsOwner(route)).json()) as object, route).toMatchObject({ logs: [] });
  expect((await lab.askAsOwner(path, { method: "DELETE" })).status).toBe(204);
});
