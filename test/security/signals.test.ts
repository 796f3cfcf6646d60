import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { type CliHome, openCliHome } from "../support/belljar-cli.ts";
import { type Lie, LIES, replaceGuest, startsAndStops } from "../support/freeze.ts";
import { verifies } from "./verifies.ts";
import { runName } from "../support/run-of.ts";

interface MuteHome extends AsyncDisposable {
  readonly cli: CliHome;
  readonly id: string;
  /** Resolves when somebody asks its guest for something, which nobody ever answers. */
  asked(): Promise<void>;
}

/** A home with a sandbox whose guest takes every request, and answers none to its end. */
async function openMuteHome(lie: Lie = LIES["accepts and never answers"]): Promise<MuteHome> {
  const cli = await openCliHome({ apart: true });
  await writeFile(join(cli.folder, "file"), "content");
  const made = await cli.run(["sandbox", "create"]);
  expect(made).toMatchObject({ code: 0 });
  const id = made.stdout.trim();
  let ask = (): void => {};
  const mute = await replaceGuest(join(cli.folder, "run", runName(id)), (stream) => {
    lie(stream);
    ask();
  });
  return {
    cli,
    id,
    asked: () => new Promise((resolve) => (ask = resolve)),
    async [Symbol.asyncDispose]() {
      await mute[Symbol.asyncDispose]();
      await cli.run(["sandbox", "kill", id]);
      await cli[Symbol.asyncDispose]();
    },
  };
}

/** Every command that speaks with a guest that is there. */
const COMMANDS = (id: string): readonly (readonly string[])[] => [
  ["cp", "file", `${id}:/tmp/file`],
  ["cp", `${id}:/tmp/file`, "copy"],
  ["sandbox", "ports", id],
  ["sandbox", "list"],
  ["sandbox", "info", id],
];

verifies(
  "signals-end-commands",
  async () => {
    await using home = await openMuteHome();
    const { cli, id } = home;
    for (const argv of COMMANDS(id)) {
      const asked = home.asked();
      await using command = cli.start(argv);
      await asked;
      command.signal("SIGTERM");
      // By itself it would end in an error, and that much later than this test waits.
      expect([argv, (await command.exit).code]).toEqual([argv, 143]);
    }
  },
  120_000,
);

verifies(
  "signals-end-commands",
  async () => {
    await using home = await openMuteHome();
    const { cli, id } = home;
    await using server = cli.start(["serve", "--port", "0"]);
    const [, url = ""] = await server.says(/MCP at (\S+)\/mcp/);
    const asked = home.asked();
    const answer = fetch(`${url}/v1/sandboxes/${id}/ports`).then(
      ({ status }) => status,
      () => "cut",
    );
    await asked;
    server.signal("SIGTERM");
    expect([0, 143]).toContain((await server.exit).code);
    expect(await answer).toBe("cut");
  },
  120_000,
);

verifies(
  "signals-end-commands",
  async () => {
    await using home = await openMuteHome(startsAndStops);
    for (const [name, code] of [
      ["SIGTERM", 143],
      ["SIGINT", 130],
    ] as const) {
      await using exec = home.cli.start(["exec", home.id, "--", "sleep", "600"]);
      await exec.prints(/ready/);
      exec.signal(name);
      expect((await exec.exit).code).toBe(code);
    }
  },
  120_000,
);
