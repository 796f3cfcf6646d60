import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openCliHome } from "../../support/belljar-cli.ts";
import { hubServer } from "../../support/hub-lab.ts";
import { richServer, writeMcpConfig } from "../../support/mcp-config.ts";

it("starts a program in a sandbox, which ends with the command", async () => {
  await using cli = await openCliHome();
  const secret = join(cli.folder, "secret");
  writeFileSync(secret, "kept");
  const file = writeMcpConfig(cli.folder, { one: hubServer({ env: { GIVEN: "yes" } }), host: hubServer({ isolation: "none" }) });
  const where = async (server: string, ...more: string[]) => {
    const { stdout } = await cli.run(["client", "call", server, "where", `path=${secret}`, "--config", file, ...more]);
    return JSON.parse(stdout) as { env: Record<string, string>; sees: boolean };
  };
  expect(await where("one"), "without the option it runs on the host").toMatchObject({ sees: true });
  expect(await where("one", "--sandbox")).toMatchObject({ sees: false, env: { GIVEN: "yes" } });
  expect(await where("host", "--sandbox"), "its entry says so").toMatchObject({ sees: true });
  expect(JSON.parse((await cli.run(["sandbox", "list", "--json"])).stdout)).toEqual([]);
});

it("refuses what the hub refuses, for that server alone", async () => {
  await using cli = await openCliHome();
  const file = writeMcpConfig(cli.folder, { one: hubServer(), outside: richServer() });
  const refused = await cli.run(["client", "list", "outside", "--sandbox", "--config", file]);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('write "mounts"') as unknown });
  const all = await cli.run(["client", "list", "--sandbox", "--config", file]);
  expect(all).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("\none ") as unknown,
    stderr: expect.stringContaining("mounts") as unknown,
  });
});
