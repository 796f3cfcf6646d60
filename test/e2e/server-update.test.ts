import { expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";
import { openTeamLab } from "../support/team-lab.ts";

it("says which version a server had and has", async () => {
  await using team = await openTeamLab();
  await using cli = await openCliHome();
  const env = { BELLJAR_URL: team.url, BELLJAR_TOKEN: team.alice.token };
  expect(await cli.run(["server", "update", "memo"], { env })).toMatchObject({ code: 0, stdout: "memo: 1.0.0 -> 1.1.0\n" });
  const { stdout } = await cli.run(["server", "update", "memo", "--json"], { env });
  expect(JSON.parse(stdout)).toEqual({ before: "1.0.0", now: "1.1.0" });
});
