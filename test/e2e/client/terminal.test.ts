import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openCliHome } from "../../support/belljar-cli.ts";
import { richServer, writeMcpConfig } from "../../support/mcp-config.ts";
import { runInTerminal } from "../../support/person-terminal.ts";

describe.each(["modern", "legacy"] as const)("a question of a server of the %s era", (era) => {
  it("is asked in the terminal, each field until its schema takes the answer", async () => {
    await using cli = await openCliHome();
    const file = writeMcpConfig(cli.folder, { rich: richServer(era) });
    await using person = runInTerminal(cli, ["client", "call", "rich", "ask", "--config", file]);
    await person.shows(/The server "rich" asks: Who\\u\{1b\}\[31m are you\?\r\nAnswer\? \[y,n\] $/);
    person.type("y\n");
    await person.shows(/Your name\r\nname: $/);
    person.type("Ann\n");
    await person.shows(/age \(may be empty\): $/);
    person.type("old\n");
    await person.shows(/"field=old" is not a whole number[^]*age \(may be empty\): $/);
    person.type("41\n");
    const { code, shown } = await person.end();
    expect([code, shown.split("\n").at(-2)]).toEqual([0, '{"name":"Ann","age":41}']);
  });

  it("can be declined, and is cancelled by the end of the input", async () => {
    await using cli = await openCliHome();
    const file = writeMcpConfig(cli.folder, { rich: richServer(era) });
    for (const [typed, action] of [
      ["n\n", "decline"],
      ["\u0004", "cancel"],
    ] as const) {
      await using person = runInTerminal(cli, ["client", "call", "rich", "ask", "--config", file]);
      await person.shows(/Answer\? \[y,n\] $/);
      person.type(typed);
      expect((await person.end()).shown.split("\n").at(-2)).toBe(`"${action}"`);
    }
  });
});

it("asks for the inputs of a file of VS Code, and shows no password", async () => {
  await using cli = await openCliHome();
  const file = join(cli.folder, "mcp.json");
  const env = { KEY: "${input:key}", REGION: "${input:region}", PLACE: "${input:place}" };
  const show = "echo $KEY $REGION $PLACE >&2; exit 9";
  const inputs = [
    { id: "key", type: "promptString", description: "API key", password: true },
    { id: "region", type: "pickString", description: "Region\u001b[31m", options: ["eu", "us"] },
    { id: "place", type: "promptString", default: "here" },
  ];
  writeFileSync(file, JSON.stringify({ servers: { one: { command: "sh", args: ["-c", show], env } }, inputs }));
  await using person = runInTerminal(cli, ["client", "list", "--config", file]);
  await person.shows(/API key \(not shown\): $/);
  person.type("s3cret\n");
  await person.shows(/Region\\u\{1b\}\[31m: one of eu, us\r\nregion: $/);
  person.type("asia\n");
  await person.shows(/asia\r\nregion: $/);
  person.type("eu\n");
  await person.shows(/place \(here\): $/);
  person.type("\n");
  const { code, shown } = await person.end();
  expect(code).toBe(4);
  expect(shown.split("s3cret")).toHaveLength(2);
  expect(shown).toContain("  s3cret eu here");
});
