import { Sandbox } from "e2b";
import { expect, it } from "vitest";
import { openE2bLab } from "../../support/e2b-lab.ts";

it("serves E2B's SDK with a key alone, on loopback too, and nobody else", async () => {
  await using lab = await openE2bLab();
  const sandbox = await Sandbox.create(lab.options);
  expect(await sandbox.isRunning()).toBe(true);
  const { token: belljar } = await made(lab.cli.run(["token", "create", "other", "--json"]));
  for (const apiKey of ["e2b_0000000000000000000000000000000000000000", belljar])
    await expect(Sandbox.create({ ...lab.options, apiKey }), apiKey).rejects.toMatchObject({
      name: expect.stringMatching(/Error$/) as string,
    });
  const without = await lab.ask("/v2/sandboxes", { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
  expect([without.status, await without.json()]).toMatchObject([401, { code: 401 }]);
  const elsewhere = await lab.ask("/v1/sandboxes", { headers: { authorization: `Bearer ${lab.key}` } });
  expect(elsewhere.status, "a key opens E2B's surfaces alone").toBe(403);
});

async function made(run: Promise<{ readonly stdout: string }>): Promise<{ readonly token: string }> {
  return JSON.parse((await run).stdout) as { readonly token: string };
}
