import { expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";
import { runInTerminal } from "../support/person-terminal.ts";
import { openTeamLab } from "../support/team-lab.ts";

it("shows what the new version of a server changes, and takes it after a yes alone", async () => {
  await using team = await openTeamLab();
  await using cli = await openCliHome();
  const env = { BELLJAR_URL: team.url, BELLJAR_TOKEN: team.alice.token };
  const asked = await cli.run(["server", "update", "memo"], { env });
  expect(asked).toMatchObject({ code: 2, stdout: "" });
  expect(asked.stderr).toMatch(
    /^memo: 1\.0\.0 -> 1\.1\.0\n1 definition .* not as [^]*\nchanged tools "count"\n[^]*^-Counts$\n^\+Adds$[^]*say --yes/m,
  );
  expect(await cli.run(["server", "update", "memo", "--yes"], { env })).toMatchObject({ code: 0, stdout: "memo: 1.0.0 -> 1.1.0\n" });
  const { stdout } = await cli.run(["server", "update", "memo", "-y", "--json"], { env });
  expect(JSON.parse(stdout)).toEqual({ before: "1.0.0", now: "1.1.0" });
  for (const [typed, code] of [
    ["n\n", 1],
    ["y\n", 0],
  ] as const) {
    await using person = runInTerminal(cli, ["server", "update", "memo"], { env });
    await person.shows(/Take 1\.1\.0 of memo as it is shown\? \[y\/N\]/);
    person.type(typed);
    expect((await person.end()).code).toBe(code);
  }
});
