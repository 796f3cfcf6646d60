import { expect, it } from "vitest";
import { openCliHome } from "../../support/belljar-cli.ts";
import { carelessServer, richServer, writeMcpConfig } from "../../support/mcp-config.ts";
import { runInTerminal } from "../../support/person-terminal.ts";

it("keeps its servers between the lines of a pipe, goes on after a mistake, and ends with the code of the last line", async () => {
  await using cli = await openCliHome();
  const file = writeMcpConfig(cli.folder, { rich: richServer(), old: richServer("legacy") });
  const lines = [
    "call rich pid",
    "call rich pid",
    "call rich ad",
    "call rich 'unended",
    "doctor",
    "",
    "call old add '{\"a\": 2}'",
    "prompt rich greet name='A B'",
  ];
  const { code, stdout, stderr } = await cli.run(["client", "repl", "--config", file], {
    input: [...lines, "call old fail", ""].join("\n"),
  });
  const [first, second, ...rest] = stdout.split("\n");
  expect([first, rest]).toEqual([second, ["2", "user: hello A B", ""]]);
  expect(first).toMatch(/^\d+$/);
  expect(stderr.split("\n").filter((line) => line.startsWith("belljar: "))).toEqual([
    expect.stringContaining('Did you mean "add"?'),
    "belljar: A quote does not end (USAGE)",
    expect.stringContaining('Unknown command "client doctor"'),
    'belljar: The tool "fail" of "old" failed',
  ]);
  expect(code).toBe(1);
});

it("asks at the terminal between its own lines, and remembers them", async () => {
  await using cli = await openCliHome();
  const file = writeMcpConfig(cli.folder, { rich: richServer() });
  await using person = runInTerminal(cli, ["client", "repl", "rich", "--config", file]);
  await person.shows(/mcp> /);
  person.type("call rich ask\r");
  await person.shows(/Answer\? \[y,n\] $/);
  person.type("n\r");
  await person.shows(/"decline"\r\n[^]*mcp> /);
  person.type("\u001b[A\r");
  await person.shows(/"decline"[^]*Answer\? \[y,n\] $/);
  person.type("n\r");
  await person.shows(/"decline"[^]*"decline"[^]*mcp> /);
  person.type("exit\r");
  expect((await person.end()).code).toBe(0);
});

it("lets no server ask while it waits for a line, nor after the call", async () => {
  await using cli = await openCliHome();
  const file = writeMcpConfig(cli.folder, { nosy: carelessServer("nosy") });
  await using person = runInTerminal(cli, ["client", "repl", "nosy", "--config", file]);
  await person.shows(/mcp> /);
  person.type("call nosy answered\r");
  await person.shows(/answered\s+cancel\s[^]*mcp> /);
  person.type("call nosy hasty\r");
  await person.shows(/asked\s[^]*mcp> /);
  person.type("call nosy answered\r");
  await person.shows(/asked\s[^]*cancel\s[^]*mcp> /);
  person.type("call nosy echo text=on\r");
  await person.shows(/\son\s[^]*mcp> /);
  person.type("exit\r");
  expect((await person.end()).code).toBe(0);
});

it("tells the mistakes of the server that is called, and not those of others", async () => {
  await using cli = await openCliHome();
  const file = writeMcpConfig(cli.folder, { rich: richServer(), bad: carelessServer("circle") });
  const { code, stderr } = await cli.run(["client", "repl", "--config", file], { input: "call rich ad\n" });
  expect([code, stderr]).toEqual([2, expect.stringContaining('Did you mean "add"?')]);
  const listed = await cli.run(["client", "repl", "--config", file], { input: "list rich\n" });
  expect([listed.code, listed.stderr]).toEqual([0, expect.not.stringContaining('"bad"')]);
});
